"""The values that are worked out beside the pages: the key of each, and its work.

Each work runs in its own process, so it imports its modules only there.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spamnb.acts import may_move
from spamnb.acts.not_yet import only_guesses
from spamnb.base.label import Label
from spamnb.checkup.finding import Finding
from spamnb.config import Config, Learning, Scoring
from spamnb.ledger.file.readonly import size_of
from spamnb.ledger.file.replacement import present
from spamnb.ledger.ledger import Ledger
from spamnb.review.first_questions import FirstQuestions, without_answered
from spamnb.review.misfiled import Doubts, Misfiled, still_asked
from spamnb.review.queue import LASTING, waiting, weak_lessons
from spamnb.web.background import Run, Tell, here
from spamnb.web.background_values import AfterAnswer, BackgroundValue, Snapshot

if TYPE_CHECKING:
    from spamnb.evaluation.replayed import Replayed
    from spamnb.review.own_mail import OwnMail

_BUSY_SECONDS = 10.0  # for a ledger in use: no request waits here
_MINUTE, _DAY = 60.0, 86_400.0
_AGAIN = 10 * _MINUTE
_UNKNOWN = "the filter still checks whether it would take your ham for spam"
# Messages of one of many users: the value then takes at most 0.5 MB, and a second to find.
_MOST_OF_MANY = 5_000
_MOST_BEGINNINGS = 500
_MOST_REPLAYED = 5_000  # messages; the unit of the pages has 512 MB
_Judged = tuple[str, int, Scoring]  # the ledger's path, and the number of its last lesson
_State = tuple[str, int, int]  # the ledger's path, and the numbers of its last action and its last lesson
_Past = tuple[str, Config, float]  # the ledger's path, a part of the configuration, the day
_Minute = tuple[str, dict[str, str], str, float]  # the configuration's path, the environment, the user, the minute


class Checked(NamedTuple):
    """The findings of a check-up, and its time, in seconds since the epoch."""

    findings: tuple[Finding, ...]
    at: float


class KeptValues:
    """The values of one person's pages. run: the place of heavy work. user: of a mail host, or "".

    is_of_many: this server shows the pages of all users.
    """

    def __init__(
        self,
        config_path: str,
        environ: Mapping[str, str],
        run: Run = here,
        user: str = "",
        *,
        is_of_many: bool = False,
    ) -> None:
        self._of_config = config_path, dict(environ), user
        self._run, self._is_of_many = run, is_of_many
        self._mark: str | None = None  # unknown
        self._begin()

    def _begin(self) -> None:
        """Begin without any value."""
        run, is_of_many = self._run, self._is_of_many
        self._for_review: tuple[str, int] = "", 0  # the ledger's path, and the messages that wait on Review
        self._beginnings: dict[bytes, str] = {}  # of the texts of messages
        self._doubts: tuple[OwnMail, _State, Doubts] | None = None  # the last judgement, and its open findings then
        self._judged_at = -math.inf  # when the overview last let all learned mail be judged
        self._own_mail = BackgroundValue(partial(_own_mail, most=_MOST_OF_MANY) if is_of_many else _own_mail, run)
        self._missing = BackgroundValue(_missing, run)
        self._weak = BackgroundValue(_weak_lessons, run)
        self._checkup = BackgroundValue(_checked, run)
        self._glance = BackgroundValue(partial(_checked, whole=False), here if is_of_many else run)
        self._waiting = BackgroundValue(self._count)
        self._newest = BackgroundValue(partial(_replayed, is_whole=False), run)
        self._replay = BackgroundValue(partial(_replayed, is_whole=True), run)

    def use(self, mark: str) -> None:
        """Drop all values if the ledger has another mark than before; "": there is none.

        After `spamnb users forget` somebody else may have the name, and the path of the ledger with it.
        """
        if self._mark not in (mark, None):
            self._begin()
        self._mark = mark

    @property
    def has_replay(self) -> bool:
        """Whether `replay` has an answer. It takes minutes of all cores, so the users of a mail host do not get it."""
        return not self._is_of_many

    def own_mail(self, ledger: Ledger, scoring: Scoring, after_answer: AfterAnswer) -> "Snapshot[OwnMail]":
        """Return all learned mail, each message judged without itself. It takes 5 s for 30,000."""
        return self._own_mail.ensure(_as_learned(ledger, scoring), after_answer)

    def judge_own_mail(self, ledger: Ledger, scoring: Scoring, now: float, after_answer: AfterAnswer) -> None:
        """Let all learned mail be judged again after new lessons, but only ten minutes after the last time."""
        snapshot = self._own_mail.look(_as_learned(ledger, scoring))
        if not snapshot.is_current and now - self._judged_at >= _AGAIN:
            self._judged_at = now
            self.own_mail(ledger, scoring, after_answer)

    def doubts(self, ledger: Ledger, learning: Learning) -> Doubts:
        """Return how many learned messages are misfiled; none before all mail is judged for the first time.

        None also as long as the filter knows too little: its doubts are only guesses.

        These are the findings of the last judgement that are still open. So a new lesson changes the number at once,
        although it takes seconds to judge all mail again.
        """
        mail, state = self._own_mail.last(ledger.path), _state(ledger)
        if mail is None or only_guesses(ledger, learning):
            return Doubts()
        known = self._doubts
        if known is None or known[0] is not mail or known[1] != state:
            known = self._doubts = mail, state, Doubts.of(still_asked(ledger, mail.findings))
        return known[2]

    def first_questions(self, ledger: Ledger) -> FirstQuestions:
        """Return the open questions about mail from before the filter; none before all mail is judged."""
        mail = self._own_mail.last(ledger.path)
        return FirstQuestions() if mail is None else without_answered(ledger, mail.first)

    def beginning(self, digest: bytes, find: Callable[[], str]) -> str:
        """Return the beginning of a message's text. find: reads it, which takes some milliseconds."""
        if digest not in self._beginnings:
            if len(self._beginnings) >= _MOST_BEGINNINGS:
                self._beginnings.clear()
            self._beginnings[digest] = find()
        return self._beginnings[digest]

    def missing(self, ledger: Ledger, scoring: Scoring, learning: Learning, after_answer: AfterAnswer) -> str:
        """Return what the filter must still learn before it moves mail, in words; "" for nothing.

        If the numbers do not decide it, ham is judged without itself, which takes 0.3 s with 500,000 tokens.
        """
        known = may_move.missing_by_numbers(ledger, learning)
        if known is not None:
            return known
        snapshot = self._missing.ensure((*_as_learned(ledger, scoring), learning), after_answer)
        return _UNKNOWN if snapshot.value is None else snapshot.value[0]

    def doubted_ham(self, ledger: Ledger, learning: Learning) -> tuple[bytes, ...]:
        """Return the learned ham that keeps mail from being moved, as far as `missing` has found it."""
        found = self._missing.last(ledger.path)
        return () if found is None or may_move.missing_by_numbers(ledger, learning) is not None else found[1]

    def weak_lessons(
        self, ledger: Ledger, scoring: Scoring, now: float, after_answer: AfterAnswer
    ) -> Snapshot[list[Misfiled]]:
        """Return the weak lessons that are in doubt. Without weak lessons there is nothing to judge."""
        since = now - LASTING
        if not ledger.messages.learned_weakly(since, 1):
            return Snapshot([], is_current=True)
        return self._weak.ensure((*_as_learned(ledger, scoring), since // _DAY), after_answer)

    def checkup(self, now: Callable[[], float], after_answer: AfterAnswer) -> Snapshot[Checked]:
        """Return the findings of doctor in this minute. It verifies the whole ledger, and walks all folders."""
        return self._checkup.ensure(self._minute(now), after_answer, lambda: self._minute(now))

    def glance(self, now: Callable[[], float], after_answer: AfterAnswer) -> Snapshot[Checked]:
        """Return the same, or before it is there, findings without the ledger's content: 30 ms with 58,000 messages."""
        snapshot = self._checkup.look(self._minute(now))
        if snapshot.is_current:
            return snapshot
        return self._glance.ensure(self._minute(now), after_answer, lambda: self._minute(now))

    def check_again(self) -> None:
        """Make all earlier findings old."""
        self._checkup.expire()
        self._glance.expire()

    def _minute(self, now: Callable[[], float]) -> _Minute:
        return *self._of_config, now() // _MINUTE

    def replay(
        self, config: Config, now: float, after_answer: AfterAnswer
    ) -> tuple[Snapshot["Replayed | Label"], Snapshot["Replayed | Label"]]:
        """Return what the filter would have done with the newest old mail, and with all of it, once a day."""
        key: _Past = str(config.ledger), _of_replay(config), now // _DAY
        newest, whole = self._newest.look(key), self._replay.look(key)
        if newest.is_current and _is_all(newest.value):
            return newest, newest
        if not (newest.is_current and whole.is_current):
            after_answer.append(lambda: self._find_replay(key))
        return newest, whole

    def _find_replay(self, key: _Past) -> None:
        """Find the first answer, then the other: only one of them is worked on at a time."""
        self._newest.find(key)
        newest = self._newest.look(key)
        if newest.is_current and not _is_all(newest.value):
            self._replay.find(key)

    def counted(self, ledger: Ledger, number: int) -> None:
        """Keep the number of messages that wait on Review."""
        self._for_review = ledger.path, number

    def badges(self, ledger: Ledger, learning: Learning) -> dict[str, int]:
        """Return how many messages wait on Review and Audit, by the last count. Without a count, the page is left out.

        A number stays until its new count is there: otherwise each lesson would take it from the menu for seconds.
        """
        numbers = {"audit": self.doubts(ledger, learning).clear}
        path, number = self._for_review
        return {**numbers, "review": number} if path == ledger.path else numbers

    def count_waiting(self, ledger: Ledger, config: Config, now: float, after_answer: AfterAnswer) -> None:
        """Count the messages for Review, unless that was done in this minute and the ledger has not changed.

        If the ledger is busy or damaged, this tries again in the next minute, and not at each page.
        """
        self._waiting.ensure_once((str(config.ledger), config, now // _MINUTE, _state(ledger)), after_answer)

    def _count(self, key: tuple[str, Config, float, _State], _: Tell) -> int:
        """Return how many messages wait for Review. It first judges the weak lessons, if they are out of date."""
        path, config, minute, _then = key
        now, first, counted = minute * _MINUTE, AfterAnswer(), self._for_review
        with _opened(path) as ledger:
            self.weak_lessons(ledger, config.scoring, now, first)
            for work in first:
                work()
            weak = self.weak_lessons(ledger, config.scoring, now, []).value or ()
            number = len(waiting(ledger, config, now - LASTING, weak).asked)
            if self._for_review is counted:  # otherwise the page itself has counted later mail
                self.counted(ledger, number)
        return number


def not_checked(snapshot: Snapshot[Checked]) -> str:
    """Return the heading of a page without a current check-up."""
    return "Not checked" if snapshot.has_failed else "Being checked"


def _state(ledger: Ledger) -> _State:
    return ledger.path, ledger.journal.newest_id(), ledger.lessons.last_change()


def _as_learned(ledger: Ledger, scoring: Scoring) -> _Judged:
    return ledger.path, ledger.lessons.last_change(), scoring


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Ledger]:
    with Ledger(path, busy_seconds=_BUSY_SECONDS, only_read=True) as ledger, ledger.snapshot():
        yield ledger


def _own_mail(key: _Judged, tell: Tell, most: int | None = None) -> "OwnMail":
    from spamnb.review.own_mail import MOST, judge_own_mail  # noqa: PLC0415 - the server itself needs none of it

    path, _, scoring = key
    with _opened(path) as ledger:
        return judge_own_mail(ledger, scoring, tell, MOST if most is None else most)


def _missing(key: tuple[str, int, Scoring, Learning], _: Tell) -> tuple[str, tuple[bytes, ...]]:
    path, _change, scoring, learning = key
    with _opened(path) as ledger:
        doubted = may_move.doubted_ham(ledger, scoring, learning)
        return may_move.find_missing(ledger, scoring, learning), tuple(lesson.digest for lesson in doubted)


def _weak_lessons(key: tuple[str, int, Scoring, float], _: Tell) -> list[Misfiled]:
    path, _change, scoring, day = key
    with _opened(path) as ledger:
        return weak_lessons(ledger, scoring, day * _DAY)


def _of_replay(config: Config) -> Config:
    """Return the part of a configuration on which a replay depends, in a form that can be pickled."""
    plain = (replace(one, roles=dict(one.roles), patterns=dict(one.patterns)) for one in config.mailboxes)
    return Config(
        mailboxes=tuple(plain),
        ledger=config.ledger,
        scoring=config.scoring,
        learning=config.learning,
        breaker=config.breaker,
        authserv_id=config.authserv_id,
        address_book=config.address_book,
    )


def _replayed(key: _Past, tell: Tell, *, is_whole: bool) -> "Replayed | Label":
    from spamnb.evaluation.past_mail import decisions  # noqa: PLC0415 - the server itself needs none of it
    from spamnb.evaluation.replay import QUICK, Rules, replay  # noqa: PLC0415 - as above
    from spamnb.setup.proposal import as_configured  # noqa: PLC0415 - as above

    path, config, _ = key
    decided = {}
    if size_of(present(path)):
        with _opened(path) as ledger:  # it is closed before the program forks
            decided = decisions(ledger.lessons)
    most = _MOST_REPLAYED if is_whole else QUICK
    return replay(map(as_configured, config.mailboxes), decided, Rules.of(config), most, tell)


def _is_all(found: "Replayed | Label | None") -> bool:
    """Tell whether an answer leaves out no older mail."""
    return isinstance(found, Label) or (found is not None and not found.others)


def _checked(key: _Minute, _: Tell, *, whole: bool = True) -> Checked:
    from spamnb.checkup.checkup import checkup  # noqa: PLC0415 - the server itself needs none of it
    from spamnb.exchange import checks as exchange_checks  # noqa: PLC0415 - as above
    from spamnb.notmuch import checks as notmuch_checks  # noqa: PLC0415 - as above
    from spamnb.spamd import checks as spamd_checks  # noqa: PLC0415 - as above

    path, environ, user, minute = key
    parts = notmuch_checks.CHECKS, spamd_checks.CHECKS, exchange_checks.CHECKS
    return Checked(tuple(checkup(Path(path), environ, user, parts=parts, whole=whole)), minute * _MINUTE)
