"""Where a person's Maildir is, and what is only taken for one."""

import os
import shlex
from pathlib import Path

from spamnb.cli.output import printable
from spamnb.errors import MaildirError
from spamnb.maildir.folders import INBOX, Folder, FolderUnavailableError, find_folders

_USUAL_PLACES = ("~/Maildir", "~/.maildir", "~/Mail", "~/mail", "~/.mail")
_SHOWN = 3  # Maildirs that an error names


def find_maildir(asked: str | None) -> Path:
    """The Maildir that was asked for, or the first in the usual places. Raises MaildirError where there is none."""
    if asked is not None:
        root = Path(asked).expanduser().absolute()
        if not root.is_dir():
            raise MaildirError(f"there is no directory {printable(str(root))}: give the path of your Maildir")
        if not find_folders(str(root)):
            raise MaildirError(f"{printable(str(root))} is no Maildir: it has no folders with new/ and cur/ in them")
        return _with_inbox(root)
    places = [os.environ.get("MAILDIR", ""), *_USUAL_PLACES]
    refused: MaildirError | None = None
    for place in places:
        root = Path(place).expanduser()
        try:
            if place and root.is_absolute() and find_folders(str(root)):
                return _with_inbox(root)
        except FolderUnavailableError:
            continue
        except MaildirError as fault:
            refused = refused or fault
    raise refused or MaildirError(
        f"found no Maildir in {', '.join(filter(None, places))}: give its path, as in spamnb init ~/mymail"
    )


def _with_inbox(root: Path) -> Path:
    """The directory, if it has an inbox: the home directory, and one that holds the Maildirs of several accounts,
    are easily taken for a Maildir in the layout fs. Raises MaildirError."""
    folders = find_folders(str(root))
    if any(folder.name == INBOX for folder in folders):
        return root
    inner = list(dict.fromkeys(filter(None, map(_account_of, folders))))
    step = "write a configuration in which the folder where new mail arrives is the inbox: see config.example.yaml"
    if inner:
        step = f"give {' or '.join(printable(shlex.quote(path)) for path in inner[:_SHOWN])}"
    raise MaildirError(f"{printable(str(root))} has no inbox: {step}")


def _account_of(folder: Folder) -> str:
    """The Maildir with folders that a folder looks to be the inbox of; "" where it looks like one more folder."""
    if os.path.basename(folder.path).upper() == INBOX:
        return os.path.dirname(folder.path)
    has_folders = len(find_folders(folder.path)) > 1
    return folder.path if has_folders or f"~/{os.path.basename(folder.path)}" in _USUAL_PLACES else ""
