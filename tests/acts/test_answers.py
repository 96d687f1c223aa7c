"""The effects of an answer, in real folders, and that an undo takes all of them back."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spamnb.acts import training
from spamnb.acts.answers import Answer, Answers, Done
from spamnb.acts.undo import of_ids, undo
from spamnb.base.errors import MaildirError
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Mailbox, Senders
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.port import Relabel
from spamnb.mail.reading import Reading, read
from spamnb.mail.relations import Relations
from spamnb.review.misfiled import Misfiled, misfiled
from spamnb.review.queue import to_answer, waiting
from spamnb.rules.acquaintances import KNOWN_FIRST
from tests.lessons import NO_MAILBOX
from tests.service.desk import Desk
from tests.table import over_rows

HAM, SPAM = Label


class Asked(Desk):
    """A watched mailbox whose filter knows 30 messages of each kind, and answers to what it asks."""

    def __init__(self, directory: Path, **apart: str) -> None:
        super().__init__(directory, "Maildir")
        self.stop()
        self.apart = apart
        self.start()
        for label in Label:
            some = [read(message(label.word, number)) for number in range(30)]
            training.learn_batches(self.ledger, [Batch.of(some)], label, "a test", 1.0, how=How.HAND)

    @property
    def config(self) -> Config:
        """The configuration of the mailbox."""
        mailboxes = (Mailbox(self.roots[0], self.roles, **self.apart),)
        return Config(mailboxes, self.directory / "ledger", learning=self.learning)

    def findings(self) -> list[Misfiled]:
        """Return the findings of `audit`."""
        return misfiled(self.ledger, self.config)

    def give(self, finding: Misfiled, answer: Answer) -> Done:
        """Answer."""
        return Answers(self.ledger, self.config, self.now).give(finding.question, answer)

    def label(self, content: bytes) -> tuple[Label | None, bool] | None:
        """Return the label of a message, and whether it is weak."""
        found = self.ledger.lessons.find(read(content).digest)
        return None if found is None else (found.label, found.weak)

    def undo(self, done: Done) -> None:
        """Take an answer back, by its one number."""
        self.take_back(done.answer)
        assert {action.state for action in self.ledger.journal.those(done.actions).values()} == {"undone"}

    def take_back(self, action: int) -> None:
        """Undo an action, and what belongs to it."""
        assert {one.fault for one in undo(self.ledger, NO_MAILBOX, of_ids(self.ledger, [action]), self.now)} == {None}

    def state(self, content: bytes) -> tuple[object, ...]:
        """Return the label of a message, its place, and whether a question may ask about it again."""
        folders = [name for name in self.roles if self.number(name)]
        return self.label(content), folders, read(content).digest in self.ledger.journal.all_settled()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Asked]:
    """A watched mailbox and its filter."""
    desk = Asked(tmp_path)
    yield desk
    desk.stop()
    desk.ledger.close()


def filed_wrongly(desk: Asked, weak: bool = False) -> Misfiled:
    """A spam message in the archive that is learned as ham, as `audit` finds it."""
    path = desk.deliver(message("spam", 100), "Archive", "S")
    training.learn_message(desk.ledger, message("spam", 100), HAM, "a test", 2.0, weak=weak, how=How.HAND)
    (found,) = desk.findings()
    assert found.place is not None
    assert (found.place.path, found.place.label, found.label) == (str(path), HAM, HAM)
    return found


def test_moved_and_learned_otherwise(desk: Asked) -> None:
    """An answer learns a message as the other class and moves it to the right folder; the service leaves it there."""
    found = filed_wrongly(desk)
    done = desk.give(found, Answer.OTHERWISE)
    assert (desk.number("Archive"), desk.number("Junk"), done.stays) == (0, 1, "")
    assert desk.label(message("spam", 100)) == (SPAM, False)
    desk.work()
    assert (desk.number("Archive"), desk.number("Junk")) == (0, 1)
    assert desk.findings() == []
    desk.undo(done)
    desk.work()
    assert (desk.number("Archive"), desk.number("Junk")) == (1, 0)
    assert desk.label(message("spam", 100)) == (HAM, False)
    assert [one.digest for one in desk.findings()] == [found.digest]
    assert desk.ledger.lessons.verify() == []


def test_ham_goes_to_the_inbox(desk: Asked) -> None:
    """Ham that was filed as spam returns to the inbox, and is not moved again."""
    desk.deliver(message("ham", 105), "Junk", "S")
    training.learn_message(desk.ledger, message("ham", 105), SPAM, "a test", 2.0, how=How.HAND)
    (found,) = desk.findings()
    desk.give(found, Answer.OTHERWISE)
    desk.work()
    assert (desk.number("Junk"), desk.number("INBOX")) == (0, 1)
    assert desk.label(message("ham", 105)) == (HAM, False)


def test_right_makes_it_a_decision(desk: Asked) -> None:
    """A confirmed label becomes a decision; the message stays, and no question asks about it again."""
    done = desk.give(filed_wrongly(desk, weak=True), Answer.RIGHT)
    assert desk.label(message("spam", 100)) == (HAM, False)
    assert (desk.number("Archive"), desk.findings()) == (1, [])
    desk.undo(done)
    assert desk.label(message("spam", 100)) == (HAM, True)
    assert len(desk.findings()) == 1


def test_forgotten(desk: Asked) -> None:
    """A forgotten message teaches nothing, and stays in its place."""
    done = desk.give(filed_wrongly(desk), Answer.FORGET)
    assert desk.label(message("spam", 100)) == (None, False)
    assert (desk.number("Archive"), desk.findings()) == (1, [])
    desk.undo(done)
    assert desk.label(message("spam", 100)) == (HAM, False)


def test_never_asked_again(desk: Asked) -> None:
    """A message that is never to be asked about again is not asked about, until that is undone, and after a redo."""
    done = desk.give(filed_wrongly(desk), Answer.NEVER)
    assert desk.label(message("spam", 100)) == (HAM, False)
    assert desk.findings() == []
    desk.undo(done)
    assert len(desk.findings()) == 1
    desk.take_back(desk.ledger.journal.newest_id())
    assert desk.findings() == []


@pytest.mark.parametrize("answer", Answer)
def test_one_number_for_all_of_an_answer(desk: Asked, answer: Answer) -> None:
    """The number of an answer undoes all of it; the number of that undo does all of it again; and so on."""
    found, content = filed_wrongly(desk, weak=True), message("spam", 100)
    before = desk.state(content)
    done = desk.give(found, answer)
    after = desk.state(content)
    assert after != before
    for _ in range(2):
        desk.undo(done)
        assert desk.state(content) == before
        (of_answer,) = [one for one in desk.ledger.journal.undos(0.0) if one.kind == "settled"]
        desk.take_back(of_answer.id)
        assert desk.state(content) == after
    assert desk.ledger.lessons.verify() == []


@pytest.mark.parametrize("earlier", [Answer.OTHERWISE, Answer.NEVER])
@pytest.mark.parametrize("later", Answer)
def test_two_answers_at_one_reading_of_the_clock(desk: Asked, earlier: Answer, later: Answer) -> None:
    """Two answers about one message are undone one by one, even if they have the same time."""
    found, content = filed_wrongly(desk, weak=True), message("spam", 100)
    at = desk.now()
    answers = Answers(desk.ledger, desk.config, lambda: at)
    first = answers.give(found.question, earlier)
    between = desk.state(content)
    second = answers.give(found.question, later)
    assert not set(first.actions) & set(second.actions)
    of_first = [action.id for action in desk.ledger.journal.of_answer(first.answer)]
    assert tuple(of_first) == first.actions
    desk.undo(second)
    assert desk.state(content) == between


def test_what_was_taken_back_alone_stays_so(desk: Asked) -> None:
    """A part of an answer that was taken back by its own number is not done again when the rest is taken back."""
    found, content = filed_wrongly(desk), message("spam", 100)
    before = desk.state(content)
    done = desk.give(found, Answer.OTHERWISE)
    (move,) = [one for one in done.actions if desk.ledger.journal.those([one])[one].kind == "moved"]
    desk.take_back(move)
    assert desk.state(content) == ((SPAM, False), ["Archive"], True)
    desk.take_back(done.answer)
    assert desk.state(content) == before


def test_an_answer_tells_of_its_own_acts_alone(desk: Asked) -> None:
    """Acts of the service on the same message belong neither to an answer nor to its undo."""
    found, content = filed_wrongly(desk), message("spam", 100)

    class Beside(Answers):
        def _move(self, *given: Any) -> str:
            known = desk.ledger.messages.find(found.digest)
            assert known is not None
            (place,) = desk.ledger.locations.of_message(known.id)
            desk.ledger.journal.judged(
                known.id, (place.folder, "a copy"), "spam", 0.99, "spam", desk.now(), how=How.MAILDIR
            )
            return super()._move(*given)

    done = Beside(desk.ledger, desk.config, desk.now).give(found.question, Answer.OTHERWISE)
    kinds = [desk.ledger.journal.those([one])[one].kind for one in done.actions]
    assert kinds == ["learned", "settled", "moved"]
    desk.undo(done)
    assert desk.state(content) == ((HAM, False), ["Archive"], False)


def test_a_lesson_that_was_not_recorded_yet_is_no_part_of_an_answer(desk: Asked) -> None:
    """A lesson of another process that was killed before it was in the history is recorded apart from the answer."""
    found, content = filed_wrongly(desk), message("spam", 100)
    desk.ledger.lessons.relabel([Relabel(found.digest, HAM, False, SPAM, True, "killed", How.HAND)], 3.0)
    done = desk.give(found, Answer.OTHERWISE)
    journal = desk.ledger.journal
    whys = [(one.kind, one.why) for one in journal.of_message(journal.those([done.answer])[done.answer].message)]
    assert whys[-4:-2] == [("learned", "killed"), ("learned", "answered in a terminal")]
    assert [journal.those([one])[one].kind for one in done.actions] == ["learned", "settled", "moved"]
    desk.undo(done)
    assert desk.state(content) == ((SPAM, True), ["Archive"], False)


def test_a_file_outside_the_mailboxes_stays(desk: Asked, tmp_path: Path) -> None:
    """A file outside all watched folders gets the new label, and stays in its place."""
    file = tmp_path / "a.eml"
    file.write_bytes(message("spam", 100))
    batch = Batch.of([read(file.read_bytes())], [str(file)])
    training.learn_batches(desk.ledger, [batch], HAM, "a test", 2.0, how=How.HAND)
    (found,) = desk.findings()
    done = desk.give(found, Answer.OTHERWISE)
    assert str(file) in done.stays
    assert file.exists()
    assert desk.label(message("spam", 100)) == (SPAM, False)


def test_gone_meanwhile(desk: Asked) -> None:
    """A message that a person has deleted gets the new label by its kept tokens."""
    found = filed_wrongly(desk)
    assert found.place is not None
    Path(found.place.path).unlink()
    desk.give(found, Answer.OTHERWISE)
    assert desk.label(message("spam", 100)) == (SPAM, False)
    assert desk.number("Junk") == 0


def kept_spam(desk: Asked) -> bytes:
    """Spam that a person has read and left in the inbox, and that the filter does not move."""
    content = message("spam", 101)
    path = desk.deliver(content, "INBOX", "S")
    assert path.exists()
    return content


def test_read_and_kept_spam_is_asked_about_first(desk: Asked) -> None:
    """Mail that the filter calls spam and a person has kept comes before all unsure mail."""
    desk.deliver(b"Subject: odd\nFrom: x@y.example\n\nunheard words\n", flags="S")
    content = kept_spam(desk)
    first, second = to_answer(desk.ledger, desk.config)
    assert (first.digest, first.label, first.judgement.verdict) == (read(content).digest, HAM, "spam")
    assert second.judgement.verdict == "unsure"
    assert len(first.clues) == 3
    assert [one.digest for one in to_answer(desk.ledger, desk.config, 1)] == [first.digest]


def test_whose_mail_is_ham_is_not_asked_about(desk: Asked) -> None:
    """The configuration's senders apply to questions, as they do to new mail."""
    content = kept_spam(desk)
    (asked,) = to_answer(desk.ledger, desk.config)
    assert asked.digest == read(content).digest
    named = replace(desk.config, senders=Senders(allow=(read(content).relations.sender,)))
    assert to_answer(desk.ledger, named) == []


