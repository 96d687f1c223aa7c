"""Measure the cost of sharing lessons by the log in PostgreSQL: sending and receiving, a round, asking for news.

It uses two ledgers and an empty database, whose connection string is given. In a temporary cluster:

    pg_virtualenv python benchmarks/exchange.py CORPUS [--rows 100000 5000000] [--json]

client, server: milliseconds of processor time per item, in this process and in the database's session; None if the
session runs elsewhere. p50, p99: milliseconds of real time. wal, row: bytes of the write-ahead log per item, and of the
table with its indexes per row.

--rows: the log has this number of made-up rows besides, 1,000 per user. For each number it measures the cost of sending
a lesson, of receiving it, and of receiving 50 old ones of random users, which are on the disk. cpu x, p50 x:
the cost relative to that with the first number. They take some 2.2 KB of disk each.

Waiting times depend on the disk's fsync and on other work: `chrt -r 1`, and a cluster on tmpfs, exclude both.
"""

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import common
import psycopg

from spamnb.acts.training import learn_together, relabel
from spamnb.base.label import How, Label
from spamnb.evaluation.corpus import load_corpus
from spamnb.exchange.connecting import connected, upgrade
from spamnb.exchange.port import news_of
from spamnb.exchange.postgresql import _RECEIVE, PostgresLog
from spamnb.exchange.rounds import exchange
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import LessonCopy, Relabel
from spamnb.mail.reading import Reading, read

_TAUGHT, _MORE = 1000, 100  # messages: learned at first, and one by one
_ASKED = 5000  # users
_PER_USER = 1000  # made-up rows
_SAMPLES = 500
_TICKS = os.sysconf("SC_CLK_TCK")
_BLOB = (
    "CREATE TABLE made_up AS SELECT string_agg(sha256(n::text::bytea), '') AS bytes FROM generate_series(1, 4000) AS n"
)
_USERS = "INSERT INTO account (name, seq) SELECT 'user' || n, %s FROM generate_series(%s::int, %s::int) AS n"
_ROWS = """
    INSERT INTO lesson SELECT id, n, sha256((id::text || ' ' || n::text)::bytea), n %% 2, false, n, 'move',
        'moved to a folder', 'mx1', 4, substr(bytes, 1 + (random() * 120000)::int, 1614), '\\x0102030405060708',
        'A subject of some words, and who has written it (anna@b.example)'
    FROM account, generate_series(1, %s) AS n, made_up
    WHERE name = ANY (SELECT 'user' || m FROM generate_series(%s::int, %s::int) AS m)"""


class Bench:
    """The log in the database, two ledgers, and the measurements."""

    def __init__(self, directory: Path, database: str, log: PostgresLog) -> None:
        self.log = log
        self.admin = psycopg.connect(database, autocommit=True)
        is_here = log._db.info.host.startswith("/")
        self._session = Path(f"/proc/{log._db.info.backend_pid}/stat") if is_here else None
        self.here, self.there = (Ledger(str(directory / name / "ledger")) for name in ("here", "there"))
        self.figures: list[dict[str, object]] = []

    def close(self) -> None:
        """Close everything that is open."""
        for one in (self.here, self.there, self.admin):
            one.close()

    def measure(
        self,
        what: str,
        steps: int,
        step: Callable[[int], object],
        before: Callable[[int], object] | None = None,
        of: int = 1,
    ) -> dict[str, object]:
        """Take that number of steps, each for `of` items. before: done before each step, and not measured."""
        wal, server, client, waits = self._wal(), self._server(), 0.0, []
        for number in range(steps):
            if before is not None:
                before(number)
            began, spent = time.perf_counter(), time.process_time()
            step(number)
            waits.append(1000 * (time.perf_counter() - began))
            client += time.process_time() - spent
        each = steps * of
        at_server = None if server is None else 1000 * ((self._server() or 0.0) - server) / each
        cuts = statistics.quantiles(waits, n=100) if steps > 1 else [None] * 99
        figure: dict[str, object] = {"what": what, "number": each, "client": 1000 * client / each, "server": at_server}
        figure |= {"p50": cuts[49], "p99": cuts[98], "wal": (self._wal() - wal) / each, "row": self._row()}
        figure |= {"cpu x": None, "p50 x": None}
        self.figures.append(figure)
        return figure

    def round(self, ledger: Ledger, host: str) -> None:
        """Make a round, with its question for news."""
        exchange(ledger, self.log, "anna", host, news_of(self.log, ["anna"])["anna"])

    def _wal(self) -> float:
        return self._number("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")

    def _row(self) -> float:
        return self._number("SELECT pg_total_relation_size('lesson') / greatest(1, count(*)) FROM lesson")

    def _number(self, statement: str) -> float:
        row = self.admin.execute(statement).fetchone()
        return 0.0 if row is None else float(row[0])

    def _server(self) -> float | None:
        """Return the seconds of processor time that the log's session has taken."""
        if self._session is None:
            return None
        fields = self._session.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


