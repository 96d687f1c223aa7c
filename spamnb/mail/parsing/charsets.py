"""Turn bytes into text, whatever charset the message declares.

A stranger declares the charset. It may be missing, misspelt, wrong, or a codec of Python that is not a charset at all
(`zlib`, `unicode_escape`). Decoding never fails. A note says what was wrong with the declaration, and becomes a token.
"""

import codecs
import re
from collections.abc import Callable
from functools import lru_cache

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.parsing.charset_guess import likely_codec

# Declared -> real charset. The WHATWG Encoding Standard decodes these labels with the superset that mail programs
# really write: "smart quotes" at 0x91-0x94 are Windows-1252, whatever the label says.
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
    "big5": "cp950",
}

# Labels that are unknown to Python, without a leading "x-": those of the WHATWG Encoding Standard, by which browsers
# read, and others that occur in mail.
_LABELS = {
    **dict.fromkeys(("unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8"), "utf-8"),
    **dict.fromkeys(("gb_2312", "gb_2312-80", "gb2312_charset", "csgb2312"), "gb2312"),
    **dict.fromkeys(("ks_c_5601-1989", "ksc_5601", "cseuckr", "csksc56011987", "iso-ir-149"), "euc_kr"),
    "cseucpkdfmtjapanese": "euc_jp",
    "cn-gb": "gb2312",
    "cn-big5": "big5",
    "chinesebig5": "big5",
    "windows-31j": "cp932",
    "cp50220": "iso2022_jp",
    "cp50221": "iso2022_jp",
    "cp50222": "iso2022_jp",
    "iso-2022-jp-ms": "iso2022_jp",
    # in logical order, like Windows-1255, which adds the points
    **dict.fromkeys(("iso-8859-8-i", "iso-8859-8-e", "csiso88598i", "logical"), "cp1255"),
    **dict.fromkeys(("csiso88598e", "visual"), "iso8859-8"),
    **dict.fromkeys(("iso-8859-6-i", "iso-8859-6-e", "csiso88596i", "csiso88596e"), "iso8859-6"),
    "sun_eu_greek": "iso8859-7",
    "csisolatin9": "iso8859-15",
    **dict.fromkeys(("mac", "csmacintosh"), "mac-roman"),
    "mac-ukrainian": "mac-cyrillic",
    **dict.fromkeys(("koi", "koi8", "koi8r", "koi-8-r"), "koi8-r"),
    "koi8-ru": "koi8-u",
    "unicode-1-1-utf-7": "utf-7",
    **dict.fromkeys(("unicode", "csunicode", "unicodefeff", "ucs-2", "iso-10646-ucs-2"), "utf-16"),
    "unicodefffe": "utf-16-be",
}
_ISO = lazy_pattern(r"iso-?8859(\d{1,2})")  # as in `iso88591`
_CODE_PAGE = lazy_pattern(r"(?:windows|win|cp|dos|ms|ibm)[-_]?(\d{3,5})")
_META = lazy_pattern(rb"<meta[^>]{1,200}?charset\s{0,9}=[\s\"']{0,9}([\w.:-]{2,40})", re.IGNORECASE)
_META_BYTES = 4096  # browsers look into the first 1,024; mail programs write styles before it

# Charsets of two bytes per character: a few bytes of them can be UTF-8 by chance.
_WIDE = frozenset({"gb18030", "cp950", "big5hkscs", "cp932", "cp949", "euc_jp", "johab"})
_BY_CHANCE = 4
_ESCAPED = frozenset({"hz", "utf-7", "iso2022_kr"})  # and all of iso2022_jp: these charsets use ASCII bytes
_ESCAPES = lazy_pattern(rb"\x1b[$(][$()]?[@-Z]?|~[{}]|[\0+\x0e\x0f]")
_ESCAPED_RUN = lazy_pattern(rb"(?:\x1b\$[()]?[@-Z]|~\{)([^\x1b~]{4,})")
_NO_LETTERS = bytes(byte for byte in range(256) if not (byte < 128 and chr(byte).isalpha()))
_OF_ALL = lazy_pattern(r"\W*(?:iso-2022-jp|csiso2022jp)\W*", re.IGNORECASE)  # the labels that all programs know
_SAMPLE = "AZaz09 <>&"  # programs that do not know EBCDIC show it as bytes, and so could show spam by its name

