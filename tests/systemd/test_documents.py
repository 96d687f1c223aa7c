"""The blocks of the documents that need a service manager: reload, upgrade, a timer for mbsync, removal."""

import pytest

from tests.documents import block
from tests.systemd.conftest import as_a_login, as_root
from tests.systemd.machine import until
from tests.systemd.unit import Unit

_HOST, _OWN, _HOSTED = "docs/mail-host.md", "docs/own-mail.md", "docs/hosted-imap.md"
_UPGRADE = "docs/upgrade-and-removal.md"


def run(unit: Unit, document: str, own: str, host: str = "") -> str:
    """Run the block for the unit: the one for a person, or the one for an administrator; what it prints."""
    if unit.name == "spamnb.service":
        return as_a_login(unit.machine, unit.user, block(document, own))
    return as_root(unit.machine, block(document, host))


def test_reload(unit: Unit) -> None:
    """The blocks check the configuration, let the service read it again, and show its log."""
    before = unit.pid()
    document = _OWN if unit.name == "spamnb.service" else _HOST
    printed = run(unit, document, "user-reload", "system-reload")
    assert "has no faults" in printed
    assert "watching 2 folders" in printed
    assert unit.pid() == before
    until(lambda: unit.said("read the configuration again", ""), "the configuration read again")


def test_upgrade(unit: Unit) -> None:
    """The blocks install the sources again, and the service runs with them and with the same ledger."""
    before, learned = unit.pid(), unit.spamnb("verify")
    run(unit, _UPGRADE, "user-upgrade", "system-upgrade")
    until(lambda: unit.pid() not in {0, before}, "another process of the service")
    until(lambda: unit.show("ActiveState") == "active", "the service to be active")
    assert unit.spamnb("verify") == learned
    unit.wait_moved(unit.deliver("spam"))


def test_timer(user_unit: Unit) -> None:
    """The timer of the recipe calls mbsync, which stands here for itself, with the arguments of the document."""
    machine, calls = user_unit.machine, f"{user_unit.home}/calls"
    machine.write("/usr/bin/mbsync", f'#!/bin/sh\necho "$@" >>{calls}\n')
    machine.path("/usr/bin/mbsync").chmod(0o755)
    run(user_unit, _HOSTED, "timer")
    assert "mbsync.timer" in machine.run("systemctl", "--user", "list-timers", user="ben").stdout
    machine.run("systemctl", "--user", "start", "mbsync.service", user="ben")
    until(machine.path(calls).exists, "a call of mbsync")
    assert set(machine.path(calls).read_text().splitlines()) == {block(_HOSTED, "sync").strip().removeprefix("mbsync ")}


@pytest.mark.parametrize("kind", ["system", "user"])
def test_removal(kind: str, request: pytest.FixtureRequest) -> None:
    """After the blocks nothing is left but the mail."""
    unit: Unit = request.getfixturevalue(f"{kind}_unit")
    unit.restore()
    spam = unit.deliver("spam")
    unit.wait_moved(spam)
    run(unit, _UPGRADE, "user-removal", "system-removal")
    assert unit.systemctl("is-active", check=False) in {"inactive", "unknown"}
    assert unit.holds(".Junk", spam)
    assert not unit.machine.path(unit.config).exists()
    assert not unit.machine.path(unit.state).exists()
