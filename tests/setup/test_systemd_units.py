"""The systemd units: understood by systemd, and closed as far as the service can bear."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.patience import PATIENCE

UNITS = Path(__file__).parents[2] / "systemd"
USER, SYSTEM = UNITS / "spamnb.service", UNITS / "spamnb@.service"
WEB_USER, WEB_SYSTEM = UNITS / "spamnb-web.service", UNITS / "spamnb-web@.service"
WEB_HOST = UNITS / "spamnb-web-host.service"
HOST, HOST_SOCKET = UNITS / "spamnb-host@.service", UNITS / "spamnb-host.socket"

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd-analyze is not installed (Debian: apt install systemd)",
)


def analyze(*arguments: str, runtime: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "SYSTEMD_COLORS": "0", "LC_ALL": "C"}
    return subprocess.run(
        ["systemd-analyze", *arguments], env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def settings(unit: Path) -> list[tuple[str, str]]:
    lines = [line for line in unit.read_text("utf-8").splitlines() if not line.startswith(("#", "["))]
    return [(key, value) for key, _, value in (line.partition("=") for line in lines) if key]


def installed(unit: Path, place: Path) -> Path:
    """A copy that starts a program which exists here: systemd looks for the program of each command."""
    program = re.compile(r"^(Exec\w+)=\S+", flags=re.MULTILINE)
    (place / unit.name).write_text(program.sub(rf"\1={shutil.which('true')}", unit.read_text("utf-8")))
    return place / unit.name


@needs_systemd
@pytest.mark.parametrize(
    ("unit", "manager"),
    [
        *((unit, "--user") for unit in (USER, WEB_USER)),
        *((unit, "--system") for unit in (SYSTEM, WEB_SYSTEM, HOST, WEB_HOST)),
    ],
)
def test_verify(tmp_path: Path, unit: Path, manager: str):
    """systemd understands every line of the unit."""
    if "web" in unit.name:
        installed(unit.with_suffix(".socket"), tmp_path)
    if unit == HOST:
        installed(HOST_SOCKET, tmp_path)
    result = analyze(manager, "verify", "--man=no", str(installed(unit, tmp_path)), runtime=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@needs_systemd
@pytest.mark.parametrize(("unit", "tenths"), [(SYSTEM, 15), (WEB_SYSTEM, 15), (HOST, 10), (WEB_HOST, 10)])
def test_exposure(tmp_path: Path, unit: Path, tenths: int):
    """A system unit's exposure, as systemd counts it, is 1.5 or less of 10; 1.0 or less of one for all users."""
    result = analyze("security", "--offline=true", f"--threshold={tenths}", "--no-pager", str(unit), runtime=tmp_path)
    assert "Overall exposure level" in result.stdout, result.stderr
    assert result.returncode == 0, result.stdout


def test_the_sandbox_of_a_host_is_that_of_one_user():
    """The host's unit forbids what the unit of one user does; it differs in whom it is for, and in limits."""
    own = {"Description", "RequiresMountsFor", "StartLimitBurst", "User", "ExecStart", "RestartSec", "MemoryMax"}
    own |= {"RestartPreventExitStatus", "StateDirectory", "RuntimeDirectory", "BindPaths", "ReadWritePaths"}
    assert {one for one in settings(SYSTEM) if one[0] not in own} <= set(settings(HOST))
    assert {key for key, _ in settings(HOST)} - {key for key, _ in settings(SYSTEM)} == {
        "RuntimeDirectoryPreserve",
        "Sockets",
        "LimitNOFILE",
        "Nice",
    }


@pytest.mark.parametrize("unit", [USER, SYSTEM])
def test_contract(unit: Path):
    """A unit tells when it is ready, reloads by SIGHUP, is watched, and is not restarted in vain."""
    assert {
        ("Type", "notify"),
        ("NotifyAccess", "main"),
        ("ExecReload", "/bin/sh -c 'kill -HUP $MAINPID'"),
        ("WatchdogSec", "60"),
        ("Restart", "on-failure"),
        ("RestartPreventExitStatus", "78"),
        ("UMask", "0077"),
        ("NoNewPrivileges", "yes"),
        ("RestrictAddressFamilies", "AF_UNIX"),
    } <= set(settings(unit))


