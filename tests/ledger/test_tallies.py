"""How often each kind of thing was done: numbers that only grow."""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spamnb.acts.undo import undo
from spamnb.base.label import How, Label, Role
from spamnb.ledger.history import tallies
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.history.lines import Wanted
from spamnb.ledger.history.tallies import CountedUpTo, Tally
from spamnb.ledger.ledger import Ledger
from tests.lessons import NO_MAILBOX, learn, sample_lessons, set_label
from tests.profiles import daily

DAY, HOUR = 86_400.0, 3600.0


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger with an inbox and Junk."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as opened:
        box = opened.locations.mailbox("/mail")[0]
        for name in ("INBOX", "Junk"):
            opened.locations.folder(box, name)
        yield opened


def judged(ledger: Ledger, message: int | bytes, verdict: str, at: float = 1.0, *, withheld: bool = False) -> int:
    """A message, given by a number or its identity, that was judged, and stays; its id."""
    digest = bytes([message]) if isinstance(message, int) else message
    known = ledger.messages.ensure(digest, "")
    ledger.messages.judged(known.id, verdict, 0.5, at)
    ledger.journal.judged(known.id, (1, digest.hex()), verdict, 0.5, "stays", at, withheld=withheld, how=How.MAILDIR)
    return known.id


def moved(ledger: Ledger, message: int, verdict: str | None = "spam", goal: Role | None = Role.SPAM, **how: int) -> int:
    """Begin a move, and return the action's id."""
    ends = ((1, "a"), (2, "a"))
    return ledger.journal.intend(message, *ends, Cause("it is", 2.0, How.SPAMD, verdict, goal=goal, **how))


def test_what_is_counted(ledger: Ledger) -> None:
    """Counted are judgements by verdict, moves by destination, lessons by label, and corrections."""
    judged(ledger, 1, "ham")
    judged(ledger, 2, "unsure")
    spam = ledger.messages.ensure(b"3", "").id
    ledger.messages.judged(spam, "spam", 0.99, 2.0)
    move = moved(ledger, spam)
    ledger.journal.set_state(move, "done")
    back = moved(ledger, spam, None, None, takes_back=move)
    ledger.journal.set_state(back, "done")
    ledger.journal.mark_undone(move)
    newcomer = ledger.messages.ensure(b"4", "").id
    ledger.journal.set_state(moved(ledger, newcomer, "ham", Role.NEWCOMERS), "done")
    failed = moved(ledger, spam)
    ledger.journal.set_state(failed, "failed")
    learn(ledger, sample_lessons(2))
    found = ledger.tallies.read()
    assert found == Counter(
        {
            Tally("judged", "ham", "maildir"): 1,
            Tally("judged", "ham", "spamd"): 1,
            Tally("judged", "unsure", "maildir"): 1,
            Tally("judged", "spam", "spamd"): 2,
            Tally("moved", "spam", ""): 1,
            Tally("moved", "newcomers", ""): 1,
            Tally("moved", "inbox", ""): 1,
            Tally("learned", "ham", "hand"): 2,
            Tally("learned", "spam", "hand"): 2,
        }
    )


def test_corrections(ledger: Ledger) -> None:
    """A decision against the verdict is counted; one that agrees with it, or may be nobody's, is not."""
    (ham, *_), (spam, *_) = ([*sample_lessons(1)][i : i + 1] for i in (0, 1))
    for lesson, verdict in ((ham, "spam"), (spam, "spam")):
        judged(ledger, lesson.reading.digest, verdict)
    learn(ledger, [ham, spam])
    assert {tally: number for tally, number in ledger.tallies.read().items() if tally.kind == "corrected"} == {
        Tally("corrected", "spam", "ham"): 1
    }
    known = ledger.messages.find(spam.reading.digest)
    assert known is not None
    set_label(ledger, known.id, 0, 3.0, weak=True)
    assert ledger.tallies.read()[Tally("corrected", "spam", "ham")] == 1


def corrected(ledger: Ledger, now: float = math.inf) -> int:
    """How many corrections are counted at a time."""
    return sum(number for tally, number in ledger.tallies.read(now).items() if tally.kind == "corrected")


