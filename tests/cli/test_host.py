"""`status` and `doctor` of a mail host."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from spamnb.base.wording import clock
from spamnb.checkup import host_checks, inotify
from spamnb.host.host import Host
from spamnb.host.register import AccountRow, FilterState, path_of
from spamnb.host.shares import Share, claimed
from tests.cli.conftest import Run
from tests.host.conftest import Site
from tests.registers import put

WELL = AccountRow(
    "anna@a.example", "/m/anna", FilterState.MOVING, ham=20, spam=30, judged={"ham": 5}, judged_at=1e9, bytes=5000
)
BROKEN = AccountRow("bob@a.example", "/m/bob", FilterState.BROKEN, fault="it has no inbox", fault_since=1e9)
STOPPED = AccountRow("eve@a.example", "/m/eve", FilterState.STOPPED, corrected=2)


@pytest.fixture
def site(home: Path) -> Site:
    """A host with mail of Anna."""
    made = Site(home)
    made.maildir("a.example/anna/Maildir")
    return made


@pytest.fixture
def host(site: Site) -> Host:
    """The same, and its register knows that all is well."""
    made = site.host()
    put(made, WELL)
    return made


def call(host: Host) -> str:
    """How a command about that host begins."""
    return f"spamnb --config {host.path}"


def test_status(host: Host, run: Run) -> None:
    """`status` has sums over all users, and ends with 1 if the filter of any user is broken or has stopped."""
    result = run("--config", host.path, "status")
    assert result.code == 0
    lines = dict(line.split("  ", 1) for line in result.out.splitlines())
    assert {name: text.strip() for name, text in lines.items()} == {
        "services": "none is running",
        "users": "1: 1 moving",
        "register": str(path_of(host.directory, Share())),
        "disk": "5 KB for ledgers and their copies",
        "learned": "20 ham, 30 spam",
        "last 30 days": "5 ham; 0 corrected",
        "last judged": clock(1e9),
        "model": "multinomial-boolean",
    }
    for number, row in enumerate((BROKEN, STOPPED), 1):
        put(host, row)
        result = run("--config", host.path, "status")
        assert result.code == 1
        which = "The filter of 1 user is" if number == 1 else "The filters of 2 users are"
        assert f"{which} broken, or stopped because too much mail looked like spam: spamnb" in result.out
    found = run("--config", host.path, "status", "--json")
    values = json.loads(found.out)
    assert (found.code, values["users"]["broken"], values["users"]["stopped"], values["users"]["gone"]) == (1, 1, 1, 0)
    assert (values["learned"], values["judged"]["ham"], values["corrected"]) == ({"ham": 20, "spam": 30}, 5, 2)


def test_status_says_which_services_run(host: Host, run: Run) -> None:
    """`status` names the shares whose services run, and those that are missing beside them."""
    with claimed(host.directory, Share(1, 3)), claimed(host.directory, Share(3, 3)):
        text = run("--config", host.path, "status").out
        found = json.loads(run("--config", host.path, "status", "--json").out)
    assert "1-of-3 since 20" in text
    assert "; not running: 2-of-3\n" in text
    assert (list(found["running"]), found["not_running"]) == (["1-of-3", "3-of-3"], ["2-of-3"])


def test_status_before_a_service_has_begun(site: Site, run: Run) -> None:
    """Before there is a register, `status` has nothing to show, and makes none."""
    host = site.host()
    result = run("--config", host.path, "status")
    assert result.code == 0
    assert "never" in result.out
    assert json.loads(run("--config", host.path, "status", "--json").out)["users"]["moving"] == 0
    assert not host.directory.exists()


def test_status_of_a_user(host: Host, run: Run) -> None:
    """With `--user` it is the status of that user's filter."""
    found = json.loads(run("--config", host.path, "--user", "anna@a.example", "status", "--json").out)
    assert found["ledger"] == str(host.ledgers.fill("anna@a.example"))


def test_metrics(host: Host, run: Run) -> None:
    """`status --prometheus` has gauges with sums, no counter and no user; it ends with 0 even if one has stopped."""
    put(host, STOPPED)
    result = run("--config", host.path, "status", "--prometheus")
    assert (result.code, result.err) == (0, "")
    assert '\nspamnb_users{state="stopped"} 1\n' in result.out
    assert "\nspamnb_service_running 0\n" in result.out
    assert "_total" not in result.out
    assert "example" not in result.out
    with claimed(host.directory, Share()):
        assert "\nspamnb_service_running 1\n" in run("--config", host.path, "status", "--prometheus").out


# --- doctor


def findings(host: Host, run: Run) -> list[tuple[str, str, str]]:
    """State, object and meaning of what was found; each that is not ok says what to do, and a fault ends with 1."""
    result = run("--config", host.path, "doctor", "--json")
    found = [json.loads(line) for line in result.out.splitlines()]
    assert result.err == ""
    assert all(bool(one["next"]) == (one["state"] != "ok") for one in found)
    assert result.code == any(one["state"] == "fault" for one in found)
    return [(one["state"], one["what"], one["means"]) for one in found]


