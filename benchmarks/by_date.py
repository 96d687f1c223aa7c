"""Measure the first weeks of a filter that begins empty, with the mail of a corpus in the order of time.

In a shuffled order, every kind of mail comes from the beginning. In the order of time, a mailing list begins, or a
sender's mail begins to come over another server, while the filter knows little. Mail has two such orders. `arrival` is
the time of the topmost Received field, which the person's own server writes, or of Date without a readable one. This is
how mail comes. `date` is the time of the Date field, where the clocks of senders mix the mail. Messages without a
readable time are left out. Each row begins at a later message. The person has a habit of `spamnb evaluate --protocol
user`.

moved: ham moved to Junk, of the first 506 ham. caught: spam moved there, of the first 200 spam, in percent. begins: the
message before which moving began, counted from the start; None: never.

    python benchmarks/by_date.py CORPUS [--order arrival date] [--starts 100 120 …] [--habit tidy] [--json]
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import common

from spamnb.base.label import Label, Verdict
from spamnb.config import Learning, Scoring
from spamnb.evaluation.arrival import arrival, date, header_of
from spamnb.evaluation.corpus import Labelled, load_corpus, samples
from spamnb.evaluation.habits import HABITS
from spamnb.evaluation.packed import Packed
from spamnb.evaluation.user import simulate
from spamnb.evaluation.user_run import UserRun
from spamnb.mail.parsing.message import Message

_HAM, _SPAM = 506, 200


def in_order(corpus: Sequence[Labelled], time_of: Callable[[Message], float | None]) -> list[Labelled]:
    """Return the messages that have a readable time, the oldest first."""
    headers = (header_of(Path(one.path).read_bytes()) for one in corpus)
    timed = [(time, place) for place, header in enumerate(headers) if (time := time_of(header)) is not None]
    return [corpus[place] for _, place in sorted(timed)]


ORDERS = {"arrival": arrival, "date": date}


def figures(run: UserRun) -> dict[str, object]:
    """Return the figures of the first messages of a run."""
    ham, spam = ([one.verdict for one in run.outcomes if one.label is label] for label in Label)
    caught = 100 * spam[:_SPAM].count(Verdict.SPAM) / len(spam[:_SPAM])
    return {"moved": ham[:_HAM].count(Verdict.SPAM), "caught": caught, "begins": run.switched_on_at}


def main() -> None:
    """Run each start in each order."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS")
    parser.add_argument("--order", nargs="+", choices=ORDERS, default=list(ORDERS))
    parser.add_argument("--starts", type=int, nargs="+", default=list(range(100, 260, 20)), metavar="MESSAGE")
    parser.add_argument("--habit", choices=HABITS, default="tidy")
    parser.add_argument("--messages", type=int, default=900, metavar="N", help="from each start")
    options = parser.parse_args()
    corpus = load_corpus(options.corpus)
    rows: list[dict[str, object]] = []
    for name in options.order:
        read = list(Packed(samples(in_order(corpus, ORDERS[name])[: max(options.starts) + options.messages])))
        for start in options.starts:
            run = simulate(read[start : start + options.messages], Scoring(), Learning(), True, options.habit)
            rows.append({"order": name, "start": start} | figures(run))
    common.report(rows, options.json)


if __name__ == "__main__":
    main()
