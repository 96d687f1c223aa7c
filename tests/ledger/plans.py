"""How SQLite carries out what a part of the ledger asks."""

from collections.abc import Callable

from spamnb.ledger.ledger import Ledger


def plans(ledger: Ledger, ask: Callable[[], object]) -> list[list[str]]:
    """Collect the plan of each statement that is run, in steps, without the terms in parentheses behind them."""
    statements: list[str] = []
    ledger._connection._sqlite.set_trace_callback(statements.append)
    ask()
    ledger._connection._sqlite.set_trace_callback(None)
    explained = (ledger._connection.all(f"EXPLAIN QUERY PLAN {statement}") for statement in statements)
    return [[row[3].partition(" (")[0] for row in rows] for rows in explained]
