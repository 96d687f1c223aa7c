"""A mail host from the outside: the row that a user's ledger gives, and the status and the metrics of all users.

Metrics are only sums, with no user in a label. Counters belong to one service, and begin at its start. Sums over
ledgers would fall when a user is forgotten; Prometheus would take that for a restart, and add all the rest again.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from spamnb.acts.may_move import missing_by_numbers, stop_of
from spamnb.config import Config
from spamnb.host.host import Host
from spamnb.host.register import AccountRow, FilterState, Sums, read
from spamnb.host.shares import Share, running
from spamnb.ledger.copies.copy import is_copied
from spamnb.ledger.file.parts import newest_copy, sizes
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.exposition import Histogram, Labels, Metric, exposition
from spamnb.monitoring.metrics import build_info, gauge, known_messages, labels_of

_SPAN = 30 * 86_400.0  # seconds for which verdicts are counted


def account_row(ledger: Ledger, config: Config, now: float) -> AccountRow:
    """Return the row of the user of a configuration, without stamp and fault. Raises LedgerError.

    It is made whenever an account goes to sleep, so it judges no message: 10 SQL statements, and 0.4 ms of CPU with
    1,500 messages judged in 30 days. Whether a filter that has learned enough would do no harm is found out at its next
    verdict (`acts.may_move.begin_if_ready`); until then it counts as learning. If the ledger waits for its copy,
    `uncopied_since` is now: the ledger does not tell since when.
    """
    copied_at = newest_copy(ledger.path)
    with ledger.snapshot():
        ham, spam = ledger.lessons.totals().tolist()[:2]
        (judged,) = ledger.figures.judged([now - _SPAN, math.inf])
        judged_at = ledger.messages.last_judged_at()
        told = None if config.service.statement == "off" else ledger.state.told
        is_waiting = bool(ham or spam or judged_at) and not is_copied(ledger, copied_at)
        return AccountRow(
            name=config.user,
            root=str(config.mailboxes[0].path),
            state=_state(ledger, config, now),
            ham=ham,
            spam=spam,
            judged={"ham": judged.ham, "unsure": judged.unsure, "spam": judged.spam},
            corrected=judged.corrected,
            judged_at=judged_at,
            bytes=sum(sizes(ledger.path)),
            copied_at=copied_at,
            uncopied_since=now if is_waiting else None,
            letter_at=None if told is None else told.at,
            letter_read=told is not None and ledger.locations.is_read(told.letter),
        )


def _state(ledger: Ledger, config: Config, now: float) -> FilterState:
    stop = stop_of(ledger, now)
    if stop is not None:
        return FilterState.PAUSED if stop.tripped_at is None else FilterState.STOPPED
    return FilterState.MOVING if missing_by_numbers(ledger, config.learning) == "" else FilterState.LEARNING


@dataclass(frozen=True, slots=True)
class HostStatus:
    """The status of a host.

    running: the shares whose services run, and since when, in seconds since the epoch. rows: of all users; sums: over
    them.
    """

    running: Mapping[Share, float]
    rows: Sequence[AccountRow]
    sums: Sums

    @property
    def in_need(self) -> int:
        """The number of users whose filter needs somebody's look: it is broken, or has stopped moving by itself."""
        return self.sums.states[FilterState.BROKEN] + self.sums.states[FilterState.STOPPED]


def host_status(host: Host) -> HostStatus:
    """Return the status of a host; without users if no service has started yet. Raises RegisterError."""
    rows = read(host.directory)
    return HostStatus(running(host.directory), rows, Sums.of(rows))


def host_metrics(
    config: Config,
    sums: Sums,
    now: float,
    *,
    is_running: bool,
    of_service: Iterable[Metric | Histogram] = (),
    instance: str = "",
) -> str:
    """Return the metrics of a host's users, or of one service's share of them, as text.

    config: the host's. of_service, instance: as in `monitoring.metrics.metrics`.
    """
    return exposition([*_gauges(config, sums, now, is_running), *of_service], labels_of(instance))


def _gauges(config: Config, sums: Sums, now: float, is_running: bool) -> Iterator[Metric]:
    states: dict[Labels, float] = {(("state", str(state)),): float(number) for state, number in sums.states.items()}
    yield build_info(config)
    yield from gauge("service_running", "Whether the service runs.", is_running)
    yield Metric("spamnb_users", "gauge", "Users, by the state of their filters.", states)
    yield known_messages(sums.ham, sums.spam)
    if sums.letters:
        read = {"yes": float(sums.letters_read), "no": float(sums.letters - sums.letters_read)}
        letters: dict[Labels, float] = {(("read", word),): number for word, number in read.items()}
        yield Metric("spamnb_letters", "gauge", "Users' newest letters, by whether they were read.", letters)
    yield from gauge("ledger_bytes", "Size of all ledgers with their logs and copies.", sums.bytes)
    yield from gauge("last_judgement_timestamp_seconds", "When a message was last judged.", sums.judged_at)
    if config.service.copies:
        copied_until = now if sums.uncopied_since is None else sums.uncopied_since
        yield from gauge("last_copy_timestamp_seconds", "Until when all ledgers are copied.", copied_until)