def shown(ledger: Ledger) -> list[int]:
    """The ids of the corrections that the history shows."""
    return [line.action.id for line in ledger.lines.page(100, Wanted(corrected=True))]


def taken_back(ledger: Ledger, number: int, at: float) -> None:
    """The newest actions are taken back."""
    outcomes = list(undo(ledger, NO_MAILBOX, list(ledger.journal.newest(number)), lambda: at))
    assert [one.fault for one in outcomes] == [None] * number


def test_what_is_no_correction(ledger: Ledger) -> None:
    """A decision on unsure mail is not a correction, nor are lessons taken back by the dozen, nor is an undo."""
    ham, *_, spam, unsure = lessons = list(sample_lessons(3))
    for lesson in lessons:
        verdict = "unsure" if lesson is unsure else "spam" if lesson.label is ham.label else "ham"
        judged(ledger, lesson.reading.digest, verdict)
    learn(ledger, lessons)
    first = shown(ledger)
    assert corrected(ledger) == len(first) == 5
    taken_back(ledger, 6, HOUR)
    assert (corrected(ledger), shown(ledger)) == (0, [])
    taken_back(ledger, 6, 2 * HOUR)
    assert (corrected(ledger), shown(ledger)) == (0, first), "a number that was told stays; a list is of what stands"
    assert spam.label is unsure.label


def test_a_correction_is_counted_when_it_stands(ledger: Ledger) -> None:
    """A correction is counted after an hour, and stays so, whatever is taken back later and whenever it is kept."""
    (ham, _) = sample_lessons(1)
    judged(ledger, ham.reading.digest, "spam", 1000.0)
    learn(ledger, [ham._replace(at=2000.0)])
    assert [corrected(ledger, now) for now in (2000.0, 1999.0 + HOUR, 2000.0 + HOUR, 1e6)] == [0, 0, 1, 1]
    ledger.tallies.keep(1999.0 + HOUR)
    assert [corrected(ledger, now) for now in (2000.0, 1999.0 + HOUR, 2000.0 + HOUR, 1e6)] == [0, 0, 1, 1]
    taken_back(ledger, 1, 2000.0 + HOUR)
    assert corrected(ledger, 1e6) == 1
    assert shown(ledger) == []
    for _ in range(2):
        ledger.tallies.keep(1e6)
        assert corrected(ledger, 1e6) == 1


def test_a_clock_that_was_wrong(ledger: Ledger) -> None:
    """Actions from while the clock was days ahead do not prevent counting later corrections."""
    ham, spam = sample_lessons(1)
    for lesson, verdict in ((ham, "spam"), (spam, "ham")):
        judged(ledger, lesson.reading.digest, verdict)
    learn(ledger, [ham._replace(at=1e9), spam._replace(at=1000.0)])
    ledger.tallies.keep(1000.0 + HOUR)
    assert corrected(ledger, 1000.0 + HOUR) == 2


def test_what_comes_later_changes_no_number(ledger: Ledger) -> None:
    """A learned and moved message counts by its state of then, whatever happens to it later."""
    (spam,) = [*sample_lessons(1)][1:]
    message = judged(ledger, spam.reading.digest, "ham")
    learn(ledger, [spam])
    ledger.journal.set_state(moved(ledger, message, None, None), "done")
    before = ledger.tallies.read()
    assert before[Tally("moved", "spam", "")] == before[Tally("corrected", "ham", "spam")] == 1
    set_label(ledger, message, 0, 3.0)
    judged(ledger, spam.reading.digest, "unsure")
    after = ledger.tallies.read()
    assert all(after[tally] >= number for tally, number in before.items())


def test_withheld(ledger: Ledger) -> None:
    """A message whose move was withheld is judged once, though it is looked at again before it is moved at last."""
    message = judged(ledger, 1, "spam", withheld=True)
    ledger.journal.set_state(moved(ledger, message), "done")
    found = ledger.tallies.read()
    assert found == {Tally("judged", "spam", "maildir"): 1, Tally("moved", "spam", ""): 1}


