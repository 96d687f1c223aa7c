"""The metrics of one ledger, named by the conventions of Prometheus.

No folder is in a label. A user is in one only as the instance of the unit, such as `anna` of spamnb@anna.

Counters are the ledger's: they only grow, even over restarts and forgetting. A service's own measurements
(`spamnb/service/measurements.py`) begin at 0 with the service.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from spamnb import __version__
from spamnb.acts.not_yet import NotYet
from spamnb.base import durable
from spamnb.base.label import JUDGED_BY, LEARNED_BY, How, Label, Role, Verdict
from spamnb.config import Config
from spamnb.ledger.file.parts import newest_copy
from spamnb.ledger.history.tallies import Tally
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.exposition import Histogram, Labels, Metric, exposition
from spamnb.monitoring.status import Status, status

_TAUGHT_BY = [how for how in LEARNED_BY if how is not How.IMPORT]  # an import brings counts, but no lesson


def write(path: str, text: str) -> None:
    """Replace a file of metrics as a whole, readable by everybody. Raises OSError."""
    with durable.draft(path) as part:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(part, 0o644)  # node_exporter is another user


def of_instance(path: Path, instance: str) -> Path:
    """Return the file of one of several services: its instance is in the name, so that each has its own.

    >>> str(of_instance(Path("/m/spamnb.prom"), "anna")), str(of_instance(Path("/m/spamnb.prom"), ""))
    ('/m/spamnb@anna.prom', '/m/spamnb.prom')
    """
    return path.with_name(f"{path.stem}@{instance}{path.suffix}") if instance else path


def metrics(
    config: Config,
    ledger: Ledger | None,
    now: float,
    of_service: Iterable[Metric | Histogram] = (),
    instance: str = "",
) -> str:
    """Return the metrics of a configuration's filter, as text. Raises LedgerError.

    of_service: what only the service knows. instance: the label `service` of all samples, or "" for none; without it
    the series of two services of a host would be the same.
    """
    found = status(config, ledger, now)
    tallies: Counter[Tally] = Counter()
    last = None
    if ledger is not None:
        with ledger.snapshot():
            tallies, last = ledger.tallies.read(now), ledger.messages.last_judged_at()
    return exposition([*counters(tallies), *_gauges(config, found, last), *of_service], labels_of(instance))


def labels_of(instance: str) -> Labels:
    """Return the labels of all samples of one of several services."""
    return (("service", instance),) if instance else ()


def counters(tallies: "Counter[Tally]") -> Iterator[Metric]:
    """Yield the counters of messages."""
    labels = [label.word for label in Label]
    verdicts = list(Verdict)

    def counter(name: str, help_: str, kind: str, names: Sequence[str], values: Iterable[tuple[str, str]]) -> Metric:
        samples = {
            tuple(zip(names, pair, strict=False)): float(tallies[Tally(kind, *pair)]) for pair in values
        }  # 0 for what never happened: a series that begins at 1 shows no increase
        return Metric(f"spamnb_{name}_messages_total", "counter", help_, samples)

    yield counter(
        "judged",
        "Messages judged on arrival in a mailbox, by verdict and by where it was given.",
        "judged",
        ("verdict", "via"),
        [(verdict, via) for verdict in verdicts for via in JUDGED_BY],
    )
    yield counter(
        "moved",
        "Messages that the filter moved. To the inbox: brought back, or filed from a training folder.",
        "moved",
        ("to",),
        [(to, "") for to in (*(role for role in Role if role.is_goal), "inbox")],
    )
    yield counter(
        "learned",
        "Messages learned, by label and by what taught it.",
        "learned",
        ("label", "by"),
        [(label, by) for label in labels for by in _TAUGHT_BY],
    )
    yield counter(
        "corrected",
        "Verdicts that a person corrected, and did not take back within an hour.",
        "corrected",
        ("verdict", "label"),
        [(labels[1 - label], labels[label]) for label in Label],
    )


def gauge(name: str, help_: str, value: float | None) -> Iterator[Metric]:
    """Yield a gauge without labels; nothing if it has no value."""
    if value is not None:
        yield Metric(f"spamnb_{name}", "gauge", help_, {(): float(value)})


def build_info(config: Config) -> Metric:
    """Return the version of the program."""
    info: Labels = (("version", __version__), ("model", config.scoring.model))
    return Metric("spamnb_build_info", "gauge", "The version of spamnb and its event model.", {info: 1.0})


def known_messages(ham: int, spam: int) -> Metric:
    """Return how much was learned."""
    known: dict[Labels, float] = {(("label", "ham"),): float(ham), (("label", "spam"),): float(spam)}
    return Metric("spamnb_known_messages", "gauge", "Learned messages behind the counts.", known)


def needed_messages(why: NotYet | None) -> Metric:
    """Return how much must still be learned before mail is moved."""
    missing = (0, 0) if why is None else (why.waiting.ham_missing, why.waiting.spam_missing)
    samples: dict[Labels, float] = {
        (("label", label.word),): float(number) for label, number in zip(Label, missing, strict=True)
    }
    return Metric("spamnb_needed_messages", "gauge", "Messages still to be learned before mail is moved.", samples)


def _gauges(config: Config, found: Status, last: float | None) -> Iterator[Metric]:
    stop = found.stop
    is_open = stop is not None and stop.tripped_at is not None
    is_paused = stop is not None and stop.paused_until is not None
    yield build_info(config)
    yield from gauge("service_running", "Whether the service runs.", found.is_running)
    yield known_messages(found.ham, found.spam)
    yield from gauge("known_tokens", "Tokens with counts.", found.tokens)
    yield from gauge("armed", "Whether enough is learned to move mail.", not found.missing)
    yield needed_messages(found.not_yet)
    yield from gauge("breaker_open", "Whether the filter has stopped moving mail by itself.", is_open)
    yield from gauge("paused", "Whether a person has stopped moving.", is_paused)
    yield from gauge("withheld_messages", "Messages that were not moved because moving is stopped.", found.withheld)
    if found.shared is not None:
        yield from gauge("unsent_lessons", "Lessons that wait to be sent to other hosts.", found.shared.unsent)
    yield from gauge("mailboxes", "Configured mailboxes.", len(config.mailboxes))
    yield from gauge("missing_mailboxes", "Mailboxes that are missing, or have no inbox.", len(found.without_inbox))
    yield from gauge("ledger_bytes", "Size of the ledger with its log.", found.disk.ledger + found.disk.wal)
    yield from gauge("copies_bytes", "Size of the rolling copies of the ledger.", found.disk.copies)
    yield from gauge("last_judgement_timestamp_seconds", "When a message was last judged.", last)
    yield from gauge("last_copy_timestamp_seconds", "When the ledger was last copied; 0: never.", _last_copy(config))


def _last_copy(config: Config) -> float | None:
    """Return when the newest rolling copy was made; None if copies are turned off."""
    return (newest_copy(str(config.ledger)) or 0.0) if config.service.copies else None