def main() -> None:
    """Measure, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--database", default="", help="in libpq's form (default: by its environment)")
    parser.add_argument("--rows", type=int, nargs="*", default=[], metavar="NUMBER")
    options = parser.parse_args()
    messages = load_corpus(options.corpus)[: _TAUGHT + _MORE]
    lessons = [(read(Path(message.path).read_bytes()), message.label) for message in messages]
    upgrade(options.database)
    with (
        tempfile.TemporaryDirectory() as directory,
        connected(options.database) as log,
        closing(Bench(Path(directory), options.database, log)) as bench,
    ):
        copies = _rounds(bench, lessons)
        bench.figures += _large(bench, options.rows, copies)
        common.report(bench.figures, options.json)


def _rounds(bench: Bench, lessons: list[tuple[Reading, Label]]) -> list[LessonCopy]:
    """Measure all work of a host with some users. Returns the lessons, as they are sent."""
    here = bench.here
    for label in Label:
        taught = [reading for reading, each in lessons[:_TAUGHT] if each is label]
        learn_together(here, taught, label, "moved to a folder", time.time(), how=How.MOVE)
    number = int(here.lessons.totals()[:2].sum())
    bench.measure("sent, and received as one's own", 1, lambda _: bench.round(here, "mx1"), of=number)
    bench.measure("a ledger made again", 1, lambda _: bench.round(bench.there, "mx2"), of=number)
    more = [reading for reading, _ in lessons[_TAUGHT:]]

    def learn(place: int) -> None:
        learn_together(here, [more[place]], Label.HAM, "kept", time.time(), how=How.KEPT)

    digests = [lesson.digest for lesson in here.lessons.changes(0, _MORE)]

    def correct(place: int) -> None:
        lesson = here.lessons.find(digests[place])
        if lesson is not None and lesson.label is not None:
            change = Relabel(
                lesson.digest, lesson.label, lesson.weak, Label(1 - lesson.label), False, "moved", How.MOVE
            )
            relabel(here, [change], time.time())

    bench.measure("round with a new lesson", len(more), lambda _: bench.round(here, "mx1"), learn)
    bench.measure("round with a correction", len(digests), lambda _: bench.round(here, "mx1"), correct)
    bench.measure("round without news", _SAMPLES, lambda _: bench.round(here, "mx1"))
    bench.admin.execute(_USERS, (5, 1, _ASKED))
    names = [f"user{number}" for number in range(1, _ASKED + 1)]
    bench.measure(f"{_ASKED} users asked about", 20, lambda _: news_of(bench.log, names))
    bench.admin.execute("DELETE FROM account WHERE name LIKE 'user%'")
    return here.lessons.copies_of(digests, digests)


def _large(bench: Bench, numbers: list[int], copies: list[LessonCopy]) -> list[dict[str, object]]:
    """Measure with this number of others' rows, and relative to the first number."""
    chance, users, figures = random.Random(1), 0, bench.figures
    bench.figures = []
    bench.admin.execute(_BLOB)
    for number in numbers:
        wanted = number // _PER_USER
        for first in range(users + 1, wanted + 1, 100):
            last = min(first + 99, wanted)
            bench.admin.execute(_USERS, (_PER_USER, first, last))
            bench.admin.execute(_ROWS, (_PER_USER, first, last))
        users = wanted
        bench.admin.execute("VACUUM ANALYZE lesson")
        bench.admin.execute("CHECKPOINT")
        asked = [f"user{chance.randrange(1, users + 1)}" for _ in range(2 * _SAMPLES)]

        def send(place: int, asked: list[str] = asked) -> None:
            name, lesson = asked[place], copies[place % len(copies)]
            there = bench.log.has(name, [lesson.lesson.digest])
            bench.log.send(name, _PER_USER, "mx2", [lesson if not there else lesson._replace(tokens=None)])

        since = dict.fromkeys(asked, 0)

        def look(place: int, asked: list[str] = asked, since: dict[str, int] = since) -> None:
            since[asked[place]] = bench.log.accounts([asked[place]])[asked[place]].last - 1

        def receive(place: int, asked: list[str] = asked, since: dict[str, int] = since) -> None:
            bench.log.receive(asked[place], since[asked[place]], 50)

        def receive_old(place: int, asked: list[str] = asked) -> None:
            bench.log._all(_RECEIVE, asked[-1 - place], chance.randrange(_PER_USER - 50), 50)

        bench.measure(f"a lesson sent, {number:,} rows", _SAMPLES, send)
        bench.measure(f"received, {number:,} rows", _SAMPLES, receive, look)
        bench.measure(f"50 old ones received, {number:,} rows", _SAMPLES, receive_old)
    made, bench.figures = bench.figures, figures
    for place, figure in enumerate(made):
        figure["cpu x"], figure["p50 x"] = (_times(made[place % 3], figure, *columns) for columns in _COST)
    return made


_COST = (("client", "server"), ("p50",))


def _times(first: dict[str, object], figure: dict[str, object], *columns: str) -> float | None:
    """Return the sum of the columns relative to the first figure."""
    values = [[one[column] for column in columns] for one in (first, figure)]
    sums = [sum(value for value in each if isinstance(value, float)) for each in values]
    return sums[1] / sums[0] if all(sums) else None


if __name__ == "__main__":
    main()
