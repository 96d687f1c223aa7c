"""How results look: text that is safe to show, tables, progress, JSON, times."""

import json
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, TypeVar

T = TypeVar("T")

_WIDEST = 110  # columns of one cell


def printable(text: str) -> str:
    r"""Text from a stranger as one line that can go to a terminal: what is not printable is written as an escape.

    Path names that hold such bytes stay tell-apart, which blanks in their place would not allow.

    >>> print(printable("a\x1b[2J\n  caf\udce9 \u202e"))
    a\x1b[2J\n  caf\xe9 \u202e
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def named(path: str) -> str:
    """A path that a person gave, for a sentence about it."""
    return printable(path) or "a file without a name"


def _escape(character: str) -> str:
    if unicodedata.category(character) == "Zs":  # a no-break space, say
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte that is not UTF-8 (PEP 383)
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def as_json(values: dict[str, object]) -> str:
    """One object on one line; ASCII only, so that nothing from mail can reach a terminal as it is."""
    return json.dumps(values, ensure_ascii=True, sort_keys=False)


def clock(at: float) -> str:
    """A time as a person writes it, in local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def plural(number: int, noun: str) -> str:
    """A number and its noun.

    >>> plural(1, "message"), plural(0, "message")
    ('1 message', '0 messages')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def megabytes(size: float) -> str:
    """Bytes as a person reads them.

    >>> megabytes(208_896), megabytes(173_043_712), megabytes(78_600_000_000)
    ('209 KB', '173.0 MB', '78.6 GB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1e3:.0f} KB"


def table(rows: Iterable[Iterable[object]]) -> str:
    """Columns of text, aligned on a terminal also where characters are wide; numbers below each other to the right.

    >>> print(table([("token", "ham", "spam"), ("viagra", 0, 12), ("lunch", 7, 1)]))
    token   ham  spam
    viagra    0    12
    lunch     7     1
    """
    lines = [[_cut(printable(str(cell))) for cell in row] for row in rows]
    columns = list(zip(*lines, strict=True))
    right = [len(column) > 1 and all(map(_is_number, column[1:])) for column in columns]
    widths = [max(map(_width, column)) for column in columns]
    return "\n".join("  ".join(map(_aligned, line, widths, right)).rstrip() for line in lines)


def _aligned(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - _width(text))
    return blanks + text if right else text + blanks


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at it; Python has None for a stream that was closed before its start."""
    return stream is not None and stream.isatty()


def progress(
    items: Iterable[T],
    what: str,
    quiet: bool,
    total: int | Callable[[], int | None] | None = None,
    size: Callable[[T], int] = lambda _: 1,
) -> Iterator[T]:
    """The items, with a progress bar on a terminal and nothing in a pipe; a `total` that takes time is asked then.

    `size` says by how much an item moves the bar.
    """
    if quiet or not is_terminal(sys.stderr):
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # redirect_stdout would send results to the terminal also where standard output is a file
    bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
    with bar:
        task = bar.add_task(what, total=total() if callable(total) else total)
        for item in items:
            yield item
            bar.advance(task, size(item))
