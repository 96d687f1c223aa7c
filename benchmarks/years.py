"""Measure commands after years: ledgers of up to a million learned messages and five million tokens, made in minutes.

Arrays and SQL write a ledger as the same lessons would have left it, and `spamnb verify` confirms that it is sound.
Frequent tokens are in many messages (Zipf's law), and each message holds some that are in no other. All messages were
judged, recorded and deleted again by their owner, within 300 days. Then each command runs as a process, alternately, on
a message that was not learned. The figures are medians of the processor time, by the number of messages; for the
largest ledger also the seconds from start to end, and the memory.

open, judge, learn: in one process, as in the service, with the ledger open; medians. explain, rare: for a message with
tokens that only the oldest lessons hold. start: of the service, on an empty Maildir, until it ends again (`run
--once`). learn, of unknown words: a message of new words only. daily copy: as the service makes it.

    python benchmarks/years.py [--messages 4000 62500 250000] [--tokens 5] [--runs 3] [--slow] [--json]
"""

import contextlib
import multiprocessing
import os
import platform
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

import common
import numpy as np
from numpy.typing import NDArray

from spamnb.acts.training import learn
from spamnb.base.label import How, Label
from spamnb.config import Scoring, Senders
from spamnb.filter.judge import Filter
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.sqlite.count_block import COLUMNS, TOKENS
from spamnb.ledger.lessons.sqlite.count_table import packed
from spamnb.ledger.lessons.sqlite.token_blob import pack_all
from spamnb.mail.reading import read
from spamnb.mail.tokens.tokenizer import VERSION
from spamnb.maildir.folders import create_folder

_A_MESSAGE = 200  # tokens
_COMMON = 100_000  # tokens that are in many messages
_BATCH = 5000
_PERIOD = 300 * 86_400.0  # seconds; mail older than `retention` would be forgotten
_REPEATED = 20
_BLOCKS = 10_000
_Result = TypeVar("_Result")


class Taken(NamedTuple):
    """A cost: processor time, seconds from start to end, and megabytes of memory."""

    cpu: float
    seconds: float
    megabytes: float


def main() -> None:
    """Make each ledger, run the commands, and print the table."""
    parser = common.arguments(__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[4000, 62_500, 250_000])
    parser.add_argument("--tokens", type=float, default=5.0, help="distinct tokens per message")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--slow", action="store_true", help="also backup, verify and prune, once each")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is not compiled at each start
    columns: dict[int, dict[str, Taken]] = {}
    for messages in options.messages:
        with tempfile.TemporaryDirectory() as directory:
            site = Site(Path(directory), messages, int(messages * options.tokens))
            size = site.ledger.stat().st_size
            print(f"{messages:,} messages: {size / 1e6:.0f} MB, made in {site.seconds:.0f} s", file=sys.stderr)
            columns[messages] = {**site.measured(options.runs), **(site.measured_once() if options.slow else {})}
        for what, taken in columns[messages].items():
            print(f"{messages:,}, {what}: {taken.cpu:.4f} s of CPU, {taken.megabytes:.0f} MB", file=sys.stderr)
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.python_compiler()}")
    last = columns[options.messages[-1]]
    figures = [
        {
            "": what,
            **{f"{messages:,}: CPU s": column[what].cpu for messages, column in columns.items()},
            "s": taken.seconds,
            "MB": taken.megabytes,
        }
        for what, taken in last.items()
    ]
    common.report(figures, options.json)


