"""`score` and `explain`: what a message is, and why."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from spamnb.cli.output import as_json, clock, printable, progress, table
from spamnb.cli.sources import Source, read_source, readings, sources
from spamnb.errors import MailError, UsageError
from spamnb.mail.reading import Reading

if TYPE_CHECKING:
    from spamnb.filter import Explanation

_LETTERS = {"spam": "S", "ham": "H", "unsure": "U"}
_CODES = {"spam": 0, "ham": 1, "unsure": 2}
_EXIT_ERROR = 3
_LABELS = ("ham", "spam")


def score(options: argparse.Namespace) -> int:
    """Print a line for each message; the exit code of a single one is its verdict, as bogofilter's."""
    reads = readings(sources(options.paths))
    start = list(itertools.islice(reads, 1))  # workers first, then numpy: see `teach.learn`
    from spamnb.cli.context import open_ledger
    from spamnb.filter import Filter

    config, ledger = open_ledger(options)
    verdicts: list[str] = []
    failed = False
    with ledger:
        judge = Filter(ledger.learned, config.scoring).judge
        for source, reading in progress(itertools.chain(start, reads), "scoring", options.quiet):
            if isinstance(reading, MailError):
                failed = True
                print(f"spamnb: cannot score {source.where}: {reading}", file=sys.stderr)
                continue
            judgement = judge(reading)
            verdicts.append(judgement.verdict)
            if options.json:
                print(
                    as_json(
                        {
                            "path": source.where,
                            "verdict": judgement.verdict,
                            "probability": round(judgement.probability, 6),
                            "log_odds": round(judgement.log_odds, 6),
                        }
                    )
                )
            else:
                print(f"{_LETTERS[judgement.verdict]} {judgement.probability:.6f} {printable(source.where)}")
    if failed:
        return _EXIT_ERROR
    return _CODES[verdicts[0]] if len(verdicts) == 1 else 0


def explain(options: argparse.Namespace) -> int:
    """Print the clues of one message's verdict."""
    found = list(itertools.islice(sources([options.path]), 2))
    if len(found) != 1:
        raise UsageError("explain takes one message: give a message file, or - for standard input")
    source = found[0]
    reading = read_source(source)
    from spamnb.cli.context import open_ledger
    from spamnb.filter import Filter

    config, ledger = open_ledger(options)
    with ledger:
        explanation = Filter(ledger.learned, config.scoring).explain(reading)
        known = ledger.messages.find(reading.digest)
    judgement = explanation.judgement
    if options.json:
        print(
            as_json(
                {
                    "path": source.where,
                    "verdict": judgement.verdict,
                    "probability": round(judgement.probability, 6),
                    "log_odds": round(judgement.log_odds, 6),
                    "learned_as": None if known is None or known.label is None else _LABELS[known.label],
                    "tokens": explanation.tokens,
                    "known": explanation.known,
                    "clues": [
                        {"token": clue.token, "ham": clue.ham, "spam": clue.spam, "log_odds": round(clue.log_odds, 6)}
                        for clue in explanation.clues
                    ],
                    "taught_by": {
                        token: [
                            {
                                "message": t.message,
                                "summary": t.summary,
                                "label": _LABELS[t.label],
                                "learned_at": t.learned_at,
                            }
                            for t in teachers
                        ]
                        for token, teachers in explanation.teachers.items()
                    },
                }
            )
        )
        return _CODES[judgement.verdict]
    print("\n".join(_explained(source, reading, explanation, options.clues)))
    if known is not None and known.label is not None:
        print(f"\nThis message is itself learned as {_LABELS[known.label]} ({known.learned_why}).")
    return _CODES[judgement.verdict]


def _explained(source: Source, reading: Reading, explanation: Explanation, most: int) -> Iterator[str]:
    judgement = explanation.judgement
    yield f"{judgement.verdict}, probability {judgement.probability:.4f}: {printable(reading.summary)}"
    yield f"{len(explanation.clues)} of {explanation.tokens} tokens decide ({explanation.known} are known)"
    for heading, side in (
        ("speaks for spam", [clue for clue in explanation.clues if clue.log_odds > 0]),
        ("speaks for ham", [clue for clue in explanation.clues if clue.log_odds < 0]),
    ):
        yield ""
        if not side:
            yield f"Nothing {heading}."
            continue
        rows: list[Sequence[object]] = [(heading, "ham", "spam", "log-odds")]
        rows += [(clue.token, clue.ham, clue.spam, f"{clue.log_odds:+.2f}") for clue in side[:most]]
        yield table(rows)
        if len(side) > most:
            yield f"and {len(side) - most} more"
    if explanation.teachers:
        yield ""
        yield "Taught by:"
    for token, teachers in explanation.teachers.items():
        yield f"  {printable(token)}"
        for teacher in teachers:
            yield f"    {_LABELS[teacher.label]:4}  {clock(teacher.learned_at)}  {printable(teacher.summary)}"
