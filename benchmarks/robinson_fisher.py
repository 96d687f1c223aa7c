"""bogofilter without its processes: its own tokens, and its formula with its built-in defaults.

`bogofilter -C -QQ` prints the defaults, `bogolexer -p` the tokens. A message counts once for each of its tokens. The
formula is Robinson's with Fisher's method (Gary Robinson, "A Statistical Approach to the Spam Problem", Linux Journal
107, 2003), in his letters.
"""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import common
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from spamnb.evaluation.corpus import Labelled

S = 0.0178  # the strength of the assumption
X = 0.52  # the assumption about a token that was never seen
MIN_DEV = 0.375  # tokens nearer to ½ do not count
_EPSILON = 1e-7
_CHECKED = 100  # messages


class Words:
    """The tokens of messages as numbers, int64 (n_tokens,) each: every distinct token of a message once."""

    def __init__(self, messages: Sequence[Labelled]) -> None:
        numbers: dict[bytes, int] = {}
        self.of: list[NDArray[np.int64]] = []
        for message in messages:
            command = ["bogolexer", "-C", "-p", "-I", message.path]
            lines = subprocess.run(command, capture_output=True, check=True).stdout.splitlines()
            found = {numbers.setdefault(line, len(numbers)) for line in lines if line}
            self.of.append(np.array(sorted(found), dtype=np.int64))
        self.number = len(numbers)


class RobinsonFisher:
    """The lessons of bogofilter: messages of each class that hold a token; row 0 ham, row 1 spam."""

    cutoff = 0.99

    def __init__(self, words: Words) -> None:
        self._words = words
        self._tokens = np.zeros((2, words.number), dtype=np.int64)
        self.messages = np.zeros(2, dtype=np.int64)

    def learn(self, message: int, label: int) -> None:
        """Learn a message, by its number."""
        self._tokens[label, self._words.of[message]] += 1
        self.messages[label] += 1

    def spamicity(self, message: int) -> float:
        """Return a number from 0 to 1: I = (1 + H - S) / 2. H is Fisher's P of the f(w), and S that of the 1 - f(w)."""
        ham, spam = self._tokens[:, self._words.of[message]]
        n = ham + spam
        ham_share, spam_share = ham / max(1, self.messages[0]), spam / max(1, self.messages[1])
        p = np.divide(spam_share, ham_share + spam_share, out=np.zeros(len(n)), where=n > 0)
        f = (S * X + n * p) / (S + n)
        f = f[np.abs(f - 0.5) - MIN_DEV >= _EPSILON]
        if not len(f):
            return X
        high, low = gammaincc(len(f), -np.log(f).sum()), gammaincc(len(f), -np.log(1 - f).sum())
        return float((1 + high - low) / 2)


def check(messages: Sequence[Labelled], words: Words) -> float:
    """Return the largest difference from the program on some messages, after it has learned the first half."""
    half = common.halves(messages)
    model = RobinsonFisher(words)
    for number, message in enumerate(half.first):
        model.learn(number, message.label)
    judged = half.second[:: max(1, len(half.second) // _CHECKED)]
    place = {message.path: number for number, message in enumerate(messages)}
    with tempfile.TemporaryDirectory() as directory:
        program = common.Bogofilter(Path(directory))
        program.train(half.first)
        said = [one.rank for one in common.scored(program, judged)]
    ours = [model.spamicity(place[message.path]) for message in judged]
    return max(abs(one - other) for one, other in zip(said, ours, strict=True))
