"""Learned ham and spam as two hills along the probability, with the spam cutoff as a line that one drags.

The axis is the log-odds, compressed towards both ends. So the cutoffs are far apart, and each message has a place.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from spamnb.evaluation.cutoffs import CUTOFFS
from spamnb.web.parts.charts import Chart

WIDTH, HEIGHT = 400, 186
_MIDDLE, _REACH = 200.0, 190.0  # x of 50 %, and the distance from there to each end
_TOP, _BASE = 24.0, 152.0
_HALF = 6.0  # log-odds at which a half axis without an end would have its middle
# The style sheet lays the slider over the chart: from 50 % to this cutoff, which is at 0.65 of the half axis.
_LAST, _LAST_PLACE = 0.999, 0.65
_SURE = 1e-12  # the distance from 0 and 1 that still shows
_STEPS = 60  # of the slider: on a phone some 2 pixels each
_BINS, _BLUR = 100, 0.035  # of the hills; the blur is a standard deviation, in units of the half axis
_TICKS = (0.001, 0.1, 0.5, 0.9, 0.999)
_BORDERS = (0.0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0)
_APART, _ROWS = 30.0, 4  # a dot is a target of 24 pixels, also if the drawing is 328 pixels wide


@dataclass(frozen=True, slots=True)
class Dot:
    """A ham that looks like spam. address: of its page, relative. words: its summary, in printable characters."""

    probability: float
    address: str
    words: str


def _log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


_SCALE = _log_odds(_LAST) / (_log_odds(_LAST) + _HALF) / _LAST_PLACE


def places(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the place of each probability on the axis, from -1 to 1: float64 (n,).

    >>> places(np.array([0.0, 0.001, 0.5, 0.999])).round(2).tolist()
    [-1.0, -0.65, 0.0, 0.65]
    """
    within = np.clip(probability, _SURE, 1 - _SURE)
    log_odds = np.log(within / (1 - within))
    place: NDArray[np.float64] = log_odds / (np.abs(log_odds) + _HALF) / _SCALE
    return place


def x_of(probability: float) -> float:
    """Return the place of a probability in the drawing."""
    return _MIDDLE + _REACH * float(places(np.array([probability]))[0])


def slider_cutoffs(*named: float) -> list[float]:
    """Return the cutoff of each step of the slider, in ascending order. named: cutoffs that must be among them.

    >>> slider_cutoffs()[:3], slider_cutoffs()[-2:], slider_cutoffs(0.9312)[33:36]
    ([0.5, 0.51, 0.53], [0.9987, 0.999], [0.924, 0.9312, 0.94])
    """
    steps = _LAST_PLACE * np.arange(-1, _STEPS + 2) / _STEPS * _SCALE
    exact = 1 / (1 + np.exp(-_HALF * steps / (1 - np.abs(steps))))
    borders = ((exact[1:] + exact[:-1]) / 2).tolist()
    cutoffs = [
        next(short for digits in range(1, 17) if low < (short := round(middle, digits)) < high)
        for low, middle, high in zip(borders, exact[1:-1].tolist(), borders[1:], strict=False)
    ]
    for cutoff in (*CUTOFFS, *named):
        cutoffs[min(max(sum(border <= cutoff for border in borders) - 1, 0), _STEPS)] = cutoff
    return sorted(cutoffs)


def hills(
    is_spam: NDArray[np.bool_], probability: NDArray[np.float64], cutoff: float, dots: Iterable[Dot], title: str
) -> Chart:
    """Draw how ham and spam spread over the probability: bool (n,) and float64 (n,); each hill has the same height.

    The heights are square roots: otherwise single messages between the hills do not show. The table has the numbers.
    """
    at = places(probability)
    parts = [_line_of(cutoff), _hill(at[~is_spam], "ham"), _hill(at[is_spam], "spam")]
    parts.append(Markup('<line class="grid" x1="0" y1="{0:g}" x2="{1}" y2="{0:g}"/>').format(_BASE, WIDTH))
    parts += [
        Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{:g} %</text>').format(x_of(tick), HEIGHT - 6, 100 * tick)
        for tick in _TICKS
    ]
    parts += _dots(dots, cutoff)
    drawing = Markup('<svg class="chart" role="group" aria-label="{}" viewBox="0 0 {} {}">{}</svg>')
    numbers = [np.histogram(probability[mask], _BORDERS)[0].tolist() for mask in (~is_spam, is_spam)]
    rows = tuple(
        (f"{100 * low:g} % to {100 * high:g} %", f"{ham:,}", f"{spam:,}")
        for low, high, ham, spam in zip(_BORDERS, _BORDERS[1:], *numbers, strict=False)
    )
    columns = ("probability of spam", "wanted mail", "spam")
    return Chart(title, drawing.format(title, WIDTH, HEIGHT, Markup("").join(parts)), columns, rows)


def _line_of(cutoff: float) -> Markup:
    """Draw what lies right of the line: the script moves this group. The line itself is the slider's."""
    return Markup(
        '<g data-line="" transform="translate({:.1f})"><rect class="zone" width="{}" height="{:g}"/>'
        '<text x="-6" y="14" text-anchor="end">stays</text><text x="6" y="14">to Junk</text></g>'
    ).format(x_of(cutoff), WIDTH, _BASE)


def _hill(at: NDArray[np.float64], word: str) -> Markup:
    edges = np.linspace(-1, 1, _BINS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    blur = np.exp(-0.5 * ((middles[:, None] - middles) / _BLUR) ** 2)
    heights = np.sqrt(blur @ np.histogram(at, edges)[0])
    ys = _BASE - (_BASE - _TOP) * heights / max(float(heights.max()), 1e-9)
    points = " ".join(f"{_MIDDLE + _REACH * x:.1f},{y:.1f}" for x, y in zip(middles.tolist(), ys.tolist(), strict=True))
    ends = f"{_MIDDLE - _REACH:g},{_BASE:g}", f"{_MIDDLE + _REACH:g},{_BASE:g}"
    return Markup('<polygon class="hill {}" points="{} {} {}"/>').format(word, ends[0], points, ends[1])


def _dots(dots: Iterable[Dot], cutoff: float) -> list[Markup]:
    """Draw each ham as a link, in rows above each other if they are near; leave out those that find no row."""
    drawn, free = [], [math.inf] * _ROWS  # the place from which each row is free, to the left
    for dot in sorted(dots, key=lambda dot: -dot.probability):
        x = x_of(dot.probability)
        row = next((row for row, end in enumerate(free) if x <= end), None)
        if row is not None:
            free[row] = x - _APART
            drawn.append(_dot(dot, x, _BASE - _APART * (row + 0.5), is_beyond=dot.probability >= cutoff))
    return drawn


def _dot(dot: Dot, x: float, y: float, *, is_beyond: bool) -> Markup:
    return Markup(
        '<a href="{0}" data-chance="{1!r}" class="{2}" aria-label="{3}"><title>{3}</title>'
        '<circle class="target" cx="{4:.1f}" cy="{5:.1f}" r="15"/><circle cx="{4:.1f}" cy="{5:.1f}" r="5"/></a>'
    ).format(dot.address, dot.probability, "beyond" if is_beyond else "", dot.words, x, y)
