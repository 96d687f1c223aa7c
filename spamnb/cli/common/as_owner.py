"""A command of root goes on as the owner of the ledger, since a file of root beside the ledger would stop the service.

If the configuration, the ledger and all directories above them belong to root and to one user, root goes on as that
user; `owners` finds the user. This cannot be undone: whatever a hostile owner has put there, the program meets it with
that owner's own rights. The program opens the files of the command line afterwards. Standard input and output stay
open.
"""

import argparse
import os
import pwd
import shlex
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import spamnb
from spamnb.base import durable
from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.wording import named
from spamnb.cli.common.output import warn
from spamnb.cli.common.owners import Reached, reach

_NOBODY = 65534  # the group of an unknown user: a directory may have inherited its group from the one above
_OF_ROOT = ("TMPDIR", "MAIL", "MAILDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
_OF_LOGIN = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "SUDO_USER", "SUDO_UID", "SUDO_GID")
_NAMES = ("paths", "path", "file", "corpus")  # of arguments that name files
_WRITE = ("backup", "export")  # commands that write the named file


@dataclass(frozen=True, slots=True)
class Owner:
    """The user whom root becomes, with the groups of a login."""

    uid: int
    gid: int
    groups: frozenset[int]
    name: str
    home: str

    @classmethod
    def of(cls, uid: int) -> "Owner":
        """Return the user with that number, even if the system does not know the user."""
        try:
            entry = pwd.getpwuid(uid)
        except KeyError:
            return cls(uid, _NOBODY, frozenset(), str(uid), "/")
        groups = frozenset(os.getgrouplist(entry.pw_name, entry.pw_gid))
        return cls(uid, entry.pw_gid, groups, entry.pw_name, entry.pw_dir)

    def take_rights(self) -> None:
        """Give up all rights of root, for good. Raises OSError if the system forbids it."""
        os.setgroups(sorted(self.groups))
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)

    def environ(self) -> dict[str, str]:
        """Return root's environment as the user's: what names root's files or login is left out."""
        kept = {name: value for name, value in os.environ.items() if name not in (*_OF_ROOT, *_OF_LOGIN)}
        return kept | {"HOME": self.home, "USER": self.name, "LOGNAME": self.name}


def owner_of_ledger(config: Path, directory: Path, maildir: Path | None) -> Owner | None:
    """Return the owner of the ledger's directory, or of the Maildir before the first ledger. Raises like `owner_of`."""
    there = reach(directory)
    given = [there] if there.is_whole or maildir is None else [there, reach(maildir)]
    owner = _owner([reach(config), *given])
    mode, group = there.status.st_mode, there.status.st_gid
    if owner is not None and there.is_whole:
        is_shared = mode & stat.S_IWOTH or (mode & stat.S_IWGRP and group not in owner.groups | {0})
        if is_shared:
            step = f"take that right away first: chmod go-w {shlex.quote(there.path)}"
            raise SpamnbError(f"users other than {owner.name} may write in {named(there.path)}: {step}")
    return owner


def owner_of(path: Path) -> Owner | None:
    """Return the user beside root who owns a part of the path, or None if all of the path belongs to root.

    Raises SpamnbError if several users own parts of it, or if everybody could redirect it.
    """
    return _owner([reach(path)])


def _owner(found: Sequence[Reached]) -> Owner | None:
    uids = sorted(frozenset[int]().union(*(one.uids for one in found)) - {0})
    if len(uids) > 1:
        whose = " and to ".join(Owner.of(uid).name for uid in uids)
        ways = ", ".join(named(one.path) for one in found)
        raise SpamnbError(
            f"{ways}, with the directories and links above, belong to {whose}: root does not choose between them."
            " Correct the owners, or run the command as the right user"
        )
    return Owner.of(uids[0]) if uids else None


def become(owner: Owner, options: argparse.Namespace) -> None:
    """Go on as that user, for good. Raises SpamnbError if the system or a needed file forbids it."""
    there = [path for path in _files(options) if os.path.lexists(path)]
    try:
        owner.take_rights()
    except OSError as fault:
        what = f"cannot go on as {owner.name}, the owner of the ledger: {fault.strerror}"
        raise SpamnbError(f"{what}; run the command as that user") from fault
    os.umask(0o077)
    environ = owner.environ()
    for name in os.environ.keys() - environ.keys():
        del os.environ[name]
    os.environ.update(environ)
    _check_program(owner)
    for path in there:
        _check_file(path, owner, is_written=options.command in _WRITE)
    if options.verbose:
        warn(f"going on as {owner.name}, the owner of the ledger")


def ask_as(owner: Owner, question: Callable[[], str]) -> str | None:
    """Return the answer of a child process that has that user's rights; None if it cannot have them, or fails."""
    answers, answer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            owner.take_rights()
            with open(answer, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(question())
            code = 0
        finally:
            os._exit(code)
    os.close(answer)
    with open(answers, encoding="utf-8", errors="surrogateescape") as file:
        said = file.read()
    return None if os.waitpid(child, 0)[1] else said


def _files(options: argparse.Namespace) -> Iterator[str]:
    """Yield the files that the command reads, or the directories of those that it writes."""
    for name in _NAMES:
        given = getattr(options, name, None) or []
        for path in [given] if isinstance(given, str) else given:
            if options.command not in _WRITE:
                yield path
            elif durable.open_already(path) is None:
                is_directory = getattr(options, "all_users", False) and os.path.isdir(path)
                yield path if is_directory else os.path.dirname(os.path.abspath(path))


def program_directories() -> list[str]:
    """Return directories of the program, its libraries and Python, from which modules may still be imported."""
    of_library = find_spec("yaml")  # not imported: it may not be needed
    files = [spamnb.__file__, of_library and of_library.origin, os.__file__]
    return [os.path.dirname(file) for file in files if file]


def _check_program(owner: Owner) -> None:
    """Raise SpamnbError unless that user, who imports modules from now on, may read them."""
    for directory in program_directories():
        if not os.access(directory, os.R_OK | os.X_OK):
            raise SpamnbError(
                f"spamnb goes on as {owner.name}, the owner of the ledger, who may not read the program in"
                f" {named(directory)}: install it in a place that all users may read"
            )


def _check_file(path: str, owner: Owner, *, is_written: bool) -> None:
    wanted = (os.X_OK if os.path.isdir(path) else 0) | (os.W_OK if is_written else os.R_OK)
    if os.access(path, wanted):
        return
    who = f"spamnb goes on as {owner.name}, the owner of the ledger, who may not"
    if is_written:
        step = "name a file in a directory that this user may write in, or - for standard output"
        raise UsageError(f"{who} write in {named(path)}: {step}")
    step = "copy it to a place that this user may read, or pipe it in if the command takes - for standard input"
    raise UsageError(f"{who} read {named(path)}: {step}")
