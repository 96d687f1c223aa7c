r"""Counts as text, to be carried from one ledger to another.

The format, version 1: UTF-8, a line end after each line, and fields divided by one tab.

    spamnb-counts 1                 what it is, and the format's version
    tokenizer 1                     the versions of the tokenizer that read the messages, divided by commas
    ham 90                          how many ham messages were learned
    spam 45                         how many spam messages
    tokens 1007                     how many lines follow before the last one
    12 0 14 0 subject:lunch         (here with blanks for tabs) ham messages, spam messages, occurrences in ham,
                                    occurrences in spam, and the token; in the order of the tokens' code points
    end                             nothing is missing

In a token a backslash is written `\\`; what is not printable, and a blank at either end, as `\uXXXX` or
`\UXXXXXXXX` in small hexadecimal digits. So a line of the file is a line to every program. A reader takes the tokens in
any order, and as they are the characters that its own tables of Unicode do not have.

An import takes some 210 bytes of memory a token, tokens of 21 characters; the limits below bound that.
"""

import hashlib
import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from spamnb.errors import LedgerError

FORMAT = 1
_MAGIC = "spamnb-counts"
_LONGEST_LINE = 4096  # bytes; a token has at most 100 characters, of ten bytes each where they are escaped
_MOST_TOKENS = 5_000_000
_MOST_BYTES = 500_000_000
_MOST_MESSAGES = 10**9
_MOST = 10**15  # occurrences of one token
MOST_TOTAL = 10**18  # below SQLite's largest number, with room for what is learned: 4,000 tokens at 65,535 a message
_MOST_FAULTS = 10
_ESCAPE = re.compile(r"\\(\\|u[0-9a-f]{4}|U[0-9a-f]{8}|)")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Counts:
    """What a ledger has learned, as sums.

    tokens: in the order of their code points. counts: int64 (n_tokens, 4): ham messages, spam messages, ham
    occurrences, spam occurrences; ham and spam are numbers of messages, tokenizers the versions of the tokenizer that
    read them.
    """

    tokens: list[str]
    counts: NDArray[np.int64]
    ham: int
    spam: int
    tokenizers: tuple[int, ...]

    @property
    def digest(self) -> bytes:
        """Which counts these are, 32 bytes: the same for the same counts, however the file was written."""
        digest = hashlib.blake2b(digest_size=32)
        rows = ((*row.tolist(), token) for row, token in zip(self.counts, self.tokens, strict=True))
        for line in write(rows, len(self.tokens), self.ham, self.spam, self.tokenizers):
            digest.update(line.encode())
        return digest.digest()


def write(
    rows: Iterable[tuple[int, int, int, int, str]], number: int, ham: int, spam: int, tokenizers: Iterable[int]
) -> Iterator[str]:
    """The lines of an export of so many rows, each with its line end."""
    yield f"{_MAGIC} {FORMAT}\n"
    yield f"tokenizer {','.join(map(str, sorted(tokenizers)))}\n"
    yield f"ham {ham}\n"
    yield f"spam {spam}\n"
    yield f"tokens {number}\n"
    for *counts, token in rows:
        yield "\t".join([*map(str, counts), escape(token)]) + "\n"
    yield "end\n"


def escape(token: str) -> str:
    r"""A token as it is written.

    >>> print(escape("a\\b\n\u202e "))
    a\\b\u000a\u202e\u0020
    """
    if token.isprintable() and "\\" not in token and token == token.strip(" "):
        return token
    last = len(token) - 1
    return "".join(_escaped(c, at_end=place in (0, last)) for place, c in enumerate(token))


def _escaped(character: str, at_end: bool) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable() and not (character == " " and at_end):
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unescape(text: str) -> str:
    """The token that is written so. Raises ValueError for what `escape` does not write."""

    def character(found: re.Match[str]) -> str:
        code = found[1]
        if code == "\\":
            return code
        if not code or 0xD800 <= int(code[1:], 16) < 0xE000:
            raise ValueError
        return chr(int(code[1:], 16))

    return _ESCAPE.sub(character, text) if "\\" in text else text


class _Faults:
    """What is wrong, by line; too much of it ends the reading."""

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