def test_an_answer_about_what_is_not_learned(desk: Asked) -> None:
    """Mail that was not learned is learned by an answer, and moved if it is spam; undone, it is as before."""
    content = kept_spam(desk)
    (found,) = to_answer(desk.ledger, desk.config)
    done = desk.give(found, Answer.OTHERWISE)
    assert (desk.label(content), desk.number("INBOX"), desk.number("Junk")) == ((SPAM, False), 0, 1)
    assert to_answer(desk.ledger, desk.config) == []
    desk.undo(done)
    assert (desk.label(content), desk.number("INBOX"), desk.number("Junk")) == ((None, False), 1, 0)


def test_an_answer_about_what_is_gone(desk: Asked) -> None:
    """An answer about a deleted message that was never learned has no effect."""
    kept_spam(desk)
    (found,) = to_answer(desk.ledger, desk.config)
    assert found.place is not None
    Path(found.place.path).unlink()
    with pytest.raises(MaildirError, match="nothing was learned"):
        desk.give(found, Answer.RIGHT)
    assert desk.ledger.journal.all_settled() == set()


def test_weak_lessons_are_asked_about(desk: Asked) -> None:
    """A question asks about a weak lesson if the filter without that lesson disagrees with it."""
    for number, label in ((100, HAM), (101, SPAM)):
        training.learn_message(desk.ledger, message("spam", number), label, "a test", 2.0, weak=True, how=How.HAND)
    (found,) = to_answer(desk.ledger, desk.config)
    assert (found.digest, found.label, found.weak) == (read(message("spam", 100)).digest, HAM, True)


