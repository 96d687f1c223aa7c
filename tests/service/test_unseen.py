"""What a Junk teaches that nobody has ever opened, and how all of that is forgotten at the first rescue."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.acts.answers import Answers
from spamnb.acts.undo import since, undo
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from spamnb.rules.weak_lessons import NEVER_SEEN
from spamnb.service.jobs import OutdatedLessons
from tests.dying import DeathError, Fuse, burning, dead
from tests.lessons import NO_MAILBOX
from tests.service.desk import DAY, Desk, moving_desk
from tests.service.test_untouched import fill_spam, later, lesson_of, mark, much_mail


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A mailbox, and a filter that moves mail."""
    with moving_desk(tmp_path) as found:
        yield found


def neglect(desk: Desk) -> list[bytes]:
    """Spam that the filter has moved to Junk, where it has lain for three weeks; nobody has ever looked there."""
    contents = fill_spam(desk, 100, 4)
    much_mail(desk)
    later(desk, 20)
    return contents


def unseen(desk: Desk) -> list[bytes]:
    """Return the digests of the lessons from a Junk that nobody has opened."""
    return [lesson.digest for lesson in desk.ledger.lessons.changes(0, 10_000) if lesson.is_unseen]


def test_a_junk_that_nobody_opens_teaches(desk: Desk) -> None:
    """Once nobody has looked for two weeks, mail teaches after five days and a hundred messages; weakly."""
    first = fill_spam(desk, 100, 2)
    much_mail(desk)
    later(desk, 11.5)
    assert [desk.lesson(one) for one in first] == [(None, False)] * 2, "the first came less than two weeks ago"
    later(desk, 1)
    assert [desk.lesson(one) for one in first] == [(Label.SPAM, True)] * 2
    learned = lesson_of(desk, first[0])
    assert learned is not None
    assert (learned.why, learned.how, learned.is_unseen) == (NEVER_SEEN, How.KEPT, True)
    new = fill_spam(desk, 200, 2)
    much_mail(desk, 100)
    later(desk, 2.9)
    assert [desk.lesson(one) for one in new] == [(None, False)] * 2, "not yet"
    later(desk, 1.1)
    assert [desk.lesson(one) for one in new] == [(Label.SPAM, True)] * 2


def test_a_hundred_messages_must_have_come_since(desk: Desk) -> None:
    """With little mail, five days are not enough."""
    neglect(desk)
    new = fill_spam(desk, 200, 2)
    much_mail(desk, 98)  # and the second of the two came after the first
    later(desk, 30)
    assert [desk.lesson(one) for one in new] == [(None, False)] * 2


def test_what_the_filter_is_less_sure_of_teaches_nothing_there(desk: Desk) -> None:
    """A probability of 0.975 is enough if somebody looks into Junk, and not if nobody does."""
    contents = fill_spam(desk, 100, 2)
    desk.ledger._connection.execute("UPDATE message SET probability = 0.975 WHERE digest = ?", (identity(contents[0]),))
    much_mail(desk)
    later(desk, 20)
    assert [desk.lesson(one) for one in contents] == [(None, False), (Label.SPAM, True)]
    mark(desk, contents[1], "Junk", "S")
    later(desk, 1)
    assert [desk.lesson(one) for one in contents] == [(Label.SPAM, True)] * 2


def test_after_the_first_look_no_more_is_learned_so(desk: Desk) -> None:
    """What was learned stays; other mail waits for two weeks and another look."""
    contents = neglect(desk)
    mark(desk, contents[0], "Junk", "S")
    later(desk, 0.1)
    new = fill_spam(desk, 200, 2)
    much_mail(desk)
    later(desk, 11)
    assert set(unseen(desk)) == set(map(identity, contents))
    assert [desk.lesson(one) for one in new] == [(None, False)] * 2
    mark(desk, new[1], "Junk", "S")
    later(desk, 2)
    lesson = lesson_of(desk, new[0])
    assert lesson is not None
    assert lesson.how is How.SILENCE


def move_to(folder: str) -> Callable[[Desk, bytes], object]:
    """Return what moves a message out of Junk."""
    return lambda desk, content: desk.take(content, "Junk", folder)


def answer(desk: Desk, content: bytes) -> None:
    """Call a message ham on a page, which moves it to the inbox."""
    Answers(desk.ledger, desk.config, desk.now).call(identity(content), Label.HAM)


def take_back(desk: Desk, content: bytes) -> None:
    """Undo the filter's move."""
    moves = [one for one in since(desk.ledger, 0.0, ["moved"]) if one.digest == identity(content)]
    assert [one.fault for one in undo(desk.ledger, desk.config, moves, desk.now)] == [None]


def train(desk: Desk, content: bytes) -> None:
    """Train a message as ham at the prompt, with many others."""
    batch = Batch.of([read(message("ham", 777)), read(content)])
    training.learn_batches(desk.ledger, [batch], Label.HAM, "at the prompt", desk.now(), how=How.HAND)


