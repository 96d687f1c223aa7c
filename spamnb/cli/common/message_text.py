"""A message as a terminal shows it: from whom to whom, and what it says, a screen at a time."""

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
_TAB = 8


def screens(raw: bytes, columns: int, rows: int) -> list[str]:
    """A message's fields and its text in pieces of so many rows at most. Nothing in it can reach the terminal as it is.

    Only the beginning of a long text is shown.
    """
    lines = [part for line in _lines(excerpt(raw, _MOST)) for part in textwrap.wrap(line, columns) or [""]]
    return ["\n".join(lines[first : first + rows]) for first in range(0, len(lines), rows)]


def file_of(path: str, digest: bytes) -> bytes | None:
    """The message of that identity out of a file outside of the mailboxes; None where it is not there any more.

    A message of an mbox is named by the mbox's path, a colon, and a number.
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
        yield escaped(line.expandtabs(_TAB))
    if shown.is_cut:
        yield "Only its beginning is shown."
