"""What a monitor watches. Its names are those of Prometheus' conventions; no folder is in a label, and no user but by
the instance of the unit, as `anna` of spamnb@anna.

Counters are those of the ledger: they only grow, whatever is started again or forgotten. What a service measures itself
(`spamnb/service/measurements.py`) begins at 0 with it.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from spamnb import __version__
from spamnb.base import durable
from spamnb.base.label import JUDGED_BY, LEARNED_BY, How, Label, Verdict
from spamnb.config import Config
from spamnb.ledger.file.parts import rolling
from spamnb.ledger.history.tallies import Tally
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.exposition import Histogram, Labels, Metric, exposition
from spamnb.monitoring.status import Status, status

_TAUGHT_BY = [how for how in LEARNED_BY if how is not How.IMPORT]  # which brings counts, and no lesson


def write(path: str, text: str) -> None:
    """Put metrics into the place of a file, whole, for everybody to read. Raises OSError."""
    with durable.draft(path) as part:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(part, 0o644)  # node_exporter is another user


def of_instance(path: Path, instance: str) -> Path:
    """The file of one of several services: with its instance in the name, so that each has its own.

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
    """What is known of the filter of a configuration, as text. Raises LedgerError.

    of_service: what the service alone knows. instance: the label `service` of all samples, or "" for none; without it
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
    """The labels that all samples of one of several services have."""
    return (("service", instance),) if instance else ()


def counters(tallies: "Counter[Tally]") -> Iterator[Metric]:
    """The counters of messages."""
    labels = [label.word for label in Label]
    verdicts = list(Verdict)

    def counter(name: str, help_: str, kind: str, names: Sequence[str], values: Iterable[tuple[str, str]]) -> Metric:
        samples = {
            tuple(zip(names, pair, strict=False)): float(tallies[Tally(kind, *pair)]) for pair in values
        }  # 0 for what never was: a series that begins at 1 shows no increase
        return Metric(f"spamnb_{name}_messages_total", "counter", help_, samples)

    yield counter(
        "judged",
        "Messages judged as they came into a mailbox, by verdict and where it was given.",
        "judged",
        ("verdict", "via"),
        [(verdict, via) for verdict in verdicts for via in JUDGED_BY],
    )
    yield counter(
        "moved",
        "Messages moved by the filter; to the inbox: brought back, or filed from a training folder.",
        "moved",
        ("to",),
        [(to, "") for to in ("spam", "unsure", "inbox")],
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
        "Messages that a person called the other thing than the filter had, and for an hour at least.",
        "corrected",
        ("verdict", "label"),
        [(labels[1 - label], labels[label]) for label in Label],
    )


def gauge(name: str, help_: str, value: float | None) -> Iterator[Metric]:
    """A gauge without labels; nothing where there is no value."""
    if value is not None:
        yield Metric(f"spamnb_{name}", "gauge", help_, {(): float(value)})


def build_info(config: Config) -> Metric:
    """What program it is."""
    info: Labels = (("version", __version__), ("model", config.scoring.model))
    return Metric("spamnb_build_info", "gauge", "The version of spamnb and its event model.", {info: 1.0})


def known_messages(ham: int, spam: int) -> Metric:
    """How much was learned."""
    known: dict[Labels, float] = {(("label", "ham"),): float(ham), (("label", "spam"),): float(spam)}
    return Metric("spamnb_known_messages", "gauge", "Messages that the counts are made of.", known)


def _gauges(config: Config, found: Status, last: float | None) -> Iterator[Metric]:
    stop = found.stop
    is_open = stop is not None and stop.tripped_at is not None
    is_paused = stop is not None and stop.paused_until is not None
    yield build_info(config)
    yield from gauge("service_running", "Whether the service runs.", found.is_running)
    yield known_messages(found.ham, found.spam)
    yield from gauge("known_tokens", "Tokens with counts.", found.tokens)
    yield from gauge("armed", "Whether enough is learned to move mail.", not found.missing)
    yield from gauge("breaker_open", "Whether the filter has stopped moving mail by itself.", is_open)
    yield from gauge("paused", "Whether a person has stopped moving.", is_paused)
    yield from gauge("withheld_messages", "Messages that were not moved since moving is stopped.", found.withheld)
    if found.shared is not None:
        yield from gauge("untold_lessons", "Lessons that wait to be told to other hosts.", found.shared.untold)
    yield from gauge("mailboxes", "Configured mailboxes.", len(config.mailboxes))
    yield from gauge("missing_mailboxes", "Mailboxes that are not there, or have no inbox.", len(found.without_inbox))
    yield from gauge("ledger_bytes", "Size of the ledger with its log.", found.disk.ledger + found.disk.wal)
    yield from gauge("copies_bytes", "Size of the rolling copies of the ledger.", found.disk.copies)
    yield from gauge("last_judgement_timestamp_seconds", "When a message was last judged.", last)
    yield from gauge("last_copy_timestamp_seconds", "When the ledger was last copied; 0: never.", _last_copy(config))


def _last_copy(config: Config) -> float | None:
    """When the newest rolling copy was made; None where none are to be made."""
    if not config.service.copies:
        return None
    for path in rolling(str(config.ledger)):
        try:
            return os.stat(path).st_mtime
        except OSError:  # an older one is being removed
            continue
    return 0.0
