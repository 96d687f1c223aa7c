"""The grammar of the command line: commands, options, and help."""

import argparse
import difflib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from spamnb import __version__
from spamnb.cli import numbers
from spamnb.cli.output import printable

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_Command = Callable[[str, str, str, str, str], argparse.ArgumentParser]

_EXIT_USAGE = 64
_GLOBAL = {"-q", "--quiet", "-v", "--verbose", "--config"}
_MESSAGES = "message files, directories of them, Maildir folders, mbox files, or - for standard input"
_TOP_EPILOG = """\
examples:
  spamnb demo                              see the whole of it on a throw-away Maildir
  spamnb init                              set up your own
  spamnb train --spam ~/Maildir/.Junk      teach it
  spamnb score message.eml                 ask it
  spamnb explain message.eml               ask it why

exit codes: 0 done, 3 error, 64 wrong usage, 75 the ledger is busy, 78 wrong configuration,
or a damaged ledger without a copy; `score` and `doctor` have their own. Help on a command: spamnb help COMMAND
"""


class _Parser(argparse.ArgumentParser):
    """argparse with the exit code of sysexits.h: its own 2 would mean "unsure" to a mail recipe."""

    def error(self, message: str) -> NoReturn:
        self.exit(_EXIT_USAGE, f"spamnb: {printable(_plainer(message))}; help: {self.prog} --help\n")

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        # Each command says itself what it does not know: argparse would name the help of the program as a whole.
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        # argparse raises what stands in the way of its writing in some versions, and drops it in others
        print(self.format_help(), end="", file=file)
        print(end="", flush=True)  # on standard output, where a full disk is seen only now


def _plainer(message: str) -> str:
    """What argparse says, with the most likely mistake named.

    >>> _plainer("unrecognized arguments: -q")
    'unrecognized arguments: -q (-q, -v and --config stand before the command)'
    >>> _plainer("argument COMMAND: invalid choice: 'scroe' (choose from 'run', 'score')")
    "there is no command 'scroe' (did you mean score?)"
    """
    before = "argument COMMAND: invalid choice: "
    if message.startswith(before):
        wrong, _, choices = message.removeprefix(before).partition(" (choose from ")
        names = [name.strip(" ')") for name in choices.split(",")]
        near = difflib.get_close_matches(wrong[:60].strip("'"), names, n=1)
        return f"there is no command {wrong}" + (f" (did you mean {near[0]}?)" if near else "")
    if message.startswith("unrecognized arguments:") and _GLOBAL & set(message.split()):
        return f"{message} (-q, -v and --config stand before the command)"
    return message