def said(host: Host, run: Run, state: str, part: str) -> bool:
    """Whether a finding of that state says so."""
    return any(found == state and part in means for found, _, means in findings(host, run))


def tree(directory: Path) -> dict[str, bytes | None]:
    """All files with their contents, and directories."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in directory.rglob("*")}


def test_faulty_own_settings(site: Site, host: Host, run: Run) -> None:
    """Each fault in a user's own settings is told once, also before the service has met it."""
    own = site.own(WELL.name, "scoring: {alpha: x}\nspamd: {}\n")
    for fault in ("", f"own settings are not in force: {own}:1"):
        put(host, replace(WELL, fault=fault))
        told = [
            (state, means.split(" is ")[0])
            for state, what, means in findings(host, run)
            if what == "user anna@a.example"
        ]
        assert told[0] == ("fault", f"{own}:1: scoring.alpha: 'x'")
        assert told[1][1].startswith(f"{own}:2: spamd: ")
        assert len(told) == 2
    put(host, replace(WELL, state=FilterState.BROKEN, fault="it has no inbox"))
    assert said(host, run, "fault", "it has no inbox")


def test_all_is_well(site: Site, host: Host, run: Run) -> None:
    """In perfect order each line is ok, and nothing is written."""
    before = tree(site.directory)
    assert [one for one in findings(host, run) if one[0] != "ok"] == [
        ("warning", "service", "not running: nothing is judged or learned now")
    ]
    assert tree(site.directory) == before
    with claimed(host.directory, Share()):
        found = findings(host, run)
    assert {state for state, _, _ in found} == {"ok"}
    assert [what for _, what, _ in found] == [
        "configuration", "service", "users", "watching", "ledgers", "mail", "register",
    ]  # fmt: skip
    assert ("ok", "users", f"1 user with a Maildir as {host.mail.text}") in found
    assert run("--config", host.path, "doctor").code == 0


def test_doctor_of_a_user(host: Host, run: Run) -> None:
    """With `--user` that user's mailbox and ledger are examined."""
    result = run("--config", host.path, "--user", "anna@a.example", "doctor", "--json")
    assert f"mailbox {host.mail.fill('anna@a.example')}" in result.out


def test_services(host: Host, run: Run) -> None:
    """If only some services run, that is a fault with the names of the units to start."""
    with claimed(host.directory, Share(2, 4)), claimed(host.directory, Share(3, 4)):
        assert said(host, run, "fault", "1-of-4, 4-of-4 not running")
        found = run("--config", host.path, "doctor").out
        assert f"{call(host)} run --shard 1-of-4 & {call(host)} run --shard 4-of-4" in found


