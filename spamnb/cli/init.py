"""`init`: find the Maildir, propose a role for each folder, write the configuration, and learn if told so."""

import argparse
import os
import sys
from pathlib import Path

from spamnb.cli.context import config_path
from spamnb.cli.output import table
from spamnb.cli.roles import usual_role
from spamnb.cli.sources import Source
from spamnb.config import Mailbox, Role, load, render
from spamnb.errors import ConfigError, MaildirError, UsageError
from spamnb.maildir.folders import INBOX, Folder, FolderUnavailableError, detect_layout, find_folders
from spamnb.maildir.mailbox import scan
from spamnb.maildir.names import parse_name

_USUAL_PLACES = ("~/Maildir", "~/.maildir", "~/Mail", "~/mail", "~/.mail")
_TEACHES = {Role.SPAM: "spam", Role.TRAIN_SPAM: "spam", Role.INBOX: "ham", Role.HAM: "ham", Role.TRAIN_HAM: "ham"}


def init(options: argparse.Namespace) -> int:
    """Set up a mailbox."""
    if options.learn and options.no_learn:
        raise UsageError("--learn and --no-learn exclude each other")
    path = config_path(options)
    if path.exists() and not options.force:
        raise ConfigError(f"{path} exists already: edit it, or write a new one over it with --force")
    root = _find(options.maildir)
    layout = detect_layout(str(root))
    folders = find_folders(str(root), layout)
    roles = propose(folders)
    waiting = {folder.name: _messages(folder) for folder in folders}
    if not options.quiet:
        print(f"Found {root} ({layout}), {len(folders)} folder{'s' if len(folders) != 1 else ''}:\n")
        rows = [("folder", "role", "messages", "would teach")]
        rows += [
            (name, str(role), str(len(waiting.get(name, ()))), _TEACHES.get(role, "nothing"))
            for name, role in roles.items()
        ]
        print(table(rows))
    mailbox = Mailbox(path=root, roles=roles, layout=layout)
    _write(path, render([mailbox], None if options.config is None else _beside(options.config)))
    load(path, os.environ)
    if not options.quiet:
        print(f"\nWrote {path}. Change a role there if a folder means something else to you.")
    if _shall_learn(options):
        _learn(roles, folders, waiting, options)
    _take_note(options)
    if not options.quiet:
        print("\nNext: spamnb run    (or the systemd unit; see the README)")
    return 0


def _beside(config: str) -> Path:
    """The ledger of a configuration that has a place of its own."""
    return Path(config).absolute().with_name("ledger.sqlite")


def _find(asked: str | None) -> Path:
    if asked is not None:
        root = Path(asked).expanduser().absolute()
        if not root.is_dir():
            raise MaildirError(f"there is no directory {root}: give the path of your Maildir")
        if not find_folders(str(root)):
            raise MaildirError(f"{root} is no Maildir: it has no folders with new/ and cur/ in them")
        return root
    places = [os.environ.get("MAILDIR", ""), *_USUAL_PLACES]
    for place in places:
        root = Path(place).expanduser()
        try:
            if place and root.is_absolute() and find_folders(str(root)):
                return root
        except FolderUnavailableError:
            continue
    raise MaildirError(
        f"found no Maildir in {', '.join(filter(None, places))}: give its path, as in spamnb init ~/mymail"
    )


def propose(folders: tuple[Folder, ...]) -> dict[str, Role]:
    """A role for each folder, by its name; there is always an inbox and a spam folder, which may not exist yet."""
    roles = {folder.name: usual_role(folder.name) for folder in folders}
    if Role.INBOX not in roles.values():
        roles = {INBOX: Role.INBOX} | roles
    if Role.SPAM not in roles.values():
        roles["Junk"] = Role.SPAM
    return roles


def _messages(folder: Folder) -> list[Source]:
    """The messages that the folder as it is would teach: all but those marked as deleted."""
    try:
        entries = [entry for entry in scan(folder) if not parse_name(entry.name).trashed]
    except FolderUnavailableError as fault:
        print(f"spamnb: {fault}", file=sys.stderr)
        return []
    return [Source(entry.path(folder), entry.path(folder)) for entry in entries]


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        with open(
            os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w", encoding="utf-8"
        ) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as fault:
        raise ConfigError(f"cannot write {path}: {fault.strerror}; choose another place with --config FILE") from fault


def _shall_learn(options: argparse.Namespace) -> bool:
    if options.learn or options.no_learn or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return bool(options.learn)
    return input("\nLearn from the folders as they are now? [y/N] ").strip().lower() in {"y", "yes"}


def _learn(
    roles: dict[str, Role], folders: tuple[Folder, ...], waiting: dict[str, list[Source]], options: argparse.Namespace
) -> None:
    from spamnb.cli.teach import learn

    for label, name in enumerate(("ham", "spam")):
        found = [
            source for folder in folders if _TEACHES.get(roles[folder.name]) == name for source in waiting[folder.name]
        ]
        if found:
            done = learn(found, label, f"lay in a {name} folder at the start", options)
            if not options.quiet:
                print(done)


def _take_note(options: argparse.Namespace) -> None:
    """Mail that lies there now is never moved; what comes from now on is new."""
    from spamnb.service.daemon import Daemon
    from spamnb.service.notify import Notifier

    path = config_path(options)
    Daemon(lambda: load(path, os.environ), Notifier({})).take_note()
