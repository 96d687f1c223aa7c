"""Guess the charset of bytes without a declared one, by the commonest letters of each language.

A text in a wrong charset still decodes, but then its letters are rare ones. So each language is tried in each of its
charsets. The result compares two shares of the bytes outside ASCII: that of the language's commonest characters here,
and that in any real text of the language. Right readings give about 1, wrong ones hardly a half.

Libraries for this (chardet, charset-normalizer) are hardly better at short texts. They take many times as long, and
their import takes time and memory (`tests/mail/test_tongues.py` has the texts).
"""

from functools import lru_cache
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern

_SAMPLE_BYTES = 1024  # ten times the need of most texts
_WINDOW = 8192  # from the first such byte, so that a long Latin text is not scanned to its end
# The second byte of two may be an ASCII letter. `re` finds a set faster than a repeated one.
_RUN = lazy_pattern(rb"[\x80-\xff][\x80-\xff]*(?:[@-~][\x80-\xff]+)*[@-~]?")
# Characters that make runs in Latin text: non-breaking spaces, which French sets inside quotation marks (after 0x82
# this is the commonest letter of Shift_JIS); and bullets, dashes and the like in rows. No language writes a letter
# thrice.
_NO_LETTERS = lazy_pattern(rb"(?<!\x82)\xa0|([\x80-\xff])\1{2,}")
_LONG_RUN = lazy_pattern(rb"[\x80-\xff]{3,}")
_ASCII = bytes(range(128))
_BY_RUNS = 0.3  # share of the bytes outside ASCII in runs of three or more, if the script is not Latin
_LATIN_MARGIN = 0.15
_NOT_BEYOND = lazy_pattern(r"[\0-\x7f]+")

_KANA = "".join(map(chr, (*range(0x3041, 0x3094), *range(0x30A1, 0x30F7), 0x30FC, 0x3001, 0x3002)))
# Charsets; characters that are common in the language; their share of all its characters beyond ASCII.
_WIDE: tuple[tuple[tuple[str, ...], str, float], ...] = (
    (
        ("gb18030",),
        "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子得着下自之年过发后作里用公司业"
        "务电话联系请您好开票本经学家价格产品网站服方提供，。、！：",
        0.34,
    ),
    (
        ("cp950",),
        "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子得著下自之年過發後作裡用公司業"
        "務電話聯繫請您好開票本經學家價格產品網站服方提供，。、！：",
        0.34,
    ),
    (("cp932", "euc_jp"), _KANA, 0.6),
    (("cp949",), "이다는에의가을를하고지로은서도기사한인대해리자시어아정일수부전보나니습안요", 0.45),
)
_NARROW: tuple[tuple[tuple[str, ...], str, float], ...] = (
    (("cp1251", "koi8-r", "cp866"), "оеаинтсрвл", 0.63),
    (("iso8859-7",), "αοιετσνηυρ", 0.70),
    (("cp1255",), "יוהלאמרבתש", 0.72),
    (("cp1256", "iso8859-6"), "الينمرتوبه", 0.70),
    (("cp874",), "านรกอเงม่้", 0.50),
)
_WESTERN = "äöüßéèêëàâáãåæçîïíìñôóòõøœùûúÄÖÜÉÈÊÀÂÁÃÅÆÇÎÍÑÔÓÕØÙÛÚ’‘“”„‚–—…•·«»°®©™£€§¡¿ªº\u00a0´"
_LATIN: tuple[tuple[str, str], ...] = (  # the first one wins among those that explain most
    ("cp1252", _WESTERN),
    ("cp1254", "ıİşŞğĞüÜöÖçÇâî’‘“”–—…•\u00a0"),
    ("cp1250", "ąćęłńóśźżĄĆĘŁŃÓŚŹŻáčďéěíňřšťúůýžÁČÉÍŘŠÚÝŽőűöüäăâîşţ„”’–—…•\u00a0"),
    ("iso8859-2", "ąćęłńóśźżĄĆĘŁŃÓŚŹŻáčďéěíňřšťúůýžÁČÉÍŘŠÚÝŽőűöüäăâîşţ\u00a0"),
    ("cp1252", "áéíóúýöæðþÁÉÍÓÚÝÖÆÐÞ’‘“”„–—…•\u00a0"),  # Icelandic, whose own letters are Turkish elsewhere
)


class _Alphabet(NamedTuple):
    """The commonest letters of a language in one of its charsets."""

    codec: str
    common: bytes
    capital: bytes
    share: float

    def score(self, beyond: bytes) -> float:
        """Return how much bytes look like its text. Capitals count less: Greek passes for Russian in capitals."""
        common, capital = (len(beyond) - len(beyond.translate(None, some)) for some in (self.common, self.capital))
        return (common + 0.9 * capital) / len(beyond) / self.share


# Made at the first message that needs them. Most mailboxes have no such message.
@lru_cache(maxsize=1)
def _narrow() -> tuple[_Alphabet, ...]:
    found = []
    for codecs, common, share in _NARROW:
        capital = common.upper() if common.upper() != common else ""
        found += [_Alphabet(codec, common.encode(codec), capital.encode(codec), share) for codec in codecs]
    return tuple(found)


@lru_cache(maxsize=1)
def _latin() -> tuple[tuple[str, bytes], ...]:
    return tuple((codec, common.encode(codec)) for codec, common in _LATIN)


def likely_codec(raw: bytes, least: float = 0.25, shortest: int = 1) -> str:
    """Return the codec in which `raw` reads as ordinary text of some language; "" if none does, or bytes are too few.

    A text in Latin letters always counts as one in the Windows charset of some part of Europe. `least`: the required
    share of the level in real text. `shortest`: the required number of bytes outside ASCII.

    >>> likely_codec("Привет, как дела?".encode("koi8-r")), likely_codec("Grüße".encode("latin-1"))
    ('koi8-r', 'cp1252')
    """
    sample = _sample(raw)
    beyond = sample.translate(None, _ASCII)
    if not beyond or len(beyond) < shortest:
        return ""
    if sum(map(len, _LONG_RUN.findall(sample))) < _BY_RUNS * len(beyond):
        return _likely_latin(beyond)
    scores = {alphabet.codec: alphabet.score(beyond) for alphabet in _narrow()}
    for codecs, common, share in _WIDE:
        for codec in codecs:
            text = _NOT_BEYOND.sub("", sample.decode(codec, "replace"))
            scores[codec] = sum(map(text.count, common)) / (len(text) or 1) / share
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] >= least else ""


def _sample(raw: bytes) -> bytes:
    """Return the first words that have bytes outside ASCII."""
    runs, length = [], 0
    start = raw[:_WINDOW]
    for run in _RUN.finditer(raw if start.isascii() else start):
        runs.append(run[0][: _SAMPLE_BYTES - length])
        length += len(runs[-1])
        if length >= _SAMPLE_BYTES:
            break
    return _NO_LETTERS.sub(b" ", b" ".join(runs))


def _likely_latin(beyond: bytes) -> str:
    western, *others = (len(beyond) - len(beyond.translate(None, common)) for _, common in _latin())
    best = max(others)
    if best < western + _LATIN_MARGIN * len(beyond):
        return _LATIN[0][0]
    return _LATIN[1 + others.index(best)][0]
