"""`init`: find the Maildir, propose a role for each folder, write the configuration, and learn if told so."""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from spamnb.cli.context import config_path
from spamnb.cli.output import is_terminal, plural, printable, table
from spamnb.cli.sources import Source
from spamnb.config import Mailbox, Role, load, parse, render
from spamnb.config.usual import usual_role
from spamnb.errors import ConfigError, MaildirError, UsageError
from spamnb.maildir.folders import INBOX, Folder, FolderUnavailableError, detect_layout, find_folders
from spamnb.maildir.mailbox import scan
from spamnb.maildir.names import parse_name
from spamnb.service.alone import alone
from spamnb.service.daemon import Daemon
from spamnb.service.notify import Notifier

_USUAL_PLACES = ("~/Maildir", "~/.maildir", "~/Mail", "~/mail", "~/.mail")
_TEACHES = {Role.SPAM: "spam", Role.TRAIN_SPAM: "spam", Role.INBOX: "ham", Role.HAM: "ham", Role.TRAIN_HAM: "ham"}


def init(options: argparse.Namespace) -> int:
    """Set up a mailbox."""
    if options.learn and options.no_learn:
        raise UsageError("--learn and --no-learn exclude each other")
    path = config_path(options)
    if os.path.lexists(path) and not options.force:
        raise ConfigError(f"{printable(str(path))} exists already: edit it, or write a new one over it with --force")
    root = _find(options.maildir)
    layout = detect_layout(str(root))
    folders = find_folders(str(root), layout)
    waiting = {folder.name: _messages(folder) for folder in folders}
    mailbox = Mailbox(path=root, roles=propose({name: len(found) for name, found in waiting.items()}), layout=layout)
    text = render([mailbox], None if options.config is None else _beside(options.config))
    config = parse(text, str(path), os.environ)
    with alone(str(config.ledger)):  # a running service takes note of a mailbox by itself, and must not be surprised
        pass
    say = (lambda line: None) if options.quiet else print
    say(f"Found {printable(str(root))} ({layout}), {plural(len(folders), 'folder')}:\n")
    say(_proposal(mailbox, waiting))
    kept = _write(path, text)
    say(f"\nWrote {printable(str(path))}. Change a role there if a folder means something else to you.")
    if kept is not None:
        say(f"The former one is kept as {printable(str(kept))}.")
    code = _learn(mailbox.roles, waiting, options) if _shall_learn(waiting, options) else 0
    _take_note(options)
    say("\nNext: spamnb run    (or the systemd unit; see the README)")
    return code


def _proposal(mailbox: Mailbox, waiting: dict[str, list[Source]]) -> str:
    rows: list[tuple[object, ...]] = [("folder", "role", "messages", "would teach")]
    rows += [
        (name, role, len(waiting[name]) if name in waiting else "to be made", _TEACHES.get(role, "nothing"))
        for name, role in mailbox.roles.items()
    ]
    return f"{table(rows)}\n\nSpam will be moved to {printable(mailbox.spam_folder)}."


def _beside(config: str) -> Path:
    """The ledger of a configuration that has a place of its own."""
    return Path(config).absolute().with_name("ledger.sqlite")


def _find(asked: str | None) -> Path:
    if asked is not None:
        root = Path(asked).expanduser().absolute()
        if not root.is_dir():
            raise MaildirError(f"there is no directory {printable(str(root))}: give the path of your Maildir")
        if not find_folders(str(root)):
            raise MaildirError(f"{printable(str(root))} is no Maildir: it has no folders with new/ and cur/ in them")
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


def propose(folders: Mapping[str, int]) -> dict[str, Role]:
    """A role for each folder, by its name; there is always an inbox and a spam folder, which may not exist yet.

    `folders` says how many messages each holds. Spam is moved to the first spam folder, so the fullest leads.

    >>> propose({"INBOX": 90, "Spam": 2, "Junk E-mail": 70})["Junk E-mail"]
    <Role.SPAM: 'spam'>
    >>> propose({"INBOX": 90})
    {'INBOX': <Role.INBOX: 'inbox'>, 'Junk': <Role.SPAM: 'spam'>}
    """
    roles = {name: usual_role(name) for name in folders}
    if Role.INBOX not in roles.values():
        roles = {INBOX: Role.INBOX} | roles
    spam = [name for name, role in roles.items() if role is Role.SPAM]
    if not spam:
        return roles | {"Junk": Role.SPAM}
    others = {name: role for name, role in roles.items() if role is not Role.SPAM}
    return others | dict.fromkeys(sorted(spam, key=lambda name: -folders[name]), Role.SPAM)


def _messages(folder: Folder) -> list[Source]:
    """The messages that the folder would teach as it is, in the order of their names: all but the deleted ones."""
    try:
        found = sorted(scan(folder), key=lambda entry: entry.name)
        entries = [entry for entry in found if not parse_name(entry.name).trashed]
    except FolderUnavailableError as fault:
        print(f"spamnb: {printable(str(fault))}", file=sys.stderr)
        return []
    return [Source(entry.path(folder), entry.path(folder)) for entry in entries]


def _write(path: Path, text: str) -> Path | None:
    """Write the configuration, whole or not at all. Returns where the former one is kept, if there was one."""
    former = path.with_name(f"{path.name}.old")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            with open(os.open(draft, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            existed = os.path.lexists(path)
            if existed:
                path.rename(former)
            draft.rename(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as fault:
        raise ConfigError(
            f"cannot write {printable(str(path))}: {fault.strerror}; choose another place with --config FILE"
        ) from fault
    return former if existed else None


def _shall_learn(waiting: dict[str, list[Source]], options: argparse.Namespace) -> bool:
    if options.learn or options.no_learn or options.quiet or not any(waiting.values()):
        return bool(options.learn)
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        print("\nNothing was learned from the folders as they are: that would be spamnb init --force --learn")
        return False
    try:
        return input("\nLearn from the folders as they are now? [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        return False


def _learn(roles: Mapping[str, Role], waiting: dict[str, list[Source]], options: argparse.Namespace) -> int:
    """Learn ham first and then spam: what lies in a spam folder was put there, and ends as spam."""
    from spamnb.cli.teach import learn

    codes = [0]
    for label, name in enumerate(("ham", "spam")):
        found = [source for folder, some in waiting.items() if _TEACHES.get(roles[folder]) == name for source in some]
        if found:
            codes.append(learn(found, len(found), label, f"lay in a {name} folder at the start", options))
    return max(codes)


def _take_note(options: argparse.Namespace) -> None:
    """Mail that lies there now is never moved; what comes from now on is new."""
    path = config_path(options)
    Daemon(lambda: load(path, os.environ), Notifier({})).take_note()
