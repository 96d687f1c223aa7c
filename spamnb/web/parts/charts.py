"""Charts as inline SVG, each with its figures as a table. The functions are pure: values in, markup out.

Colours and line styles are classes of the style sheet, since the Content-Security-Policy forbids `style=`. The drawing
is narrow, so that its text is as large on a phone as on a desk.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from spamnb.ledger.history.figures import Bin, Caught, Judged, Received

WIDTH, HEIGHT = 400, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 6, 16, 22
_PLOT_WIDTH, _PLOT_HEIGHT = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
_BASE = HEIGHT - _BOTTOM
_VERDICTS = ("ham", "unsure", "spam")
_FEW = 5  # messages: the share of a bin with fewer says little


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its title, and its figures as a table.

    legend: the verdicts whose colours it has. mark: a further sign in the drawing, and its meaning.
    """

    title: str
    svg: Markup
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[str, ...] = ()
    mark: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """A share of some messages, from 0 to 1, with its 95 % interval. at: its place on the axis, in [0, 1]."""

    at: float
    share: float
    low: float
    high: float
    messages: int
    label: str

    @property
    def interval(self) -> str:
        """The interval, in percent."""
        return f"{_percent(self.low)} to {_percent(self.high)}"


def daily(spans: Sequence[Judged], names: Sequence[str], title: str, of: str = "day") -> Chart:
    """Draw a bar for each span of time, with the verdicts above each other and a mark if a person has corrected one.

    of: the name of a span, for the head of the table.
    """
    marks = [
        f"{name}: you corrected {span.corrected}" if span.corrected else ""
        for span, name in zip(spans, names, strict=True)
    ]
    verdicts = [(("ham", span.ham), ("unsure", span.unsure), ("spam", span.spam)) for span in spans]
    parts = _stacked(verdicts, names, marks)
    rows = tuple(
        (name, str(span.ham), str(span.unsure), str(span.spam), str(span.lost), str(span.missed))
        for span, name in zip(spans, names, strict=True)
    )
    columns = (of, "ham", "unsure", "spam", "ham called spam", "spam called ham")
    mark = ("▼", "you corrected the verdict") if any(span.corrected for span in spans) else None
    return Chart(title, _drawing(title, parts), columns, rows, _VERDICTS, mark)


def received(spans: Sequence[Received], names: Sequence[str], title: str) -> Chart:
    """Draw a bar for each day: the messages that a person called spam, above all others."""
    parts = [(("other", span.messages - span.called_spam), ("spam", span.called_spam)) for span in spans]
    rows = tuple((name, str(span.messages), str(span.called_spam)) for span, name in zip(spans, names, strict=True))
    drawing = _drawing(title, _stacked(parts, names))
    return Chart(title, drawing, ("day", "came", "you called spam"), rows, ("spam",))


def _stacked(
    spans: Sequence[Sequence[tuple[str, int]]], names: Sequence[str], marks: Sequence[str] = ()
) -> list[Markup]:
    """Draw a bar for each span: its numbers above each other, each in the colour of its word.

    marks: for each span, the text of a mark above its bar, or "".
    """
    most = max((sum(number for _, number in span) for span in spans), default=0)
    step = _PLOT_WIDTH / max(1, len(spans))
    width = max(0.5, step * 0.8)
    parts = [_grid(_linear_ticks(most))]
    for place, (span, name, mark) in enumerate(zip(spans, names, marks or [""] * len(spans), strict=True)):
        x, top = _LEFT + place * step + (step - width) / 2, float(_BASE)
        for word, number in span:
            height = _PLOT_HEIGHT * number / max(1, most)
            top -= height
            if number:
                parts.append(_rect(x, top, width, height, word, f"{name}: {number} {word}"))
        if mark:
            parts.append(_mark(x + width / 2, top - 3, mark))
    return [*parts, *_ends(names)]


