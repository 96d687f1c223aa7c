"""Root's commands go on as the owner of the ledger, and a hostile owner makes root do nothing as root."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from pwd import struct_passwd

import pytest

from spamnb.cli.common.as_owner import Owner, owner_of, owner_of_ledger
from spamnb.cli.common.sample_mail import message
from spamnb.cli.common.service_owner import owner_for_service
from tests.cli.conftest import COMMAND, Run, mail, maildir, mbox, waits_for_input
from tests.patience import PATIENCE, until
from tests.table import over_rows

ANNA, BOB = 54_321, 54_322  # in no list of users

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root goes on as somebody else: run this as root")


def give(path: Path, uid: int) -> Path:
    """Make everything below a path a user's."""
    for found in [path, *path.rglob("*")]:
        os.chown(found, uid, uid, follow_symlinks=False)
    return path


def foreign(path: Path, uid: int) -> list[Path]:
    """Return the files below a path that do not belong to that user."""
    return [found for found in path.rglob("*") if found.lstat().st_uid != uid]


@pytest.fixture
def place(open_place: Path, program_for_all: None) -> Path:
    """A directory of root's that all users can read, as they can read the program."""
    return open_place


@pytest.fixture
def anna(place: Path) -> Path:
    """Anna's home with a Maildir, a configuration, and no ledger yet."""
    return home_of_anna(place)


def home_of_anna(place: Path) -> Path:
    """Make Anna's home in a directory."""
    home = place / "anna"
    maildir(home / "Maildir", INBOX=[message("ham", n) for n in range(3)], Junk=[message("spam", n) for n in range(3)])
    mailbox = f"path: {home}/Maildir\n    roles: {{INBOX: inbox, Junk: spam}}"
    (home / "config.yaml").write_text(f"mailboxes:\n  - {mailbox}\nledger: {home}/state/l.sqlite\n")
    return give(home, ANNA)


@pytest.fixture
def by_root(place: Path, anna: Path) -> Path:
    """A configuration of root's for Anna's mail."""
    return shutil.copy(anna / "config.yaml", place / "by-root.yaml")


@pytest.mark.thorough
def test_what_is_made_belongs_to_the_owner(process: Run, anna: Path) -> None:
    """Root's commands make no file of root's beside the ledger, nor do they read it as root."""
    config = anna / "config.yaml"
    lessons = give(mail(anna / "lessons", "spam", 5), ANNA)
    for arguments in (
        ["init", "--learn"],
        ["train", "--spam", lessons],
        ["train", "--ham", anna / "Maildir/cur"],
        ["pause", "1h"],
        ["resume", "--move"],
        ["status", "--json"],
        ["score", lessons],
        ["review"],
        ["undo", "1"],
        ["backup", anna / "copy.sqlite"],
        ["restore", anna / "copy.sqlite"],
        ["doctor"],
        ["verify"],
    ):
        said = process("--config", config, *arguments)
        assert said.code in (0, 1), (arguments, said)
        assert not foreign(anna, ANNA), arguments
    assert process("-v", "--config", config, "verify").err == f"spamnb: going on as {ANNA}, the owner of the ledger\n"
    assert (anna / "state/l.sqlite").stat().st_mode & 0o777 == 0o600


def test_a_configuration_of_root(process: Run, anna: Path, by_root: Path) -> None:
    """If root wrote the configuration, the Maildir's owner makes the ledger, and root then acts as its owner."""
    assert process("--config", by_root, "train", "--spam", anna / "Maildir/.Junk").code == 0
    assert not foreign(anna, ANNA)
    shutil.rmtree(anna / "Maildir")
    assert "3 spam" in process("--config", by_root, "status").out
    assert not foreign(anna, ANNA)