def test_the_newest_weak_lessons(desk: Asked) -> None:
    """Weak lessons come in the order of their learning, the newest first; a decision is no longer weak."""
    first, second, third = (message("ham", number) for number in (100, 101, 102))
    for at, content in ((10.0, first), (20.0, second), (30.0, third)):
        training.learn_message(desk.ledger, content, HAM, "read and kept", at, weak=True, how=How.KEPT)
    digests = [read(content).digest for content in (third, second, first)]
    assert desk.ledger.messages.learned_weakly(0.0, 10) == digests
    assert desk.ledger.messages.learned_weakly(15.0, 10) == digests[:2]
    assert desk.ledger.messages.learned_weakly(0.0, 1) == digests[:1]
    training.learn_message(desk.ledger, third, HAM, "said", 40.0, how=How.HAND)
    training.forget(desk.ledger, [digests[1]], "said", 50.0, how=How.HAND)
    assert desk.ledger.messages.learned_weakly(0.0, 10) == digests[2:]


def test_what_is_clear_hides_nothing(desk: Asked) -> None:
    """Unsure messages are asked about, however many newer ones have become clear."""
    odd = b"Subject: odd\nFrom: x@y.example\nMessage-ID: <1@y>\n\nunheard words\n"
    desk.deliver(odd)
    for number in range(100, 105):
        desk.deliver(message("ham", number))
        known = desk.ledger.messages.ensure(read(message("ham", number)).digest, "")
        desk.ledger.messages.judged(known.id, "unsure", 0.5, desk.now())
    found = waiting(desk.ledger, desk.config, most=2)
    assert ([one.digest for one in found.asked], found.cleared) == ([read(odd).digest], 5)
    assert waiting(desk.ledger, desk.config, most=2, reading=2) == ([], 2)


