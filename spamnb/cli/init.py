"""`init`: propose a role for each folder, write the configuration, and learn if told so."""

import argparse
import contextlib
import os
import shlex
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spamnb.cli.context import config_path
from spamnb.cli.finding import absolute, find_maildirs
from spamnb.cli.output import is_terminal, plural, printable, table
from spamnb.cli.sources import Source
from spamnb.cli.symptoms import name_of, owner_of
from spamnb.config import Config, Mailbox, Role, load, parse, render
from spamnb.config.adding import add_mailboxes
from spamnb.config.places import SYSTEM_CONFIG
from spamnb.config.usual import usual_role
from spamnb.config.writing import render_items
from spamnb.durable import sync
from spamnb.errors import ConfigError, MaildirError, UsageError
from spamnb.maildir.folders import INBOX, Folder, FolderUnavailableError, detect_layout, find_folders
from spamnb.maildir.mailbox import scan
from spamnb.maildir.names import parse_name
from spamnb.service.alone import alone, is_running
from spamnb.service.daemon import Daemon
from spamnb.service.notify import Notifier

_TEACHES = {Role.SPAM: "spam", Role.TRAIN_SPAM: "spam", Role.INBOX: "ham", Role.HAM: "ham", Role.TRAIN_HAM: "ham"}


@dataclass(frozen=True, slots=True)
class _Found:
    """A Maildir with the roles that are proposed for it, its folders, and their messages by folder."""

    mailbox: Mailbox
    folders: tuple[Folder, ...]
    waiting: dict[str, list[Source]]


def init(options: argparse.Namespace) -> int:
    """Set up mailboxes."""
    if options.learn and options.no_learn:
        raise UsageError("--learn and --no-learn exclude each other")
    path = config_path(options)
    if os.path.lexists(path) and not options.force:
        return _with_configuration(path, options)
    if options.config is None and path == SYSTEM_CONFIG:
        raise ConfigError(
            "HOME is not set, so the configuration has no place: set HOME, or name a file with --config FILE"
        )
    found = [_look_at(root) for root in find_maildirs(options.maildirs)]
    _check_apart(found, ())
    text = render([one.mailbox for one in found], None if options.config is None else _beside(options.config))
    config = parse(text, str(path), os.environ)
    with alone(str(config.ledger)):  # a running service takes note of a mailbox by itself, and must not be surprised
        pass
    _propose_all(found, options)
    kept = _write(path, text)
    say = _speaker(options)
    say(f"\nWrote {printable(str(path))}. Change a role there if a folder means something else to you.")
    if kept is not None:
        say(f"The former one is kept as {printable(str(kept))}.")
    code = _learn_all(found, options)
    _take_note(options)
    say(f"\nNext: {_command(options)} run    (or the systemd unit; see the README)")
    return code


def _with_configuration(path: Path, options: argparse.Namespace) -> int:
    """Add the mailboxes that are new to a configuration, or learn by its roles."""
    asked = list(map(absolute, options.maildirs))
    if not asked and not options.learn:
        raise ConfigError(
            f"{printable(str(path))} exists already: edit it, add a mailbox with init PATH, learn by its roles with"
            " --learn, or write a new one in its place with --force"
        )
    config = load(path, os.environ)
    known = {mailbox.path for mailbox in config.mailboxes}
    if not (options.learn and any(one not in known and not one.is_dir() for one in asked)):
        asked = [root for one in asked for root in ([one] if one in known else find_maildirs([str(one)]))]
    found = [_look_at(root) for root in dict.fromkeys(asked) if root not in known and root.is_dir()]
    if not found and options.learn:
        return _learn_as_configured(path, config, asked, options)
    if not found:
        raise ConfigError(
            f"{printable(str(path))} has this mailbox already: edit it, learn by its roles with --learn, or write a new"
            " one in its place with --force"
        )
    return _add(path, config, found, options)


def _add(path: Path, config: Config, found: Sequence[_Found], options: argparse.Namespace) -> int:
    """Write more mailboxes into a configuration, all else in which stays as it is."""
    _check_apart(found, config.mailboxes)
    mailboxes = [one.mailbox for one in found]
    target = Path(os.path.realpath(path))  # where it is a link, the file behind it is what counts
    text = add_mailboxes(target.read_bytes().decode(), mailboxes, str(path), os.environ)
    if text is None:
        print(render_items(mailboxes), end="")
        raise ConfigError(
            f"{printable(str(path))} has its mailboxes in a form to which nothing can be added safely: add the lines"
            " above to `mailboxes` yourself; nothing was changed"
        )
    _propose_all(found, options)
    kept = _write(target, text)
    say = _speaker(options)
    say(f"\nAdded to {printable(str(path))}; the former one is kept as {printable(str(kept))}.")
    code = _learn_all(found, options)
    if is_running(str(config.ledger)):
        say("\nNext: let the service read it again: systemctl --user reload spamnb, or send it SIGHUP")
    else:
        _take_note(options)
        say(f"\nNext: {_command(options)} run    (or the systemd unit; see the README)")
    return code