def test_all_of_root_is_gone(place: Path, anna: Path) -> None:
    """The process has the owner's number alone, no group and no capability of root's, and makes files for the owner."""
    command = [*COMMAND, "--config", str(anna / "config.yaml"), "train", "--spam", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        until(lambda: child.poll() is not None or waits_for_input(child.pid), "it reads its input")
        lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
        found = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
        assert child.communicate(message("spam", 1).decode("latin-1"), PATIENCE)[0] == "learned 1 message as spam\n"
    assert found["Uid"] == [str(ANNA)] * 4
    assert found["Gid"] == ["65534"] * 4
    assert found["Groups"] == []
    assert {found[name][0] for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {"0" * 16}
    assert found["Umask"] == ["0077"]


def test_the_rights_of_a_login() -> None:
    """A user of the machine has the groups of a login; one without an entry has none, whatever a directory's is."""
    assert Owner.of(0).gid == 0
    assert Owner.of(0).home == "/root"
    assert Owner.of(ANNA) == Owner(ANNA, 65534, frozenset(), str(ANNA), "/")


def test_what_root_alone_can_read(process: Run, place: Path, anna: Path) -> None:
    """A file that is named is opened as the owner, and a sentence says so; standard input is open already."""
    secret = place / "secret.mbox"
    secret.write_bytes(mbox("spam", range(2)))
    secret.chmod(0o600)
    config = anna / "config.yaml"
    for command in (["train", "--spam"], ["score"], ["explain"], ["untrain"], ["restore"], ["import"]):
        said = process("--config", config, *command, secret)
        assert said.code == 64
        assert f"goes on as {ANNA}, the owner of the ledger, who may not read {secret}: copy it" in said.err
    assert process("--config", config, "train", "--spam", "-", stdin=secret.read_bytes()).code == 0
    for command in ("backup", "export"):
        said = process("--config", config, command, place / "copy")
        assert said.code == 64
        assert f"may not write in {place}: name a file" in said.err
        assert not (place / "copy").exists()
    assert process("--config", config, "export", "-").out.count("\n") > 20


def test_a_pipe_of_root(process: Run, anna: Path) -> None:
    """`filter` run by root passes the message on; without a verdict if the owner of the ledger is unknown."""
    assert process("--config", anna / "config.yaml", "train", "--spam", anna / "Maildir/.Junk").code == 0
    raw = message("spam", 9)
    assert "X-Spamnb: unsure" in process("--config", anna / "config.yaml", "filter", stdin=raw).out
    assert not foreign(anna, ANNA)
    os.chown(anna / "config.yaml", BOB, BOB)
    said = process("--config", anna / "config.yaml", "filter", stdin=raw)
    assert said.code == 0
    assert "X-Spamnb: unknown" in said.out


@pytest.mark.parametrize(
    "command", [["status"], ["train", "--spam", "-"], ["doctor"], ["undo", "1"], ["init", "--learn"]]
)
def test_a_link_to_another(process: Run, place: Path, anna: Path, by_root: Path, command: list[str]) -> None:
    """A link in a user's directory does not make root go on as the user whom it leads to."""
    bob = place / "bob"
    (bob / "state").mkdir(parents=True)
    give(bob, BOB)
    (anna / "state").symlink_to(bob / "state")
    os.lchown(anna / "state", ANNA, ANNA)
    said = process("--config", by_root, *command, stdin=message("spam", 1))
    assert said.code == 3
    assert f"belong to {ANNA} and to {BOB}: root does not choose" in said.err
    assert not list((bob / "state").iterdir())


def test_a_link_to_root(process: Run, place: Path, anna: Path, by_root: Path) -> None:
    """A link in a user's directory to one of root's is followed with the rights of that user."""
    mine = place / "mine"
    mine.mkdir(0o700)
    (anna / "state").symlink_to(mine)
    os.lchown(anna / "state", ANNA, ANNA)
    for config in (by_root, anna / "config.yaml"):
        said = process("--config", config, "train", "--spam", "-", stdin=message("spam", 1))
        assert said.code == 3, said
        assert not list(mine.iterdir())


def test_a_directory_of_root_at_a_user(process: Run, anna: Path, by_root: Path) -> None:
    """A directory of root among a user's files is no reason to stay root: root acts as the user."""
    (anna / "state").mkdir(0o700)
    said = process("--config", by_root, "train", "--spam", "-", stdin=message("spam", 1))
    assert said.code == 3
    assert str(anna / "state") in said.err
    assert not list((anna / "state").iterdir())


def test_a_configuration_that_leads_to_another(process: Run, place: Path, anna: Path, by_root: Path) -> None:
    """A user's configuration that is a link is refused if it leads to another user's file, or names one."""
    bob = place / "bob"
    (bob / "state").mkdir(parents=True)
    (bob / "config.yaml").write_text(by_root.read_text().replace(str(anna), str(bob)))
    give(bob, BOB)
    (anna / "config.yaml").unlink()
    (anna / "config.yaml").symlink_to(bob / "config.yaml")
    os.lchown(anna / "config.yaml", ANNA, ANNA)
    assert process("--config", anna / "config.yaml", "status").code == 3
    (anna / "config.yaml").unlink()
    (place / "of-bob.yaml").write_text((bob / "config.yaml").read_text())
    (anna / "config.yaml").symlink_to(place / "of-bob.yaml")
    os.lchown(anna / "config.yaml", ANNA, ANNA)
    said = process("--config", anna / "config.yaml", "train", "--spam", "-", stdin=message("spam", 1))
    assert said.code == 3
    assert not list((bob / "state").iterdir())


@pytest.mark.parametrize(("mode", "where"), [(0o777, "state"), (0o770, "state"), (0o777, "")])
def test_a_directory_of_everybody(process: Run, anna: Path, by_root: Path, mode: int, where: str) -> None:
    """Root goes on as nobody if others could replace the ledger's directory."""
    (anna / "state").mkdir()
    give(anna, ANNA)
    (anna / where).chmod(mode)
    said = process("--config", by_root, "status")
    assert said.code == 3
    assert str(anna / where) in said.err
    assert "may write in" in said.err
    assert "chmod" in said.err


def test_nothing_but_root(place: Path) -> None:
    """Root stays root if root owns everything, links included; missing parts are not a fault."""
    (place / "there").mkdir()
    (place / "link").symlink_to("there")
    assert owner_of(place / "link") is None
    assert owner_of_ledger(place / "none.yaml", place / "link" / "state", place / "no" / "Maildir") is None
    assert owner_of(place / "loop") is None
    (place / "loop").symlink_to("loop")
    assert owner_of(place / "loop") is None


def test_a_link_is_opened_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If something replaces a directory after it was opened, the owner of the opened directory counts."""
    (place / "state").mkdir()
    os.chown(place / "state", ANNA, ANNA)
    opened = os.open

    def swap(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        found = opened(path, flags, dir_fd=dir_fd)
        if path == "state":
            (place / "state").rename(place / "was")
            (place / "state").symlink_to("/root")
        return found

    monkeypatch.setattr(os, "open", swap)
    owner = owner_of(place / "state")
    assert owner is not None
    assert owner.uid == ANNA


@pytest.mark.parametrize("config", ["anna/config.yaml", "by-root.yaml"])
def test_the_service_of_root(process: Run, place: Path, by_root: Path, anna: Path, config: str) -> None:
    """`run` goes on as the owner too, since root's copies and notes of faults would stop the owner's own service."""
    for _ in range(2):  # before there is a ledger, and with one
        said = process("-v", "--config", place / config, "run", "--once")
        assert said.code == 0, said
        assert f"going on as {ANNA}, the owner of the ledger" in said.err
        assert (anna / "state/l.sqlite").exists()
        assert not foreign(anna, ANNA)


def test_the_service_of_a_host_by_root(process: Run, vmail: Path) -> None:
    """The service of a mail host goes on as the owner of the mail, if the ledgers are the same user's."""
    said = process(*of_host(vmail, "-v", "run", "--once"))
    assert said.code == 0, said
    assert f"going on as {ANNA}, the owner of the ledger" in said.err
    assert (vmail / "state/example.org/anna/l.sqlite").exists()
    assert not foreign(vmail / "state", ANNA)
    assert not foreign(vmail / "vmail", ANNA)


def with_line(line: str) -> Callable[[Path], object]:
    """Add a line to Anna's configuration, with her home in the place of {0}, and the directory of that for {1}."""

    def change(anna: Path) -> None:
        with (anna / "config.yaml").open("a") as config:
            config.write(f"{line.format(anna, anna.parent)}\n")

    return change


def ledger_elsewhere(anna: Path) -> None:
    """Let the ledger be in a directory of root."""
    config = anna / "config.yaml"
    config.write_text(config.read_text().replace(f"{anna}/state", f"{anna.parent}/state"))


def ledger_of_root(anna: Path) -> None:
    """Let root have made the ledger."""
    (anna / "state").mkdir()
    give(anna / "state", ANNA)
    (anna / "state/l.sqlite").touch()


def ledger_at_bob(anna: Path) -> None:
    """Let the ledger's directory be a link to another user's."""
    (anna / "state").symlink_to(give(made(anna.parent / "bob"), BOB))


def mail_of_bob(anna: Path) -> None:
    """Let a second mailbox belong to another user."""
    other = give(Path(shutil.copytree(anna / "Maildir", anna / "Other")), BOB)
    mailbox = f"mailboxes:\n  - path: {other}\n    roles: {{INBOX: inbox, Junk: spam}}"
    config = anna / "config.yaml"
    config.write_text(config.read_text().replace("mailboxes:", mailbox))


def made(directory: Path) -> Path:
    """Make a directory."""
    directory.mkdir()
    return directory


@over_rows(
    ("change", "lacking"),
    [
        (ledger_elsewhere, None),
        (ledger_of_root, None),
        (ledger_at_bob, None),
        (mail_of_bob, None),
        (with_line("unknown: 1"), None),
        (lambda anna: give(anna, 0), None),
        (lambda anna: (anna / "config.yaml").chmod(0o000), "{0}/config.yaml"),
        (lambda anna: anna.parent.chmod(0o700), "{0}/config.yaml"),
        (with_line("spamd: {{listen: ['127.0.0.1:783']}}"), "127.0.0.1:783"),
        (with_line("spamd: {{listen: [{1}/spamd.sock]}}"), "{1}"),
        (with_line("service: {{metrics: {1}/spamnb.prom}}"), "{1}"),
        (with_line("spamd: {{listen: [{0}/spamd.sock, '127.0.0.1:1783']}}"), ""),
        (with_line("service: {{moved_file: {1}/moved}}"), "{1}"),
        (with_line("service: {{metrics: {0}/spamnb.prom, moved_file: {0}/moved}}"), ""),
    ],
)
def test_the_service_that_stays_root(
    place: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Path], object], lacking: str | None
) -> None:
    """Root's service goes on as somebody else only if all is one user's, who may do all that the service does."""
    anna = home_of_anna(made(Path(tempfile.mkdtemp(dir=place)) / "open"))
    anna.parent.parent.chmod(0o755)
    change(anna)
    owner = owner_for_service(anna / "config.yaml")
    assert owner == (Owner.of(ANNA) if lacking == "" else None)
    why = f"spamnb: spamnb stays root, since {ANNA}, the owner of the ledger, may not use "
    said = capsys.readouterr().err
    assert said == (f"{why}{lacking.format(anna, anna.parent)}\n" if lacking else "")


