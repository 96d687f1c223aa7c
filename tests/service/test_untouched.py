"""Mail that nobody has touched, over months: kept in the inbox, or left in the spam folder."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from spamnb.acts import may_move
from spamnb.acts.training import learn, relabel
from spamnb.acts.undo import since, undo
from spamnb.base.label import How, Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring, Senders
from spamnb.filter.judge import Filter
from spamnb.identity.digests import identity
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Change, Lesson, Relabel
from spamnb.mail.reading import Reading, read
from spamnb.rules.weak_lessons import LAY_IN_SPAM
from spamnb.service.jobs import OutdatedLessons
from spamnb.service.mailbox import untouched
from tests.lessons import NO_MAILBOX
from tests.service.desk import DAY, ROLES, Desk, moving_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A mailbox, and a filter that moves mail."""
    with moving_desk(tmp_path) as found:
        yield found


def mark(desk: Desk, content: bytes, folder: str, flags: str) -> None:
    """A person sets flags on a message."""
    path = desk.paths(content, folder)[0]
    path.rename(path.parent.parent / "cur" / f"{path.name.partition(':')[0]}:2,{flags}")
    desk.work()


def later(desk: Desk, days: float) -> None:
    """Days go by, and the service works."""
    desk.ahead += days * DAY
    desk.work()


def leave_lying(desk: Desk, kind: str, numbers: range) -> list[bytes]:
    """Deliver mail while moving is paused, read it, and leave it in the inbox for a week."""
    contents = [message(kind, number) for number in numbers]
    desk.ledger.state.paused_until = math.inf
    for content in contents:
        desk.deliver(content)
        mark(desk, content, "INBOX", "S")
    desk.ledger.state.paused_until = None
    later(desk, 7)
    return contents


def lesson_of(desk: Desk, content: bytes) -> Lesson | None:
    return desk.ledger.lessons.find(identity(content))


def test_spam_that_was_read_and_kept_is_no_ham(desk: Desk) -> None:
    """Doubted mail that was opened and left is never learned as ham; kept ham is, weakly."""
    spam, ham = leave_lying(desk, "spam", range(100, 103)), leave_lying(desk, "ham", range(100, 103))
    later(desk, 30)
    assert [desk.lesson(one) for one in spam] == [(None, False)] * 3
    assert [desk.lesson(one) for one in ham] == [(Label.HAM, True)] * 3
    mark(desk, spam[0], "INBOX", "RS")
    assert desk.lesson(spam[0]) == (Label.HAM, False), "an answer is a decision, whatever the verdict"


def test_what_is_not_kept_any_more_is_not_doubted(desk: Desk) -> None:
    """The service remembers only doubted mail that is still there, however long it runs."""
    context = desk.account.context
    spam = leave_lying(desk, "spam", range(100, 104))
    assert context.doubted.keys() == set(map(identity, spam))
    for content in spam[:3]:
        desk.paths(content, "INBOX")[0].unlink()
    later(desk, 2)
    assert context.doubted.keys() == {identity(spam[3])}


