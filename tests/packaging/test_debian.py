"""The Debian package in a fresh Debian 12 and 13: installed, used, upgraded while mail comes in, removed, purged."""

import logging
import re
import time
from pathlib import Path

import pytest

from spamnb.setup.units import manager_of
from tests.documents import block
from tests.packaging import built, tab
from tests.packaging.conftest import check_moved_once, put, spam_comes_during, start_manager
from tests.patience import PATIENCE, until
from tests.systemd.asking import ask, log_in
from tests.systemd.machine import Machine
from tests.systemd.unit import Unit
from tests.systemd.virtual_users import STATE, TAUGHT, VirtualUsers

pytestmark = [pytest.mark.real_system, pytest.mark.slow]

_log = logging.getLogger(__name__)
_CONFIG = """\
ledger: /var/lib/spamnb/anna/ledger.sqlite
mailboxes:
  - path: /home/anna/Maildir
    roles: {INBOX: inbox, Junk: spam}
"""
_OWN = ("/home/anna", "/home/ben", "/etc/spamnb", "/var/lib/spamnb", STATE, "/srv", "/var/log", "/proc", "/sys")
_UNITS = "/etc/systemd/system"
_DROP_INS = (f"{_UNITS}/spamnb-web@.service.d", f"{_UNITS}/spamnb@anna.socket.d")
_OF_HOST = tuple(
    f"{_UNITS}/spamnb-{unit}.d" for unit in ("host@.service", "host.socket", "web-host.service", "web-host.socket")
)
_MOST_KILOBYTES = 3600  # of the package, unpacked; the modules alone take 2,800, and took 1,160 at 3,000


def test_the_same_bytes_each_time(package: Path, tmp_path: Path) -> None:
    """The package built again from the same sources, in another directory, is the same file."""
    assert built.debian_package(tmp_path).read_bytes() == package.read_bytes()


def install(machine: Machine, package: str) -> float:
    """`apt install ./PACKAGE`, which needs no network; seconds."""
    began = time.monotonic()
    machine.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes", package, timeout=5 * PATIENCE)
    return time.monotonic() - began


def files_of(machine: Machine) -> set[str]:
    """Every file that has to do with spamnb, apart from what people wrote themselves and dpkg's log of it."""
    own = " ".join(f"-path {path} -prune -o" for path in (*_OWN, *_DROP_INS, *_OF_HOST))
    return set(machine.run("sh", "-c", f"find / {own} -name '*spamnb*' -print").stdout.split())


def processes(machine: Machine) -> list[str]:
    """The command lines of this program."""
    said = machine.run("sh", "-c", r"for at in /proc/[0-9]*; do tr '\0' ' ' <$at/cmdline; echo; done").stdout
    return [line for line in said.splitlines() if "/usr/bin/spamnb" in line]


@pytest.fixture(scope="module")
def installed(fresh: Machine, package: Path) -> Machine:
    """The release with the package, which is all that was installed."""
    assert not files_of(fresh)
    taken = install(fresh, put(fresh, package))
    size = int(fresh.run("dpkg-query", "--show", "--showformat=${Installed-Size}", "spamnb").stdout)
    byte_code = fresh.run("sh", "-c", "du -sk /usr/lib/python3/dist-packages/spamnb | cut -f1").stdout.strip()
    _log.info("installed in %.1f s: %s KB, with Python's byte code %s KB", taken, size, byte_code)
    assert size < _MOST_KILOBYTES
    return fresh


@pytest.fixture(scope="module")
def services(installed: Machine) -> dict[str, Unit]:
    """Ben's own service, and anna's instance of the template, both running and taught a little."""
    own, host = Unit(installed, "ben", "spamnb.service", "ben"), Unit(installed, "anna", "spamnb@anna.service", None)
    start_manager(installed, "ben")
    for unit in (own, host):
        unit.make_maildir()
    commands = block("docs/install.md", "debian-unit").splitlines()
    installed.run(*commands[0].split(), user="ben")
    installed.write("/etc/spamnb/anna/config.yaml", _CONFIG)
    installed.run("install", "-d", "-o", "anna", "/var/lib/spamnb", "/var/lib/spamnb/anna")
    for unit in (own, host):
        unit.prepare()
        unit.configure()
    installed.run(*commands[1].split(), user="ben")
    host.systemctl("enable", "--now")
    return {"own": own, "host": host}


