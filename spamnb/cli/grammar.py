"""The grammar of the command line as values, from the very parsers that read what is typed."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

from spamnb.cli.common.arguments import COMMANDS, parser_of, program


class Kind(Enum):
    """What can stand in the place of an argument, as far as a shell can tell."""

    FLAG = auto()  # an option without a value
    CHOICE = auto()
    FILE = auto()
    DIRECTORY = auto()
    FOLDER = auto()  # the name of a mail folder
    NUMBER_OF_ACTION = auto()  # as `spamnb history` shows it
    COMMAND = auto()
    WORD = auto()  # anything else


# By what stands for the value in the help. A word that is not here is a mistake that tests find.
KINDS = {
    **dict.fromkeys(("ADDRESS|SOCKET", "CONFIG", "FILE", "PATH"), Kind.FILE),
    **dict.fromkeys(("CORPUS", "DIR", "MAILDIR"), Kind.DIRECTORY),
    **dict.fromkeys(("FOLDER",), Kind.FOLDER),
    **dict.fromkeys(("ID",), Kind.NUMBER_OF_ACTION),
    **dict.fromkeys(("COMMAND",), Kind.COMMAND),
    **dict.fromkeys(("N", "N,N", "NAME", "SEED", "SIZE", "SPAN", "WHEN", "WHERE", "WORD"), Kind.WORD),
}


@dataclass(frozen=True, slots=True)
class Argument:
    """An option, or, without `flags`, what stands alone. `value` is shown in the place of its value, "" for a flag."""

    flags: tuple[str, ...]
    value: str
    kind: Kind
    choices: tuple[str, ...]
    help: str
    is_needed: bool  # an option that must be given, an operand that must stand there
    is_repeated: bool
    needs_value: bool  # False where an option may also stand without its value


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its line in the list of commands, what its help says in paragraphs, and its arguments."""

    name: str
    summary: str
    about: str
    example: str
    arguments: tuple[Argument, ...]

    @property
    def options(self) -> tuple[Argument, ...]:
        """Those with flags."""
        return tuple(one for one in self.arguments if one.flags)

    @property
    def operands(self) -> tuple[Argument, ...]:
        """Those without."""
        return tuple(one for one in self.arguments if not one.flags)


@cache
def commands() -> tuple[Command, ...]:
    """All commands, in the order of the help."""
    return tuple(_command(name, summary) for name, summary in COMMANDS.items())


@cache
def own_options() -> tuple[Argument, ...]:
    """The options that stand before a command."""
    return tuple(one for one in _arguments(program()) if one.flags)


def _command(name: str, summary: str) -> Command:
    parser = parser_of(name)
    about, example = parser.description or "", (parser.epilog or "").removeprefix("example:\n")
    return Command(name, summary, about, example, tuple(_arguments(parser)))


def _arguments(parser: argparse.ArgumentParser) -> Iterator[Argument]:
    for action in parser._actions:
        choices = tuple(map(str, action.choices or ()))
        value = "" if action.nargs == 0 else _value(action, choices)
        kind = Kind.FLAG if not value else Kind.CHOICE if choices else KINDS[value]
        flags = tuple(action.option_strings)
        is_needed = action.required if flags else action.nargs not in ("?", "*")
        is_repeated, needs_value = action.nargs in ("*", "+"), action.nargs != "?"
        yield Argument(flags, value, kind, choices, action.help or "", is_needed, is_repeated, needs_value)


def _value(action: argparse.Action, choices: tuple[str, ...]) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    return "{" + ",".join(choices) + "}" if choices else action.dest.upper()
