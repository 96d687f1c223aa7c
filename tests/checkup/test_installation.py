"""How spamnb is run here, and the commands that fit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import spamnb
from spamnb.base.label import Role
from spamnb.checkup.checkup import checkup
from spamnb.checkup.installation import Installation, installation
from spamnb.config import Config, Mailbox
from spamnb.config.writing import render

USUAL = ".config/spamnb/config.yaml"
SYSTEM = Path("/etc/spamnb/config.yaml")
PERSON = Config((), Path("/ledger"))
HOST = Config((Mailbox(Path("/var/vmail/{domain}/{local}"), {"INBOX": Role.INBOX}),), Path("/ledgers/{user}"))
USER = Config((), Path("/ledger"), user="anna@example.org", share=Path("/var/lib/spamnb-host/2-of-4"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a person."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with systemd, on which no unit is installed."""
    place = tmp_path / "machine"
    (place / "run/systemd/system").mkdir(parents=True)
    monkeypatch.setattr("spamnb.checkup.installation._ROOT", place)
    return place


def install(unit: Path) -> None:
    """Put a unit into its place."""
    unit.parent.mkdir(parents=True, exist_ok=True)
    unit.touch()


def here(
    home: Path,
    path: str | Path = USUAL,
    config: Config | None = PERSON,
    environ: Mapping[str, str] | None = None,
    shares: Sequence[str] = (),
) -> Installation:
    """The installation of a configuration, whose path is in the home, or a full one."""
    return installation(home / path, {"HOME": str(home), **(environ or {})}, config, shares)


@pytest.mark.parametrize("place", ["home/.config/systemd/user", "machine/usr/lib/systemd/user"])
def test_a_service_of_the_user(home: Path, machine: Path, place: str) -> None:
    """A unit of the user, installed by the user or by a package, is started by the user's own manager."""
    install(home.parent / place / "spamnb.service")
    found = here(home)
    assert found.next == found.start == "systemctl --user start spamnb"
    assert found.enable == "systemctl --user enable --now spamnb"
    assert found.reload == "systemctl --user reload spamnb"
    assert found.log == "journalctl --user -u spamnb"
    assert (found.spamnb, found.install) == ("spamnb", "")


def test_another_configuration(home: Path, machine: Path) -> None:
    """The user's unit needs the usual configuration: with a different one the service is run by hand."""
    install(home / ".config/systemd/user/spamnb.service")
    found = here(home, "a b.yaml")
    assert found.spamnb == f"spamnb --config '{home}/a b.yaml'"
    assert (found.next, found.reload) == (f"{found.spamnb} run", "")


def test_no_unit(home: Path, machine: Path) -> None:
    """If no unit is installed, the service is run by hand, and the command that installs one is named."""
    assert here(home).next == "spamnb run, or for good: spamnb install-unit --user"
    assert here(home).start == "spamnb run"


def test_a_machine_without_systemd(home: Path, machine: Path) -> None:
    """Units that no systemd reads are of no use: the service is run by hand."""
    install(machine / "usr/lib/systemd/user/spamnb.service")
    (machine / "run/systemd/system").rmdir()
    assert (here(home).next, here(home).install) == ("spamnb run", "")


def test_a_system_unit(home: Path, machine: Path) -> None:
    """A configuration in a user's directory below /etc/spamnb belongs to the machine's unit for that user."""
    path = Path("/etc/spamnb/anna/config.yaml")
    by_hand = here(home, path)
    assert by_hand.start == "spamnb --config /etc/spamnb/anna/config.yaml run"
    assert by_hand.install == "spamnb install-unit --system, then systemctl enable --now spamnb@anna"
    install(machine / "usr/lib/systemd/system/spamnb@.service")
    found = here(home, path)
    assert found.next == "as root: systemctl start spamnb@anna"
    assert found.start == "systemctl start spamnb@anna"
    assert found.log == "journalctl -u spamnb@anna"
    assert found.spamnb == "spamnb --config /etc/spamnb/anna/config.yaml"


