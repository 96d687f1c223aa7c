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
`\UXXXXXXXX` in small hexadecimal digits. So a line of the file is a line to every program.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.errors import LedgerError

FORMAT = 1
_MAGIC = "spamnb-counts"
_LONGEST_LINE = 65_536
_MOST_MESSAGES = 10**9
_MOST = 10**15  # occurrences of one token
_MOST_TOTAL = 10**18  # below SQLite's largest number, with room to add
_MOST_FAULTS = 10
_ESCAPE = re.compile(r"\\(\\|u[0-9a-f]{4}|U[0-9a-f]{8}|)")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Counts:
    """What a ledger has learned, as sums.

    counts: int64 (n_tokens, 4): ham messages, spam messages, ham occurrences, spam occurrences; ham and spam are
    numbers of messages, tokenizers the versions of the tokenizer that read them.
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
        order = sorted(range(len(self.tokens)), key=self.tokens.__getitem__)
        rows = ((*self.counts[place].tolist(), self.tokens[place]) for place in order)
        for line in write(rows, len(order), self.ham, self.spam, self.tokenizers):
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
            raise LedgerError("\n".join([*self.found, "nothing was imported: export it anew, or mend these lines"]))


def parse(lines: Iterable[bytes], name: str) -> Counts:
    """The counts in the lines of an export; `name` is the file's, for messages.

    Raises LedgerError with what is wrong, each with its line number.
    """
    faults = _Faults(name)
    numbered = enumerate(lines, 1)
    head = [_text(line, number, faults) for number, line in _first(numbered, 5)]
    tokenizers, ham, spam, expected = _header(head, faults)
    faults.end()
    tokens: dict[str, int] = {}
    rows: list[list[int]] = []
    number, complete = 5, False
    for number, line in numbered:
        text = _text(line, number, faults)
        if complete:
            faults.add(number, "comes after the end; remove it")
            break
        if text == "end":
            complete = True
        elif text is not None:
            _row(text, number, (ham, spam), tokens, rows, faults)
    if not complete:
        faults.add(number, "the file ends here, but its last line should be 'end': it was cut short")
    elif len(tokens) != expected and not faults.found:
        faults.add(5, f"says {expected} tokens, but {len(tokens)} follow: lines are missing or doubled")
    counts = np.array(rows, dtype=np.int64).reshape(-1, 4)
    if counts.sum(axis=0, dtype=np.float64).max(initial=0) > _MOST_TOTAL:
        faults.add(number, "the counts are too large to be added up")
    faults.end()
    return Counts(list(tokens), counts, ham, spam, tokenizers)


def _first(numbered: Iterator[tuple[int, bytes]], most: int) -> Iterator[tuple[int, bytes]]:
    for found in numbered:
        yield found
        if found[0] == most:
            return


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
    tokenizers = tuple(int(version) for version in versions[1].split(",") if version) if versions else ()
    return tokenizers, numbers[0], numbers[1], numbers[2]


def _row(
    text: str, line: int, messages: tuple[int, int], tokens: dict[str, int], rows: list[list[int]], faults: _Faults
) -> None:
    fields = text.split("\t", 4)
    if len(fields) != 5 or not all(map(_NUMBER.fullmatch, fields[:4])):
        faults.add(line, "is not four numbers and a token, divided by tabs")
        return
    numbers = list(map(int, fields[:4]))
    try:
        token = unescape(fields[4])
    except (ValueError, OverflowError):
        faults.add(line, "has a backslash that begins nothing known; write \\\\ for a backslash")
        return
    if token in tokens:
        faults.add(line, f"has the token of line {tokens[token]} again")
    elif not any(numbers[:2]):
        faults.add(line, "has a token that is in no message")
    elif any(number > most for number, most in zip(numbers[:2], messages, strict=True)):
        faults.add(line, "has a token that is in more messages than there are")
    elif any(
        occurrences < number or (occurrences and not number) or occurrences > _MOST
        for number, occurrences in zip(numbers[:2], numbers[2:], strict=True)
    ):
        faults.add(line, "has occurrences that do not fit the number of messages")
    else:
        tokens[token] = line
        rows.append(numbers)
