"""Leave-one-out through the counts."""

from collections.abc import Sequence

from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring, Senders
from spamnb.filter.judge import Filter
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.evidence import Evidence
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.sqlite.store import SqliteLessons
from spamnb.mail.reading import read
from tests.lessons import learn, sample_lessons, set_label


def test_the_judgement_without_itself(ledger: Ledger) -> None:
    """A message explained without itself is judged as by a filter without that lesson; nothing is written."""
    learn(ledger, sample_lessons(10))
    reading = read(message("spam", 3))
    known = ledger.messages.find(reading.digest)
    assert known is not None
    before = ledger.lessons.totals().tolist()
    without = Filter(ledger.lessons, Scoring(), Senders()).explain(reading, without_itself=True)
    taught = Filter(ledger.lessons, Scoring(), Senders()).explain(reading)
    assert ledger.lessons.totals().tolist() == before
    assert taught.judgement.log_odds > without.judgement.log_odds
    assert not any(reading.summary == one.summary for teachers in without.teachers.values() for one in teachers)
    set_label(ledger, known.id, None, 2.0, "forgotten")
    forgotten = Filter(ledger.lessons, Scoring(), Senders()).explain(reading)
    assert (without.judgement, without.clues) == (forgotten.judgement, forgotten.clues)


def test_an_explanation_is_of_one_moment(ledger: Ledger) -> None:
    """An explanation asks for the counts once: what it says of the message and of its tokens agree."""
    learn(ledger, sample_lessons(3))

    class Counted(SqliteLessons):
        asked = 0

        def evidence(self, tokens: Sequence[str], without: bytes | None = None) -> Evidence:
            self.asked += 1
            return super().evidence(tokens, without)

    memory = Counted(ledger._connection)
    reading = read(message("spam", 50))
    explained = Filter(memory, Scoring(), Senders()).explain(reading)
    assert memory.asked == 1
    assert explained.judgement == Filter(ledger.lessons, Scoring(), Senders()).judge(reading)
    parts = [clue.contribution for clue in explained.clues]
    assert parts == sorted(parts, key=abs, reverse=True)


def test_a_filter_without_a_ledger(ledger: Ledger) -> None:
    """A filter that has no ledger says what one with an empty ledger says."""
    reading = read(message("spam", 1))
    in_memory, on_disk = (Filter(lessons, Scoring(), Senders()) for lessons in (MemoryLessons(), ledger.lessons))
    assert in_memory.explain(reading) == on_disk.explain(reading)
