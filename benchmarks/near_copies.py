"""Look for near-copies of messages in other corpora: two public corpora can hold the same lists and spam runs.

A message is the set of the distinct words of its text, without header and subject. Messages with fewer than 20 are left
out, of both corpora. Each message of the first corpus is compared with each message of the other:

    alike       the share of messages for which another has at least 0.6 of all words of both in common (Jaccard)
    contained   the share of messages that have at least 0.6 of their words in one other message; a long other message
                holds the words of many short ones

The other message has to be at most three times as long to count as `contained`. For scale, the first row compares the
second half of the first corpus, in its order, with its first half. All pairs are compared; nothing is sampled.

    python benchmarks/near_copies.py CORPUS OTHER … [--json]
"""

from typing import NamedTuple

import common
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spamnb.evaluation.corpus import load_corpus, samples
from spamnb.mail.tokens.kinds import kind

_SHARE, _SHORTEST, _LONGEST = 0.6, 20, 3
_BLOCK = 500  # messages at a time: their common words with all others take 500 × 6,000 × 8 bytes at most


class Words(NamedTuple):
    """Messages of a corpus in their order: is_spam, bool (n,), and their words, ones of shape (n, n_words)."""

    is_spam: NDArray[np.bool_]
    words: csr_array

    def part(self, which: slice) -> "Words":
        """Return some of the messages."""
        return Words(self.is_spam[which], self.words[which])


def words_of(corpus: str, numbers: dict[str, int]) -> Words:
    """Read a corpus; `numbers`, the number of each word, gets new words."""
    rows, is_spam = [], []
    for sample in samples(load_corpus(corpus)):
        words = [token for token in sample.reading.tokens if not kind(token)]
        if len(words) >= _SHORTEST:
            rows.append(np.array([numbers.setdefault(word, len(numbers)) for word in words]))
            is_spam.append(bool(sample.label))
    starts = np.cumsum([0, *map(len, rows)])
    ones = np.ones(starts[-1])
    return Words(np.array(is_spam), csr_array((ones, np.concatenate(rows), starts), shape=(len(rows), len(numbers))))


def compare(ours: Words, theirs: Words) -> dict[str, float]:
    """Return the shares of our messages, in percent, that have a near-copy among theirs."""
    n, n_words = len(ours.is_spam), max(ours.words.shape[1], theirs.words.shape[1])
    our_words, their_words = (_widened(each.words, n_words) for each in (ours, theirs))
    alike, contained = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    lengths = their_words.sum(axis=1)[None, :]
    for start in range(0, n, _BLOCK):
        block = our_words[start : start + _BLOCK]
        own = block.sum(axis=1)[:, None]
        shared = (block @ their_words.T).toarray()
        alike[start : start + _BLOCK] = (shared >= _SHARE * (own + lengths - shared)).any(axis=1)
        within = (shared >= _SHARE * own) & (lengths <= _LONGEST * own)
        contained[start : start + _BLOCK] = within.any(axis=1)
    return {
        "alike %": 100 * float(alike.mean()),
        "of ham %": 100 * float(alike[~ours.is_spam].mean()),
        "of spam %": 100 * float(alike[ours.is_spam].mean()),
        "contained %": 100 * float(contained.mean()),
    }


def _widened(words: csr_array, n_words: int) -> csr_array:
    return csr_array((words.data, words.indices, words.indptr), shape=(words.shape[0], n_words))


def main() -> None:
    """Compare one corpus with the others, and print the shares."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS")
    parser.add_argument("others", nargs="+", metavar="OTHER")
    options = parser.parse_args()
    numbers: dict[str, int] = {}
    ours = words_of(options.corpus, numbers)
    middle = len(ours.is_spam) // 2
    within = compare(ours.part(slice(middle, None)), ours.part(slice(middle)))
    rows: list[dict[str, object]] = [{"in": "its first half", "messages": middle, **within}]
    for other in options.others:
        theirs = words_of(other, numbers)
        rows.append({"in": other, "messages": len(theirs.is_spam), **compare(ours, theirs)})
    common.report(rows, options.json)


if __name__ == "__main__":
    main()