# Text codecs of Python that are not charsets of mail: escapes and host name encodings, some of them quadratic.
_NO_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"})

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# A table, not a multi-byte state machine: any bytes decode.
_FALLBACK = "cp1252"


@lru_cache(maxsize=256)
def codec_name(declared: str) -> str | None:
    """Return Python's name for a declared charset, or None if mail cannot be in it.

    >>> codec_name("Latin1"), codec_name("zlib"), codec_name("x-unknown")
    ('cp1252', None, None)
    """
    label = declared.partition("*")[0].strip().strip("'\"").lower()  # RFC 2231, 5: a language may follow
    if not label or len(label) > 40 or "\0" in label:
        return None
    while label.startswith("x-"):
        label = label[2:]
    label = _LABELS.get(label, label)
    if page := _CODE_PAGE.fullmatch(label):
        label = f"cp{page[1]}"
    elif number := _ISO.fullmatch(label):
        label = f"iso8859-{number[1]}"
    try:
        info = codecs.lookup(label)
    except (LookupError, ValueError, UnicodeError):
        return None
    if info.name in _NO_CHARSETS or not getattr(info, "_is_text_encoding", True):
        return None
    if not info.name.startswith(("utf-16", "utf-32")) and _decode_strictly(_SAMPLE.encode(), info.name) != _SAMPLE:
        return None
    return _SUPERSETS.get(info.name, info.name)


def is_telling(codec: str | None) -> bool:
    """Tell whether a declared charset tells about a message's other bytes: not one that programs always put in."""
    return codec is not None and not codec.startswith(("utf", "iso2022")) and codec not in {"cp1252", "hz"}


def is_utf8(raw: bytes) -> bool:
    """Tell whether all of it is UTF-8."""
    return raw.isascii() or _decode_strictly(raw, "utf-8") is not None


def declared_in(markup: bytes) -> str:
    """Return the charset that an HTML text declares in its head; "" if that tells nothing."""
    found = _META.search(markup[:_META_BYTES])
    declared = found[1].decode("ascii", "replace") if found else ""
    return declared if is_telling(codec_name(declared)) else ""


def as_bytes(raw: bytes, declared: str) -> bytes:
    """Return the bytes as programs show them that do not know the charset; b"" if all programs know it.

    QUIRK: browsers know neither UTF-7, HZ, ISO-2022-KR nor UTF-32. Without a declared charset, and under less common
    labels of ISO-2022-JP, programs guess. There, letters alone between the escapes are rather words than Japanese.

    >>> as_bytes(b"a ~{bcde~}", "hz"), as_bytes(b"a ~{bcde~}", ""), as_bytes(b"a", "hz")
    (b'a  bcde ', b'a  bcde ', b'')
    """
    codec = codec_name(declared)
    if codec in _ESCAPED or (codec and codec.startswith("utf-32")):
        is_other = not raw.isascii() or _ESCAPES.search(raw) is not None
    elif codec is None or codec in {"cp1252", "utf-8"} or codec.startswith("iso2022"):
        is_other = _has_escapes(raw) and not _OF_ALL.fullmatch(declared) and _has_escaped_words(raw)
    else:
        is_other = False
    return _ESCAPES.sub(b" ", raw.replace(b"\0", b"")) if is_other else b""


def decode(raw: bytes, declared: str = "", spoken: Callable[[], str] | None = None) -> tuple[str, str]:
    """Decode `raw`. Returns also what was wrong with the declared charset: `""`, `missing`, `unknown` or `wrong`.

    Bytes outside ASCII that are valid UTF-8 are UTF-8, whatever is declared: text in another charset is hardly ever
    valid UTF-8. Without a telling charset, bytes are in the charset of the rest of the message, which `spoken` gives,
    or else in the likeliest.
    """
    codec = codec_name(declared)
    if codec is not None and codec.startswith(("utf-16", "utf-32")) and raw.isascii() and b"\0" not in raw:
        return raw.decode("ascii"), "wrong"
    if raw.isascii() and (codec is None or codec in {"cp1252", "utf-8"}):
        if _has_escapes(raw) and (escaped := _escaped(raw)):
            return escaped, "wrong" if declared else "missing"
        return raw.decode("ascii"), "unknown" if declared and codec is None else ""
    if codec is None or codec == "cp1252":
        text, fault = _undeclared(raw, declared, codec, spoken)
    else:
        text, fault = _as_declared(raw, codec)
    return text.removeprefix("\ufeff"), fault


