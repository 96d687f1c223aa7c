"""A lesson as a row of the log, and back. Other hosts wrote what is read, so it is checked.

Tokens are text, compressed by zlib. A group holds tokens of one kind and with one number of occurrences, sorted. Each
token is shortened to the part that differs from the token before it, after a character for the length of the common
part. With that character as a number in brackets, `1:subject[0]lunch[0]today` and `2[0]noon[4]s` are two groups. A
control character in a token is written as U+007F and one other. For 500 messages of csdmc2010 (447 tokens each) this
takes 1,598 bytes and 0.5 ms per message; with whole tokens 1,724 and 0.3 ms; by lzma instead of zlib 1,602 and 1.0 ms.

Text columns cannot hold NUL or lone surrogates, and people read them: an escape replaces each character that is not
printable.
"""

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from spamnb.base.errors import ExchangeError
from spamnb.base.label import LEARNED_BY, How, Label
from spamnb.base.patterns import lazy_pattern
from spamnb.base.wording import escaped
from spamnb.exchange.port import LogRow
from spamnb.ledger.lessons.acquaintance import unpacked as unpacked_relations
from spamnb.ledger.lessons.batch import OCCURRENCES_MAX
from spamnb.ledger.lessons.port import Lesson, LessonCopy

COLUMNS = "seq, digest, label, weak, at, how, why, host, tokenizer, tokens, relations, summary"
FORGOTTEN = -1  # stands for "no label" if a number is needed
_LEVEL = 6  # 1 takes 1,789 bytes per message, 9 the same as 6
_BETWEEN_GROUPS = "\0"
_FIRST_SHARED, _MOST_SHARED = 1, 30
_SHARED = [chr(_FIRST_SHARED + shared) for shared in range(_MOST_SHARED + 1)]  # all control characters but NUL
_BEFORE_TEXT = lazy_pattern(r"([\x01-\x1f])")
_DIGITS = len(str(OCCURRENCES_MAX))
_ESCAPE = "\x7f"
_WRITTEN = {code: _ESCAPE + chr(code ^ 0x40) for code in (0x7F, *range(0x20))}
_MOST_BYTES = 8_000_000  # for a message's tokens as text
_MOST_TOKENS = 1 << 16
_LONGEST_TOKEN = 1000  # characters; the tokenizer's have at most 100
_LONGEST_TEXT = 1000
_LONGEST_DIGEST = 64
_LONGEST_BLOB = 1 << 20  # for compressed tokens; a message has at most 4,000
# A row that another program has written may have any size. So of each column no more is read than can be right, plus
# one byte, which shows that a column is too long.
SELECTED = (
    f"seq, substr(digest, 1, {_LONGEST_DIGEST + 1}), label, weak, at, left(how, {_LONGEST_TEXT}),"
    f" left(why, {_LONGEST_TEXT}), left(host, {_LONGEST_TEXT}), tokenizer, substr(tokens, 1, {_LONGEST_BLOB}),"
    f" substr(relations, 1, {_LONGEST_DIGEST + 1}), left(summary, {_LONGEST_TEXT})"
)
_FIRST, _LAST = -6e10, 2.5e11  # seconds since the epoch: what a ledger may hold (`ledger.values`)


class Written(NamedTuple):
    """A lesson in the columns of a row, without number and host. label: FORGOTTEN for none. tokens: empty for None."""

    digest: bytes
    label: int
    weak: bool
    at: float
    how: str
    why: str
    tokenizer: int
    tokens: bytes
    relations: bytes
    summary: str


def written(copy: LessonCopy) -> Written:
    """Return the lesson as a row."""
    lesson = copy.lesson
    label = FORGOTTEN if lesson.label is None else int(lesson.label)
    tokens = b"" if copy.tokens is None else packed(copy.tokens)
    texts = escaped(lesson.why)[:_LONGEST_TEXT], escaped(lesson.summary)[:_LONGEST_TEXT]
    learned = lesson.digest, label, lesson.weak, float(lesson.at), str(lesson.how), texts[0]
    return Written(*learned, copy.tokenizer, tokens, copy.relations, texts[1])


