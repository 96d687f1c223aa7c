"""The metrics of a mail host: only sums, and no user in a label.

Counters belong to one service, and begin at its start. Sums over ledgers would fall when a user is forgotten;
Prometheus would take that for a restart, and add all the rest again.
"""

from collections.abc import Iterable, Iterator

from spamnb.config import Config
from spamnb.host.register import Sums
from spamnb.monitoring.exposition import Histogram, Labels, Metric, exposition
from spamnb.monitoring.metrics import build_info, gauge, known_messages, labels_of


def host_metrics(
    config: Config, sums: Sums, *, is_running: bool, of_service: Iterable[Metric | Histogram] = (), instance: str = ""
) -> str:
    """Return the metrics of a host's users, or of one service's share of them, as text.

    config: the host's. of_service, instance: as in `monitoring.metrics.metrics`.
    """
    return exposition([*_gauges(config, sums, is_running), *of_service], labels_of(instance))


def _gauges(config: Config, sums: Sums, is_running: bool) -> Iterator[Metric]:
    states: dict[Labels, float] = {(("state", str(state)),): float(number) for state, number in sums.states.items()}
    yield build_info(config)
    yield from gauge("service_running", "Whether the service runs.", is_running)
    yield Metric("spamnb_users", "gauge", "Users, by the state of their filters.", states)
    yield known_messages(sums.ham, sums.spam)
    yield from gauge("ledger_bytes", "Size of all ledgers with their logs and copies.", sums.bytes)
    yield from gauge("last_judgement_timestamp_seconds", "When a message was last judged.", sums.judged_at)
