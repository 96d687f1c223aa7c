"""The grammar of the command line: the options of the program, and a parser for each command.

A command's module is imported when the command is called: `spamnb --help` needs none of numpy, BeautifulSoup or SQLite.
The module's docstring is the help of its command, and `add_arguments` declares its arguments, if it has any.
"""

import argparse
import difflib
import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from spamnb import __version__
from spamnb.base.wording import escaped
from spamnb.cli.common import exit_codes
from spamnb.cli.common.argument_types import executor, user_name

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

ABOUT = "A naive Bayes spam filter for Maildir: it moves spam, and learns from what you move."
WHEN = "30m, 2h, 3d, today, yesterday, 2026-01-31"
COMMANDS = {
    "demo": "show it at work on a throw-away Maildir",
    "init": "find your Maildir and write the configuration",
    "run": "watch, judge, move and learn, until stopped",
    "config": "show or check the configuration",
    "help": "show how a command is used",
    "train": "learn messages as spam or as ham",
    "untrain": "forget messages that were learned",
    "score": "tell whether messages are spam",
    "filter": "pass a message on with the verdict in its header",
    "explain": "show why a message is judged as it is",
    "status": "show what the filter knows, and whether it moves mail",
    "history": "list what was judged, moved and learned, the newest first",
    "undo": "take back moves and learnings",
    "audit": "ask which learned mail is filed wrongly",
    "review": "ask about the mail whose answers teach most",
    "choose": "choose whose mail is ham or spam, and the cutoffs",
    "verify": "prove that the counts are the sum of what was learned",
    "pause": "move nothing for a while",
    "resume": "move mail again",
    "doctor": "check whether everything is as it should be",
    "users": "list the users of a mail host, or forget some",
    "web": "show on pages what was done, and why",
    "backup": "copy the ledger to a file",
    "restore": "replace the ledger by a copy",
    "export": "write what was learned as text",
    "import": "add what another filter has learned",
    "exchange": "share what is learned with other hosts, now",
    "prune": "make the ledger smaller",
    "install-unit": "write the systemd units for this installation",
    "evaluate": "test the filter on a corpus or on your own mail",
    "compare": "compare all event models by the protocol of Metsis et al. (2006)",
}
_MODULES = {"import": "import_", "install-unit": "install_unit"}  # where they are not named as the command is
_BEFORE_COMMAND = {"-q", "--quiet", "-v", "--verbose", "--config", "--user"}
_EPILOG = """\
examples:
  spamnb demo                              see all of it on a throw-away Maildir
  spamnb init                              set up your own
  spamnb train --spam ~/Maildir/.Junk      teach it
  spamnb score message.eml                 ask it
  spamnb explain message.eml               ask it why

exit codes: 0 done, 3 error, 64 wrong usage, 75 the ledger is busy, 78 wrong configuration,
or a damaged ledger without a copy; `score`, `filter`, `status` and `doctor` have more.
Help on a command: spamnb help COMMAND
"""


class _Parser(argparse.ArgumentParser):
    """argparse with the exit code of sysexits.h: its own 2 would mean "unsure" to a mail recipe."""

    def __init__(self, prog: str, description: str, epilog: str) -> None:
        layout = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, description=description, epilog=epilog, formatter_class=layout)

    def error(self, message: str) -> NoReturn:
        self.exit(exit_codes.USAGE, f"spamnb: {escaped(message)}; help: {self.prog} --help\n")

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        # argparse raises an error of writing in some versions, and drops it in others
        print(self.format_help(), end="", file=file)
        print(end="", flush=True)  # a full disk shows only now


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of a call, with `command`, its name, and `run`, its function. Exits where the call is wrong."""
    options = program().parse_args(arguments)
    options.command, *rest = options.command
    options.for_user = options.for_user or ""
    if options.command not in COMMANDS:
        program().error(no_such(options.command))
    parser = parser_of(options.command)
    _, unknown = parser.parse_known_intermixed_args(rest, options)
    if unknown:
        hint = "" if _BEFORE_COMMAND.isdisjoint(unknown) else " (-q, -v, --config and --user stand before the command)"
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    return options


def no_such(command: str) -> str:
    """The message that there is no such command, and which one was meant."""
    near = difflib.get_close_matches(command[:60], COMMANDS, n=1)
    return f"there is no command {command!r}" + (f" (did you mean {near[0]}?)" if near else "")


def program() -> argparse.ArgumentParser:
    """The parser of what stands before a command's own arguments."""
    commands = "\n".join(f"  {name:<14}{text}" for name, text in COMMANDS.items())
    parser = _Parser("spamnb", f"{ABOUT}\n\ncommands:\n{commands}", _EPILOG)
    parser.add_argument("-V", "--version", action="version", version=f"spamnb {__version__}")
    parser.add_argument("--config", metavar="FILE", help="the configuration (default: ~/.config/spamnb/config.yaml)")
    user = "the user of a mail host whom the command is about"
    parser.add_argument("--user", dest="for_user", metavar="NAME", type=user_name, help=user)
    loud = parser.add_mutually_exclusive_group()
    loud.add_argument("-v", "--verbose", action="store_true", help="print more")
    loud.add_argument("-q", "--quiet", action="store_true", help="print only what is wrong")
    parser.add_argument("command", nargs=argparse.PARSER, metavar="COMMAND", help="and its own arguments")
    return parser


def parser_of(command: str) -> argparse.ArgumentParser:
    """The parser of a command's own arguments."""
    module = importlib.import_module(f"spamnb.cli.{_MODULES.get(command, command)}")
    about, _, examples = (module.__doc__ or "").partition("example:\n")
    parser = _Parser(f"spamnb {command}", about.rstrip(), f"example:\n{examples}")
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    parser.set_defaults(run=module.run, interrupted=getattr(module, "INTERRUPTED", "what was done so far is kept"))
    return parser


def add_json(parser: argparse._ActionsContainer, what: str = "as one JSON object") -> None:
    """The option that many commands have."""
    parser.add_argument("--json", action="store_true", help=what)


def add_executor(parser: argparse._ActionsContainer) -> None:
    """The option of commands that read many messages."""
    help_ = "where messages are read: processes (default), or the workers of a scheduler, dask://HOST:PORT"
    parser.add_argument("--executor", metavar="WHERE", type=executor, default="processes", help=help_)
