"""Measure the first weeks of a filter that begins empty, with the mail of a corpus in the order of its Date.

In a shuffled order, every kind of mail comes from the beginning. In the order of time, a mailing list begins, or a
sender's mail begins to come over another server, while the filter knows little. Each row begins at a later message. The
person has a habit of `spamnb evaluate --protocol user`. Messages without a readable Date are left out.

moved: ham moved to Junk, of the first 506 ham. caught: spam moved there, of the first 200 spam, in percent. begins: the
message before which moving began, counted from the start; None: never.

    python benchmarks/by_date.py CORPUS [--starts 100 120 …] [--habit tidy] [--json]
"""

import email.utils
from collections.abc import Sequence
from datetime import UTC

import common

from spamnb.base.label import Label, Verdict
from spamnb.config import Learning, Scoring
from spamnb.evaluation.corpus import Labelled, load_corpus, samples
from spamnb.evaluation.habits import HABITS
from spamnb.evaluation.packed import Packed
from spamnb.evaluation.user import UserRun, simulate

_HAM, _SPAM = 506, 200
_HEADER = 64 * 1024  # bytes


def by_date(corpus: Sequence[Labelled]) -> list[Labelled]:
    """Return the messages that have a readable Date, the oldest first."""
    dated = [(date, place) for place, one in enumerate(corpus) if (date := _date(one)) is not None]
    return [corpus[place] for _, place in sorted(dated)]


def _date(message: Labelled) -> float | None:
    """Return the time of the Date field, in seconds since the epoch; None if it is missing, odd, or before 1970."""
    with open(message.path, "rb") as file:
        header = file.read(_HEADER).replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    field = next((line[5:] for line in header.split(b"\n") if line[:5].lower() == b"date:"), b"")
    try:
        date = email.utils.parsedate_to_datetime(field.decode("latin-1").strip())
        seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None


def figures(run: UserRun) -> dict[str, object]:
    """Return the figures of the first messages of a run."""
    ham, spam = ([one.verdict for one in run.outcomes if one.label is label] for label in Label)
    caught = 100 * spam[:_SPAM].count(Verdict.SPAM) / len(spam[:_SPAM])
    return {"moved": ham[:_HAM].count(Verdict.SPAM), "caught": caught, "begins": run.switched_on_at}


def main() -> None:
    """Run each start."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS")
    parser.add_argument("--starts", type=int, nargs="+", default=list(range(100, 260, 20)), metavar="MESSAGE")
    parser.add_argument("--habit", choices=HABITS, default="tidy")
    parser.add_argument("--messages", type=int, default=900, metavar="N", help="from each start")
    options = parser.parse_args()
    ordered = by_date(load_corpus(options.corpus))[: max(options.starts) + options.messages]
    read = list(Packed(samples(ordered)))
    rows: list[dict[str, object]] = []
    for start in options.starts:
        mail = read[start : start + options.messages]
        rows.append({"start": start} | figures(simulate(mail, Scoring(), Learning(), True, options.habit)))
    common.report(rows, options.json)


if __name__ == "__main__":
    main()
