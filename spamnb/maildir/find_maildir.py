"""Find the Maildirs of a user, and refuse directories that only look like one."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from spamnb.base.errors import MaildirError
from spamnb.base.wording import escaped
from spamnb.maildir.folders import INBOX, Folder, FolderUnavailableError, detect_layout, find_folders
from spamnb.maildir.other_formats import other_format

_USUAL_PLACES = ("~/Maildir", "~/.maildir", "~/Mail", "~/mail", "~/.mail")
_SHOWN = 3  # Maildirs that an error names


def find_maildirs(asked: Sequence[str], environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the requested Maildirs, each once, or the first one in the usual places.

    Raises MaildirError if there are none.
    """
    if asked:
        return list(dict.fromkeys(map(_asked, asked)))
    places = list(filter(None, [environ.get("MAILDIR"), *_USUAL_PLACES]))
    refused: MaildirError | None = None
    for root in filter(Path.is_absolute, (Path(os.path.expanduser(place)) for place in places)):
        try:
            if find_folders(str(root), "auto"):
                return [_with_inbox(root)]
            refused = refused or _refused(root)
        except FolderUnavailableError as fault:
            refused = refused or (fault if os.path.lexists(root) else None)
        except MaildirError as fault:
            refused = refused or fault
    step = "give its path, as in spamnb init ~/mymail"
    raise refused or MaildirError(f"found no Maildir in {', '.join(places)}: {step}")


def absolute(path: str) -> Path:
    """Return the path that a person typed as an absolute path; "~" stays if it means nothing."""
    return Path(os.path.abspath(os.path.expanduser(path)))


def _asked(path: str) -> Path:
    root = absolute(path)
    try:
        os.stat(root)
    except FileNotFoundError:
        step = "give the path of your Maildir"
        raise MaildirError(f"there is no directory {escaped(str(root))}: {step}") from None
    except OSError:
        pass  # `find_folders` says why it cannot be read
    if not find_folders(str(root), "auto"):
        without = f"{escaped(str(root))} is not a Maildir: it has no folders with new/ and cur/ in them"
        raise _refused(root) or MaildirError(without)
    return _with_inbox(root)


def _refused(root: Path) -> MaildirError | None:
    """Return the error for mail in another format, or None."""
    other = other_format(str(root))
    return other and MaildirError(f"{escaped(str(root))} {other.what}: {other.step}")


def _with_inbox(root: Path) -> Path:
    """Return the directory, if it has an inbox; else the one account in it, as synchronisers lay them out.

    The home directory, or a directory with several accounts, looks like a Maildir in the layout fs. Raises
    MaildirError.
    """
    folders = find_folders(str(root), "auto")
    if any(folder.name == INBOX for folder in folders):
        return _above_dots(root, folders)
    inner = list(dict.fromkeys(filter(None, map(_account_of, folders))))
    if len(inner) == 1:
        return _above_dots(Path(inner[0]), find_folders(inner[0], "auto"))
    step = "write a configuration in which the folder where new mail arrives is the inbox: see config.example.yaml"
    if inner:
        accounts = [escaped(shlex.quote(path)) for path in inner]
        step = f"give {' or '.join(accounts[:_SHOWN])}, or several of them: spamnb init {' '.join(accounts)}"
    raise MaildirError(f"{escaped(str(root))} has no inbox: {step}")


def _above_dots(root: Path, folders: Sequence[Folder]) -> Path:
    """Return the directory that holds the folders: mbsync's `SubFolders Maildir++` puts them all inside INBOX."""
    (first, *others) = folders
    is_root = others or first.path == str(root) or detect_layout(first.path) == "fs"
    return root if is_root or len(find_folders(first.path, "auto")) == 1 else Path(first.path)


def _account_of(folder: Folder) -> str:
    """Return the Maildir whose inbox a folder seems to be; "" if it looks like an ordinary folder."""
    if os.path.basename(folder.path).upper() == INBOX:
        return os.path.dirname(folder.path)
    has_folders = len(find_folders(folder.path, "auto")) > 1
    return folder.path if has_folders or f"~/{os.path.basename(folder.path)}" in _USUAL_PLACES else ""
