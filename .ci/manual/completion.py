"""Completion for bash, zsh and fish: shtab's scripts for one parser with the arguments of all commands."""

import argparse
from pathlib import Path

import shtab

from spamnb.cli.common.arguments import ALIASES, COMMANDS, add_shared, parser_of, program

_HERE = Path(__file__).parent
_FOLDERS = {"bash": "_spamnb_folders", "zsh": "_spamnb_folders", "fish": "(_spamnb_folders)"}
_NUMBERS = {"bash": "_spamnb_numbers", "zsh": "_spamnb_numbers", "fish": "(_spamnb_numbers)"}
# By the word for the value in the help. A word that is not here is a mistake.
_KINDS = {
    **dict.fromkeys(("ADDRESS|SOCKET", "CONFIG", "FILE", "PATH"), shtab.FILE),
    **dict.fromkeys(("CORPUS", "DIR", "MAILDIR"), shtab.DIRECTORY),
    "FOLDER": _FOLDERS,
    "ID": _NUMBERS,
    **dict.fromkeys(
        (
            "CMD",
            "FIELD",
            "K-of-N",
            "MONTH",
            "KEY=VALUE",
            "N",
            "N,N",
            "NAME",
            "SEED",
            "SENDER",
            "SENDER|NUMBER|NAME",
            "SIZE",
            "SPAN",
        )
    ),
    **dict.fromkeys(("USER@HOST", "WHEN", "WHERE", "WORD")),
}
# For sed: the roles in the output of `spamnb config`, and the numbers in that of `spamnb history --json`.
_LINES = {
    "@FOLDERS@": r"/^  roles:/,/^  [a-z]/s/^    \(.*\): [a-z_]*$/\1/p",
    "@NUMBERS@": r's/^{"id": \([0-9]*\).*/\1/p',
}
# bash calls the function of the preamble; zsh lets an operand be repeated that may be, which shtab's lets stand once.
_CORRECTED = {"-F _shtab_spamnb spamnb": "-F _spamnb spamnb", '"(*)::': '"*:', '"(*):': '"*:'}
_PLACES = {
    "bash": "share/bash-completion/completions/spamnb",
    "zsh": "share/zsh/site-functions/_spamnb",
    "fish": "share/fish/vendor_completions.d/spamnb.fish",
}


def scripts() -> dict[str, str]:
    """Return the text of each script by its path below a prefix such as /usr."""
    return {path: _script(shell) for shell, path in _PLACES.items()}


def _script(shell: str) -> str:
    preamble = (_HERE / f"preamble.{shell}").read_text(encoding="utf-8")
    for name, expression in _LINES.items():
        preamble = preamble.replace(name, expression)
    text = shtab.complete(_parser(), shell, preamble=preamble)
    for written, wanted in _CORRECTED.items():
        text = text.replace(written, wanted)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _parser() -> argparse.ArgumentParser:
    """Return a parser with the options of the program, and below them each command with its own arguments."""
    parser = argparse.ArgumentParser("spamnb", add_help=False)
    for action in program()._actions:
        if action.option_strings:
            parser._add_action(_with_kind(action))
    commands = parser.add_subparsers(metavar="COMMAND")
    for name in (*COMMANDS, *ALIASES):
        command = ALIASES.get(name, name)
        own, summary = parser_of(command), COMMANDS[command]
        add_shared(own, is_shown=True)
        for action in own._actions:
            _with_kind(action)
        commands.add_parser(name, help=summary, description=summary, parents=[own], add_help=False)
    return parser


def _with_kind(action: argparse.Action) -> argparse.Action:
    """Return the same action, with the kind of values that a shell can complete."""
    if action.metavar == "COMMAND":
        action.choices = (*COMMANDS, *ALIASES)
    elif action.nargs != 0 and action.choices is None:
        kind = _KINDS[str(action.metavar or action.dest.upper())]
        if kind is not None:
            action.complete = kind  # type: ignore[attr-defined]
    return action
