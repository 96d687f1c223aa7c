"""The program with different words in all sentences for people: nothing else may change.

What reaches a ledger is changed by triggers of the connection alone, so that a sentence that is written tomorrow is
changed too, and all that reads the ledger goes on with what is in it. What is decided on the way there is changed where
it is made.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from spamnb.ledger.connection import Connection
from spamnb.rules.destination import Destination
from spamnb.rules.reactions import Reaction

SENTENCES = {  # column and key
    "lesson": ("why", "id"),
    "import": ("why", "id"),
    "action": ("why", "id"),
    "early_verdict": ("asker", "digest"),
}
_MARK = "~ in other words "


@contextmanager
def in_other_words() -> Iterator[None]:
    """Replace each sentence by a different one; no two are equal."""
    numbers = itertools.count()

    def reworded(_: object = None) -> str:
        return f"{_MARK}{next(numbers)}"

    begin = Connection._begin

    def begun(self: Connection, busy_seconds: float) -> None:
        begin(self, busy_seconds)
        self._sqlite.create_function("reworded", 1, reworded)
        for table, (column, key) in SENTENCES.items():
            for event in ("INSERT", f"UPDATE OF {column}"):
                self._sqlite.execute(
                    f'CREATE TEMP TRIGGER "reword {table} {event}" AFTER {event} ON main.{table}'
                    f" WHEN NEW.{column} NOT LIKE '{_MARK}%' BEGIN"
                    f" UPDATE {table} SET {column} = reworded(NEW.{column}) WHERE {key} = NEW.{key}; END"
                )

    def made(kind: type) -> Any:
        make = kind.__init__

        def remade(self: object, *values: Any, **named: Any) -> None:
            make(self, *values, **named)
            object.__setattr__(self, "why", reworded())

        return mock.patch.object(kind, "__init__", remade)

    with mock.patch.object(Connection, "_begin", begun), made(Reaction), made(Destination):
        yield
