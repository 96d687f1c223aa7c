"""Decide which labels mean one charset. This is only for comparing names: nothing is decoded.

A label has the name of a charset only if the iconv of glibc 2.36 and Python 3.11 both know the label, exactly as
written except for capitals, and read the same text under all labels of the charset. The mutt 2.2.12 of Debian shows
that text too; its configuration reads `gb2312` as GB18030, and `euc-cn` as GB2312. Any other label is a charset of its
own, since some program does not know it: `koi8:r`, `x-koi8-r`, `1251`, `utf`. A charset and a larger one that includes
it are two charsets: without that configuration, mutt shows other letters for GB2312 than for GBK, and for ASCII than
for ISO-8859-1.
"""

from functools import cache

UTF_8 = b"utf_8"
# One charset per line: its name here, then its labels. In the first table, bytes of ASCII are ASCII, so a server may
# name any of these charsets for a pure ASCII text.
_AROUND_ASCII = b"""
utf_8 utf-8 utf8
us_ascii us-ascii ansi_x3.4-1968 ansi_x3.4-1986 ascii cp367 csascii ibm367 iso-ir-6 iso646-us iso_646.irv:1991 us
iso8859_1 iso-8859-1 cp819 csisolatin1 ibm819 iso-ir-100 iso8859-1 iso_8859-1 iso_8859-1:1987 l1 latin1
iso8859_2 iso-8859-2 csisolatin2 iso-ir-101 iso8859-2 iso_8859-2 iso_8859-2:1987 l2 latin2
iso8859_3 iso-8859-3 csisolatin3 iso-ir-109 iso8859-3 iso_8859-3 iso_8859-3:1988 l3 latin3
iso8859_4 iso-8859-4 csisolatin4 iso-ir-110 iso8859-4 iso_8859-4 iso_8859-4:1988 l4 latin4
iso8859_5 iso-8859-5 csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso_8859-5 iso_8859-5:1988
iso8859_6 iso-8859-6 arabic asmo-708 csisolatinarabic ecma-114 iso-ir-127 iso8859-6 iso_8859-6 iso_8859-6:1987
iso8859_7 iso-8859-7 csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso_8859-7 iso_8859-7:1987
iso8859_8 iso-8859-8 csisolatinhebrew hebrew iso-ir-138 iso8859-8 iso_8859-8 iso_8859-8:1988
iso8859_9 iso-8859-9 csisolatin5 iso-ir-148 iso8859-9 iso_8859-9 iso_8859-9:1989 l5 latin5
iso8859_10 iso-8859-10 csisolatin6 iso-ir-157 iso8859-10 iso_8859-10 iso_8859-10:1992 l6 latin6
iso8859_11 iso-8859-11
iso8859_13 iso-8859-13 iso8859-13 l7 latin7
iso8859_14 iso-8859-14 iso-celtic iso-ir-199 iso8859-14 iso_8859-14 iso_8859-14:1998 l8 latin8
iso8859_15 iso-8859-15 iso8859-15 iso_8859-15 latin9
iso8859_16 iso-8859-16 iso-ir-226 iso8859-16 iso_8859-16 iso_8859-16:2001 l10 latin10
tis_620 tis-620 iso-ir-166 tis620
cp874 cp874
cp1250 cp1250 windows-1250
cp1251 cp1251 windows-1251
cp1252 cp1252 windows-1252
cp1253 cp1253 windows-1253
cp1254 cp1254 windows-1254
cp1255 cp1255 windows-1255
cp1256 cp1256 windows-1256
cp1257 cp1257 windows-1257
cp1258 cp1258 windows-1258
koi8_r koi8-r cskoi8r
koi8_t koi8-t
koi8_u koi8-u
gb18030 gb18030
gb2312 gb2312
gbk gbk cp936 ms936
shift_jis shift_jis csshiftjis shift-jis sjis
cp932 cp932 ms932
euc_kr euc-kr euckr
cp949 cp949 uhc
big5 big5
cp950 cp950
euc_jp euc-jp eucjp
"""
_OTHERS = b"""
big5hkscs big5-hkscs big5hkscs
iso2022_jp iso-2022-jp csiso2022jp
iso2022_kr iso-2022-kr csiso2022kr
"""
_SHIFT_JIS = frozenset({b"shift_jis", b"cp932"})
_NOT_ASCII_IN_SHIFT_JIS = (b"\\", b"~")  # some programs show a yen sign and an overline


def _lines(table: bytes) -> list[list[bytes]]:
    return [line.split() for line in table.strip().split(b"\n")]


@cache
def _names() -> dict[bytes, bytes]:
    """Return the charset's name for each label."""
    return {label: name for name, *labels in _lines(_AROUND_ASCII) + _lines(_OTHERS) for label in labels}


@cache
def _around_ascii() -> frozenset[bytes]:
    return frozenset(name for name, *_ in _lines(_AROUND_ASCII))


@cache
def _without_label() -> frozenset[bytes]:
    """Return the names that are not labels."""
    return frozenset(_names().values()) - _names().keys()


def charset_of(label: bytes) -> bytes:
    """Return the name of a declared charset; for an unknown label, the label in lower case.

    >>> charset_of(b"Latin1"), charset_of(b"ISO-8859-1"), charset_of(b"Windows-1252")
    (b'iso8859_1', b'iso8859_1', b'cp1252')
    >>> charset_of(b"X-Unknown"), charset_of(b"8859")
    (b'x-unknown', b'8859')
    """
    label = label.lower()
    # No label begins with NUL, so no other label has the name of a charset.
    return _names().get(label) or (b"\0" + label if label in _without_label() else label)


def is_around_ascii(charset: bytes) -> bool:
    """Tell whether bytes of ASCII are ASCII in the charset of that name."""
    return charset in _around_ascii()


def is_ascii(data: bytes, charset: bytes) -> bool:
    """Tell whether the bytes are ASCII, and the same text in the charset of that name."""
    if not data.isascii() or b"\x1b" in data or not is_around_ascii(charset):
        return False
    return charset not in _SHIFT_JIS or not any(byte in data for byte in _NOT_ASCII_IN_SHIFT_JIS)
