"""Mail that a person has read and kept, or has left where the filter put it: it teaches weakly.

`rules` decide what it means. This module finds the files, and lets the performer learn a few at a time.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

from spamnb.acts import may_move
from spamnb.base.errors import NotYetError
from spamnb.base.label import Role
from spamnb.ledger.history.locations import Location
from spamnb.mail.reading import Reading
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.rules import weak_lessons
from spamnb.rules.moving import is_taught
from spamnb.rules.reactions import Reaction, kept_origins, learns_kept, reaction_to_kept, reaction_to_silence
from spamnb.rules.weak_lessons import Silence
from spamnb.service.context import DAY, Context
from spamnb.service.mailbox.answered import letter_at
from spamnb.service.mailbox.folders import Folders, WatchedFolder
from spamnb.service.mailbox.performer import Performer

_Item = TypeVar("_Item")
# Messages and tokens per transaction; it should hold the ledger for less than a tenth of a second. A message learned
# alone writes 375 KB to the write-ahead log and takes 4.1 ms of CPU; in a group of fifty each writes 95 KB and takes
# 1.0 ms (csdmc2010, `benchmarks/kept.py`).
_TOGETHER, _TOKENS = 50, 20_000
_ROWS = 100  # of the ledger that are looked at in one go


class _Candidate(NamedTuple):
    """A message that may be learned."""

    folder: WatchedFolder
    location: Location
    reaction: Reaction

    @property
    def file(self) -> tuple[int, str]:
        """Its file: folder and base name."""
        return self.folder.id, self.location.base


class UntouchedMail:
    """The untouched mail of one mailbox."""

    def __init__(self, folders: Folders, context: Context, performer: Performer) -> None:
        self._folders = folders
        self._performer = performer
        self._context = context
        self._config = context.config
        self._ledger = context.ledger
        self._recheck_at: dict[tuple[int, str], float] = {}  # by folder and base name: when, in seconds since the epoch
        self._spam_looked_at = 0.0

    def learn_kept(self) -> None:
        """Learn mail that was answered; and mail that was read and kept, unless the filter doubts that it is ham.

        An answered letter among the newcomers goes to the inbox. It looks at doubted mail again each day: by then the
        filter may know more about the message or the person. It also learns mail that a person has left behind before
        the filter began to move mail.
        """
        left_behind = may_move.left_behind(self._ledger, self._config.learning)
        kept = [candidate for folder in self._folders for candidate in self._kept(folder, left_behind)]
        files = {candidate.file for candidate in kept}
        self._recheck_at = {file: at for file, at in self._recheck_at.items() if file in files}
        now = self._context.now()
        due = (each for each in kept if not each.reaction.doubtful or self._recheck_at.get(each.file, 0.0) <= now)
        for candidates in _grouped(due):
            self._learn(candidates, self._teaches_ham)

    def learn_answered(self, folder: WatchedFolder) -> None:
        """Learn mail among the newcomers that was answered, and move it to the inbox."""
        for candidates in _grouped(self._kept(folder, {})):
            self._learn(candidates, self._teaches_ham)

    def _kept(self, folder: WatchedFolder, left_behind: Mapping[int, Reaction]) -> Iterator[_Candidate]:
        looking = f"looking for kept mail in {self._folders.root}"
        self._context.alive(looking)
        learning, now = self._config.learning, self._context.now()
        if not learns_kept(folder.role, learning):
            return
        unlearned = self._ledger.locations.unlearned(folder.id, kept_origins(folder.role))
        for number, location in enumerate(unlearned, 1):
            if number % _ROWS == 0:
                self._context.alive(looking)
            age, behind = now - location.since, left_behind.get(location.message)
            reaction = reaction_to_kept(location.flags, folder.role, age, learning, location.origin, left_behind=behind)
            if reaction is not None:
                yield _Candidate(folder, location, reaction)

    def _teaches_ham(self, candidate: _Candidate, reading: Reading) -> bool:
        if not candidate.reaction.doubtful:
            return True
        ham, spam = self._ledger.lessons.totals().tolist()[:2]
        probability, missed = self._context.filter().judge(reading).probability, self._context.missed_spam()
        taught, is_apart = is_taught(ham, spam, self._config.learning), candidate.folder.role.is_apart
        teaches = weak_lessons.teaches_ham(probability, missed, is_taught=taught, is_apart=is_apart)
        if not teaches:
            self._context.doubted[reading.digest] = probability
            self._recheck_at[candidate.file] = self._context.now() + DAY
        return teaches

    def learn_left_in_spam(self) -> None:
        """Learn mail that the filter moved to spam some time ago, and that nobody took out (`weak_lessons.silence`)."""
        now = self._context.now()
        if 0 <= now - self._spam_looked_at < DAY:
            return
        self._spam_looked_at = now
        is_young = weak_lessons.is_young(self._ledger.lessons.totals().tolist()[1], self._context.missed_spam())
        folders = [folder for folder in self._folders if folder.role is Role.SPAM]
        locations, messages = self._ledger.locations, self._ledger.messages
        silence = weak_lessons.silence(
            now,
            locations.spam_seen_at(self._folders.id) or None,
            locations.first_moved_to([folder.id for folder in folders]),
            lambda number: messages.judged_at(number - 1),
            is_young=is_young,
        )
        left = (
            _Candidate(folder, location, reaction_to_silence(silence))
            for folder in folders
            for location in locations.left_in_spam(folder.id, silence.before, silence.least)
        )
        for candidates in _grouped(left):
            self._learn(candidates, partial(self._teaches_spam, silence))

    def _teaches_spam(self, silence: Silence, candidate: _Candidate, reading: Reading) -> bool:
        then = self._ledger.messages.get(candidate.location.message).probability
        if then is None or self._ledger.lessons.seen([reading.relations])[0].known:
            return False
        return silence.teaches(then, self._context.filter().judge(reading).probability)

    def _learn(self, candidates: Sequence[_Candidate], teaches: Callable[[_Candidate, Reading], bool]) -> None:
        """Learn those of these messages that `teaches` accepts."""
        readings: dict[Reaction, list[Reading]] = {}
        for candidate in candidates:
            self._context.alive(f"looking at mail left in place in {self._folders.root}")
            letter = letter_at(self._folders, candidate.folder, candidate.location)
            if letter is None or not teaches(candidate, letter.reading):
                continue
            if candidate.reaction.files:
                with contextlib.suppress(NotYetError, FolderUnavailableError):  # the next comparison tries again
                    self._performer.learn_and_file(letter, candidate.reaction)
            else:
                readings.setdefault(candidate.reaction, []).append(letter.reading)
        for reaction, alike in readings.items():
            for portion in _portions(alike):
                self._performer.learn(portion, reaction)


def _grouped(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    rest = iter(items)
    while group := list(islice(rest, _TOGETHER)):
        yield group


def _portions(readings: Sequence[Reading]) -> Iterator[list[Reading]]:
    """Yield the messages in order, in portions of at most `_TOKENS` tokens, or of one message."""
    portion: list[Reading] = []
    for reading in readings:
        if portion and sum(len(each.tokens) for each in (*portion, reading)) > _TOKENS:
            yield portion
            portion = []
        portion.append(reading)
    if portion:
        yield portion
