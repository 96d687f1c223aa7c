"""Charts: what they draw, and that they say the same in a table."""

import re
from typing import Any

import lxml.etree
import numpy as np
import pytest

from spamnb.evaluation.cutoffs import CUTOFFS
from spamnb.ledger.history.figures import Bin, Caught, Judged, Received
from spamnb.web.parts.charts import Chart, Point, caught, curve, daily, diagonal, histogram, received, small_bar
from spamnb.web.parts.hills import Dot, hills, places, slider_cutoffs, x_of

NAMESPACE = "{http://www.w3.org/2000/svg}"


def tree(svg: str) -> Any:
    """Return a drawing as a tree, without a namespace as in HTML."""
    assert not re.search(r"style=|\son\w+=|href", svg)
    return lxml.etree.fromstring(svg)


def bars(chart: Chart, word: str = "") -> list[Any]:
    """Return the bars of a chart for one word."""
    return list(tree(chart.svg).xpath(f"//rect[contains(@class, 'bar {word}')]"))


def test_daily() -> None:
    """Each day has a bar of its verdicts, the tallest is as high as the plot, and decisions against them are marked."""
    spans = [Judged(0, 1, ham=6, unsure=1, spam=3, lost=1), Judged(1, 2), Judged(2, 3, spam=5)]
    chart = daily(spans, ["Mon", "Tue", "Wed"], "Judged")
    assert [sum(float(bar.get("height")) for bar in bars(chart, word)) for word in ("ham", "unsure", "spam")] == [
        pytest.approx(132 * part) for part in (0.6, 0.1, 0.8)
    ]
    assert [mark.findtext("title") for mark in tree(chart.svg).xpath("//path")] == ["Mon: you corrected 1"]
    assert chart.rows[0] == ("Mon", "6", "1", "3", "1", "0")
    assert tree(chart.svg).get("role") == "img"
    assert tree(chart.svg).findtext("title") == "Judged"


def test_received() -> None:
    """Each day has a bar of what came, and the part of it that a person called spam."""
    chart = received([Received(0, 1, 8, 2), Received(1, 2, 0, 0)], ["Mon", "Tue"], "What came")
    assert [(bar.get("class"), bar.findtext("title")) for bar in bars(chart)] == [
        ("bar other", "Mon: 6 other"),
        ("bar spam", "Mon: 2 spam"),
    ]
    assert sum(float(bar.get("height")) for bar in bars(chart)) == pytest.approx(132)
    assert chart.rows == (("Mon", "8", "2"), ("Tue", "0", "0"))


def test_caught() -> None:
    """Each span has a bar of the share that was caught, and above it what would have been; no spam has no bar."""
    spans = [Caught(0, 1, 0, 2, 4), Caught(1, 2, 0, 0, 0), Caught(2, 3, 3, 1, 4)]
    chart = caught(spans, ["Mon", "Tue", "Wed"], "Caught", "day")
    assert [(bar.get("class"), float(bar.get("height"))) for bar in bars(chart)] == [
        ("bar would", pytest.approx(66)),
        ("bar share", pytest.approx(99)),
        ("bar would", pytest.approx(33)),
    ]
    assert bars(chart)[0].findtext("title") == "Mon: 50 %, 2 of 4 would have been caught"
    assert chart.columns == ("day", "caught", "messages", "would have caught", "of")
    assert chart.rows[0] == ("Mon", "0 %", "0", "2", "4") and chart.mark is not None
    later = caught(spans[1:2], ["Tue"], "Caught", "day")
    assert (later.columns, later.mark) == (("day", "caught", "messages", "of"), None)


def test_histogram() -> None:
    """One message is seen beside a million, and each has the colour of its verdict, whatever the cutoff in its bin."""
    bins = [
        Bin(0.0, 0.05, undecided=1_000_000, verdicts=(1_000_000, 0, 0)),
        Bin(0.5, 0.55, spam=1, verdicts=(0, 1, 0)),
        Bin(0.95, 1.0, ham=2, spam=8, verdicts=(0, 4, 6)),
    ]
    chart = histogram(bins, 0.1, 0.98, "How sure")
    heights = [float(bar.get("height")) for bar in bars(chart)]
    assert [bar.get("class") for bar in bars(chart)] == ["bar ham", "bar unsure", "bar unsure", "bar spam"]
    assert [bar.findtext("title") for bar in bars(chart)][2:] == ["95 % to 100 %: 4 unsure", "95 % to 100 %: 6 spam"]
    assert heights[2] == pytest.approx(heights[3] * 4 / 6, abs=0.1)
    assert heights[0] == pytest.approx(132)
    assert heights[1] > 6
    assert len(tree(chart.svg).xpath("//line[@class='cutoff']")) == 2
    assert chart.rows[2] == ("95 % to 100 %", "10", "2", "8")
    assert {"ham: 0 %", "50 %", "100 %: spam"} <= {text.text for text in tree(chart.svg).xpath("//text")}


def test_nothing_yet() -> None:
    """A chart of nothing is a chart."""
    for chart in (daily([], [], "a"), histogram([], 0.1, 0.95, "b"), diagonal([], "c"), curve([], "d", 0.1)):
        assert not bars(chart)
        assert chart.rows == ()
    assert not bars(histogram([Bin(0, 0.5), Bin(0.5, 1)], 0.1, 0.95, "none"))
    assert not bars(daily([Judged(0, 1)], ["Mon"], "none"))


