"""Count the SQL statements that the service uses for a message, by SQLite's own trace.

One mailbox is watched in this process, over a ledger that has learned some messages and moves mail. Each row covers one
event: all work from the hint about a file to the hint about the file that the service has moved.

ours: statements that the program gives SQLite. Each row of `executemany` counts as one; so do BEGIN, COMMIT and the
look at the ledger's version in each transaction. By triggers: those that triggers add; the same is done over two
ledgers, one of them without triggers.

    python benchmarks/statements.py [--show THING] [--json]
"""

import logging
import math
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import common

from spamnb.acts.moves import bases_now
from spamnb.acts.training import learn_message
from spamnb.base.label import How, Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Learning, Mailbox
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import Entry, deliver, scan
from spamnb.maildir.names import parse_name
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.context import Context
from spamnb.service.log import LogOnce

_ROLES = {"INBOX": Role.INBOX, "Junk": Role.SPAM, "Archive": Role.HAM}
_LEARNED = 60  # messages, half of them ham
_SPAM, _HAM, _FILED = 100, 101, 102  # numbers of sample messages
_TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger'"


class _Watched:
    """A mailbox that is watched in this process, with its own clock, and the statements that it needs."""

    def __init__(self, directory: Path, *, has_triggers: bool) -> None:
        self.root = directory / "mail"
        self.folders = {name: create_folder(str(self.root), "maildir++", name) for name in _ROLES}
        self._bases = bases_now()
        self._ahead = -1e6  # seconds; files have the kernel's time, so the clock begins before it
        path = directory / "ledger.sqlite"
        with Ledger(str(path)) as ledger:
            for number in range(_LEARNED):
                label = Label(number % 2)
                learn_message(ledger, message(label.word, number), label, "trained by hand", time.time(), how=How.HAND)
        if not has_triggers:
            _drop_triggers(path)
        self.ledger = Ledger(str(path))
        config = Config((Mailbox(self.root, _ROLES),), path, learning=Learning())
        faults = LogOnce(logging.getLogger("statements"))
        self._account = AwakeAccount(Context(config, self.ledger, self._now), faults)
        self._account.compare()
        for number in (_LEARNED, _LEARNED + 1):  # this is done once, before the first message is moved
            self.delivered("spam", number)

    def close(self) -> None:
        """Leave the mailbox and the ledger."""
        self._account.close()
        self.ledger.close()

    def _now(self) -> float:
        return time.time() + self._ahead

    def delivered(self, kind: str, number: int) -> list[str]:
        """Deliver a message to the inbox. Returns the statements."""
        path = Path(deliver(self.folders["INBOX"], message(kind, number), next(self._bases)))
        return self._hinted("INBOX", Entry("new", path.name))

    def moved(self, kind: str, number: int, source: str, goal: str) -> list[str]:
        """Move a message as a person does. Returns the statements."""
        where, content = self.folders[source], message(kind, number)
        (entry,) = (entry for entry in scan(where) if Path(entry.path(where)).read_bytes() == content)
        name = f"{next(self._bases)}:2,{parse_name(entry.name).flags}"
        Path(entry.path(where)).rename(Path(self.folders[goal].subdir("cur")) / name)
        return self._hinted(goal, Entry("cur", name))

    def _hinted(self, folder: str, entry: Entry) -> list[str]:
        """Give the service a hint about a file, and about files that it then makes. Returns the statements."""
        known = self._names()
        with self._traced() as statements:
            self._look(folder, entry)
            for name, new in (self._names() - known) - {(folder, entry)}:
                self._look(name, new)
        return statements

    def _look(self, folder: str, entry: Entry) -> None:
        self._account.look(str(self.root), self.folders[folder].path, entry)
        self._account.act_on_due()
        while (due := self._account.due()) < math.inf:
            self._ahead += max(0.0, due - self._now())
            self._account.act_on_due()

    def _names(self) -> set[tuple[str, Entry]]:
        return {(name, entry) for name, folder in self.folders.items() for entry in scan(folder)}

    @contextmanager
    def _traced(self) -> Iterator[list[str]]:
        statements: list[str] = []
        connection = self.ledger._connection._sqlite
        connection.set_trace_callback(statements.append)
        yield statements
        connection.set_trace_callback(None)


def _drop_triggers(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for (name,) in connection.execute(_TRIGGERS).fetchall():
            connection.execute(f"DROP TRIGGER {name}")


_THINGS: dict[str, Callable[[_Watched], list[str]]] = {
    "new spam, moved to Junk": lambda watched: watched.delivered("spam", _SPAM),
    "new ham, left in the inbox": lambda watched: watched.delivered("ham", _HAM),
    "a person moves it out of Junk": lambda watched: watched.moved("spam", _SPAM, "Junk", "INBOX"),
    "a person moves it into Junk": lambda watched: watched.moved("ham", _HAM, "INBOX", "Junk"),
    "and out of Junk again": lambda watched: watched.moved("ham", _HAM, "Junk", "INBOX"),
}


def main() -> None:
    """Cause each event, and print the number of its statements."""
    parser = common.arguments(__doc__)
    parser.add_argument("--show", choices=list(_THINGS), metavar="THING", help="print the statements of this row")
    options = parser.parse_args()
    ours, all_ = _measured(has_triggers=False), _measured(has_triggers=True)
    if options.show:
        for statement in ours[options.show]:
            print(" ".join(statement.split())[:150])
        return
    figures = []
    for thing, statements in ours.items():
        begins = Counter(statement.split()[0] for statement in statements)
        figures.append(
            {
                "thing": thing,
                "ours": len(statements),
                "by triggers": len(all_[thing]) - len(statements),
                "transactions": begins["BEGIN"],
                "reads": begins["SELECT"],
            }
        )
    common.report(figures, options.json)


def _measured(*, has_triggers: bool) -> dict[str, list[str]]:
    """Return the statements of each event, in order."""
    with tempfile.TemporaryDirectory() as name, closing(_Watched(Path(name), has_triggers=has_triggers)) as watched:
        return {thing: happen(watched) for thing, happen in _THINGS.items()}


if __name__ == "__main__":
    main()
