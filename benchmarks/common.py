"""Shared parts of the benchmarks: the two command lines, the service as a process, and the table at the end."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from spamnb.base.label import Label, Role, Verdict
from spamnb.config import Mailbox
from spamnb.config.writing import render
from spamnb.evaluation.corpus import Labelled, load_corpus
from spamnb.maildir.folders import create_folder

PRECISE = "--terse-format=%1.1c %.17f"  # of bogofilter: by default it prints 6 decimals, where most spam is 1.000000
PATIENCE = 60.0
_LIST_BYTES = 128 * 1024  # of arguments per process: the default of xargs
_VERDICTS = {"S": Verdict.SPAM, "H": Verdict.HAM, "U": Verdict.UNSURE}
_BOGOFILTER = ["bogofilter", "-C"]  # -C: its built-in defaults, whatever this host has configured

# The breaker would rightly stop the service if half of the mail is spam that comes in a burst.
_CONFIG = """
breaker: false
"""


class Contender(Protocol):
    """A filter with a state of its own that trains and scores many files."""

    name: str

    def train(self, messages: Sequence[Labelled]) -> None:
        """Learn the messages with their true labels, each class in order."""

    def score(self, messages: Sequence[Labelled], *options: str) -> list[str]:
        """Return a line of output for each message, in order."""


class Spamnb:
    """The command line of spamnb, over a Maildir, a configuration and a ledger of its own."""

    name = "spamnb"

    def __init__(self, directory: Path) -> None:
        root = directory / "Maildir"
        roles = {"INBOX": Role.INBOX, "Junk": Role.SPAM, "Archive": Role.HAM}
        folders = {name: create_folder(str(root), "maildir++", name) for name in roles}
        self.inbox, self.junk = folders["INBOX"], folders["Junk"]
        self.ledger = directory / "ledger.sqlite"
        self.log = directory / "log"
        config = directory / "config.yaml"
        config.write_text(render([Mailbox(path=root, roles=roles)], self.ledger) + _CONFIG)
        self.command = [sys.executable, "-m", "spamnb", "--config", str(config)]

    def train(self, messages: Sequence[Labelled]) -> None:
        """Learn the messages: `spamnb train --ham FILE…`, then `--spam FILE…`."""
        for label in Label:
            for paths in _argument_lists(message.path for message in messages if message.label is label):
                _output([*self.command, "-q", "train", f"--{label.word}", *paths])

    def score(self, messages: Sequence[Labelled], *options: str) -> list[str]:
        """Return the lines of `spamnb score FILE…`."""
        lines = []
        for paths in _argument_lists(message.path for message in messages):
            # The exit code of a single message is its verdict.
            codes = (0, 1, 2) if len(paths) == 1 else (0,)
            lines += _output([*self.command, "-q", "score", *options, *paths], codes=codes).splitlines()
        return _one_each(lines, messages)

    @contextmanager
    def service(self) -> Iterator["subprocess.Popen[bytes]"]:
        """Run the service: yields it when it watches, and stops it at the end."""
        with self.log.open("wb") as log:
            process = subprocess.Popen([*self.command, "run"], stderr=log)
        try:
            until(lambda: b"watching" in self.log.read_bytes(), "the service to watch")
            yield process
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


class Bogofilter:
    """bogofilter with its default configuration, over a word list of its own."""

    name = "bogofilter"

    def __init__(self, directory: Path) -> None:
        self.command = [*_BOGOFILTER, "-d", str(directory)]

    def train(self, messages: Sequence[Labelled]) -> None:
        """Learn the messages: `bogofilter -n -b`, then `-s -b`, each with a list of files on standard input."""
        for label, option in zip(Label, ("-n", "-s"), strict=True):
            paths = [message.path for message in messages if message.label is label]
            if paths:
                _output([*self.command, option, "-b"], paths)

    def score(self, messages: Sequence[Labelled], *options: str) -> list[str]:
        """Return the lines of `bogofilter -t -b`."""
        # The exit code is a verdict, for many messages too.
        paths = [message.path for message in messages]
        lines = _output([*self.command, "-t", *options, "-b"], paths, codes=(0, 1, 2)).splitlines()
        return _one_each(lines, messages)


def contenders() -> list[Callable[[Path], Contender]]:
    """Return spamnb, and bogofilter if it is installed; each is made in an empty directory."""
    if shutil.which("bogofilter") is None:
        print("bogofilter is not installed: its part is left out", file=sys.stderr)
        return [Spamnb]
    return [Spamnb, Bogofilter]


@dataclass(frozen=True, slots=True)
class Scored:
    """A verdict, and a number for ranking messages."""

    verdict: Verdict
    rank: float


def scored(contender: Contender, messages: Sequence[Labelled]) -> list[Scored]:
    """Score messages with a filter that has learned others."""
    if contender.name == "bogofilter":
        return [from_terse(line) for line in contender.score(messages, PRECISE)]
    objects = [json.loads(line) for line in contender.score(messages, "--json")]
    return [Scored(Verdict(each["verdict"]), each["score"]) for each in objects]


def from_terse(line: str) -> Scored:
    """Read bogofilter's `S 0.99…` for one message, or `PATH S 0.99…` for many."""
    letter, score = line.split()[-2:]
    return Scored(_VERDICTS[letter], float(score))