def test_what_the_filter_forgot_is_asked_about(desk: Asked) -> None:
    """Kept mail that was learned weakly as ham and forgotten because it looks like spam is asked about."""
    content = kept_spam(desk)
    known = desk.ledger.messages.ensure(read(content).digest, "")
    desk.ledger.messages.judged(known.id, "ham", 0.01, desk.now())
    assert to_answer(desk.ledger, desk.config) == []
    training.learn_message(desk.ledger, content, HAM, "read and kept", 2.0, weak=True, how=How.KEPT)
    training.relabel(desk.ledger, [Relabel(known.digest, HAM, True, None, True, "contradicted", How.HAND)], 3.0)
    (found,) = to_answer(desk.ledger, desk.config)
    assert (found.digest, found.label) == (known.digest, HAM)
    desk.undo(desk.give(found, Answer.OTHERWISE))
    assert (desk.label(content), desk.number("INBOX")) == ((None, True), 1)
    assert [one.digest for one in to_answer(desk.ledger, desk.config)] == [known.digest]


@over_rows(
    ("key", "label", "goal"),
    [
        ("unsure_folder", HAM, "INBOX"),
        ("unsure_folder", SPAM, "Junk"),
        ("newcomers_folder", HAM, "INBOX"),
        ("newcomers_folder", SPAM, "Junk"),
        ("newsletters_folder", HAM, "Apart"),
        ("newsletters_folder", SPAM, "Junk"),
    ],
)
def test_mail_leaves_a_folder_apart(
    tmp_path_factory: pytest.TempPathFactory, key: str, label: Label, goal: str
) -> None:
    """The program asks about doubtful mail that was put apart; it goes by the answer, but wanted newsletters stay."""
    desk = Asked(tmp_path_factory.mktemp("desk"), **{key: "Apart"})
    for number in range(KNOWN_FIRST):
        known = Reading(bytes([number]), "a friend", {"hello": 1}, Relations(f"friend{number}@y.example"))
        training.learn(desk.ledger, known, HAM, "a test", 1.0, how=How.HAND)
    list_id = b"List-Id: <talk.y.example>\n" if key == "newsletters_folder" else b""
    desk.deliver(list_id + b"Subject: odd\nFrom: x@y.example\nMessage-ID: <1@y>\n\nunheard words\n")
    assert desk.number("Apart") == 1
    (found,) = to_answer(desk.ledger, desk.config)
    done = desk.give(found, Answer.RIGHT if label is found.label else Answer.OTHERWISE)
    assert (desk.number(goal), done.stays) == (1, "")
    assert desk.number("Apart") == (goal == "Apart")
    desk.stop()
    desk.ledger.close()
