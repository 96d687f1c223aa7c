"""What a reader is shown of one body part, as a digest: its transfer encoding undone, from a stream.

The digest does not depend on how the stream was cut into chunks. Where an encoding is broken programs differ in what
they make of it, so from there on the encoded bytes are taken as they stand.
"""

import binascii
import hashlib
import re
from typing import Protocol

from spamnb.mail.charsets import codec_name

PLAIN_ENCODINGS = frozenset({"", "7bit", "8bit", "binary"})
_WHITE = b" \t\r\n"
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BROKEN_QUOTED = re.compile(rb"=(?![0-9A-Fa-f]{2}|\n)")
_NEWLINES = b"\n" * (64 << 10)
# In these ASCII bytes are ASCII, so that a server may name any of them where a part has no others.
_LIKE_ASCII = re.compile(r"utf-8|cp125\d|iso8859-\d{1,2}|koi8-[rut]|gb18030|cp9(?:32|49|50)|euc_jp")


class _Decoder(Protocol):
    """Undoes one transfer encoding; `broken_at` is the number of bytes before what could not be undone, or -1."""

    broken_at: int

    def feed(self, data: bytes) -> bytes: ...

    def finish(self) -> bytes: ...


class _Plain:
    broken_at = -1

    def feed(self, data: bytes) -> bytes:
        return data

    def finish(self) -> bytes:
        return b""


class _Base64:
    """RFC 2045, 6.8, white space aside; anything behind the padding, or no letter of base64, is taken as it stands."""

    def __init__(self) -> None:
        self.broken_at = -1
        self._made = 0
        self._held = b""
        self._ending = False  # what is held begins with no letter of base64 any more, or holds one: padding, or broken

    def feed(self, data: bytes) -> bytes:
        held = self._held + data.translate(None, _WHITE)
        if self.broken_at >= 0:
            self._held = b""
            return held
        made = b""
        if not self._ending:
            good = len(held)
            if held.translate(None, _BASE64):
                good = len(held) - len(held.lstrip(_BASE64))
                self._ending = True
            good -= good % 4
            made, held = binascii.a2b_base64(held[:good]), held[good:]
            self._made += len(made)
        if self._ending and len(held) > 4:
            self.broken_at = self._made
            made, held = made + held, b""
        self._held = held
        return made

    def finish(self) -> bytes:
        held, self._held = self._held, b""
        try:
            return binascii.a2b_base64(held, strict_mode=True)
        except binascii.Error:
            self.broken_at = self._made
            return held


class _Quoted:
    """RFC 2045, 6.7; from an equals sign that is no escape on, all is taken as it stands."""

    def __init__(self) -> None:
        self.broken_at = -1
        self._made = 0
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        data, self._held = self._held + data, b""
        if self.broken_at >= 0:
            return data
        escape = data.rfind(b"=", -2)
        cut = escape if escape >= 0 else len(data)
        data, self._held = data[:cut], data[cut:]
        return self._decoded(data)

    def finish(self) -> bytes:
        held, self._held = self._held, b""
        return b"" if held == b"=" else self._decoded(held)  # a soft line break whose line end is the boundary's

    def _decoded(self, data: bytes) -> bytes:
        rest = b""
        if broken := _BROKEN_QUOTED.search(data):
            data, rest = data[: broken.start()], data[broken.start() :]
        made = binascii.a2b_qp(data)
        self._made += len(made)
        if rest:
            self.broken_at = self._made
        return made + rest


_DECODERS: dict[str, type[_Base64] | type[_Quoted]] = {"base64": _Base64, "quoted-printable": _Quoted}


class ShownPart:
    """The digest of one part's content. `encoding` is base64, quoted-printable, or anything else for none.

    Line ends of decoded text, and newlines at the end of any part, do not count.
    """

    def __init__(self, encoding: str, is_text: bool) -> None:
        decoder = _DECODERS.get(encoding)
        self._decoder: _Decoder = _Plain() if decoder is None else decoder()
        self._has_returns = is_text and decoder is not None
        self._hash = hashlib.sha256()
        self._newlines = 0
        self._return = b""
        self._is_ascii = True

    def feed(self, data: bytes) -> None:
        """More of the part as it is written, with its line ends made newlines."""
        self._put(self._decoder.feed(data))

    def finish(self, charset: str) -> bytes:
        """The digest of content and charset.

        Bytes are not made characters: a charset that is missing or wrong is guessed at in as many ways as there are
        programs, and servers that recode text are few. But the same bytes are another text in another charset, so its
        name counts, but for ASCII under the name of a charset that contains it.
        """
        self._put(self._decoder.finish())
        self._has_returns = False
        self._put(self._return)
        codec = codec_name(charset)
        if self._is_ascii and (not charset or (codec is not None and _LIKE_ASCII.fullmatch(codec))):
            charset = ""
        elif codec is not None:
            charset = codec
        said = f"{self._decoder.broken_at} {charset}".encode("utf-8", "surrogateescape")
        return self._hash.digest() + b"%d:" % len(said) + said

    def _put(self, data: bytes) -> None:
        if self._has_returns:
            data = self._return + data
            self._return = b"\r" if data.endswith(b"\r") else b""
            data = data[: len(data) - len(self._return)].replace(b"\r\n", b"\n")
        if not data:
            return
        kept = data.rstrip(b"\n")
        if kept:
            while self._newlines:
                some = min(self._newlines, len(_NEWLINES))
                self._hash.update(_NEWLINES[:some])
                self._newlines -= some
            self._hash.update(kept)
            self._is_ascii = self._is_ascii and kept.isascii()
        self._newlines += len(data) - len(kept)
