"""What `doctor` asks of mailboxes: folders, roles, permissions, file systems, watching."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from spamnb.cli.symptoms import FAULT, OK, WARNING, Finding, name_of, network_file_system, owner_of
from spamnb.config import Config, Mailbox, Role
from spamnb.config.usual import usual_role
from spamnb.maildir.folders import Folder, FolderUnavailableError, find_folders

_LIMITS = Path("/proc/sys/fs/inotify")


def of_mailboxes(config: Config) -> Iterator[Finding]:
    """Everything that is asked of the mailboxes of a configuration."""
    for mailbox in config.mailboxes:
        yield from _of_mailbox(mailbox)
    yield from _watching(config)


def _of_mailbox(mailbox: Mailbox) -> Iterator[Finding]:
    root = str(mailbox.path)
    name = f"mailbox {root}"
    try:
        folders = {folder.name: folder for folder in find_folders(root, mailbox.layout)}
    except FolderUnavailableError as fault:
        yield Finding(FAULT, name, str(fault), "correct `path` in the configuration, or mount the disk")
        return
    before = 0
    for finding in (
        *_folders(name, mailbox, folders),
        *_permissions(name, list(folders.values()), root),
        *_one_file_system(name, mailbox, folders),
    ):
        before += 1
        yield finding
    if not before:
        yield Finding(OK, name, f"{len(folders)} folders, spam goes to {mailbox.spam_folder}")


def _folders(name: str, mailbox: Mailbox, folders: dict[str, Folder]) -> Iterator[Finding]:
    if mailbox.inbox_folder not in folders:
        means = f"there is no folder {mailbox.inbox_folder}, which has the role inbox: the service will not start"
        yield Finding(FAULT, name, means, "correct `roles` in the configuration")
    made = {mailbox.spam_folder, mailbox.unsure_folder}
    if mailbox.spam_folder not in folders:
        means = f"there is no folder {mailbox.spam_folder} yet: the service makes it at its start"
        yield Finding(WARNING, name, means, "if spam lies in another folder, correct `roles` in the configuration")
    missing = [one for one in mailbox.roles if one not in folders and one not in made and one != mailbox.inbox_folder]
    if missing:
        means = f"configured, but not there: {', '.join(missing)}"
        yield Finding(WARNING, name, means, "correct the names in `roles`, or leave them out")
    strange = [
        (one, usual_role(one))
        for one in folders
        if one not in mailbox.roles and usual_role(one) is not mailbox.role_of(one) and one != mailbox.unsure_folder
    ]
    for one, usual in strange:
        if usual is Role.HAM:
            continue  # `other_folders` says neutral: the cautious choice
        means = f"{one} has no role of its own, so it is {mailbox.role_of(one)}; by its name it is {usual}"
        yield Finding(WARNING, name, means, f"write '{one}: {usual}' under `roles`")


def _permissions(name: str, folders: list[Folder], root: str) -> Iterator[Finding]:
    me, owner = os.geteuid(), owner_of(root)
    if me != owner:
        means = f"belongs to {name_of(owner)}, and this is {name_of(me)}, who would own the folders that are made in it"
        yield Finding(WARNING, name, means, f"run spamnb, and its service, as {name_of(owner)}")
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
        means = f"may not be read and written by {name_of(me)}: {_some(shut)}"
        yield Finding(FAULT, name, means, "run spamnb as the owner of the mail, or correct the permissions")
    if sticky:
        means = f"belongs to another user and is sticky, so nothing can be moved out of it: {_some(sticky)}"
        yield Finding(FAULT, name, means, "take the sticky bit away: chmod -t")
    if others:
        means = f"does not belong to the owner of the mailbox: {_some(others)}"
        yield Finding(WARNING, name, means, "correct the owner with chown, or moves between them may fail")


def _one_file_system(name: str, mailbox: Mailbox, folders: dict[str, Folder]) -> Iterator[Finding]:
    inbox, spam = folders.get(mailbox.inbox_folder), folders.get(mailbox.spam_folder)
    if inbox is not None and spam is not None and os.stat(inbox.path).st_dev != os.stat(spam.path).st_dev:
        means = f"{inbox.name} and {spam.name} lie on two file systems: each move is a copy, and slower"
        yield Finding(WARNING, name, means, "put both on one file system, if you can")


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _watching(config: Config) -> Iterator[Finding]:
    service = config.service
    if service.watch == "polling":
        yield Finding(OK, "watching", f"polling, every {service.poll_seconds:g} s")
        return
    roots = [str(mailbox.path) for mailbox in config.mailboxes]
    found = False
    for root in roots:
        if kind := network_file_system(root):
            found = True
            demanded = service.watch == "inotify"
            means = f"{root} lies on {kind}, which tells nobody of changes made elsewhere"
            means += ": `watch: inotify` cannot work" if demanded else ": the folders are polled if no events come"
            yield Finding(FAULT if demanded else WARNING, "watching", means, "write `watch: polling` under `service`")
    directories = sum(1 for root in roots for _ in os.walk(root))
    watches, instances = _limit("max_user_watches"), _limit("max_user_instances")
    if watches is not None and directories > watches:
        means = f"{directories} directories need as many watches, and a user may have {watches}"
        yield Finding(
            FAULT if service.watch == "inotify" else WARNING,
            "watching",
            means,
            "raise the sysctl fs.inotify.max_user_watches",
        )
        found = True
    if instances is not None and instances < 2:
        means = f"a user may have {instances} inotify instances"
        yield Finding(WARNING, "watching", means, "raise the sysctl fs.inotify.max_user_instances")
        found = True
    if not found:
        of = "" if watches is None else f" of {watches}"
        yield Finding(OK, "watching", f"{directories} directories need {directories}{of} inotify watches")


def _limit(name: str) -> int | None:
    try:
        return int((_LIMITS / name).read_text())
    except (OSError, ValueError):
        return None
