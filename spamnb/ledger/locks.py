"""A file descriptor to lock for a directory, which nobody can hold locked who may not change what is there.

flock(2) asks for no more than an open descriptor, so whoever may list a directory may also lock it, for as long as
they like. Where only those can open a directory who may write in it, the directory itself is locked: nothing has to
be made, also where nothing may be. Where others can open it too, a file in it is locked that they cannot open.

Which of the two it is follows from the directory's own mode and its parent's alone: processes that know it by
different paths, or as different users, agree. They disagree for as long as one of them has held it since before the
mode was changed.
"""

import contextlib
import os
import stat

_READ, _WRITE, _SEARCH = 0o044, 0o022, 0o011  # of the group and of others; an access list shows as the group's
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


def open_lock(directory: str, name: str, *, make: bool = True) -> tuple[int, bool]:
    """A descriptor, to be closed by the caller, and whether it is one to lock.

    `make`: the file of that name is made if one is needed; if not, and it is not there or not to be opened, the
    descriptor is of no use as a lock. Raises OSError with the path that is at fault.
    """
    found = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mode = os.fstat(found).st_mode
        if not _is_open_to_strangers(directory, mode):
            return found, True
        path = os.path.normpath(os.path.join(directory, name))
        try:
            file = _open_made(path, os.fstat(found)) if make else os.open(path, os.O_RDONLY | _FLAGS)
        except OSError:
            if make:
                raise
            return found, False
    except BaseException:
        os.close(found)
        raise
    os.close(found)
    return file, True


def _is_open_to_strangers(directory: str, mode: int) -> bool:
    """Whether it can be opened by somebody who may not write in it."""
    only_read = mode & _READ & ~((mode & _WRITE) << 1)
    if not only_read:
        return False
    return bool(os.stat(os.path.join(directory, os.pardir)).st_mode & _SEARCH)


def _open_made(path: str, directory: os.stat_result) -> int:
    """The file, made if need be: for those who may write in the directory, and the directory's owner's."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, os.O_RDWR | _FLAGS)
        with contextlib.suppress(FileExistsError):  # another process was first
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
            os.fchmod(file, 0o600 | stat.S_IMODE(directory.st_mode & _WRITE) * 3)
            if os.geteuid() == 0:  # else root, who was first, would lock the owner out
                os.fchown(file, directory.st_uid, directory.st_gid)
            return file
