"""Check the lessons shared with other hosts, by what the ledger itself knows: the database is not asked."""

import importlib.util
import time
from collections.abc import Iterator

from spamnb.base.wording import plural
from spamnb.checkup.finding import Finding, fault, ok, warning
from spamnb.checkup.part_checks import PartChecks
from spamnb.config import Config
from spamnb.host.host import Host
from spamnb.host.unsent import shared_by_users, unsent
from spamnb.ledger.file.replacement import present
from spamnb.ledger.ledger import Ledger

_IS_LATE = 900.0  # seconds; an unreachable database is tried again after five minutes at most
_STEP = "{} exchange --status says whether the database can be reached; see that the service runs"


def of_exchange(config: Config, spamnb: str, _: bool) -> Iterator[Finding]:
    """Check that lessons are sent and received, and name those that are never sent; nothing if nothing is shared."""
    if config.exchange.database is None or not config.ledger.exists():
        return
    yield from _installed()
    with Ledger(present(str(config.ledger)), only_read=True) as ledger:
        shared, imported = ledger.shared(), sum(ledger.lessons.imported())
    if not shared.log or shared.received < shared.to_receive or _is_late(shared.waiting_since):
        yield warning("exchange", shared.words, _STEP.format(spamnb))
    else:
        yield ok("exchange", shared.words)
    counts = f"counts of {plural(imported, 'message')} that were imported, " if imported else ""
    yield ok("exchange", f"only on this host, never sent: {counts}the changes of `prune` and `train --again`")


def of_exchange_of_users(host: Host, spamnb: str, _: bool) -> Iterator[Finding]:
    """Check that the lessons of all users of a mail host are sent; nothing if nothing is shared."""
    if host.template.exchange.database is None:
        return
    yield from _installed()
    found = unsent(shared_by_users(host).values())
    if found.strangers or _is_late(found.since):
        yield warning("exchange", found.words, _STEP.format(f"{spamnb} --user NAME"))
    else:
        yield ok("exchange", found.words)


CHECKS = PartChecks(of_exchange, of_exchange_of_users)


def _installed() -> Iterator[Finding]:
    if importlib.util.find_spec("psycopg") is None:
        step = "apt-get install python3-psycopg, or pip install 'psycopg[binary]'"
        yield fault("exchange", "psycopg is not installed, so nothing is sent or received", step)


def _is_late(since: float | None) -> bool:
    return since is not None and time.time() - since > _IS_LATE