def caught(spans: Sequence[Caught], names: Sequence[str], title: str, of: str) -> Chart:
    """Draw a bar for each span of time, as high as the share of the spam that was caught. No spam gives no bar.

    Above it, paler, is the share that a filter would have caught that did not move mail yet. of: the name of a span.
    """
    step = _PLOT_WIDTH / max(1, len(spans))
    width = min(step * 0.8, 40.0)
    parts, rows = [_grid([(part, _percent(part)) for part in (0.0, 0.5, 1.0)])], []
    has_would = any(span.would for span in spans)
    for place, (span, name) in enumerate(zip(spans, names, strict=True)):
        share = _percent(span.caught / span.spam) if span.spam else ""
        rows.append((name, share, f"{span.caught:,}", *([f"{span.would:,}"] if has_would else []), f"{span.spam:,}"))
        x, top = _LEFT + place * step + (step - width) / 2, float(_BASE)
        for word, number, did in (("share", span.caught, "caught"), ("would", span.would, "would have been caught")):
            if number:
                height = _PLOT_HEIGHT * number / span.spam
                top -= height
                words = f"{name}: {_percent(number / span.spam)}, {number:,} of {span.spam:,} {did}"
                parts.append(_rect(x, top, width, height, word, words))
    columns = (of, "caught", "messages", *(["would have caught"] if has_would else []), "of")
    mark = ("▒", "the filter would have caught it") if has_would else None
    return Chart(title, _drawing(title, [*parts, *_ends(names)]), columns, tuple(rows), mark=mark)


def histogram(bins: Sequence[Bin], ham_cutoff: float, spam_cutoff: float, title: str) -> Chart:
    """Draw the number of messages per probability, on a logarithmic scale: otherwise only the two outer bins show.

    Within a bar, each verdict has a length in proportion to its number. The verdicts may come from older cutoffs.
    """
    most = max((part.messages for part in bins), default=0)
    tallest = math.log1p(max(1, most))
    parts = [_grid([(math.log1p(n) / tallest, f"{n:,}") for n in _powers(most)])]
    for part in bins:
        x, width = _LEFT + _PLOT_WIDTH * part.low, _PLOT_WIDTH * (part.high - part.low)
        whole, top = _PLOT_HEIGHT * math.log1p(part.messages) / tallest, float(_BASE)
        for word, number in zip(_VERDICTS, part.verdicts, strict=True):
            if number:
                height = whole * number / part.messages
                top -= height
                words = f"{_percent(part.low)} to {_percent(part.high)}: {number:,} {word}"
                parts.append(_rect(x + width * 0.08, top, width * 0.84, height, word, words))
    for cutoff in (ham_cutoff, spam_cutoff):
        x = _LEFT + _PLOT_WIDTH * cutoff
        parts.append(_line(x, _TOP - 6, x, _BASE, "cutoff"))
    parts += [_text(_LEFT + _PLOT_WIDTH * at, HEIGHT - 6, words, anchor) for at, anchor, words in _SCALE]
    columns = ("probability of spam", "messages", "you said ham", "you said spam")
    rows = tuple(
        (f"{_percent(part.low)} to {_percent(part.high)}", str(part.messages), str(part.ham), str(part.spam))
        for part in bins
    )
    return Chart(title, _drawing(title, parts), columns, rows, _VERDICTS, ("┆", "the limits for ham and spam"))


def diagonal(points: Sequence[Point], title: str) -> Chart:
    """Draw the share of spam for each probability: a point on the diagonal means that the probability is right."""
    parts = [_line(_LEFT, _BASE, _LEFT + _PLOT_WIDTH, _TOP, "diagonal")]
    parts += [_text(_LEFT + _PLOT_WIDTH * at, HEIGHT - 6, words, anchor) for at, anchor, words in _SCALE]
    return _dots(points, title, parts, ("probability", "spam"))


def curve(points: Sequence[Point], title: str, highest: float) -> Chart:
    """Draw a row of shares with their intervals, on a scale from 0 to `highest`."""
    line = " ".join(f"{_x(point.at):.1f},{_y(min(1.0, point.share / highest)):.1f}" for point in points)
    parts = [Markup('<polyline class="curve" points="{}"/>').format(line), *_ends([point.label for point in points])]
    return _dots(points, title, parts, ("messages learned", "share"), highest)


