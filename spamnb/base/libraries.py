"""Libraries that only some work needs, and the command that installs one of them for this program.

The command never names an extra of this project: if an index does not have the project, anybody could register its name
there.
"""

import os
import shlex
import sys


def how_to_install(
    library: str, prefix: str = sys.prefix, base: str = sys.base_prefix, executable: str = sys.executable
) -> str:
    """Return the command that makes a library importable for the installed program.

    prefix, base, executable: as `sys` has them.
    """
    if prefix == base and os.path.isdir(os.path.join(prefix, "lib/python3/dist-packages")):  # where Debian has its own
        return f"apt install python3-{library}"
    if os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        return f"pipx inject {os.path.basename(prefix)} {library}"
    return f"{shlex.quote(executable)} -m pip install {library}"