def _undeclared(raw: bytes, declared: str, codec: str | None, spoken: Callable[[], str] | None) -> tuple[str, str]:
    text = _utf8(raw)
    if text is not None:
        return text, "wrong" if codec else "unknown" if declared else "missing"
    if codec is None or "ascii" in declared.lower():
        likely = (spoken() if spoken else likely_codec(raw)) or _FALLBACK
        return raw.decode(likely, "replace"), "wrong" if codec else "unknown" if declared else "missing"
    likely = likely_codec(raw, least=0.6, shortest=8)
    if is_telling(likely or None) and not likely.startswith(("cp1250", "cp1254", "iso8859-2")):
        return raw.decode(likely, "replace"), "wrong"
    return raw.decode(codec, "replace"), ""


def _as_declared(raw: bytes, codec: str) -> tuple[str, str]:
    by_chance = _BY_CHANCE if codec in _WIDE else 1
    if codec == "utf-16" and not raw.startswith(_UTF16_MARKS) and raw[::2].count(0) > raw[1::2].count(0):
        codec = "utf-16-be"  # RFC 2781, 4.3; but programs that omit the mark mostly mean the other order
    text = _decode_strictly(raw, codec)
    if codec == "utf-8" or codec in _ESCAPED or codec.startswith(("utf-16", "utf-32", "iso2022")):
        as_utf8 = None
    else:
        as_utf8 = _decode_strictly(raw, "utf-8")
    if as_utf8 is not None and not raw.isascii() and (text is None or _number_beyond_ascii(as_utf8) >= by_chance):
        return as_utf8, "wrong"
    if text is not None:
        return text, ""
    if codec == "utf-8" and raw.startswith(_UTF16_MARKS):
        return _decode_anyhow(raw, "utf-16"), "wrong"
    text = _decode_anyhow(raw, codec)
    if 4 * text.count("\ufffd") >= _number_beyond_ascii(text) and (likely := likely_codec(raw)):
        return raw.decode(likely, "replace"), "wrong"
    return text, "wrong"


def _utf8(raw: bytes) -> str | None:
    """Return the text if it is UTF-8, or was before it was damaged, or if it has UTF-16's mark."""
    if raw.startswith(_UTF16_MARKS):
        return _decode_anyhow(raw, "utf-16")
    text = raw.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    return text if 10 * damaged < _number_beyond_ascii(text) else None


def _number_beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _has_escapes(raw: bytes) -> bool:
    # One byte is found five times as fast as two: nearly all texts have none of them.
    return (b"\x1b" in raw and b"\x1b$" in raw) or (b"~" in raw and b"~{" in raw and b"~}" in raw)


def _has_escaped_words(raw: bytes) -> bool:
    """Tell whether four in five bytes between escapes are letters. In Japanese and Chinese, half of them are."""
    return any(5 * len(run.translate(None, _NO_LETTERS)) >= 4 * len(run) for run in _ESCAPED_RUN.findall(raw))


def _escaped(raw: bytes) -> str | None:
    """Return the text if its ASCII bytes are really ISO-2022-JP, ISO-2022-KR or HZ (RFC 1468, 1557, 1843)."""
    codec = "iso2022_kr" if b"\x1b$)C" in raw else "iso2022_jp" if b"\x1b$" in raw else "hz"
    return _decode_strictly(raw, codec)


def _decode_strictly(raw: bytes, codec: str) -> str | None:
    try:
        text = raw.decode(codec)
    except (UnicodeError, ValueError):
        return _japanese_of_windows(raw) if codec == "iso2022_jp" else None
    # Only UTF-7 can write half a character, which no database accepts.
    return text.encode("utf-8", "replace").decode("utf-8") if codec == "utf-7" else text


def _japanese_of_windows(raw: bytes) -> str | None:
    """Decode ISO-2022-JP as most programs write it: with circled numbers and the like (JIS X 0213), or half kana."""
    for text, codec in ((raw.replace(b"\x1b$B", b"\x1b$(Q"), "iso2022_jp_2004"), (raw, "iso2022_jp_ext")):
        try:
            return text.decode(codec)
        except UnicodeError:
            continue
    return None


def _decode_anyhow(raw: bytes, codec: str) -> str:
    try:
        return raw.decode(codec, "replace").encode("utf-8", "replace").decode("utf-8")
    except (UnicodeError, ValueError):  # some codecs refuse the error handler on some input
        return raw.decode(_FALLBACK, "replace")