class Site:
    """A Maildir, a configuration, and a ledger with this history."""

    def __init__(self, directory: Path, messages: int, tokens: int) -> None:
        self._directory = directory
        self.ledger = directory / "ledger.sqlite"
        self._config = directory / "config.yaml"
        os.environ["PYTHONPYCACHEPREFIX"] = str(directory / "compiled")
        for folder in ("INBOX", "Junk"):
            create_folder(str(directory / "Maildir"), "maildir++", folder)
        self._config.write_text(
            f"mailboxes: [{{path: {directory / 'Maildir'}, layout: maildir++, roles: {{INBOX: inbox, Junk: spam}}}}]\n"
            f"ledger: {self.ledger}\nservice: {{copies: 0}}\n"
        )
        begin = time.perf_counter()
        _apart(make_ledger, self.ledger, str(directory / "Maildir"), messages, tokens)
        self.seconds = time.perf_counter() - begin
        self._numbers = 0

    def measured(self, runs: int) -> dict[str, Taken]:
        """Measure each command of every day, and the steps of the service: medians."""
        found: dict[str, list[Taken]] = {"daily copy": [_apart(daily_copy, self.ledger)]}  # `doctor` looks for it
        for _ in range(runs):
            usual, rare = self._message(usual=150), self._message(usual=0)
            for what, command in {
                "score FILE": ["score", usual],
                "explain": ["explain", usual],
                "explain, rare": ["explain", rare],
                "train FILE": ["train", "--ham", usual],
                "train, of unknown words": ["train", "--spam", self._message(usual=0, unknown=200)],
                "undo": ["undo", "--yes", "--since", "30s"],
                "status": ["status"],
                "history": ["history"],
                "history of a search": ["history", "--since", "30d", "--verdict", "spam"],
                "doctor": ["doctor"],
                "start (run --once)": ["run", "--once"],
            }.items():
                found.setdefault(what, []).append(self._run(command))
        new = [self._message(usual=150) for _ in range(_REPEATED)]
        return _apart(steps, self.ledger, new) | {
            what: Taken(*map(statistics.median, zip(*taken, strict=True))) for what, taken in found.items()
        }

    def measured_once(self) -> dict[str, Taken]:
        """Measure the commands of every month."""
        target = f"{int(0.9 * self.ledger.stat().st_size / 1000)}K"
        commands = {
            "backup": ["backup", str(self._directory / "copy.sqlite")],
            "verify": ["verify"],
            "prune to 90 %": ["prune", "--to", target],
        }
        return {what: self._run(command) for what, command in commands.items()}

    def _message(self, usual: int, unknown: int = 0) -> str:
        """Write a new message with `usual` common tokens, and some of only the first lessons. Returns its path."""
        self._numbers += 1
        choose = np.random.default_rng(self._numbers)
        words = [word(int(one)) for one in choose.integers(0, _COMMON, usual)]
        words += [word(_COMMON + one) for one in range(50)]
        words += [f"unmet{self._numbers}x{one}" for one in range(unknown)]
        path = self._directory / f"message{self._numbers}"
        path.write_text(f"Message-ID: <{self._numbers}@example.org>\nSubject: hello\n\n{' '.join(words)}\n")
        return str(path)

    def _run(self, command: list[str]) -> Taken:
        """Return the cost of a command, as its own process."""
        begin = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "spamnb", "--config", str(self._config), "-q", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        with process.stderr or contextlib.nullcontext():
            fault = process.stderr.read() if process.stderr else b""
            _, status, used = os.wait4(process.pid, 0)
        seconds, process.returncode = time.perf_counter() - begin, os.waitstatus_to_exitcode(status)
        print(f"{command[0]}: {seconds:.2f} s", file=sys.stderr)
        if process.returncode not in (0, 1, 2):
            raise RuntimeError(f"{' '.join(command)} failed with {process.returncode}: {fault.decode()}")
        return Taken(used.ru_utime + used.ru_stime, seconds, used.ru_maxrss / 1000)


def _apart(work: Callable[..., _Result], *arguments: object) -> _Result:
    """Do the work in its own process: a child of a large process would count as large as that one."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as workers:
        return workers.submit(work, *arguments).result()


def steps(path: Path, messages: list[str]) -> dict[str, Taken]:
    """Measure the service's work with the ledger: opening it, and each message; half of them are learned."""
    found: dict[str, list[Taken]] = {}
    for _ in range(3):
        with _timed(found, "open"), Ledger(str(path)):
            pass
    with Ledger(str(path)) as ledger:
        judge = Filter(ledger.lessons, Scoring(), Senders())
        for number, name in enumerate(messages):
            reading = read(Path(name).read_bytes())
            with _timed(found, "judge one"):
                judge.judge(reading)
            if number % 2:
                with _timed(found, "learn one"):
                    learn(ledger, reading, Label.HAM, "it was read and kept", time.time(), how=How.KEPT)
    return {what: Taken(*map(statistics.median, zip(*taken, strict=True))) for what, taken in found.items()}


def daily_copy(path: Path) -> Taken:
    """Measure the service's daily copy."""
    found: dict[str, list[Taken]] = {}
    with _timed(found, "copy"):
        roll(str(path), time.time(), 1)
    return found["copy"][0]


@contextlib.contextmanager
def _timed(found: dict[str, list[Taken]], what: str) -> Iterator[None]:
    cpu, begin = time.process_time(), time.perf_counter()
    yield
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    found.setdefault(what, []).append(Taken(time.process_time() - cpu, time.perf_counter() - begin, megabytes))


def word(number: int) -> str:
    """Return a token by its number: letters alone, so that it is a word of a text."""
    letters = np.base_repr(number, 16).translate(str.maketrans("0123456789ABCDEF", "abcdefghijklmnop"))
    return f"w{letters}"


def make_ledger(path: Path, maildir: str, messages: int, tokens: int) -> None:
    """Write a ledger with this number of lessons and tokens, in the tables of `spamnb.ledger.schema`."""
    with Ledger(str(path)):
        pass
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA cache_size = -400000")
        db.execute("BEGIN")
        _write_lessons(db, messages, tokens)
        _write_history(db, maildir, messages)
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = WAL")
    with path.open("rb") as file:
        os.fsync(file.fileno())  # otherwise the first command that writes waits for all of it