def test_nothing_is_started_or_enabled(installed: Machine) -> None:
    """All units are in systemd's places, start the package's program, and are enabled for nobody."""
    listed = installed.run("systemctl", "list-unit-files", "--no-legend", "spamnb*").stdout
    start_manager(installed, "ben")
    listed += installed.run("systemctl", "--user", "list-unit-files", "--no-legend", "spamnb*", user="ben").stdout
    states = {words[0]: words[1] for words in map(str.split, listed.splitlines())}
    assert set(states) == {unit.name for unit in (built.PROJECT / "systemd").iterdir()}
    assert set(states.values()) <= {"disabled", "static"}  # the latter is started by its socket alone
    for unit in states:
        text = installed.path(f"/usr/lib/systemd/{manager_of(unit)}/{unit}").read_text()
        assert all(line.startswith("ExecStart=/usr/bin/spamnb ") for line in re.findall("^ExecStart=.*", text, re.M))
    assert processes(installed) == []


def test_the_manual_is_there(installed: Machine) -> None:
    """`man spamnb` and the other pages are shown, without a word of complaint."""
    shows = {
        "spamnb": "spamnb install-unit",
        "spamnb.yaml": "spam_cutoff",
        "spamnb-spamd": "SPAMC/1.5",
        "spamnb-web": "web.key",
    }
    for page, words in shows.items():
        shown = installed.run("man", page, user="ben")
        assert words in shown.stdout
        assert shown.stderr == ""


def test_the_demonstration_runs(installed: Machine) -> None:
    """`spamnb demo` shows the whole loop on Debian's libraries alone."""
    assert "Junk" in installed.run("spamnb", "demo", user="ben", timeout=2 * PATIENCE).stdout


def test_mail_is_moved(services: dict[str, Unit]) -> None:
    """Both units move spam, in the sandbox as the package has it."""
    for unit in services.values():
        unit.wait_moved(unit.deliver("spam"))
        assert "/usr/bin/spamnb" in unit.show("ExecStart")


