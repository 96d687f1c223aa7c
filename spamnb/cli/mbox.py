"""An mbox: many messages in one file."""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import BinaryIO

from spamnb.mail.intake import Intake

_LINE = 1 << 16  # bytes read at once, where no line ends sooner
# QUIRK: "From " begins lines of ordinary text too; like mutt, we want the time that every mbox writer adds.
_SEPARATOR = re.compile(rb"From [^\n]{0,300}?\d:\d\d[^\n]{0,60}\n")
_BLANK = (b"\n", b"\r\n")


def split(file: BinaryIO) -> Iterator[bytes]:
    """The messages of an mbox, or the one message that the file is, each as `take` gives it."""
    message: Intake | None = None
    lines: Iterable[bytes] = iter(partial(file.readline, _LINE), b"")
    blank, is_mbox = True, None
    for line in lines:
        separates = blank and is_mbox is not False and _SEPARATOR.match(line) is not None
        if is_mbox is None:
            is_mbox = separates
        elif separates and message is not None:
            yield message.finish()
            message = None
        message = message or Intake()
        message.feed(line)
        blank = line in _BLANK
    if message is not None:
        yield message.finish()
