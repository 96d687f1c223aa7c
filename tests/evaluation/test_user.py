"""The simulated user, over made-up mail."""

import functools
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from spamnb.acts.may_move import missing_now
from spamnb.base.label import How, Label, Verdict, is_unseen
from spamnb.cli.common.sample_mail import message
from spamnb.config import Learning, Scoring, Senders
from spamnb.evaluation import beginning
from spamnb.evaluation.corpus import Sample
from spamnb.evaluation.habits import HABITS
from spamnb.evaluation.replay import DAY, pace
from spamnb.evaluation.simulated_mail import Mail
from spamnb.evaluation.simulated_mailbox import Mailbox
from spamnb.evaluation.user import simulate
from spamnb.evaluation.user_run import UserRun
from spamnb.filter.judge import Filter
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Reading, read
from spamnb.rules import weak_lessons
from spamnb.rules.moving import why_it_waits
from tests.table import over_rows

reading = functools.cache(lambda kind, number: read(message(kind, number)))


def mail(number: int, seed: int = 0) -> list[Sample]:
    """So many ham and as many spam, mixed."""
    made = [
        Sample(f"{label.word}/{each}", label, reading(label.word, each)) for each in range(number) for label in Label
    ]
    random.Random(seed).shuffle(made)
    return made


def run(
    habit: str, samples: list[Sample] | None = None, learning: Learning | None = None, breaker: bool = True
) -> UserRun:
    """A run over the mail, forty messages a day; over 200 ham and as many spam by default."""
    return simulate(samples or mail(200), Scoring(), learning or Learning(), breaker, habit, messages_a_day=40)


@over_rows("habit", HABITS)
def test_figures(habit: str) -> None:
    """Each habit has all figures, the same each time."""
    found = run(habit, mail(60))
    figures = found.figures()
    assert list(figures) == [
        "habit",
        "messages",
        "ham_lost",
        "hm",
        "caught",
        "caught_second_half",
        "one_minus_roca",
        "one_minus_roca_second_half",
        "learned_ham",
        "learned_spam",
        "switched_on_at",
        "breaker_tripped",
    ]
    assert figures["messages"] == len(found.outcomes) == max(0, 120 - HABITS[habit].learned)
    assert figures == run(habit, mail(60)).figures()


def test_told_is_told_everything() -> None:
    """With the habit `told`, each message is learned at once with its true label."""
    figures = run("told").figures()
    assert (figures["learned_ham"], figures["learned_spam"]) == (200, 200)
    assert figures["switched_on_at"] is not None
    assert figures["caught_second_half"] == pytest.approx(100, abs=5)


def test_tidy_teaches_what_was_missed_and_kept() -> None:
    """Spam that the filter moves teaches nothing before two weeks are over; ham is learned when it was kept."""
    figures = run("tidy").figures()
    assert isinstance(figures["learned_spam"], int)
    assert 20 <= figures["learned_spam"] < 200
    assert isinstance(figures["learned_ham"], int)
    assert 20 <= figures["learned_ham"] < 200


def test_nothing_is_moved_before_the_filter_may() -> None:
    """A minimum that is never reached only watches."""
    found = run("told", learning=Learning(minimum_messages=1_000_000))
    assert found.figures()["switched_on_at"] is None
    assert Verdict.SPAM not in {outcome.verdict for outcome in found.outcomes}


@pytest.mark.thorough
def test_the_breaker_opens_at_a_sudden_change() -> None:
    """Nearly all mail is spam all at once: moving stops, until the user has looked."""
    flood = [Sample(f"flood/{each}", Label.SPAM, reading("spam", 1000 + each)) for each in range(120)]
    assert run("told", [*mail(200), *flood]).figures()["breaker_tripped"] == 1
    assert run("told", [*mail(200), *flood], breaker=False).figures()["breaker_tripped"] == 0


def test_mail_that_is_nearly_all_spam_is_no_alarm() -> None:
    """For a user who always had twenty spam for one ham, that share is normal."""
    spam = [Sample(f"spam/{each}", Label.SPAM, reading("spam", each)) for each in range(380)]
    ham = [Sample(f"ham/{each}", Label.HAM, reading("ham", each)) for each in range(20)]
    samples = [*spam, *ham]
    random.Random(1).shuffle(samples)
    assert run("tidy", samples).figures()["breaker_tripped"] == 0


