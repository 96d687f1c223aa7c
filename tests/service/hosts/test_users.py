"""Who comes and who goes, and what holds for whom."""

import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.host.find_users import FoundUsers
from spamnb.host.host import Host
from spamnb.host.register import State
from spamnb.maildir.folders import create_folder
from tests.faults.conftest import mounted, run
from tests.patience import until
from tests.service.hosts.inn import Desk, Process
from tests.service.hosts.test_stamps import compared

NEW, ONE, TWO = "new@one.example", "u00@one.example", "u01@two.example"


@pytest.fixture
def few(desk_of: Callable[[int], Desk]) -> Desk:
    """A host of four users, that has begun."""
    desk = desk_of(4)
    desk.start()
    desk.settle()
    return desk


def test_a_user_is_made(few: Desk) -> None:
    """What is copied into a new Maildir is recorded, however long that takes, and never moved; later mail is judged."""
    few.add(NEW)
    old = [few.deliver(NEW) for _ in range(2)]
    for _ in range(4):
        few.pass_time(8.0)
        old.append(few.deliver(NEW))
    few.pass_time(12.0)
    new = few.deliver(NEW)
    few.settle()
    assert few.contents(NEW, "Junk") == [new]
    assert sorted(few.contents(NEW)) == sorted(old)
    assert few.rows()[NEW].state is State.MOVING


def test_a_user_is_made_during_long_work(few: Desk) -> None:
    """Also where the hints of what is copied are read within the long work of another, all of it is recorded."""
    few.add("long@one.example")
    for number in range(200):
        (few.root("long@one.example") / "cur" / f"{number}.long:2,S").write_bytes(message("ham", 9000 + number))
    few.pass_time(5.0)
    few.add(NEW)
    old: list[bytes] = []

    def alive(status: str) -> None:
        if (
            "long" in status and len(old) < 100
        ):  # of three seconds each: no Maildir is waited for longer than ten minutes
            old.append(few.deliver(NEW))
            create_folder(str(few.root(NEW)), "maildir++", f"Copied{len(old)}")
            for hint in few.heard():
                few.watcher.tell(hint)
            few.ahead += 3.0

    few.alive = alive
    few.settle()
    assert len(old) > 3
    assert sorted(few.contents(NEW)) == sorted(old)


def test_a_user_who_is_new_to_the_filter(few: Desk) -> None:
    """A user without a ledger gets one, and nothing of theirs is moved before it has learned enough."""
    few.add(NEW, is_taught=False)
    few.pass_time(12.0)
    new = few.deliver(NEW)
    few.settle()
    assert few.contents(NEW) == [new]
    assert few.rows()[NEW].state is State.LEARNING
    assert few.ledger(NEW).stat().st_mode & 0o777 == 0o600


def test_a_user_is_removed_and_made_again(few: Desk) -> None:
    """The account of a user who is removed ends, the ledger stays, and serves who comes again."""
    before = few.ledger(ONE).stat().st_ino
    few.deliver(ONE)
    few.rest()
    few.remove(ONE)
    few.pass_time(1.0)
    row = few.rows()[ONE]
    assert (row.state, row.stamp) == (State.GONE, None)
    assert row.gone_at is not None
    assert few.ledger(ONE).stat().st_ino == before
    few.add(ONE, is_taught=False)
    few.pass_time(12.0)
    spam = few.deliver(ONE)
    few.settle()
    assert few.contents(ONE, "Junk") == [spam]
    assert (few.rows()[ONE].state, few.rows()[ONE].gone_at) == (State.MOVING, None)


def test_a_user_is_renamed(few: Desk) -> None:
    """Who is called otherwise is another user, with another ledger, and what lies in the Maildir is not moved."""
    few.add(NEW)
    few.deliver(ONE)
    few.settle()
    shutil.rmtree(few.root(NEW))
    few.root(ONE).rename(few.root(NEW))
    few.names.remove(ONE)
    few.pass_time(12.0)
    spam = few.deliver(NEW)
    few.settle()
    assert spam in few.contents(NEW, "Junk")
    assert len(few.contents(NEW, "Junk")) == 2
    assert few.rows()[ONE].state is State.GONE


def test_a_domain_is_made(few: Desk) -> None:
    """The first user of a domain is found, though the directory of the domain was not watched, at once."""
    users = Host.users

    def found(host: Host, owner: int | None = None, before: FoundUsers | None = None) -> FoundUsers:
        seen = users(host, owner, before)
        with suppress(FileExistsError):
            few.add("late@three.example")  # after its directory was listed, and before it is watched
        return seen

    (few.directory / "vmail" / "three.example").mkdir()
    with mock.patch.object(Host, "users", found):
        few.pass_time(5.0)
    assert "late@three.example" in {account.name for account in few.accounts}


