"""Decide which labels mean the same charset. This is only for comparing names: nothing is decoded.

The labels are those of Python 3.11 and others that occur in mail. Mail programs decode some charsets as a larger one
(the Encoding Standard of WHATWG: ISO-8859-1 as Windows-1252, GB2312 as GB18030). Such a charset has the larger one's
name.
"""

import re
from functools import cache, lru_cache

_LONGEST = 60  # bytes of a label to look up
_SEPARATORS = re.compile(rb"[-_.: ]+")
_CODE_PAGE = re.compile(rb"(?:windows|win|cp|dos|ms|(?:cs)?ibm)?_?(\d{3,5})")

UTF_8 = b"utf_8"
# One charset per line: its name here, then its other labels, with "_" for any other characters than letters and digits.
# In the first table, bytes of ASCII are ASCII, so a server may name any of these charsets for a pure ASCII text.
_AROUND_ASCII = b"""
utf_8 cp65001 u8 utf utf8 utf8_ucs2 utf8_ucs4
cp1252 646 8859 ansi_x3_4_1968 ansi_x3_4_1986 ascii cp367 cp819 csascii csisolatin1 iso646_us iso8859 iso8859_1
 iso_646_irv_1991 iso_8859_1 iso_8859_1_1987 iso_ir_100 iso_ir_6 l1 latin latin1 latin_1 us us_ascii
iso8859_2 csisolatin2 iso_8859_2 iso_8859_2_1987 iso_ir_101 l2 latin2
iso8859_3 csisolatin3 iso_8859_3 iso_8859_3_1988 iso_ir_109 l3 latin3
iso8859_4 csisolatin4 iso_8859_4 iso_8859_4_1988 iso_ir_110 l4 latin4
iso8859_5 csisolatincyrillic cyrillic iso_8859_5 iso_8859_5_1988 iso_ir_144
iso8859_6 arabic asmo_708 csisolatinarabic ecma_114 iso_8859_6 iso_8859_6_1987 iso_8859_6_e iso_8859_6_i iso_ir_127
iso8859_7 csisolatingreek ecma_118 elot_928 greek greek8 iso_8859_7 iso_8859_7_1987 iso_ir_126
iso8859_8 csisolatinhebrew hebrew iso_8859_8 iso_8859_8_1988 iso_ir_138
cp1255 iso_8859_8_e iso_8859_8_i
cp1254 csisolatin5 iso8859_9 iso_8859_9 iso_8859_9_1989 iso_ir_148 l5 latin5
iso8859_10 csisolatin6 iso_8859_10 iso_8859_10_1992 iso_ir_157 l6 latin6
cp874 iso8859_11 iso_8859_11 iso_8859_11_2001 iso_ir_166 thai tis620 tis_620 tis_620_0 tis_620_2529_0 tis_620_2529_1
iso8859_13 iso_8859_13 l7 latin7
iso8859_14 iso_8859_14 iso_8859_14_1998 iso_celtic iso_ir_199 l8 latin8
iso8859_15 iso_8859_15 l9 latin9
iso8859_16 iso_8859_16 iso_8859_16_2001 iso_ir_226 l10 latin10
cp1250
cp1251
cp1253
cp1256
cp1257
cp1258
koi8_r cskoi8r koi8 koi8r koi_8_r
koi8_t
koi8_u koi8_ru
gb18030 chinese cn_gb cp936 csiso58gb231280 euc_cn euccn eucgb2312_cn gb18030_2000 gb2312 gb2312_1980 gb2312_80
 gb2312_charset gb_2312_80 gbk iso_ir_58
cp932 csshiftjis ms_kanji mskanji s_jis shift_jis shiftjis sjis windows_31j
cp949 euc_kr euckr korean ks_c_5601 ks_c_5601_1987 ks_x_1001 ksc5601 ksx1001 uhc
cp950 big5 big5_tw chinesebig5 cn_big5 csbig5
euc_jp eucjp u_jis ujis
"""
_OTHERS = b"""
big5hkscs big5_hkscs hkscs
euc_jis_2004 euc_jis2004 eucjis2004 jisx0213
euc_jisx0213 eucjisx0213
shift_jis_2004 s_jis_2004 shiftjis2004 sjis_2004
shift_jisx0213 s_jisx0213 shiftjisx0213 sjisx0213
cp437 cspc8codepage437
cp775 cspc775baltic
cp850 cspc850multilingual
cp852 cspcp852
cp861 cp_is
cp862 cspc862latinhebrew
cp869 cp_gr
cp1125 cp866u ruscii
hp_roman8 cp1051 r8 roman8
kz1048 kz_1048 rk1048 strk1048_2002
ptcp154 cp154 csptcp154 cyrillic_asian pt154
mac_cyrillic maccyrillic
mac_greek macgreek
mac_iceland maciceland
mac_latin2 mac_centeuro maccentraleurope maclatin2
mac_roman macintosh macroman
mac_turkish macturkish
"""
_CODE_PAGES = b"720 737 855 856 857 858 860 863 864 865 866 1006"
# In these charsets, bytes of ASCII may be other letters: a program that does not know such a label shows other words.
# So only labels that all programs know get the charset's name. Each other label, and each of EBCDIC, is its own
# charset.
_SHIFTED = {
    b"utf-7": b"utf_7",
    b"utf-16": b"utf_16",
    b"utf-16be": b"utf_16_be",
    b"utf-16le": b"utf_16_le",
    b"utf-32": b"utf_32",
    b"utf-32be": b"utf_32_be",
    b"utf-32le": b"utf_32_le",
    b"hz-gb-2312": b"hz",
    b"iso-2022-jp": b"iso2022_jp",
    b"csiso2022jp": b"iso2022_jp",
    b"iso-2022-jp-1": b"iso2022_jp_1",
    b"iso-2022-jp-2": b"iso2022_jp_2",
    b"iso-2022-jp-3": b"iso2022_jp_3",
    b"iso-2022-jp-2004": b"iso2022_jp_2004",
    b"iso-2022-jp-ext": b"iso2022_jp_ext",
    b"iso-2022-kr": b"iso2022_kr",
    b"csiso2022kr": b"iso2022_kr",
}
_SHIFTED_NAMES = frozenset(_SHIFTED.values())
_NOT_ASCII_IN_SHIFT_JIS = (b"\\", b"~")  # some programs show a yen sign and an overline