def test_commands():
    """All units start `spamnb run`; the system's with the configuration of its instance, a host's with its share."""
    assert ("ExecStart", "%h/.local/bin/spamnb run") in settings(USER)
    assert ("ExecStart", "/usr/local/bin/spamnb --config /etc/spamnb/%i/config.yaml run") in settings(SYSTEM)
    shard = "/usr/local/bin/spamnb --config /etc/spamnb/config.yaml run --shard %i"
    assert ("ExecStart", shard) in settings(HOST)


SOCKETS = [(UNITS / "spamnb.socket", "--user"), (UNITS / "spamnb@.socket", "--system"), (HOST_SOCKET, "--system")]


@needs_systemd
@pytest.mark.parametrize(("unit", "manager"), SOCKETS)
def test_sockets(tmp_path: Path, unit: Path, manager: str):
    """systemd understands the socket units, whose sockets let in only their owner and root."""
    installed(HOST if unit == HOST_SOCKET else unit.with_suffix(".service"), tmp_path)
    result = analyze(manager, "verify", "--man=no", str(installed(unit, tmp_path)), runtime=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert ("SocketMode", "0600") in settings(unit)


@pytest.mark.parametrize(("web", "service"), [(WEB_USER, USER), (WEB_SYSTEM, SYSTEM), (WEB_HOST, HOST)])
def test_pages_are_closed_as_the_service_is(web: Path, service: Path):
    """The pages have the service's sandbox, without a network, and end by themselves."""
    of_service = {
        "Type",
        "NotifyAccess",
        "ExecStart",
        "ExecReload",
        "Restart",
        "RestartSec",
        "RestartPreventExitStatus",
    }
    of_service |= {
        "WatchdogSec",
        "TimeoutStartSec",
        "MemoryMax",
        "RuntimeDirectory",
        "RuntimeDirectoryMode",
        "WantedBy",
    }
    of_service |= {"Description", "Documentation", "StartLimitBurst", "ReadWritePaths"}
    of_service |= {"RuntimeDirectoryPreserve", "Sockets", "LimitNOFILE", "Nice"}
    of_metrics = {("Environment", "SPAMNB_INSTANCE=%i")}
    missing = {one for one in settings(service) if one[0] not in of_service} - set(settings(web)) - of_metrics
    assert not missing
    assert {("PrivateNetwork", "yes"), ("RestrictAddressFamilies", "AF_UNIX")} <= set(settings(web))
    assert "--idle-exit 10m" in dict(settings(web))["ExecStart"]
    assert dict(settings(web.with_suffix(".socket"))).get("SocketMode", "0660") == "0660"


def test_services_of_a_host_are_told_apart():
    """Each instance of the system's unit knows which one it is; the user's unit is one of its kind."""
    assert ("Environment", "SPAMNB_INSTANCE=%i") in settings(SYSTEM)
    assert not [value for key, value in settings(USER) if "SPAMNB_INSTANCE" in value]


def test_where_they_are_wanted():
    """The user's unit starts with the user's manager, the system's with the machine."""
    assert ("WantedBy", "default.target") in settings(USER)
    assert ("WantedBy", "multi-user.target") in settings(SYSTEM)


def test_other_users_files_stay_usable():
    """The system unit has no PrivateUsers=, which would break access to files of other users and groups."""
    assert "PrivateUsers" not in dict(settings(SYSTEM))


def test_one_ledger():
    """The user's unit sets no directories: they would differ from those that the command line uses."""
    assert not {"StateDirectory", "ConfigurationDirectory"} & dict(settings(USER)).keys()
