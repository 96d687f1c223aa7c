"""A Subject with its encoded words (RFC 2047) undone: servers rewrite them, and their form does not count.

A text in UTF-8 is the same whether it is encoded or not. In any other charset its bytes and the charset's name count,
as in the body. A Subject counts as written if programs decode it in different ways: a word is broken, or has no blanks
around it. It also counts as written if the decoded text looks like an encoded word.
"""

import re
from itertools import groupby
from operator import itemgetter

from spamnb.identity.charsets import UTF_8, charset_of, is_around_ascii
from spamnb.identity.transfer import from_base64, from_quoted

_MARK = b"=?"
_WORD = re.compile(rb"=\?([!->@-~]{1,60})\?([BQbq])\?([!->@-~]*)\?=")


def subject_line(value: bytes) -> bytes:
    """Return what counts of a Subject whose white space is collapsed.

    >>> subject_line(b"=?utf-8?q?caf=C3=A9_au?= lait") == subject_line("café au lait".encode())
    True
    >>> subject_line(b"=?latin1?q?caf=E9?= au"), subject_line(b"=?utf-8?q?caf")
    (b'subject:\\niso8859_1:636166e9\\n au', b'subject as written:=?utf-8?q?caf')
    """
    text = _undone(value) if _MARK in value else value
    return b"subject as written:" + value if _MARK in text else b"subject:" + text


def _undone(value: bytes) -> bytes:
    """Return the text; it contains the mark of an encoded word if it can be read in two ways."""
    texts: list[bytes] = []
    # Neighbours of one charset are joined first: some programs split a character between two words.
    for charset, group in groupby([_piece(token) for token in value.split(b" ")], key=itemgetter(0)):
        pieces = [piece for _, piece in group]
        if charset is None:
            texts.append(b" " + b" ".join(pieces) + b" ")
        else:
            texts.append(_text(b"".join(pieces), charset))
    return b" ".join([token for token in b"".join(texts).split(b" ") if token])


def _piece(token: bytes) -> tuple[bytes | None, bytes]:
    """Return the charset and the bytes of an encoded word between two blanks; None and all bytes of anything else."""
    word = _WORD.fullmatch(token)
    if word is None:
        return None, token
    data, broken_at = from_base64(word[3]) if word[2] in b"Bb" else from_quoted(word[3].replace(b"_", b" "))
    return (None, token) if broken_at >= 0 or b"\n" in data else (charset_of(word[1]), data)


def _text(data: bytes, charset: bytes) -> bytes:
    """Return bytes of a charset as text: UTF-8 unchanged; others with their charset, in newlines, which are unique."""
    if not is_around_ascii(charset):
        return _kept(data, charset)
    if charset == UTF_8 and _is_utf_8(data):
        return data
    # No character of these charsets contains the byte of a blank. ASCII text may or may not be part of the word.
    return b" ".join([token if token.isascii() else _kept(token, charset) for token in data.split(b" ")])


def _kept(data: bytes, charset: bytes) -> bytes:
    return b"\n%s:%s\n" % (charset, data.hex().encode("ascii"))


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
