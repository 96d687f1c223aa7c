"""What the documents say is so: README commands print what it shows, and every command and key is documented."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from spamnb.cli.grammar import parser
from spamnb.cli.main import main
from spamnb.cli.sample_mail import message
from spamnb.maildir.folders import create_folder
from spamnb.maildir.mailbox import deliver
from spamnb.maildir.names import unique_base

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    """The names of all commands."""
    return list(parser()._subparsers._group_actions[0].choices)  # type: ignore[union-attr, call-overload]


def consoles() -> list[tuple[str, str]]:
    """Each command of the README's console blocks, with the output that it shows."""
    shown = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for command, output in re.findall(r"^\$ ([^\n]*)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE):
            shown.append((command, output))
    return shown


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a Maildir of made-up mail, and two messages to look at."""
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "MAILDIR", "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    number = 0
    for folder, kind, messages in (
        ("INBOX", "ham", 30),
        ("Archive", "ham", 60),
        ("Junk", "spam", 45),
        ("Sent", "ham", 0),
        ("Trash", "ham", 4),
    ):
        made = create_folder(str(tmp_path / "Maildir"), "maildir++", folder)
        for _ in range(messages):
            deliver(made, message(kind, number), unique_base(1_700_000_000 + number, 0, 1, 1, "home"))
            number += 1
    (tmp_path / "message.eml").write_bytes(message("spam", 777))
    (tmp_path / "letter.eml").write_bytes(message("ham", 778))
    return tmp_path


def comparable(output: str, home: Path) -> str:
    """Output without what differs from run to run: times, places, figures, and the widths that follow from them."""
    output = output.replace(str(home), "/home/you")
    output = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", output)
    output = re.sub(r"[-+]?\d+(\.\d+)?(e-\d+)?", "N", output)
    return re.sub(r"[ \t]+", " ", output).strip()


def test_console_blocks_are_real(home: Path) -> None:
    """Each command in a console block of the README prints what the README shows below it."""
    shown = consoles()
    assert len(shown) >= 10
    for command, output in shown:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = main(shlex.split(command)[1:])
        assert code in {0, 1, 2}, command
        assert comparable(said.getvalue(), home) == comparable(output, home), command


@pytest.mark.parametrize("name", commands())
def test_every_command_is_in_the_readme(name: str) -> None:
    """Each command is named in the README."""
    assert f"`{name}`" in README or f"spamnb {name}" in README


def test_set_up_commands_are_those_of_the_checks() -> None:
    """The README's first two blocks install the package and run the demonstration and the tests."""
    first, second = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[:2]
    assert first.strip().endswith("spamnb demo")
    assert "-m pytest" in second


def test_files_that_the_documents_name_exist() -> None:
    """Every file that a document links to or tells to run is there."""
    for document in (README, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        for name in re.findall(r"\]\(([\w./-]+)\)|((?:benchmarks|docs|systemd|tests)/[\w@.-]+\.\w+)", document):
            assert (ROOT / (name[0] or name[1])).exists(), name