def test_an_open_move_waits(ledger: Ledger) -> None:
    """An open move is counted when it ends, and so are later actions; each once."""
    message = judged(ledger, 1, "spam")
    move = moved(ledger, message)
    judged(ledger, 2, "ham")
    ledger.tallies.keep()
    before = ledger.tallies.read()
    assert before == {Tally("judged", "spam", "maildir"): 1}
    ledger.journal.set_state(move, "done")
    after = ledger.tallies.read()
    assert after[Tally("moved", "spam", "")] == 1
    assert after[Tally("judged", "ham", "maildir")] == 1


def test_forgotten_actions_stay_counted(ledger: Ledger) -> None:
    """Counts stay when their actions are forgotten."""
    for number in range(5):
        message = judged(ledger, number, "ham")
        ledger.locations.put(1, str(number), message, "appeared", b"", "", 0.0)
        ledger.locations.gone(1, [str(number)], 1.0)
    judged(ledger, 9, "ham", 100 * DAY)
    ledger.tallies.keep()
    before = ledger.tallies.read()
    assert sum(ledger.retention.forget(50 * DAY, 50 * DAY)) > 0
    assert len(ledger.lines.page(100)) == 1
    assert ledger.tallies.read() == before == {Tally("judged", "ham", "maildir"): 6}


@settings(max_examples=daily(20))  # each waits for the disk many times
@given(st.lists(st.sampled_from(["ham", "spam", "keep", "read"]), max_size=15), st.integers(1, 4))
def test_kept_at_any_time(tmp_path_factory: pytest.TempPathFactory, steps: list[str], most: int) -> None:
    """However often the numbers are kept, in steps of whatever size, they are those of all that was done."""
    expected: Counter[Tally] = Counter()
    with pytest.MonkeyPatch.context() as patch, Ledger(str(tmp_path_factory.mktemp("l") / "ledger")) as ledger:
        patch.setattr(tallies, "_STEP", most)
        ledger.locations.folder(ledger.locations.mailbox("/mail")[0], "INBOX")
        for number, step in enumerate(steps):
            if step == "keep":
                ledger.tallies.keep()
            elif step != "read":
                judged(ledger, number, step)
                expected[Tally("judged", step, "maildir")] += 1
            assert ledger.tallies.read() == expected


@settings(max_examples=daily(20))
@given(st.lists(st.sampled_from(["judge", "correct", "wait", "count", "keep"]), max_size=15))
def test_counted_from_time_to_time(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    """Whenever what was done since is counted, and whenever numbers are kept, each thing is counted exactly once."""
    lessons, now = iter(sample_lessons(10)), 1e6
    with Ledger(str(tmp_path_factory.mktemp("l") / "ledger")) as ledger:
        ledger.locations.folder(ledger.locations.mailbox("/mail")[0], "INBOX")
        judged(ledger, 0, "spam", now)
        last, counted = ledger.tallies.counted_up_to(now), Counter[Tally]()
        before = ledger.tallies.read(now)
        for number, step in enumerate(steps, 1):
            match step:
                case "judge":
                    judged(ledger, number, "ham", now)
                case "correct":
                    lesson = next(lessons)
                    judged(ledger, lesson.reading.digest, "spam" if lesson.label is Label.HAM else "ham", now)
                    learn(ledger, [lesson._replace(at=now)])
                case "wait":
                    now += 0.7 * HOUR
                case "keep":
                    ledger.tallies.keep(now)
                case "count":
                    done, last = ledger.tallies.since(last, now)
                    counted += done
        now += 2 * HOUR
        done, last = ledger.tallies.since(last, now)
        assert counted + done + before == ledger.tallies.read(now)
        assert ledger.tallies.since(last, now) == (Counter(), last)


def test_counted_in_an_earlier_ledger(ledger: Ledger) -> None:
    """If an earlier ledger replaced the present one, no action counts as new."""
    judged(ledger, 1, "ham")
    done, last = ledger.tallies.since(CountedUpTo(100, 100), math.inf)
    assert (done, last) == (Counter(), CountedUpTo(1, 1))
    judged(ledger, 2, "ham")
    assert ledger.tallies.since(last, math.inf)[0] == {Tally("judged", "ham", "maildir"): 1}