def test_a_ledger_without_a_named_place(process: Run, place: Path, anna: Path) -> None:
    """If the owner's configuration names no ledger, root's service uses the owner's, or stays root."""
    config = anna / "config.yaml"
    config.write_text(config.read_text().partition("ledger:")[0])
    assert owner_for_service(config) is None, "that user has no home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pwd.getpwuid", lambda uid: struct_passwd(("anna", "x", uid, uid, "", str(anna), "/bin/sh")))
        patch.setattr("os.getgrouplist", lambda *_: [])
        owner = owner_for_service(config)
        assert owner is not None
        assert owner.home == str(anna)


@pytest.fixture
def vmail(place: Path) -> Path:
    """A directory with a host's configuration of root's, and mail and ledgers of one user of the machine."""
    maildir(place / "vmail/example.org/anna", Junk=[message("spam", n) for n in range(3)])
    maildir(place / "vmail/example.org/bob", Junk=[])
    (place / "state").mkdir()
    give(place / "vmail", ANNA)
    give(place / "state", ANNA)
    (place / "config.yaml").write_text(
        f"mailboxes:\n  - path: {place}/vmail/{{domain}}/{{local}}\n    roles: {{INBOX: inbox, Junk: spam}}\n"
        f"ledger: {place}/state/{{domain}}/{{local}}/l.sqlite\n"
    )
    return place


