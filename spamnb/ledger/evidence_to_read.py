"""What the ledger at a path knows of messages to be judged; without numpy."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.sqlite.lookup import SqliteEvidence


@contextmanager
def evidence_to_read(path: str) -> Iterator[SqliteEvidence]:
    """Yield what the ledger at a path knows at this moment, for reading only. Raises LedgerError if it is unusable."""
    with closing(Connection(path, only_read=True)) as connection:
        try:
            with connection.snapshot():
                connection.row("PRAGMA cache_size = -16000")  # KB; many messages take a tenth less time
                yield SqliteEvidence(connection)
        except Exception as fault:
            from spamnb.ledger.values import damage_behind  # noqa: PLC0415 - with numpy, only then

            if (damage := damage_behind(connection, fault)) is not None:
                raise damage from fault
            raise
