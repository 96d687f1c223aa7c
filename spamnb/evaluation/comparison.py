"""Which naive Bayes? The protocol of the comparison, over any corpora.

Metsis, Androutsopoulos and Paliouras, "Spam Filtering with Naive Bayes - Which Naive Bayes?", CEAS 2006, sections 4 and
5. Messages come in order of arrival, in batches of 100: train on all batches so far, test on the next one. Attributes
   are chosen again at each training, by information gain, among the tokens of at least 5 training messages. Tokens come
   from subject and body only.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spamnb.base.errors import MailError
from spamnb.base.label import Label
from spamnb.bayes.arrays import log_difference
from spamnb.bayes.base import Counts, EventModel
from spamnb.bayes.bernoulli import Bernoulli
from spamnb.bayes.categorical import Categorical
from spamnb.bayes.flexible import Flexible
from spamnb.bayes.gaussian import Gaussian
from spamnb.bayes.multinomial import MultinomialBoolean, MultinomialTF
from spamnb.bayes.selection import relative_frequencies, select
from spamnb.evaluation.corpus import interleave, load_corpus
from spamnb.ledger.lessons.batch import gather
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.parsing.message import Message, parse
from spamnb.mail.tokens.html import read_html
from spamnb.maildir.messages import read_bytes

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray

BATCH = 100


@dataclass(frozen=True, slots=True)
class Entrant:
    """A model of the comparison, and what it sees of a message."""

    name: str
    model: Callable[[], EventModel]
    sees: str  # "occurrences", "presence" or "frequencies"


ENTRANTS = (
    Entrant("multinomial Boolean", MultinomialBoolean, "occurrences"),
    Entrant("multinomial TF", MultinomialTF, "occurrences"),
    # Among the readings of the paper, this one comes nearest to its results. Relative frequencies are small against σ:
    # with them all kernels look alike and no spam is caught. With a σ for each class Enron1's spam recall is 67 %, with
    # one σ 89 %.
    Entrant("flexible Bayes", lambda: Flexible(one_width=True), "occurrences"),
    Entrant("multivariate Gauss", Gaussian, "frequencies"),
    Entrant("multivariate Bernoulli", Bernoulli, "presence"),
    Entrant("categorical", lambda: Categorical(min_categories=2), "presence"),
)


@dataclass(frozen=True, slots=True)
class Dataset:
    """The messages of one corpus: occurrences (n_messages, n_tokens), and labels (n_messages,), 0 ham, 1 spam."""

    name: str
    occurrences: CsrArray
    labels: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trial:
    """One model's judgements of all messages after the first batch.

    log_odds: float64 (n,), log P(spam | message) − log P(ham | message). labels: int64 (n,).
    """

    dataset: str
    model: str
    attributes: int
    log_odds: NDArray[np.float64]
    labels: NDArray[np.int64]

    def recall(self, label: Label) -> float:
        """Share of a class, in percent, that is recognised; spam means that P(spam | message) is above ½."""
        right = (self.log_odds > 0) == (label is Label.SPAM)
        return 100 * float(right[self.labels == label].mean())

    def roc(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The ROC curve: 1 − ham recall against spam recall, shares from 0 to 1, as the threshold falls."""
        order = np.argsort(-self.log_odds, kind="stable")
        spam = self.labels[order] == Label.SPAM
        last_of_ties = np.append(np.diff(self.log_odds[order]) != 0, True)
        lost, caught = np.cumsum(~spam)[last_of_ties], np.cumsum(spam)[last_of_ties]
        return np.append(0.0, lost / max(1, (~spam).sum())), np.append(0.0, caught / max(1, spam.sum()))


def plain_tokens(message: Message) -> list[str]:
    """Return the tokens that the comparison uses: the text between spaces in subject and body, in lower case."""
    texts = [message.first("subject")]
    texts += [read_html(text.text, DEFAULT_LIMITS).visible if text.is_html else text.text for text in message.texts]
    return [token for text in texts for token in text.lower().split()]


def read_dataset(corpus: str, seed: int) -> Dataset:
    """Read a corpus as the comparison does: both classes in their order, the spam spread among the ham by the seed."""
    corpus_messages = load_corpus(corpus, seed)
    ham, spam = ([message for message in corpus_messages if message.label is label] for label in Label)
    messages = interleave(ham, spam, seed)
    most = DEFAULT_LIMITS.message_bytes + 1
    contents = (read_bytes(os.path.realpath(message.path), most)[0] for message in messages)
    tokens = [Counter(plain_tokens(parse(content))) for content in contents]
    return dataset(os.path.basename(os.path.normpath(corpus)), tokens, [message.label for message in messages])


def dataset(name: str, messages: Sequence[Mapping[str, int]], labels: Sequence[Label]) -> Dataset:
    """Return the matrix of messages that are given as their tokens with occurrences."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - `evaluate --plots` needs the rest of this module without scipy

    rows = gather(messages)
    values, columns = np.array(rows.occurrences, dtype=np.int64), np.array(rows.columns, dtype=np.int64)
    starts = np.cumsum([0, *rows.lengths])
    matrix = csr_array((values, columns, starts), shape=(len(messages), len(rows.vocabulary)))
    return Dataset(name, matrix, np.array(labels, dtype=np.int64))


def compare_on(data: Dataset, attributes: Sequence[int], entrants: Sequence[Entrant] = ENTRANTS) -> Iterator[Trial]:
    """Run the protocol: a trial for each number of attributes (0: all of them) and each entrant.

    Steps without both classes in the training messages are skipped. Raises MailError if no step is left, or only one
    class is tested.
    """
    occurrences = data.occurrences
    matrices = {
        "occurrences": occurrences,
        "presence": occurrences.astype(bool).astype(np.int64),
        "frequencies": relative_frequencies(occurrences, np.maximum(occurrences.sum(axis=1), 1)),
    }
    for number in attributes:
        judged: dict[str, list[NDArray[np.float64]]] = {entrant.name: [] for entrant in entrants}
        truth: list[NDArray[np.int64]] = []
        for start in range(BATCH, len(data.labels), BATCH):
            train, test, y = slice(start), slice(start, start + BATCH), data.labels[:start]
            if len(np.unique(y)) < 2:
                continue
            counts = Counts.from_matrix(occurrences[train], y)
            chosen = select(counts, number or counts.n_tokens)
            for entrant in entrants:
                x = matrices[entrant.sees][:, chosen]
                joint = entrant.model().fit(x[train], y).joint_log_likelihood(x[test])
                judged[entrant.name].append(log_difference(joint[:, Label.SPAM], joint[:, Label.HAM]))
            truth.append(data.labels[test])
        if not truth or len(np.unique(np.concatenate(truth))) < 2:
            raise MailError(
                f"{data.name} is too small for a comparison: it needs more than {BATCH} messages, and both ham and"
                f" spam after the first {BATCH}"
            )
        for entrant in entrants:
            yield Trial(data.name, entrant.name, number, np.concatenate(judged[entrant.name]), np.concatenate(truth))
