"""`score` and `explain`: what a message is, and why."""

import argparse
import itertools
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, nullcontext

from spamnb.cli.context import open_to_read
from spamnb.cli.output import as_json, clock, is_terminal, printable, progress, table
from spamnb.cli.paths import check, how_many, or_standard_input, sources
from spamnb.cli.sources import Done, Source, each, one_by_one
from spamnb.config import Scoring
from spamnb.errors import MailError, UsageError
from spamnb.filter import Explanation, Filter, FrozenFilter, Judgement, Memory, Untaught
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lesson import LABELS
from spamnb.ledger.messages import Known
from spamnb.mail.reading import Reading, read, read_tokens

_LETTERS = {"spam": "S", "ham": "H", "unsure": "U"}
_CODES = {"spam": 0, "ham": 1, "unsure": 2}
_EXIT_ERROR = 3


def score(options: argparse.Namespace) -> int:
    """Print a line for each message; the exit code of a single one is its verdict, as bogofilter's."""
    given = or_standard_input(options.paths, "score")
    paths = list(filter(_is_readable, given))
    failed = len(paths) < len(given)
    if not paths:
        return _EXIT_ERROR
    found = sources(paths)
    config, ledger = open_to_read(options)
    with ledger or nullcontext():
        _warn_of_ignorance(ledger, options)
    judge = _Judge(None if ledger is None else ledger.path, config.scoring)
    verdicts: list[str] = []
    quiet = options.quiet or is_terminal(sys.stdout)  # on a terminal the lines themselves are the progress
    with closing(judge), each(found, judge) as judged:
        for source, judgement in progress(judged, "scoring", quiet, lambda: how_many(paths)):
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


def _is_readable(path: str) -> bool:
    """Whether a path can hold mail; what is wrong with it goes to standard error, and the others are scored."""
    try:
        check(path)
    except MailError as fault:
        print(f"spamnb: {fault}", file=sys.stderr)
        return False
    return True


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


def _warn_of_ignorance(ledger: Ledger | None, options: argparse.Namespace) -> None:
    ham, spam = (0, 0) if ledger is None else ledger.learned.totals().tolist()[:2]
    if not (ham and spam) and not options.quiet:
        missing = "nothing" if not (ham or spam) else f"no {LABELS[ham > 0]}"
        print(f"spamnb: {missing} has been learned yet, so all is unsure: spamnb train --help", file=sys.stderr)


class _Judge:
    """Reads and judges messages; each process opens the ledger for itself, at its first ones.

    All are judged by what the ledger knew at that moment, so that what a token says is looked up once.
    """

    def __init__(self, ledger: str | None, scoring: Scoring) -> None:
        self._path = ledger
        self._scoring = scoring
        self._open = ExitStack()
        self._filter: FrozenFilter | None = None

    def __call__(self, chunk: list[Source]) -> list[Done[Judgement]]:
        done = one_by_one(lambda source: read_tokens(source.read()), chunk)
        if self._filter is None:
            self._filter = FrozenFilter(self._memory(), self._scoring)
        judgements = iter(self._filter.judge_all([got for _, got in done if not isinstance(got, MailError)]))
        return [(source, got if isinstance(got, MailError) else next(judgements)) for source, got in done]

    def _memory(self) -> Memory:
        if self._path is None:
            return Untaught()
        ledger = self._open.enter_context(Ledger(self._path, only_read=True))
        self._open.enter_context(ledger.snapshot())
        return ledger.learned

    def close(self) -> None:
        """Close the ledger that this process opened."""
        self._open.close()


