"""`choose spam_cutoff` without a number: what each strictness would have done, and the question which one to take."""

import argparse
from contextlib import nullcontext

import numpy as np

from spamnb.acts.choices import is_written
from spamnb.cli.common.config_and_ledger import command, open_to_read
from spamnb.cli.common.output import is_dialogue, progress_bar, say, table, typed_at
from spamnb.config.chosen import STRICTNESS
from spamnb.evaluation.cutoffs import NOT_SEEN
from spamnb.evaluation.strictness import levels
from spamnb.review.misfiled import Doubts, still_asked
from spamnb.review.own_mail import judge_own_mail

_KEYS = {name[0]: name for name in STRICTNESS}


def ask_strictness(options: argparse.Namespace) -> str:
    """Show what each strictness would have done to the learned mail. Returns the name that a person chooses, or ""."""
    config, ledger = open_to_read(options)
    in_force, doubts, mail = config.scoring.spam_cutoff, Doubts(), None
    with ledger or nullcontext():
        if ledger is not None:
            with progress_bar("judging your mail", options.quiet) as show:
                mail = judge_own_mail(ledger, config.scoring, show)
            doubts = Doubts.of(still_asked(ledger, mail.findings))
    found = levels(np.zeros(0, bool), np.zeros(0)) if mail is None else levels(mail.is_spam, mail.probability)
    rows = [("", "spam from", "")]
    rows += [(one.name, f"{one.cutoff:g}", "in force" if one.cutoff == in_force else "") for one in found]
    print(table(rows))
    for one in found:
        say(f"\n{one.name}: {one.words} {one.sentence}".rstrip())
    has_effects = any(one.effect for one in found)
    if has_effects:
        say("\n".join(("", *filter(None, (doubts.of_figures, NOT_SEEN)))))
    else:
        say("\nThe filter has to learn both ham and spam before it can show what each would have done.")
    if in_force not in STRICTNESS.values():
        say(f"\nIn force is another number: {in_force:g}.")
    if is_written(config, "spam_cutoff"):
        say("\nThe configuration names spam_cutoff, and has priority over what you choose.")
    elif options.quiet or not is_dialogue():
        say(f"\nTo choose: {command(options)} choose gentle, normal or strict, or spam_cutoff NUMBER")
    else:
        return _asked()
    return ""


def _asked() -> str:
    """Return the name that the person types, or ""."""
    while True:
        try:
            typed = typed_at("\n[g]entle, [n]ormal, [s]trict; Enter leaves it: ")
        except EOFError:
            print()
            return ""
        name = _KEYS.get(typed, typed)
        if not name:
            say("Left as before.")
        if not name or name in STRICTNESS:
            return name
