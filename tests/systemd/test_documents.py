"""The blocks of the documents that need a service manager: reload, upgrade, removal."""

import pytest

from tests.documents import block
from tests.patience import until
from tests.systemd.conftest import as_a_login, as_root
from tests.systemd.unit import Unit

_HOST, _OWN, _SET_UP = "docs/mail-host.md", "docs/install.md", "docs/set-up.md"


def run(unit: Unit, document: str, own: str, host: str = "") -> str:
    """Run the block for the unit: the one for a person, or the one for an administrator; what it prints."""
    if unit.name == "spamnb.service":
        return as_a_login(unit.machine, unit.user, block(document, own))
    return as_root(unit.machine, block(document, host))


def test_reload(unit: Unit) -> None:
    """The blocks check the configuration, let the service read it again, and show its log."""
    before = unit.pid()
    document = _SET_UP if unit.name == "spamnb.service" else _HOST
    printed = run(unit, document, "user-reload", "system-reload")
    assert "has no faults" in printed
    assert "watching 2 folders" in printed
    assert unit.pid() == before
    until(lambda: unit.said("read the configuration again", ""), "the configuration read again")


def test_upgrade(unit: Unit) -> None:
    """The blocks install the sources again, and the service runs with them and with the same ledger."""
    before, learned = unit.pid(), unit.spamnb("verify")
    run(unit, _OWN, "user-upgrade", "system-upgrade")
    until(lambda: unit.pid() not in {0, before}, "another process of the service")
    until(lambda: unit.show("ActiveState") == "active", "the service to be active")
    assert unit.spamnb("verify") == learned
    unit.wait_moved(unit.deliver("spam"))


def test_metrics_directory(system_unit: Unit) -> None:
    """A directory for metrics that is made after the start is not written to, and the log says why; the block opens it.

    Then the service has a file of its own there, with a label, and can replace no other.
    """
    system_unit.restore()
    machine, place = system_unit.machine, "/var/lib/prometheus/node-exporter"
    system_unit.configure(f"service:\n  metrics: {place}/spamnb.prom\n")
    since = system_unit.now()
    machine.run("systemctl", "restart", system_unit.name)
    until(lambda: "create its directory" in logged(system_unit, since), "the log to say that there is no directory")
    machine.path(place).mkdir(parents=True)
    machine.path(place).chmod(0o777)
    system_unit.systemctl("reload")  # it then tries at once; else every half minute
    until(lambda: "restart the service" in logged(system_unit, since, "Read-only"), "the log to say why")
    as_root(machine, block("docs/monitoring.md", "metrics-directory"))
    until(machine.path(f"{place}/spamnb@anna.prom").exists, "the file of metrics")
    assert 'spamnb_service_running{service="anna"} 1\n' in machine.path(f"{place}/spamnb@anna.prom").read_text()
    assert machine.path(f"{place}/spamnb@anna.prom").stat().st_mode & 0o777 == 0o644
    assert machine.path(place).stat().st_mode & 0o7777 == 0o1775
    refused = machine.run("touch", f"{place}/x", user="anna", check=False)
    assert refused.returncode, "only the service has the group"


def logged(unit: Unit, since: str, text: str = "") -> str:
    """Whether the service has logged this text about metrics."""
    lines = [str(entry["MESSAGE"]) for entry in unit.journal(since)]
    return "\n".join(line for line in lines if "metrics" in line and text in line)


@pytest.mark.parametrize("kind", ["system", "user"])
def test_removal(kind: str, request: pytest.FixtureRequest) -> None:
    """After the blocks nothing is left but the mail."""
    unit: Unit = request.getfixturevalue(f"{kind}_unit")
    unit.restore()
    spam = unit.deliver("spam")
    unit.wait_moved(spam)
    run(unit, _OWN, "user-removal", "system-removal")
    assert unit.systemctl("is-active", check=False) in {"inactive", "unknown"}
    assert unit.holds(".Junk", spam)
    assert not unit.machine.path(unit.config).exists()
    assert not unit.machine.path(unit.state).exists()