def hashed(desk: Desk, name: str, directory: str) -> Path:
    """The Maildir of a user in a hashed tree."""
    local, _, domain = name.partition("@")
    return desk.directory / "vmail" / domain / directory / local / "Maildir"


def test_a_user_moves_in_a_hashed_tree(desk_of: Callable[[int], Desk]) -> None:
    """Whose Maildir is another one than before keeps the ledger; what lies there already is not moved."""
    desk = desk_of(0)
    desk.config.write_text(desk.config.read_text().replace("{domain}/{local}/Maildir", "{domain}/*/{local}/Maildir"))
    with mock.patch.object(desk, "root", lambda name: hashed(desk, name, "a")):
        desk.add(ONE)
        desk.start()
        desk.settle()
        first = desk.deliver(ONE)
        desk.settle()
        assert desk.contents(ONE, "Junk") == [first]
        hashed(desk, ONE, "b").parent.parent.mkdir()
        desk.root(ONE).parent.rename(hashed(desk, ONE, "b").parent)
    with mock.patch.object(desk, "root", lambda name: hashed(desk, name, "b")):
        old = desk.deliver(ONE)
        desk.pass_time(12.0)
        spam = desk.deliver(ONE)
        desk.settle()
        assert desk.contents(ONE) == [old]
        assert sorted(desk.contents(ONE, "Junk")) == sorted([first, spam])
        assert desk.rows()[ONE].root == str(desk.root(ONE))


# --- directories that are away


