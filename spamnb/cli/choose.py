"""Allow or block a sender, and say how strict to be.

A choice works at once: in the service, at delivery, and in each command. Write a SENDER
as in `senders` of the configuration: *@example.org, example.org, or list:LIST-ID. The
configuration has priority over a choice. With a folder for newsletters, inbox and
newsletters say where mail of a SENDER goes that is not spam. gentle, normal and strict set
the cutoff from which mail is spam: 0.99, 0.95, or 0.9. spam_cutoff without a number shows
what each would have done to your mail, and asks at a terminal which one to take. Without
arguments this command lists the choices. `spamnb history` shows them too.

newcomers_folder and newsletters_folder make a folder, and put mail apart there that is not
spam: first letters of people whom you do not know, and newsletters. --forget with one of
these words ends that. The folder and its mail stay.

example:
  spamnb choose block '*@shop.example'
  spamnb choose allow list:announce.example.org
  spamnb choose gentle
  spamnb choose spam_cutoff 0.97
  spamnb choose newcomers_folder New
  spamnb choose --forget '*@shop.example'
"""

import argparse
import time
from typing import get_args

from spamnb.acts import choices
from spamnb.acts.choices import Standing
from spamnb.base.errors import UsageError
from spamnb.base.wording import clock, escaped
from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.config_and_ledger import command, configuration, open_to_read
from spamnb.cli.common.output import as_json, inform, table
from spamnb.config.chosen import CUTOFFS, FOLDERS, STRICTNESS
from spamnb.ledger.history.choices import LABEL_OF, SORTED_TO, ChoiceKind
from spamnb.ledger.ledger import Ledger

_BY = {"page": "on a page", "prompt": "in a terminal", "move": "by a move"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    of_senders = [f"{kind} SENDER ..." for kind in (*LABEL_OF, *SORTED_TO)]
    of_cutoffs = (*STRICTNESS, "spam_cutoff [NUMBER]", "ham_cutoff NUMBER")
    kinds = (*of_senders, *of_cutoffs, *(f"{key} [NAME]" for key in FOLDERS), "--forget SENDER")
    parser.usage = "".join(f"spamnb choose {kind}\n       " for kind in kinds) + "spamnb choose [--json]"
    option = parser.add_argument
    add_json(parser, "list the choices, one JSON object per line")
    option("--forget", action="append", default=[], metavar="SENDER", help="take back the choice about this sender")
    what = "allow: mail of these senders is ham. block: it is spam. "
    what += "inbox, newsletters: mail of them that is not spam stays in the inbox, or goes to newsletters_folder. "
    what += "gentle, normal, strict: three values of spam_cutoff. "
    what += "spam_cutoff: mail above it is spam. ham_cutoff: mail below it is ham. "
    what += "newcomers_folder, newsletters_folder: make a folder for such mail"
    option("kind", nargs="?", choices=(*get_args(ChoiceKind), *STRICTNESS), metavar="WHAT", help=what)
    values = "the senders; the cutoff, from 0 to 1; or the folder's name (New, Newsletters)"
    option("values", nargs="*", metavar="SENDER|NUMBER|NAME", help=values)


def run(options: argparse.Namespace) -> int:
    """Choose, forget, or list."""
    if options.kind is None and not options.forget:
        return _list(options)
    if options.json or (options.kind and options.forget):
        raise UsageError("--json lists the choices, and --forget takes one back: give neither with a new choice")
    if options.kind in STRICTNESS:
        if options.values:
            raise UsageError(f"choose {options.kind} takes nothing more: for another number give spam_cutoff NUMBER")
        options.kind, options.values = "spam_cutoff", [options.kind]
    if options.kind == "spam_cutoff" and not options.values:
        from spamnb.cli.common.strictness import ask_strictness  # numpy takes 0.1 s to import

        name = ask_strictness(options)
        if not name:
            return 0
        options.values = [name]
    if options.kind in FOLDERS and not options.values:
        options.values = [FOLDERS[options.kind]]
    if options.kind and not options.values:
        wanted = "a number" if options.kind in CUTOFFS else "a sender, such as *@shop.example"
        raise UsageError(f"choose {options.kind} needs {wanted}")
    if options.kind in (*CUTOFFS, *FOLDERS) and len(options.values) > 1:
        raise UsageError(f"choose {options.kind} takes one {'number' if options.kind in CUTOFFS else 'name'}")
    config = configuration(options)
    with Ledger(str(config.ledger)) as ledger:
        if options.forget:
            actions = [action for name in options.forget for action in choices.forget(ledger, config, name, time.time)]
        else:
            actions = choices.choose(ledger, config, options.kind, options.values, "prompt", time.time())
        for action in ledger.journal.those(actions).values():
            inform(options, f"{'no longer' if options.forget else 'from now on'}: {escaped(action.summary)}")
    if actions and options.kind in FOLDERS:
        inform(options, "If your mail program does not show the folder, subscribe to it there.")
    if not actions:
        inform(options, "You have chosen that already.")
    else:
        inform(options, f"To undo: {command(options)} undo {' '.join(map(str, actions))}")
    return 0


def _list(options: argparse.Namespace) -> int:
    config, ledger = configuration(options), open_to_read(options)[1]
    found: list[Standing] = []
    if ledger is not None:
        with ledger:
            found = choices.standing(ledger, config)
    if options.json:
        for one in found:
            print(as_json(as_object(one)))
    elif found:
        print("\n".join(lines(found)))
    else:
        print("You have not chosen anything: only the configuration counts.")
    return 0


def lines(found: list[Standing]) -> list[str]:
    """Return the choices as a table, and a line for each that has no effect."""
    rows = [(one.choice.kind, one.choice.value, clock(one.choice.at), _BY[one.choice.by]) for one in found]
    hints = [
        f"{one.choice.kind} {one.choice.value} has no effect: {one.without_effect}"
        for one in found
        if one.without_effect
    ]
    return [*table([("choice", "of", "since", "where"), *rows]).splitlines(), *map(escaped, hints)]


def as_object(one: Standing) -> dict[str, object]:
    """Return a choice for JSON."""
    choice = one.choice
    values: dict[str, object] = {"id": choice.action, "at": choice.at, "kind": choice.kind, "value": choice.value}
    return values | {"by": choice.by, "without_effect": one.without_effect}
