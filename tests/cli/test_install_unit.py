"""`install-unit`: what it writes, and what it says comes next."""

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_command(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`spamnb install-unit --user` says what it wrote and what comes next, and --remove what it removed."""
    monkeypatch.setattr("spamnb.setup.units._HIDDEN", {"user": (), "system": ()})
    (home / "bin").mkdir()
    (home / "bin/spamnb").write_text("#!/bin/sh\n")
    (home / "bin/spamnb").chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(home / "bin/spamnb")])
    unit = home / ".config/systemd/user/spamnb.service"
    wrote = run("install-unit", "--user")
    assert (wrote.code, wrote.err) == (0, "")
    assert f"wrote {unit}\n" in wrote.out
    assert "systemctl --user daemon-reload && systemctl --user enable --now spamnb\n" in wrote.out
    assert f"ExecStart={home}/bin/spamnb run" in unit.read_text()
    removed = run("install-unit", "--user", "--remove")
    assert f"removed {unit}\n" in removed.out
    assert not unit.exists()
    assert run("install-unit", "--user", "--remove").out == "There was nothing to remove.\n"