def test_few_messages_are_hollow() -> None:
    """A dot of fewer than five messages is drawn hollow; its interval is drawn either way."""
    points = [Point(0.05, 0.0, 0.0, 0.1, 500, "0 % to 10 %"), Point(0.55, 0.5, 0.1, 0.9, 4, "50 % to 60 %")]
    drawn = tree(diagonal(points, "Calibration").svg)
    assert [dot.get("class") for dot in drawn.xpath("//circle")] == ["dot", "dot few"]
    assert len(drawn.xpath("//line[@class='interval']")) == 2
    assert diagonal(points, "").rows[1] == ("50 % to 60 %", "50 %", "10 % to 90 %", "4")


def test_curve() -> None:
    """A curve says the share itself, whatever its scale."""
    points = [Point(0.0, 0.04, 0.02, 0.3, 200, "100"), Point(1.0, 0.01, 0.0, 0.02, 200, "300")]
    drawn = tree(curve(points, "Learning", 0.1).svg)
    assert [dot.findtext("title") for dot in drawn.xpath("//circle")] == ["100: 4 % of 200", "300: 1 % of 200"]
    heights = [float(line.get("y2")) for line in drawn.xpath("//line")]
    assert heights
    assert 16 <= min(heights) <= max(heights) <= 148


def test_text_is_escaped() -> None:
    """A name made of markup is text."""
    hostile = "<script>alert(1)</script>\"'&"
    chart = daily([Judged(0, 1, ham=1)], [hostile], hostile)
    assert not tree(chart.svg).xpath("//script")
    assert tree(chart.svg).findtext("title") == hostile


def test_small_bars() -> None:
    """Bars in a table are as long as their share, and are not read aloud: the number is beside them."""
    drawn = tree(small_bar(0.25, "spam"))
    assert [bar.get("width") for bar in drawn.xpath("//rect[@class='bar spam']")] == ["25.0"]
    assert drawn.get("aria-hidden") == "true"
    assert tree(small_bar(1.5, "ham")).xpath("string(//rect/@width)") == "100.0"


def test_hills() -> None:
    """The hills of ham and spam are each as high as the plot, and the table has their numbers."""
    is_spam = np.array([False] * 40 + [True] * 3)
    probability = np.array([0.001] * 38 + [0.3, 0.97] + [0.99] * 3)
    chart = hills(is_spam, probability, 0.95, [], "Hills")
    peaks = {}
    for hill in tree(chart.svg).xpath("//polygon"):
        points = [tuple(map(float, point.split(","))) for point in hill.get("points").split()]
        peaks[hill.get("class")] = min(points, key=lambda point: point[1])
        assert points[0][1] == points[-1][1] == 152
    assert peaks["hill ham"] == (pytest.approx(x_of(0.001), abs=4), 24)
    assert peaks["hill spam"] == (pytest.approx(x_of(0.99), abs=4), 24)
    assert chart.rows[1] == ("0.1 % to 1 %", "38", "0")
    assert chart.rows[6:8] == (("95 % to 99 %", "1", "0"), ("99 % to 99.9 %", "0", "3"))
    assert tree(chart.svg).xpath("string(//*[@data-line]/@transform)") == f"translate({x_of(0.95):.1f})"


def test_each_message_has_a_place() -> None:
    """The axis is symmetric and rises; the surest messages are at its ends, and the cutoffs are far apart."""
    at = places(np.array([0.0, 1e-9, 0.001, 0.05, 0.5, *CUTOFFS[1:], 1 - 1e-9, 1.0]))
    assert (np.diff(at) > 0.03).all()
    assert at[[0, 4, -1]] == pytest.approx([-1, 0, 1], abs=0.01)
    assert places(np.array([0.2])) == pytest.approx(-places(np.array([0.8])))


@pytest.mark.parametrize("named", [(), (0.93,), (0.2, 0.3), (0.9999, 1.0), (0.951, 0.952)])
def test_the_steps_of_the_slider(named: tuple[float, ...]) -> None:
    """The slider has a step for each cutoff of the table and for the named one, rising and about evenly spaced."""
    steps = slider_cutoffs(*named)
    assert len(steps) == 61
    assert steps == sorted(steps)
    assert set(named[-1:]) <= set(steps)
    if not named:
        assert set(CUTOFFS) < set(steps)
        gaps = np.diff(places(np.array(steps)))
        assert 0 < gaps.min() < gaps.max() < 2 * 0.65 / 60


def test_dots_that_are_near() -> None:
    """Dots that are near lie above each other, at least 24 pixels apart on a phone; those without room are left out."""
    dots = [Dot(0.97, f"m/{number}", "<b>'\"&") for number in range(6)] + [Dot(0.7, "m/6", "far")]
    drawn = lxml.etree.fromstring(hills(np.array([False, True]), np.array([0.1, 0.9]), 0.9, dots, "Hills").svg)
    links = drawn.xpath("//a")
    assert [link.get("href") for link in links] == ["m/0", "m/1", "m/2", "m/3", "m/6"]
    heights = [float(link.find("circle").get("cy")) for link in links]
    assert np.diff(heights[:4]).tolist() == [-30] * 3
    assert heights[4] == heights[0]
    assert [link.get("class") for link in links] == ["beyond"] * 4 + [""]
    assert not drawn.xpath("//b")
    assert links[0].findtext("title") == links[0].get("aria-label") == "<b>'\"&"
