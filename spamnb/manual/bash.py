"""Completion for bash: one function, which needs no other package, and calls spamnb only for folders and numbers."""

from collections.abc import Iterator

from spamnb.cli.grammar import Argument, Command, Kind, commands, own_options

_HEAD = (
    """\
# Completion of spamnb for bash; written from the sources of spamnb when it is built.

_spamnb_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Lines of standard input that begin with the word, quoted as the shell needs it.
_spamnb_lines() {
    local line
    while IFS= read -r line; do
        [[ $line == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "$line")")
    done
}

_spamnb_folders() {
    _spamnb_lines < <(spamnb "${config[@]}" config 2>/dev/null | sed -n '"""
    + "{folders}"
    + """')
}

_spamnb_numbers() {
    _spamnb_lines < <(spamnb "${config[@]}" history --json 2>/dev/null | sed -n '"""
    + "{numbers}"
    + r"""')
}

_spamnb() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= at=1 config=()
    COMPREPLY=()
    [[ $cur == = ]] && cur=
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    while ((at < COMP_CWORD)); do
        case ${COMP_WORDS[at]} in
            --config) config=(--config "${COMP_WORDS[at + 1]/#\~/$HOME}") at=$((at + 1)) ;;
            -*) ;;
            *) command=${COMP_WORDS[at]} && break ;;
        esac
        at=$((at + 1))
    done
    case $command/$prev in
"""
)
_MIDDLE = """\
    esac
    if [[ $cur == -* ]]; then
        case $command in
"""
_BEFORE_OPERANDS = """\
        esac
        return
    fi
    case $command in
"""
_END = """\
    esac
}

complete -F _spamnb spamnb
"""
# What `spamnb config` prints of roles, and `spamnb history --json` of numbers.
FOLDERS = r"/^  roles:/,/^  [a-z]/s/^    \(.*\): [a-z_]*$/\1/p"
NUMBERS = r's/^{"id": \([0-9]*\).*/\1/p'


def script() -> str:
    """The whole script."""
    head = _HEAD.replace("{folders}", FOLDERS).replace("{numbers}", NUMBERS)
    return "".join((head, *_values(), _MIDDLE, *_options(), _BEFORE_OPERANDS, *_operands(), _END))


def _values() -> Iterator[str]:
    """What may follow an option."""
    yield from (_case("/" + flag, one, "return") for one in own_options() if one.value for flag in one.flags)
    for command in commands():
        for option in command.options:
            if option.value:
                yield from (_case(f"{command.name}/{flag}", option, "return") for flag in option.flags)


def _options() -> Iterator[str]:
    yield _case_of_words("''", (flag for one in own_options() for flag in one.flags))
    for command in commands():
        yield _case_of_words(command.name, (flag for one in command.options for flag in one.flags))


def _operands() -> Iterator[str]:
    yield _case_of_words("''", (command.name for command in commands()), 8)
    for command in commands():
        if (known := _known(command)) is not None:
            yield _case(command.name, known)


def _known(command: Command) -> Argument | None:
    """The operand that a shell can complete, if there is one; no command has two."""
    return next((one for one in command.operands if one.kind is not Kind.WORD), None)


def _case(pattern: str, argument: Argument, then: str = "") -> str:
    return f"        {pattern}) {'; '.join(filter(None, (_call(argument), then)))} ;;\n"


def _case_of_words(pattern: str, words: Iterator[str], indent: int = 12) -> str:
    return f'{" " * indent}{pattern}) _spamnb_words "{" ".join(words)}" ;;\n'


def _call(argument: Argument) -> str:
    match argument.kind:
        case Kind.CHOICE:
            return f'_spamnb_words "{" ".join(argument.choices)}"'
        case Kind.COMMAND:
            return f'_spamnb_words "{" ".join(one.name for one in commands())}"'
        case Kind.FILE:
            return "compopt -o default"
        case Kind.DIRECTORY:
            return "compopt -o dirnames"
        case Kind.FOLDER:
            return "_spamnb_folders"
        case Kind.NUMBER_OF_ACTION:
            return "_spamnb_numbers"
        case _:
            return ""
