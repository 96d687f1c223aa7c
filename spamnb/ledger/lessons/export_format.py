r"""Counts as text, to carry them from one ledger to another.

The format, version 1: JSON Lines in ASCII, with a line end after each line.

    {"spamnb-counts": 1, "tokenizer": [1], "ham": 90, "spam": 45, "tokens": 1007, "ledger": "9f2c…"}
    [12, 0, 14, 0, "subject:lunch"]

The first line names the format with its version, and the versions of the tokenizer that read the messages. It has the
numbers of learned ham and spam messages, and of the lines that follow. "ledger" is the mark of the ledger with the
counts (`State.mark`); it may be missing. Each following line is a token: ham messages, spam messages, occurrences in
ham, occurrences in spam, and the token itself, in the order of the tokens' code points. A reader takes them in any
order.

An import takes about 210 bytes of memory per token of 21 characters; the limits below bound that.
"""

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spamnb.base.errors import LedgerError

FORMAT = 1
_NAME, _MARK = "spamnb-counts", "ledger"
_LONGEST_LINE = 4096  # bytes; a token has at most 100 characters, of up to twelve bytes each if they are escaped
_MOST_TOKENS = 5_000_000
_MOST_BYTES = 500_000_000
_MOST_MESSAGES = 10**9
_MOST = 10**15  # occurrences of one token
MOST_TOTAL = 10**18  # below SQLite's largest number, with a margin for lessons: 4,000 tokens at 65,535 per message
_MOST_FAULTS = 10


@dataclass(frozen=True, slots=True)
class ExportedCounts:
    """What a ledger has learned, as sums.

    tokens: in the order of their code points. counts: int64 (n_tokens, 4): ham messages, spam messages, ham
    occurrences, spam occurrences. ham and spam are numbers of messages; tokenizers are the versions that read them.
    mark: of the ledger; "" if unknown.
    """

    tokens: list[str]
    counts: NDArray[np.int64]
    ham: int
    spam: int
    tokenizers: tuple[int, ...]
    mark: str = ""

    @property
    def digest(self) -> bytes:
        """Return 32 bytes that identify these counts: equal counts have equal bytes, in any order of the file."""
        digest = hashlib.blake2b(digest_size=32)
        rows = ((*row.tolist(), token) for row, token in zip(self.counts, self.tokens, strict=True))
        for line in write(rows, len(self.tokens), self.ham, self.spam, self.tokenizers):
            digest.update(line.encode())
        return digest.digest()

    def check_sums(self, totals: Sequence[int]) -> None:
        """Raise LedgerError if a total would be too large; otherwise no token's count is: it is part of a total.

        totals: messages, tokens summed over messages, and occurrences, each ham then spam, of the ledger before the
        import.
        """
        more = [self.ham, self.spam, *self.counts.sum(axis=0).tolist()]
        if any(total + added > MOST_TOTAL for total, added in zip(totals, more, strict=True)):
            raise LedgerError(
                "these counts and those of the ledger are too large to be added up: nothing was imported; take back"
                " other imports first (spamnb undo), or export what you want to add from a smaller ledger"
            )


def write(
    rows: Iterable[tuple[int, int, int, int, str]], number: int, ham: int, spam: int, tokenizers: Iterable[int]
) -> Iterator[str]:
    """Yield the lines of an export of `number` rows, each with its line end."""
    header = {_NAME: FORMAT, "tokenizer": sorted(tokenizers), "ham": ham, "spam": spam, "tokens": number}
    yield f"{json.dumps(header)}\n"
    for row in rows:
        yield json.dumps(row).replace("\x7f", "\\u007f") + "\n"


def with_mark(lines: Iterable[str], mark: str) -> Iterator[str]:
    """Yield the lines of an export, the first with the mark of its ledger, if it has one."""
    lines = iter(lines)
    first = next(lines)
    yield f"{json.dumps(json.loads(first) | {_MARK: mark})}\n" if mark else first
    yield from lines


