"""The grammar of the command line: the options of the program, and a parser for each command.

A command's module is imported when the command is called: `spamnb --help` needs none of numpy, BeautifulSoup or SQLite.
The module's docstring is the help of its command, and `add_arguments` declares its arguments, if it has any.
"""

import argparse
import difflib
import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from spamnb import __version__
from spamnb.base.wording import escaped
from spamnb.cli.common import exit_codes
from spamnb.cli.common.argument_types import executor, user_name

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

ABOUT = "A naive Bayes spam filter for Maildir: it moves spam, and learns from what you move."
WHEN = "30m, 2h, 3d, today, yesterday, 2026-01-31"
GROUPS = {
    "start": {
        "demo": "show it at work on a throw-away Maildir",
        "init": "find your Maildir and write the configuration",
        "run": "watch, judge, move and learn, until stopped",
        "web": "see in a browser what it did and why, and correct it",
    },
    "every day": {
        "status": "show what the filter knows, and whether it moves mail",
        "history": "list what was judged, moved and learned, the newest first",
        "explain": "show why a message is judged as it is",
        "undo": "take back moves and lessons",
        "pause": "move nothing for a while",
        "resume": "move mail again",
    },
    "teach": {
        "train": "learn messages as spam or as ham",
        "untrain": "forget messages that were learned",
        "review": "answer the questions that teach most",
        "audit": "find learned mail that is filed wrongly",
        "choose": "choose whose mail is ham or spam, and the cutoffs",
    },
    "in mail software": {
        "score": "tell whether messages are spam",
        "filter": "pass a message on with the verdict in its header",
    },
    "look after it": {
        "config": "show or check the configuration",
        "doctor": "check whether everything is as it should be",
        "verify": "prove that the counts are the sum of what was learned",
        "backup": "copy the ledger to a file",
        "restore": "replace the ledger by a copy",
        "export": "write what was learned as text",
        "import": "add what another filter has learned",
        "exchange": "share what is learned with other hosts, now",
        "prune": "make the ledger smaller",
        "users": "list the users of a mail host, or forget some",
        "install-unit": "write the systemd units for this installation",
    },
    "measure": {
        "evaluate": "test the filter on a corpus or on your own mail",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()} | {
    "compare": "compare all event models by the protocol of Metsis et al. (2006)",  # for research: see `evaluate`
    "help": "show all commands, or how one of them is used",
}
ALIASES = {"learn": "train", "forget": "untrain"}  # other filters have these names; there are no more
_MODULES = {"import": "import_", "install-unit": "install_unit"}  # where they are not named as the command is
_FIRST = ("init", "run", "web --open", "status", "help")
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

    def __init__(self, prog: str, description: str, epilog: str, usage: str | None = None) -> None:
        layout = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, usage, description, epilog, formatter_class=layout, add_help=False)
        self._positionals.title = "arguments"
        self.add_argument("-h", "--help", action="help", help="show this help")

    def error(self, message: str) -> NoReturn:
        self.exit(exit_codes.USAGE, f"spamnb: {escaped(message)}; help: {self.prog} --help\n")

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        # argparse raises an error of writing in some versions, and drops it in others
        print(self.format_help(), end="", file=file)
        print(end="", flush=True)  # a full disk shows only now


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of a call, with `command`, its name, and `run`, its function. Exits where the call is wrong."""
    options = program().parse_args(arguments)
    name, *rest = options.command or [""]
    if not name:
        program().exit(exit_codes.USAGE, _first_commands())
    options.command = ALIASES.get(name, name)
    if options.command not in COMMANDS:
        program().error(no_such(name))
    parser = parser_of(options.command)
    add_shared(parser, is_shown=False)
    _, unknown = parser.parse_known_intermixed_args(rest, options)
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if options.verbose and options.quiet:
        parser.error("argument -q/--quiet: not allowed with argument -v/--verbose")
    options.for_user = options.for_user or ""
    return options


def _first_commands() -> str:
    """What a call without a command is answered with."""
    return "".join(f"  spamnb {words:<12}{COMMANDS[words.split()[0]]}\n" for words in _FIRST)


def no_such(command: str) -> str:
    """The message that there is no such command, and which one was meant."""
    near = difflib.get_close_matches(command[:60], [*COMMANDS, *ALIASES], n=1)
    return f"there is no command {command!r}" + (f" (did you mean {near[0]}?)" if near else "")


def program() -> argparse.ArgumentParser:
    """The parser of what is typed before a command, with the command and its own arguments as `command`."""
    groups = [
        "\n".join([f"{heading}:", *(f"  {name:<14}{summary}" for name, summary in group.items())])
        for heading, group in GROUPS.items()
    ]
    usage = "spamnb [-q | -v] [--config FILE] [--user NAME] COMMAND ..."
    parser = _Parser("spamnb", "\n\n".join([ABOUT, *groups]), _EPILOG, usage)
    parser.add_argument("-V", "--version", action="version", version=f"spamnb {__version__}", help="show the version")
    parser.set_defaults(config=None, for_user=None, verbose=False, quiet=False)
    add_shared(parser, is_shown=True)
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
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


def add_shared(parser: argparse.ArgumentParser, *, is_shown: bool) -> None:
    """The options of every command, which are taken before and after it; one that a command has itself is its own.

    is_shown: whether the help names them; that of the program does, for all commands.
    """
    group = parser.add_argument_group("before or after the command")

    def add(*flags: str, about: str, **how: Any) -> None:
        if flags[-1] not in parser._option_string_actions:
            shown = about if is_shown else argparse.SUPPRESS
            group.add_argument(*flags, help=shown, default=argparse.SUPPRESS, **how)

    add("-q", "--quiet", action="store_true", about="print only what is wrong")
    add("-v", "--verbose", action="store_true", about="print more")
    add("--config", metavar="FILE", about="the configuration (default: ~/.config/spamnb/config.yaml)")
    user = "the user of a mail host whom the command is about"
    add("--user", dest="for_user", metavar="NAME", type=user_name, about=user)


def add_json(parser: argparse._ActionsContainer, what: str = "as one JSON object") -> None:
    """The option that many commands have."""
    parser.add_argument("--json", action="store_true", help=what)


def add_executor(parser: argparse._ActionsContainer) -> None:
    """The option of commands that read many messages."""
    help_ = "who reads the messages: processes (default), or the workers of a scheduler, dask://HOST:PORT"
    group = parser.add_argument_group("on several machines")
    group.add_argument("--executor", metavar="WHERE", type=executor, default="processes", help=help_)
