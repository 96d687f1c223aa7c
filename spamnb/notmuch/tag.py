"""The repeated job that learns from a tag in notmuch: which messages have got it, and which have lost it.

notmuch numbers the changes of its database, so each look asks only about messages that were changed since the last one.
The ledger keeps how far that is, and marks of the messages that have the tag. Messages that had the tag before the
first look teach nothing.
"""

import hashlib
import logging
from collections.abc import Generator

from spamnb.base.errors import NotmuchError
from spamnb.base.wording import escaped, plural
from spamnb.ledger.history.state import MARK_BYTES, SeenTags
from spamnb.notmuch import program
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.jobs import ServiceJob
from spamnb.service.log import LogOnce

_log = logging.getLogger(__name__)
_SECONDS = 30.0  # between looks, if the service does not wait longer: each takes 7 ms of CPU beside 17,500 messages
_AGAIN_SECONDS = 300.0  # until notmuch is asked again after a fault
_MOMENT = 0.02  # seconds that mail may wait for an answer, which usually takes half of it
_MOST = 1000  # messages that a person tags at a time; more of them were tagged by a program, or by mistake
_DATABASE = "database"  # the subject of a fault


class NotmuchTag(ServiceJob):
    """Learns messages as spam that have got the tag, and as ham those that have lost it."""

    doing = "asking notmuch"

    def __init__(self, awake: AwakeAccount, tag: str) -> None:
        super().__init__(_AGAIN_SECONDS)
        self._awake = awake
        self._tag = tag
        self._state = awake.context.ledger.state
        self._faults = LogOnce(_log, count=lambda _: awake.context.measurements.fault("disk"))
        self._has_failed = False
        self._steps: Generator[None, None, None] | None = None

    def _step(self, now: float) -> None:
        """Ask, or look for the answer."""
        self._steps = self._steps or self._look()
        try:
            next(self._steps)
        except StopIteration:
            self._wait(now + _SECONDS)
            self._has_failed = False
            if self._faults.clear(_DATABASE):
                _log.info("notmuch answers again")
        except NotmuchError as fault:
            # A reader fails if another program has written twice since it began, so the first failure is not told.
            self._wait(now + (_AGAIN_SECONDS if self._has_failed else _SECONDS))
            if self._has_failed:
                self._faults.log(_DATABASE, f"{fault}. The tag {self._name} teaches nothing until notmuch answers")
            self._has_failed = True
        self.under_way = self._steps is not None

    def _wait(self, until: float) -> None:
        self._steps, self._not_before = None, until

    @property
    def _name(self) -> str:
        return escaped(self._tag)

    def _look(self) -> Generator[None, None, None]:
        """Look for messages that have got or lost the tag, and learn them."""
        with_tag = program.tagged(self._tag)
        revision = program.Revision.read((yield from _answer("count", "--lastmod", "--", "*")))
        seen = self._state.notmuch_seen
        if seen is None or (seen.tag, seen.database) != (self._tag, revision.database):
            marks = {_mark(message) for message in (yield from _found(with_tag))}
            self._keep(revision, marks)
            what = f"{plural(len(marks), 'message')} with the tag {self._name}"
            _log.info("notmuch has %s; from now on it teaches if a message gets or loses the tag", what)
            return
        if seen.revision == revision.number:
            return
        changed = program.changed(seen.revision, revision.number)
        got = [each for each in (yield from _found(f"{changed} and {with_tag}")) if _mark(each) not in seen.marks]
        lost = [each for each in (yield from _found(f"{changed} and not {with_tag}")) if _mark(each) in seen.marks]
        marks = set(seen.marks)
        if len(got) + len(lost) > _MOST:
            what = f"{plural(len(got), 'message')} got the tag {self._name} in notmuch, and {len(lost)} lost it"
            _log.warning("%s: too many at once to be a decision, so nothing is learned of them", what)
            marks ^= {_mark(message) for message in got + lost}
        else:
            for message in got + lost:
                paths = program.found((yield from _answer(*program.files(program.named(message)))))
                # notmuch does not know yet where a file is that the filter has moved. When it does, the message is
                # changed again.
                if self._awake.learn_by_tag(paths, is_tagged=_mark(message) not in marks):
                    marks ^= {_mark(message)}
                yield
        self._keep(revision, marks)

    def _keep(self, revision: program.Revision, marks: set[bytes]) -> None:
        self._state.notmuch_seen = SeenTags(self._tag, revision.database, revision.number, frozenset(marks))


def _mark(message: str) -> bytes:
    return hashlib.blake2b(message.encode(errors="surrogateescape"), digest_size=MARK_BYTES).digest()


def _found(query: str) -> Generator[None, None, list[str]]:
    """Return the names of messages."""
    return program.found((yield from _answer(*program.messages(query))))


def _answer(*arguments: str) -> Generator[None, None, bytes]:
    """Ask notmuch; yield while there is no answer."""
    with program.Question(*arguments) as question:
        while (answer := question.answer(_MOMENT)) is None:
            yield
        return answer
