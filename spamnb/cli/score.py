"""Show whether messages are spam.

It prints a line for each message: S for spam, H for ham or U for unsure; the probability of
spam; and the path. With --json it also gives the score, which is above 0 if spam is more
likely than ham. The probability follows from the score.

example:
  spamnb score message.eml
  spamnb score --json ~/Maildir/new

exit codes: for one message 0 spam, 1 ham, 2 unsure; for several 0; 3 error, 64 wrong usage
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import closing, nullcontext

from spamnb.base.errors import MailError
from spamnb.base.label import Label, Verdict
from spamnb.base.wording import escaped
from spamnb.bulk.judging import BulkJudge
from spamnb.bulk.mapping import each, executor_at
from spamnb.bulk.sources import Source, check, how_many
from spamnb.cli.common import exit_codes
from spamnb.cli.common.arguments import add_executor, add_json
from spamnb.cli.common.config_and_ledger import ledger_to_read
from spamnb.cli.common.named_messages import MESSAGES, messages, or_standard_input, standard_input
from spamnb.cli.common.output import as_json, is_terminal, progress, warn
from spamnb.filter.judge import Judgement
from spamnb.filter.vouching import Trusted
from spamnb.ledger.evidence_to_read import evidence_to_read
from spamnb.ledger.history.choices import in_force
from spamnb.ledger.lessons.evidence import NoEvidence

INTERRUPTED = "nothing was changed"
ENDS_AT_ONCE = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_json(parser, "one JSON object per line: path, verdict, probability, score")
    help_ = f"{MESSAGES}, which is also the default"
    add_executor(parser)
    parser.add_argument("paths", nargs="*", metavar="PATH", help=help_)


def run(options: argparse.Namespace) -> int:
    """Print a line for each message. The exit code of a single one is its verdict."""
    given = or_standard_input(options.paths, "score", ". To check the filter itself: spamnb doctor")
    paths = list(filter(_is_readable, given))
    failed = len(paths) < len(given)
    if not paths:
        return exit_codes.ERROR
    found = messages(paths)
    config, ledger = ledger_to_read(options)
    with nullcontext(NoEvidence()) if ledger is None else evidence_to_read(ledger) as lessons:
        warn_if_untaught(lessons.evidence([]).totals[:2], options)
    config = in_force(config, ledger)
    judge = BulkJudge(ledger and os.path.abspath(ledger), config.scoring, config.senders, Trusted.of(config))
    verdicts: list[Verdict] = []
    quiet = options.quiet or is_terminal(sys.stdout)  # on a terminal the lines themselves are the progress
    executors = executor_at(options.executor)
    with closing(judge), executors as executor, each(judge, found, executor) as judged:
        for source, judgement in progress(judged, "scoring", quiet, lambda: how_many(paths)):
            if isinstance(judgement, MailError):
                failed = True
                warn(f"cannot score {source.where}: {judgement}")
                continue
            verdicts.append(judgement.verdict)
            print(as_json(as_object(source, judgement)) if options.json else _as_line(source, judgement))
    if not verdicts and not failed:
        raise MailError("no messages to score")
    if failed:
        return exit_codes.ERROR
    return exit_codes.OF_VERDICT[verdicts[0]] if len(verdicts) == 1 else 0


def _is_readable(path: str) -> bool:
    """Return whether a path can hold mail. Its fault goes to standard error, and the other paths are still scored."""
    try:
        check(path, standard_input())
    except MailError as fault:
        warn(str(fault))
        return False
    return True


def _as_line(source: Source, judgement: Judgement) -> str:
    return f"{judgement.verdict[0].upper()} {judgement.probability:.6f} {escaped(source.where)}"


def as_object(source: Source, judgement: Judgement) -> dict[str, object]:
    """Return a judgement for JSON."""
    return {
        "path": source.where,
        "verdict": judgement.verdict,
        "probability": round(judgement.probability, 6),
        "score": round(judgement.log_odds, 6),
    }


def warn_if_untaught(learned: Sequence[int], options: argparse.Namespace) -> None:
    """Warn if the filter has not learned both ham and spam. learned: the numbers of ham and spam messages."""
    ham, spam = learned
    if not (ham and spam) and not options.quiet:
        missing = "nothing" if not (ham or spam) else f"no {Label(ham > 0).word}"
        warn(f"the filter has learned {missing} yet, so every message is unsure: spamnb train --help")