def lines(shares: Sequence[tuple[str, Sequence[tuple[int, int]]]], names: Sequence[str], title: str, of: str) -> Chart:
    """Draw a line of shares through spans of time for each thing: the first line is whole, the others are dashed.

    shares: the thing in words, and how many of how many for each span. of: the name of a span.
    """
    parts, last = [_grid([(part, _percent(part)) for part in (0.0, 0.5, 1.0)])], max(1, len(names) - 1)
    for number, (words, line) in enumerate(shares):
        places = [(_x(place / last), _y(some / all_of)) for place, (some, all_of) in enumerate(line)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(Markup('<polyline class="curve{}" points="{}"/>').format(" dashed" if number else "", points))
        dot = Markup('<circle class="dot{}" cx="{:.1f}" cy="{:.1f}" r="3"><title>{}</title></circle>')
        for (x, y), name, (some, all_of) in zip(places, names, line, strict=True):
            said = f"{words}, {name}: {_percent(some / all_of)}, {some:,} of {all_of:,}"
            parts.append(dot.format(" few" if number else "", x, y, said))
    spans = zip(names, *(line for _, line in shares), strict=True)
    rows = tuple((name, *(f"{some:,} of {all_of:,}" for some, all_of in line)) for name, *line in spans)
    return Chart(title, _drawing(title, [*parts, *_ends(names)]), (of, *(words for words, _ in shares)), rows)


def _dots(
    points: Sequence[Point], title: str, parts: list[Markup], columns: tuple[str, str], highest: float = 1.0
) -> Chart:
    """Draw shares with their intervals, on a scale up to `highest`. The dot of few messages is hollow."""
    grid = _grid([(part, _percent(part * highest)) for part in (0.0, 0.5, 1.0)])
    drawing = _drawing(title, [grid, *parts, *(_dot(point, highest) for point in points)])
    rows = tuple((point.label, _percent(point.share), point.interval, f"{point.messages:,}") for point in points)
    return Chart(title, drawing, (*columns, "95 % interval", "messages"), rows)


def small_bar(share: float, word: str) -> Markup:
    """Draw a bar in a line of a table, as long as a share. The number is beside it, so the bar has no text."""
    length = 100 * min(1.0, max(0.0, share))
    return Markup(
        '<svg class="clue" aria-hidden="true" viewBox="0 0 100 8" preserveAspectRatio="none">'
        '<rect class="bar {}" width="{:.1f}" height="8"/></svg>'
    ).format(word, length)


_SCALE = ((0.0, "start", "ham: 0 %"), (0.5, "middle", "50 %"), (1.0, "end", "100 %: spam"))


def _drawing(title: str, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg class="chart" role="img" viewBox="0 0 {} {}"><title>{}</title>{}</svg>').format(
        WIDTH, HEIGHT, title, Markup("").join(parts)
    )


def _x(at: float) -> float:
    return _LEFT + _PLOT_WIDTH * at


def _y(share: float) -> float:
    return _BASE - _PLOT_HEIGHT * share


def _rect(x: float, y: float, width: float, height: float, word: str, title: str) -> Markup:
    return Markup(
        '<rect class="bar {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>'
    ).format(word, x, y, width, height, title)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(kind, x1, y1, x2, y2)


def _text(x: float, y: float, words: str, anchor: str = "start") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, words)


def _mark(x: float, y: float, title: str) -> Markup:
    """Draw a triangle that points down."""
    return Markup('<path class="mark" d="M{:.1f} {:.1f}l-4 -7h8z"><title>{}</title></path>').format(x, y, title)


def _dot(point: Point, highest: float) -> Markup:
    """Draw a share as a dot, with its interval as a line."""
    x, (y, low, high) = _x(point.at), (_y(min(1.0, of / highest)) for of in (point.share, point.low, point.high))
    kind = "dot few" if point.messages < _FEW else "dot"
    words = f"{point.label}: {_percent(point.share)} of {point.messages:,}"
    dot = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4"><title>{}</title></circle>')
    return _line(x, low, x, high, "interval") + dot.format(kind, x, y, words)


def _grid(ticks: Sequence[tuple[float, str]]) -> Markup:
    """Draw horizontal lines at heights from 0 to 1, each with its label."""
    return Markup("").join(
        _line(_LEFT, _y(at), WIDTH - _RIGHT, _y(at), "grid") + _text(_LEFT - 4, _y(at) + 4, label, "end")
        for at, label in ticks
    )


def _linear_ticks(most: int) -> list[tuple[float, str]]:
    """Return the ticks for zero and the highest number, and for the middle if that is a whole number."""
    middle = [(0.5, f"{most // 2:,}")] if most >= 4 and most % 2 == 0 else []
    return [(0.0, "0"), *middle, *([(1.0, f"{most:,}")] if most else [])]


def _powers(most: int) -> list[int]:
    """Return 0, 1, 10, 100 and so on, up to `most`.

    >>> _powers(250)
    [0, 1, 10, 100]
    """
    return [0, *(10**power for power in range(len(str(most))) if 10**power <= most)]


def _ends(names: Sequence[str]) -> list[Markup]:
    """Draw the first and the last name under the axis."""
    if not names:
        return []
    last = [_text(WIDTH - _RIGHT, HEIGHT - 6, names[-1], "end")] if len(names) > 1 else []
    return [_text(_LEFT, HEIGHT - 6, names[0]), *last]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
