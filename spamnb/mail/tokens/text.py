"""Turn text into words: normal forms, look-alike letters, words, numbers by shape, languages without spaces."""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from operator import add

from spamnb.base.patterns import lazy_pattern

# Letters of other scripts that pass for Latin ones, by the confusables of Unicode Technical Standard 39. They are
# folded only in words that have Latin letters too: Cyrillic and Greek words stay unchanged.
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕһԁԛԝɡⅼвнкмтАВЕКМНОРСТУХІЈЅԌοανρτυικΑΒΕΖΗΙΚΜΝΟΡΤΥΧɑıſ",
    "aeopcyxijshdqwglbhkmtABEKMHOPCTYXIJSGoavptuikABEZHIKMNOPTYXais",
)
_CYRILLIC_OR_GREEK = "Ͱ-ϿЀ-ӿԀ-ԯɑɡıſⅼ"
_LOOKALIKE = lazy_pattern(f"[{_CYRILLIC_OR_GREEK}]")  # a quick test
_MIXED_WORD = lazy_pattern(
    rf"\b(?=[^\WA-Za-z]{{0,63}}[A-Za-z])(?=[^\W{_CYRILLIC_OR_GREEK}]{{0,63}}[{_CYRILLIC_OR_GREEK}])\w{{1,64}}\b"
)
_INVISIBLE = lazy_pattern(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e01ef]"
)
# In a word, programs show nothing for these, or an empty box: control characters, and letters of a private alphabet.
_CONTROLS = bytes([*range(9), *range(14, 32), 127])
_STRANGE_LETTERS = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ue000-\uf8ff\U000f0000-\U0010ffff"
# `re` looks for a set at the beginning much faster than for what is before it.
_STRANGE_IN_WORD = lazy_pattern(
    f"[{_STRANGE_LETTERS}](?<=[^\\W_][{_STRANGE_LETTERS}])[{_STRANGE_LETTERS}]*+(?=[^\\W_])"
)
_STRANGE = lazy_pattern(f"[{_STRANGE_LETTERS}]")  # a quick test
_BACKWARDS = lazy_pattern("\u202e([^\u202c]*)")  # up to the end of the override, or of the text
# Latin letters in other forms, which NFKC makes plain: mathematical ones, in circles except Ⓒ Ⓜ Ⓟ Ⓡ, in squares.
_FORMS = "\U0001d400-\U0001d6a5\u24b6\u24b7\u24b9-\u24c1\u24c3\u24c4\u24c6\u24c8-\u24e9\U0001f130-\U0001f149"
_FULL_WIDTH = "\uff21-\uff3a\uff41-\uff5a"  # ordinary beside East Asian scripts
_EAST_ASIAN_LETTER = lazy_pattern("[\u3001-\u30ff\u3400-\u9fff\uac00-\ud7af\uff66-\uff9f]")
_STYLED = lazy_pattern("[\u24b6-\u24e9\uff21-\uff5a\U0001d400-\U0001f149]")  # a quick test
# A single letter is a sign or a variable.
_STYLED_WORD = lazy_pattern(
    f"[{_FORMS}{_FULL_WIDTH}][A-Za-z{_FORMS}{_FULL_WIDTH}]|(?<=[A-Za-z])[{_FORMS}{_FULL_WIDTH}]"
)
_STYLED_EAST_ASIAN = lazy_pattern(f"[{_FORMS}][A-Za-z{_FORMS}]|(?<=[A-Za-z])[{_FORMS}]")
# Emoji are joined with these, and Persian and Indian scripts are spelt with them. Latin text does not need them.
_JOINER = "[\u200c\u200d\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef]"
_JOINED = lazy_pattern(f"{_JOINER}(?:(?<![A-Za-z]{_JOINER})|(?![A-Za-z]))")
_COMBINING = lazy_pattern("[\u0300-\u036f]{2,}")
# Marks on a letter with which they make no other letter: a quick test, and the pattern.
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_LEFT_OVER = lazy_pattern(_MARK)
_MARKS_ON_LETTER = lazy_pattern(f"(?<=[^\\W\\d_]){_MARK}+")

