"""Completion: what each shell is told is what the grammar has. tests/packaging presses Tab in real shells."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from spamnb.cli.common.arguments import COMMANDS, parser_of, program
from spamnb.manual import bash, fish, zsh

FLAGS = {
    name: {flag for action in (parser_of(name) if name else program())._actions for flag in action.option_strings}
    for name in ("", *COMMANDS)
}

needs = {
    shell: pytest.mark.skipif(
        shutil.which(shell) is None, reason=f"{shell} is not installed (Debian: apt install {shell})"
    )
    for shell in ("bash", "zsh", "fish")
}


def said_by(shell: str, script: str, place: Path, *more: str) -> str:
    (place / "script").write_text(script, encoding="utf-8")
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(place), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [shell, *more, str(place / "script")],
        env=environ,
        cwd=place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def asked(words: list[str]) -> str:
    quoted = " ".join(f"'{word}'" for word in words)
    return f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _spamnb; echo ${{COMPREPLY[*]}}\n"


@needs["bash"]
def test_bash_has_every_option(tmp_path: Path) -> None:
    """bash proposes exactly the options of each command, all commands, and the choices of an option."""
    script = bash.script() + "compopt() { :; }\n"
    calls = [["spamnb", "-"], *(["spamnb", "-v", name, "-"] for name in COMMANDS)]
    calls += [["spamnb", ""], ["spamnb", "history", "--verdict", ""], ["spamnb", "history", "--verdict", "=", "h"]]
    calls += [["spamnb", "history", "--limit", ""]]
    lines = said_by("bash", script + "".join(map(asked, calls)), tmp_path, "--norc").splitlines()
    assert [set(line.split()) for line in lines[: len(FLAGS)]] == list(FLAGS.values())
    assert lines[len(FLAGS) :] == [" ".join(COMMANDS), "ham spam unsure", "ham", ""]


@needs["fish"]
def test_fish_has_every_option(tmp_path: Path) -> None:
    """fish proposes the options of each command, all commands, and the choices of an option."""
    calls = "".join(f"complete -C 'spamnb -v {name} -'; echo =\n" for name in FLAGS)
    calls += "complete -C 'spamnb '; echo =\ncomplete -C 'spamnb history --verdict '\n"
    *by_command, words, choices = said_by("fish", fish.script() + calls, tmp_path, "--no-config").split("=\n")
    for (name, flags), said in zip(FLAGS.items(), by_command, strict=True):
        assert flags == {line.split("\t")[0] for line in said.splitlines()}, name
    assert {line.split("\t")[0] for line in words.splitlines()} == set(COMMANDS)
    assert [line.split("\t")[0] for line in choices.splitlines()] == ["ham", "spam", "unsure"]


@needs["zsh"]
def test_zsh_reads_the_script(tmp_path: Path) -> None:
    """zsh finds no fault in its script."""
    assert said_by("zsh", zsh.script(), tmp_path, "--no-rcs", "--no-exec") == ""


def test_zsh_has_every_option() -> None:
    """The script for zsh has the options of each command in the part of that command."""
    script = zsh.script()
    parts = dict(re.findall(r"^        ([\w-]+)\)\n(.*?);;$", script, re.MULTILINE | re.DOTALL))
    assert list(parts) == list(COMMANDS)
    for name, part in [("", script.partition("case $words[1]")[0]), *parts.items()]:
        assert set(re.findall(r"\)(--?[\w-]+)\[", part)) == FLAGS[name], name
