"""Completion for zsh, in the form of its _arguments."""

import re
from collections.abc import Iterator

from spamnb.cli.grammar import Argument, Command, Kind, commands, own_options
from spamnb.manual.bash import FOLDERS, NUMBERS

_HEAD = """\
#compdef spamnb
# Completion of spamnb for zsh; written from the sources of spamnb when it is built.

_spamnb_folders() {
    local -a found=("${(@f)$(spamnb $config config 2>/dev/null | sed -n '{folders}')}")
    compadd -a found
}

_spamnb_numbers() {
    local -a found=("${(@f)$(spamnb $config history --json 2>/dev/null | sed -n '{numbers}')}")
    compadd -V numbers -a found
}

_spamnb_commands() {
    local -a known=(
"""
_PROGRAM = """\
    )
    _describe command known
}

_spamnb() {
    local curcontext=$curcontext state line
    local -A opt_args
    local -a config
    _arguments -C \\
"""
_COMMANDS = """\
        '1:command:_spamnb_commands' \\
        '*::argument:->arguments' && return
    [[ $state == arguments ]] || return
    config=(${opt_args[--config]:+--config ${~opt_args[--config]}})
    case $words[1] in
"""
_END = """\
    esac
}

_spamnb "$@"
"""
_SPECIAL = re.compile(r"[\[\]:\\]")
_ACTIONS = {
    Kind.FILE: "_files",
    Kind.DIRECTORY: "_files -/",
    Kind.COMMAND: "_spamnb_commands",
    Kind.FOLDER: "_spamnb_folders",
    Kind.NUMBER_OF_ACTION: "_spamnb_numbers",
    Kind.WORD: " ",
}


def script() -> str:
    """The whole script."""
    head = _HEAD.replace("{folders}", FOLDERS).replace("{numbers}", NUMBERS)
    known = (f"        {_quoted(f'{one.name}:{one.summary}')}\n" for one in commands())
    own = (f"        {spec} \\\n" for one in own_options() for spec in _specs(one))
    return "".join((head, *known, _PROGRAM, *own, _COMMANDS, *map(_case, commands()), _END))


def _case(command: Command) -> str:
    specs = (f" \\\n                {spec}" for one in command.arguments for spec in _specs(one))
    return f"        {command.name})\n            _arguments{''.join(specs)} ;;\n"


def _specs(argument: Argument) -> Iterator[str]:
    """The argument as _arguments takes it, once for each of its flags, which then exclude each other."""
    if not argument.flags:
        place = "*" if argument.is_repeated else "1"
        yield _quoted(f"{place}:{_value(argument)}")
    for flag in argument.flags:
        value = f"{':' if argument.needs_value else '::'}{_value(argument)}" if argument.value else ""
        yield _quoted(f"({' '.join(argument.flags)}){flag}[{_escaped(argument.help)}]{value}")


def _value(argument: Argument) -> str:
    if argument.choices:
        return f"value:({' '.join(argument.choices)})"
    return f"{_escaped(argument.value)}:{_ACTIONS[argument.kind]}"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
