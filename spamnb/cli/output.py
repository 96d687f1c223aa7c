"""How results look: progress, tables of plain text, JSON, times."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from spamnb.mail.reading import printable

__all__ = ["as_json", "clock", "printable", "progress", "table"]

T = TypeVar("T")


def as_json(values: dict[str, object]) -> str:
    """One object on one line; ASCII only, so that nothing from mail can reach a terminal as it is."""
    return json.dumps(values, ensure_ascii=True, sort_keys=False)


def clock(at: float) -> str:
    """A time as a person writes it, in local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def table(rows: Iterable[Iterable[object]]) -> str:
    """Columns of text, aligned; numbers to the right."""
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    if not cells:
        return ""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = (
        "  ".join(
            cell.rjust(width)
            if cell.replace(".", "").replace("+", "").replace("-", "").isdigit()
            else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    )
    return "\n".join(lines)


def progress(items: Iterable[T], what: str, quiet: bool, total: int | None = None) -> Iterator[T]:
    """The items, with a progress bar on a terminal and nothing in a pipe."""
    if quiet or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=total)