def test_a_mail_host(services: dict[str, Unit]) -> None:
    """The commands of the document set up a mail host from the release's own Dovecot, beside the other services."""
    machine = services["host"].machine
    users = VirtualUsers(machine)
    machine.run("bash", "-euc", block("docs/mail-host.md", "host-setup"), timeout=5 * PATIENCE)
    for name in TAUGHT:
        users.moves(name)
    assert users.not_of_vmail() == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_tab(services: dict[str, Unit], shell: str) -> None:
    """Tab completes a command, an option, a choice, a configured folder and a file, in an ordinary shell."""
    machine = services["own"].machine
    machine.write("/srv/tab.py", Path(tab.__file__).read_text())
    machine.write("/home/ben/.zshrc", "PS1='%% '\nautoload -Uz compinit\ncompinit -u\n", "ben")
    machine.write("/home/ben/.config/fish/config.fish", "function fish_prompt; echo '% '; end\n", "ben")
    machine.write("/home/ben/a-letter.eml", "", "ben")
    typed = {
        "spamnb hist\t": "spamnb history ",
        "spamnb history --verd\t": "--verdict ",
        "spamnb history --verdict un\t": "unsure ",
        "spamnb history --folder Ju\t": "Junk",
        "spamnb score a-let\t": "a-letter.eml",
        "spamnb install-unit --sy\t": "--system ",
        "spamnb train --exec\t": "--executor ",
    }
    pairs = [word for pair in typed.items() for word in pair]
    done = machine.run(
        *("env", "TERM=dumb", "python3", "/srv/tab.py", str(PATIENCE), shell, *pairs),
        user="ben",
        cwd="/home/ben",
        timeout=5 * PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_numbers_of_history_complete(services: dict[str, Unit]) -> None:
    """Tab after `spamnb undo` proposes the numbers that `spamnb history` shows."""
    unit = services["own"]
    script = "source /usr/share/bash-completion/completions/spamnb; COMP_WORDS=(spamnb undo ''); COMP_CWORD=2; _spamnb"
    said = unit.machine.run("bash", "-c", f"{script}; echo ${{COMPREPLY[*]}}", user="ben").stdout.split()
    shown = re.findall(r'^\{"id": (\d+)', unit.spamnb("history", "--json"), re.MULTILINE)
    assert said == shown != []


def test_upgrade_while_mail_comes_in(services: dict[str, Unit], package: Path) -> None:
    """Both services go on with a later package; all mail from the meantime is moved, once."""
    machine = services["own"].machine
    before = {name: (unit.pid(), unit.spamnb("verify")) for name, unit in services.items()}
    newer = put(machine, built.later(package, "0.1.1"))
    taken: list[float] = []
    sent = spam_comes_during(lambda: taken.append(install(machine, newer)), services)
    _log.info("upgraded in %.1f s, while %d messages came", taken[0], sum(map(len, sent.values())))
    assert machine.run("spamnb", "--version").stdout == "spamnb 0.1.1\n"
    for name, unit in services.items():
        until(lambda unit=unit, name=name: unit.pid() not in {0, before[name][0]}, f"{name} to be started again")  # type: ignore[misc]
        check_moved_once(unit, sent[name])
        assert unit.spamnb("verify") == before[name][1]
    states = machine.run("systemctl", "list-unit-files", "--no-legend", "spamnb*").stdout
    assert "disabled" in states
    assert "spamnb@anna" not in states


def test_an_older_package_is_told_by_its_version(services: dict[str, Unit], package: Path) -> None:
    """Back to the former package: the ledger, whose form is the same, is used as before."""
    unit = services["own"]
    told = unit.spamnb("verify")
    machine = unit.machine
    machine.run("apt-get", "install", "--yes", "--allow-downgrades", put(machine, package), timeout=5 * PATIENCE)
    assert unit.spamnb("verify") == told
    unit.wait_moved(unit.deliver("spam"))


def test_logins_and_sockets_outlive_an_upgrade(services: dict[str, Unit], package: Path) -> None:
    """After an upgrade the same cookie is logged in, and each socket is the same file of the same owner and mode."""
    own, host = services["own"], services["host"]
    machine, port, name = own.machine, "127.0.0.1:7726", "mail.example"
    names = "[Service]\nEnvironment=SPAMNB_WEB=--allow-host=mail.example\n"
    machine.write(f"{_DROP_INS[0]}/name.conf", names)
    machine.write(f"{_DROP_INS[1]}/peers.conf", "[Socket]\nSocketGroup=mail\nSocketMode=0660\n")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "stop", "spamnb@anna")
    machine.run("systemctl", "enable", "--now", "spamnb-web@anna.socket", "spamnb@anna.socket")
    machine.run("systemctl", "start", "spamnb@anna")
    machine.run("systemctl", "--user", "enable", "--now", "spamnb-web.socket", user="ben")
    base, cookie = log_in(own, port, "python3")
    sockets = ["/run/spamnb-web/anna.sock", "/run/spamnb/anna.sock"]

    def state() -> tuple[str, str, int, int]:
        """Return the sockets, the key of all logins, and the pages' answers to a login and over the socket."""
        files = machine.run("stat", "--format=%n %i %U %G %a", *sockets).stdout
        key = machine.path(f"{own.state}/web.key")
        assert key.stat().st_mode & 0o777 == 0o600
        ben = ask(machine, port, f"{base}/", "ben", Cookie=cookie)[0]
        return files, key.read_bytes().hex(), ben, ask(machine, sockets[0], "/", "www-data", Host=name)[0]

    before = state()
    assert before[0].splitlines()[0].endswith("anna www-data 660")
    assert before[0].splitlines()[1].endswith("anna mail 660")
    assert before[2:] == (200, 200)
    pages = web_process(machine)
    install(machine, put(machine, built.later(package, "0.1.1")))
    assert state() == before
    assert web_process(machine) not in {"0", pages}, "the pages are started again with the new program"
    until(lambda: own.pid() != 0 and host.pid() != 0, "both services to run")


