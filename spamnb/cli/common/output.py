"""How results look: lines, tables, JSON, progress, and a question."""

import argparse
import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from spamnb.base.wording import escaped
from spamnb.cli.common.cells import width_of
from spamnb.cli.common.wrapping import wrapped

TYPE_CHECKING = False  # as in `typing`, whose import takes a twelfth of `spamnb --help`
if TYPE_CHECKING:
    from typing import TextIO, TypeVar

    T = TypeVar("T")
_Total = Callable[[], int | None]
_Show = Callable[[int, _Total], object]

_WIDEST = 110  # columns of one cell
_NARROW = 4  # columns that hang, if a terminal is too narrow for more
LINE_SECONDS = 30.0  # between two lines about long work in a pipe


def warn(text: str) -> None:
    """Print a line on standard error."""
    print(_at_words(f"spamnb: {escaped(text)}", sys.stderr), file=sys.stderr)


def say(text: str, hanging: int | None = None) -> None:
    """Print sentences on standard output; at a terminal, break them at words. hanging: as for `wrapped`."""
    print(_at_words(text, sys.stdout, hanging))


def inform(options: argparse.Namespace, text: str) -> None:
    """Print sentences on standard output, unless --quiet was given."""
    if not options.quiet:
        say(text)


def typed_at(prompt: str) -> str:
    """Return what a person types, in small letters; the prompt is broken at words. Raises EOFError."""
    *above, last = _at_words(prompt, sys.stdout).split("\n")
    if above:
        print("\n".join(above))
    return input(last).strip().lower()


def _at_words(text: str, stream: "TextIO | None", hanging: int | None = None) -> str:
    """Return text for a stream. One column stays free, for the cursor after a prompt."""
    if not is_terminal(stream):
        return text
    columns = _columns()
    return wrapped(text, columns, hanging if hanging is None or 2 * hanging < columns else _NARROW)


def _columns() -> int:
    return max(terminal_columns() - 1, 20)


def terminal_columns() -> int:
    """Return the width of the terminal, as `shutil.get_terminal_size` does: `shutil` is a twentieth of `--help`."""
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return int(named)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or 80
    except (OSError, ValueError):  # it is no terminal, or is closed
        return 80


def as_json(values: dict[str, object]) -> str:
    """Return one object on one line. It is ASCII only, so that no raw text from mail reaches a terminal."""
    return json.dumps(values, ensure_ascii=True, sort_keys=False)


def is_confirmed(question: str, *, default: bool = False) -> bool:
    """Return whether the person at the terminal answers with yes. Enter means the default, the end of input no."""
    try:
        typed = typed_at(f"{question} {'[Y/n]' if default else '[y/N]'} ")
        return typed in {"y", "yes"} or (default and not typed)
    except EOFError:
        print()
        return False


def asked_secretly(question: str) -> str:
    """Return what the person types, without showing it; "" at the end of input."""
    from getpass import getpass

    try:
        return getpass(question)
    except EOFError:
        return ""


def table(rows: Iterable[Iterable[object]], *, is_cut: bool = False) -> str:
    """Return aligned columns of text, also with wide characters. Numbers are aligned to the right.

    is_cut: at a terminal, cut the longest texts, so that each row fits into a line.

    >>> print(table([("token", "ham", "spam"), ("viagra", 0, 12), ("lunch", 7, 1)]))
    token   ham  spam
    viagra    0    12
    lunch     7     1
    """
    cells = [[_cut(escaped(str(cell))) for cell in column] for column in zip(*rows, strict=True)]
    if is_cut and is_terminal(sys.stdout):
        widths = [max(map(width_of, column)) for column in cells]
        widest = widths.index(max(widths))
        rest = _columns() - sum(widths) + widths[widest] - 2 * (len(widths) - 1)
        cells[widest] = [_fitted(cell, max(rest, _NARROW)) for cell in cells[widest]]
    columns = map(_aligned, cells)
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def _aligned(column: list[str]) -> list[str]:
    widest = max(map(width_of, column))
    is_number = len(column) > 1 and all(text.lstrip("+-").replace(".", "", 1).isdecimal() for text in column[1:])
    blanks = [" " * (widest - width_of(text)) for text in column]
    return [blank + text if is_number else text + blank for blank, text in zip(blanks, column, strict=True)]


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _fitted(text: str, columns: int) -> str:
    if width_of(text) <= columns:
        return text
    while width_of(text) >= columns:
        text = text[:-1]
    return f"{text}…"


def is_terminal(stream: "TextIO | None") -> bool:
    """Return whether a person looks at the stream. A stream that was closed before the start is None."""
    return stream is not None and stream.isatty()


def is_dialogue() -> bool:
    """Return whether somebody can be asked: standard input and output are terminals."""
    return is_terminal(sys.stdin) and is_terminal(sys.stdout)


@contextmanager
def progress_bar(what: str, quiet: bool) -> Iterator[Callable[[int, int | None], object]]:
    """Yield a function that shows how much is done, of how much in all: as a bar on a terminal, else by `_Lines`."""
    with _progress_shown(what, quiet) as show:
        yield lambda done, total: show(done, lambda: total)


@contextmanager
def _progress_shown(what: str, quiet: bool) -> Iterator[_Show]:
    """Yield what `progress_bar` yields; here the total is a function, called only for what is shown."""
    if quiet or not is_terminal(sys.stderr):
        yield _nothing if quiet else _Lines(what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # redirect_stdout would send results to the terminal even if standard output is a file
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total())


def _nothing(done: int, total: _Total) -> None:
    """Show nothing."""


class _Lines:
    """Says on standard error how far long work is, in a line each half minute: whoever reads a pipe sees that it lives.

    Work that takes less than that says nothing.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._said_at = time.monotonic()

    def __call__(self, done: int, total: _Total) -> None:
        is_due = time.monotonic() - self._said_at >= LINE_SECONDS
        if is_due and sys.stderr is not None:  # a closed one is None, and `print` would take standard output
            number = total()
            warn(f"{self._what}: {done:,}{'' if number is None else f' of {number:,}'}")
            self._said_at = time.monotonic()


def progress(
    items: "Iterable[T]",
    what: str,
    quiet: bool,
    total: int | _Total | None = None,
    size: "Callable[[T], int]" = lambda _: 1,
) -> "Iterator[T]":
    """Yield the items, and show the progress as `progress_bar` does.

    total: the number of steps, or a function that counts them, called once and only for what is shown. size: the steps
    of an item.
    """
    counted = functools.cache(total if callable(total) else lambda: total)
    with _progress_shown(what, quiet) as show:
        done = 0
        show(done, counted)
        for item in items:
            yield item
            done += size(item)
            show(done, counted)