@pytest.mark.parametrize(("tokens", "times"), [(10**6, 1), (0, 4)])
def test_kept_mail_is_learned_together(desk: Desk, monkeypatch: pytest.MonkeyPatch, tokens: int, times: int) -> None:
    """Several kept messages are one transaction, up to a limit of tokens; each can be undone by itself."""
    monkeypatch.setattr(untouched, "_TOKENS", tokens)
    together = []
    learn_together = desk.ledger.lessons.learn

    def counted(readings: Sequence[Reading], *arguments: Any, **options: Any) -> list[Change]:
        together.append(len(readings))
        return learn_together(readings, *arguments, **options)

    monkeypatch.setattr(desk.ledger.lessons, "learn", counted)
    ham = leave_lying(desk, "ham", range(100, 104))
    assert together == [4 // times] * times
    before = desk.ledger.lessons.totals().tolist()
    (action,) = [one for one in desk.ledger.journal.newest(4) if one.digest == identity(ham[1])]
    assert [outcome.fault for outcome in undo(desk.ledger, NO_MAILBOX, [action], desk.now)] == [None]
    assert [desk.lesson(one)[0] for one in ham] == [Label.HAM, None, Label.HAM, Label.HAM]
    assert desk.ledger.lessons.totals()[0] == before[0] - 1
    assert desk.ledger.verify() == []


def test_who_moves_spam_away_keeps_ham(desk: Desk) -> None:
    """If this person moves missed spam to Junk, doubted mail that they keep is ham."""
    desk.ledger.state.paused_until = math.inf
    for number in range(100, 120):
        desk.deliver(message("spam", number))
        desk.take(message("spam", number), "INBOX", "Junk")
    (kept,) = leave_lying(desk, "spam", range(120, 121))
    later(desk, 1)
    assert desk.account.context.missed_spam() is MissedSpam.IS_MOVED
    assert desk.lesson(kept) == (Label.HAM, True)


def news(desk: Desk, kind: str, number: int) -> bytes:
    """An issue of a newsletter, which the filter has put among the newsletters of this desk."""
    content = b"List-Id: <talk.club.example>\n" + message(kind, number)
    desk.deliver(content)
    return content


@pytest.fixture
def sorting(desk: Desk) -> Desk:
    """The same mailbox with a folder for newsletters."""
    desk.apart = {"newsletters_folder": "Lists"}
    desk.restart()
    return desk


def test_newsletters_that_were_read_and_kept(sorting: Desk) -> None:
    """They are ham, weakly, as mail in the inbox is; without being read they teach nothing. An answer is a decision."""
    read_one, unread, answered = (news(sorting, "ham", number) for number in range(100, 103))
    assert [sorting.where(one) for one in (read_one, unread, answered)] == [["Lists"]] * 3
    mark(sorting, read_one, "Lists", "S")
    mark(sorting, answered, "Lists", "RS")
    assert [sorting.lesson(one) for one in (read_one, answered)] == [(None, False), (Label.HAM, False)]
    later(sorting, 7)
    assert [sorting.lesson(one) for one in (read_one, unread)] == [(Label.HAM, True), (None, False)]
    sorting.take(read_one, "Lists", "Junk")
    assert sorting.lesson(read_one) == (Label.SPAM, False), "a decision replaces it"


def test_spam_among_the_newsletters_is_doubted(sorting: Desk) -> None:
    """A person who moves all spam out of the inbox may leave it there: doubtful mail teaches nothing there."""
    sorting.ledger.state.missed_spam = MissedSpam.IS_MOVED
    sorting.restart()
    for kind in ("spam", "ham"):
        sorting.deliver(message(kind, 101), "Lists", "S")
    later(sorting, 7)
    assert sorting.account.context.missed_spam() is MissedSpam.IS_MOVED
    assert sorting.lesson(message("spam", 101)) == (None, False)
    assert sorting.lesson(message("ham", 101)) == (Label.HAM, True)


def test_what_is_left_among_the_newsletters_shows_no_habit(sorting: Desk) -> None:
    """Spam that was read and left there does not make the filter doubt mail in the inbox."""
    for number in range(100, 110):
        content = message("spam", number)
        sorting.ledger.state.paused_until = math.inf
        sorting.deliver(content)
        sorting.take(content, "INBOX", "Lists")
    sorting.ledger.state.paused_until = None
    later(sorting, 7)
    assert sorting.account.context.missed_spam() is MissedSpam.UNKNOWN


def test_a_junk_that_became_the_folder_for_newsletters(desk: Desk) -> None:
    """Mail that the filter put there as spam is doubted, also for a person who moves all spam out of the inbox."""
    contents = fill_spam(desk, 100, 3)
    for content in contents:
        mark(desk, content, "Junk", "S")
    desk.roles = {name: role for name, role in ROLES.items() if name != "Junk"} | {"Spam": Role.SPAM}
    desk.apart = {"newsletters_folder": "Junk"}
    desk.folder("Spam")
    desk.ledger.state.missed_spam = MissedSpam.IS_MOVED
    desk.restart()
    later(desk, 7)
    assert desk.account.context.missed_spam() is MissedSpam.IS_MOVED
    assert [desk.lesson(one) for one in contents] == [(None, False)] * 3


def fill_spam(desk: Desk, first: int, number: int) -> list[bytes]:
    """So many spam that the filter moves to Junk, and has no doubt of; the first messages from `first` on."""
    judge = Filter(desk.ledger.lessons, Scoring(), Senders()).judge
    candidates = (message("spam", each) for each in range(first, first + 50))
    contents = list(islice((one for one in candidates if judge(read(one)).probability > 0.985), number))
    for content in contents:
        desk.deliver(content)
    assert [desk.where(one) for one in contents] == [["Junk"]] * len(contents)
    return contents


def much_mail(desk: Desk, number: int = 200) -> None:
    """So many messages are judged, some days later."""
    desk.ahead += 2 * DAY
    with desk.ledger.transaction():
        for each in range(number):
            known = desk.ledger.messages.ensure(b"%032d" % each, "", None)
            desk.ledger.messages.judged(known.id, "ham", 0.0, desk.now())


def test_what_was_left_in_spam_is_spam(desk: Desk) -> None:
    """After two weeks and two hundred messages, once somebody has looked into Junk since; weakly."""
    first, *rest = fill_spam(desk, 100, 4)
    much_mail(desk)
    later(desk, 10)
    mark(desk, first, "Junk", "S")
    assert [desk.lesson(one) for one in rest] == [(None, False)] * 3, "not yet"
    later(desk, 5)
    assert [desk.lesson(one) for one in (first, *rest)] == [(Label.SPAM, True)] * 4
    learned = lesson_of(desk, rest[0])
    assert learned is not None
    assert (learned.why, learned.how) == (LAY_IN_SPAM, How.SILENCE)
    desk.take(rest[0], "Junk", "INBOX")
    assert desk.lesson(rest[0]) == (Label.HAM, False), "a decision replaces it"


def test_a_young_filter_learns_from_what_it_moved_after_a_day(desk: Desk) -> None:
    """While little spam is learned, and the person moves missed spam: after one day, once somebody has looked."""
    first, *rest = fill_spam(desk, 100, 4)
    desk.ledger.state.missed_spam = MissedSpam.IS_MOVED
    later(desk, 0.9)
    mark(desk, first, "Junk", "S")
    later(desk, 0.05)
    assert [desk.lesson(one) for one in rest] == [(None, False)] * 3, "not yet"
    later(desk, 1.1)
    assert [desk.lesson(one) for one in (first, *rest)] == [(Label.SPAM, True)] * 4


@pytest.mark.parametrize("folder", ["INBOX", "Archive", "Trash"])
def test_who_moves_mail_out_of_junk_has_looked(desk: Desk, folder: str) -> None:
    """A message that a person moves out of Junk counts as a look, also if the service sees it at once."""
    first, *rest = fill_spam(desk, 100, 4)
    much_mail(desk)
    later(desk, 10)
    there = desk.paths(first, "Junk")[0]
    desk.meet(there.rename(Path(desk.folder(folder).subdir("cur")) / desk.fresh(there.name)))
    later(desk, 5)
    assert [desk.lesson(one) for one in rest] == [(Label.SPAM, True)] * 3


@pytest.mark.thorough
@pytest.mark.parametrize("missing", ["time", "mail"])
def test_silence_that_means_nothing(desk: Desk, missing: str) -> None:
    """Nothing is learned soon, nor by little mail."""
    first, *rest = fill_spam(desk, 100, 4)
    if missing != "mail":
        much_mail(desk)
    mark(desk, first, "Junk", "S")
    later(desk, 8 if missing == "time" else 60)
    assert [desk.lesson(one) for one in rest] == [(None, False)] * 3


def test_an_answer_left_in_junk(desk: Desk) -> None:
    """Silence does not teach spam about an answer to a letter of this person."""
    desk.roles = ROLES | {"Sent": Role.SENT}
    desk.restart()
    letter = "From: you@home.example\nTo: ann@b.example\nMessage-ID: <1@home.example>\n\nShall we meet on Sunday?\n"
    desk.deliver(letter.encode(), "Sent", "S")
    first, other = fill_spam(desk, 100, 2)
    header, _, body = message("spam", 200).partition(b"\n\n")
    fields = [line for line in header.split(b"\n") if not line.startswith(b"From:")]
    fields += [b"From: ann@b.example", b"In-Reply-To: <1@home.example>"]
    answer = b"\n".join(fields) + b"\n\n" + body
    desk.deliver(answer)
    assert desk.where(answer) == ["Junk"]
    much_mail(desk)
    later(desk, 10)
    mark(desk, first, "Junk", "S")
    later(desk, 5)
    assert [desk.lesson(one) for one in (answer, other)] == [(None, False), (Label.SPAM, True)]


def test_a_look_before_it_came_does_not_count(desk: Desk) -> None:
    """Mail that came after the last look has not been seen."""
    mark(desk, fill_spam(desk, 100, 1)[0], "Junk", "S")
    later(desk, 1)
    new = fill_spam(desk, 200, 3)
    much_mail(desk)
    later(desk, 60)
    assert [desk.lesson(one) for one in new] == [(None, False)] * 3


def test_a_server_that_empties_junk_is_no_person(desk: Desk) -> None:
    """A late removal may be a server's doing; an early one is a person's."""
    old = fill_spam(desk, 100, 1)
    later(desk, 30)
    new = fill_spam(desk, 200, 2)
    much_mail(desk)
    desk.paths(old[0], "Junk")[0].unlink()
    later(desk, 14)
    assert [lesson_of(desk, one).how for one in new] == [How.KEPT] * 2, "nobody has looked"  # type: ignore[union-attr]
    last_one = fill_spam(desk, 300, 2)
    much_mail(desk)
    desk.paths(last_one[0], "Junk")[0].unlink()
    desk.work()
    later(desk, 14)
    assert lesson_of(desk, last_one[1]).how is How.SILENCE  # type: ignore[union-attr]


def test_weak_lessons_give_way(desk: Desk) -> None:
    """Ham learned by silence that looks like spam now is forgotten; that can be undone."""
    desk.ledger.state.paused_until = math.inf
    content = message("spam", 100)
    desk.deliver(content)
    mark(desk, content, "INBOX", "S")
    learn(desk.ledger, read(content), Label.HAM, "read and kept", desk.now(), weak=True, how=How.KEPT)
    weak = OutdatedLessons(desk.account.context)
    while weak.step_if_due(desk.now()):
        pass
    assert desk.lesson(content) == (None, True)
    assert desk.ledger.lessons.verify() == []
    newest = since(desk.ledger, 0.0)[:1] or since(desk.ledger, -1e10)[:1]
    assert [outcome.fault for outcome in undo(desk.ledger, NO_MAILBOX, newest, desk.now)] == [None]
    assert desk.lesson(content) == (Label.HAM, True)
    assert not weak.step_if_due(desk.now()), "not before ten days are over"


def forgotten_by_filter(desk: Desk) -> bytes:
    """Kept ham that was learned weakly, and that the filter has forgotten by itself."""
    (content,) = leave_lying(desk, "ham", range(100, 101))
    assert desk.lesson(content) == (Label.HAM, True)
    change = Relabel(identity(content), Label.HAM, True, None, True, "contradicted", How.HAND)
    assert relabel(desk.ledger, [change], desk.now()) == [True]
    return content


def test_what_the_filter_has_forgotten_is_learned_again(desk: Desk) -> None:
    """Until a person takes that back, which nothing but a decision changes; taking it back again does."""
    content = forgotten_by_filter(desk)
    later(desk, 2)
    assert desk.lesson(content) == (Label.HAM, True)
    again = since(desk.ledger, desk.now() - DAY)
    assert [outcome.fault for outcome in undo(desk.ledger, NO_MAILBOX, again, desk.now)] == [None]
    later(desk, 2)
    assert desk.lesson(content)[0] is None
    everything = [one for one in since(desk.ledger, 0.0) if one.digest == identity(content)]
    assert [outcome.fault for outcome in undo(desk.ledger, NO_MAILBOX, everything, desk.now)] == [None] * len(
        everything
    )
    assert desk.ledger.lessons.verify() == []


def test_others_may_write_while_it_is_looked_at_whether_mail_may_be_moved(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The filter decides whether to begin moving before it holds the ledger."""
    asked = []

    def writing(*_: object) -> str:
        with Ledger(desk.ledger.path, busy_seconds=0) as other, other.transaction():
            asked.append(1)
        return "something"

    desk.ledger.state.begun_with = None
    desk.restart()
    monkeypatch.setattr(may_move, "missing_now", writing)
    desk.deliver(message("spam", 100))
    assert asked
    assert desk.where(message("spam", 100)) == ["INBOX"]
