"""The first page: the mail of today, whether all is well, how much was judged and how surely, and the last acts."""

import contextlib
import dataclasses
import itertools
import math
import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from spamnb.acts.flooded import flood_now
from spamnb.acts.none_of_these import unanswered
from spamnb.acts.not_yet import moved_nothing_until
from spamnb.base.wording import escaped, plural
from spamnb.checkup.finding import FAULT, OK, Finding
from spamnb.ledger.file.parts import rolling
from spamnb.ledger.history.describe import as_object
from spamnb.ledger.history.figures import Caught, Judged
from spamnb.ledger.history.lines import Wanted
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.apart import offers, put_apart
from spamnb.monitoring.status import Status, status
from spamnb.review.misfiled import Doubts
from spamnb.web.background_values import Snapshot
from spamnb.web.http import Response, as_json
from spamnb.web.kept_values import Checked
from spamnb.web.parts import charts
from spamnb.web.parts.charts import Chart
from spamnb.web.parts.first_group import first_group
from spamnb.web.parts.first_week import FirstWeek, first_week
from spamnb.web.parts.lines import acts
from spamnb.web.parts.mailbox_names import Names
from spamnb.web.rendering import clock
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_LATELY = 10
_IN_THE_BANNER = ("service", "moving")
_MOST_CORRECTED = 100  # per day; more are not counted
_BINS = 20
_WEEKS = 13
_DAY = 86_400.0
_SPANS: Mapping[str, tuple[int, int]] = {"7": (7, 1), "30": (30, 1), "90": (90, 3), "365": (364, 7)}  # days, per bar


def overview(visit: Visit) -> Response:
    """Return the state of the filter, its figures, and the newest acts."""
    ledger, config, kept = visit.ledger, visit.config, visit.site.kept
    snapshot = kept.glance(visit.site.now, visit.after_answer)
    known = status(config, ledger, visit.now, visit.missing)
    troubles = _troubles(snapshot, {*_IN_THE_BANNER, *(["learned"] if known.not_yet else [])})
    kept.judge_own_mail(ledger, config.scoring, visit.now, visit.after_answer)
    has_list = known.not_yet is not None and known.not_yet.questions > 0  # which asks about the same mail as Review
    waiting = 0 if has_list else kept.badges(ledger, config.learning).get("review", 0)
    told = ledger.state.told
    in_letter = 0 if told is None else len(unanswered(ledger, told.shown))
    asked = _asked(kept.doubts(ledger, config.learning), waiting, in_letter)
    counts_after = moved_nothing_until(ledger)
    today = _today(ledger, visit.now, counts_after)
    heading = _urgent(known, bool(config.mailboxes), troubles)
    is_first_week = known.not_yet is not None or (counts_after == math.inf and today.judged_at is not None)
    days = visit.request.query.one_of("days", _SPANS, "7" if known.missing or is_first_week else "30")
    spans = ledger.figures.judged(_bounds(visit.now, *_SPANS[days]), counts_after)
    week = _first_week(ledger, spans, today, known.junk) if is_first_week else None
    figures = _sum(spans)
    is_first_day = 0 < figures.messages == spans[-1].messages and spans[-1].until - spans[-1].since < 2 * _DAY
    words = week.words if week is not None and today.came else today.words
    since, scoring = max(figures.since, counts_after), config.scoring
    bins = ledger.figures.probabilities(_BINS, since, figures.until)
    return visit.page(
        "overview.html",
        title=words if heading is None else heading.words,
        words=words,
        heading=heading,
        asked=asked,
        known=known,
        doubted=visit.doubted_ham(),
        first=first_group(visit),
        flood=(flooded := flood_now(ledger, visit.now)),
        beside=[] if flooded is None else [ledger.messages.get(one.message) for one in flooded.known],
        is_checked=troubles is not None,
        has_failed=snapshot.has_failed,
        troubles=troubles or [],
        today=today,
        week=week,
        days=days,
        spans=list(_SPANS),
        figures=figures,
        since=counts_after if figures.since < counts_after < figures.until else None,
        by_day=_by_hour(ledger, visit.now, counts_after) if is_first_day else _by_day(spans),
        sureness=charts.histogram(
            bins, scoring.ham_cutoff, scoring.spam_cutoff, f"Messages by probability, last {days} days"
        ),
        caught=_caught(ledger, visit.now),
        lines=acts(ledger, ledger.lines.page(2 * _LATELY), Names(config))[:_LATELY],
        copied_at=_copied_at(str(config.ledger)),
        apart=put_apart(ledger, config, figures.since),
        folder_offers=offers(ledger, config, visit.now),
    )


