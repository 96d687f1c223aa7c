"""Find, name and create folders below a root.

Two layouts exist. In Maildir++ (Courier, Dovecot's default) the root is the INBOX, and every folder is a directory
`.Archive.2024` in it. In `fs` (mbsync, OfflineIMAP, Dovecot's `LAYOUT=fs`) folders are directories in directories. Both
are `Archive/2024` here. Below the root no symbolic link is followed.

A user of a mail host may put a link in the place of any directory at any moment, also of one that was just looked at.
So mail is listed, read and moved by open directories (`Folder.opened`), and not by its path.
"""

import binascii
import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from spamnb.base.errors import MaildirError, next_step
from spamnb.base.patterns import lazy_pattern
from spamnb.base.wording import escaped
from spamnb.maildir.other_formats import other_format

Layout = Literal["maildir++", "fs"]

INBOX = "INBOX"
SUBDIRS = ("cur", "new", "tmp")
MAX_DEPTH = 16  # depth below the root to which an `fs` layout is searched

_LIMITS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # of this process or machine: they tell nothing about a directory
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_WAY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC  # it need not be readable
_SHIFT = lazy_pattern(r"&([A-Za-z0-9+,]*)-")
_TO_SHIFT = lazy_pattern(r"&|[^\x20-\x7e]+")


class FolderUnavailableError(MaildirError):
    """A folder cannot be listed: gone, not mounted, or not readable. Its mail is unknown, not deleted."""


