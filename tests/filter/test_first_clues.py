"""Which clues of a verdict a person sees first."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.base.label import Label, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring, Senders
from spamnb.filter.explain import main_reasons, named
from spamnb.filter.first_clues import first_clues
from spamnb.filter.judge import Clue, Filter
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading, read
from spamnb.mail.tokens.kinds import is_header, is_seen
from tests.lessons import Taught, learn


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A new ledger."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as opened:
        yield opened


def taught(ledger: Ledger, tokens: dict[str, int]) -> list[Clue]:
    """The clues of a spam message, the strongest first, once it was learned among ham."""
    learn(ledger, [Taught(Reading(b"%d" % n, "", tokens), Label.SPAM) for n in range(30)])
    learn(ledger, [Taught(Reading(b"h%d" % n, "", {"lunch": 1}), Label.HAM) for n in range(30)])
    return list(Filter(ledger.lessons, Scoring(), Senders()).explain(Reading(b"x", "", tokens)).clues)


FACTS = ("skew:-9", "skew-first:-9", "date-shape:aaa", "date-zone:none", "x-priority:1", "helo-shape:a.a")
SEEN = ("pills", "subject:cheap", "from:seller@shop.example", "received:mx.shop.example", "url:shop.example")


def test_words_come_before_facts(ledger: Ledger) -> None:
    """Words, senders, hosts and links come first; of facts of the header at most two are shown, however strong."""
    clues = taught(ledger, dict.fromkeys((*FACTS, *SEEN, "tag:p", "4:pil"), 1))
    first = [clue.token for clue in first_clues(clues, 10)]
    assert set(first[: len(SEEN)]) == set(SEEN)
    assert sum(token in FACTS for token in first) == 2
    assert {"tag:p", "4:pil"} <= set(first)
    assert [clue.token for clue in first_clues(clues, 3)] == first[:3]


def test_without_words(ledger: Ledger) -> None:
    """If a message has nothing that a person sees, two facts of its header are shown and no more."""
    assert len(first_clues(taught(ledger, dict.fromkeys(FACTS, 1)), 10)) == 2


def test_the_reasons_begin_with_them(ledger: Ledger) -> None:
    """The reasons in one sentence are of different kinds, and begin with what a person sees."""
    taught(ledger, dict.fromkeys((*FACTS, *SEEN), 1))
    explained = Filter(ledger.lessons, Scoring(), Senders()).explain(
        Reading(b"x", "", dict.fromkeys((*FACTS, "pills"), 1))
    )
    assert explained.judgement.verdict is Verdict.SPAM
    reasons = [reason.clue.token for reason in main_reasons(explained)]
    assert reasons[0] == "pills" and len(reasons) == 3
    assert all(map(is_header, reasons[1:]))


def test_of_a_whole_message(ledger: Ledger) -> None:
    """The first three clues of a whole message are of what a person sees in it."""
    for number in range(30):
        for kind, label in (("spam", Label.SPAM), ("ham", Label.HAM)):
            learn(ledger, [Taught(read(message(kind, number)), label)])
    clues = Filter(ledger.lessons, Scoring(), Senders()).explain(read(message("spam", 99))).clues
    assert all(is_seen(clue.token) for clue in first_clues(clues, 3))


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("skew:-9", "its date is wrong by hours"),
        ("skew-first:-20", "its date is wrong by years at its first server"),
        ("skew:+11", "it arrived days after its date"),
        ("skew:+0", "it arrived at the minute of its date"),
        ("to-number:3", "the number of recipients, below 8"),
        ("skew:x", "the minutes from its date to its arrival, as a power of two, x"),
    ],
)
def test_facts_in_words(token: str, words: str) -> None:
    """A fact of the header is described in words, if its kind is known."""
    one = named(Clue(token, 1, 1, 1.0, 1.0))
    assert re.sub(" +", " ", f"{one.kind} {one.text}").strip() == words
