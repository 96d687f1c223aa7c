"""`score` and `explain`: what a message is, and why."""

import argparse
import itertools
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing

from spamnb.cli.context import open_ledger
from spamnb.cli.output import as_json, clock, is_terminal, printable, progress, table
from spamnb.cli.paths import how_many, sources
from spamnb.cli.sources import Done, Source, each, read_all
from spamnb.config import Scoring
from spamnb.errors import MailError, UsageError
from spamnb.filter import Explanation, Filter, FrozenFilter, Judgement
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading, read

_LETTERS = {"spam": "S", "ham": "H", "unsure": "U"}
_CODES = {"spam": 0, "ham": 1, "unsure": 2}
_EXIT_ERROR = 3
_LABELS = ("ham", "spam")


def score(options: argparse.Namespace) -> int:
    """Print a line for each message; the exit code of a single one is its verdict, as bogofilter's."""
    found = sources(options.paths)
    config, ledger = open_ledger(options)
    with ledger:
        _warn_of_ignorance(ledger, options)
    judge = _Judge(ledger.path, config.scoring)
    verdicts: list[str] = []
    failed = False
    quiet = options.quiet or is_terminal(sys.stdout)  # on a terminal the lines themselves are the progress
    with closing(judge), each(found, judge) as judged:
        for source, judgement in progress(judged, "scoring", quiet, lambda: how_many(options.paths)):
            if isinstance(judgement, MailError):
                failed = True
                print(f"spamnb: cannot score {printable(source.where)}: {printable(str(judgement))}", file=sys.stderr)
                continue
            verdicts.append(judgement.verdict)
            print(_as_json(source, judgement) if options.json else _as_line(source, judgement))
    if not verdicts and not failed:
        raise MailError("no messages are there to be scored")
    if failed:
        return _EXIT_ERROR
    return _CODES[verdicts[0]] if len(verdicts) == 1 else 0


def _as_line(source: Source, judgement: Judgement) -> str:
    return f"{_LETTERS[judgement.verdict]} {judgement.probability:.6f} {printable(source.where)}"


def _as_json(source: Source, judgement: Judgement) -> str:
    return as_json(_as_object(source, judgement))


def _as_object(source: Source, judgement: Judgement) -> dict[str, object]:
    return {
        "path": source.where,
        "verdict": judgement.verdict,
        "probability": round(judgement.probability, 6),
        "log_odds": round(judgement.log_odds, 6),
    }


def _warn_of_ignorance(ledger: Ledger, options: argparse.Namespace) -> None:
    ham, spam = ledger.learned.totals().tolist()[:2]
    if not (ham and spam) and not options.quiet:
        missing = "nothing" if not (ham or spam) else f"no {_LABELS[ham > 0]}"
        print(f"spamnb: {missing} has been learned yet, so all is unsure: spamnb train --help", file=sys.stderr)


class _Judge:
    """Reads and judges messages; each process opens the ledger for itself, at its first ones.

    All are judged by what the ledger knew at that moment, so that what a token says is looked up once.
    """

    def __init__(self, ledger: str, scoring: Scoring) -> None:
        self._path = ledger
        self._scoring = scoring
        self._open = ExitStack()
        self._filter: FrozenFilter | None = None

    def __call__(self, chunk: list[Source]) -> list[Done[Judgement]]:
        done = read_all(chunk)
        if self._filter is None:
            ledger = self._open.enter_context(Ledger(self._path))
            self._open.enter_context(ledger.snapshot())
            self._filter = FrozenFilter(ledger.learned, self._scoring)
        judgements = iter(self._filter.judge_all([got for _, got in done if not isinstance(got, MailError)]))
        return [(source, got if isinstance(got, MailError) else next(judgements)) for source, got in done]

    def close(self) -> None:
        """Close the ledger that this process opened."""
        self._open.close()


def explain(options: argparse.Namespace) -> int:
    """Print the clues of one message's verdict."""
    found = list(itertools.islice(sources([options.path]), 2))
    if not found:
        raise MailError(f"{printable(options.path)} holds no messages: give a message file")
    if len(found) > 1:
        raise UsageError(
            f"{printable(options.path)} holds several messages: give one of them, or pipe it into spamnb explain -"
        )
    source = found[0]
    try:
        reading = read(source.read())
    except MailError as fault:
        raise MailError(f"cannot explain {printable(source.where)}: {fault}") from fault
    config, ledger = open_ledger(options)
    with ledger:
        _warn_of_ignorance(ledger, options)
        explanation = Filter(ledger.learned, config.scoring).explain(reading)
        known = ledger.messages.find(reading.digest)
    judgement = explanation.judgement
    if options.json:
        print(
            as_json(
                _as_object(source, judgement)
                | {
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
                                "message": teacher.message,
                                "summary": teacher.summary,
                                "label": _LABELS[teacher.label],
                                "learned_at": teacher.learned_at,
                            }
                            for teacher in teachers
                        ]
                        for token, teachers in explanation.teachers.items()
                    },
                }
            )
        )
        return 0
    print("\n".join(_explained(reading, explanation, options.clues)))
    if known is not None and known.label is not None:
        print(f"\nThis message is itself learned as {_LABELS[known.label]} ({printable(known.learned_why or '')}).")
    return 0


def _explained(reading: Reading, explanation: Explanation, most: int) -> Iterator[str]:
    judgement = explanation.judgement
    yield f"{judgement.verdict}, probability of spam {judgement.probability:.4f}: {printable(reading.summary)}"
    yield f"{len(explanation.clues)} of its {explanation.tokens} tokens decide; {explanation.known} are known"
    spam = [clue for clue in explanation.clues if clue.log_odds > 0]
    ham = [clue for clue in explanation.clues if clue.log_odds < 0]
    shown = spam[:most] + ham[:most]
    if not shown:
        return
    yield ""
    rows: list[tuple[object, ...]] = [("token", "in ham", "in spam", "log-odds")]
    rows += [(clue.token, clue.ham, clue.spam, f"{clue.log_odds:+.2f}") for clue in shown]
    lines = table(rows).splitlines()
    yield lines[0]
    yield from _side("spam", lines[1 : 1 + len(spam[:most])], len(spam))
    yield from _side("ham", lines[1 + len(spam[:most]) :], len(ham))
    taught = {token: teachers for token, teachers in explanation.teachers.items() if teachers}
    if taught:
        yield ""
        yield "Learned from:"
    for token, teachers in taught.items():
        yield f"  {printable(token)}"
        for teacher in teachers:
            yield f"    {_LABELS[teacher.label]:4}  {clock(teacher.learned_at)}  {printable(teacher.summary)}"


def _side(kind: str, lines: list[str], all_: int) -> Iterator[str]:
    if not lines:
        yield f"Nothing speaks for {kind}."
        return
    yield f"For {kind}:"
    yield from lines
    if all_ > len(lines):
        yield f"and {all_ - len(lines)} weaker"
