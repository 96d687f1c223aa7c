"""Simulate a person who corrects some of the mistakes, late: spamnb and bogofilter under the same habits.

The person gets one message after another, in the order of the corpus. The filter judges each message by its lessons so
far. bogofilter moves spam when it has learned 20 ham and 20 spam, spamnb by its own rules. Then the person acts, later
(delays count messages):

    spam missed        is moved to Junk later, with the chance `correct`; of the rest the share `left` is opened and
                       left in the inbox, and counts as kept 60 later
    ham in Junk        is rescued later, with the chance `rescue`
    ham in the inbox   is read and kept with the chance `keep`, and counts as kept 60 later

The habits, with these chances, are those of `spamnb evaluate --protocol user` (spamnb/evaluation/habits.py). Moved or
rescued mail is learned with its new label, kept mail as ham. `told` learns the true label of each message at once;
`noisy` too, but 2 % of the labels are wrong. With `-init` the first 500 messages are learned before the rest is judged.

bogofilter runs with the defaults of its program over its own tokens and formula (benchmarks/robinson_fisher.py), which
are compared with the program first. spamnb's figures are those of `spamnb evaluate --protocol user`, whose filter
decides by all rules of its service.

The figures are means over the corpus's order and shuffles of it, as in docs/evidence/accuracy.md; --json has more. "Ham
moved" is ham moved to Junk, also as a share of all ham. The other rates are in percent, "2nd half" for the second half
of the messages. (1-ROCA)% is 100 times 1 minus the area under the ROC curve; lower is better.

    python benchmarks/habits.py CORPUS [--orders 3] [--habit NAME …] [--only bogofilter|spamnb] [--json]
"""

import heapq
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Protocol

import common
import numpy as np
from robinson_fisher import RobinsonFisher, Words, check

from spamnb.base.label import Label
from spamnb.evaluation.corpus import load_corpus
from spamnb.evaluation.habits import HABITS, Habit
from spamnb.evaluation.measures import one_minus_roca
from spamnb.evaluation.runs import average

_MINIMUM = 20  # messages of each class to learn before mail is moved
_UNKNOWN = 0.5  # the spamicity before a message of each class was learned
_KEPT_AFTER = 60  # messages
_TOLERANCE = 1e-9
_CAUGHT, _MOVED, _RANKED = "spam caught in the 2nd half", "ham moved", "(1−ROCA)% of the 2nd half"
_COLUMNS = {_CAUGHT: "{:.1f} %", _MOVED: "{:.1f}", _RANKED: "{:.4f}"}  # of the table


class Model(Protocol):
    """A filter that knows messages by their numbers, and takes those from `cutoff` on for spam."""

    cutoff: float

    def learn(self, message: int, label: Label) -> None:
        """Learn a message."""

    def spamicity(self, message: int) -> float:
        """Return a number from 0 to 1. It is called when a message of each class was learned."""


