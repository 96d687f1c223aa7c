"""The tokens that tell most."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.config import Scoring, Senders
from spamnb.filter.judge import Filter
from spamnb.filter.telling_words import TellingWords
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading

TOKENS = {
    Label.HAM: {"garden": 1, "4:den ": 1, "subject:lunch": 2, "both": 1, "from:anna@friends.example": 1},
    Label.SPAM: {"pills": 3, "4:lls ": 1, "subject:offer": 1, "both": 1, "url:deals.example": 1},
}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Ten messages of each class; and a word met once only."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as opened:
        for label, tokens in TOKENS.items():
            for number in range(10):
                more = {"rare": 1} if number == 0 else {"half": 1} if number < 6 else {}
                reading = Reading(f"{label}{number}".encode(), "m", {**tokens, **more})
                training.learn(opened, reading, label, "a test", 1.0, how=How.HAND)
        yield opened


def test_of_each_class(ledger: Ledger) -> None:
    """Each class has the tokens that are frequent in it and rare in the other; generally rare ones are left out."""
    found = TellingWords(ledger, Scoring()).most(10)
    assert {one.token for one in found[Label.SPAM]} == {"pills", "subject:offer", "url:deals.example"}
    assert {one.token for one in found[Label.HAM]} == {"garden", "subject:lunch", "from:anna@friends.example"}
    assert {(one.ham, one.spam) for one in found[Label.SPAM]} == {(0, 10)}
    assert [len(some) for some in TellingWords(ledger, Scoring()).most(1).values()] == [1, 1]


def test_of_one_kind(ledger: Ledger) -> None:
    """Tokens of some kinds can be asked for alone, and words of the text."""
    telling = TellingWords(ledger, Scoring())
    assert [one.token for one in telling.most(10, ["subject:"])[Label.HAM]] == ["subject:lunch"]
    assert [one.token for one in telling.most(10, ["url:", "from:"])[Label.SPAM]] == ["url:deals.example"]
    assert [one.token for one in telling.most(10, bare=True)[Label.SPAM]] == ["pills"]
    assert [one.token for one in telling.most(10, ["4:"])[Label.HAM]] == ["4:den "]
    assert telling.most(10, ["nothing:"]) == {Label.HAM: [], Label.SPAM: []}


def test_one_word(ledger: Ledger) -> None:
    """A word has the filter's log-odds; an unlearned one is not found."""
    telling = TellingWords(ledger, Scoring())
    clues = Filter(ledger.lessons, Scoring(), Senders()).explain(Reading(b"x", "", {"pills": 1})).clues
    found = telling.word("pills")
    assert found is not None
    assert (found.ham, found.spam, found.log_odds) == (0, 10, pytest.approx(clues[0].log_odds, rel=1e-12))
    assert telling.word("never") is None


def test_by_prefix(ledger: Ledger) -> None:
    """Words are found by their beginning, sorted; those without lessons are not."""
    assert ledger.lessons.beginning_with("subject:", 9) == ["subject:lunch", "subject:offer"]
    assert ledger.lessons.beginning_with("subject:", 1) == ["subject:lunch"]
    assert ledger.lessons.beginning_with("gard", 9) == ["garden"]
    training.forget(ledger, [f"0{number}".encode() for number in range(10)], "a test", 2.0, how=How.HAND)
    assert ledger.lessons.beginning_with("gard", 9) == []


def test_nothing_learned(tmp_path: Path) -> None:
    """A filter that has learned nothing has no telling words."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        assert TellingWords(ledger, Scoring()).most(5) == {Label.HAM: [], Label.SPAM: []}
