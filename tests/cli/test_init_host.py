"""`init --host`: from Dovecot's configuration, or a path with fields, to that of a mail host."""

import contextlib
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import spamnb
from spamnb.base.label import Role
from spamnb.cli.common.as_owner import Owner, ask_as
from spamnb.cli.common.sample_mail import message
from spamnb.config import load_any
from spamnb.host.host import load_host
from spamnb.host.shares import Share, claimed
from spamnb.ledger.ledger import Ledger
from tests.cli.conftest import COMMAND, At, Run, checked, maildir
from tests.faults.conftest import filled, mounted
from tests.patience import PATIENCE, until

OWNER = os.geteuid() or 54_321  # of the mail; as root somebody in no list of users
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="root writes the files of the machine: run this as root")
NAMES = ("anna@a.example", "bob@a.example", "carl@b.example")
_TEXTS = Path(__file__).parents[1] / "setup" / "doveconf"


@dataclass(frozen=True)
class Vmail:
    """The mail of a host: a directory that all users can look into, mail below `vmail`, the configuration beside it."""

    directory: Path

    @property
    def config(self) -> Path:
        """The configuration."""
        return self.directory / "config.yaml"

    @property
    def path(self) -> str:
        """The path of all Maildirs, with fields."""
        return f"{self.directory}/vmail/{{domain}}/{{local}}/Maildir"

    def root(self, name: str) -> Path:
        """The Maildir of a user."""
        local, _, domain = name.partition("@")
        return self.directory / "vmail" / domain / local / "Maildir"

    def add(self, name: str, number: int = 2, owner: int = OWNER, **folders: list[bytes]) -> Path:
        """Add a user with as much mail in the inbox as in Junk; no two users share a message."""
        first = 100 * sum(name.encode())
        kinds = {"INBOX": "ham", "Junk": "spam"}
        given = {name: [message(kind, first + n) for n in range(number)] for name, kind in kinds.items()}
        root = maildir(self.root(name), **(given | folders))
        for made in [root.parent.parent.parent, root.parent.parent, root.parent, root, *root.rglob("*")]:
            os.chown(made, owner, owner if os.geteuid() == 0 else -1)
        return root

    def learned(self, name: str) -> tuple[int, int]:
        """How many messages a user's ledger has learned as ham and as spam."""
        host = load_host(self.config, {})
        with Ledger(str(host.ledgers.fill(name)), only_read=True) as ledger:
            ham, spam = ledger.lessons.totals().tolist()[:2]
        return ham, spam

    @contextlib.contextmanager
    def served(self, share: Share) -> Iterator[None]:
        """A service of the owner of the mail works for that share."""
        ledgers = self.directory / "ledgers"
        with claimed(ledgers, share):
            for made in (ledgers, *ledgers.iterdir()):
                os.chown(made, OWNER, -1)
            yield

    def dovecot(self, patch: pytest.MonkeyPatch, name: str = "2.3-static", **replaced: str) -> None:
        """Let doveconf print a text of its usual form, for this mail."""
        text = (_TEXTS / f"{name}.txt").read_text(encoding="utf-8").replace("/var/vmail", f"{self.directory}/vmail")
        text = text.replace("uid=vmail", f"uid={OWNER}").replace("id = vmail", f"id = {OWNER}")
        for before, after in replaced.items():
            text = text.replace(before, after)
        programs = self.directory / "programs"
        programs.mkdir(exist_ok=True)
        (programs / "said").write_text(text, encoding="utf-8")
        (programs / "doveconf").write_text(f'#!/bin/sh\n[ "$*" = -n ] && cat {programs}/said\n')
        (programs / "doveconf").chmod(0o755)
        patch.setenv("PATH", f"{programs}:/usr/bin:/bin")


@pytest.fixture
def vmail(open_place: Path) -> Vmail:
    """Three users in two domains."""
    made = Vmail(open_place)
    for name in NAMES:
        made.add(name)
    return made


