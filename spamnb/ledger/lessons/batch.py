"""Messages that were read and are ready to learn, with their tokens as one matrix. No numpy: workers load it."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Self

from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations

# Python's hashes of texts have a key. Only processes forked from one another share it.
HASHED_BY = hash("spamnb")
OCCURRENCES_MAX = 0xFFFF  # the limit of a token's occurrences in one message, both kept and counted


class TokenMatrix(NamedTuple):
    """The tokens of several messages, each distinct one written once: a sparse matrix by rows (CSR).

    Only a third as many strings to look up, and to hand from one process to another; the rest is arithmetic on arrays.

    vocabulary: the distinct tokens, sorted, as the ledger writes them. lengths: "I" (n_messages,), tokens of each
    message. columns, occurrences: "I" (n_entries,), the entries of all messages in order: an index into the vocabulary,
    and the token's occurrences. hashes: "q" (n_tokens,), of the vocabulary; of use if `hashed_by` is `HASHED_BY`.
    """

    vocabulary: list[str]
    lengths: "array[int]"
    columns: "array[int]"
    occurrences: "array[int]"
    hashes: "array[int]" = array("q")
    hashed_by: int = 0


def hash_of(text: str) -> int:
    """Return the hash of a token; tokens are told apart by its 64 bits.

    QUIRK: Python hashes the bytes in which it keeps a text, of one, two or four bytes per character. So "op" and
    U+706F have the same hash, and a stranger could write tokens that count as others.

    >>> hash("op") == hash("\u706f"), hash_of("op") == hash_of("\u706f")
    (True, False)
    """
    return hash(text) if text.isascii() else hash(text.encode("utf-8", "surrogatepass"))


def gather(messages: Iterable[Mapping[str, int]]) -> TokenMatrix:
    """Return the matrix of some messages, each given as its tokens with their occurrences.

    >>> matrix = gather([{"y": 2, "x": 1}, {"y": 5}])
    >>> matrix.vocabulary, *map(list, matrix[1:4])
    (['x', 'y'], [2, 1], [1, 0, 1], [2, 1, 5])
    """
    rows = list(messages)
    tokens = list(chain.from_iterable(rows))
    vocabulary = sorted(set(tokens))
    column = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
    return TokenMatrix(
        vocabulary,
        array("I", map(len, rows)),
        array("I", list(map(column.__getitem__, tokens))),
        array("I", list(chain.from_iterable(row.values() for row in rows))),
        array("q", map(hash_of, vocabulary)),
        HASHED_BY,
    )


class Batch(NamedTuple):
    """Several messages: their identities, summaries and relations, and their tokens, a row for each message.

    paths: the file of each; empty if there are none.
    """

    digests: list[bytes]
    summaries: list[str]
    tokens: TokenMatrix
    relations: list[Relations]
    paths: Sequence[str] = ()

    @classmethod
    def of(cls, readings: Iterable[Reading], paths: Sequence[str] = ()) -> Self:
        """Return a batch of messages that were read, from files at these paths."""
        messages = list(readings)
        tokens = gather(message.tokens for message in messages)
        relations = [message.relations for message in messages]
        digests = [message.digest for message in messages]
        return cls(digests, [message.summary for message in messages], tokens, relations, paths)

    def readings(self) -> Iterator[Reading]:
        """Yield the messages one by one."""
        vocabulary, _, columns, occurrences, *_ = self.tokens
        start = 0
        for place, length in enumerate(self.tokens.lengths):
            entries = slice(start, start + length)
            texts = [vocabulary[column] for column in columns[entries]]
            tokens = dict(zip(texts, occurrences[entries], strict=True))
            yield Reading(self.digests[place], self.summaries[place], tokens, self.relations[place])
            start += length
