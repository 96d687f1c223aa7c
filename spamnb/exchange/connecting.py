"""Connect to the log that a configuration names; its library is imported only if there is one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spamnb.base.errors import ExchangeError

if TYPE_CHECKING:
    from spamnb.exchange.postgresql import PostgresLog


def connected(database: str, give_up: Callable[[], bool] = lambda: False) -> "PostgresLog":
    """Return the log in that database; as a context it closes the connection.

    give_up: tells whether an answer is no longer wanted. Raises ExchangeAwayError if the log cannot be reached, and
    ExchangeError.
    """
    with _installed():
        from spamnb.exchange.postgresql import PostgresLog
    return PostgresLog(database, give_up)


def upgrade(database: str) -> tuple[int, int]:
    """Create the tables of the log, or bring them to this version. Returns the versions before (0: none) and after."""
    with _installed():
        from spamnb.exchange.postgresql import upgrade
    return upgrade(database)


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ImportError as fault:
        step = "install it: apt-get install python3-psycopg, or pip install 'psycopg[binary]'"
        raise ExchangeError(f"psycopg cannot be used ({fault}): {step}") from fault