def main() -> None:
    """Run both filters under each habit, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--habit", nargs="+", choices=HABITS, default=list(HABITS))
    parser.add_argument("--only", choices=("bogofilter", "spamnb"))
    options = parser.parse_args()

    filters = {"spamnb": _spamnb, "bogofilter": _bogofilter}
    if shutil.which("bogolexer") is None:
        print("bogofilter is not installed: its part is left out", file=sys.stderr)
        del filters["bogofilter"]
    rows = {
        name: figures_of(options.corpus, options.habit, options.orders)
        for name, figures_of in filters.items()
        if options.only in (None, name)
    }
    by_habit = list(zip(*rows.values(), strict=True))
    if options.json:
        common.report([row for of_habit in by_habit for row in of_habit], as_json=True)
    else:
        print(table(by_habit))


def table(by_habit: Sequence[Sequence[Mapping[str, object]]]) -> str:
    """Return the rows of each habit, one per filter, in Markdown."""
    filters = [str(row["filter"]) for row in by_habit[0]]
    heads = ["habit"]
    for column in _COLUMNS:
        heads += [f"{column}, {filters[0]}", *filters[1:]]
    lines = [_line(heads), "|" + "---|" * len(heads)]
    for rows in by_habit:
        cells = [f"`{rows[0]['habit']}`"]
        for column, form in _COLUMNS.items():
            cells += [form.format(row[column]) for row in rows]
        lines.append(_line(cells))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _spamnb(corpus: str, habits: Sequence[str], orders: int) -> list[dict[str, object]]:
    rows = []
    for habit in habits:
        command = [sys.executable, "-m", "spamnb", "-q", "evaluate", corpus, "--protocol", "user", "--json"]
        command += ["--habit", habit, "--orders", str(orders)]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command[2:])} failed: {done.stderr[-500:]}")
        rows.append(_row("spamnb", json.loads(done.stdout)))
    return rows


def _bogofilter(corpus: str, habits: Sequence[str], orders: int) -> list[dict[str, object]]:
    messages = load_corpus(corpus)
    words = Words(messages)
    difference = check(messages, words)
    if difference > _TOLERANCE:
        raise RuntimeError(f"the formula differs from bogofilter's program by up to {difference:.2g}")
    labels = [message.label for message in messages]
    rows = []
    for habit in habits:
        lives = []
        for seed in range(orders):
            order = list(range(len(messages)))
            if seed:
                random.Random(seed).shuffle(order)
            spamicity, moved = live(order, labels, RobinsonFisher(words), HABITS[habit], seed)
            is_spam = np.array([labels[message] for message in order], dtype=bool)
            lives.append({"habit": habit} | _figures(is_spam, spamicity, moved, HABITS[habit].learned))
        rows.append(_row("bogofilter", average(lives).mean))
    return rows


def live(
    order: Sequence[int], labels: Sequence[Label], model: Model, habit: Habit, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Judge the messages in this order, and learn by the person's acts.

    Returns two arrays of shape (n,): the spamicity of each message, and whether it was moved.
    """
    chance = random.Random(seed * 1_000_003 + 17)
    due: list[tuple[int, int, Label]] = []  # when, which message, learned as
    spamicity, moved = np.full(len(order), _UNKNOWN), np.zeros(len(order), dtype=bool)
    learned = np.zeros(2, dtype=np.int64)  # ham, spam

    def learn_now(message: int, label: Label) -> None:
        model.learn(message, label)
        learned[label] += 1

    def learn(message: int, label: Label, at: int) -> None:
        heapq.heappush(due, (at, message, label))

    for now, message in enumerate(order):
        while due and due[0][0] <= now:
            learn_now(*heapq.heappop(due)[1:])
        if now < habit.learned:
            learn_now(message, labels[message])
            continue
        if learned.all():
            spamicity[now] = model.spamicity(message)
        moved[now] = spamicity[now] >= model.cutoff and learned.min() >= _MINIMUM
        truth = labels[message]
        if habit.wrong and chance.random() < habit.wrong:
            truth = Label.SPAM if truth is Label.HAM else Label.HAM
        if habit.told:
            learn(message, truth, now)
        elif truth is Label.SPAM and not moved[now]:
            if chance.random() < habit.correct:
                learn(message, Label.SPAM, now + habit.corrected_after)
            elif chance.random() < habit.left:
                learn(message, Label.HAM, now + _KEPT_AFTER)
        elif truth is Label.HAM and moved[now]:
            if chance.random() < habit.rescue:
                learn(message, Label.HAM, now + habit.rescued_after)
        elif truth is Label.HAM and chance.random() < habit.keep:
            learn(message, Label.HAM, now + _KEPT_AFTER)
    return spamicity, moved


def _figures(is_spam: np.ndarray, spamicity: np.ndarray, moved: np.ndarray, begins_with: int) -> dict[str, float]:
    judged, second = slice(begins_with, None), slice(max(begins_with, len(is_spam) // 2), None)
    return {
        "caught": 100 * float(moved[judged][is_spam[judged]].mean()),
        "caught_second_half": 100 * float(moved[second][is_spam[second]].mean()),
        "ham_lost": int((moved & ~is_spam).sum()),
        "hm": 100 * float(moved[judged][~is_spam[judged]].mean()),
        "one_minus_roca_second_half": one_minus_roca(spamicity[second], is_spam[second]),
    }


def _row(name: str, figures: dict[str, object]) -> dict[str, object]:
    return {
        "habit": figures["habit"],
        "filter": name,
        "spam caught": figures["caught"],
        _CAUGHT: figures["caught_second_half"],
        _MOVED: figures["ham_lost"],
        "% of ham": figures["hm"],
        _RANKED: figures["one_minus_roca_second_half"],
    }


if __name__ == "__main__":
    main()