def _look_at(root: Path) -> _Found:
    layout = detect_layout(str(root))
    folders = find_folders(str(root), layout)
    waiting = {folder.name: _messages(folder) for folder in folders}
    roles = propose({name: len(messages) for name, messages in waiting.items()})
    return _Found(Mailbox(path=root, roles=roles, layout=layout), folders, waiting)


def _check_apart(found: Sequence[_Found], known: Sequence[Mailbox]) -> None:
    """Raises ConfigError for a mailbox inside of another: its mail would be seen twice."""
    paths = [mailbox.path for mailbox in known]
    for one in found:
        here = one.mailbox.path
        for other in paths:
            if here.is_relative_to(other) or other.is_relative_to(here):
                inner, outer = sorted(map(str, (here, other)), key=len, reverse=True)
                raise ConfigError(
                    f"{printable(inner)} lies inside of the mailbox {printable(outer)}: take one of the two"
                )
        paths.append(here)


def _propose_all(found: Sequence[_Found], options: argparse.Namespace) -> None:
    """Show what is proposed. Raises MaildirError where it cannot be done."""
    for one in found:
        _check_rights(one.mailbox.path, one.folders, one.mailbox)
    say = _speaker(options)
    for number, one in enumerate(found):
        mailbox = one.mailbox
        gap = "\n" if number else ""
        say(f"{gap}Found {printable(str(mailbox.path))} ({mailbox.layout}), {plural(len(one.folders), 'folder')}:\n")
        say(_proposal(mailbox, one.waiting))
        if mailbox.spam_folder not in one.waiting:
            say("It is made; subscribe to it in your mail program if it does not show there.")


def _learn_all(found: Sequence[_Found], options: argparse.Namespace) -> int:
    if not _shall_learn(any(messages for one in found for messages in one.waiting.values()), options):
        return 0
    return max(_learn(one.mailbox, one.waiting, options) for one in found)


def _speaker(options: argparse.Namespace) -> Callable[[str], None]:
    return (lambda line: None) if options.quiet else print


def _check_rights(root: Path, folders: Sequence[Folder], mailbox: Mailbox) -> None:
    """Raises MaildirError where spam could not be moved, and warns of a service that would run as the wrong user."""
    known = {folder.name: folder for folder in folders}
    ends = [known[name] for name in (mailbox.inbox_folder, mailbox.spam_folder) if name in known]
    places = [folder.subdir(which) for folder in ends for which in ("new", "cur")]
    if mailbox.spam_folder not in known:
        places.append(str(root))
    me, owner = name_of(os.geteuid()), name_of(owner_of(places[0]))
    for place in places:
        if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
            raise MaildirError(
                f"{printable(place)} may not be read and written by {me}: run spamnb as {owner}, the owner of the mail,"
                " or correct the permissions"
            )
    if me != owner:
        print(f"spamnb: this mail belongs to {owner}, and you are {me}: run the service as {owner}", file=sys.stderr)


def _learn_as_configured(path: Path, config: Config, asked: Sequence[Path], options: argparse.Namespace) -> int:
    """Learn from the folders as they are, by the roles of a configuration that is there, which stays as it is."""
    known = {mailbox.path: mailbox for mailbox in config.mailboxes}
    missing = [one for one in asked if one not in known]
    if missing:
        raise ConfigError(
            f"{printable(str(path))} has no mailbox at {printable(str(missing[0]))}: add it there, or give another"
            " configuration with --config FILE"
        )
    codes = [0]
    for mailbox in [known[one] for one in asked] or config.mailboxes:
        waiting = {folder.name: _messages(folder) for folder in find_folders(str(mailbox.path), mailbox.layout)}
        if not options.quiet:
            print(f"{printable(str(mailbox.path))}, by the roles in {printable(str(path))}:\n")
            print(f"{_proposal(mailbox, waiting)}\n")
        codes.append(_learn(mailbox, waiting, options))
    if not is_running(str(config.ledger)):  # a running service has done so
        _take_note(options)
    return max(codes)