# Scripts written without spaces: Thai, Lao, Myanmar, Khmer, kana, Han.
_NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED = lazy_pattern(f"[{_NO_SPACES}]+")
_UNSPACED_LETTER = lazy_pattern(f"[{_NO_SPACES}]")
_STRETCH_CHARS = 256
_UP_TO_BLANK = lazy_pattern(rf"[\s\S]{{1,4000}}\S{{0,{_STRETCH_CHARS}}}")  # if no word is longer
_MOST_LETTERS = 18  # for one ligature
_ASCII = bytes(range(0x80))
_ANY_LENGTH = 1 << 62
CUT = "limit:text_chars"  # the note of a text whose middle is left out
# Emoji, stars, arrows and the like; not the tones of skin, nor the characters for drawing boxes.
_SYMBOLS = "\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
_SYMBOL = lazy_pattern(f"[{_SYMBOLS}]")
_WORD = lazy_pattern(rf"[^\W\d_][^\W_]*(?:['’\-&][^\W_]+)*|[$€£¥]?\d[\d.,]*%?|[{_SYMBOLS}]+")
# Scripts whose vowels are marks, which Python does not count as part of a word: Hebrew and Arabic with points, those of
# India, Thai, Lao, Myanmar, Khmer. A quick test, and the pattern for texts that have them.
_MARKED = lazy_pattern("[\u0591-\u05bd\u05c1\u05c2\u064b-\u065f\u0900-\u0eff\u1000-\u109f\u1780-\u17d3]")
_LETTER = (
    "[^\\W_]|[\u0591-\u05bd\u05c1\u05c2\u064b-\u065f\u0900-\u0963\u0971-\u0e3e\u0e40-\u0eff\u1000-\u109f\u1780-\u17d3]"
)
_MARKED_WORD = lazy_pattern(rf"(?=[^\W\d_])(?:{_LETTER})+(?:['’\-&][^\W_]+)*|[$€£¥]?\d[\d.,]*%?|[{_SYMBOLS}]+")
# The same, faster.
_ASCII_WORD = lazy_pattern(r"[a-z][a-z0-9]*(?:['\-&][a-z0-9]+)*|\$?[0-9][0-9.,]*%?")
# Bytes of UTF-8 in lower case; those that occur in no word become spaces.
_IN_WORDS = frozenset(f"{string.ascii_lowercase}{string.digits}'-&$.,%".encode())
_SEPARATED = bytes(byte if byte in _IN_WORDS or byte >= 0x80 else ord(" ") for byte in range(256))
# Letters with something between them.
_APART = b" .*_-"
SPACED = lazy_pattern(r"(?<![^\W_])(?:[^\W\d_][ .*_-]){3,40}[^\W\d_](?![^\W_])")
_BETWEEN = lazy_pattern(r"[ .*_-]")
# A quick test for them: letters as "a", each letter beyond ASCII as one, what may be between them as spaces.
_OUTLINE = bytes(
    ord(" ") if byte in _APART else ord("a") if chr(byte).isalpha() or byte >= 0x80 else ord("1") for byte in range(256)
)
_CONTINUING = bytes(range(0x80, 0xC0))  # bytes of UTF-8 after a character's first
_DIGIT = lazy_pattern(r"\d")
_ASCII_DIGITS = str.maketrans(string.digits, "d" * 10)
# Three characters after a blank, and before one: the blank is searched for as a literal, which is fast.
# Without the scripts from the East Asian ones on. As a set of these scripts, negated, it takes 1.0 ms more to compile.
_THREE = "[\0-\u2e7f]{3}"
_BEGINNING = lazy_pattern(f" (?=({_THREE}))")
_END = lazy_pattern(f" (?<=({_THREE}) )")
# How far into a text the grams reach. (1−ROCA)% of csdmc2010 / Enron1 / Enron3 / Enron6, by the score:
#     700 characters    0.0182 / 0.161 / 0.058 / 0.106
#     1,000             0.0178 / 0.157 / 0.057 / 0.102
#     1,500             0.0177 / 0.155 / 0.059 / 0.105
# Digits as one character save a sixth of all grams, and give 0.0184 / 0.156 / 0.057 / 0.103.
_GRAMS_WITHIN = 1000
# A quick test, and the pattern for texts that pass it.
_MARKS = lazy_pattern(r"[!?$*#=_~.,+-][!?$*#=_~.,+-]+")  # `re` finds a set faster than a repeated one
_PUNCTUATION = lazy_pattern(r"([!?$*#=_~.,+-])\1{2,}|!\?|\?!")


