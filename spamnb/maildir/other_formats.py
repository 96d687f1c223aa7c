"""Recognise mail that is not in a Maildir: mbox files, and Dovecot's sdbox and mdbox.

An mbox file has all messages of a folder, each after a line that begins with `From ` (RFC 4155). Dovecot keeps each
folder of sdbox and mdbox in a directory `dbox-Mails`, and the messages of mdbox in `storage`.
"""

import os
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.base.wording import escaped

_SEPARATOR = lazy_pattern(rb"From [^\n]*\d:\d\d")  # with a time: a note may begin with the word
_DBOX = ("dbox-Mails", "*/dbox-Mails", "mailboxes/*/dbox-Mails", "storage/dovecot.map.index*")
_MOST = 200  # entries of a directory to look at
_LINE = 500  # bytes of a file to look at
_SHOWN = 3  # files to name
_STEP = (
    "let it be delivered into a Maildir, or let a rule at delivery ask `spamnb filter`; `spamnb train` can learn from"
    " mbox files"
)


class OtherFormat(NamedTuple):
    """Mail in another format. what: the end of a sentence about its path. step: what to do."""

    what: str
    step: str


def other_format(path: str) -> OtherFormat | None:
    """Return in which format a path has mail, if it has no Maildir; None if that is not known."""
    if os.path.isfile(path):
        if _is_mbox(path):
            return OtherFormat("is an mbox file, and spamnb watches Maildirs", _STEP)
        return OtherFormat("is a file", "give the directory of your Maildir")
    if any(next(Path(path).glob(pattern), None) for pattern in _DBOX):
        step = "let Sieve ask (docs/mail-server.md), or fetch the mail into a Maildir: spamnb init --imap USER@HOST"
        return OtherFormat("has mail in Dovecot's dbox, which only Dovecot can read", step)
    names = _mbox_files(path)
    shown = ", ".join([*map(escaped, names[:_SHOWN]), *(["…"] if len(names) > _SHOWN else [])])
    return OtherFormat(f"has mbox files ({shown}), and spamnb watches Maildirs", _STEP) if names else None


def _mbox_files(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            files = [entry for entry in islice(entries, _MOST) if entry.is_file(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(entry.name for entry in files if _is_mbox(entry.path))


def _is_mbox(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return _SEPARATOR.match(file.read(_LINE)) is not None
    except OSError:
        return False
