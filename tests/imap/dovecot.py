"""Dovecot in two versions: 2.3, which is installed on this machine, and 2.4, which runs in a tree of Debian 13.

Both work in the same home directory, on the ports of this machine; the tree is the root directory of the processes of
2.4 and of what they start, so a program of a recipe is Debian 13's there.
"""

import os
import pwd
import shutil
import sys
from pathlib import Path

import pytest

from tests.documents import block
from tests.patience import PATIENCE
from tests.systemd.tree import PROJECT

OLD, NEW = "2.3", "2.4"
VERSIONS = (OLD, NEW)
BOTH = pytest.mark.parametrize("dovecot", VERSIONS, indirect=True)
ONLY_OLD = pytest.mark.parametrize("dovecot", [OLD], indirect=True)
_PATH = ("/usr/bin", "/usr/sbin", "/usr/lib/dovecot")  # also where a user's PATH has not all of it

# Seen by nobody else, and gone with the process.
_ENTER = """
tree=$1 home=$2 package=$3 owner=$4
shift 4
for at in /dev /proc "$home" "$package"; do
    mkdir -p "$tree$at"
    mount --rbind "$at" "$tree$at"
done
exec chroot --userspec="$owner" --groups= "$tree" "$@"
"""
_IN_BOTH = """
base_dir = {home}/run
state_dir = {home}/run
log_path = {home}/dovecot.log
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
first_valid_uid = 1
protocols = imap
listen = 127.0.0.1
ssl = no
service anvil {{
  chroot =
}}
service imap-urlauth-login {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Junk {{
    auto = create
    special_use = \\Junk
  }}
}}
"""
_OF_VERSION = {
    OLD: """
disable_plaintext_auth = no
mail_location = maildir:{home}/Maildir{location}
passdb {{
  driver = passwd-file
  args = {home}/users
}}
userdb {{
  driver = passwd-file
  args = {home}/users
}}
""",
    NEW: """
auth_allow_cleartext = yes
mail_driver = maildir
mail_path = {home}/Maildir
{location}
passdb passwd-file {{
  passwd_file_path = {home}/users
}}
userdb passwd-file {{
  passwd_file_path = {home}/users
}}
""",
}
_LOCATION = {
    OLD: {"fs": ":LAYOUT=fs", "utf-8": ":UTF-8"},
    NEW: {"fs": "mailbox_list_layout = fs\n", "utf-8": "mailbox_list_utf8 = yes\n"},
}
_FIRST = {OLD: "", NEW: "dovecot_config_version = 2.4.0\ndovecot_storage_version = 2.4.0\n"}
SIEVE_AT_DELIVERY = {
    OLD: "protocol lda {\n  mail_plugins = sieve\n}\n",
    NEW: "protocol lda {\n  mail_plugins {\n    sieve = yes\n  }\n}\n",
}
# Sieve kills a program after ten seconds.
_LIMITS = "".join(f"sieve_{action}_exec_timeout = {PATIENCE:.0f}s\n" for action in ("filter", "pipe"))
_PATIENT = {OLD: f"plugin {{\n{_LIMITS}}}\n", NEW: _LIMITS}


def recipe(document: str, *names: str) -> dict[str, str]:
    """The blocks of a document by version, in the order of VERSIONS, with the files that they name in anna's home.

    A program that Sieve calls has the time that tests give.
    """
    places = {"/usr/local/lib/spamnb": "%h/lib", "/etc/dovecot": "%h/sieve"}
    found = dict(zip(VERSIONS, (block(document, name) for name in names), strict=True))
    for named, place in places.items():
        found = {version: text.replace(named, place) for version, text in found.items()}
    return {version: text + _PATIENT[version] for version, text in found.items()}


class Dovecot:
    """A version. tree: the root directory that it runs in, None for that of this machine."""

    def __init__(self, tree: Path | None = None) -> None:
        self.version = OLD if tree is None else NEW
        self._tree = tree

    def configuration(self, home: Path, more: str, *, layout: str, utf8: bool, **values: object) -> str:
        """The whole configuration; `more` is written after it, `%h` in it is anna's home."""
        which = [name for name, is_so in (("fs", layout == "fs"), ("utf-8", utf8)) if is_so]
        location = "".join(_LOCATION[self.version][name] for name in which)
        common = (_OF_VERSION[self.version] + _IN_BOTH).format(home=home, location=location, **values)
        return f"{_FIRST[self.version]}{common}{more.replace('%h', str(home))}"

    def program(self, name: str) -> str | None:
        """Return the path of one of its programs, or of another program in its place; None if it is not installed."""
        if self._tree is None:
            return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *_PATH]))
        return next((path for one in _PATH if (self._tree / (path := f"{one}/{name}").lstrip("/")).exists()), None)

    @property
    def python(self) -> str:
        """Return a Python in its place, which imports spamnb by PYTHONPATH=."""
        return sys.executable if self._tree is None else "/usr/bin/python3"

    def command(self, home: Path, owner: pwd.struct_passwd, name: str, *arguments: str) -> list[str]:
        """The command that runs one of its programs as the owner of the mail, in a home directory."""
        command = [self.program(name) or name, *arguments]
        user, group = owner.pw_uid, owner.pw_gid
        if self._tree is not None:
            enter = ["unshare", "--mount", "--propagation=private", "sh", "-euc", _ENTER, "sh"]
            return [*enter, str(self._tree), str(home), str(PROJECT / "spamnb"), f"{user}:{group}", *command]
        if os.geteuid() == 0:
            return ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", *command]
        return command
