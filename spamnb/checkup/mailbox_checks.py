"""Check the mailboxes: folders, roles, permissions, file systems, watching."""

import os
import shlex
import stat
from collections.abc import Container, Iterable, Iterator

from spamnb.base.label import Role
from spamnb.base.wording import plural
from spamnb.checkup import inotify
from spamnb.checkup.finding import WARNING, Finding, fault, name_of, network_file_system, ok, owner_of, some, warning
from spamnb.config import Config, Mailbox
from spamnb.config.folder_names import usual_role
from spamnb.ledger.file.locks import is_running
from spamnb.maildir.folders import (
    Folder,
    FolderNameError,
    FolderUnavailableError,
    check_name,
    detect_layout,
    find_directories,
    find_folders,
)
from spamnb.maildir.messages import Entry, Unread, scan, why_unread
from spamnb.maildir.not_shown import not_shown, place_in
from spamnb.maildir.other_formats import other_format

_SHOWN = 5  # Maildirs that the layout does not show, each with its next step


def of_mailboxes(config: Config, *, whole: bool = True, of_all: Container[str] = ()) -> Iterator[Finding]:
    """Run all checks of the mailboxes of a configuration. whole: also look at each message file.

    of_all: the folders to which all users of a host give a role. Not each user has them all.
    """
    for mailbox in config.mailboxes:
        yield from _of_mailbox(mailbox, trusted=config.learning.trust_delivery, whole=whole, of_all=of_all)
    yield from list(_watching(config)) or [_watches(config)]


def _of_mailbox(mailbox: Mailbox, *, trusted: bool, whole: bool, of_all: Container[str]) -> Iterator[Finding]:
    root = str(mailbox.path)
    name = f"mailbox {root}"
    try:
        folders = {folder.name: folder for folder in find_folders(root, mailbox.layout)}
    except FolderUnavailableError as error:
        yield fault(name, str(error), "correct `path` in the configuration, or mount the disk")
        return
    if not folders and (other := other_format(root)) is not None:
        yield fault(name, other.what, other.step)
        return
    findings = [
        *_missing(name, mailbox, folders, of_all),
        *_odd_roles(name, mailbox, folders),
        *_not_shown(name, mailbox),
        *_permissions(name, list(folders.values()), root),
        *_file_systems(name, mailbox, folders),
        *(_messages(name, list(folders.values())) if whole else ()),
    ]
    yield from findings or [ok(name, f"{len(folders)} folders, spam goes to {mailbox.spam_folder}")]
    training = [folder for folder in folders if mailbox.role_of(folder) in (Role.TRAIN_SPAM, Role.TRAIN_HAM)]
    if training:
        means = "mail that is delivered directly into it is not learned"
        if trusted:
            means = (
                "mail that is delivered directly into it is learned too. If the server files mail for you+FOLDER@ by"
                " itself, anybody can train: then write `trust_delivery: false` under `learning`"
            )
        yield ok(f"training by {some(training)}", means)


def _missing(name: str, mailbox: Mailbox, folders: dict[str, Folder], of_all: Container[str]) -> Iterator[Finding]:
    """Report folders that are configured but missing. of_all: as in `of_mailboxes`."""
    inbox = mailbox.inbox_folder
    if inbox not in folders:
        means = f"the folder {inbox}, which has the role inbox, does not exist: the service will not start"
        yield fault(name, means, f"correct `roles` in the configuration{_instead(inbox, folders)}")
    made = [goal for goal in mailbox.goals.values() if goal not in folders]
    for goal in made:
        try:
            check_name(goal, detect_layout(str(mailbox.path)) if mailbox.layout == "auto" else mailbox.layout)
        except FolderNameError as error:
            yield fault(name, f"{error}: the service will not start", "correct the name in the configuration")
        else:
            if goal in of_all:
                continue
            means = f"the folder {goal} does not exist yet: the service makes it at its start"
            step = f"if you mean another folder, correct its name in the configuration{_instead(goal, folders)}"
            yield warning(name, means, step)
    missing = [name for name in mailbox.roles if name not in {*folders, *made, inbox} and name not in of_all]
    if missing:
        hints = "".join(_instead(folder, folders) for folder in missing)
        step = f"correct the names in `roles`, or leave them out{hints}"
        yield warning(name, f"configured, but not there: {some(missing)}", step)


