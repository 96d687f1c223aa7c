"""What commands take after years: a ledger of a million learned messages and five million tokens, made in minutes.

The ledger is written by arrays and SQL, as the same lessons would have left it, and `spamnb verify` says that it is
sound. Frequent tokens are in many messages (Zipf's law), each message holds some that are in no other, and all were
judged, recorded and taken away again by their owner. Then each command is run as a process, by turns, on a message
that was not learned; medians of the seconds that it takes, and its largest memory. Beside it stand the same figures of
a ledger of a hundredth of the size.

explain, rare: of a message whose tokens only the oldest lessons hold. start: of the service, on an empty Maildir, until
it ends again (`run --once`). learn, weeks later: a message of which nothing was met before.

    python benchmarks/years.py [--messages 1000000] [--tokens 5000000] [--runs 3] [--slow] [--json]
"""

import contextlib
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common
import numpy as np
from numpy.typing import NDArray

from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.token_blob import pack_all
from spamnb.mail.tokens.tokenizer import VERSION
from spamnb.maildir.folders import create_folder

_A_MESSAGE = 200  # tokens
_COMMON = 100_000  # tokens that are in many messages
_BATCH = 5000
_DAY = 86_400.0
_SMALLER = 100


def main() -> None:
    """Make both ledgers, run the commands, and print the table."""
    parser = common.arguments(__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--tokens", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--slow", action="store_true", help="also backup, verify and prune, once each")
    options = parser.parse_args()
    columns = []
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is not compiled at each start
    for part in (_SMALLER, 1):
        with tempfile.TemporaryDirectory() as directory:
            site = Site(Path(directory), options.messages // part, options.tokens // part)
            columns.append({**site.measured(options.runs), **(site.measured_once() if options.slow else {})})
            sizes = f"{options.messages // part:,} messages, {options.tokens // part:,} tokens"
            print(f"{sizes}: {site.ledger.stat().st_size / 1e6:.0f} MB, made in {site.seconds:.0f} s", file=sys.stderr)
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.python_compiler()}")
    figures = [
        {
            "command": what,
            **{f"{size} s": one[what][0] for size, one in zip(("small", "large"), columns, strict=True)},
            **{f"{size} MB": one[what][1] for size, one in zip(("small", "large"), columns, strict=True)},
        }
        for what in columns[1]
    ]
    common.report(figures, options.json)


class Site:
    """A Maildir, a configuration, and a ledger that has seen so much."""

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
        make_ledger(self.ledger, str(directory / "Maildir"), messages, tokens)
        self.seconds = time.perf_counter() - begin
        self._numbers = 0

    def measured(self, runs: int) -> dict[str, tuple[float, float]]:
        """Median seconds and megabytes of each command of every day."""
        found: dict[str, list[tuple[float, float]]] = {}
        for _ in range(runs):
            usual, rare = self._message(usual=150), self._message(usual=0)
            for what, command in {
                "judge (score FILE)": ["score", usual],
                "explain": ["explain", usual],
                "explain, rare": ["explain", rare],
                "learn (train FILE)": ["train", "--ham", usual],
                "learn, of unknown words": ["train", "--spam", self._message(usual=0, unknown=200)],
                "undo": ["undo", "--yes", "--since", "30s"],
                "status": ["status"],
                "history": ["history"],
                "history of a search": ["history", "--since", "30d", "--verdict", "spam"],
                "doctor": ["doctor"],
                "start (run --once)": ["run", "--once"],
            }.items():
                found.setdefault(what, []).append(self._run(command))
        return {what: (statistics.median(s for s, _ in one), max(m for _, m in one)) for what, one in found.items()}

    def measured_once(self) -> dict[str, tuple[float, float]]:
        """Of those of every month."""
        target = f"{int(0.9 * self.ledger.stat().st_size / 1000)}K"
        commands = {
            "daily copy (backup)": ["backup", str(self._directory / "copy.sqlite")],
            "verify": ["verify"],
            "prune to 90 %": ["prune", "--to", target],
        }
        return {what: self._run(command) for what, command in commands.items()}

    def _message(self, usual: int, unknown: int = 0) -> str:
        """The path of a new message, with so many common tokens, and some that the first lessons alone hold."""
        self._numbers += 1
        choose = np.random.default_rng(self._numbers)
        words = [word(int(one)) for one in choose.integers(0, _COMMON, usual)]
        words += [word(_COMMON + one) for one in range(50)]
        words += [f"unmet{self._numbers}x{one}" for one in range(unknown)]
        path = self._directory / f"message{self._numbers}"
        path.write_text(f"Message-ID: <{self._numbers}@example.org>\nSubject: hello\n\n{' '.join(words)}\n")
        return str(path)

    def _run(self, command: list[str]) -> tuple[float, float]:
        """Seconds, and megabytes of this process' largest child so far, which the last one is or hides behind."""
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
        print(f"{command[0]}: {time.perf_counter() - begin:.2f} s", file=sys.stderr)
        seconds, process.returncode = time.perf_counter() - begin, os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1, 2):
            raise RuntimeError(f"{' '.join(command)} failed with {process.returncode}: {fault.decode()}")
        return seconds, used.ru_maxrss / 1000