def parser() -> argparse.ArgumentParser:
    """The grammar of the command line."""
    top = _Parser(
        prog="spamnb",
        description="A naive Bayes spam filter for Maildir: it moves spam, and learns from what you move.",
        epilog=_TOP_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("-V", "--version", action="version", version=f"spamnb {__version__}")
    top.add_argument("--config", metavar="FILE", help="the configuration (default: ~/.config/spamnb/config.yaml)")
    loud = top.add_mutually_exclusive_group()
    loud.add_argument("-v", "--verbose", action="store_true", help="say more")
    loud.add_argument("-q", "--quiet", action="store_true", help="say only what is wrong")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, module: str, help_: str, more: str, example: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            help=help_,
            description=f"{help_[0].upper()}{help_[1:]}.{more and f'{chr(10)}{more}'}",
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(module=module, function=name)
        return sub

    _add_service(command)
    _add_setting(command, commands.choices)
    _add_teaching(command)
    _add_judging(command)
    _add_account(command)
    _add_keeping(command)
    _add_evaluation(command)
    _add_comparison(command)
    return top


def _add_service(command: _Command) -> None:
    more = "The real service judges, moves and learns; afterwards nothing of it is left."
    command("demo", "demo", "show it at work on a throw-away Maildir", more, "spamnb demo")

    more = (
        "Each folder gets a role by its name. Mail that lies there now is never moved. It is\n"
        "learned from if you say so; a message that lies in a spam folder is then spam, also\n"
        "where a copy of it lies in a ham folder. With a configuration in place, another MAILDIR is\n"
        "added to it, and --learn learns by its roles and leaves it as it is."
    )
    init = command(
        "init", "init", "find your Maildir and write the configuration", more, "spamnb init ~/Maildir --learn"
    )
    init.add_argument(
        "maildirs",
        nargs="*",
        metavar="MAILDIR",
        help="default: $MAILDIR, ~/Maildir, ~/.maildir, ~/Mail, ~/mail, ~/.mail",
    )
    init.add_argument("--learn", action="store_true", help="learn from the folders as they are, without asking")
    init.add_argument("--no-learn", action="store_true", help="do not learn, and do not ask")
    init.add_argument("--force", action="store_true", help="replace a configuration; the old one is kept beside it")

    more = "SIGHUP reads the configuration again."
    run = command("run", "run", "watch, judge, move and learn, until stopped", more, "spamnb run --once")
    run.add_argument("--once", action="store_true", help="do what is to be done now, and exit")


def _add_setting(command: _Command, names: Mapping[str, argparse.ArgumentParser]) -> None:
    more = "Alone it prints the values in force, in the form of a configuration."
    example = "spamnb config --check new.yaml\n\nexit codes: 0 no fault, 78 faults, one a line"
    config = command("config", "config", "show or check the configuration", more, example)
    config.add_argument("--example", action="store_true", help="print an example with every key, and what it is for")
    config.add_argument(
        "--check", nargs="?", const="", metavar="FILE", help="name all faults of it (default: the configuration in use)"
    )

    help_ = command("help", "help", "show how a command is used", "", "spamnb help score")
    help_.set_defaults(function="help_")
    help_.add_argument("about", nargs="?", choices=names, metavar="COMMAND", help="which one")


def _add_teaching(command: _Command) -> None:
    more = (
        "What is known already is skipped; what was learned otherwise is corrected. Of a Maildir\n"
        "the sub-folders are not read."
    )
    train = command("train", "teach", "learn messages as spam or as ham", more, "spamnb train --spam ~/Maildir/.Junk")
    label = train.add_mutually_exclusive_group(required=True)
    label.add_argument("--spam", dest="label", action="store_const", const=1, help="they are spam")
    label.add_argument("--ham", dest="label", action="store_const", const=0, help="they are ham")
    train.add_argument("paths", nargs="+", metavar="PATH", help=_MESSAGES)

    untrain = command("untrain", "teach", "forget messages that were learned", "", "spamnb untrain message.eml")
    untrain.add_argument("paths", nargs="+", metavar="PATH", help=_MESSAGES)


def _add_judging(command: _Command) -> None:
    more = "One line a message: S for spam, H for ham, U for unsure; the probability of spam; the path."
    example = (
        "spamnb score message.eml\n  spamnb score --json ~/Maildir/new\n\n"
        "exit codes for a single message: 0 spam, 1 ham, 2 unsure; for several: 0; 3 error, 64 wrong usage"
    )
    score = command("score", "judge", "say what messages are", more, example)
    score.add_argument(
        "--json", action="store_true", help="one JSON object a line: path, verdict, probability, log_odds"
    )
    score.add_argument(
        "paths", nargs="*", metavar="PATH", help=f"{_MESSAGES}, which is also read where no PATH is given"
    )

    more = (
        "The tokens that decide, sorted by what each contributes to the score: its weight times its\n"
        "log-odds (above 0: for spam); in how many learned messages each was; and the messages that\n"
        "taught the strongest ones."
    )
    explain = command("explain", "judge", "show why a message is judged as it is", more, "spamnb explain message.eml")
    explain.add_argument("--json", action="store_true", help="as one JSON object")
    explain.add_argument(
        "--clues", type=numbers.count, default=15, metavar="N", help="how many clues a side (default: 15)"
    )
    explain.add_argument(
        "--without-itself", action="store_true", help="judge a learned message as if it were not learned"
    )
    explain.add_argument(
        "path",
        nargs="?",
        metavar="PATH",
        help="a message file, or - for standard input, which is the default in a pipe",
    )


def _add_account(command: _Command) -> None:
    more = (
        "Whether the service runs and mail is moved, what was learned, and what it takes of the disk.\n"
        "Nothing is written."
    )
    example = (
        "spamnb status\n\nexit codes: 0, 1 where the filter has stopped moving mail by itself, 78 no configuration"
    )
    status = command("status", "account", "show what the filter knows, and whether it moves mail", more, example)
    status.add_argument("--json", action="store_true", help="as one JSON object")

    more = "Each line says what became of it: undone, moved later, learned later as what."
    example = "spamnb history --limit 50\n  spamnb history invoice --folder Junk --since 3d"
    history = command("history", "history", "list what was judged, moved and learned, the newest first", more, example)
    history.add_argument("word", nargs="?", metavar="WORD", help="only what has it in subject or sender")
    history.add_argument("--json", action="store_true", help="one JSON object a line")
    history.add_argument("--limit", type=numbers.count, default=20, metavar="N", help="how many (default: 20)")
    history.add_argument("--before", type=numbers.count, metavar="ID", help="what came before that one: the next page")
    history.add_argument("--since", metavar="WHEN", help="30m, 2h, 3d, today, yesterday, 2026-01-31")
    history.add_argument("--until", metavar="WHEN", help="the same")
    history.add_argument("--verdict", choices=("ham", "spam", "unsure"), help="only what was judged so")
    history.add_argument("--kind", choices=("judged", "moved", "learned", "imported"), help="only these actions")
    history.add_argument("--folder", metavar="NAME", help="only what came from that folder or went to it")

    more = (
        "A message returns to where it was and is not judged again; counts are as before. What a\n"
        "person has moved since is left where it is. An undo is an action, and can be undone."
    )
    undo = command(
        "undo", "undo", "take back moves and learnings", more, "spamnb undo --since 1h --dry-run\n  spamnb undo 17 18"
    )
    undo.add_argument(
        "--since", metavar="WHEN", help="everything since then: 30m, 2h, 3d, today, yesterday, 2026-01-31"
    )
    undo.add_argument("--moves", action="store_true", help="of that, only moves")
    undo.add_argument("--learned", action="store_true", help="of that, only learnings")
    undo.add_argument("--undos", action="store_true", help="of that, only undos: what was undone is done again")
    undo.add_argument("--dry-run", action="store_true", help="only say what would be undone")
    undo.add_argument("--yes", action="store_true", help="do not ask; needed for more than 20 without a terminal")
    undo.add_argument(
        "ids", nargs="*", type=numbers.count, metavar="ID", help="the numbers that `spamnb history` shows"
    )

    command("verify", "account", "prove that the counts are the sum of what was learned", "", "spamnb verify")

    more = "Mail is judged meanwhile, and stays where it is; `resume --move` moves it later."
    pause = command("pause", "moving", "move nothing for a while", more, "spamnb pause 1h\n  spamnb pause")
    pause.add_argument("duration", nargs="?", metavar="SPAN", help="30m, 1h, 2d (default: until `spamnb resume`)")

    more = "After `pause`, or after the filter has stopped by itself."
    resume = command("resume", "moving", "move mail again", more, "spamnb resume --move")
    resume.add_argument(
        "--move", action="store_true", help="move what was withheld, if it is unread, in the inbox, and spam still"
    )


def _add_keeping(command: _Command) -> None:
    more = (
        "Configuration, permissions, folders and roles, watching, the ledger and its copies, and what\n"
        "was learned. Each line is ok, a warning or a fault, and says what to do. Nothing is written."
    )
    example = "spamnb doctor --json\n\nexit codes: 0 no fault, 1 a fault"
    doctor = command("doctor", "doctor", "look whether everything is as it should be", more, example)
    doctor.add_argument("--json", action="store_true", help="one JSON object a line: state, what, means, next")

    more = "The service may run meanwhile: the copy is of one moment. The service makes one a day by itself."
    backup = command("backup", "keeping", "copy the ledger to a file", more, "spamnb backup ~/ledger-copy.sqlite")
    backup.add_argument(
        "file",
        metavar="FILE",
        help="where to, compressed if it ends in .gz; it must not be there yet; -: standard output",
    )
    backup.add_argument("--force", action="store_true", help="replace the file if it is there")

    more = (
        "The file is examined first. The present ledger is kept beside it under another name. Mail that\n"
        "lies in the folders then is neither moved nor learned from: the copy does not know it."
    )
    restore = command(
        "restore", "keeping", "put a copy in the ledger's place", more, "spamnb restore ~/ledger-copy.sqlite"
    )
    restore.add_argument("file", metavar="FILE", help="what `spamnb backup` or the service has written")

    more = (
        "Tokens with the numbers of messages they were met in, as text: no mail, no addresses of folders.\n"
        "Rare words of your mail are in it all the same."
    )
    export = command("export", "exchange", "write what was learned as text", more, "spamnb export counts.txt")
    export.add_argument("file", nargs="?", default="-", metavar="FILE", help="where to; default: standard output")
    export.add_argument("--force", action="store_true", help="replace the file if it is there")

    more = "The counts are added to those here; `spamnb undo` takes them back."
    import_ = command("import", "exchange", "add what another filter has learned", more, "spamnb import counts.txt")
    import_.set_defaults(function="import_")
    import_.add_argument("file", metavar="FILE", help="what `spamnb export` has written, or - for standard input")
    import_.add_argument("--force", action="store_true", help="add it even if it was added before")

    more = (
        "The rarest words go first, and among them those not met for longest. Messages stay learned,\n"
        "with their other words. The service may run meanwhile."
    )
    prune = command("prune", "keeping", "make the ledger smaller", more, "spamnb prune --to 200M --dry-run")
    prune.add_argument(
        "--to", type=numbers.size, required=True, metavar="SIZE", help="at most so many bytes: 500K, 200M, 1G"
    )
    prune.add_argument("--dry-run", action="store_true", help="only say what would be forgotten")


def _add_evaluation(command: _Command) -> None:
    evaluate = command(
        "evaluate",
        "examine",
        "test the filter on a corpus or on your own mail",
        "online: each message is scored, and then learned. batch: the first half is learned, the second\n"
        "scored. folds: each message is scored by a filter that has learned all but its tenth.",
        "spamnb evaluate ~/corpus --protocol batch --json",
    )
    evaluate.add_argument(
        "corpus",
        nargs="?",
        metavar="CORPUS",
        help="a directory with a file `index`, or with ham/ and spam/ (default: your mail)",
    )
    evaluate.add_argument(
        "--protocol", choices=("online", "batch", "folds"), help="default: online; for your own mail, folds"
    )
    evaluate.add_argument(
        "--model", choices=("bernoulli", "multinomial", "multinomial-boolean"), help="default: as configured"
    )
    evaluate.add_argument("--limit", type=numbers.number, metavar="N", help="only the first N messages")
    evaluate.add_argument(
        "--warm-up",
        type=numbers.number,
        default=0,
        metavar="N",
        help="leave the first N messages out of what is measured",
    )
    evaluate.add_argument(
        "--scores", metavar="FILE", help="write a line for each message, in the form of the TREC spam track"
    )
    evaluate.add_argument("--json", action="store_true", help="as one JSON object")
    evaluate.add_argument(
        "--delay", type=numbers.number, default=0, metavar="N", help="learn a label only N messages later"
    )
    evaluate.add_argument(
        "--train",
        choices=("everything", "near-errors", "errors"),
        default="everything",
        help="what is learned (default: everything)",
    )
    evaluate.add_argument(
        "--folds",
        type=numbers.at_least_two,
        default=10,
        metavar="N",
        help="how many, for --protocol folds (default: 10)",
    )
    evaluate.add_argument("--shuffle", type=numbers.number, metavar="SEED", help="in another order than the corpus's")
    evaluate.add_argument("--seed", type=numbers.number, default=0, help="of every random choice (default: 0)")
    evaluate.add_argument("--no-header", action="store_true", help="read subject and body only")
    evaluate.add_argument(
        "--at-most-one-ham-in",
        type=numbers.at_least_two,
        metavar="N",
        help="say which cutoff loses no more ham than that",
    )
    evaluate.add_argument("--plots", metavar="DIR", help="write pictures there (needs the extra `plots`)")


def _add_comparison(command: _Command) -> None:
    compare = command(
        "compare",
        "examine",
        "compare all event models by the protocol of Metsis et al. (2006)",
        "",
        "spamnb compare enron1 enron2 --attributes 500,1000,3000",
    )
    compare.add_argument(
        "corpora", nargs="+", metavar="CORPUS", help="directories with a file `index`, or with ham/ and spam/"
    )
    compare.add_argument(
        "--attributes",
        type=numbers.several,
        default=[3000],
        metavar="N,N",
        help="how many are selected; 0 for all (default: 3000)",
    )
    compare.add_argument("--seed", type=numbers.number, default=0, help="of the order of ham and spam (default: 0)")
    compare.add_argument("--json", action="store_true", help="one JSON object a trial, with its ROC curve")
    compare.add_argument("--plots", metavar="DIR", help="write ROC curves there (needs the extra `plots`)")
