"""The grammar of the command line: the options of the program, and a parser for each command.

The module of a command is imported when the command is called. So `spamnb --help` needs no numpy, BeautifulSoup or
SQLite. The module's docstring is the help of its command. `add_arguments` declares its arguments, if it has any.
"""

import argparse
import importlib
from collections.abc import Sequence

from spamnb import __version__
from spamnb.cli.common import exit_codes
from spamnb.cli.common.argument_types import executor, user_name
from spamnb.cli.common.other_words import WORKING, hint
from spamnb.cli.common.output import terminal_columns, warn

TYPE_CHECKING = False  # as in `typing`, whose import takes a twelfth of `spamnb --help`
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from _typeshed import SupportsWrite

ABOUT = "A naive Bayes spam filter for Maildir: it moves spam, and learns from what you move."
WHEN = "30m, 2h, 3d, today, yesterday, 2026-01-31"
GROUPS = {
    "start": {
        "demo": "try the filter on a throw-away Maildir",
        "init": "find your Maildir and write the configuration",
        "run": "watch, judge, move and learn, until stopped",
        "web": "see in a browser what it did and why, and correct it",
    },
    "every day": {
        "status": "show whether the filter moves mail, and what it knows",
        "history": "list verdicts, moves and lessons, the newest first",
        "explain": "show why a message gets its verdict",
        "statement": "show what went to Junk in a month, and what to look at",
        "undo": "take back moves and lessons",
        "pause": "move nothing for a while",
        "resume": "move mail again",
    },
    "teach": {
        "train": "learn messages as spam or as ham",
        "untrain": "forget messages that were learned",
        "review": "answer the questions that teach most",
        "audit": "find learned mail that is in the wrong folder",
        "choose": "allow or block a sender, and say how strict to be",
    },
    "in mail software": {
        "score": "show whether messages are spam",
        "filter": "write the verdict into the header of a message",
    },
    "look after it": {
        "config": "show or check the configuration",
        "doctor": "check whether everything works",
        "verify": "check the counts against the learned messages",
        "backup": "copy the ledger",
        "restore": "replace the ledger by a copy",
        "export": "write the learned counts as text",
        "import": "add the learned counts of another filter",
        "exchange": "share lessons with other hosts, now",
        "prune": "make the ledger smaller",
        "users": "list the users of a mail host, or forget or rename some",
        "install-unit": "write the systemd units for this installation",
    },
    "measure": {
        "replay": "show what it would have done with your old mail",
        "evaluate": "measure the filter on a corpus or on your own mail",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()} | {
    "compare": "compare all event models by the protocol of Metsis et al. (2006)",  # for research: see `evaluate`
    "help": "show all commands, or how to use one of them",
}
ALIASES = {"learn": "train", "forget": "untrain"}  # the names in other filters; these are all that help shows
_FOLDED = ("for research", "on several machines")  # groups of options that only --help-all shows, if the first is there
_MODULES = {"import": "import_", "install-unit": "install_unit"}  # whose names differ from their command's
_FIRST = ("init", "run", "web --open", "status", "help")
_EPILOG = """\
examples:
  spamnb demo                              try it on a throw-away Maildir
  spamnb init                              set up your own
  spamnb train --spam ~/Maildir/.Junk      teach it
  spamnb score message.eml                 ask it
  spamnb explain message.eml               ask it why
  spamnb block '*@shop.example'            its mail is spam from now on; `allow`: ham

exit codes: 0 done, 3 error, 64 wrong usage, 75 the ledger is busy, 78 wrong configuration;
`run`, `score`, `filter`, `status` and `doctor` have more.
Help on a command: spamnb help COMMAND
"""


def _layout(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, width=terminal_columns() - 2)  # as many as without `width`


class _HelpAll(argparse.Action):
    """Print the help with all groups of options, and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> "NoReturn":
        setattr(parser, "shows_all", True)  # noqa: B010 - of _Parser, which alone has this option
        parser.print_help()
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """argparse with the exit code of sysexits.h: its own 2 would mean "unsure" to a mail recipe."""

    shows_all = False  # also the folded groups

    def __init__(self, prog: str, description: str, epilog: str, usage: str | None = None) -> None:
        super().__init__(prog, usage, description, epilog, formatter_class=_layout, add_help=False)
        self._positionals.title = "arguments"
        self.add_argument("-h", "--help", action="help", help="show this help")

    def format_help(self) -> str:
        groups, titles = self._action_groups, {group.title for group in self._action_groups}
        if _FOLDED[0] in titles and not self.shows_all:
            self._action_groups = [group for group in groups if group.title not in _FOLDED]
        try:
            return super().format_help()
        finally:
            self._action_groups = groups

    def error(self, message: str) -> "NoReturn":
        warn(f"{message}; help: {self.prog} --help")
        self.exit(exit_codes.USAGE)

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        # some versions of argparse raise an error of writing, others drop it
        print(self.format_help(), end="", file=file)
        print(end="", flush=True)  # only this shows that a disk is full


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of a call, with its name as `command` and its function as `run`. Exit if the call is wrong."""
    options = program().parse_args(arguments)
    name, *rest = options.command or [""]
    if not name:
        program().exit(exit_codes.USAGE, _first_commands())
    options.command, *more = _meaning(name)
    if options.command not in COMMANDS:
        refuse_unknown(name)
    parser = parser_of(options.command)
    add_shared(parser, is_shown=False)
    _, unknown = parser.parse_known_intermixed_args([*more, *rest], options)
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if options.verbose and options.quiet:
        parser.error("argument -q/--quiet: not allowed with argument -v/--verbose")
    options.for_user = options.for_user or ""
    return options


def _first_commands() -> str:
    """Return the answer to a call without a command: what to try first."""
    return "".join(f"  spamnb {words:<12}{COMMANDS[words.split()[0]]}\n" for words in _FIRST)


def refuse_unknown(command: str) -> "NoReturn":
    """Exit with what is meant by an unknown command, or is written alike, and with how to see all commands."""
    meant = hint(command, (*COMMANDS, *ALIASES))
    warn(" ".join(filter(None, [f"there is no command {command!r}.", meant, "All commands: spamnb help"])))
    program().exit(exit_codes.USAGE)


def named_by(word: str) -> str:
    """Return the command that a word of the command line names, as typed for `spamnb help`; the word if none."""
    return _meaning(word)[0]


def _meaning(word: str) -> tuple[str, ...]:
    """Return the command that a word names, and the arguments that the word stands for."""
    return WORKING.get(word, (ALIASES.get(word, word),))


def program() -> argparse.ArgumentParser:
    """Return the parser of the options before a command; `command` has the command and its own arguments."""
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
    """Return the parser of a command's own arguments."""
    module = importlib.import_module(f"spamnb.cli.{_MODULES.get(command, command)}")
    about, _, examples = (module.__doc__ or "").partition("example:\n")
    parser = _Parser(f"spamnb {command}", about.rstrip(), f"example:\n{examples}")
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    if any(group.title == _FOLDED[0] for group in parser._action_groups):
        parser.add_argument("--help-all", action=_HelpAll, nargs=0, help="show this help with the options for research")
    interrupted = getattr(module, "INTERRUPTED", "what was done so far is kept")
    parser.set_defaults(run=module.run, interrupted=interrupted, ends_at_once=getattr(module, "ENDS_AT_ONCE", False))
    return parser


def add_shared(parser: argparse.ArgumentParser, *, is_shown: bool) -> None:
    """Add the options that may be given before or after any command. A command's own option of that name goes first.

    is_shown: whether the help names them. Only the help of the program does, for all commands.
    """
    group = parser.add_argument_group("before or after the command")

    def add(*flags: str, about: str, **how: "Any") -> None:
        if flags[-1] not in parser._option_string_actions:
            shown = about if is_shown else argparse.SUPPRESS
            group.add_argument(*flags, help=shown, default=argparse.SUPPRESS, **how)

    add("-q", "--quiet", action="store_true", about="print only what is wrong")
    add("-v", "--verbose", action="store_true", about="print more")
    add("--config", metavar="FILE", about="the configuration (default: ~/.config/spamnb/config.yaml)")
    user = "work on this user of a mail host"
    add("--user", dest="for_user", metavar="NAME", type=user_name, about=user)


def add_json(parser: argparse._ActionsContainer, what: str = "as one JSON object") -> None:
    """Add the option --json."""
    parser.add_argument("--json", action="store_true", help=what)


def add_executor(parser: argparse._ActionsContainer) -> None:
    """Add the option --executor, for commands that read many messages."""
    help_ = "who reads the messages: processes (default), or workers of a cluster: dask://HOST:PORT"
    group = parser.add_argument_group("on several machines")
    group.add_argument("--executor", metavar="WHERE", type=executor, default="processes", help=help_)