@dataclass(frozen=True, slots=True)
class Halves:
    """A corpus in its order: the messages to learn, and the messages to score afterwards."""

    first: list[Labelled]
    second: list[Labelled]


def halves(messages: Sequence[Labelled]) -> Halves:
    """The first half of the messages, and the second."""
    middle = len(messages) // 2
    return Halves(list(messages[:middle]), list(messages[middle:]))


def warmed(corpus: str) -> list[Labelled]:
    """Return the messages of a corpus, in order; each file is read once, so that it is in the page cache."""
    messages = load_corpus(corpus)
    for message in messages:
        Path(message.path).read_bytes()
    return messages


def until(done: Callable[[], bool], what: str) -> None:
    """Wait for a condition. Raises TimeoutError with its description if it does not come true."""
    end = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"timed out after {PATIENCE:.0f} s waiting for {what}")
        time.sleep(0.01)


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """Return the parser for a benchmark's options; the docstring is the help."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON list")
    return parser


def report(figures: Sequence[dict[str, object]], as_json: bool) -> None:
    """Print figures, one per row, all with the same columns."""
    if as_json:
        print(json.dumps(list(figures), indent=1))
        return
    rows = [list(figures[0]), *([_shown(value) for value in row.values()] for row in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        first, *rest = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join([first.strip().ljust(widths[0]), *rest]).rstrip())


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)


def _argument_lists(paths: Iterable[str]) -> Iterator[list[str]]:
    """Yield the paths in groups that fit on a command line, as xargs makes them."""
    run: list[str] = []
    size = 0
    for path in paths:
        length = len(os.fsencode(path)) + 1
        if run and size + length > _LIST_BYTES:
            yield run
            run, size = [], 0
        run.append(path)
        size += length
    if run:
        yield run


def _output(command: list[str], paths: Sequence[str] = (), codes: Sequence[int] = (0,)) -> str:
    """Return a command's output. Raises RuntimeError with its error text if it fails. Paths go to standard input."""
    listed = b"".join(os.fsencode(path) + b"\n" for path in paths)
    done = subprocess.run(command, input=listed, capture_output=True, check=False)
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(command[:8])} failed with {done.returncode}: {os.fsdecode(done.stderr)[-500:]}")
    return os.fsdecode(done.stdout)


def _one_each(lines: list[str], messages: Sequence[Labelled]) -> list[str]:
    if len(lines) != len(messages):
        raise RuntimeError(f"{len(lines)} lines of output for {len(messages)} messages")
    return lines
