"""`install-unit`: what it writes, and what it says comes next."""

import sys
from pathlib import Path

import pytest

from spamnb.setup.units import UnitDirectory
from tests.cli.conftest import Run
from tests.host.conftest import Site


def test_the_next_step_of_the_system(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--system` names both ways of docs/mail-host.md, and the service of a mail host if that is set up already."""
    monkeypatch.setattr(
        "spamnb.setup.units.place", lambda manager, _: UnitDirectory(manager, home / "units", "systemctl")
    )
    monkeypatch.setattr("spamnb.setup.units.program", lambda *_: Path("/opt/spamnb/bin/spamnb"))
    monkeypatch.setattr("spamnb.setup.units._check_program", lambda *_: None)
    config = home / "config.yaml"
    monkeypatch.setattr("spamnb.cli.install_unit.SYSTEM_CONFIG", config)
    both = run("install-unit", "--system").out.partition("Next: ")[2]
    assert both.startswith("for all virtual users of a mail host: spamnb init --host\n")
    assert "write /etc/spamnb/USER/config.yaml, then\n      systemctl daemon-reload" in both
    assert Site(home).host().path == config
    of_host = "systemctl daemon-reload && systemctl enable --now spamnb-host@1-of-1\n"
    assert run("install-unit", "--system").out.partition("Next: ")[2] == of_host
    config.write_text("mailboxes: 1\n")
    assert run("install-unit", "--system").out.partition("Next: ")[2] == both


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