@pytest.mark.parametrize("rescue", [move_to("INBOX"), move_to("Archive"), answer, take_back, train])
def test_the_first_rescue_forgets_all_of_it(desk: Desk, rescue: Callable[[Desk, bytes], object]) -> None:
    """By whichever way a person takes a message out of Junk, the counts are as if nothing had been learned so."""
    before = sorted(desk.ledger.lessons.export())[1:]
    contents = neglect(desk)
    assert set(unseen(desk)) == set(map(identity, contents))
    rescue(desk, contents[0])
    desk.work()
    assert unseen(desk) == []
    assert [desk.lesson(one) for one in contents[1:]] == [(None, True)] * 3
    assert desk.ledger.verify() == []
    decided = [identity(contents[0]), identity(message("ham", 777))]
    training.forget(desk.ledger, decided, "a test", desk.now(), how=How.HAND)
    assert sorted(desk.ledger.lessons.export())[1:] == before


def test_after_a_late_rescue_the_usual_rule_holds(desk: Desk) -> None:
    """A message that is rescued after weeks shows a look too: what was forgotten is learned as in any Junk."""
    contents = neglect(desk)
    desk.take(contents[0], "Junk", "INBOX")
    later(desk, 1)
    lesson = lesson_of(desk, contents[1])
    assert lesson is not None
    assert (lesson.label, lesson.how) == (Label.SPAM, How.SILENCE)
    assert desk.lesson(contents[0]) == (Label.HAM, False)


def test_ham_that_was_never_in_junk_is_no_rescue(desk: Desk) -> None:
    """To file mail of the inbox, or to call it ham, forgets nothing."""
    contents = neglect(desk)
    desk.deliver(message("ham", 500))
    desk.take(message("ham", 500), "INBOX", "Archive")
    train(desk, message("ham", 501))
    assert set(unseen(desk)) == set(map(identity, contents))


def test_what_an_undo_brings_back_the_next_rescue_forgets(desk: Desk) -> None:
    """A lesson that was forgotten so and taken back by a person is again one from a Junk that nobody had opened."""
    contents = neglect(desk)
    desk.take(contents[0], "Junk", "INBOX")
    learned = [one for one in since(desk.ledger, 0.0, ["learned"]) if one.digest == identity(contents[1])]
    assert [one.fault for one in undo(desk.ledger, NO_MAILBOX, learned[:1], desk.now)] == [None]
    assert unseen(desk) == [identity(contents[1])]
    desk.take(contents[2], "Junk", "INBOX")
    assert unseen(desk) == []


def test_an_answer_is_undone_alone(desk: Desk) -> None:
    """The lessons that an answer has made the filter forget are no part of the answer, nor of its undo."""
    contents = neglect(desk)
    done = Answers(desk.ledger, desk.config, desk.now).call(identity(contents[0]), Label.HAM)
    assert len(done.actions) == 3, "the lesson, the answer and the move"


def test_it_gives_way_to_newer_lessons(desk: Desk) -> None:
    """Every ten days such a lesson is forgotten if its message is ham by all that is known without it."""
    (content,) = [message("ham", 600)]
    training.learn(desk.ledger, read(content), Label.SPAM, NEVER_SEEN, desk.now(), how=How.KEPT, weak=True)
    outdated = OutdatedLessons(desk.account.context)
    while outdated.step_if_due(desk.now()):
        pass
    assert desk.lesson(content) == (None, True)


def test_a_rescue_is_whole(desk: Desk) -> None:
    """Whichever call a rescue dies at, the message is ham and all those lessons are forgotten, or neither."""
    contents = neglect(desk)
    reading, deaths = read(contents[0]), 0
    for at in range(1, 200):
        with suppress(DeathError), burning(desk.ledger, Fuse(at, dead), disk=False):
            training.learn(desk.ledger, reading, Label.HAM, "rescued", desk.now(), how=How.MOVE)
        desk.ledger.close()
        desk.ledger = Ledger(str(desk.directory / "ledger"))
        is_ham = desk.ledger.lessons.find(reading.digest).decision is Label.HAM  # type: ignore[union-attr]
        assert len(unseen(desk)) == (0 if is_ham else len(contents)), at
        assert desk.ledger.verify() == []
        if is_ham:
            break
        deaths += 1
    assert deaths > 3
    desk.restart()


def test_what_a_deleted_message_has_taught_stays(desk: Desk) -> None:
    """A server empties Junk: the lessons stay and can be taken back, and the move of the message cannot."""
    contents = neglect(desk)
    desk.paths(contents[0], "Junk")[0].unlink()
    desk.work()
    assert set(unseen(desk)) == set(map(identity, contents)), "after two weeks, that is no look"
    learned, moved = (
        [one for one in since(desk.ledger, 0.0, [kind]) if one.digest == identity(contents[0])]
        for kind in ("learned", "moved")
    )
    assert [one.left for one in undo(desk.ledger, desk.config, moved, desk.now)] == [True]
    assert [one.fault for one in undo(desk.ledger, desk.config, learned, desk.now)] == [None]
    assert desk.lesson(contents[0])[0] is None
    assert desk.ledger.verify() == []


def test_months_count_from_the_first_message(desk: Desk) -> None:
    """A look of long ago, before all that is there now, still was a look."""
    mark(desk, fill_spam(desk, 100, 1)[0], "Junk", "S")
    desk.ahead += 60 * DAY
    new = fill_spam(desk, 200, 2)
    much_mail(desk)
    later(desk, 30)
    assert [desk.lesson(one) for one in new] == [(None, False)] * 2
