"""What a person gets who corrects some of the mistakes, late: spamnb and bogofilter under the same habits.

One person, one message after another, in the order of the corpus. The filter judges each message with what it has
learned so far, and moves spam once it has learned 20 ham and 20 spam. Then the person acts, later (delays count
messages):

    spam missed        is moved to Junk later, with the chance `corrects`; of the rest the share `left` is opened and
                       left lying, and counts as kept 60 later
    ham in Junk        is rescued later, with the chance `rescues`
    ham in the inbox   is read and kept with the chance 0.8, and counts as kept 60 later

What is moved or rescued is learned as that, what is kept as ham. `told` is told the truth about each message at once;
`noisy` likewise, but 2 % of it is false. With `-init` the first 500 messages are learned before the rest is judged.

bogofilter runs with the defaults of its program over its own tokens and formula (benchmarks/robinson_fisher.py), which
are compared with the program first. spamnb's figures are those of `spamnb evaluate --protocol user`, whose person has
the same habits, and whose filter decides by all rules of its service.

Means over the corpus's order and shuffles of it. "Ham lost" is ham moved to Junk, also as a share of all ham; the
other rates are in percent, "2nd half" of the second half of the messages. (1-ROCA)% is 100 times 1 minus the area under
the ROC curve; lower is better.

    python benchmarks/habits.py CORPUS [--orders 3] [--habit NAME …] [--only bogofilter|spamnb] [--json]
"""

import heapq
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import common
import numpy as np
from robinson_fisher import SPAM_CUTOFF, RobinsonFisher, Words, check

from spamnb.base.label import Label
from spamnb.evaluation.corpus import load_corpus
from spamnb.evaluation.measures import one_minus_roca
from spamnb.evaluation.runs import average

_MINIMUM = 20  # messages of each class, learned before mail is moved
_KEEPS = 0.8
_KEPT_AFTER = 60  # messages
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Habit:
    """What a person does about the filter's mistakes; chances from 0 to 1, delays in messages."""

    corrects: float
    correct_delay: int
    rescues: float
    rescue_delay: int
    left: float = 0.0
    tells_all: bool = False
    wrong: float = 0.0
    begins_with: int = 0


_TIDY = Habit(1.0, 20, 1.0, 20)
_CARELESS = Habit(0.3, 200, 0.3, 200, left=0.5)
_TOLD = Habit(1.0, 0, 1.0, 0, tells_all=True)
HABITS = {
    "told": _TOLD,
    "tidy": _TIDY,
    "tidy-init": replace(_TIDY, begins_with=500),
    "hasty": Habit(1.0, 20, 0.3, 200),
    "deleting": replace(_CARELESS, left=0.0),
    "careless": _CARELESS,
    "careless-init": replace(_CARELESS, begins_with=500),
    "noisy": replace(_TOLD, wrong=0.02),
}


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
    found = {
        name: figures_of(options.corpus, options.habit, options.orders)
        for name, figures_of in filters.items()
        if options.only in (None, name)
    }
    common.report([row for rows in zip(*found.values(), strict=True) for row in rows], options.json)


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
            lives.append({"habit": habit} | live(order, labels, RobinsonFisher(words), HABITS[habit], seed))
        rows.append(_row("bogofilter", average(lives).mean))
    return rows


def live(
    order: Sequence[int], labels: Sequence[Label], model: RobinsonFisher, habit: Habit, seed: int
) -> dict[str, float]:
    """Judge the messages in this order, and learn what the person does. Returns the figures."""
    chance = random.Random(seed * 1_000_003 + 17)
    due: list[tuple[int, int, Label]] = []  # when, which message, learned as
    spamicity, moved = np.zeros(len(order)), np.zeros(len(order), dtype=bool)

    def learn(message: int, label: Label, at: int) -> None:
        heapq.heappush(due, (at, message, label))

    for now, message in enumerate(order):
        while due and due[0][0] <= now:
            model.learn(*heapq.heappop(due)[1:])
        if now < habit.begins_with:
            model.learn(message, labels[message])
            continue
        spamicity[now] = model.spamicity(message)
        moved[now] = spamicity[now] >= SPAM_CUTOFF and model.messages.min() >= _MINIMUM
        truth = labels[message]
        if habit.wrong and chance.random() < habit.wrong:
            truth = Label.SPAM if truth is Label.HAM else Label.HAM
        if habit.tells_all:
            learn(message, truth, now)
        elif truth is Label.SPAM and not moved[now]:
            if chance.random() < habit.corrects:
                learn(message, Label.SPAM, now + habit.correct_delay)
            elif chance.random() < habit.left:
                learn(message, Label.HAM, now + _KEPT_AFTER)
        elif truth is Label.HAM and moved[now]:
            if chance.random() < habit.rescues:
                learn(message, Label.HAM, now + habit.rescue_delay)
        elif truth is Label.HAM and chance.random() < _KEEPS:
            learn(message, Label.HAM, now + _KEPT_AFTER)
    return _figures(np.array([labels[message] for message in order], dtype=bool), spamicity, moved, habit.begins_with)


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
        "caught": figures["caught"],
        "caught 2nd half": figures["caught_second_half"],
        "ham lost": figures["ham_lost"],
        "% of ham": figures["hm"],
        "(1-ROCA)% 2nd half": figures["one_minus_roca_second_half"],
    }


if __name__ == "__main__":
    main()