class FolderNameError(MaildirError):
    """A folder cannot have its configured name (EX_CONFIG). Trying again does not help."""

    exit_code = 78


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder: the name that users see, with parts divided by `/`, and its directory.

    levels: the number of last parts of `path` that are below the root, or on a mail host below the directory of all
    mail; none of them may be a symbolic link.
    """

    name: str
    path: str
    levels: int = field(default=0, kw_only=True, compare=False)

    def subdir(self, which: str) -> str:
        """Return the path of its `new`, `cur` or `tmp`."""
        return os.path.join(self.path, which)

    @contextlib.contextmanager
    def opened(self, which: str) -> Iterator[int]:
        """Open `new`, `cur` or `tmp`: the descriptor stays on that directory, even if another takes its place.

        which: "" for the folder's own directory. Raises OSError with the path of the part that is missing or a symbolic
        link.
        """
        path, parts = self.path, [which] if which else []
        for _ in range(self.levels):
            path, part = os.path.split(path)
            parts.append(part)
        with contextlib.ExitStack() as stack:
            try:
                descriptor = os.open(path, _WAY if parts else _OPEN_DIRECTORY)
                stack.callback(os.close, descriptor)
                while parts:
                    part = parts.pop()
                    path, how = os.path.join(path, part), _WAY if parts else _OPEN_DIRECTORY
                    descriptor = os.open(part, how | os.O_NOFOLLOW, dir_fd=descriptor)
                    stack.callback(os.close, descriptor)
            except OSError as error:
                error.filename = path
                raise
            yield descriptor


class Directory(NamedTuple):
    """A place for new items: messages, in the `new` or `cur` of a folder; or folders, in another directory."""

    folder: str
    subdir: str = ""

    @property
    def path(self) -> str:
        """Its path, without a slash at the end, which would follow a link."""
        return f"{self.folder}/{self.subdir}" if self.subdir else self.folder


# --- modified UTF-7, RFC 3501 section 5.1.3 -----------------------------------------------------------------


def encode(name: str) -> str:
    """Encode a folder name in modified UTF-7: printable ASCII unchanged, `&` as `&-`, the rest as base64 of UTF-16.

    >>> encode("Entwürfe & mehr")
    'Entw&APw-rfe &- mehr'
    """
    return _TO_SHIFT.sub(lambda found: _encode_run(found.group()), name)


def _encode_run(run: str) -> str:
    if run == "&":
        return "&-"
    base64 = binascii.b2a_base64(run.encode("utf-16-be", "surrogatepass"), newline=False)
    return "&" + base64.rstrip(b"=").replace(b"/", b",").decode("ascii") + "-"


def decode(name: str) -> str:
    """Decode a name in modified UTF-7; parts that are not valid stay unchanged. Never raises.

    QUIRK: mbsync writes plain UTF-8 and a bare `&` to the disk (`R&D`): both stay unchanged.
    The RFC forbids base64 of printable ASCII. It stays unchanged, so no `/` or `.` can hide in it.

    >>> decode("Entw&APw-rfe &- R&D &AC8-")
    'Entwürfe & R&D &AC8-'
    """
    return _SHIFT.sub(lambda found: _decode_run(found.group(), found.group(1)), name)


def _decode_run(shift: str, run: str) -> str:
    if not run:
        return "&"
    try:
        text = binascii.a2b_base64(run.replace(",", "/") + "=" * (-len(run) % 4)).decode("utf-16-be")
    except (binascii.Error, UnicodeDecodeError):
        return shift
    return text if encode(text) == shift else shift


def _readable(disk_name: str) -> str:
    """Return a name from the disk in a form for YAML and a database: undecodable bytes become `\\xe9`."""
    return decode(_plain(disk_name))


def _plain(disk_name: str) -> str:
    return os.fsencode(disk_name).decode("utf-8", "backslashreplace")


_Found = tuple[str, str, int]  # a folder's name, path and levels

# --- finding ------------------------------------------------------------------------------------------------


Looked = Callable[[], object]
"""Called after each directory that was looked at; there may be very many. It may raise to end the search."""


def find_folders(
    root: str, layout: Layout | Literal["auto"], looked: Looked = lambda: None, *, levels: int = 0
) -> tuple[Folder, ...]:
    """Return all folders below `root`, INBOX first, the others by name. No two have the same name.

    levels: the number of last parts of `root` that may not be symbolic links either, as for a `Folder`.

    Raises `FolderUnavailableError` if `root` cannot be listed, or too many files are open. A directory below it that
    cannot be listed for another reason is left out.
    """
    chosen = detect_layout(root, looked) if layout == "auto" else layout
    inbox = [(INBOX, root, 0)] if is_maildir(root) else []
    found = [*inbox, *(_find_dotted(root, looked) if chosen == "maildir++" else _find_nested(root, looked))]
    return tuple(sorted(_named_once(root, found, levels), key=lambda folder: (folder.name != INBOX, folder.name)))


def detect_layout(root: str, looked: Looked = lambda: None) -> Layout:
    """Return `maildir++` if any `.Name` below `root` is a folder or `root` is a bare INBOX, else `fs`.

    Raises what `find_folders` raises: a layout found by an incomplete listing would give new folders wrong names.
    """
    if any(_find_dotted(root, looked)):
        return "maildir++"
    return "maildir++" if is_maildir(root) and not any(_find_nested(root, looked)) else "fs"


def is_maildir(path: str) -> bool:
    """Tell whether `cur/` and `new/` are real directories here. `tmp/` may be missing in a copied mailbox."""
    return _is_directory(os.path.join(path, "cur")) and _is_directory(os.path.join(path, "new"))


def _find_dotted(root: str, looked: Looked) -> Iterator[_Found]:
    for entry in _directories(root, is_root=True):
        looked()
        path = os.path.join(root, entry)
        # QUIRK: Dovecot deletes a folder through `..DOVECOT-TRASHED`: no folder has a name that begins with a dot.
        if entry.startswith(".") and not entry.startswith("..") and is_maildir(path):
            yield _readable(entry[1:].replace(".", "/")), path, 1


def _find_nested(directory: str, looked: Looked, above: tuple[str, ...] = ()) -> Iterator[_Found]:
    for entry in _directories(directory, is_root=not above):
        looked()
        if entry.startswith(".") or entry in SUBDIRS:
            continue
        part = _readable(entry)
        if not above and part.upper() == INBOX and not is_maildir(directory):
            part = INBOX  # RFC 3501 section 5.1: INBOX in any case; mbsync users write `Inbox`
        path, parts = os.path.join(directory, entry), (*above, part)
        if is_maildir(path):
            yield "/".join(parts), path, len(parts)
        # A directory without cur/ may still hold folders: mbsync's `SubFolders Verbatim` does this.
        if len(parts) < MAX_DEPTH:
            yield from _find_nested(path, looked, parts)


def find_directories(root: str, layout: Layout | Literal["auto"]) -> Iterator[Directory]:
    """Yield the directories that show changes in a mailbox: the root, its folders, possible folders, and their mail.

    Each comes before it is listed. So a caller that begins to watch each one at once misses nothing in it: existing
    entries come next, and new ones are reported. A directory that cannot be listed, even the root, counts as empty.
    Raises `FolderUnavailableError` if too many files are open.
    """
    return _directories_from(root, layout, 0)


def _directories_from(path: str, layout: Layout | Literal["auto"], depth: int) -> Iterator[Directory]:
    yield Directory(path)
    names = _directories(path, is_root=False)
    if "new" in names and "cur" in names:
        yield Directory(path, "new")
        yield Directory(path, "cur")
    for name in names:
        below = f"{path}/{name}"  # like os.path.join, which a host of 5,000 would call 90,000 times
        if name.startswith("."):
            if depth == 0 and layout != "fs" and not name.startswith(".."):
                yield from _directories_from(below, layout, MAX_DEPTH)  # nothing in it is a folder
        elif name not in SUBDIRS and layout != "maildir++" and depth < MAX_DEPTH:
            yield from _directories_from(below, layout, depth + 1)


def _named_once(root: str, found: Iterable[_Found], above: int) -> Iterator[Folder]:
    """Yield folders with names that differ.

    QUIRK: two directories can decode to one name (`.INBOX` beside the root; plain UTF-8 beside modified UTF-7). The
    second gets its path as its name, with `./` before it, which no decoded name has.
    """
    taken: set[str] = set()
    for name, path, levels in found:
        shown = name if name not in taken else f"./{_plain(os.path.relpath(path, root))}"
        yield Folder(shown, path, levels=above + levels)
        taken.add(name)


def _directories(path: str, *, is_root: bool) -> list[str]:
    """Return the names of real directories in `path`, sorted; if it cannot be listed, none, or it raises as above."""
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError as error:
        if not is_root and error.errno not in _LIMITS:
            return []
        raise _unavailable(path, error) from error


def _unavailable(path: str, error: OSError) -> FolderUnavailableError:
    other = other_format(path) if error.errno == errno.ENOTDIR else None
    if other is not None:
        return FolderUnavailableError(f"{escaped(path)} {other.what}: {other.step}")
    closed = "run spamnb as the owner of the mail, or correct the permissions"
    step = next_step(error, closed if error.errno == errno.EACCES else "is the path right, and mounted?")
    return FolderUnavailableError(f"cannot list the mail directory {path!r}: {error.strerror}; {step}")


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


# --- creating -----------------------------------------------------------------------------------------------


def create_folder(
    root: str,
    layout: Layout | Literal["auto"],
    name: str,
    looked: Looked = lambda: None,
    *,
    levels: int = 0,
) -> Folder:
    """Return the folder of that name. Missing parts of it are created (0700). levels: as for `find_folders`.

    Parts that root creates belong to the owner of the directory that they are in.

    Raises `FolderNameError` if the name would leave the root or could not be found again, and `MaildirError` if the
    disk refuses.
    """
    check_name(name, layout)
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        chosen = detect_layout(root, looked) if layout == "auto" else layout
        there = find_folders(root, chosen, looked, levels=levels)
        folder = next((one for one in there if one.name == name), None) or _new_folder(root, chosen, name, levels)
        _make_directories(folder, levels, is_marked=chosen == "maildir++")
    except OSError as error:
        raise MaildirError(
            f"cannot make the folder {name!r} below {root!r}: {error.strerror}; correct that, or make it yourself"
        ) from error
    return folder


def _new_folder(root: str, layout: Layout, name: str, above: int) -> Folder:
    levels = [] if name == INBOX else list(map(encode, check_name(name, layout)))
    if levels and layout == "maildir++":
        levels = ["." + ".".join(levels)]
    return Folder(name, os.path.join(root, *levels), levels=above + len(levels))


def _make_directories(folder: Folder, above: int, *, is_marked: bool) -> None:
    """Make what is missing of a folder below its root. above: the levels of the root. is_marked: as in Maildir++."""
    root, parts = folder.path, list[str]()
    for _ in range(folder.levels - above):
        root, part = os.path.split(root)
        parts.insert(0, part)
    with contextlib.ExitStack() as stack:
        path, directory = root, stack.enter_context(Folder("", root, levels=above).opened(""))
        for part in parts:
            path = os.path.join(path, part)
            directory = _made(path, directory)
            stack.callback(os.close, directory)
        for subdir in SUBDIRS:
            os.close(_made(os.path.join(path, subdir), directory))
        if is_marked and parts:
            mark = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with contextlib.suppress(FileExistsError):
                made = os.open("maildirfolder", mark, 0o600, dir_fd=directory)
                stack.callback(os.close, made)
                give_as_root(made, os.fstat(directory))


def check_name(name: str, layout: Layout | Literal["auto"]) -> list[str]:
    """Return the parts of a name that a folder can have. Raises FolderNameError for any other name."""
    parts = name.split("/")
    if "" in parts:
        raise FolderNameError(f"not a folder name: {name!r} has an empty part; write it like 'Archive/2024'")
    if any(part.startswith(".") or part in SUBDIRS for part in parts):
        raise FolderNameError(
            f"not a folder name: a part of {name!r} begins with a dot or is cur, new or tmp; choose another"
        )
    if layout == "maildir++" and "." in name:
        plain = name.removeprefix(f"{INBOX}.").replace(".", "/")
        raise FolderNameError(f"a Maildir++ folder name cannot hold a dot: {name!r}; write {plain!r}")
    return parts


def _made(path: str, above: int) -> int:
    """Make a directory if it is missing, and open it. above: the open directory that it is in."""
    name, how = os.path.basename(path), _WAY
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=above)
        how = _OPEN_DIRECTORY
    try:
        made = os.open(name, how | os.O_NOFOLLOW, dir_fd=above)
        if how == _OPEN_DIRECTORY:
            give_as_root(made, os.fstat(above))
        return made
    except NotADirectoryError:  # also for a link
        if os.path.islink(path):
            raise MaildirError(link_in_the_way(path)) from None
        raise MaildirError(f"{path!r} is in the way: a folder must be a real directory") from None


def give_as_root(made: int, like: os.stat_result) -> None:
    """Give an open file that was just made an owner and a group, if root has made it: nobody else could use it."""
    if not os.geteuid():
        with contextlib.suppress(PermissionError):  # a server that does not trust root
            os.fchown(made, like.st_uid, like.st_gid)


def link_in_the_way(path: str) -> str:
    """Return what to do about a symbolic link in the place of a folder, in words."""
    return (
        f"{path!r}, a symbolic link, is in the way: links to folders are not followed; put the folder itself there, or"
        " mount it there (mount --bind)"
    )
