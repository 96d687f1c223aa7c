"""Completion: each shell gets the commands' own options, and proposes them when Tab is pressed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spamnb.cli.common.arguments import ALIASES, COMMANDS, add_shared, parser_of, program
from tests.documents import ROOT
from tests.manual.made import MADE, files
from tests.packaging import tab
from tests.patience import PATIENCE

pytestmark = pytest.mark.thorough  # three shells, which start slowly

NAMES = (*COMMANDS, *ALIASES)


def flags_of(name: str) -> set[str]:
    """All options that may be typed after a command; without one, those of the program."""
    parser = parser_of(ALIASES.get(name, name)) if name else program()
    if name:
        add_shared(parser, is_shown=True)
    return {flag for action in parser._actions for flag in action.option_strings}


FLAGS = {name: flags_of(name) for name in ("", *NAMES)}

BASH = files()["share/bash-completion/completions/spamnb"]
ZSH = files()["share/zsh/site-functions/_spamnb"]
FISH = files()["share/fish/vendor_completions.d/spamnb.fish"]
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
        timeout=PATIENCE,
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
    script = BASH + "compopt() { :; }\n"
    calls = [["spamnb", "-"], *(["spamnb", "-v", name, "-"] for name in NAMES)]
    calls += [["spamnb", ""], ["spamnb", "history", "--verdict", ""], ["spamnb", "history", "--verdict", "=", "h"]]
    calls += [["spamnb", "history", "--limit", ""]]
    lines = said_by("bash", script + "".join(map(asked, calls)), tmp_path, "--norc").splitlines()
    assert [set(line.split()) for line in lines[: len(FLAGS)]] == list(FLAGS.values())
    assert lines[len(FLAGS) :] == [" ".join(NAMES), "ham spam unsure", "ham", ""]


@needs["fish"]
def test_fish_has_every_option(tmp_path: Path) -> None:
    """fish proposes the options of each command, all commands, and the choices of an option."""
    calls = "".join(f"complete -C 'spamnb -v {name} -'; echo =\n" for name in FLAGS)
    calls += "complete -C 'spamnb '; echo =\ncomplete -C 'spamnb history --verdict '\n"
    *by_command, words, choices = said_by("fish", FISH + calls, tmp_path, "--no-config").split("=\n")
    for (name, flags), said in zip(FLAGS.items(), by_command, strict=True):
        assert flags == {line.split("\t")[0] for line in said.splitlines()}, name
    assert {line.split("\t")[0] for line in words.splitlines()} == set(NAMES)
    assert [line.split("\t")[0] for line in choices.splitlines()] == ["ham", "spam", "unsure"]


@needs["zsh"]
def test_zsh_reads_the_script(tmp_path: Path) -> None:
    """zsh finds no fault in its script."""
    assert said_by("zsh", ZSH, tmp_path, "--no-rcs", "--no-exec") == ""


def test_zsh_has_every_option() -> None:
    """The script for zsh has the options of each command in the part of that command."""
    parts = dict(re.findall(r"^_shtab_spamnb_?(\w*)_options=\(\n(.*?)^\)$", ZSH, re.MULTILINE | re.DOTALL))
    assert set(parts) == {name.replace("-", "_") for name in FLAGS}
    for name, flags in FLAGS.items():
        part = re.sub(r"\[.*", "", parts[name.replace("-", "_")], flags=re.MULTILINE)
        assert set(re.findall(r"(?<!\w)--?\w[\w-]*", part)) == flags, name


CONFIG = "mailboxes: [{{path: ~/{root}, roles: {{INBOX: inbox, {spam}: spam, Lists and more: ham}}}}]"


def at_home(home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a person does, with the program in the search path."""
    environ = {"PATH": f"{home}/bin:/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    return subprocess.run(
        command, env=environ, cwd=home, capture_output=True, text=True, timeout=7 * PATIENCE, check=False
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a person with spamnb set up and a learned message; completion works in their shells."""
    for root in ("Maildir", "other"):
        for name in ("cur", "new", "tmp"):
            (tmp_path / root / name).mkdir(parents=True)
    written = {
        ".config/spamnb/config.yaml": CONFIG.format(root="Maildir", spam="Junk"),
        "other.yaml": CONFIG.format(root="other", spam="Rubbish"),
        "a-letter.eml": "Subject: the first\n\nwords\n",
        "b-letter.eml": "Subject: the second\n\nother words\n",
        "bin/spamnb": f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m spamnb "$@"\n',
        ".bashrc": f"PS1='$ '\nsource {MADE}/share/bash-completion/completions/spamnb\n",
        ".zshrc": f"PS1='%% '\nfpath=({MADE}/share/zsh/site-functions $fpath)\nautoload -Uz compinit\ncompinit -u\n",
        ".config/fish/config.fish": "function fish_prompt; echo '% '; end\n",
        ".config/fish/completions/spamnb.fish": FISH,
    }
    for file, text in written.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    (tmp_path / "bin/spamnb").chmod(0o755)
    assert at_home(tmp_path, "spamnb", "train", "--spam", "a-letter.eml").returncode == 0
    return tmp_path


TYPED = {
    "spamnb his\t": "spamnb history ",
    "spamnb --conf\t": "--config ",
    "spamnb -v help rest\t": "restore",
    "spamnb train --exec\t": "--executor ",
    "spamnb train --spam a-l\t": "a-letter.eml",
    "spamnb score a-letter.eml b-l\t": "b-letter.eml",
    "spamnb evaluate Mai\t": "Maildir/",
    "spamnb history --verdict un\t": "unsure ",
    "spamnb history --folder Ju\t": "Junk",
    "spamnb history --folder Lis\t": r"Lists\\ and\\ more",
    "spamnb --config ~/other.yaml history --folder Rub\t": "Rubbish",
    "spamnb undo \t": "undo 1",
}


@pytest.mark.parametrize("shell", [pytest.param(shell, marks=mark) for shell, mark in needs.items()])
def test_tab(home: Path, shell: str) -> None:
    """Tab completes a command, options, a choice, files, directories, folders and numbers, also of another --config."""
    typed = TYPED if shell == "zsh" else {**TYPED, "spamnb history --verdict=un\t": "unsure"}
    pairs = [word for pair in typed.items() for word in pair]
    done = at_home(home, sys.executable, tab.__file__, str(PATIENCE), shell, *pairs)
    assert (done.returncode, done.stdout) == (0, "")
