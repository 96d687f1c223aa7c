"""The log that a configuration names; its library is imported only where there is one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spamnb.base.errors import ExchangeError

if TYPE_CHECKING:
    from spamnb.exchange.postgresql import PostgresLog


def connected(database: str, give_up: Callable[[], bool] = lambda: False) -> "PostgresLog":
    """The log in that database; as a context it closes the connection. give_up: whether no answer is wanted any more.

    Raises ExchangeAwayError where it cannot be reached, ExchangeError.
    """
    with _installed():
        from spamnb.exchange.postgresql import PostgresLog
    return PostgresLog(database, give_up)


def upgrade(database: str) -> tuple[int, int]:
    """Make the tables of the log, or bring them to this version. Returns the versions before (0: none) and after."""
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