def of_host(vmail: Path, *arguments: object) -> list[object]:
    return ["--config", vmail / "config.yaml", *arguments]


def test_a_user_of_a_host(process: Run, vmail: Path) -> None:
    """With --user root goes on as the owner of that user's ledger, or of the mail if there is no ledger yet."""
    shutil.rmtree(vmail / "state")
    (vmail / "state").mkdir(0o777)
    (vmail / "state").chmod(0o1777)
    for arguments in (
        ["train", "--spam", vmail / "vmail/example.org/anna/.Junk"],
        ["init", "--learn"],
        ["status"],
        ["doctor"],
        ["history"],
        ["verify"],
        ["config"],
    ):
        said = process(*of_host(vmail, "--user", "anna@example.org", *arguments))
        assert said.code in (0, 1), (arguments, said)
        assert not foreign(vmail / "state", ANNA), arguments
        assert not foreign(vmail / "vmail", ANNA), arguments
    assert (vmail / "state/example.org/anna/l.sqlite").stat().st_uid == ANNA
    said = process(*of_host(vmail, "-v", "--user", "anna@example.org", "verify"))
    assert said.err == f"spamnb: going on as {ANNA}, the owner of the ledger\n"


def test_a_pipe_for_a_user_of_a_host(process: Run, vmail: Path) -> None:
    """`filter` goes on as that user too."""
    process(*of_host(vmail, "--user", "anna@example.org", "train", "--spam", vmail / "vmail/example.org/anna/.Junk"))
    said = process(*of_host(vmail, "--user", "anna@example.org", "filter"), stdin=message("spam", 9))
    assert "X-Spamnb: unsure" in said.out
    assert not foreign(vmail / "state", ANNA)


