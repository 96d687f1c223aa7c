"""Libraries that only some work needs: whether one is installed, and the command that installs it for this program.

The command never names an extra of this project: if an index does not have the project, anybody could register its name
there.
"""

import os
import shlex
import sys
from importlib.util import find_spec

from spamnb.base.errors import SpamnbError


def need(library: str, purpose: str) -> None:
    """Raise SpamnbError, which tells the command that installs the library, if it is missing.

    purpose: what needs the library, in the plural.
    """
    if find_spec(library) is None:
        raise SpamnbError(f"{purpose} need {library}: {how_to_install(library)}")


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
