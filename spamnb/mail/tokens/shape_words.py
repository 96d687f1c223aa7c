"""Say in words, or by an example, what a shape in a token stands for: `$dd,ddd` and `a.a_d` mean little to a person."""

from itertools import groupby

_CURRENCIES = "$€£¥"
_OF_NUMBERS = frozenset(f"d.,%{_CURRENCIES}")
_EXAMPLE = "54"  # the first digits; the others are zeros
_PIECES = {
    "uuid": "UUID",
    "Aa": "Letters",
    "a": "letters",
    "A": "LETTERS",
    "d": "digits",
    "x": "letters mixed with digits",
}
_LETTERS, _DIGITS = "AMBCDEFGHIJKLNOPQRSTUVWXYZ" * 2, "5678901234" * 4  # a shape of a date has 40 characters
_HEXADECIMAL = "hexadecimal digits"
SHAPES = frozenset(("from-shape", "from-name-shape", "rdns-shape", "message-id-shape", "helo-shape"))
"""The prefixes of tokens that hold the shape of a name or an identifier."""


def with_examples(place: str, text: str) -> tuple[str, str] | None:
    """Return words for a place in a text, and an example of the numbers there; None for words without a number.

    >>> with_examples("", "$dd,ddd"), with_examples("in the subject,", "dd%")
    (('an amount like', '$54,000'), ('in the subject, a number like', '54%'))
    >>> with_examples("at the end,", "d"), with_examples("a subject that ends with", "dddd")
    (('at the end, a number like', '5'), ('a subject that ends with a number like', '5400'))
    >>> with_examples("in the subject,", "dd% off"), with_examples("", "dad")
    (('in the subject, words like', '54% off'), None)
    """
    found = text.split(" ")
    examples = [_example(word) for word in found]
    if not any(examples):
        return None
    shown = " ".join(example or word for example, word in zip(examples, found, strict=True))
    like = "words like" if len(found) > 1 else "an amount like" if text[0] in _CURRENCIES else "a number like"
    return f"{place} {like}".lstrip(), shown


def _example(word: str) -> str:
    """Return an example of a number's shape; "" for another word."""
    if word.lstrip(_CURRENCIES)[:1] != "d" or not _OF_NUMBERS.issuperset(word):
        return ""
    digits = iter(_EXAMPLE)
    return "".join(next(digits, "0") if character == "d" else character for character in word)


def date_like(text: str) -> str:
    """Return a date in the form that a shape has.

    >>> date_like("aaa, d aaa dddd dd:dd:dd +dddd (aaa)"), date_like("dddd-dd-dd dd:dd:dd aa")
    ('Mon, 5 Jan 2026 12:30:00 +0100 (GMT)', '2026-12-12 12:30:00 AM')
    """
    names, minutes, said = iter(("Mon", "Jan")), iter(("30", "00")), ""
    for sign, run in groupby(text):
        length = len(list(run))
        if sign == "a":
            said += next(names, "GMT") if length == 3 else _LETTERS[:length]
        elif sign == "d" and length == 2:
            said += next(minutes, "00") if said.endswith(":") else "12"
        elif sign == "d" and length == 4:
            said += "0100" if ":" in said and said[-1] in "+-" else "2026"
        else:
            said += _DIGITS[:length] if sign == "d" else sign * length
    return said


def shape_in_words(text: str) -> str:
    """Return the shape of a name or an identifier in words, or the text if it is none.

    >>> shape_in_words("ad"), shape_in_words("Aa A"), shape_in_words("a.a_d")
    ('letters and digits', 'Letters LETTERS', 'letters.letters_digits')
    >>> shape_in_words("d.h2.Aa"), shape_in_words("a-d.org"), shape_in_words("none")
    ('digits.hexadecimal digits.Letters', 'letters-digits.org', 'none')
    """
    stem, dot, top = text.rpartition(".")
    if dot and len(top) > 1 and top.isalpha() and not _PIECES.keys() >= set(top):
        return f"{shape_in_words(stem)}.{top}"
    said, place, is_after_piece = "", 0, False
    while place < len(text):
        piece, length = _piece(text, place)
        if not piece and text[place].isalnum():
            return text
        said += f"{' and ' if piece and is_after_piece else ''}{piece or text[place]}"
        place += length
        is_after_piece = bool(piece)
    return said


def _piece(text: str, place: int) -> tuple[str, int]:
    """Return the words for the piece of a shape that begins at a place, and its length; "" and 1 for another sign."""
    for written, words in _PIECES.items():
        if text.startswith(written, place):
            return words, len(written)
    end = place + 1
    while text[place] == "h" and text[end : end + 1].isdecimal():
        end += 1
    return (_HEXADECIMAL, end - place) if end > place + 1 else ("", 1)