def web_process(machine: Machine) -> str:
    """The process that serves ben's pages."""
    return machine.run(
        "systemctl", "--user", "show", "--property=MainPID", "--value", "spamnb-web", user="ben"
    ).stdout.strip()


def test_upgrades_do_not_use_up_the_starts(services: dict[str, Unit]) -> None:
    """More upgrades within ten minutes than StartLimitBurst= allows starts leave the services running."""
    machine = services["own"].machine
    for _ in range(7):
        machine.run("/var/lib/dpkg/info/spamnb.postinst", "configure", "0.1.0-1")
    for unit in services.values():
        assert unit.systemctl("is-active") == "active"
        unit.wait_moved(unit.deliver("spam"))


def test_an_interrupted_upgrade_goes_on(services: dict[str, Unit], package: Path) -> None:
    """Mail is moved after an interrupted upgrade, unpacked but not configured; then the services restart."""
    machine = services["own"].machine
    before = {name: unit.pid() for name, unit in services.items()}
    machine.run("dpkg", "--unpack", put(machine, package), timeout=5 * PATIENCE)
    for unit in services.values():
        unit.wait_moved(unit.deliver("spam"))
    machine.run("dpkg", "--configure", "--pending", timeout=5 * PATIENCE)
    for name, unit in services.items():
        until(lambda unit=unit, name=name: unit.pid() not in {0, before[name]}, f"{name} to be started again")  # type: ignore[misc]
        unit.wait_moved(unit.deliver("spam"))


def test_removal_and_purge(services: dict[str, Unit]) -> None:
    """Removal stops both services; after the purge nothing is left but each person's mail, ledger and configuration.

    No link to a unit that is gone is left, and no file of metrics, which would say for ever that a service runs.
    """
    machine = services["own"].machine
    sockets = ["spamnb-host.socket", "spamnb-web-host.socket", "spamnb@anna.socket"]
    machine.run("systemctl", "enable", *sockets)
    machine.run("systemctl", "--global", "enable", "spamnb.socket")
    metrics = "/var/lib/prometheus/node-exporter"
    machine.run("mkdir", "-p", metrics)
    for name in ("spamnb.prom", "spamnb@1-of-1.prom", "other.prom"):
        machine.write(f"{metrics}/{name}", "spamnb_service_running 1\n")
    kept = {name: unit.deliver("ham") for name, unit in services.items()}
    began = time.monotonic()
    machine.run("apt-get", "remove", "--yes", "spamnb", timeout=5 * PATIENCE)
    _log.info("removed in %.1f s", time.monotonic() - began)
    for unit in services.values():
        until(lambda unit=unit: unit.pid() == 0, f"{unit.name} to stop")  # type: ignore[misc]
    assert processes(machine) == []
    machine.run("apt-get", "purge", "--yes", "spamnb", timeout=5 * PATIENCE)
    assert files_of(machine) == set()
    assert machine.run("find", "/etc/systemd", "-xtype", "l", "-lname", "*spamnb*").stdout == ""
    assert machine.run("ls", metrics).stdout == "other.prom\n"
    for name, unit in services.items():
        assert unit.holds("", kept[name])
        assert machine.path(unit.config).exists()
        assert machine.path(f"{unit.state}/ledger.sqlite").exists()
