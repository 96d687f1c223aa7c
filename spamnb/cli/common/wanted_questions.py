"""The dialogue of `review` with a young filter: which messages of the inbox were wanted?"""

import argparse

from spamnb.acts.answers import WHY, Answers
from spamnb.acts.current_files import CurrentFiles
from spamnb.acts.wanted import WantedQuestion, answer, wanted_questions
from spamnb.base.label import Label
from spamnb.base.wording import plural
from spamnb.cli.common.config_and_ledger import command, open_ledger
from spamnb.cli.common.first_questions import KEYS, Undecided, choose
from spamnb.cli.common.moving import whether_it_moves
from spamnb.cli.common.output import say, table
from spamnb.config import Config
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.status import status

_ROWS = 10  # questions on a screen


def ask_wanted(options: argparse.Namespace, now: float) -> None:
    """Ask about messages of the inbox, if answers make the filter begin sooner to move mail. Raises SpamnbError."""
    config, ledger = open_ledger(options)
    with ledger:
        known = status(config, ledger, now).not_yet
        found = [] if known is None else wanted_questions(ledger, config, known.questions)
        if not found or known is None:
            return
        say(f"{known.words} {known.way}, say which of these you wanted.")
        for first in range(0, len(found), _ROWS):
            if not _ask_screen(ledger, config, found[first : first + _ROWS], options):
                return
    say(f"\n{whether_it_moves(options)}")


def _ask_screen(ledger: Ledger, config: Config, asked: list[WantedQuestion], options: argparse.Namespace) -> bool:
    """Ask about at most ten messages, and learn what was wanted. Returns False if the person stops."""
    files = CurrentFiles(ledger, config)
    paths = [next((file.path for file in files.of(one.digest)), None) for one in asked]
    rows = [(str(number), one.summary) for number, one in enumerate(asked, 1)]
    print(f"\n{table(rows, is_cut=True)}")
    did = "Did you want it?" if len(asked) == 1 else f"Did you want all {len(asked)}?"
    prompt = f"{did} [y] yes, [n] none, or the numbers of those that you did not want; {KEYS}: "
    viewed = [(path, one.digest) for path, one in zip(paths, asked, strict=True)]
    chosen = choose(prompt, viewed, excluding=True)
    if isinstance(chosen, Undecided):
        return chosen is Undecided.LEFT
    answers = Answers(ledger, config)
    done = answer(answers, [asked[number].digest for number in sorted(chosen)], Label.HAM, WHY)
    answers.end()
    if done.answers:
        undo = f"{command(options)} undo {' '.join(map(str, done.answers))}"
        say(f"{len(done.answers)} learned as ham, by your decision. To undo: {undo}")
    if done.failed:
        say(f"{plural(done.failed, 'message')} could not be learned: moved or deleted in the meantime.")
    return True