def _troubles(snapshot: Snapshot[Checked], shown: Set[str]) -> list[Finding] | None:
    """Return faults and warnings without those that the page shows elsewhere; None if they are not known yet."""
    if snapshot.value is None or not snapshot.is_current:
        return None
    return [finding for finding in snapshot.value.findings if finding.state != OK and finding.what not in shown]


class Heading(NamedTuple):
    """A fact in a few words, and the next step.

    page, label: a link to it. resumes: show a button that starts moving again.
    """

    words: str
    page: str = ""
    label: str = ""
    resumes: bool = False


def _asked(doubts: Doubts, waiting: int, in_letter: int) -> list[Heading]:
    """Return the questions that wait for the person: first about misfiled mail, then about mail that is not sure.

    in_letter: the messages of the newest letter that nobody has decided on.
    """
    asked = (
        ("audit", sum(doubts) if doubts.clear else 0, doubts.heading),
        ("review", waiting, f"Not sure about {waiting:,}"),
        ("statement", in_letter, f"{plural(in_letter, 'message')} of your letter"),
    )
    return [
        Heading(words, page, f"Answer {'it' if number == 1 else 'them'}") for page, number, words in asked if number
    ]


def _urgent(known: Status, has_mailbox: bool, troubles: Sequence[Finding] | None) -> Heading | None:
    """Return the reason why the filter does not do its work, which is then the heading; None if there is none.

    troubles: faults and warnings, or None if they are not known yet.
    """
    faults = sum(finding.state == FAULT for finding in troubles or ())
    if known.stop is not None:
        return Heading("Moving has stopped" if known.stop.tripped_at is not None else "Moving is paused", resumes=True)
    if has_mailbox and not known.is_running:
        return Heading("The service is not running", "health", "What to do")
    return Heading(plural(faults, "fault"), "health", "What to do") if faults else None


@dataclass(frozen=True, slots=True)
class Today:
    """The mail that came since midnight, and the number of corrections since then.

    since, until: midnight, and the next. spam: by the person's word, or else by the verdict. unsure: by the verdict. A
    verdict counts if the filter could move mail then. judged_at: the last verdict, in seconds since the epoch, or None.
    """

    since: float
    until: float
    came: int
    spam: int
    unsure: int
    corrected: int
    judged_at: float | None

    @property
    def words(self) -> str:
        """The mail of today in a few words, for the heading."""
        if not self.came:
            return "No mail has come yet" if self.judged_at is None else "No mail has come today"
        of_spam = f"{self.spam:,} {'was' if self.spam == 1 else 'were'}" if self.spam else "none was"
        return f"Today {plural(self.came, 'message')} came, {of_spam} spam"


def _today(ledger: Ledger, now: float, counts_after: float) -> Today:
    figures, day = ledger.figures, _bounds(now, 1, 1)
    (received,), (spam,), (judged,) = (
        figures.received(day),
        figures.caught(day, counts_after),
        figures.judged(day, counts_after),
    )
    corrected = ledger.lines.page(_MOST_CORRECTED, Wanted(since=day[0], corrected=True))
    last = ledger.messages.last_judged_at()
    return Today(day[0], day[1], received.messages, spam.spam, judged.unsure, len(corrected), last)


