"""Text to words: normal forms, look-alike letters, words, numbers by shape, languages without spaces."""

import re
import unicodedata
from collections.abc import Iterator

# Letters of other scripts that pass for Latin ones, by the confusables of Unicode Technical Standard 39. They are
# folded only in words that have Latin letters too: Cyrillic and Greek words stay what they are.
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕһԁԛԝɡⅼвнкмтАВЕКМНОРСТУХІЈЅԌοανρτυικΑΒΕΖΗΙΚΜΝΟΡΤΥΧɑıſ",
    "aeopcyxijshdqwglbhkmtABEKMHOPCTYXIJSGoavptuikABEZHIKMNOPTYXais",
)
_LATIN = re.compile("[A-Za-z]")
_CYRILLIC_OR_GREEK = re.compile("[Ͱ-ϿЀ-ӿԀ-ԯɑɡıſⅼ]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_COMBINING = re.compile("[\u0300-\u036f]{2,}")

# Scripts written without spaces: Thai, Lao, Myanmar, Khmer, kana, Han.
_NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED = re.compile(f"[{_NO_SPACES}]+")
_WORD = re.compile(r"[$€£¥]?\d[\d.,]*%?|[^\W_]+(?:['’\-&][^\W_]+)*")
_SPACED = re.compile(r"(?<![^\W_])(?:[^\W\d_][ .*\-_]){3,40}[^\W\d_](?![^\W_])")
_DIGIT = re.compile(r"\d")


def normalise(text: str) -> tuple[str, list[str]]:
    """Compatibility forms folded (NFKC), invisible characters removed, look-alike letters made Latin.

    Returns the text, and notes on what had been disguised: `invisible`, `lookalike`.

    >>> normalise("ｖiаgra")  # a full-width v, a Cyrillic a
    ('viagra', ['lookalike'])
    """
    if text.isascii():
        return text, []
    notes = []
    shown = _INVISIBLE.sub("", text)
    if len(shown) != len(text):
        notes.append("invisible")
    shown = unicodedata.normalize("NFKC", _COMBINING.sub("", shown))
    if _CYRILLIC_OR_GREEK.search(shown):
        folded = re.sub(r"\w+", _fold_lookalikes, shown)
        if folded != shown:
            notes.append("lookalike")
            shown = folded
    return shown, notes


def _fold_lookalikes(word: re.Match[str]) -> str:
    text = word[0]
    if len(text) <= 64 and _LATIN.search(text) and _CYRILLIC_OR_GREEK.search(text):
        return text.translate(_LOOKALIKES)
    return text


def words(text: str, longest: int) -> Iterator[str]:
    """The words of normalised text, in lower case and in order.

    Numbers become their shape, words longer than `longest` characters their first letter and length, and runs
    in a script without spaces their pairs of characters. Letters set apart (`V I A G R A`) are joined.

    >>> list(words("Pay $99.50 now", 24))
    ['pay', '$dd.dd', 'now']
    """
    for found in _WORD.findall(_join_spaced(text).lower()):
        if found[0].isdigit() or found[0] in "$€£¥":
            yield _DIGIT.sub("d", found.rstrip(".,"))[:12]
        elif found.isascii():
            yield found if len(found) <= longest else f"{found[0]}…{len(found) // 10 * 10}"
        else:
            yield from _beyond_ascii(found, longest)


def _beyond_ascii(word: str, longest: int) -> Iterator[str]:
    position = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > position:
            yield word[position : run.start()][:longest]
        text = run[0]
        if len(text) == 1:
            yield text
        yield from (text[i : i + 2] for i in range(len(text) - 1))
        position = run.end()
    if position < len(word):
        yield word[position:] if len(word) - position <= longest else f"{word[position]}…{len(word) // 10 * 10}"


def _join_spaced(text: str) -> str:
    return _SPACED.sub(lambda found: re.sub(r"[ .*\-_]", "", found[0]), text)
