"""Carry out a person's answer about a message: learn, forget or move it. All of it can be undone.

The move is journalled like any other, so a crash loses nothing. The label is changed first: if the process dies before
the move, the message is already learned correctly.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from spamnb.acts import training, unseen
from spamnb.acts.current_files import CurrentFile, CurrentFiles
from spamnb.acts.filing import Filing, NoFolderError
from spamnb.base.errors import MaildirError
from spamnb.base.label import How, Label, Role
from spamnb.config import Config
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.history.locations import Location
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Relabel
from spamnb.mail.reading import Reading, read

WHY = "answered in a terminal"
ON_A_PAGE = "said on a page"


class Answer(Enum):
    """A person's answer about a message."""

    RIGHT = "right"  # the message is what it is called
    OTHERWISE = "otherwise"  # the message is of the other class
    FORGET = "forget"  # learn nothing from it
    NEVER = "never"  # do not ask again


@dataclass(frozen=True, slots=True)
class Done:
    """The result of an answer: its actions, the main one, and why the message stays in its place ("" if it moves).

    answer: the main action. Undoing it undoes all of them.
    """

    actions: tuple[int, ...]
    answer: int
    stays: str = ""


class Question(NamedTuple):
    """A message that a person was asked about. label: its label now. place: one of its files, or None."""

    digest: bytes
    summary: str
    label: Label
    place: CurrentFile | None


class _Act(NamedTuple):
    """The subject, reason and time of an answer, and its action. All that the answer does has this one time."""

    message: int
    why: str
    at: float
    settled: int


class Answers:
    """Carries out answers. `now` gives seconds since the epoch."""

    def __init__(self, ledger: Ledger, config: Config, now: Callable[[], float] = time.time) -> None:
        self._ledger = ledger
        self._config = config
        self._now = now
        self._filing = Filing(ledger, config, now)

    def give(self, question: Question, answer: Answer, why: str = WHY, *, moves: bool = True) -> Done:
        """Do what an answer says. The program does not ask about the message again until the answer is undone.

        moves: move its files to the folder of its label, too. Raises LedgerError if the ledger cannot be used, and
        MaildirError if the file cannot be read or moved. Lessons that were recorded before the error stay.
        """
        label = {Answer.RIGHT: question.label, Answer.OTHERWISE: Label(1 - question.label)}.get(answer)
        reading = None if label is None else self._unlearned(question)  # before the ledger is held
        at, journal = self._now(), self._ledger.journal
        with self._ledger.transaction():
            if label is Label.HAM:  # no part of the answer, so that an undo of the answer leaves it
                unseen.rescued(self._ledger, [question.digest], at)
            self._ledger.record_lessons()  # first those of others: what is recorded below belongs to this answer
            before = journal.newest_id()
            if label is not None:
                self._learn(question, reading, label, why, at)
            elif answer is Answer.FORGET:
                training.forget(self._ledger, [question.digest], why, at, how=How.HAND)
            known = self._ledger.messages.ensure(question.digest, question.summary)
            settled = journal.settled(known.id, why, at, before)
        stays = "" if label is None or not moves else self._move(question, label, _Act(known.id, why, at, settled))
        done = [action.id for action in journal.of_answer(settled) if action.state == "done"]
        return Done(tuple(done), settled, stays)

    def call(self, digest: bytes, label: Label, why: str = WHY) -> Done:
        """Learn a message as ham or spam, whatever it was before, and move its files to the right folders.

        A message without a file keeps the tokens that it was learned with. Raises what `give` raises, and MaildirError
        if there are neither files nor tokens.
        """
        places = CurrentFiles(self._ledger, self._config, [digest]).of(digest)
        known = self._ledger.messages.find(digest)
        summary = "" if known is None else known.summary
        place = next((place for place in places if place.location is not None), None)
        question = Question(digest, summary, Label(1 - label), place)
        return self.give(question, Answer.OTHERWISE, why)

    def end(self) -> None:
        """Tell IMAP servers which folders messages have left."""
        self._filing.end()

    def _unlearned(self, question: Question) -> Reading | None:
        """Read a message that was never learned. Returns None for a learned one: the ledger keeps its tokens."""
        if self._ledger.lessons.find(question.digest) is not None:
            return None
        location = None if question.place is None else question.place.location
        file = None if location is None else self._filing.find(location, question.digest)
        if file is None:
            raise MaildirError("the message was moved or deleted in the meantime; nothing was learned")
        return read(file.raw)

    def _learn(self, question: Question, reading: Reading | None, label: Label, why: str, at: float) -> None:
        """Make a label a person's decision."""
        lesson = self._ledger.lessons.find(question.digest)
        if lesson is None and reading is not None:
            training.learn(self._ledger, reading, label, why, at, how=How.HAND)
        elif lesson is not None and (lesson.label, lesson.weak) != (label, False):
            change = Relabel(question.digest, lesson.label, lesson.weak, label, False, why, How.HAND)
            training.relabel(self._ledger, [change], at)
        training.decided(self._ledger, [question.digest], label, at)

    def _move(self, question: Question, label: Label, act: _Act) -> str:
        """Move files that were put apart, and files in a folder of the other label. Returns why a file stays, or ""."""
        places = CurrentFiles(self._ledger, self._config, [question.digest])
        stays = ""
        for place in places.of(question.digest):
            if not place.leaves(label) and (place.label is not question.label or label is question.label):
                continue
            if place.location is None:
                stays = f"{place.path} is not in a watched folder, and stays there"
            else:
                stays = self._move_file(place.location, question.digest, label, act) or stays
        return stays

    def _move_file(self, location: Location, digest: bytes, label: Label, act: _Act) -> str:
        """Move a file to the folder of a label. Returns why it stays, or ""."""
        file = self._filing.find(location, digest)
        if file is None:
            return "it was moved in the meantime"
        goal = Role.INBOX if label is Label.HAM else Role.SPAM
        try:
            intent = self._filing.intend(file, goal, Cause(act.why, act.at, answer=act.settled))
        except NoFolderError as missing:
            return str(missing)
        return self._filing.make(intent, file)