def test_users(site: Site, host: Host, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor counts the users on the disk and all that it passes over: other names, links, mail of others."""
    (site.mail / "a.example" / "lost+found").mkdir()
    (site.mail / ".trash").mkdir()
    (site.mail / "a.example" / "otto").symlink_to(site.mail / "a.example" / "anna")
    assert said(host, run, "ok", "1 directory below")
    assert said(host, run, "warning", "1 link in place of users' directories: links are not followed")
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    assert said(host, run, "warning", "1 Maildir not owned by user 12345: not filtered")
    assert said(host, run, "fault", "belongs to user 12345")
    assert said(host, run, "fault", "but spamnb runs as user 12345")


def test_mail_that_is_away(site: Site, host: Host, run: Run) -> None:
    """If the disk of all mail is not mounted, that is a fault; the other checks are still made."""
    site.mail.rename(site.directory / "away")
    found = findings(host, run)
    assert any(state == "fault" and "cannot look for users in" in means for state, _, means in found)
    assert ("ok", "register", f"{host.directory}, 1 user") in found


def test_limits(site: Site, host: Host, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Doctor reports limits of watches, instances and open files that are too low; with `watch: inotify` as faults."""
    limits = tmp_path / "limits"
    limits.mkdir()
    monkeypatch.setattr(inotify, "_LIMITS", limits)
    for name, limit in (("max_user_watches", "5"), ("max_user_instances", "1000")):
        (limits / name).write_text(limit)
    assert said(host, run, "warning", "about 6 directories need as many watches, and ")
    (limits / "max_user_watches").write_text("6")
    assert said(host, run, "ok", "about 6 directories need as many of 6 inotify watches")
    (limits / "max_user_instances").write_text("0")
    assert said(host, run, "warning", "of 0 inotify instances in use; each service needs one")
    monkeypatch.setattr(host_checks.resource, "getrlimit", lambda _: (100, 600))
    assert said(host, run, "warning", "a service may need 640 open files for 64 users at once, and has 600")
    monkeypatch.setattr(host_checks, "network_file_system", lambda path: "nfs4")
    assert said(host, run, "warning", "is on nfs4, which does not report")
    host.path.write_text(f"{host.path.read_text()}service: {{watch: inotify}}\n")
    assert said(host, run, "fault", "is on nfs4, which does not report")
    assert said(host, run, "fault", "is on nfs4, where two processes can damage a ledger")
    host.path.write_text(host.path.read_text().replace("watch: inotify", "watch: polling"))
    assert said(host, run, "ok", "polling, every 10 s")


def test_watches_of_many_users(site: Site, host: Host, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor counts the folders of some of many users, and estimates the watches of all."""
    for number in range(20):
        site.maildir(f"b.example/user{number}/Maildir")
        site.maildir(f"b.example/user{number}/Maildir/.Junk")
    monkeypatch.setattr(host_checks, "_LOOKED_AT", 5)
    found = [means for _, what, means in findings(host, run) if what == "watching"]
    counted = int(found[0].split()[1])
    assert 21 * 3 < counted - 24 <= 21 * 6


def test_maildirs_that_the_layout_does_not_show(site: Site, host: Host, run: Run) -> None:
    """Doctor of a host names users who have a Maildir in their Maildir that its layout does not show."""
    assert not said(host, run, "warning", "does not show")
    site.maildir("a.example/anna/Maildir/.Junk")
    site.maildir("a.example/anna/Maildir/Junk")
    assert said(host, run, "warning", "1 user with a Maildir that the layout does not show: anna@a.example;")


def test_disks(host: Host, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor reports a full or nearly full disk, and ledgers that others may read."""
    for free, state, part in (
        (1000, "fault", "nothing more can be learned"),
        (2 * 10**7, "warning", "which is little"),
    ):
        usage = SimpleNamespace(free=free, total=10**9)
        monkeypatch.setattr(host_checks.shutil, "disk_usage", lambda _, usage=usage: usage)
        assert said(host, run, state, part)
    host.directory.chmod(0o755)
    assert said(host, run, "warning", "other users may look into")


def test_names_that_nobody_can_have(site: Site, host: Host, run: Run) -> None:
    """A directory that may be meant for a user is named, with the letter that no name has; a hidden one is counted."""
    site.maildir("a.example/a b/Maildir")
    site.maildir("a.example/.hidden/Maildir")
    site.maildir("a.example/o'neil/Maildir")
    found = findings(host, run)
    assert ("warning", "users", f"{site.mail}/a.example/a b is not filtered: ' ' is not allowed in a name") in found
    assert ("ok", "users", f"1 directory below {site.mail} with a dot before the name: these are ignored") in found
    assert not any("o'neil" in words for state, _, words in found if state == "warning")


def test_register(site: Site, host: Host, run: Run) -> None:
    """What the register says about users comes with the next step; users unknown to it are counted."""
    site.maildir("b.example/new/Maildir")
    put(host, BROKEN, STOPPED, AccountRow("finn@a.example", "/m/finn", FilterState.GONE, gone_at=1e9))
    put(host, AccountRow("gesa@a.example", "/m/gesa", FilterState.MOVING, fault="own settings: line 3"))
    put(host, AccountRow("hugo@a.example", "/m/hugo", FilterState.WAITING))
    put(host, AccountRow("ida@a.example", "/m/ida", FilterState.LEFT_OUT))
    found = findings(host, run)
    assert ("fault", "user bob@a.example", f"it has no inbox, since {clock(1e9)}") in found
    assert ("fault", "user eve@a.example", "moving has stopped: too much mail looked like spam") in found
    assert ("warning", "user gesa@a.example", "own settings: line 3") in found
    assert ("warning", "users", "nothing is known yet of 1 user") in found
    assert ("warning", "users", "the service has not looked at the mailbox of 1 user yet") in found
    assert ("warning", "users", "the mailbox of 1 user is gone, but the ledger stays") in found
    assert f"{call(host)} --user bob@a.example doctor" in run("--config", host.path, "doctor").out
    put(host, *(AccountRow(f"user{number}@a.example", "/m", FilterState.BROKEN, fault="x") for number in range(30)))
    found = findings(host, run)
    assert len([what for _, what, _ in found if what.startswith("user ")]) == 10
    assert ("warning", "users", "23 more users with a problem") in found


def test_damaged_register(host: Host, run: Run) -> None:
    """The users of a damaged register are unknown, and a missing register is reported."""
    path = path_of(host.directory, Share())
    path.write_bytes(b"no register")
    assert said(host, run, "warning", "nothing is known yet of 1 user")
    path.unlink()
    assert said(host, run, "warning", f"there is none yet in {host.directory}")


def test_spamd(site: Site, host: Host, run: Run) -> None:
    """If a service runs, doctor tries its socket."""
    socket = site.directory / "spamd.sock"
    host.path.write_text(f"{host.path.read_text()}spamd: {{listen: ['{socket}'], peers: [nobody-at-all]}}\n")
    assert said(host, run, "fault", "there is no user 'nobody-at-all'")
    assert not said(host, run, "fault", "nobody answers on")
    with claimed(host.directory, Share()):
        assert said(host, run, "fault", f"nobody answers on {socket}")