class _Rows:
    """The rows of an export as they are read, in little memory."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.lines = array("l")
        self._counts = array("q")

    def add(self, token: str, counts: list[int], line: int) -> None:
        self.tokens.append(token)
        self._counts.extend(counts)
        self.lines.append(line)

    def repeated(self) -> Iterator[tuple[int, int]]:
        """Sorts the rows by their tokens; gives the line of each token that is there again, and its first line."""
        if any(token >= after for token, after in pairwise(self.tokens)):
            order = sorted(range(len(self.tokens)), key=self.tokens.__getitem__)  # which keeps equal ones in order
            self._counts = array("q", self.counts()[order].tobytes())
            self.tokens = [self.tokens[place] for place in order]
            self.lines = array("l", [self.lines[place] for place in order])
        first = 0
        for place in range(1, len(self.tokens)):
            if self.tokens[place] != self.tokens[first]:
                first = place
            else:
                yield self.lines[place], self.lines[first]

    def counts(self) -> NDArray[np.int64]:
        return np.frombuffer(self._counts, dtype=np.int64).reshape(-1, 4)


def parse(lines: Iterable[bytes], name: str) -> Counts:
    """The counts in the lines of an export; `name` is the file's, for messages.

    Raises LedgerError with what is wrong, each with its line number.
    """
    faults = _Faults(name)
    numbered = _within_bounds(enumerate(lines, 1), faults)
    head = [_text(line, number, faults) for number, line in islice(numbered, 5)]
    tokenizers, ham, spam, expected = _header(head, faults)
    faults.end()
    rows = _Rows()
    number, complete = 5, False
    for number, line in numbered:
        text = _text(line, number, faults)
        if complete:
            faults.add(number, "comes after the end; remove it")
            break
        if text == "end":
            complete = True
        elif text is not None:
            _row(text, number, (ham, spam), rows, faults)
    for again, first in rows.repeated():
        faults.add(again, f"has the token of line {first} again")
    if not complete:
        faults.add(number, "the file ends here, but its last line should be 'end': it was cut short")
    elif len(rows.tokens) != expected and not faults.found:
        faults.add(5, f"says {expected} tokens, but {len(rows.tokens)} follow: lines are missing or doubled")
    counts = rows.counts()
    if counts.sum(axis=0, dtype=np.float64).max(initial=0) > MOST_TOTAL:
        faults.add(number, "the counts are too large to be added up")
    faults.end()
    return Counts(rows.tokens, counts, ham, spam, tokenizers)


def _within_bounds(numbered: Iterable[tuple[int, bytes]], faults: _Faults) -> Iterator[tuple[int, bytes]]:
    read = 0
    for number, line in numbered:
        read += len(line)
        if read > _MOST_BYTES or number > _MOST_TOKENS + 7:  # so many lines, and what is said of a line too many
            faults.add(number, f"is beyond the limit of {_MOST_BYTES} bytes and {_MOST_TOKENS} tokens")
            faults.end()
        yield number, line


def _text(line: bytes, number: int, faults: _Faults) -> str | None:
    if len(line) > _LONGEST_LINE:
        faults.add(number, f"is longer than {_LONGEST_LINE} bytes")
        return None
    try:
        return line.removesuffix(b"\n").removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        faults.add(number, "is not UTF-8")
        return None


def _header(head: list[str | None], faults: _Faults) -> tuple[tuple[int, ...], int, int, int]:
    lines = [*head, *[None] * 5][:5]
    magic = re.fullmatch(rf"{_MAGIC} ([0-9]{{1,9}})", lines[0] or "")
    if magic is None:
        faults.add(1, f"is not '{_MAGIC} {FORMAT}': this is no export of spamnb")
        faults.end()
    elif int(magic[1]) != FORMAT:
        faults.add(1, f"is of the format {int(magic[1])}, and this spamnb reads {FORMAT}: upgrade spamnb")
        faults.end()
    versions = re.fullmatch(r"tokenizer ([0-9]{1,9}(?:,[0-9]{1,9})*|)", lines[1] or "")
    if versions is None:
        faults.add(2, "is not 'tokenizer' with version numbers")
    numbers = []
    for place, word in enumerate(("ham", "spam", "tokens"), 2):
        found = re.fullmatch(rf"{word} ({_NUMBER.pattern})", lines[place] or "")
        if found is None or int(found[1]) > _MOST_MESSAGES:
            faults.add(place + 1, f"is not '{word}' with a number")
        numbers.append(0 if found is None else int(found[1]))
    if numbers[2] > _MOST_TOKENS:
        faults.add(5, f"says more than {_MOST_TOKENS} tokens: prune the ledger that they come from first")
    tokenizers = tuple(int(version) for version in versions[1].split(",") if version) if versions else ()
    return tokenizers, numbers[0], numbers[1], numbers[2]


def _row(text: str, line: int, messages: tuple[int, int], rows: _Rows, faults: _Faults) -> None:
    fields = text.split("\t", 4)
    if len(fields) != 5 or not all(map(_NUMBER.fullmatch, fields[:4])):
        faults.add(line, "is not four numbers and a token, divided by tabs")
        return
    numbers = list(map(int, fields[:4]))
    if not _is_plain(fields[4]):
        faults.add(line, "has a character that is not printable, or a blank at an end; write it as \\uXXXX")
        return
    try:
        token = unescape(fields[4])
    except (ValueError, OverflowError):
        faults.add(line, "has a backslash that begins nothing known; write \\\\ for a backslash")
        return
    if not any(numbers[:2]):
        faults.add(line, "has a token that is in no message")
    elif any(number > most for number, most in zip(numbers[:2], messages, strict=True)):
        faults.add(line, "has a token that is in more messages than there are")
    elif any(
        occurrences < number or (occurrences and not number) or occurrences > _MOST
        for number, occurrences in zip(numbers[:2], numbers[2:], strict=True)
    ):
        faults.add(line, "has occurrences that do not fit the number of messages")
    else:
        rows.add(token, numbers, line)


def _is_plain(text: str) -> bool:
    """Whether nothing is in a token as it is that `escape` would escape.

    A character that is not assigned (Cn) here may be printable where it was written, with later tables of Unicode.
    """
    if text != text.strip(" "):
        return False
    return text.isprintable() or all(c.isprintable() or unicodedata.category(c) == "Cn" for c in text)