def test_a_domain_that_cannot_be_listed(few: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody in a directory that cannot be listed is gone."""
    scandir, domain = os.scandir, str(few.directory / "vmail" / "one.example")

    def refused(path: str | int) -> object:
        if path == domain:
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refused)
        few.add("new@two.example")
        few.pass_time(700.0)
        assert {each.name for each in few.accounts} == {*few.names}
    spam = few.deliver(ONE)
    few.settle()
    assert few.contents(ONE, "Junk") == [spam]
    assert State.GONE not in {row.state for row in few.rows().values()}


def test_a_domain_whose_disk_is_away(desk_of: Callable[[int], Desk]) -> None:
    """Nobody on a disk that is not mounted for a while is gone, and all are served when it is back."""
    desk = desk_of(4)
    domain = desk.directory / "vmail" / "one.example"
    shutil.rmtree(domain)
    with mounted(domain):
        for name in desk.names[::2]:
            shutil.copytree(desk.directory / "empty", desk.root(name))
        desk.start()
        desk.settle()
        desk.deliver_to_all()
        desk.rest()
        held = {path: path.read_bytes() for path in domain.rglob("*") if path.is_file()}
        made = [path for path in domain.rglob("*") if path.is_dir()]
        run("umount", "--lazy", str(domain))
        desk.pass_time(700.0)
        mail = desk.deliver_to_all([TWO])
        desk.rest()
        assert desk.are_moved(mail)
        assert {row.state for name, row in desk.rows().items() if name.endswith("one.example")} == {State.BROKEN}
        with mounted(domain):
            for path in made:
                path.mkdir(exist_ok=True, parents=True)
            for path, content in held.items():
                path.write_bytes(content)
            desk.pass_time(700.0)
            mail = desk.deliver_to_all()
            desk.settle()
            assert desk.are_moved(mail)
            assert {row.state for row in desk.rows().values()} == {State.MOVING}
            desk.stop()


def test_no_directory_of_mail_at_the_start(few: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Where the directory of all mail is not there yet, the service waits for it; nobody is gone, none is compared."""
    few.stop()
    vmail = few.directory / "vmail"
    vmail.rename(few.directory / "away")
    few.start()
    assert few.watched == "0 users"
    few.pass_time(100.0)
    (few.directory / "away").rename(vmail)
    late = few.deliver(ONE)
    assert compared(few, lambda: few.pass_time(15.0)) == [ONE]
    assert few.contents(ONE, "Junk") == [late]
    assert caplog.text.count("mount the disk") == 1
    assert State.GONE not in {row.state for row in few.rows().values()}


def test_an_empty_directory_of_mail_at_the_start(few: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Where the disk of all mail is not mounted, nobody is gone."""
    few.stop()
    vmail = few.directory / "vmail"
    vmail.rename(few.directory / "away")
    vmail.mkdir()
    few.start()
    few.pass_time(400.0)
    assert State.GONE not in {row.state for row in few.rows().values()}
    assert caplog.text.count("mount its disk if it is not mounted") == 1
    vmail.rmdir()
    (few.directory / "away").rename(vmail)
    mail = few.deliver_to_all()
    few.pass_time(301.0)
    assert few.are_moved(mail)


def test_damaged_while_the_service_was_down(few: Desk) -> None:
    """Who is in the register and has no inbox at the start is not forgotten: what is wrong is told."""
    few.stop()
    (few.root(ONE) / "cur").rename(few.root(ONE) / "away")
    few.start()
    few.pass_time(20.0)
    assert few.rows()[ONE].state is State.BROKEN
    (few.root(ONE) / "away").rename(few.root(ONE) / "cur")
    spam = few.deliver(ONE)
    few.pass_time(800.0)
    assert few.contents(ONE, "Junk") == [spam]


# --- what holds for whom


def test_who_is_left_out(few: Desk) -> None:
    """Nothing is done for who is left out by a new configuration, until another one takes them in."""
    few.configure(users='without: ["*@one.example"]')
    few.reload()
    mail = few.deliver_to_all()
    few.settle()
    assert few.watched == "2 users"
    assert few.are_moved({name: content for name, content in mail.items() if name.endswith("two.example")})
    assert few.contents(ONE) == [mail[ONE]]
    assert few.rows()[ONE].state is State.GONE
    few.configure()
    few.reload()
    few.settle()
    assert few.are_moved(mail)
    assert few.rows()[ONE].state is State.MOVING


def test_settings_of_ones_own(few: Desk) -> None:
    """A user's own file holds from the next waking; a faulty one leaves what was in force, and is told of."""
    own = few.directory / "own" / f"{ONE}.yaml"
    own.parent.mkdir()
    few.configure(users=f"own: '{own.parent}/{{user}}.yaml'")
    few.reload()
    few.settle()
    own.write_text("senders: {allow: ['*@*.example']}\n")
    ham = few.deliver(ONE)
    few.settle()
    assert few.contents(ONE) == [ham]
    own.write_text("senders: {allow: ['*@*.example']}\nlearning: {dwell: much}\n")
    still = few.deliver(ONE)
    few.settle()
    assert sorted(few.contents(ONE)) == sorted([ham, still])
    row = few.rows()[ONE]
    assert "dwell" in row.fault
    assert row.state is State.MOVING
    own.unlink()
    spam = few.deliver(ONE)
    few.settle()
    assert few.contents(ONE, "Junk") == [spam]
    assert (few.rows()[ONE].fault, few.rows()[ONE].fault_since) == ("", None)


def test_another_template(few: Desk) -> None:
    """With a template of another directory the users there are worked for, and the former ones are gone."""
    other = few.directory / "other"
    other.mkdir()
    few.config.write_text(few.config.read_text().replace(f"{few.directory}/vmail/", f"{other}/"))
    (few.directory / "vmail" / "one.example").rename(other / "one.example")
    few.reload()
    assert few.watched == "2 users"
    with mock.patch.object(few, "root", lambda name: other / "one.example" / name.partition("@")[0] / "Maildir"):
        few.settle()
        spam = few.deliver(ONE)
        few.settle()
        assert few.contents(ONE, "Junk") == [spam]
    assert few.rows()[TWO].state is State.GONE


# --- the process

_OF_ONE_PERSON = """
mailboxes: [{{path: {0}/vmail/one.example/u00/Maildir, roles: {{INBOX: inbox, Junk: spam}}}}]
ledger: {0}/lib/one/ledger.sqlite
"""


def test_reload(process: Process) -> None:
    """What a new configuration says holds after SIGHUP; a faulty one, or one that cannot be worked by, changes nothing.

    A message is judged after each, once; no user is told of twice.
    """
    process.once()
    process.start()
    assert process.process is not None
    good = process.config.read_text()
    for text, told in (
        ("mailboxes: [", "the configuration is faulty, the old one stays in force"),
        (good.replace("/lib/", "/other/"), "the directory of the ledgers cannot be changed while the service runs"),
        (_OF_ONE_PERSON.format(process.directory), "the kind of configuration (one person's or a host's) cannot"),
        (good.replace("users: {}", "users: {without: [u00@one.example]}"), "read the configuration again"),
    ):
        process.config.write_text(text)
        process.process.send_signal(signal.SIGHUP)
        until(lambda told=told: told in process.log(), told)  # type: ignore[misc]
        mail = process.deliver_to_all(process.names[1:])
        until(lambda mail=mail: process.are_moved(mail), f"mail is moved after {told!r}")  # type: ignore[misc]
    assert process.end() == 0
    assert "Traceback" not in process.log()
    assert process.rows()[ONE].state is State.GONE
