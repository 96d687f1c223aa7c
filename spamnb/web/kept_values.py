"""The values that are worked out beside the pages: of what each is, and how it is found.

Each is found in a process of its own, so it imports what it needs only there.
"""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spamnb.acts import may_move
from spamnb.checkup.finding import Finding
from spamnb.config import Config, Learning, Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.review.misfiled import Misfiled, still_asked
from spamnb.review.queue import LASTING, waiting, weak_lessons
from spamnb.web.background import Run, Tell, here
from spamnb.web.kept import After, Looked, Worked

if TYPE_CHECKING:
    from spamnb.review.own_mail import OwnMail

_BUSY_SECONDS = 10.0  # for a ledger in use: no request waits here
_MINUTE, _DAY = 60.0, 86_400.0
_AGAIN = 10 * _MINUTE
_UNKNOWN = "it is being looked at whether your ham would be taken for spam"
# Of one of many users: what is kept of that takes at most 0.5 MB, and a second to find.
_MOST_OF_MANY = 5_000
_Judged = tuple[str, int, Scoring]  # the ledger's path, and the number of its last lesson
_State = tuple[str, int, int]  # the ledger's path, and the numbers of its last action and its last lesson
_Minute = tuple[str, dict[str, str], str, float]  # what the configuration is read from, the user, and the minute


class Checked(NamedTuple):
    """What was found wrong or right, and since when it is so, in seconds since the epoch."""

    findings: tuple[Finding, ...]
    at: float