def test_learned_first_is_not_measured() -> None:
    """With `-init` the first messages are learned, and the filter may move mail at once."""
    samples = mail(300)
    found = run("tidy-init", samples)
    assert [outcome.name for outcome in found.outcomes] == [sample.name for sample in samples[500:]]
    assert found.figures()["switched_on_at"] == 500


@pytest.mark.thorough
def test_careless_people_leave_no_spam_among_the_ham() -> None:
    """Spam that is read and kept is seldom learned: most mail learned as ham is ham."""
    samples = mail(400)
    assert run("careless", samples).figures()["caught_second_half"] == pytest.approx(100, abs=10)


@pytest.mark.thorough
def test_nobody_looks_into_the_junk_of_a_blind_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mail of a Junk that nobody ever opens teaches."""
    samples = mail(600)
    assert HABITS["blind"] == replace(HABITS["careless"], looks=False, rescue=0.0, rescued_after=20)
    blind = run("blind", samples).figures()["learned_spam"]
    monkeypatch.setattr(weak_lessons, "UNSEEN_DAYS", 1000.0)
    without = run("blind", samples).figures()["learned_spam"]
    assert isinstance(blind, int)
    assert isinstance(without, int)
    assert without < blind


@pytest.mark.thorough
@pytest.mark.parametrize(("habit", "learns"), [("hasty", False), ("careless", False), ("blind", True)])
def test_who_looks_into_junk_never_meets_the_rule_of_an_unseen_one(
    monkeypatch: pytest.MonkeyPatch, habit: str, learns: bool
) -> None:
    """A user who looks ten days after mail has come there is not taken for one who never looks."""
    unseen = []
    learn = MemoryLessons.learn

    def noted(lessons: MemoryLessons, read: Sequence[Reading], label: Label, *rest: Any, **how: Any) -> Any:
        unseen.append(is_unseen(label, how.get("weak", False), how["how"]))
        return learn(lessons, read, label, *rest, **how)

    monkeypatch.setattr(MemoryLessons, "learn", noted)
    simulate(mail(350), Scoring(), Learning(), True, habit, messages_a_day=20)
    assert any(unseen) is learns


def test_a_simulated_rescue_forgets_what_a_junk_taught_that_nobody_had_opened() -> None:
    """The first rescue unlearns all of it, and counts as a look."""
    samples = [Sample(f"{each}", Label.SPAM, reading("spam", each)) for each in range(5)]
    mailbox = Mailbox(samples, Scoring(), Learning(), True, UserRun("blind", messages=5))
    mailbox._mail.learn(0, Label.SPAM, "by hand", How.HAND)
    for place in (1, 2):
        mailbox._mail.learn(place, Label.SPAM, weak_lessons.NEVER_SEEN, How.KEPT, weak=True)
    mailbox._in_spam[3] = 0.99
    mailbox.rescue(3)
    assert mailbox.learned == (1, 1)
    assert mailbox._opened_spam is not None


def test_a_label_may_be_wrong() -> None:
    """The user of `noisy` is wrong about one message in fifty; the figures are by the truth."""
    assert replace(HABITS["noisy"], wrong=0.0) == HABITS["told"]
    found = run("noisy")
    assert sum(found.learned) == 400
    assert found.learned != (200, 200), "as many were called ham as spam by chance: take another seed"
    assert [outcome.label for outcome in found.outcomes] == [sample.label for sample in mail(200)]


def test_the_filter_waits_until_the_inbox_is_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it moves mail, a tidy user has moved five messages in a row that it calls spam, or four days are over."""
    asked = []

    def noted(unsorted: int, days: float, fates: Sequence[bool], learning: Learning) -> str:
        asked.append((unsorted, days, fates))
        return why_it_waits(unsorted, days, fates, learning)

    monkeypatch.setattr(beginning, "why_it_waits", noted)
    found = run("tidy")
    (unsorted, days, fates), (_, after, last) = asked[0], asked[-1]
    assert unsorted > 0
    assert (days, fates) == (0.0, [])
    assert after == 4.0 or last == [True] * 5
    assert [one.verdict for one in found.outcomes].index(Verdict.SPAM) >= (found.switched_on_at or 0) > 0