def _instead(name: str, folders: Iterable[str]) -> str:
    """Return the name of an existing folder that another program would call `name`; "" without one."""

    def plain(name: str) -> str:
        return name.lower().removeprefix(".").replace(".", "/").removeprefix("inbox/")

    alike = [folder for folder in folders if plain(folder) == plain(name)]
    return f"; for {name} write {alike[0]}" if alike else ""


def _odd_roles(name: str, mailbox: Mailbox, folders: Iterable[str]) -> Iterator[Finding]:
    """Report folders without a role of their own whose name suggests another role, except ham: neutral is safer."""
    for folder in folders:
        role, usual = mailbox.role_of(folder), usual_role(folder)
        named = folder in mailbox.roles or mailbox.by_pattern(folder) is role or role.is_apart
        if not named and usual not in (role, Role.HAM):
            means = f"{folder} has no role of its own, so it is {role}; by its name it is {usual}"
            yield warning(name, means, f"write '{folder}: {usual}' under `roles`")


def _not_shown(name: str, mailbox: Mailbox) -> Iterator[Finding]:
    """Report Maildirs inside the mailbox that are none of its folders: `s=Junk` of mutt makes one in a Maildir++."""
    root = str(mailbox.path)
    layout = detect_layout(root) if mailbox.layout == "auto" else mailbox.layout
    found = list(not_shown(root, layout))
    for path in found[:_SHOWN]:
        number, place = len(_listed(Folder("", path))), place_in(layout, root, path)
        means = f"{path} is a Maildir that the layout {layout} does not show: its {plural(number, 'message')}"
        means += " and what you move there teach nothing"
        command = _into_place(path, place, is_empty=not number)
        step = f"write the name {_of_mutt(root, place)} in mutt, say, instead of {_of_mutt(root, path)}; and {command}"
        yield Finding(WARNING, name, means, step, command)
    if (more := len(found) - _SHOWN) > 0:
        step = f"list them: find {shlex.quote(root)} -name cur"
        yield warning(name, f"{plural(more, 'more Maildir')} that the layout {layout} does not show", step)


def _of_mutt(root: str, path: str) -> str:
    """Return a folder's name in a mail program that writes paths below the mailbox so."""
    return f"={os.path.relpath(path, root)}"


def _into_place(path: str, place: str, *, is_empty: bool) -> str:
    """Return what moves the messages of a Maildir to where the layout shows them, and leaves nothing behind.

    It never overwrites a message. is_empty: it has no messages.
    """
    source, goal = shlex.quote(path), shlex.quote(place)
    new, cur, tmp = (shlex.quote(os.path.join(path, subdir)) for subdir in ("new", "cur", "tmp"))
    removed = f"rmdir {new} {cur} {tmp} {source}"
    if is_empty:
        return removed
    if os.path.lexists(place):
        moved = f"for d in new cur; do find {source}/$d -type f -exec mv -nt {goal}/$d {{}} +; done"
        return f"{moved}; find {source} -type f | grep -q . || {removed}"
    above = os.path.dirname(place)
    made = "" if os.path.isdir(above) else f"mkdir -p {shlex.quote(above)} && "
    return f"{made}mv -nT {source} {goal}"