class _Faults:
    """The faults, by line; too many of them end the reading."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.found: list[str] = []

    def add(self, line: int, what: str) -> None:
        self.found.append(f"{self._name}:{line}: {what}")
        if len(self.found) == _MOST_FAULTS:
            self.end()

    def end(self) -> None:
        if self.found:
            raise LedgerError("\n".join([*self.found, "nothing was imported: export it again, or correct these lines"]))


@dataclass(frozen=True, slots=True)
class _Header:
    tokenizers: tuple[int, ...]
    ham: int
    spam: int
    tokens: int
    mark: str


def parse(lines: Iterable[bytes], name: str) -> ExportedCounts:
    """Return the counts in the lines of an export; `name` is the file's, for messages.

    Raises LedgerError with the faults, each with its line number.
    """
    faults = _Faults(name)
    numbered = _within_bounds(enumerate(lines, 1), faults)
    try:
        header = _header(next(numbered, (1, b""))[1])
    except ValueError as fault:
        faults.add(1, str(fault))
        faults.end()
    tokens: list[str] = []
    counts, rows = array("q"), array("l")  # rows: the line of each token
    number = 1
    for number, line in numbered:
        try:
            *row, token = _row(line, header)
        except ValueError as fault:
            faults.add(number, str(fault))
            continue
        tokens.append(token)
        counts.extend(row)
        rows.append(number)
    order: Sequence[int] = range(len(tokens))
    if any(token >= after for token, after in pairwise(tokens)):
        order = sorted(order, key=tokens.__getitem__)  # keeps equal ones in order
    for one, again in pairwise(order):
        if tokens[one] == tokens[again]:
            faults.add(rows[again], f"has the token of line {rows[one]} again")
    if number - 1 != header.tokens:
        faults.add(
            number, f"is the last line, after {number - 1} tokens of {header.tokens}: lines are missing or doubled"
        )
    table = np.frombuffer(counts, dtype=np.int64).reshape(-1, 4)[order]
    if table.sum(axis=0, dtype=np.float64).max(initial=0) > MOST_TOTAL:
        faults.add(number, "the counts are too large to be added up")
    faults.end()
    return ExportedCounts(
        [tokens[place] for place in order], table, header.ham, header.spam, header.tokenizers, header.mark
    )


def _within_bounds(numbered: Iterable[tuple[int, bytes]], faults: _Faults) -> Iterator[tuple[int, bytes]]:
    read = 0
    for number, line in numbered:
        read += len(line)
        if read > _MOST_BYTES or number > _MOST_TOKENS + 2:  # the header, the tokens, one too many
            faults.add(number, f"is beyond the limit of {_MOST_BYTES} bytes and {_MOST_TOKENS} tokens")
            faults.end()
        yield number, line


def _decoded(line: bytes) -> object:
    """Return the JSON value of a line. Raises ValueError with the fault."""
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"is longer than {_LONGEST_LINE} bytes")
    text = line.decode("latin-1").rstrip("\r\n")
    if not (text.isascii() and text.isprintable()):
        raise ValueError("has a character that is not printable ASCII; write it as \\uXXXX")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON: it is damaged, or was cut short") from None


def _header(line: bytes) -> _Header:
    try:
        values = _decoded(line)
    except ValueError:
        values = None
    if not isinstance(values, dict) or not _is_number(values.get(_NAME)):
        raise ValueError("is not the first line of an export of spamnb")
    if values[_NAME] != FORMAT:
        raise ValueError(f"is of the format {values[_NAME]}, and this spamnb reads {FORMAT}: upgrade spamnb")
    versions = values.get("tokenizer")
    if not isinstance(versions, list) or not all(_is_number(version, _MOST_MESSAGES) for version in versions):
        raise ValueError("has no 'tokenizer' with version numbers")
    for word in ("ham", "spam", "tokens"):
        if not _is_number(values.get(word), _MOST_MESSAGES):
            raise ValueError(f"has no '{word}' with a number")
    if values["tokens"] > _MOST_TOKENS:
        raise ValueError(f"has more than {_MOST_TOKENS} tokens: prune the ledger that they come from first")
    mark = values.get(_MARK, "")
    if not isinstance(mark, str):
        raise ValueError(f"has no text as its '{_MARK}'")  # noqa: TRY004 - what the file says, not what was called
    return _Header(tuple(versions), values["ham"], values["spam"], values["tokens"], mark)


def _row(line: bytes, header: _Header) -> tuple[int, int, int, int, str]:
    """Return the numbers of a line, and its token. Raises ValueError with the fault."""
    row = _decoded(line)
    if not (isinstance(row, list) and len(row) == 5 and all(map(_is_number, row[:4])) and isinstance(row[4], str)):
        raise ValueError("is not a list of four numbers and a token")
    ham, spam, in_ham, in_spam, token = row
    if any("\ud800" <= character < "\ue000" for character in token):
        raise ValueError("has half a character (a lone surrogate)")
    if not ham + spam:
        raise ValueError("has a token that is in no message")
    if ham > header.ham or spam > header.spam:
        raise ValueError("has a token that is in more messages than there are")
    if any(n < m or (n and not m) or n > _MOST for m, n in ((ham, in_ham), (spam, in_spam))):
        raise ValueError("has occurrences that do not fit the number of messages")
    return ham, spam, in_ham, in_spam, token


def _is_number(value: object, most: int = MOST_TOTAL) -> bool:
    return type(value) is int and 0 <= value <= most
