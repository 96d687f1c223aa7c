"""Show how the filter does in its first weeks, begun with nothing: spam caught in each week, beside bogofilter.

A person gets 30 messages per day, the mail of a corpus in random order. The person acts by a habit of
`spamnb evaluate --protocol user` (spamnb/evaluation/habits.py). The filter decides by all rules of its service, and
bogofilter lives as in benchmarks/habits.py. The figures are spam moved to Junk, in percent of the week's spam, and the
number of ham messages moved to Junk in all weeks. They are means over the orders. --plot draws the curves.

    python benchmarks/first_weeks.py CORPUS [--orders 5] [--habit NAME …] [--weeks 8] [--plot FILE.svg] [--json]
"""

import random
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import common
import habits
import numpy as np
from robinson_fisher import RobinsonFisher, Words

from spamnb.base.label import Label, Verdict
from spamnb.config import Learning, Scoring
from spamnb.evaluation.corpus import Labelled, load_corpus, samples
from spamnb.evaluation.habits import HABITS
from spamnb.evaluation.packed import Packed
from spamnb.evaluation.user import simulate

_A_DAY = 30
_COLOURS = {"spamnb": "#1a5fb4", "bogofilter": "#9a9996"}

Weeks = list[tuple[float, int]]
"""For each week the percentage of its spam that was caught, and the ham moved to Junk until its end."""


def main() -> None:
    """Let both filters live some weeks under each habit."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--weeks", type=int, default=8)
    parser.add_argument("--habit", nargs="+", choices=HABITS, default=["tidy", "careless"])
    parser.add_argument(
        "--plot", metavar="FILE", help="draw the curves into this file, .svg or .png (needs matplotlib)"
    )
    options = parser.parse_args()
    corpus = load_corpus(options.corpus)
    orders = [_shuffled(len(corpus), seed)[: 7 * _A_DAY * options.weeks] for seed in range(options.orders)]
    found: dict[tuple[str, str], list[Weeks]] = {}
    read = Packed(samples(corpus))
    words = Words(corpus) if shutil.which("bogolexer") else None
    if words is None:
        print("bogofilter is not installed: its part is left out", file=sys.stderr)
    for habit in options.habit:
        for seed, order in enumerate(orders):
            run = simulate(
                [read[n] for n in order], Scoring(), Learning(), True, habit, seed=seed, messages_a_day=_A_DAY
            )
            moved = [outcome.verdict is Verdict.SPAM for outcome in run.outcomes]
            found.setdefault(("spamnb", habit), []).append(_weeks(corpus, order, moved))
            if words is not None:
                moved = _by_bogofilter(corpus, order, words, habit, seed)
                found.setdefault(("bogofilter", habit), []).append(_weeks(corpus, order, moved))
    means = {key: np.mean(lives, axis=0) for key, lives in found.items()}
    common.report([_row(name, habit, values) for (name, habit), values in means.items()], options.json)
    if options.plot:
        draw(means, options.plot)


def _shuffled(number: int, seed: int) -> list[int]:
    return random.Random(seed + 1).sample(range(number), number)


def _by_bogofilter(corpus: Sequence[Labelled], order: Sequence[int], words: Words, habit: str, seed: int) -> list[bool]:
    labels = [message.label for message in corpus]
    kept = replace(HABITS[habit], learned=0)
    _, moved = habits.live(order, labels, RobinsonFisher(words), kept, seed)
    return [bool(one) for one in moved]


def _weeks(corpus: Sequence[Labelled], order: Sequence[int], moved: Sequence[bool]) -> Weeks:
    """Return the figures of each week of a life."""
    weeks, lost = Weeks(), 0
    for start in range(0, len(order), 7 * _A_DAY):
        of_week = range(start, min(start + 7 * _A_DAY, len(order)))
        spam = [moved[place] for place in of_week if corpus[order[place]].label is Label.SPAM]
        lost += sum(moved[place] for place in of_week if corpus[order[place]].label is Label.HAM)
        weeks.append((100 * sum(spam) / max(1, len(spam)), lost))
    return weeks


def _row(name: str, habit: str, weeks: np.ndarray) -> dict[str, object]:
    row: dict[str, object] = {"habit": habit, "filter": name}
    row |= {f"week {number}": float(caught) for number, (caught, _) in enumerate(weeks, 1)}
    return row | {"ham in Junk": float(weeks[-1][1])}


def draw(means: Mapping[tuple[str, str], np.ndarray], path: str) -> None:
    """Draw a curve for each filter and habit into a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots()
    of_habits = list(dict.fromkeys(habit for _, habit in means))
    for (name, habit), weeks in means.items():
        style = ["-", "--", ":"][of_habits.index(habit) % 3]
        numbers = range(1, len(weeks) + 1)
        axes.plot(numbers, weeks[:, 0], style, color=_COLOURS[name], marker="o", markersize=3, label=f"{name}, {habit}")
    axes.set(xlabel="week", ylabel="spam caught (%)", ylim=(0, 100))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None, dpi=100)


if __name__ == "__main__":
    main()
