"""A message for a terminal: its fields and its text, one screen at a time."""

import os
import textwrap
from collections.abc import Iterator

from spamnb.base.errors import MailError
from spamnb.base.wording import escaped, size_of
from spamnb.bulk.sources import find_sources
from spamnb.identity.digests import identity
from spamnb.mail.excerpt import Excerpt, excerpt

_MOST = 20_000  # characters of the text
_ATTACHMENTS = 20


def screens(raw: bytes, columns: int, rows: int) -> list[str]:
    """Return a message's fields and text in pieces of at most `rows` rows. All of it is escaped for the terminal.

    It leaves out the end of a long text.
    """
    lines = [part for line in _lines(excerpt(raw, _MOST)) for part in textwrap.wrap(line, columns) or [""]]
    return ["\n".join(lines[first : first + rows]) for first in range(0, len(lines), rows)]


def file_of(path: str, digest: bytes) -> bytes | None:
    """Return the message with that digest from a file outside the mailboxes, or None if it is gone.

    The path of a message in an mbox is the mbox's path, a colon, and a number.
    """
    try:
        found = find_sources([path if os.path.lexists(path) else path.rpartition(":")[0]])
        raw = next((one.read() for one in found if one.path == path), None)
    except MailError:
        return None
    return raw if raw is not None and identity(raw) == digest else None


def _lines(shown: Excerpt) -> Iterator[str]:
    for name, value in shown.fields:
        yield f"{name.title().replace('-Id', '-ID')}: {escaped(value)}"
    for one in shown.attachments[:_ATTACHMENTS]:
        size = size_of(one.size, is_cut=one.is_cut)
        yield f"Attached: {escaped(one.filename or one.media_type)} ({escaped(one.media_type)}, {size})"
    yield ""
    for line in shown.text.splitlines() or ["It has no text."]:
        yield escaped(line)
    if shown.is_cut:
        yield "The text goes on; this is its beginning."
