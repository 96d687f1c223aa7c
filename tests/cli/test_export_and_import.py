"""`export` and `import`: lessons as text, and the files that they may go to."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from spamnb.base.label import Label
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading
from spamnb.mail.tokens.tokenizer import VERSION
from tests.cli.conftest import COMMAND, Run, counts, ledger_file, mail
from tests.lessons import Taught, learn


def test_export_and_import(taught: Path, run: Run, process: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lessons of one filter are added to another filter's, once; `history` shows it, and `undo` takes it back."""
    assert "25 ham and 25 spam messages" in run("export", "counts.txt").out
    assert stat.S_IMODE(os.stat("counts.txt").st_mode) == 0o600
    assert process("export").out == Path("counts.txt").read_text()
    monkeypatch.setenv("XDG_DATA_HOME", str(taught / "other"))
    run("train", "--spam", mail(taught / "more", "spam", 5, 100))
    assert run("import", "counts.txt").out.startswith("added 25 ham and 25 spam messages")
    verified = run("verify").out
    assert "25 ham and 30 spam messages" in verified
    assert "25 ham and 25 spam messages of these were imported" in verified
    again = run("import", "counts.txt")
    assert (again.code, again.out) == (3, "")
    assert "spamnb undo 6" in again.err
    assert run("import", "--force", "counts.txt").code == 0
    (line, *_) = run("history").out.splitlines()
    assert "imported: 25 ham and 25 spam messages" in line
    assert line.endswith("counts.txt")
    newest = json.loads(run("history", "--json", "--limit", 1).out)
    assert (newest["kind"], newest["id"]) == ("imported", 7)
    assert "undid 7: imported" in run("undo", "7").out
    assert run("undo", "--since", "1h").code == 0
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 0, "spam": 0}
    assert "already undone" in run("undo", "7").err
    assert process("import", "-", stdin=Path("counts.txt").read_bytes()).code == 0
    assert "standard input" in run("history", "--limit", 1).out
    assert run("verify").code == 0


def test_an_export_of_this_ledger(taught: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger refuses its own export, which would count all twice, also after more lessons or a restore."""
    run("backup", "copy.sqlite")
    run("export", "counts.txt")
    before = json.loads(run("status", "--json").out)["learned"]
    refused = run("import", "counts.txt")
    assert (refused.code, refused.out) == (3, "")
    assert "counts.txt is an export of this ledger: everything in it would count twice" in refused.err
    assert "spamnb restore FILE" in refused.err
    assert json.loads(run("status", "--json").out)["learned"] == before
    run("restore", "copy.sqlite")
    run("train", "--spam", mail(taught / "more", "spam", 5, 100))
    assert run("import", "counts.txt").code == 3
    assert run("import", "--force", "counts.txt").code == 0
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 50, "spam": 55}
    monkeypatch.setenv("XDG_DATA_HOME", str(taught / "other"))
    assert run("import", "counts.txt").code == 0, "another ledger may have it"


def test_export_replaces_nothing(taught: Path, run: Run) -> None:
    """An existing file is replaced only with --force; a failed export leaves no file."""
    Path("counts.txt").write_text("mine")
    assert run("export", "counts.txt").code == 64
    assert Path("counts.txt").read_text() == "mine"
    assert run("export", "counts.txt", "--force").code == 0
    assert run("export", "not/there").code == 3
    assert not list(taught.glob("*.part"))


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_export_to_special_files(taught: Path, run: Run, process: Run, force: list[str]) -> None:
    """An export replaces neither a device, a pipe nor the ledger; it writes to open descriptors."""
    os.mkfifo("pipe")
    result = run("export", *force, "pipe")
    assert (result.code, result.out) == (3 if force else 64, "")
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    before = ledger_file(taught).read_bytes()
    for part in ("", ".lock", ".use.lock"):
        assert "is the ledger's own" in run("export", *force, f"{ledger_file(taught)}{part}").err
    assert ledger_file(taught).read_bytes() == before
    assert process("export", *force, "/dev/stdout").out == process("export").out
    assert not list(taught.rglob("*.part"))


def test_a_slow_reader_holds_up_nobody(taught: Path, run: Run) -> None:
    """While what was exported is read by way of a pipe, the ledger is free: another file can take its place."""
    run("backup", "copy.sqlite")
    words = {f"word{number}": 1 for number in range(10_000)}  # more than a pipe holds
    with Ledger(str(ledger_file(taught))) as ledger:
        learn(ledger, [Taught(Reading(b"x", "", words), Label.HAM)])
    with subprocess.Popen([*COMMAND, "export"], stdout=subprocess.PIPE) as export:
        assert export.stdout is not None
        assert export.stdout.read(1) == b"{"
        assert run("restore", "copy.sqlite").code == 0
        assert export.stdout.read().endswith(b"]\n")


def test_faulty_import(taught: Path, run: Run) -> None:
    """Each fault of an export is reported with its line, and nothing is imported."""
    run("export", "counts.txt")
    lines = Path("counts.txt").read_text().splitlines()
    lines[7], lines[9] = "nonsense", lines[8]
    Path("counts.txt").write_text("\n".join(lines[:-1]))
    before = counts(taught)
    result = run("import", "counts.txt")
    assert (result.code, result.out) == (3, "")
    assert [line.split(": ")[1] for line in result.err.splitlines()[:3]] == [
        "counts.txt:8",
        "counts.txt:10",
        f"counts.txt:{len(lines) - 1}",
    ]
    assert "nothing was imported" in result.err
    assert counts(taught) == before
    missing = run("import", "not/there")
    assert missing.code == 3
    assert "cannot read not/there: No such file" in missing.err


def test_other_tokenizer(taught: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of a different tokenizer are added; the command says that they help less, and what would help more."""
    run("export", "counts.txt")
    text = Path("counts.txt").read_text().replace(f'"tokenizer": [{VERSION}]', '"tokenizer": [77]')
    Path("counts.txt").write_text(text)
    monkeypatch.setenv("XDG_DATA_HOME", str(taught / "other"))
    result = run("import", "counts.txt")
    assert result.code == 0
    assert "another tokenizer (77;" in result.err
    assert "`spamnb train --again` there" in result.err
