"""Work with the log from the prompt: a round now, a look, and forgetting a user."""

import os
from collections.abc import Iterable, Mapping

from spamnb.base.errors import ExchangeError, UsageError
from spamnb.config import Config, Exchange
from spamnb.exchange.connecting import connected
from spamnb.exchange.port import News, news_of
from spamnb.exchange.rounds import Round, exchange
from spamnb.ledger.ledger import Ledger


def host_of(settings: Exchange) -> str:
    """Return this host's name in the history of the others."""
    return settings.host or os.uname().nodename.partition(".")[0] or "host"


def exchange_now(config: Config, ledger: Ledger) -> Round:
    """Make a whole round for the configuration's ledger. Raises ExchangeError, LedgerError, and UsageError as below."""
    database, account = database_of(config), account_of(config)
    with connected(database) as log:
        return exchange(ledger, log, account, host_of(config.exchange), news_of(log, [account])[account])


def look(config: Config) -> tuple[News | None, ExchangeError | None]:
    """Return the log's state of the configuration's account; or None, and why the log cannot be asked."""
    database_of(config)  # raises first: without one nothing else is missing
    account = account_of(config)
    found, fault = look_at(config, [account])
    return (None if found is None else found[account]), fault


def look_at(config: Config, accounts: Iterable[str]) -> tuple[Mapping[str, News] | None, ExchangeError | None]:
    """Return the log's state of these accounts; or None, and why the log cannot be asked."""
    database = database_of(config)
    try:
        with connected(database) as log:
            return news_of(log, accounts), None
    except ExchangeError as fault:
        return None, fault


def forget(settings: Exchange, account: str, at: float) -> None:
    """Delete all lessons of a user from the log. Each host that asks for news then removes its ledger of that user.

    Does nothing if nothing is shared. at: now, in seconds since the epoch. Call this before this host's own ledger is
    removed (`ledger.file.removal`): if the log cannot be reached (ExchangeError), its lessons would come back.
    """
    if settings.database is not None:
        with connected(settings.database) as log:
            log.forget(account, at)


def database_of(config: Config) -> str:
    """Return the database of a configuration. Raises UsageError if there is none."""
    if config.exchange.database is None:
        raise UsageError("nothing is shared: set exchange.database in the configuration (docs/exchange.md)")
    return config.exchange.database


def account_of(config: Config) -> str:
    """Return the user's name in the log. Raises UsageError if there is no name."""
    if config.account is None:
        raise UsageError("the configuration names no user for the log: set exchange.user")
    return config.account