def _permissions(name: str, folders: list[Folder], root: str) -> Iterator[Finding]:
    me, owner = os.geteuid(), owner_of(root)
    if me != owner:
        means = f"belongs to {name_of(owner)}, but spamnb runs as {name_of(me)}, who would own new folders in it"
        yield warning(name, means, f"run spamnb, and its service, as {name_of(owner)}")
    shut, sticky, others = [], [], []
    for folder in folders:
        for sub in ("new", "cur", "tmp"):
            path = folder.subdir(sub)
            try:
                status = os.stat(path)
            except OSError:
                continue  # tmp/ may be missing in a copied mailbox
            if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                shut.append(f"{folder.name}/{sub}")
            if status.st_mode & stat.S_ISVTX and me not in {0, status.st_uid}:
                sticky.append(f"{folder.name}/{sub}")
            if status.st_uid != owner:
                others.append(f"{folder.name}/{sub}")
    if shut:
        means = f"{name_of(me)} cannot read and write {some(shut)}"
        yield fault(name, means, "run spamnb as the owner of the mail, or correct the permissions")
    if sticky:
        means = f"belongs to another user and is sticky, so nothing can be moved out of it: {some(sticky)}"
        yield fault(name, means, "remove the sticky bit: chmod -t")
    if others:
        means = f"does not belong to the owner of the mailbox: {some(others)}"
        yield warning(name, means, "correct the owner with chown, or moves between them may fail")


def _messages(name: str, folders: list[Folder]) -> Iterator[Finding]:
    """Report messages that the service cannot read, and so leaves in place."""
    found: dict[Unread, list[str]] = {}
    for folder in folders:
        for entry in _listed(folder):
            path = entry.path(folder)
            if (unread := why_unread(path)) is not None:
                found.setdefault(unread, []).append(shlex.quote(path))
    steps = {
        Unread.FORBIDDEN: f"make each readable for {name_of(os.geteuid())}: chmod, or chown",
        Unread.EMPTY: "a power cut may have left it: get it from a backup of your mail, or delete it",
    }
    for unread, paths in found.items():
        means = f"{plural(len(paths), 'message')} {unread.value}, so neither judged nor learned: {some(paths)}"
        step = steps.get(unread)
        yield ok(name, means) if step is None else warning(name, means, step)


def _listed(folder: Folder) -> list[Entry]:
    try:
        return scan(folder)
    except FolderUnavailableError:  # `_permissions` reports it, or it is outside of the layout
        return []


def _file_systems(name: str, mailbox: Mailbox, folders: dict[str, Folder]) -> Iterator[Finding]:
    inbox, spam = folders.get(mailbox.inbox_folder), folders.get(mailbox.spam_folder)
    if inbox is not None and spam is not None and os.stat(inbox.path).st_dev != os.stat(spam.path).st_dev:
        means = f"{inbox.name} and {spam.name} are on two file systems: each move is a copy, and slower"
        yield warning(name, means, "put both on one file system, if you can")


def _watching(config: Config) -> Iterator[Finding]:
    """Report what prevents watching by inotify: a fault if the configuration requires it."""
    if config.service.watch == "polling":
        return
    demanded = config.service.watch == "inotify"
    worse = fault if demanded else warning
    for root in (str(mailbox.path) for mailbox in config.mailboxes):
        if kind := network_file_system(root):
            means = f"{root} is on {kind}, which does not report changes made elsewhere: "
            means += "`watch: inotify` cannot work" if demanded else "the folders are polled if no events come"
            yield worse("watching", means, "write `watch: polling` under `service`")
    directories, watches = _directories(config), inotify.limit("max_user_watches")
    if watches is not None and directories > watches:
        means = f"{directories} directories need as many watches, and a user may have {watches}"
        yield worse("watching", means, "raise the sysctl fs.inotify.max_user_watches")
    instances, used = inotify.limit("max_user_instances"), inotify.instances_in_use()
    needed = 0 if is_running(str(config.claim)) else 1
    if instances is not None and used + needed > instances:
        user = name_of(os.geteuid())
        means = f"{user} has {used} of {instances} inotify instances in use; the service needs {needed}"
        step = "raise the sysctl fs.inotify.max_user_instances, or end programs that watch files"
        yield worse("watching", means, step)


def _watches(config: Config) -> Finding:
    if config.service.watch == "polling":
        return ok("watching", f"polling, every {config.service.poll_seconds:g} s")
    directories, watches = _directories(config), inotify.limit("max_user_watches")
    of = "" if watches is None else f" of {watches}"
    return ok("watching", f"{directories} directories need {directories}{of} inotify watches")


def _directories(config: Config) -> int:
    return sum(len(list(find_directories(str(mailbox.path), mailbox.layout))) for mailbox in config.mailboxes)