def test_a_mail_host(home: Path, machine: Path) -> None:
    """On a mail host the command starts the services of the shares that are missing."""
    assert here(home, SYSTEM, HOST).install.endswith(", then systemctl enable --now spamnb-host@1-of-1")
    install(machine / "etc/systemd/system/spamnb-host@.service")
    assert here(home, SYSTEM, HOST).next == "as root: systemctl start spamnb-host@1-of-1"
    found = here(home, SYSTEM, HOST, shares=["1-of-4", "4-of-4"])
    assert found.start == "systemctl start spamnb-host@1-of-4 spamnb-host@4-of-4"
    assert found.log == "journalctl -u spamnb-host@1-of-4 -u spamnb-host@4-of-4"
    other = here(home, "host.yaml", HOST, shares=["1-of-4", "4-of-4"])
    assert other.start == f"{other.spamnb} run --shard 1-of-4 & {other.spamnb} run --shard 4-of-4"


def test_a_user_of_a_mail_host(home: Path, machine: Path) -> None:
    """For a user of a mail host the command starts the service that works for this user, and others name the user."""
    install(machine / "etc/systemd/system/spamnb-host@.service")
    found = here(home, SYSTEM, USER)
    assert found.start == "systemctl start spamnb-host@2-of-4"
    assert found.spamnb == "spamnb --config /etc/spamnb/config.yaml --user anna@example.org"
    other = here(home, "host.yaml", replace(USER, share=None))
    assert other.start == f"spamnb --config {home}/host.yaml run"


@pytest.mark.parametrize(("engine", "environ"), [("podman", {"container": "podman"}), ("docker", {})])
def test_a_container(home: Path, machine: Path, engine: str, environ: dict[str, str]) -> None:
    """In a container the commands are for the machine that runs it."""
    install(machine / "usr/lib/systemd/user/spamnb.service")
    found = here(home, environ={"SPAMNB_CONTAINER": "my mail", **environ})
    assert found.next == f"on the machine that runs the container: {engine} start 'my mail'"
    assert found.spamnb == f"{engine} exec 'my mail' spamnb"
    assert found.told(found.reload).endswith(f": {engine} kill --signal=HUP 'my mail'")


def test_doctor_asks_how_it_is_run(home: Path, machine: Path) -> None:
    """Doctor's advice fits the way in which the service runs here, and names an unusual configuration."""
    root = home / "Maildir"
    for name in ("cur", "new", "tmp", ".Junk/cur", ".Junk/new", ".Junk/tmp"):
        (root / name).mkdir(parents=True)
    text = render([Mailbox(root, {"INBOX": Role.INBOX, "Junk": Role.SPAM})])
    for path in (home / USUAL, home / "other.yaml"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    install(home / ".config/systemd/user/spamnb.service")

    def steps(path: Path) -> dict[str, str]:
        return {one.what: one.next for one in checkup(path, {"HOME": str(home)}) if one.next}

    usual, other = steps(home / USUAL), steps(home / "other.yaml")
    assert usual["service"] == "systemctl --user start spamnb"
    assert other["service"] == f"spamnb --config {home}/other.yaml run"
    assert other["ledger"].startswith(f"spamnb --config {home}/other.yaml init")


def test_one_module_knows() -> None:
    """Only the module that knows how spamnb is run, and what installs units, write commands of a service manager."""
    package = Path(spamnb.__file__).parent
    sources = [*package.rglob("*.py"), *package.rglob("*.html")]
    named = {str(path.relative_to(package)) for path in sources if "systemctl" in path.read_text()}
    installing = {"cli/install_unit.py", "cli/common/init_imap.py", "setup/units.py", "provider/sync_units.py"}
    printing = {"cli/common/wrapping.py"}  # it keeps a command on one line
    assert named == {"checkup/installation.py", *installing, *printing}