def test_no_user_of_a_host(process: Run, vmail: Path) -> None:
    """Without a user, or with an unknown one, root's command ends with 64 and makes nothing."""
    for arguments in (["history"], ["--user", "eve@example.org", "train", "--spam", vmail / "vmail"]):
        assert process(*of_host(vmail, *arguments)).code == 64
    assert not list((vmail / "state").iterdir())


def test_all_users_of_a_host(process: Run, vmail: Path) -> None:
    """A command about no user goes on as the owner of all ledgers."""
    for kind in ("ham", "spam"):
        give(mail(vmail / "corpus" / kind, kind, 6), ANNA)
    said = process(*of_host(vmail, "-v", "evaluate", vmail / "corpus"))
    assert said.code == 0
    assert f"going on as {ANNA}, the owner of the ledger" in said.err


def test_the_users_of_a_host(process: Run, vmail: Path) -> None:
    """Commands about all users, and `users forget`, leave no file of root."""
    process(*of_host(vmail, "--user", "anna@example.org", "train", "--spam", vmail / "vmail/example.org/anna/.Junk"))
    for command in (["status"], ["doctor"], ["users"], ["users", "forget", "anna@example.org", "--yes"]):
        said = process(*of_host(vmail, "-v", *command))
        assert said.code == 0, said
        assert f"going on as {ANNA}, the owner of the ledger" in said.err
    assert not foreign(vmail / "state", ANNA)
    assert not (vmail / "state/example.org/anna").exists()


def test_a_link_among_the_users_of_a_host(process: Run, vmail: Path) -> None:
    """A link in the place of a user's mail, or of a ledger's directory, does not lead root to another."""
    bob = maildir(vmail / "elsewhere", Junk=[])
    give(bob, BOB)
    (vmail / "vmail/example.org/eve").symlink_to(bob)
    assert process(*of_host(vmail, "--user", "eve@example.org", "status")).code == 64
    (vmail / "state/example.org").mkdir()
    (vmail / "state/example.org/anna").symlink_to(bob)
    os.lchown(vmail / "state/example.org/anna", ANNA, ANNA)
    said = process(*of_host(vmail, "--user", "anna@example.org", "train", "--spam", "-"), stdin=message("spam", 1))
    assert said.code == 3
    assert f"belong to {ANNA} and to {BOB}: root does not choose" in said.err


def test_a_mailbox_of_another(process: Run, vmail: Path) -> None:
    """A Maildir that belongs to another system user is not the host's, and root does not choose it."""
    give(vmail / "vmail/example.org/bob", BOB)
    said = process(*of_host(vmail, "--user", "bob@example.org", "status"))
    assert said.code in (3, 64), said
    assert not list((vmail / "state").iterdir())