def _bounds(now: float, days: int, step: int) -> list[float]:
    """Return the bounds of the last days up to the end of today, in spans of `step` days. Days are local."""
    midnight = datetime.fromtimestamp(_midnight(now)) + timedelta(days=1)
    return [(midnight - timedelta(days=ago)).timestamp() for ago in range(days, -1, -step)]


def _first_week(ledger: Ledger, spans: Sequence[Judged], today: Today, junk: str) -> FirstWeek:
    bounds = [spans[0].since, *(span.until for span in spans)]
    return first_week(ledger, bounds, _names(spans), (today.since, today.until), escaped(junk))


def _sum(spans: list[Judged]) -> Judged:
    """Return the sum of all spans."""
    names = [field.name for field in dataclasses.fields(Judged) if field.name not in ("since", "until")]
    sums = {name: sum(getattr(span, name) for span in spans) for name in names}
    return Judged(spans[0].since, spans[-1].until, **sums)


def _by_day(spans: list[Judged]) -> Chart:
    return charts.daily(spans, _names(spans), "Messages judged, by day")


def _by_hour(ledger: Ledger, now: float, counts_after: float) -> Chart:
    """Draw the judged mail of today's hours until now."""
    midnight = _midnight(now)
    bounds = [midnight + 3600.0 * hour for hour in range(int((now - midnight) // 3600) + 2)]
    spans = ledger.figures.judged(bounds, counts_after)
    return charts.daily(spans, [clock(each.since) for each in spans], "Messages judged today, by hour", "hour")


def _caught(ledger: Ledger, now: float) -> Chart | None:
    """Draw how much of the spam was caught in each of the last weeks; before there is spam of two weeks, in each day.

    None without spam in these days.
    """
    until = moved_nothing_until(ledger)
    weeks = ledger.figures.caught(_bounds(now, 7 * _WEEKS, 7), until)
    weeks = list(itertools.dropwhile(lambda week: not week.spam, weeks))
    if sum(week.spam > 0 for week in weeks) > 1:
        return charts.caught(weeks, _names(weeks), "Spam caught, by week", "week")
    days = ledger.figures.caught(_bounds(now, 7, 1), until)
    return charts.caught(days, _names(days), "Spam caught, by day", "day") if any(day.spam for day in days) else None


def _names(spans: Sequence[Judged] | Sequence[Caught]) -> list[str]:
    """Return the days of each span."""
    year = datetime.fromtimestamp(spans[-1].since).year
    return [_days(span, year) for span in spans]


def _days(span: Judged | Caught, year: int) -> str:
    """Return the day of a span, or its first and last day. A day of another year has its year."""
    days = (datetime.fromtimestamp(at) for at in (span.since, span.until - 3600.0))
    first, last = (day.strftime("%-d %b" if day.year == year else "%-d %b %Y") for day in days)
    return first if first == last else f"{first} to {last}"


def _midnight(now: float) -> float:
    return datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


def _copied_at(path: str) -> float | None:
    """Return the time of the service's last copy of the ledger, or None."""
    times = []
    for copy in rolling(path):
        with contextlib.suppress(OSError):  # a copy may just be replaced
            times.append(os.stat(copy).st_mtime)
    return max(times, default=None)


def overview_as_json(visit: Visit) -> Response:
    """Return the figures of the page, for a program."""
    ledger = visit.ledger
    figures = _sum(ledger.figures.judged(_bounds(visit.now, 30, 1)))
    known = status(visit.config, ledger, visit.now, visit.missing)
    values: dict[str, object] = {"running": known.is_running, "ham": known.ham, "spam": known.spam}
    values |= {
        "tokens": known.tokens,
        "missing": known.missing,
        "judged": ledger.messages.numbers(),
        "withheld": known.withheld,
    }
    values |= {"last_30_days": dataclasses.asdict(figures)}
    return as_json({**values, "actions": [as_object(line) for line in ledger.lines.page(_LATELY)]})


ROUTES = (Route("GET", "/", overview), Route("GET", "/overview.json", overview_as_json))
