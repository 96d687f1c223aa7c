"""Bytes to text, whatever the message claims about its charset.

A declared charset is a claim by a stranger: it may be missing, misspelt, wrong, or a codec of Python's that
is not a charset at all (`zlib`, `unicode_escape`). Decoding never fails; where the claim did not hold, a note
says so, which is itself a token.
"""

import codecs
from functools import lru_cache

# What is declared -> what is meant. The WHATWG Encoding Standard decodes these labels with the superset that
# mail programs really write: "smart quotes" at 0x91-0x94 are Windows-1252 whatever the label says.
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
}

# Text codecs of Python's that are no mail charsets: escapes and host name encodings, some of them quadratic.
_NO_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"})

# Tables, not multi-byte state machines: any bytes decode, so a success proves nothing about the claim.
_FALLBACK = "cp1252"


@lru_cache(maxsize=256)
def codec_name(declared: str) -> str | None:
    """Python's name for a declared charset, or None where it is not one that mail can be in.

    >>> codec_name("Latin1"), codec_name("zlib"), codec_name("x-unknown")
    ('cp1252', None, None)
    """
    label = declared.strip().strip("'\"").lower()
    if not label or len(label) > 40 or "\0" in label:
        return None
    try:
        info = codecs.lookup(label)
    except (LookupError, ValueError, UnicodeError):
        return None
    if info.name in _NO_CHARSETS or not getattr(info, "_is_text_encoding", True):
        return None
    return _SUPERSETS.get(info.name, info.name)


def decode(raw: bytes, declared: str = "") -> tuple[str, str]:
    """Decode `raw`, and say how far the declared charset held: `""`, `missing`, `unknown` or `wrong`.

    Bytes outside ASCII without a charset are read as UTF-8 where they are valid UTF-8 (text in another
    charset hardly ever is), else as Windows-1252.
    """
    codec = codec_name(declared)
    if raw.isascii() and (codec is None or codec in {"cp1252", "utf-8"}):
        return raw.decode("ascii"), "unknown" if declared and codec is None else ""
    if codec is None:
        return _guess(raw), "unknown" if declared else "missing"
    if codec == "cp1252" and "ascii" in declared.lower():
        return _guess(raw), "wrong"
    try:
        text = raw.decode(codec)
        # UTF-7 alone can write half a character, which no database takes.
        return (text.encode("utf-8", "replace").decode("utf-8") if codec == "utf-7" else text), ""
    except (UnicodeError, ValueError):
        pass
    try:
        return raw.decode("utf-8"), "wrong"
    except UnicodeDecodeError:
        return _decode_anyhow(raw, codec), "wrong"


def _guess(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode(_FALLBACK, "replace")


def _decode_anyhow(raw: bytes, codec: str) -> str:
    try:
        return raw.decode(codec, "replace").encode("utf-8", "replace").decode("utf-8")
    except (UnicodeError, ValueError):  # some codecs refuse the error handler on some input
        return raw.decode(_FALLBACK, "replace")