def explain(options: argparse.Namespace) -> int:
    """Print the clues of one message's verdict."""
    source, reading = _one_message(or_standard_input([options.path] if options.path is not None else [], "explain")[0])
    config, ledger = open_to_read(options)
    known: Known | None = None
    memory: Memory = Untaught()
    with ledger or nullcontext(), ledger.snapshot() if ledger else nullcontext():
        _warn_of_ignorance(ledger, options)
        if ledger is not None:
            known = ledger.messages.find(reading.digest)
            memory = ledger.without(known.id) if options.without_itself and known is not None else ledger.learned
        explanation = Filter(memory, config.scoring).explain(reading)
    if options.json:
        print(as_json(_explained_object(source, explanation, known, options)))
    else:
        print("\n".join(_explained(reading, explanation, known, options)))
    return 0


def _one_message(path: str) -> tuple[Source, Reading]:
    found = list(itertools.islice(sources([path]), 2))
    if not found:
        raise MailError(f"{printable(path)} holds no messages: give a message file")
    if len(found) > 1:
        raise UsageError(
            f"{printable(path)} holds several messages: give one of them, or pipe it into spamnb explain -"
        )
    try:
        return found[0], read(found[0].read())
    except MailError as fault:
        raise MailError(f"cannot explain {printable(found[0].where)}: {fault}") from fault


def _explained_object(
    source: Source, explanation: Explanation, known: Known | None, options: argparse.Namespace
) -> dict[str, object]:
    label = None if known is None else known.label
    return _as_object(source, explanation.judgement) | {
        "learned_as": None if label is None else LABELS[label],
        "learned_weakly": label is not None and known is not None and bool(known.weak),
        "without_itself": bool(options.without_itself),
        "tokens": explanation.tokens,
        "known": explanation.known,
        "clues": [
            {
                "token": clue.token,
                "ham": clue.ham,
                "spam": clue.spam,
                "log_odds": round(clue.log_odds, 6),
                "weight": round(clue.weight, 6),
                "contribution": round(clue.contribution, 6),
            }
            for clue in explanation.clues
        ],
        "taught_by": {
            token: [
                {
                    "message": teacher.message,
                    "summary": teacher.summary,
                    "label": LABELS[teacher.label],
                    "learned_at": teacher.learned_at,
                }
                for teacher in teachers
            ]
            for token, teachers in explanation.teachers.items()
        },
    }


def _of_itself(known: Known | None, without: bool) -> str:
    """That the message is itself learned, for a person; "" where there is nothing to say."""
    if known is None or known.label is None:
        return "This message is not learned: there is nothing to leave out." if without else ""
    weakly = " weakly" if known.weak else ""
    learned = f"This message is itself learned{weakly} as {LABELS[known.label]} ({printable(known.learned_why or '')})."
    return f"{learned} {'That is left out here.' if without else 'To leave that out: --without-itself'}"


def _explained(
    reading: Reading, explanation: Explanation, known: Known | None, options: argparse.Namespace
) -> Iterator[str]:
    judgement, most = explanation.judgement, options.clues
    yield f"{judgement.verdict}, probability of spam {judgement.probability:.4f}: {printable(reading.summary)}"
    if itself := _of_itself(known, options.without_itself):
        yield itself
    yield f"{len(explanation.clues)} of its {explanation.tokens} tokens decide; {explanation.known} are known"
    spam = [clue for clue in explanation.clues if clue.log_odds > 0]
    ham = [clue for clue in explanation.clues if clue.log_odds < 0]
    shown = spam[:most] + ham[:most]
    if not shown:
        return
    yield ""
    rows: list[tuple[object, ...]] = [("token", "in ham", "in spam", "log-odds", "contributes")]
    rows += [(clue.token, clue.ham, clue.spam, f"{clue.log_odds:+.2f}", f"{clue.contribution:+.2f}") for clue in shown]
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
            yield f"    {LABELS[teacher.label]:4}  {clock(teacher.learned_at)}  {printable(teacher.summary)}"


def _side(kind: str, lines: list[str], all_: int) -> Iterator[str]:
    if not lines:
        yield f"Nothing speaks for {kind}."
        return
    yield f"For {kind}:"
    yield from lines
    if all_ > len(lines):
        yield f"and {all_ - len(lines)} weaker"
