"""Count the messages of which the page of a message and `spamnb explain` ask "Is it who it says?".

A filter learns the first half of CORPUS in its order, and asks of the second half. Then a filter that has learned
nothing asks of the same mail. A row has the messages of one label, of how many it asks, and by which facts; one message
may have several. `--show N` also prints the first N sentences of each kind.

    python benchmarks/who_it_is.py CORPUS [--show N] [--json]
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import common

from spamnb.acts import training
from spamnb.acts.who_it_is import who_it_is
from spamnb.base.label import How, Label, Role
from spamnb.config import Config, Mailbox, load
from spamnb.config.writing import render
from spamnb.evaluation.corpus import Labelled
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read

_KINDS = ("several", "denied", "name", "answers", "resembles", "namesake", "link")


def main() -> None:
    """Learn, ask, and print the table."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--show", metavar="N", type=int, default=0, help="print the first N sentences of each kind")
    options = parser.parse_args()
    halves = common.halves(common.warmed(options.corpus))
    rows = []
    for name, learned in (("first half", halves.first), ("nothing", [])):
        with TemporaryDirectory() as directory:
            config = _config(Path(directory))
            with Ledger(str(config.ledger)) as ledger:
                _learn(ledger, learned)
                rows += [_row(ledger, config, name, label, halves.second, options.show) for label in Label]
    common.report(rows, options.json)


def _config(directory: Path) -> Config:
    root = directory / "Maildir"
    root.mkdir()
    path = directory / "config.yaml"
    roles = {"INBOX": Role.INBOX, "Junk": Role.SPAM}
    path.write_text(render([Mailbox(path=root, roles=roles)], directory / "ledger.sqlite"))
    return load(path, {})


def _learn(ledger: Ledger, messages: Sequence[Labelled]) -> None:
    for label in Label:
        readings = [read(Path(one.path).read_bytes()) for one in messages if one.label is label]
        training.learn_batches(ledger, [Batch.of(readings)], label, "evaluation", 0.0, how=How.HAND)


def _row(
    ledger: Ledger, config: Config, learned: str, label: Label, messages: Sequence[Labelled], shown: int
) -> dict[str, object]:
    asked, sentences = 0, defaultdict(list)
    of_label = [Path(one.path).read_bytes() for one in messages if one.label is label]
    for raw in of_label:
        facts = who_it_is(ledger, config, raw, read(raw)).alarming
        asked += bool(facts)
        for fact in facts:
            sentences[fact.kind].append(fact.sentence)
    for kind, texts in sentences.items():
        for text in texts[:shown]:
            print(f"{label.word}, {kind}: {text}", file=sys.stderr)
    facts_of = Counter({kind: len(texts) for kind, texts in sentences.items()})
    counts = {kind: facts_of[kind] for kind in _KINDS}
    return {"learned": learned, "mail": label.word, "messages": len(of_label), "asked of": asked, **counts}


if __name__ == "__main__":
    main()
