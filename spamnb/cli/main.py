"""The command line: its grammar, and the way from a command to the module that does it.

Commands are imported when they are called: `spamnb --help` needs none of numpy, BeautifulSoup or SQLite.
"""

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from spamnb import __version__
from spamnb.errors import SpamnbError

_EXIT_ERROR, _EXIT_USAGE, _EXIT_TEMPORARY = 3, 64, 75
_MESSAGES = "message files, directories of them, Maildirs, mbox files, or - for standard input"


class _Parser(argparse.ArgumentParser):
    """argparse with the exit code of sysexits.h: its own 2 would mean "unsure" to a mail recipe."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(_EXIT_USAGE, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """The grammar of the command line."""
    top = _Parser(
        prog="spamnb",
        description="A naive Bayes spam filter for Maildir: it moves spam, and learns from what you move.",
        epilog="Start with: spamnb demo. Then: spamnb init. Help on a command: spamnb COMMAND --help",
    )
    top.add_argument("--version", action="version", version=f"spamnb {__version__}")
    top.add_argument("--config", metavar="FILE", help="the configuration (default: ~/.config/spamnb/config.yaml)")
    loud = top.add_mutually_exclusive_group()
    loud.add_argument("-v", "--verbose", action="store_true", help="say more")
    loud.add_argument("-q", "--quiet", action="store_true", help="say only what is wrong")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, module: str, help_: str, example: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            help=help_,
            description=help_[0].upper() + help_[1:] + ".",
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(module=module)
        return sub

    command("demo", "demo", "show the whole loop on a throw-away Maildir, with the real service", "spamnb demo")

    init = command(
        "init",
        "init",
        "find your Maildir, give each folder a role, write the configuration",
        "spamnb init ~/Maildir --learn",
    )
    init.add_argument(
        "maildir", nargs="?", metavar="MAILDIR", help="default: $MAILDIR, ~/Maildir, ~/.maildir or ~/Mail"
    )
    init.add_argument("--learn", action="store_true", help="learn from the folders as they are, without asking")
    init.add_argument("--no-learn", action="store_true", help="do not learn, and do not ask")
    init.add_argument("--force", action="store_true", help="write over an existing configuration")

    run = command("run", "run", "watch, judge, move and learn, until stopped", "spamnb run --once")
    run.add_argument("--once", action="store_true", help="do what is to be done now, and exit")

    train = command("train", "teach", "learn messages as spam or as ham", "spamnb train --spam ~/Maildir/.Junk")
    label = train.add_mutually_exclusive_group(required=True)
    label.add_argument("--spam", dest="label", action="store_const", const=1, help="they are spam")
    label.add_argument("--ham", dest="label", action="store_const", const=0, help="they are ham")
    train.add_argument("paths", nargs="+", metavar="PATH", help=_MESSAGES)

    untrain = command("untrain", "teach", "forget messages that were learned", "spamnb untrain message.eml")
    untrain.add_argument("paths", nargs="+", metavar="PATH", help=_MESSAGES)

    score = command(
        "score",
        "judge",
        "say what messages are: S spam, H ham, U unsure, and the probability of spam",
        "spamnb score message.eml",
    )
    score.add_argument("--json", action="store_true", help="one JSON object a message")
    score.add_argument("paths", nargs="+", metavar="PATH", help=_MESSAGES)

    explain = command("explain", "judge", "show why a message is judged as it is", "spamnb explain message.eml")
    explain.add_argument("--json", action="store_true", help="as one JSON object")
    explain.add_argument("--clues", type=_number, default=15, metavar="N", help="how many clues a side (default: 15)")
    explain.add_argument("path", metavar="PATH", help="a message file, or - for standard input")

    status = command(
        "status", "account", "how the filter stands: what it knows, and whether it moves mail", "spamnb status"
    )
    status.add_argument("--json", action="store_true", help="as one JSON object")

    history = command("history", "account", "what was moved and learned, the newest first", "spamnb history --limit 50")
    history.add_argument("--json", action="store_true", help="one JSON object a line")
    history.add_argument("--limit", type=_number, default=20, metavar="N", help="how many (default: 20)")

    undo = command("undo", "account", "take back moves and learnings", "spamnb undo --since 1h")
    undo.add_argument(
        "--since", metavar="WHEN", help="everything since then: 30m, 2h, 3d, today, yesterday, 2026-01-31"
    )
    undo.add_argument("ids", nargs="*", type=_number, metavar="ID", help="the numbers that `spamnb history` shows")

    command("verify", "account", "prove that the counts are the sum of what was learned", "spamnb verify")
    command("resume", "account", "move mail again after the filter has stopped doing so", "spamnb resume")
    return top


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say. Returns the exit code."""
    options = parser().parse_args(arguments)
    _set_up_log(options)
    try:
        module = importlib.import_module(f"spamnb.cli.{options.module}")
        code: int = getattr(module, options.command)(options)
        sys.stdout.flush()
        return code
    except SpamnbError as fault:
        return _say(str(fault), fault.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its exit
        return _EXIT_ERROR
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    except OSError as fault:
        where = f" ({fault.filename})" if fault.filename else ""
        return _say(f"{fault.strerror or fault}{where}", _EXIT_ERROR)


def _say(fault: str, code: int) -> int:
    print(f"spamnb: {fault}", file=sys.stderr)
    return code


def _set_up_log(options: argparse.Namespace) -> None:
    """Log to standard error, as journald wants it: no time, which the journal adds, but a priority."""
    if options.command == "run":
        level = logging.DEBUG if options.verbose else logging.WARNING if options.quiet else logging.INFO
    else:
        level = logging.INFO if options.verbose else logging.ERROR if options.quiet else logging.WARNING
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JournalFormatter("%(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("watchdog").setLevel(max(level, logging.INFO))


class _JournalFormatter(logging.Formatter):
    """One line a record; with a priority prefix (sd-daemon(3)) where journald reads it."""

    _PRIORITIES = ((logging.ERROR, "<3>"), (logging.WARNING, "<4>"), (logging.INFO, "<6>"), (logging.DEBUG, "<7>"))

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record).replace("\n", " | ")
        text = "".join(c if c.isprintable() else "?" for c in text)
        if "JOURNAL_STREAM" not in os.environ:
            return text
        return next((mark for level, mark in self._PRIORITIES if record.levelno >= level), "") + text


def entry_point() -> NoReturn:
    """The console script."""
    sys.exit(main())
