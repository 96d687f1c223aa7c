"""Whom a simulated user does not know yet."""

import functools
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from spamnb.acts import reconsider
from spamnb.acts.reconsider import Trace
from spamnb.base.label import How, Label, Role, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.config import Learning, Scoring
from spamnb.evaluation.corpus import Sample
from spamnb.evaluation.newcomers import Newcomers
from spamnb.evaluation.user import simulate
from spamnb.evaluation.user_run import UserRun
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Reading, read
from spamnb.mail.relations import Relations
from spamnb.rules.acquaintances import KNOWN_FIRST

_SENDERS = 40
_PATH = "Received: from out.friends.example (out.friends.example [9.9.9.7]) by mx.home.example with ESMTP\n"


def letter(number: int, relations: Relations) -> Reading:
    """A message with these relations."""
    return Reading(b"%d" % number, f"message {number}", {"hello": 1}, relations)


def friend(number: int) -> Relations:
    """One of those who write, each at a site of their own."""
    return Relations(f"friend{number}@b{number}.example", "", "9.9.9")


def test_nobody_is_a_newcomer_among_few() -> None:
    """Newcomers begin when ham of enough addresses is learned; whose ham is learned is known, also over a list."""
    lessons = MemoryLessons()
    newcomers = Newcomers(lessons, 20)
    for number in range(KNOWN_FIRST):
        assert not newcomers.sent(friend(99))
        reading = letter(number, friend(number)._replace(list_id="talk.b.example" if number == 7 else ""))
        newcomers.came(reading)
        lessons.learn([reading], Label.HAM, "a test", 1.0, how=How.HAND)
    assert newcomers.sent(friend(99))
    assert newcomers.sent(friend(3)._replace(path="8.8.8"))
    assert not newcomers.sent(friend(3))
    assert not newcomers.sent(friend(99)._replace(list_id="talk.b.example"))
    assert not newcomers.sent(friend(3)._replace(sender="another@mail.b3.example")), "of a known site"
    lessons.forget([b"3"], "a test", 2.0, how=How.HAND)
    assert not newcomers.sent(friend(99)), "one address is missing"


def test_a_day_with_too_many() -> None:
    """If more than half of a day's mail is of newcomers, the filter puts no more of it apart."""
    newcomers = Newcomers(MemoryLessons(), 20)
    for each in range(30):
        newcomers.judged(each < 11)
        assert newcomers.are_many == (each in (19,))


@functools.cache
def made(kind: str, number: int, fields: str = "") -> Reading:
    """A letter of one of many friends, or spam; over a known path."""
    raw = message(kind, number).replace(b"@friends.example", b"@friends%d.example" % (number % _SENDERS))
    return read((_PATH + fields).encode() + raw)


def mail(fields: str) -> list[Sample]:
    """200 ham and as many spam, all of them with these fields."""
    samples = [
        Sample(f"{label.word}/{each}", label, made(label.word, each, fields)) for each in range(200) for label in Label
    ]
    random.Random(1).shuffle(samples)
    return samples


def run(habit: str, apart: Sequence[Role], fields: str = "") -> UserRun:
    """A life with that mail."""
    return simulate(mail(fields), Scoring(), Learning(), True, habit, messages_a_day=10, apart=apart)


def test_a_life_with_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters of strangers go there, whatever the verdict but spam, and the user moves some of them to the inbox."""
    reasons: dict[str, list[Label]] = {}
    learn = MemoryLessons.learn

    def noted(lessons: MemoryLessons, read: Sequence[Reading], label: Label, why: str, *rest: Any, **how: Any) -> Any:
        reasons.setdefault(why, []).append(label)
        return learn(lessons, read, label, why, *rest, **how)

    monkeypatch.setattr(MemoryLessons, "learn", noted)
    found = run("tidy", (Role.NEWCOMERS,))
    figures = found.figures()
    there = [outcome for goal, outcome in zip(found.goals, found.outcomes, strict=True) if goal is Role.NEWCOMERS]
    assert {outcome.verdict for outcome in there} <= {Verdict.HAM, Verdict.UNSURE}
    assert figures["newcomers_ham"] == sum(outcome.label is Label.HAM for outcome in there) > 0
    assert figures["newcomers_spam"] == sum(outcome.label is Label.SPAM for outcome in there)
    assert isinstance(figures["newcomers_ham_a_week"], float)
    assert 0 < len(reasons["moved to the inbox"]) <= figures["newcomers_ham"]
    assert set(reasons["moved to the inbox"]) == {Label.HAM}


def test_a_life_with_newsletters_apart() -> None:
    """Ham and unsure mail of a list goes there, also that of newcomers. Its spam is moved on; the rest is kept."""
    both = (Role.NEWCOMERS, Role.NEWSLETTERS)
    found = run("tidy", both, "List-Id: <news.friends.example>\n")
    begun = found.switched_on_at
    assert begun is not None
    assert set(found.goals[begun:]) == {Role.SPAM, Role.NEWSLETTERS}
    labels = [one.label for goal, one in zip(found.goals, found.outcomes, strict=True) if goal is Role.NEWSLETTERS]
    figures = found.figures()
    assert [figures["newsletters_ham"], figures["newsletters_spam"]] == [labels.count(label) for label in Label]
    kept = run("tidy", ()).learned[Label.HAM]
    assert found.learned[Label.HAM] == pytest.approx(kept, rel=0.2)
    assert Role.NEWSLETTERS not in run("tidy", both).goals


def test_what_is_kept_there_shows_no_habit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user leaves among the newsletters does not show what they do with spam in the inbox."""
    kept: list[Trace] = []
    found_out = reconsider.missed_spam

    def noted(lessons: Any, scoring: Any, traces: Iterable[Trace], before: MissedSpam) -> MissedSpam:
        kept[:] = traces
        return found_out(lessons, scoring, kept, before)

    monkeypatch.setattr(reconsider, "missed_spam", noted)
    found = run("careless", (Role.NEWSLETTERS,), "List-Id: <news.friends.example>\n")
    by_name = {sample.name: sample.reading.digest for sample in mail("List-Id: <news.friends.example>\n")}
    apart = {
        by_name[one.name] for goal, one in zip(found.goals, found.outcomes, strict=True) if goal is Role.NEWSLETTERS
    }
    assert kept
    assert apart
    assert apart.isdisjoint(trace.digest for trace in kept)


def test_a_life_without_the_folder() -> None:
    """Without such a folder nothing goes there, and no figure speaks of it."""
    found = run("careless", ())
    assert set(found.goals) <= {None, Role.SPAM}
    assert not [name for name in found.figures() if "newcomers" in name or "inbox" in name]
