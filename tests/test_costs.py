"""The comparison of counted instructions, by `.ci/costs.py`."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.documents import ROOT

_BY = "valgrind; 3.11.2; glibc 2.36"


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The script, as a module."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    return SimpleNamespace(**runpy.run_path(str(ROOT / ".ci/costs.py")))


@pytest.fixture
def said(
    costs: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str]]:
    """What the script says and returns about counts, beside a file with 100 M for `--help`."""
    known = tmp_path / "costs.txt"
    known.write_text(costs.text(_BY, {"--help": 100_000_000}))

    def run(counts: dict[str, int] | None, *arguments: str, by: str = _BY) -> tuple[int, str]:
        names = costs.main.__globals__
        monkeypatch.setitem(names, "_COUNTS", known)
        monkeypatch.setitem(names, "_counter", lambda: ("", None))
        monkeypatch.setitem(names, "_counted", lambda *_: counts)
        monkeypatch.setitem(names, "_conditions", lambda _: by)
        return costs.main([*arguments]), capsys.readouterr().out

    return run


def test_two_hundredths_more_fail(said: Callable[..., tuple[int, str]]) -> None:
    """A count that is more than 2 % higher than in the file fails, and the answer names it."""
    code, out = said({"--help": 102_100_000}, "--check")
    assert (code, "+2.1%" in out, "more than 2 % higher: --help." in out) == (1, True, True)
    assert said({"--help": 101_900_000}, "--check")[0] == 0
    assert said({"--help": 150_000_000})[0] == 0


def test_a_count_that_the_file_lacks_fails(said: Callable[..., tuple[int, str]]) -> None:
    """A count that the file does not have fails until the file is written."""
    assert said({"--help": 10_000_000, "status": 10_000_000}, "--check")[0] == 1
    assert said({"--help": 10_000_000, "status": 10_000_000}, "--write")[0] == 0
    assert said({"--help": 10_000_000, "status": 10_000_000}, "--check")[0] == 0


def test_another_python_is_not_compared(said: Callable[..., tuple[int, str]]) -> None:
    """Counts of another Python, C library or library are printed, and not compared."""
    code, out = said({"--help": 150_000_000}, "--check", by="valgrind; 3.13.5; glibc 2.41")
    assert code == 0
    assert "+50.0%" in out
    assert "not compared, since" in out


def test_without_a_counter_nothing_fails(said: Callable[..., tuple[int, str]]) -> None:
    """If nothing can count instructions here, the script says so, and passes."""
    code, out = said(None, "--check")
    assert (code, "not counted" in out) == (0, True)


def test_the_file_is_read_back(costs: SimpleNamespace) -> None:
    """The file has the conditions, and each count to a tenth of a million."""
    counts = {"--help": 89_800_000, "score, HTML": 516_500_000}
    assert costs.parse(costs.text(_BY, counts)) == (_BY, counts)
    assert costs.parse("") == ("", {})