def read(account: str, row: Sequence[Any]) -> LogRow:
    """Return a row's lesson, from the columns of SELECTED. Raises ExchangeError if no host can have written the row."""
    number, digest, label, weak, at, how, why, host, tokenizer, tokens, relations, summary = row
    try:
        if how not in LEARNED_BY or how == How.IMPORT:
            raise ValueError("its cause is not one that this version knows")
        if not _FIRST <= at <= _LAST or not 0 < len(digest) <= _LONGEST_DIGEST or tokenizer < 0:
            raise ValueError("its time, its digest or its tokenizer is impossible")
        unpacked_relations(relations)
        texts = escaped(summary)[:_LONGEST_TEXT], escaped(why)[:_LONGEST_TEXT]
        learned = None if label is None else Label(label)
        lesson = Lesson(number, digest, texts[0], learned, weak, at, texts[1], How(how), None)
        return LogRow(number, escaped(host)[:_LONGEST_TEXT], LessonCopy(lesson, tokenizer, unpacked(tokens), relations))
    except (ValueError, TypeError, zlib.error) as fault:
        raise ExchangeError(
            f"row {number} of {escaped(account)} in the log is damaged ({escaped(str(fault))}): delete that row, or"
            " restore the log from a copy"
        ) from fault


def packed(tokens: Mapping[str, int]) -> bytes:
    """Return tokens with their occurrences, as bytes.

    >>> unpacked(packed({"subject:lunch": 1, "noon": 2, "subject:today": 1, "noons": 2}))
    {'subject:lunch': 1, 'subject:today': 1, 'noon': 2, 'noons': 2}
    """
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for token, number in sorted(tokens.items()):
        kind, colon, text = token.partition(":")
        groups[f"{number}:{kind}" if colon else str(number)].append(text if colon else token)
    content = _BETWEEN_GROUPS.join(key.translate(_WRITTEN) + "".join(_shortened(groups[key])) for key in sorted(groups))
    return zlib.compress(content.encode(), _LEVEL)


def _shortened(texts: Iterable[str]) -> Iterator[str]:
    """Yield each text after a character for the number of characters that it shares with the text before it."""
    before = ""
    for text in texts:
        plain = text.translate(_WRITTEN)
        shared = 0
        for one, other in zip(before[:_MOST_SHARED], plain, strict=False):
            if one != other:
                break
            shared += 1
        yield chr(_FIRST_SHARED + shared) + plain[shared:]
        before = plain


def unpacked(blob: bytes) -> dict[str, int]:
    """Return the tokens of these bytes. Raises ValueError or zlib.error for bytes that no host writes.

    One compressed byte may stand for a thousand: no more is unpacked than a message may have.
    """
    inflate = zlib.decompressobj()
    content = inflate.decompress(blob, _MOST_BYTES).decode()
    if not inflate.eof or inflate.unused_data or sum(map(content.count, _SHARED)) > _MOST_TOKENS:
        raise ValueError("its tokens are cut, or too many")
    tokens: dict[str, int] = {}
    for group in content.split(_BETWEEN_GROUPS) if content else ():
        key, *parts = _BEFORE_TEXT.split(group)
        number, colon, kind = key.partition(":")
        if not (len(number) <= _DIGITS and number.isdecimal() and 0 < int(number) <= OCCURRENCES_MAX):
            raise ValueError("a token has an impossible number of occurrences")  # without quoting it
        before = ""
        for shared, rest in zip(parts[::2], parts[1::2], strict=True):
            before = before[: ord(shared) - _FIRST_SHARED] + rest
            tokens[_plain(f"{kind}:{before}" if colon else before)] = int(number)
    if max(map(len, tokens), default=0) > _LONGEST_TOKEN:
        raise ValueError("a token is too long")
    return tokens


def _plain(text: str) -> str:
    """Return a text with its control characters restored."""
    if _ESCAPE in text:
        for character, written in reversed(_WRITTEN.items()):  # U+007F, which is written with itself, comes last
            text = text.replace(written, chr(character))
    return text
