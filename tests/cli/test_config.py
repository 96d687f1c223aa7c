"""`config`: the values in force, their faults, and the example."""

from pathlib import Path

from spamnb.config import load, parse
from tests.cli.conftest import Run, maildir

CONFIG = ".config/spamnb/config.yaml"
EXAMPLE = Path(__file__).parent.parent.parent / "config.example.yaml"


def test_the_example_is_installed(run: Run) -> None:
    """--example prints config.example.yaml, letter by letter, and needs no configuration."""
    result = run("config", "--example")
    assert (result.code, result.err, result.out) == (0, "", EXAMPLE.read_text(encoding="utf-8"))


def test_values_in_force(home: Path, run: Run) -> None:
    """Without an option it prints each value in force, as an equivalent configuration."""
    maildir(home / "Maildir", **{"what?": []})
    assert run("init").code == 0
    file = home / CONFIG
    file.write_text(
        file.read_text().replace("Junk: spam", "Junk: spam\n    'Lists/*': neutral") + "scoring: {alpha: 1e-5}\n"
    )
    result = run("config")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"# {file}, ")
    assert "  spam_cutoff: 0.95\n" in result.out
    assert parse(result.out, "printed") == load(file)


def test_no_configuration(run: Run) -> None:
    """Without a configuration it says how to make one."""
    for arguments in ((), ("--check",)):
        result = run("config", *arguments)
        assert (result.code, result.out) == (78, "")
        assert "spamnb init" in result.err


def test_check(home: Path, run: Run) -> None:
    """--check names all faults and ends with 78; without faults it says so."""
    maildir(home / "Maildir")
    run("init")
    result = run("config", "--check")
    assert (result.code, result.out.startswith(f"{home / CONFIG} has no faults. ")) == (0, True)
    assert run("-q", "config", "--check").out == ""
    Path("new.yaml").write_text("mailboxes: 3\nscoring: {alpha: x}\n")
    result = run("config", "--check", "new.yaml")
    assert (result.code, result.out) == (78, "")
    assert [line.split(":")[2] for line in result.err.splitlines()] == ["1", "2"]
    assert run("config", "--check", "nowhere.yaml").code == 78
    assert run("config", "--check", "--example").code == 64