def _write_lessons(db: sqlite3.Connection, messages: int, tokens: int) -> None:
    sums = np.zeros((tokens + 1, 4), dtype=np.int64)
    now = time.time()
    for start in range(0, messages, _BATCH):
        numbers = np.arange(start, min(start + _BATCH, messages))
        ids, lengths = _ids(numbers, messages, tokens)
        blobs = pack_all(ids, np.ones(len(ids), dtype=np.int64), lengths)
        of_message = np.repeat(numbers % 2, lengths)
        for label in (0, 1):
            counts = np.bincount(ids[of_message == label], minlength=tokens + 1)
            sums[:, label] += counts
            sums[:, 2 + label] += counts
        db.executemany(
            "INSERT INTO lesson VALUES (?, ?, ?, ?, ?, 0, ?, 'a person moved it to Junk', 'move', NULL, ?, ?, NULL)",
            (
                (n + 1, n.to_bytes(16), f"message {n} (somebody@example.org)", n + 1, n % 2, at, VERSION, blob)
                for n, at, blob in zip(
                    numbers.tolist(), (now - (messages - numbers) / messages * _PERIOD).tolist(), blobs, strict=True
                )
            ),
        )
    db.executemany("INSERT INTO token VALUES (?, ?)", sorted((word(one), one + 1) for one in range(tokens)))
    blocks = np.zeros((tokens // TOKENS + 1, TOKENS, COLUMNS), dtype=np.int64)
    blocks.reshape(-1, COLUMNS)[: tokens + 1] = sums
    for start in range(0, len(blocks), _BLOCKS):
        rows = enumerate(packed(blocks[start : start + _BLOCKS]), start)
        db.executemany("INSERT INTO counts VALUES (?, ?)", rows)
    of = [messages - messages // 2, messages // 2]
    vocabulary = int((sums[:, :2].sum(axis=1) > 0).sum())
    total = (*of, *sums[:, :2].sum(axis=0).tolist(), *sums[:, 2:].sum(axis=0).tolist(), vocabulary, messages, tokens)
    db.execute("DELETE FROM total")
    db.execute("INSERT INTO total VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)", total)


def _ids(numbers: NDArray[np.int64], messages: int, tokens: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tokens of messages, sorted: int64 (n_entries,), and the number of each one, int64 (n_messages,).

    Common tokens follow Zipf's law, and each class has some of its own; each message also has its share of rare tokens.
    """
    choose = np.random.default_rng(int(numbers[0]))
    often = min(_COMMON, tokens // 2)
    drawn = np.minimum(np.exp(choose.random((len(numbers), _A_MESSAGE)) * np.log(often)).astype(np.int64), often - 1)
    drawn = np.where(drawn % 5 == 0, drawn - drawn % 10 + 5 * (numbers[:, np.newaxis] % 2), drawn)
    first = often + numbers * (tokens - often) // messages
    last = often + (numbers + 1) * (tokens - often) // messages
    rows = [
        np.unique(np.concatenate([row, np.arange(begin, end)])) + 1
        for row, begin, end in zip(drawn, first.tolist(), last.tolist(), strict=True)
    ]
    return np.concatenate(rows), np.array([len(row) for row in rows], dtype=np.int64)


def _write_history(db: sqlite3.Connection, maildir: str, messages: int) -> None:
    """Write the history: each message was judged, moved away by its owner, and learned."""
    now = time.time()
    db.execute("INSERT INTO mailbox (id, path, started_at) VALUES (1, ?, ?)", (os.fsencode(maildir), now - _PERIOD))
    db.execute("INSERT INTO folder (id, mailbox, name) VALUES (1, 1, 'INBOX'), (2, 1, 'Junk')")
    db.execute(
        "INSERT INTO message SELECT id, digest, CAST(substr(hex(digest), 17) AS BLOB), summary, learned_at,"
        " iif(label, 'spam', 'ham'), iif(label, 0.99, 0.01), NULL, label, 0, learned_at, NULL, NULL FROM lesson"
    )
    db.execute(
        "INSERT INTO file SELECT 1, CAST(id || '.M1P1.host' AS BLOB), id, 'appeared', digest, 'S', learned_at,"
        " learned_at + 1, NULL FROM lesson ORDER BY CAST(id || '.M1P1.host' AS BLOB)"
    )
    db.execute(
        "INSERT INTO action (id, at, message, kind, state, why, how, verdict, probability, source, source_base)"
        " SELECT 2 * id - 1, learned_at, id, 'judged', 'done', 'it is in the inbox', 'maildir',"
        " iif(label, 'spam', 'ham'), iif(label, 0.99, 0.01), 1, CAST(id || '.M1P1.host' AS BLOB) FROM lesson"
    )
    db.execute(
        "INSERT INTO action (id, at, message, kind, state, why, how, after, after_weak)"
        " SELECT 2 * id, learned_at + 1, id, 'learned', 'done', why, how, label, 0 FROM lesson"
    )
    db.executemany("INSERT INTO state VALUES (?, ?)", [("recorded", str(messages))])


if __name__ == "__main__":
    main()
