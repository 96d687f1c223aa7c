"""A form with a file, as browsers send it: multipart/form-data (RFC 7578).

It is cut only at its boundary: a part may be a message, and the message's own parts are for the reader of mail, with
its limits. The standard library's reader would take the message's parts for parts of the form, and need minutes.
"""

import re
from collections.abc import Mapping
from typing import BinaryIO

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.web.http import HttpError, content_length

MOST_BYTES = DEFAULT_LIMITS.message_bytes + 65_536
"""Size of a form: the longest message that is read, and the form around it."""
_MOST_PARTS = 10
_MOST_HEAD = 2000  # bytes
_BOUNDARY = re.compile(r"multipart/form-data *; *boundary=\"?([0-9A-Za-z'()+_,./:=?-]{1,70})\"?", re.IGNORECASE)
_NAME = re.compile(rb"content-disposition: *form-data; *name=\"([a-z]{1,20})\"", re.IGNORECASE)


def read_parts(headers: Mapping[str, str], body: BinaryIO) -> dict[str, bytes]:
    """Return the fields of a form by their names, as sent; the first one of equal names. Raises HttpError."""
    match = _BOUNDARY.fullmatch(headers.get("content-type", "").strip())
    if match is None:
        raise HttpError(415, "Only forms are read here.", "Use the buttons of the pages.")
    content = body.read(content_length(headers, MOST_BYTES))
    pieces = (b"\r\n" + content).split(b"\r\n--" + match[1].encode(), _MOST_PARTS + 2)
    if len(pieces) > _MOST_PARTS + 2 or not pieces[-1].startswith(b"--"):
        raise HttpError(400, "The form cannot be read.", "Go back, and send it again.")
    found: dict[str, bytes] = {}
    for piece in pieces[1:-1]:
        head, blank, value = piece.partition(b"\r\n\r\n")
        name = _NAME.search(head[:_MOST_HEAD])
        if blank and name is not None:
            found.setdefault(name[1].decode(), value)
    return found