class KeptValues:
    """The values of one person's pages. run: where what takes memory or seconds is done. user: of a mail host.

    is_of_many: this server shows the pages of all its users.
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
        self._counted: dict[str, tuple[_State, int]] = {}  # by page: how many messages waited there, and when
        self._misfiled_at = -math.inf  # when all learned mail was judged last for the overview
        self._own_mail = Worked(partial(_own_mail, most=_MOST_OF_MANY) if is_of_many else _own_mail, run)
        self._missing = Worked(_missing, run)
        self._weak = Worked(_weak_lessons, run)
        self._checkup = Worked(_checked, run)
        self._glance = Worked(partial(_checked, whole=False), here if is_of_many else run)
        self._waiting = Worked(self._count)

    def own_mail(self, ledger: Ledger, scoring: Scoring, after: After) -> "Looked[OwnMail]":
        """All learned mail, each message judged without itself: 5 s for 30,000."""
        return self._own_mail.ensure(_as_learned(ledger, scoring), after)

    def misfiled(self, ledger: Ledger, scoring: Scoring, now: float, after: After) -> int:
        """How many learned messages are probably misfiled, by what was found last; 0 before anything was found.

        All learned mail is judged for it, so that is begun again only after ten minutes.
        """
        looked = self._own_mail.look(_as_learned(ledger, scoring))
        if not looked.is_current and now - self._misfiled_at >= _AGAIN:
            self._misfiled_at = now
            self.own_mail(ledger, scoring, after)
        return 0 if looked.value is None else _clear(ledger, looked.value.findings)

    def missing(self, ledger: Ledger, scoring: Scoring, learning: Learning, after: After) -> str:
        """What has still to be learned before mail is moved, in words; "" for nothing.

        Where numbers alone do not tell, ham is judged without itself, which takes 0.3 s with 500,000 tokens.
        """
        known = may_move.known_missing(ledger, learning)
        if known is not None:
            return known
        looked = self._missing.ensure((*_as_learned(ledger, scoring), learning), after)
        return _UNKNOWN if looked.value is None else looked.value

    def weak_lessons(self, ledger: Ledger, scoring: Scoring, now: float, after: After) -> Looked[list[Misfiled]]:
        """What was learned weakly and is in doubt. Where nothing was learned weakly, nothing has to be judged."""
        since = now - LASTING
        if not ledger.messages.learned_weakly(since, 1):
            return Looked([], is_current=True)
        return self._weak.ensure((*_as_learned(ledger, scoring), since // _DAY), after)

    def checkup(self, now: Callable[[], float], after: After) -> Looked[Checked]:
        """What doctor finds in this minute: it proves the whole ledger, and walks all folders."""
        return self._checkup.ensure(self._minute(now), after, lambda: self._minute(now))

    def glance(self, now: Callable[[], float], after: After) -> Looked[Checked]:
        """The same; where that is not known, without the content of the ledger: 30 ms with 58,000 messages known."""
        looked = self._checkup.look(self._minute(now))
        if looked.is_current:
            return looked
        return self._glance.ensure(self._minute(now), after, lambda: self._minute(now))

    def check_again(self) -> None:
        """What was found before is old."""
        self._checkup.expire()
        self._glance.expire()

    def _minute(self, now: Callable[[], float]) -> _Minute:
        return *self._of_config, now() // _MINUTE

    def counted(self, page: str, ledger: Ledger, number: int) -> None:
        """That so many messages wait on a page, by what the ledger says now."""
        self._counted[page] = _state(ledger), number

    def badges(self, ledger: Ledger, scoring: Scoring) -> dict[str, int]:
        """How many messages wait on Review and Audit, where that is known of the ledger as it is now."""
        self._count_misfiled(ledger, scoring)
        now = _state(ledger)
        return {page: number for page, (then, number) in self._counted.items() if then == now}

    def _count_misfiled(self, ledger: Ledger, scoring: Scoring) -> None:
        then, _ = self._counted.get("audit", (None, 0))
        looked = self._own_mail.look(_as_learned(ledger, scoring))
        if then != _state(ledger) and looked.is_current and looked.value is not None:
            self.counted("audit", ledger, _clear(ledger, looked.value.findings))

    def count_waiting(self, ledger: Ledger, config: Config, now: float, after: After) -> None:
        """Let it be counted what waits for Review, unless that was done in this minute, and nothing was done since.

        Where the ledger is busy or damaged it is tried again in the next minute, not by each page.
        """
        self._waiting.ensure_once((str(config.ledger), config, now // _MINUTE, _state(ledger)), after)

    def _count(self, key: tuple[str, Config, float, _State], _: Tell) -> int:
        """How many messages wait for Review; what was learned weakly is judged before, where it has to be."""
        path, config, minute, _then = key
        now, first = minute * _MINUTE, After()
        with _opened(path) as ledger:
            self.weak_lessons(ledger, config.scoring, now, first)
            for work in first:
                work()
            weak = self.weak_lessons(ledger, config.scoring, now, []).value or ()
            number = len(waiting(ledger, config, now - LASTING, weak).asked)
            self.counted("review", ledger, number)
        return number


def not_checked(looked: Looked[Checked]) -> str:
    """The heading of a page for which there is no current check-up."""
    return "Not checked" if looked.has_failed else "Being checked"


def _clear(ledger: Ledger, findings: Iterable[Misfiled]) -> int:
    """How many of the findings of before still stand and are clear: only these are looked up."""
    return len(still_asked(ledger, (one for one in findings if one.is_clear)))


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


def _missing(key: tuple[str, int, Scoring, Learning], _: Tell) -> str:
    path, _change, scoring, learning = key
    with _opened(path) as ledger:
        return may_move.missing(ledger, scoring, learning)


def _weak_lessons(key: tuple[str, int, Scoring, float], _: Tell) -> list[Misfiled]:
    path, _change, scoring, day = key
    with _opened(path) as ledger:
        return weak_lessons(ledger, scoring, day * _DAY)


def _checked(key: _Minute, _: Tell, *, whole: bool = True) -> Checked:
    from spamnb.checkup.checkup import checkup  # noqa: PLC0415 - the server itself needs none of it

    path, environ, user, minute = key
    return Checked(tuple(checkup(Path(path), environ, user, whole=whole)), minute * _MINUTE)