def _command(options: argparse.Namespace) -> str:
    """How the next command begins: with the configuration, if this one was told of it."""
    return "spamnb" if options.config is None else f"spamnb --config {printable(shlex.quote(options.config))}"


def _proposal(mailbox: Mailbox, waiting: dict[str, list[Source]]) -> str:
    rows: list[tuple[object, ...]] = [("folder", "role", "messages", "would teach")]
    rows += [
        (name, role, len(waiting[name]) if name in waiting else "to be made", _taught_by(mailbox, name))
        for name, role in _roles(mailbox, waiting).items()
    ]
    return f"{table(rows)}\n\nSpam will be moved to {printable(mailbox.spam_folder)}."


def _roles(mailbox: Mailbox, waiting: Mapping[str, object]) -> dict[str, Role]:
    """The role of each folder that is named or is there."""
    return {**mailbox.roles, **{name: mailbox.role_of(name) for name in waiting}}


def _taught_by(mailbox: Mailbox, folder: str) -> str:
    """What a message that lies in the folder teaches."""
    return "nothing" if folder == mailbox.unsure_folder else _TEACHES.get(mailbox.role_of(folder), "nothing")


def _beside(config: str) -> Path:
    """The ledger of a configuration that has a place of its own."""
    return Path(config).absolute().with_name("ledger.sqlite")


def propose(folders: Mapping[str, int]) -> dict[str, Role]:
    """A role for each folder, by its name; there is always an inbox and a spam folder, which may not exist yet.

    `folders` says how many messages each holds. Spam is moved to the first spam folder, so the fullest leads; but
    one that is spam only by the folder it lies in, as Junk/2023, comes after the others.

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
    return others | dict.fromkeys(sorted(spam, key=lambda name: (_inherits(name), -folders[name])), Role.SPAM)


def _inherits(folder: str) -> bool:
    return usual_role(folder.rpartition("/")[2]) is not Role.SPAM


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
    former = _unused(path.with_name(f"{path.name}.old"))
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            with open(os.open(draft, flags, 0o600), "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                _keep_rights(file.fileno(), path)
                os.fsync(file.fileno())
            existed = os.path.lexists(path)
            if existed:
                try:  # there is a configuration at every moment: the service may read it just now
                    os.link(path, former, follow_symlinks=False)
                except OSError:  # a file system without hard links
                    path.rename(former)
            draft.rename(path)
            sync(str(path.parent))
        finally:
            draft.unlink(missing_ok=True)
    except OSError as fault:
        raise ConfigError(
            f"cannot write {printable(str(path))}: {fault.strerror}; choose another place with --config FILE"
        ) from fault
    return former if existed else None


def _keep_rights(file: int, former: Path) -> None:
    """Give a file the mode and the owner of the one whose place it takes: a service of another user may read it."""
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(former, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            with contextlib.suppress(PermissionError):  # who may not give it away keeps it
                os.fchown(file, status.st_uid, status.st_gid)
            os.fchmod(file, stat.S_IMODE(status.st_mode))


def _unused(path: Path) -> Path:
    """The path, with a number behind it if something is there: what was kept once may have been edited for long."""
    number = 1
    free = path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}{number}")
    return free


def _shall_learn(is_mail_there: bool, options: argparse.Namespace) -> bool:
    if options.learn or options.no_learn or options.quiet or not is_mail_there:
        return bool(options.learn)
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        print(f"\nNothing was learned from the folders as they are: that would be {_command(options)} init --learn")
        return False
    try:
        if input("\nLearn from the folders as they are now? [y/N] ").strip().lower() in {"y", "yes"}:
            return True
    except EOFError:
        print()
    print(f"Not now, then. Later it is: {_command(options)} init --learn")
    return False


def _learn(mailbox: Mailbox, waiting: dict[str, list[Source]], options: argparse.Namespace) -> int:
    """Learn ham first and then spam: what lies in a spam folder was put there, and ends as spam."""
    from spamnb.cli.teach import learn

    codes = [0]
    for label, name in enumerate(("ham", "spam")):
        found = [source for folder, some in waiting.items() if _taught_by(mailbox, folder) == name for source in some]
        if found:
            codes.append(learn(found, len(found), label, f"lay in a {name} folder at the start", options))
    return max(codes)


def _take_note(options: argparse.Namespace) -> None:
    """Mail that lies there now is never moved; what comes from now on is new."""
    path = config_path(options)
    Daemon(lambda: load(path, os.environ), Notifier({})).take_note()