def test_it_asks_at_each_message_whether_the_filter_knows_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the service does, it asks whenever something was learned since, and not only on the next day."""
    asked: list[int] = []

    def noted(lessons: MemoryLessons, scoring: Scoring, learning: Learning) -> str:
        asked.append(lessons.last_change())
        return missing_now(lessons, scoring, learning)

    monkeypatch.setattr(beginning, "missing_now", noted)
    days = (run("tidy").switched_on_at or 0) / 40
    assert len(asked) > days + 2
    assert asked == sorted(set(asked)), "if nothing was learned, the answer is known"


def test_read_mail_is_kept_as_soon_as_the_user_moves_later_spam() -> None:
    """A tidy user moves spam on the next day; then older mail counts as ham, before it was kept for three days."""
    assert 40 < (run("tidy").switched_on_at or 0) < 120


def test_mail_of_a_list_that_is_not_known_stays() -> None:
    """While little ham is learned, mail of a list is moved only after the user has moved mail of that list to spam."""
    listed = [_of_list(sample, "news") if sample.label is Label.SPAM else sample for sample in mail(200)]
    outcomes = run("told", listed).outcomes
    moved = [place for place, one in enumerate(outcomes) if one.verdict is Verdict.SPAM]
    assert moved[0] < 100, "the first message of the list was called spam"
    each = [_of_list(sample, f"news{place}") for place, sample in enumerate(mail(150))]
    assert Verdict.SPAM not in {one.verdict for one in run("told", each).outcomes}


def _of_list(sample: Sample, name: str) -> Sample:
    relations = sample.reading.relations._replace(list_id=f"{name}.example")
    return sample._replace(reading=sample.reading._replace(relations=relations))


def test_a_young_filter_learns_from_what_it_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the user moves missed spam, spam that the filter moved teaches after a day; else after two weeks."""
    samples = mail(200)
    young = run("tidy", samples).learned[Label.SPAM]
    monkeypatch.setattr(weak_lessons, "_YOUNG_SPAM", 0)
    assert run("tidy", samples).learned[Label.SPAM] < young


def test_ham_that_was_called_spam_and_left_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user moves later spam, and leaves ham of the kind of spam: the filter learns it weakly before it begins."""
    reasons = []
    learn = MemoryLessons.learn

    def noted(lessons: MemoryLessons, read: Sequence[Reading], label: Label, why: str, *rest: Any, **how: Any) -> Any:
        reasons.append(why)
        return learn(lessons, read, label, why, *rest, **how)

    monkeypatch.setattr(MemoryLessons, "learn", noted)
    wanted = [Sample(f"wanted/{each}", Label.HAM, reading("spam", 1000 + each)) for each in range(20)]
    ordered = mail(200)
    run("tidy", [*ordered[:110], *wanted, *ordered[110:]])
    assert weak_lessons.LEFT_BEHIND in reasons


def test_judged_by_what_is_known_at_that_moment() -> None:
    """A simulated filter judges a message as the filter of the program does, also after each lesson."""
    samples = mail(30)
    life = Mail(samples, Scoring(), Learning(), 20)
    for place in range(len(samples)):
        life.come(place)
        if place % 3 == 0:
            life.learn(place, samples[place].label, "a test", How.HAND)
        judge = Filter(life.lessons, Scoring(), Senders())
        again = [life.judge(earlier) for earlier in range(0, place, 7)]
        assert again == [judge.judge(samples[earlier].reading) for earlier in range(0, place, 7)], place


def test_explained_only_if_asked() -> None:
    """A run keeps why the filter was mistaken if somebody asks for it; its figures are the same."""
    samples = [*mail(100), *(Sample(f"spam/like ham {n}", Label.SPAM, reading("ham", 100 + n)) for n in range(5))]
    asked, silent = (
        simulate(samples, Scoring(), Learning(), True, "tidy", messages_a_day=40, explained=explained)
        for explained in (True, False)
    )
    assert (asked.figures(), asked.outcomes) == (silent.figures(), silent.outcomes)
    assert (asked.missed, len(asked.clues), silent.clues) == (5, 5, {})


def test_a_pace_is_that_of_days_with_mail() -> None:
    """Years without mail, or one odd date, are no reason to live through thousands of days."""
    busy = [day * DAY + minute * 60 for day in range(10) for minute in range(30)]
    assert pace(busy) == 30
    assert pace([0.0, *(time + 5_000 * DAY for time in busy)]) == 27