@pytest.fixture
def machine(vmail: Vmail, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the machine are in a directory."""
    place = vmail.directory / "machine"
    for module in ("cli.common.init_host", "cli.common.config_and_ledger", "checkup.installation"):
        monkeypatch.setattr(f"spamnb.{module}.SYSTEM_CONFIG", place / "etc/spamnb/config.yaml")
    monkeypatch.setattr("spamnb.cli.common.init_host.LEDGERS_OF_HOST", place / "var/lib/spamnb-host")
    monkeypatch.setattr("spamnb.setup.host_unit.UNITS", place / "etc/systemd/system")
    monkeypatch.setattr("spamnb.checkup.installation._ROOT", place)
    (place / "run/systemd/system").mkdir(parents=True)
    return place


# --- proposed and proven ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "layout"), [("2.3-static", "maildir++"), ("2.4-static", "fs")], ids=lambda text: str(text)[:3]
)
def test_from_dovecot(vmail: Vmail, run: Run, monkeypatch: pytest.MonkeyPatch, text: str, layout: str) -> None:
    """Paths, layout and folders of the configuration come from Dovecot; the users come from the disk."""
    vmail.dovecot(monkeypatch, text)
    result = run("--config", vmail.config, "init", "--host")
    assert (result.code, result.err) == (0, "")
    assert f"The mail is in {vmail.path} ({layout}), and belongs to {OWNER}" in result.out or os.geteuid()
    assert "Found 3 users." in result.out
    assert ["INBOX", "inbox", "3"] in [line.split() for line in result.out.splitlines()]
    config = load_any(vmail.config, {})
    (mailbox,) = config.mailboxes
    assert (str(mailbox.path), mailbox.layout) == (vmail.path, layout)
    assert mailbox.role_of("Sent Messages") is Role.SENT
    assert mailbox.role_of("Trash") is Role.NEUTRAL
    assert str(config.ledger) == f"{vmail.directory}/ledgers/{{domain}}/{{local}}/ledger.sqlite"
    assert config.service.copies == 2
    assert "users:" not in vmail.config.read_text()
    assert f"Next: spamnb --config {vmail.config} run" in result.out
    assert f"spamnb --config {vmail.config} init --host --learn" in result.out


def test_the_fuller_spam_folder_is_the_first(vmail: Vmail, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spam is moved to the spam folder that most users have, whatever Dovecot calls it; the other one stays spam."""
    vmail.dovecot(monkeypatch)
    result = run("--config", vmail.config, "init", "--host")
    assert "Spam goes to Junk." in result.out
    roles = load_any(vmail.config, {}).mailboxes[0].roles
    assert (roles["Junk E-mail"], roles["Junk"]) == (Role.SPAM, Role.SPAM)


def test_from_a_path(vmail: Vmail, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that is typed needs no Dovecot; whose the mail is, and its layout, is seen on the disk."""
    monkeypatch.setenv("PATH", "/nonexistent")
    for name in NAMES:
        (vmail.root(name) / ".Junk").rename(vmail.root(name) / "Spam")
    result = run("--config", vmail.config, "init", "--host", vmail.path)
    assert (result.code, result.err) == (0, "")
    (mailbox,) = load_any(vmail.config, {}).mailboxes
    assert (mailbox.layout, mailbox.spam_folder) == ("fs", "Spam")


def test_folders_of_single_users_are_not_shown(vmail: Vmail, run: Run) -> None:
    """A folder that hardly anybody has is that user's own affair; one that many have is shown with its role."""
    for number in range(20):
        vmail.add(f"u{number}@c.example", 0, Lists=[], **({"Divorce": []} if number == 3 else {}))
    result = run("--config", vmail.config, "init", "--host", vmail.path)
    assert ["Lists", "ham", "20"] in [line.split() for line in result.out.splitlines()]
    assert "Divorce" not in result.out + vmail.config.read_text()


def test_what_is_passed_over_is_counted(vmail: Vmail, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """init counts strange names, links, mail of others and unreadable directories, but not as users."""
    above = vmail.root(NAMES[0]).parent.parent
    (above / "not a name").mkdir()
    (above / "link").symlink_to(vmail.root(NAMES[2]).parent)
    if os.geteuid() == 0:
        vmail.add("eve@a.example", owner=OWNER + 1)
    vmail.dovecot(monkeypatch, "2.3-home", **{"/srv/mail": f"{vmail.directory}/vmail", "= 5000": f"= {OWNER}"})
    result = run("--config", vmail.config, "init", "--host")
    assert result.code == 0
    assert f"left out: {above}/not a name, ' ' is not allowed\n" in result.err
    assert "left out: 1 link in the place of a directory\n" in result.err
    assert ("left out: 1 Maildir of system users other than" in result.err) == (os.geteuid() == 0)
    assert "keywords are in" in result.err, "what Dovecot does and we do not is said too"
    assert "Found 3 users." in result.out


def test_a_host_without_mail(open_place: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no user has mail yet, Dovecot's settings suffice; a path alone does not name the owner of the mail."""
    vmail = Vmail(open_place)
    (open_place / "vmail").mkdir()
    vmail.dovecot(monkeypatch)
    result = run("--config", vmail.config, "init", "--host")
    assert result.code == 0
    assert "nobody has a Maildir yet" in result.err
    assert load_any(vmail.config, {}).mailboxes[0].spam_folder == "Junk E-mail"
    vmail.config.unlink()
    result = run("--config", vmail.config, "init", "--host", vmail.path)
    if os.geteuid() == 0:  # whose the directory is says it
        assert (result.code, result.out) == (3, "")
        assert "deliver a first message" in result.err


@pytest.mark.parametrize("name", ["2.3-sdbox", "2.3-mbox", "2.4-sdbox", "2.3-system", "2.3-sqlhome"])
def test_what_is_no_maildir(vmail: Vmail, run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """If Dovecot's mail has a different format, or belongs to system users, init says so, and writes nothing."""
    vmail.dovecot(monkeypatch, name)
    result = run("--config", vmail.config, "init", "--host")
    assert (result.code, result.out, len(result.err.splitlines())) == (78, "", 1)
    assert not vmail.config.exists()


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        ("vmail/{user}", 64, "is not a full path"),
        ("/var/vmail/%d/{local}", 64, "write {domain} for %d"),
        ("/var/vmail/{name}", 64, "is not a field"),
        ("/var/vmail/anna/Maildir", 64, "leave --host out"),
        ("/nowhere/{user}/Maildir", 3, "cannot look for users in /nowhere"),
    ],
)
def test_paths_that_are_none(vmail: Vmail, run: Run, typed: str, code: int, said: str) -> None:
    """A path that is not one of all users is refused in a line that says what to write."""
    result = run("--config", vmail.config, "init", "--host", typed)
    assert (result.code, result.out, len(result.err.splitlines())) == (code, "", 1)
    assert said in result.err
    assert not vmail.config.exists()


def test_wrong_calls(vmail: Vmail, run: Run) -> None:
    """Two paths, or the path of one user, are a wrong call."""
    assert run("--config", vmail.config, "init", "--host", vmail.path, vmail.path).code == 64
    assert run("--config", vmail.config, "--user", NAMES[0], "init", "--host").code == 64
    assert not vmail.config.exists()


@AS_ROOT
def test_whose_mail_it_is(vmail: Vmail, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mail of several system users, of root, or of an owner unknown to the system or to Dovecot is refused."""
    for name, owner in zip(NAMES, (OWNER, OWNER + 1, OWNER + 2), strict=True):
        os.chown(vmail.root(name), owner, owner)
    result = run("--config", vmail.config, "init", "--host", vmail.path)
    assert (result.code, "belong to 3 system users" in result.err) == (3, True)
    for name in NAMES:
        os.chown(vmail.root(name), 0, 0)
    result = run("--config", vmail.config, "init", "--host", vmail.path)
    assert (result.code, "belongs to root" in result.err) == (3, True)
    vmail.dovecot(monkeypatch)
    result = run("--config", vmail.config, "init", "--host")
    assert (result.code, f"belongs to {OWNER}, and " in result.err) == (3, True)
    vmail.dovecot(monkeypatch, **{f"= {OWNER}": "= no-such-user"})
    result = run("--config", vmail.config, "init", "--host")
    assert (result.code, "this system has no such user" in result.err) == (78, True)
    assert not vmail.config.exists()


# --- written ----------------------------------------------------------------------------------------------------


def test_never_over_an_existing_one(vmail: Vmail, run: Run) -> None:
    """An existing configuration stays; --force keeps it beside the new one; a service that runs is not surprised."""
    command = ("--config", vmail.config, "init", "--host", vmail.path)
    assert run(*command).code == 0
    vmail.config.write_text(vmail.config.read_text() + "# mine\n")
    result = run(*command)
    assert (result.code, result.out) == (78, "")
    assert "--learn, or replace it with --force" in result.err
    with vmail.served(Share(2, 4)):
        result = run(*command, "--force")
    assert (result.code, "spamnb-host@2-of-4 is running" in result.err) == (3, True)
    assert "# mine" in vmail.config.read_text()
    assert f"the old one is kept as {vmail.config}.old" in run(*command, "--force").out
    assert "# mine" in vmail.config.with_name("config.yaml.old").read_text()


def test_the_configuration_of_one_person(vmail: Vmail, run: Run) -> None:
    """init --host neither learns by one person's configuration nor replaces it, nor one of other paths."""
    vmail.config.write_text(f"mailboxes: [{{path: {vmail.root(NAMES[0])}, roles: {{INBOX: inbox, Junk: spam}}}}]\n")
    result = run("--config", vmail.config, "init", "--host", "--learn")
    assert (result.code, "is the configuration of one person" in result.err) == (78, True)
    assert run("--config", vmail.config, "init", "--host", vmail.path, "--force").code == 0
    result = run("--config", vmail.config, "init", "--host", "/srv/{user}", "--learn")
    assert (result.code, f"names {vmail.path} instead" in result.err) == (78, True)
    assert run("--config", vmail.config, "init", "--host", f"{vmail.path}/", "--learn").code == 0


@AS_ROOT
def test_the_files_of_the_machine(vmail: Vmail, machine: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root writes what all users may read, whatever the umask; the ledgers' directory is the service's user's alone."""
    vmail.dovecot(monkeypatch)
    before = os.umask(0o077)
    try:
        result = run("init", "--host")
    finally:
        os.umask(before)
    assert (result.code, result.err) == (0, "")
    config, state = machine / "etc/spamnb/config.yaml", machine / "var/lib/spamnb-host"
    service, pages, socket, socket_of_pages = (
        machine / f"etc/systemd/system/spamnb-{unit}.d/10-mail.conf"
        for unit in ("host@.service", "web-host.service", "host.socket", "web-host.socket")
    )
    for path in (config, service, pages, socket, socket_of_pages):
        assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_uid) == (0o644, 0)
        assert f"Wrote {path}.\n" in result.out
    assert stat.S_IMODE(config.parent.stat().st_mode) == 0o755
    assert (stat.S_IMODE(state.stat().st_mode), state.stat().st_uid) == (0o700, OWNER)
    assert f"User={OWNER}\nGroup={OWNER}\nReadWritePaths={vmail.directory}/vmail\n" in service.read_text()
    assert pages.read_text() == service.read_text()
    assert f"SocketUser={OWNER}\n" in socket.read_text()
    assert socket_of_pages.read_text() == socket.read_text()
    assert load_any(config, {}).ledger == state / "{domain}/{local}/ledger.sqlite"
    assert "spamnb install-unit --system, then systemctl enable --now spamnb-host@1-of-1" in result.out
    (machine / "etc/systemd/system/spamnb-host@.service").write_text("")
    assert "Next: systemctl enable --now spamnb-host@1-of-1" in run("init", "--host", "--force").out


@AS_ROOT
def test_a_directory_of_others(vmail: Vmail, machine: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory for the ledgers that is another's, or has something of root's in it, is not given away."""
    state = machine / "var/lib/spamnb-host"
    state.mkdir(parents=True)
    vmail.dovecot(monkeypatch)
    assert run("init", "--host").code == 0
    assert state.stat().st_uid == OWNER, "an empty one of root's is"
    for owner, whose in ((0, "root"), (OWNER + 1, str(OWNER + 1))):
        (state / "of-others").mkdir(exist_ok=True)
        os.chown(state, owner, owner)
        result = run("init", "--host", "--force")
        assert (result.code, f"belongs to {whose}, and the mail to {OWNER}" in result.err) == (3, True)
        assert state.stat().st_uid == owner


def test_who_is_not_root(vmail: Vmail, machine: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who is not root sees the files to write, and is told to be root or to name a different file."""
    monkeypatch.setattr("spamnb.cli.common.init_host.os.geteuid", lambda: OWNER)
    vmail.dovecot(monkeypatch)
    result = run("init", "--host")
    assert result.code == 78
    assert "Found 3 users." in result.out
    assert "run it as root, or name another file with --config FILE" in result.err
    assert os.listdir(machine) == ["run"], "nothing was written"


@AS_ROOT
def test_a_person_on_the_same_machine(
    vmail: Vmail, machine: Path, home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person with mail at home gets a configuration of their own, beside that of the mail host."""
    config = machine / "etc/spamnb/config.yaml"
    config.parent.mkdir(parents=True)
    assert run("--config", config, "init", "--host", vmail.path).code == 0
    for module in ("cli.init", "config.default_paths", "config.loading"):
        monkeypatch.setattr(f"spamnb.{module}.SYSTEM_CONFIG", config)
    monkeypatch.setattr("os.geteuid", lambda: 12_345)
    maildir(home / "Maildir", Junk=[])
    before = run("history")
    assert (before.code, before.out) == (64, "")
    assert before.err.endswith(
        "name one of its users: spamnb --user NAME COMMAND; or set up your own mail: spamnb init\n"
    )
    monkeypatch.setenv("PATH", "/nonexistent")
    account = run("init", "--imap", "you@imap.example")
    assert (account.code, account.err.startswith("spamnb: mbsync, which fetches the mail, is not")) == (3, True)
    result = run("init")
    assert result.code == 0
    own = home / ".config/spamnb/config.yaml"
    assert f"Wrote {own}." in result.out
    assert load_any(own, {"HOME": str(home)}).mailboxes[0].path == home / "Maildir"
    assert run("history").code == 0
    assert run("init").code == 78, "from then on it is that one"


# --- the mail server --------------------------------------------------------------------------------------------

OTHERS = tuple(f"u{number}@c.example" for number in range(9))


def _with_server(vmail: Vmail) -> None:
    for name in OTHERS:
        vmail.add(name, INBOX=checked())


def _written(vmail: Vmail, run: Run) -> str:
    """The server in the configuration that init writes, as a comment."""
    result = run("--config", vmail.config, "init", "--host", vmail.path)
    assert (result.code, result.err) == (0, "")
    assert load_any(vmail.config, {}).authserv_id is None
    found = [line for line in vmail.config.read_text().splitlines() if "authserv_id" in line]
    assert ("before `authserv_id` there" in result.out) == bool(found)
    return "".join(found)


def test_the_server_that_all_users_have(vmail: Vmail, run: Run) -> None:
    """init proposes the server of nearly all users' newest mail in a comment, and says when it may count."""
    _with_server(vmail)
    vmail.add("eve@c.example", INBOX=checked("evil.example", 40))
    assert _written(vmail, run) == "#authserv_id: example.org"
    text = vmail.config.read_text()
    assert run("--config", vmail.config, "config", "--check").code == 0
    vmail.config.write_text(text.replace("#authserv_id", "authserv_id"))
    assert load_any(vmail.config, {}).authserv_id == "example.org"


def test_one_user_does_not_choose_the_server(vmail: Vmail, run: Run) -> None:
    """The mail of one user alone proposes nothing, however much it is."""
    vmail.add("eve@c.example", INBOX=checked("evil.example", 90))
    assert _written(vmail, run) == ""


def test_new_mail_has_another_server(vmail: Vmail, run: Run) -> None:
    """Only the newest mail of each inbox counts, and no other folder."""
    for name in OTHERS:
        vmail.add(name, INBOX=[*checked("old.example", 30), *checked(number=30)], Archive=checked("evil.example", 40))
    assert _written(vmail, run) == "#authserv_id: example.org"


def test_hostile_mail_does_not_stop_the_proposal(vmail: Vmail, run: Run) -> None:
    """Links, pipes and directories in the place of mail are not opened, and a user with an odd Maildir has no vote."""
    _with_server(vmail)
    outside = vmail.directory / "outside"
    outside.write_bytes(checked("evil.example")[0])
    new = vmail.root(OTHERS[0]) / "new"
    for number in range(20):
        (new / f"18000000{number:02}.M1P1.host").symlink_to(outside)
    os.mkfifo(new / "1800000090.M1P1.host")
    (new / "1800000091.M1P1.host").mkdir()
    (vmail.root(OTHERS[1]) / "new").rename(vmail.root(OTHERS[1]) / "away")
    (vmail.root(OTHERS[1]) / "new").symlink_to(new)
    assert _written(vmail, run) == "#authserv_id: example.org"


@AS_ROOT
def test_root_reads_mail_as_its_owner(vmail: Vmail, run: Run) -> None:
    """Root reads the mail with the rights of its owner: what the owner may not read has no vote."""
    _with_server(vmail)
    for name in OTHERS:
        for file in (vmail.root(name) / "cur").iterdir():
            os.chown(file, 0, 0)
            file.chmod(0o600)
    assert _written(vmail, run) == ""


@AS_ROOT
def test_ledgers_that_others_may_not_see(vmail: Vmail, run: Run) -> None:
    """Everybody may read the configuration of a mail host, though nobody else may look at its ledgers."""
    assert run("--config", vmail.config, "init", "--host", vmail.path).code == 0
    assert stat.S_IMODE((vmail.directory / "ledgers").stat().st_mode) == 0o700
    assert ask_as(Owner.of(OWNER + 1), lambda: load_any(vmail.config, {}).mailboxes[0].spam_folder) == "Junk"


# --- learned ----------------------------------------------------------------------------------------------------


def test_all_users_are_learned_once(vmail: Vmail, run: Run) -> None:
    """--learn learns each user's folders into that user's ledger; a second call skips known messages."""
    command = ("--config", vmail.config, "init", "--host", vmail.path, "--learn")
    assert run(*command[:-1]).code == 0
    requests = load_host(vmail.config, {}).requests  # a service has made it
    requests.mkdir(mode=0o700)
    os.chown(requests, os.stat(requests.parent).st_uid, -1)
    result = run(*command)
    assert (result.code, result.err) == (0, "")
    assert "learned 6 messages as ham and 6 as spam, of 3 users\n" in result.out
    assert sorted(os.listdir(requests)) == [f"{name}." for name in sorted(NAMES)], "the service looks at them again"
    assert [vmail.learned(name) for name in NAMES] == [(2, 2)] * 3
    for file in vmail.root(NAMES[0]).rglob("17*"):
        file.write_bytes(b"")  # who was done before is not even read
    result = run(*command)
    assert (result.code, result.err) == (0, "")
    assert "learned 0 messages as ham and 0 as spam, of 3 users, 12 known already\n" in result.out
    assert run("-q", *command).out == ""


def test_spam_among_the_ham_of_users(vmail: Vmail, run: Run) -> None:
    """--learn says of all users how much of their ham looks like spam and what it teaches; it asks nobody."""
    ham, spam = ([message(kind, n) for n in range(40)] for kind in ("ham", "spam"))
    for name, number in (("dora@a.example", 10), ("emil@a.example", 1)):
        vmail.add(name, INBOX=[*ham, *spam[30 : 30 + number]], Junk=spam[:30])
    command = ("--config", vmail.config, "init", "--host", vmail.path, "--learn")
    result = run(*command)
    assert (result.code, result.err) == (0, "")
    what = "11 messages outside of Junk look like spam: 11 count as weakly spam"
    assert f"learned 97 messages as ham and 66 as spam, of 5 users\n{what}\n" in result.out
    assert [vmail.learned(name) for name in ("dora@a.example", "emil@a.example")] == [(40, 40), (40, 31)]
    assert "look like spam" not in run(*command).out


def test_new_mail_of_users_is_left_out(vmail: Vmail, run: Run) -> None:
    """--learn leaves out and counts mail that came to a watched mailbox and that nobody decided on."""
    command = ("--config", vmail.config, "init", "--host", vmail.path, "--learn")
    assert run(*command).code == 0
    (vmail.root(NAMES[0]) / "new/1800000000.M1P1.host").write_bytes(message("spam", 800))
    result = run(*command)
    assert (result.code, result.err) == (0, "")
    assert "12 known already\nleft out 1 message that the filter judges and nobody has decided on\n" in result.out
    assert vmail.learned(NAMES[0]) == (2, 2)


def test_mail_of_before_is_never_moved(vmail: Vmail, run: Run) -> None:
    """Mail from before --learn stays in its place when a service begins."""
    before = sorted(vmail.directory.rglob("17*"))
    assert run("--config", vmail.config, "init", "--host", vmail.path, "--learn").code == 0
    assert run("--config", vmail.config, "run", "--once").code == 0
    assert sorted(vmail.directory.rglob("17*")) == before


def test_one_users_fault_is_told_and_the_others_are_learned(
    vmail: Vmail, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No inbox, a locked ledger, a faulty own file, a file in the way: each is a line, and the code says it."""
    assert run("--config", vmail.config, "init", "--host", vmail.path).code == 0
    own = vmail.directory / "own"
    vmail.config.write_text(vmail.config.read_text() + f"users:\n  own: {own}/{{user}}.yaml\n")
    shutil.rmtree(vmail.add("none@b.example") / ".Junk")
    (vmail.root("none@b.example") / "new").rename(vmail.root("none@b.example") / ".Old")
    vmail.add("locked@b.example")
    vmail.add("own@b.example")
    own.mkdir()
    (own / "own@b.example.yaml").write_text("mailboxes: [{roles: {INBOX: spam}}]\n")
    vmail.add("way@c.example")
    (vmail.directory / "ledgers").mkdir(exist_ok=True)
    (vmail.directory / "ledgers/c.example").write_text("")
    ledger = load_host(vmail.config, {}).ledgers.fill("locked@b.example")
    monkeypatch.setitem(Ledger.__init__.__kwdefaults__, "busy_seconds", 0.1)
    with Ledger(str(ledger)) as held, held.transaction():
        result = run("--config", vmail.config, "init", "--host", "--learn")
    assert result.code == 3
    told = result.err.splitlines()
    assert [line.split()[1] for line in told if line.startswith("spamnb: ") and "@" in line.split()[1]] == [
        "locked@b.example:",
        "own@b.example:",
        "way@c.example:",
    ], result.err
    assert "the mail of 3 users could not be learned" in told[-1]
    assert [vmail.learned(name) for name in NAMES] == [(2, 2)] * 3


def test_a_full_disk(vmail: Vmail, run: Run, open_place: Path) -> None:
    """If some ledgers do not fit on the disk, each is reported, and the other users are learned."""
    with mounted(open_place / "ledgers/a.example") as disk, filled(disk):
        os.chown(open_place / "ledgers", OWNER, OWNER)
        result = run("--config", vmail.config, "init", "--host", vmail.path, "--learn")
        assert result.code == 3
        assert [line.split()[1] for line in result.err.splitlines()[:2]] == ["anna@a.example:", "bob@a.example:"]
        assert "the mail of 2 users could not be learned" in result.err
        assert vmail.learned("carl@b.example") == (2, 2)


@pytest.fixture
def readable() -> None:
    """Skip if other users cannot read the program."""
    for above in Path(str(spamnb.__file__)).parents:
        if not above.stat().st_mode & 0o001:
            pytest.skip(f"other users cannot read the program: {above} is shut")


@pytest.mark.thorough
@pytest.mark.usefixtures("program_for_all")
@pytest.mark.usefixtures("readable")
@pytest.mark.parametrize("option", ["--host", "--user"])
def test_beside_a_service(vmail: Vmail, process: Run, option: str) -> None:
    """While a service runs mail is learned too, and recording it is left to the service."""
    assert process("--config", vmail.config, "init", "--host", vmail.path).code == 0
    host = load_host(vmail.config, {})
    which = ("init", "--host") if option == "--host" else ("--user", NAMES[0], "init")
    with vmail.served(Share()):
        result = process("--config", vmail.config, *which, "--learn")
    assert (result.code, result.err) == (0, "")
    assert vmail.learned(NAMES[0]) == (2, 2)
    with Ledger(str(host.ledgers.fill(NAMES[0])), only_read=True) as ledger:
        assert ledger.locations.started_at(str(vmail.root(NAMES[0]))) is None


@pytest.mark.usefixtures("program_for_all")
@pytest.mark.usefixtures("readable")
def test_one_user(vmail: Vmail, process: Run) -> None:
    """`--user NAME init --learn` learns for one user as for one person, and records the mail."""
    assert process("--config", vmail.config, "init", "--host", vmail.path).code == 0
    result = process("--config", vmail.config, "--user", NAMES[1], "init", "--learn")
    assert (result.code, result.err) == (0, "")
    assert "learned 2 messages as spam" in result.out
    host = load_host(vmail.config, {})
    assert not host.ledgers.fill(NAMES[0]).exists()
    with Ledger(str(host.ledgers.fill(NAMES[1])), only_read=True) as ledger:
        assert ledger.locations.started_at(str(vmail.root(NAMES[1]))) is not None


@pytest.mark.thorough
@pytest.mark.usefixtures("program_for_all")
@pytest.mark.usefixtures("readable")
def test_an_interrupted_run_goes_on(vmail: Vmail, process: Run) -> None:
    """Ctrl-C ends it with all lessons so far; the same command goes on from there, and learns all once."""
    names = [f"u{number}@d.example" for number in range(15)]
    for name in names:
        vmail.add(name, 5)
    command = ("--config", vmail.config, "init", "--host", vmail.path, "--learn")
    with subprocess.Popen([*COMMAND, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        until(lambda: child.poll() is not None or list(vmail.directory.glob("ledgers/d.example/*")), "some users done")
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=PATIENCE)[1].decode()
    assert (child.returncode, said) == (130, "spamnb: interrupted: what was done so far is kept\n")
    done = len(list(vmail.directory.glob("ledgers/d.example/*")))
    assert 0 < done < len(names)
    result = process(*command)
    assert (result.code, result.err) == (0, "")
    assert [vmail.learned(name) for name in names] == [(5, 5)] * len(names)
    assert " known already" in result.out


@pytest.mark.usefixtures("program_for_all")
@AS_ROOT
@pytest.mark.usefixtures("readable")
def test_root_learns_as_the_owner_of_the_mail(vmail: Vmail, process: Run) -> None:
    """No file below the ledgers belongs to root; -v names the user that root acts as."""
    command = ("-v", "--config", vmail.config, "init", "--host", vmail.path, "--learn")
    for _ in ("at first", "again"):
        result = process(*command)
        assert result.code == 0, result.err
        assert f"going on as {OWNER}" in result.err
        assert f"anna@a.example: {2 if 'Found' in result.out else 0} ham" in result.err
        made = [vmail.directory / "ledgers", *(vmail.directory / "ledgers").rglob("*")]
        assert {path.lstat().st_uid for path in made} == {OWNER}
    assert vmail.config.stat().st_uid == 0


@pytest.mark.usefixtures("program_for_all")
@AS_ROOT
@pytest.mark.usefixtures("readable")
def test_a_configuration_that_is_anothers(vmail: Vmail, process: Run) -> None:
    """If another user may write the configuration, root acts as that user from the beginning."""
    os.chown(vmail.directory, OWNER + 1, OWNER + 1)
    result = process("--config", vmail.config, "init", "--host", vmail.path, "--learn")
    assert (result.code, f"belongs to {OWNER}, and you are {OWNER + 1}" in result.err) == (3, True)
    assert not vmail.config.exists()


@pytest.mark.usefixtures("program_for_all")
@pytest.mark.usefixtures("readable")
def test_the_users_are_the_progress(vmail: Vmail, at_terminal: At) -> None:
    """At a terminal a bar shows how many users are done."""
    code, shown, _ = at_terminal("--config", vmail.config, "init", "--host", vmail.path, "--learn")
    assert code == 0, shown
    assert "learning" in shown
    assert "/3" in shown