def _lines(table: bytes) -> list[list[bytes]]:
    return [line.split() for line in table.strip().replace(b"\n ", b" ").split(b"\n")]


@cache
def _names() -> dict[bytes, bytes]:
    """Return the charset's name for each label."""
    names = {b"cp" + page: b"cp" + page for page in _CODE_PAGES.split()}
    for labels in _lines(_AROUND_ASCII) + _lines(_OTHERS):
        names.update(dict.fromkeys(labels, labels[0]))
    return names


@cache
def _around_ascii() -> frozenset[bytes]:
    return frozenset(labels[0] for labels in _lines(_AROUND_ASCII))


def charset_of(label: bytes) -> bytes:
    """Return the name of a declared charset; for an unknown label, the label in lower case.

    >>> charset_of(b"Latin1"), charset_of(b"x-windows_1252"), charset_of(b"X-Unknown")
    (b'cp1252', b'cp1252', b'x-unknown')
    """
    return _charset_of(label.lower()) if len(label) <= _LONGEST else label.lower()


@lru_cache(maxsize=256)
def _charset_of(label: bytes) -> bytes:
    if label in _SHIFTED or label in _SHIFTED_NAMES:
        return _SHIFTED.get(label) or b"\0" + label  # no label has this form
    plain = label.partition(b"*")[0].strip().strip(b"'\"")  # RFC 2231, 5: a language may follow
    plain = _SEPARATORS.sub(b"_", plain)
    while plain.startswith(b"x_"):
        plain = plain[2:]
    names = _names()
    page = _CODE_PAGE.fullmatch(plain)
    return names.get(plain) or (names.get(b"cp" + page[1]) if page else None) or label


def is_around_ascii(charset: bytes) -> bool:
    """Tell whether bytes of ASCII are ASCII in the charset of that name."""
    return charset in _around_ascii()


def is_ascii(data: bytes, charset: bytes) -> bool:
    """Tell whether the bytes are ASCII, and the same text in the charset of that name."""
    if not data.isascii() or b"\x1b" in data or not is_around_ascii(charset):
        return False
    return charset != b"cp932" or not any(byte in data for byte in _NOT_ASCII_IN_SHIFT_JIS)