def word(number: int) -> str:
    """A token by its number: letters alone, so that it is a word of a text."""
    letters = np.base_repr(number, 16).translate(str.maketrans("0123456789ABCDEF", "abcdefghijklmnop"))
    return f"w{letters}"


def make_ledger(path: Path, maildir: str, messages: int, tokens: int) -> None:
    """Write a ledger of so many lessons and tokens, in the tables that `spamnb.ledger.schema` has."""
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
            "INSERT INTO lesson VALUES (?, ?, ?, ?, ?, 0, ?, 'a person moved it to Junk', NULL, ?, ?, x'')",
            (
                (n + 1, n.to_bytes(16), f"message {n} (somebody@example.org)", n + 1, n % 2, at, VERSION, blob)
                for n, at, blob in zip(
                    numbers.tolist(), (now - (messages - numbers) * 60.0).tolist(), blobs, strict=True
                )
            ),
        )
    db.executemany("INSERT INTO token VALUES (?, ?)", sorted((word(one), one + 1) for one in range(tokens)))
    rows = np.column_stack([np.arange(1, tokens + 1), sums[1:]])
    for start in range(0, tokens, 100_000):
        db.executemany("INSERT INTO count VALUES (?, ?, ?, ?, ?)", rows[start : start + 100_000].tolist())
    of = [messages - messages // 2, messages // 2]
    vocabulary = int((sums[:, :2].sum(axis=1) > 0).sum())
    total = (*of, *sums[:, :2].sum(axis=0).tolist(), *sums[:, 2:].sum(axis=0).tolist(), vocabulary, messages)
    db.execute("DELETE FROM total")
    db.execute("INSERT INTO total VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)", total)


def _ids(numbers: NDArray[np.int64], messages: int, tokens: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens of messages, sorted: int64 (n_entries,), and how many each has, int64 (n_messages,).

    Common ones by Zipf's law, of which a class has some for itself; and for each message its share of the rare ones.
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
    """Each message was judged, moved away by its owner, and learned."""
    now = time.time()
    db.execute("INSERT INTO mailbox VALUES (1, ?, ?)", (os.fsencode(maildir), now - messages * 60.0))
    db.execute("INSERT INTO folder VALUES (1, 1, 'INBOX'), (2, 1, 'Junk')")
    db.execute(
        "INSERT INTO message SELECT id, digest, substr(hex(digest), 17), summary, learned_at,"
        " iif(label, 'spam', 'ham'), iif(label, 0.99, 0.01), NULL, label, 0, learned_at, NULL, NULL FROM lesson"
    )
    db.execute(
        "INSERT INTO file SELECT 1, CAST(id || '.M1P1.host' AS BLOB), id, 'new', digest, 'S', learned_at,"
        " learned_at + 1, NULL FROM lesson ORDER BY CAST(id || '.M1P1.host' AS BLOB)"
    )
    db.execute(
        "INSERT INTO action (id, at, message, kind, state, why, verdict, probability, source, source_base)"
        " SELECT 2 * id - 1, learned_at, id, 'judged', 'done', 'it is in the inbox', iif(label, 'spam', 'ham'),"
        " iif(label, 0.99, 0.01), 1, CAST(id || '.M1P1.host' AS BLOB) FROM lesson"
    )
    db.execute(
        "INSERT INTO action (id, at, message, kind, state, why, after, after_weak)"
        " SELECT 2 * id, learned_at + 1, id, 'learned', 'done', why, label, 0 FROM lesson"
    )
    db.executemany("INSERT INTO note VALUES (?, ?)", [("recorded", str(messages))])


if __name__ == "__main__":
    main()