def normalise(text: str, most: int = _ANY_LENGTH) -> tuple[str, list[str]]:
    """Fold compatibility forms (NFKC), remove invisible characters, and make look-alike letters Latin.

    Returns the text, and notes on its disguises: `invisible`, `styled`, `lookalike`. One ligature becomes eighteen
    letters. So the middle of a text may be left out that becomes longer than `most`, with the note `CUT`.

    >>> normalise("ｖiаgra")  # a full-width v, a Cyrillic a
    ('viagra', ['styled', 'lookalike'])
    """
    text = text.replace("\xa0", " ")  # as NFKC does; most texts have nothing else beyond ASCII
    notes: list[str] = []
    encoded = text.encode("utf-8", "surrogatepass")
    has_controls = len(encoded.translate(None, _CONTROLS)) < len(encoded)
    if text.isascii():
        return (_without_strange(text, notes) if has_controls else text), notes
    beyond = _beyond_ascii(text)
    if _BACKWARDS.search(beyond):
        text = _BACKWARDS.sub(_turned, text)
        notes.append("invisible")
    shown = text
    visible = _INVISIBLE.sub("", beyond)
    if visible != beyond:
        shown = _INVISIBLE.sub("", text)
        if "invisible" not in notes and _INVISIBLE.search(_JOINED.sub("", text)):
            notes.append("invisible")
    if has_controls or _STRANGE.search(visible):
        shown = _without_strange(shown, notes)
    if _COMBINING.search(visible):
        shown = _COMBINING.sub("", shown)
    if _STYLED.search(visible):
        styled = _STYLED_EAST_ASIAN if _EAST_ASIAN_LETTER.search(visible) else _STYLED_WORD
        if styled.search(shown):
            notes.append("styled")
    shown, is_whole = _compatible(shown, most)
    if not is_whole:
        notes.append(CUT)
    beyond = _beyond_ascii(shown)
    if _LEFT_OVER.search(beyond):
        shown = _MARKS_ON_LETTER.sub("", shown)
    if _LOOKALIKE.search(beyond):
        folded = _MIXED_WORD.sub(lambda word: word[0].translate(_LOOKALIKES), shown)
        if folded != shown:
            notes.append("lookalike")
            shown = folded
    return shown, notes


def _without_strange(text: str, notes: list[str]) -> str:
    """Return the text without control characters and private letters in its words, and note that there were some."""
    shown = _STRANGE_IN_WORD.sub("", text)
    if shown != text and "invisible" not in notes:
        notes.append("invisible")
    return shown


def _turned(backwards: re.Match[str]) -> str:
    """Return text that runs backwards in the order in which a reader sees its letters.

    In plain text it runs backwards to the end of the line; in HTML the lines may be one. So later lines come twice.
    """
    first, _, later = backwards[1].partition("\n")
    return f"{first[::-1]}\n{later}\n{later[::-1]}" if later else first[::-1]


