"""Completion for fish: one line for each option of each command."""

from collections.abc import Iterator

from spamnb.cli.grammar import Argument, Command, Kind, commands, own_options
from spamnb.manual.bash import FOLDERS, NUMBERS

_HEAD = """\
# Completion of spamnb for fish; written from the sources of spamnb when it is built.

# The command in what is typed so far, or "" before there is one; and `--config FILE`, where it is given.
function __spamnb_command
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case --config
                set -e words[1]
            case '-*'
            case '*'
                echo $words[1]
                return
        end
        set -e words[1]
    end
    echo ''
end

function __spamnb_is
    test (__spamnb_command) = "$argv[1]"
end

function __spamnb_config
    set -l words (commandline -opc)
    if set -l at (contains -i -- --config $words)
        echo --config
        echo (string replace -r '^~' $HOME -- $words[(math $at + 1)])
    end
end

function __spamnb_folders
    command -q spamnb; and spamnb (__spamnb_config) config 2>/dev/null | sed -n {folders}
end

function __spamnb_numbers
    command -q spamnb; and spamnb (__spamnb_config) history --json 2>/dev/null | sed -n {numbers}
end

complete -c spamnb -f
"""
_ACTIONS = {
    Kind.FILE: "-F",
    Kind.DIRECTORY: "-a '(__fish_complete_directories)'",
    Kind.FOLDER: "-k -a '(__spamnb_folders)'",
    Kind.NUMBER_OF_ACTION: "-k -a '(__spamnb_numbers)'",
}


def script() -> str:
    """The whole script."""
    head = _HEAD.replace("{folders}", _quoted(FOLDERS)).replace("{numbers}", _quoted(NUMBERS))
    own = (_option("", one) for one in own_options())
    return "".join((head, *own, *map(_name, commands()), *(line for one in commands() for line in _of(one))))


def _name(command: Command) -> str:
    return f"{_when('')} -a {command.name} -d {_quoted(command.summary)}\n"


def _of(command: Command) -> Iterator[str]:
    yield from (_option(command.name, one) for one in command.options)
    for operand in command.operands:
        if (said := _values(operand)) is not None:
            yield f"{_when(command.name)} {said}\n"


def _option(command: str, option: Argument) -> str:
    flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
    value = f" {'-r' if option.kind is Kind.FILE else '-x'} {_values(option) or ''}" if option.value else ""
    return f"{_when(command)} {flags}{value.rstrip()} -d {_quoted(option.help)}\n"


def _values(argument: Argument) -> str | None:
    """What stands for the value, or None where nothing can be said."""
    if argument.choices:
        return f"-a {_quoted(' '.join(argument.choices))}"
    if argument.kind is Kind.COMMAND:
        return f"-a {_quoted(' '.join(one.name for one in commands()))}"
    return _ACTIONS.get(argument.kind)


def _when(command: str) -> str:
    """The beginning of a line that holds for a command, or, for "", before there is one."""
    return f"complete -c spamnb -n '__spamnb_is \"{command}\"'"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
