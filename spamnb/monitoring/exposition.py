"""The text format of Prometheus, version 0.0.4, as far as spamnb uses it.

Lines have no time: the textfile collector of node_exporter refuses files with times.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """A counter or a gauge with its samples, each a value for some labels."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    samples: Mapping[Labels, float]

    def lines(self, common: Labels = ()) -> Iterator[str]:
        """Yield the samples of the metric as text, each with the common labels."""
        return (_line(self.name, (*common, *labels), value) for labels, value in self.samples.items())


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often a value was in which range.

    bounds: the upper ends of the ranges, rising. counts: the number of values in each range, and last the number above
    all bounds. total: the sum of the values.
    """

    name: str
    help: str
    bounds: Sequence[float]
    counts: Sequence[int]
    total: float

    kind = "histogram"

    def lines(self, common: Labels = ()) -> Iterator[str]:
        """Yield the samples of the metric as text: the counts up to each bound, the sum, the total count."""
        for bound, number in zip([*map(str, self.bounds), "+Inf"], accumulate(self.counts), strict=True):
            yield _line(f"{self.name}_bucket", (*common, ("le", bound)), number)
        yield _line(f"{self.name}_sum", common, self.total)
        yield _line(f"{self.name}_count", common, sum(self.counts))


def exposition(metrics: Iterable[Metric | Histogram], common: Labels = ()) -> str:
    r"""Return metrics as text: each with its help and type once, then a line per sample.

    common: labels of all samples, before their own.

    >>> print(exposition([Metric("a_total", "counter", "All.", {(("of", 'a "b"\n'),): 2.0, (): 0.5})]), end="")
    # HELP a_total All.
    # TYPE a_total counter
    a_total{of="a \"b\"\n"} 2
    a_total 0.5
    >>> print(exposition([Histogram("a", "Of two.", (0.5, 1.0), (1, 0, 1), 2.25)]), end="")
    # HELP a Of two.
    # TYPE a histogram
    a_bucket{le="0.5"} 1
    a_bucket{le="1.0"} 1
    a_bucket{le="+Inf"} 2
    a_sum 2.25
    a_count 2
    """
    lines = []
    for metric in metrics:
        help_ = metric.help.replace("\\", r"\\").replace("\n", r"\n")
        lines += [f"# HELP {metric.name} {help_}", f"# TYPE {metric.name} {metric.kind}", *metric.lines(common)]
    return "".join(f"{line}\n" for line in lines)


def _line(name: str, labels: Labels, value: float) -> str:
    held = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"{name}{f'{{{held}}}' if held else ''} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