def _beyond_ascii(text: str) -> str:
    """Return the characters outside ASCII, in order: there are few, so they are searched much faster than the text."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


def _compatible(text: str, most: int) -> tuple[str, bool]:
    """Return the text in normal form NFKC, and whether it is whole.

    If it is not, it has more than three quarters of `most` from the start, and more than one quarter from the end.

    Python sorts a run of combining marks by insertion: 200,000 of them take half a minute. White space ends a run. If
    there is none for long, the text is cut into pieces.
    """
    if _longest(text.splitlines()) > _STRETCH_CHARS < _longest(text.split()):
        pieces = [text[start : start + _STRETCH_CHARS] for start in range(0, len(text), _STRETCH_CHARS)]
    elif len(text) * _MOST_LETTERS > most:
        pieces = _UP_TO_BLANK.findall(text)
    else:
        return unicodedata.normalize("NFKC", text), True
    shown: list[str] = []
    later: list[str] = []
    left, place, end = most - most // 4, 0, len(pieces)
    while place < end and left >= 0:
        shown.append(unicodedata.normalize("NFKC", pieces[place]))
        left -= len(shown[-1])
        place += 1
    left = most // 4
    while place < end and left >= 0:
        end -= 1
        later.append(unicodedata.normalize("NFKC", pieces[end]))
        left -= len(later[-1])
    return "".join(shown + later[::-1]), place == end


def _longest(pieces: list[str]) -> int:
    return max(map(len, pieces), default=0)


def limit_unspaced(text: str, most: int) -> tuple[str, int]:
    """Return a text with `most` letters in scripts without spaces, and how many it had of them in all.

    Three quarters of them are the first ones, and one quarter the last ones.

    >>> limit_unspaced("a 漢字 b 漢字 c 漢字", 4)
    ('a 漢字 b 漢  c  字', 6)
    """
    number = number_unspaced(text)
    if number <= most:
        return text, number
    letters = _UNSPACED_LETTER.finditer(text)
    first = next(islice(letters, most - most // 4, None)).start()
    last = next(islice(letters, number - most - 1, None)).start() if most // 4 else len(text)
    return text[:first] + _UNSPACED.sub(" ", text[first:last]) + text[last:], number


def number_unspaced(text: str) -> int:
    """Return how many letters of scripts without spaces a text has."""
    if text.isascii():
        return 0
    beyond = _beyond_ascii(text)
    return 0 if max(beyond) < _NO_SPACES[0] else sum(map(len, _UNSPACED.findall(beyond)))


def split_words(text: str) -> list[str]:
    """Return the words of normalised text in lower case, in order. Spaced letters (`V I A G R A`) are joined.

    >>> split_words("Pay $99.50 now: V I A G R A")
    ['pay', '$99.50', 'now', 'viagra']
    """
    lower = text.lower()
    encoded = lower.encode("utf-8", "surrogatepass")
    if b" a a " in b" %b " % encoded.translate(_OUTLINE, _CONTINUING):
        encoded = SPACED.sub(lambda found: _BETWEEN.sub("", found[0]), lower).encode("utf-8", "surrogatepass")
    # Most text between spaces is one word of letters; full stops and commas after it are removed.
    separated = encoded.translate(_SEPARATED).replace(b". ", b" ").replace(b", ", b" ")
    pieces = separated.decode("utf-8", "surrogatepass").split()
    found: list[str] = []
    for piece in pieces:
        if piece.isalpha():
            found.append(piece)
        else:
            found += _words_in(piece)
    return found


def _words_in(piece: str) -> list[str]:
    if piece.isascii():
        return _ASCII_WORD.findall(piece)
    return (_MARKED_WORD if _MARKED.search(piece) else _WORD).findall(piece)


def words(text: str, longest: int) -> dict[str, int]:
    """Return the words of normalised text as tokens, and how often each occurs in it.

    >>> words("Pay $99.50 now, now", 24)
    {'pay': 1, 'now': 2, '$dd.dd': 1}
    """
    return count_forms(split_words(text), longest)


def count_forms(found: Sequence[str], longest: int) -> dict[str, int]:
    """Count how often each word occurs, in its form as a token.

    Numbers become their shape. Words longer than `longest` characters become their first letter and length. Runs in a
    script without spaces become their pairs of characters.
    """
    # Counted first, so that the rest is done once for each distinct word, and only for words that are not plain.
    counted = dict(Counter(found))
    for word, number in [(word, counted.pop(word)) for word in _odd(counted, longest)]:
        for form in _forms(word, longest):
            counted[form] = counted.get(form, 0) + number
    return counted


def _odd(found: Collection[str], longest: int) -> list[str]:
    """Return the words that are not plain. Most texts have none: this is tested once, not for each word."""
    together = "".join(found)
    if together.isascii() and max(map(len, found), default=0) <= longest:
        return [] if together.isalpha() else [word for word in found if not word.isalpha()]
    return [word for word in found if len(word) > longest or not (word.isascii() and word.isalpha())]


def forms(found: Sequence[str], longest: int) -> list[str]:
    """Return the words in order, each in its form as a token."""
    if not _odd(found, longest):
        return list(found)
    return [form for word in found for form in _forms(word, longest)]


def _forms(word: str, longest: int) -> Iterable[str]:
    """Yield the tokens of a word that is not plain; in a row of symbols each counts once."""
    if word.isascii():
        if word[0].isalpha():
            return (_shape(word, longest),)
        return (word.rstrip(".,").translate(_ASCII_DIGITS)[:12],)
    if _SYMBOL.match(word):
        return dict.fromkeys(word)
    if word[0].isdigit() or word[0] in "$€£¥":
        return (_DIGIT.sub("d", word.rstrip(".,"))[:12],)
    if not _UNSPACED_LETTER.search(word):
        return (_shape(word, longest),)
    return _in_any_script(word, longest)


def _shape(word: str, longest: int) -> str:
    """Return a word; if it is overlong, its first letter and its length in tens."""
    return word if len(word) <= longest else f"{word[0]}…{len(word) // 10 * 10}"


def _in_any_script(word: str, longest: int) -> Iterator[str]:
    """Yield runs of scripts without spaces as pairs of characters, and the text between them."""
    position = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > position:
            yield word[position : run.start()][:longest]
        yield from map(add, run[0], run[0][1:]) if len(run[0]) > 1 else run[0]
        position = run.end()
    if position < len(word):
        yield _shape(word[position:], longest)


def pairs(prefix: str, found: Sequence[str]) -> Iterator[str]:
    """Yield pairs of neighbouring words, each pair once."""
    return (f"{prefix}:{one} {other}" for one, other in dict.fromkeys(pairwise(found)))


def grams(prefix: str, text: str) -> dict[str, int]:
    """Return the beginnings and ends of words: runs of four characters with a blank first or last; each once.

    A row of blanks counts as one, and there is one before and after the text. Scripts from the East Asian ones on have
    no grams: their words are not separated.

    >>> list(grams("4:", "an old hat"))
    ['4: an ', '4: old', '4: hat', '4:old ', '4:hat ']
    >>> list(grams("4:", "a b"))
    ['4: a b', '4:a b ']
    """
    spaced = f" {' '.join(text[:_GRAMS_WITHIN].split())} "
    runs = [f"{prefix} {characters}" for characters in dict.fromkeys(_BEGINNING.findall(spaced))]
    runs += [f"{prefix}{characters} " for characters in dict.fromkeys(_END.findall(spaced))]
    return dict.fromkeys(runs, 1)


def runs_of_marks(text: str) -> Iterator[str]:
    """Yield runs of punctuation, at most three marks of each.

    >>> list(runs_of_marks("Now!!!!! -- or never?!"))
    ['!!!', '?!']
    """
    return (run[0][:3] for marks in _MARKS.findall(text) for run in _PUNCTUATION.finditer(marks))
