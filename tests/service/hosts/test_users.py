"""Who comes and who goes, and what holds for whom."""

import math
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.host.everybody import OneOfAll, copy_of, restore_user
from spamnb.host.find_users import FoundUsers
from spamnb.host.forgetting import forget
from spamnb.host.host import Host
from spamnb.host.register import FilterState
from spamnb.host.renaming import rename
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder
from spamnb.service.account import AccountState
from tests.faults.conftest import mounted, run
from tests.lessons import learn, sample_lessons
from tests.patience import PATIENCE, until, until_files_are_later
from tests.service.hosts.inn import Desk, Process
from tests.service.hosts.test_stamps import compared

NEW, ONE, TWO = "new@one.example", "u00@one.example", "u01@two.example"


def test_a_user_is_made(desk: Desk) -> None:
    """What is copied into a new Maildir is recorded, however long that takes, and never moved; later mail is judged."""
    desk.add(NEW)
    old = [desk.deliver(NEW) for _ in range(2)]
    for _ in range(4):
        desk.pass_time(8.0)
        old.append(desk.deliver(NEW))
    desk.pass_time(12.0)
    new = desk.deliver(NEW)
    desk.settle()
    assert desk.contents(NEW, "Junk") == [new]
    assert sorted(desk.contents(NEW)) == sorted(old)
    assert desk.rows()[NEW].state is FilterState.MOVING


def test_a_user_is_made_during_long_work(desk: Desk) -> None:
    """Also where the hints of what is copied are read within the long work of another, all of it is recorded."""
    desk.add("long@one.example")
    for number in range(200):
        (desk.root("long@one.example") / "cur" / f"{number}.long:2,S").write_bytes(message("ham", 9000 + number))
    desk.pass_time(5.0)
    desk.add(NEW)
    old: list[bytes] = []

    def alive(status: str) -> None:
        if (
            "long" in status and len(old) < 100
        ):  # of three seconds each: no Maildir is waited for longer than ten minutes
            old.append(desk.deliver(NEW))
            create_folder(str(desk.root(NEW)), "maildir++", f"Copied{len(old)}")
            for hint in desk.heard():
                desk.watcher.tell(hint)
            desk.ahead += 3.0

    desk.alive = alive
    desk.settle()
    assert len(old) > 3
    assert sorted(desk.contents(NEW)) == sorted(old)


def test_a_user_who_is_new_to_the_filter(desk: Desk) -> None:
    """A user without a ledger gets one, and nothing of theirs is moved before it has learned enough."""
    desk.add(NEW, is_taught=False)
    desk.pass_time(12.0)
    new = desk.deliver(NEW)
    desk.settle()
    assert desk.contents(NEW) == [new]
    assert desk.rows()[NEW].state is FilterState.LEARNING
    assert desk.ledger(NEW).stat().st_mode & 0o777 == 0o600


def test_a_user_is_removed_and_made_again(desk: Desk) -> None:
    """The account of a user who is removed ends, the ledger stays, and serves who comes again."""
    before = desk.ledger(ONE).stat().st_ino
    desk.deliver(ONE)
    desk.rest()
    desk.remove(ONE)
    desk.pass_time(1.0)
    row = desk.rows()[ONE]
    assert (row.state, row.stamp) == (FilterState.GONE, None)
    assert row.gone_at is not None
    assert desk.ledger(ONE).stat().st_ino == before
    desk.add(ONE, is_taught=False)
    desk.pass_time(12.0)
    spam = desk.deliver(ONE)
    desk.settle()
    assert desk.contents(ONE, "Junk") == [spam]
    assert (desk.rows()[ONE].state, desk.rows()[ONE].gone_at) == (FilterState.MOVING, None)


def test_a_user_is_renamed(desk: Desk) -> None:
    """Who is called otherwise is another user, with another ledger, and what lies in the Maildir is not moved."""
    desk.add(NEW)
    desk.deliver(ONE)
    desk.settle()
    shutil.rmtree(desk.root(NEW))
    desk.root(ONE).rename(desk.root(NEW))
    desk.names.remove(ONE)
    desk.pass_time(12.0)
    spam = desk.deliver(NEW)
    desk.settle()
    assert spam in desk.contents(NEW, "Junk")
    assert len(desk.contents(NEW, "Junk")) == 2
    assert desk.rows()[ONE].state is FilterState.GONE


def test_a_user_is_renamed_with_the_ledger(desk: Desk) -> None:
    """A user whose ledger is renamed too, while no service runs, has the same filter, and the old name is unknown."""
    mail = desk.deliver(ONE)
    desk.settle()
    for path in (desk.root, desk.ledger):
        path(NEW).parent.parent.mkdir(exist_ok=True)
    desk.stop()
    desk.root(ONE).parent.rename(desk.root(NEW).parent)
    desk.ledger(ONE).parent.rename(desk.ledger(NEW).parent)
    desk.names.remove(ONE)
    desk.start()
    desk.settle()
    spam = desk.deliver(NEW)
    desk.settle()
    assert sorted(desk.contents(NEW, "Junk")) == sorted([mail, spam])
    assert desk.rows().keys() == {NEW, "u01@two.example", "u02@one.example", "u03@two.example"}


def forgotten(desk: Desk, name: str) -> list[BaseException]:
    """Let `users forget` forget a user while the service works; the faults that it met."""
    return beside(desk, lambda: forget(desk.host(), name))


def beside(desk: Desk, command: Callable[[], object]) -> list[BaseException]:
    """Let a command work while the service works; the faults that it met."""
    faults: list[BaseException] = []

    def work() -> None:
        try:
            command()
        except BaseException as fault:
            faults.append(fault)

    thread = threading.Thread(target=work)
    thread.start()
    end = time.monotonic() + PATIENCE
    while thread.is_alive():
        assert time.monotonic() < end
        desk.step()
        thread.join(0.01)
    return faults


def test_a_living_user_is_forgotten(desk: Desk) -> None:
    """The service lets go of the ledger that `users forget` asks for, and begins anew with the mail that is there."""
    old = [desk.deliver(ONE) for _ in range(2)]
    desk.until(lambda: desk.contents(ONE, "Junk") != [], "the first is moved")
    assert ONE in desk.awake
    assert forgotten(desk, ONE) == []
    desk.pass_time(6.0)
    row = desk.rows()[ONE]
    assert (row.state, row.ham, row.spam, row.judged) == (FilterState.WAITING, 0, 0, {})
    desk.deliver(ONE)
    desk.settle()
    assert len(desk.contents(ONE)) + len(desk.contents(ONE, "Junk")) == 3
    assert all(content in desk.everything(ONE) for content in old)
    row = desk.rows()[ONE]
    assert (row.state, row.ham, row.spam) == (FilterState.LEARNING, 0, 0)
    assert desk.judgements(ONE).count("judged") == 1
    assert not [*desk.host().requests.iterdir()]
    other = desk.deliver(TWO)
    desk.settle()
    assert desk.contents(TWO, "Junk") == [other]


@pytest.mark.parametrize("is_awake", [True, False], ids=["awake", "asleep"])
def test_a_living_user_is_restored(desk: Desk, tmp_path: Path, is_awake: bool) -> None:
    """The service lets go of the ledger for a restore; mail from before that is not moved then, and later mail is."""
    host = desk.host()
    copy, _ = copy_of(host, OneOfAll(ONE, str(desk.ledger(ONE))), str(tmp_path / "copies"), replace=False)
    with Ledger(str(desk.ledger(ONE))) as ledger:
        ledger.state.paused_until = math.inf
    old = desk.deliver(ONE)
    desk.until(lambda: "judged" in desk.judgements(ONE), "it is judged, and stays")
    if not is_awake:
        desk.settle()
    assert (ONE in desk.awake) is is_awake
    until_files_are_later(tmp_path)
    desk.set_to_present()
    assert beside(desk, lambda: restore_user(host, ONE, copy)) == []
    until_files_are_later(tmp_path)
    new = desk.deliver(ONE)
    desk.settle()
    assert (desk.contents(ONE), desk.contents(ONE, "Junk")) == ([old], [new])
    assert desk.rows()[ONE].ham > 0
    assert not [*host.requests.iterdir()]


def test_a_users_ledger_is_renamed(desk: Desk) -> None:
    """Known mail of a renamed user stays where it is and teaches nothing; new mail is judged by what was learned."""
    host, new_name = desk.host(), "ann@two.example"
    old = [desk.deliver(ONE, "ham"), desk.deliver(ONE)]
    desk.settle()
    assert (desk.contents(ONE), desk.contents(ONE, "Junk")) == ([old[0]], [old[1]])
    lessons = desk.rows()[ONE].ham
    desk.root(new_name).parent.parent.mkdir(exist_ok=True)
    desk.root(ONE).parent.rename(desk.root(new_name).parent)
    desk.pass_time(3.0)
    assert beside(desk, lambda: rename(host, ONE, new_name)) == []
    desk.names.remove(ONE)
    desk.names.append(new_name)
    desk.settle()
    spam = desk.deliver(new_name)
    desk.settle()
    assert sorted(desk.contents(new_name, "Junk")) == sorted([old[1], spam])
    assert desk.contents(new_name) == [old[0]]
    assert desk.rows()[new_name].ham == lessons > 0
    assert ONE not in desk.rows()
    assert desk.faults(new_name) == []


def test_a_command_has_learned(desk: Desk) -> None:
    """The register has the lessons of a command soon after the command has asked for that, without mail."""
    desk.settle()
    desk.pass_time(400.0)  # the first copy of the ledger is made
    with Ledger(str(desk.ledger(ONE))) as ledger:
        learn(ledger, sample_lessons(30))
        lessons = int(ledger.lessons.totals()[:2].sum())
    before = desk.rows()[ONE]
    desk.pass_time(60.0)
    assert desk.rows()[ONE] == before
    desk.host().look_again(ONE)
    desk.pass_time(50.0)
    row = desk.rows()[ONE]
    assert (row.ham + row.spam, lessons > before.ham + before.spam) == (lessons, True)
    assert not [*desk.host().requests.iterdir()]
    assert desk.rows()[TWO].state is before.state


def test_asked_without_a_service(desk_of: Callable[[int], Desk]) -> None:
    """What a command has asked for while no service ran is done at the next start, for who is still there."""
    desk = desk_of(2)
    desk.start()
    desk.settle()
    desk.stop()
    for name in (ONE, "nobody@one.example"):
        desk.host().look_again(name)
    desk.start()
    desk.settle()
    assert not [*desk.host().requests.iterdir()]


def test_a_flood_is_told(desk: Desk) -> None:
    """While mail keeps an account awake for minutes, the register follows."""
    for _ in range(30):
        desk.deliver(ONE)
        desk.pass_time(5.0)
        assert ONE in desk.awake
    assert sum(desk.rows()[ONE].judged.values()) >= 20


def test_a_user_is_forgotten_while_nothing_is_watched(desk_of: Callable[[int], Desk]) -> None:
    """Without events the service sees the request when it next looks at the folders."""
    desk = desk_of(1)
    desk.configure("service: {watch: polling}")
    desk.start()
    desk.settle()
    desk.deliver(ONE)
    desk.until(lambda: desk.contents(ONE, "Junk") != [], "it is moved")
    assert ONE in desk.awake
    assert forgotten(desk, ONE) == []
    desk.settle()
    assert desk.rows()[ONE].spam == 0


def test_a_domain_is_made(desk: Desk) -> None:
    """The first user of a domain is found, though the directory of the domain was not watched, at once."""
    users = Host.users

    def found(host: Host, owner: int | None = None, before: FoundUsers | None = None) -> FoundUsers:
        seen = users(host, owner, before)
        with suppress(FileExistsError):
            desk.add("late@three.example")  # after its directory was listed, and before it is watched
        return seen

    (desk.directory / "vmail" / "three.example").mkdir()
    with mock.patch.object(Host, "users", found):
        desk.pass_time(5.0)
    assert "late@three.example" in {account.name for account in desk.accounts}


def hashed(desk: Desk, name: str, directory: str) -> Path:
    """The Maildir of a user in a hashed tree."""
    local, _, domain = name.partition("@")
    return desk.directory / "vmail" / domain / directory / local / "Maildir"


@pytest.mark.parametrize("instead", [lambda root, aside: root.symlink_to(aside), lambda root, _: root.touch()])
def test_a_mailbox_is_back(desk: Desk, instead: Callable[[Path, Path], object]) -> None:
    """A Maildir that a link or a file had replaced is used at once when it is back, though its next try is far away."""
    root, aside = desk.root(ONE), desk.directory / "aside"
    root.rename(aside)
    instead(root, aside)
    desk.pass_time(100.0)
    assert desk.account(ONE).state is AccountState.FAILED
    root.unlink()
    aside.rename(root)
    desk.pass_time(1.0)
    assert desk.account(ONE).state is not AccountState.FAILED
    spam = desk.deliver(ONE)
    desk.rest()
    assert desk.contents(ONE, "Junk") == [spam]


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


def test_a_domain_that_cannot_be_listed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody in a directory that cannot be listed is gone."""
    scandir, domain = os.scandir, str(desk.directory / "vmail" / "one.example")

    def refused(path: str | int) -> object:
        if path == domain:
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refused)
        desk.add("new@two.example")
        desk.pass_time(700.0)
        assert {each.name for each in desk.accounts} == {*desk.names}
    spam = desk.deliver(ONE)
    desk.settle()
    assert desk.contents(ONE, "Junk") == [spam]
    assert FilterState.GONE not in {row.state for row in desk.rows().values()}


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
        assert {row.state for name, row in desk.rows().items() if name.endswith("one.example")} == {FilterState.BROKEN}
        with mounted(domain):
            for path in made:
                path.mkdir(exist_ok=True, parents=True)
            for path, content in held.items():
                path.write_bytes(content)
            desk.pass_time(700.0)
            mail = desk.deliver_to_all()
            desk.settle()
            assert desk.are_moved(mail)
            assert {row.state for row in desk.rows().values()} == {FilterState.MOVING}
            desk.stop()


def test_no_directory_of_mail_at_the_start(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Where the directory of all mail is not there yet, the service waits for it; nobody is gone, none is compared."""
    desk.stop()
    vmail = desk.directory / "vmail"
    vmail.rename(desk.directory / "away")
    desk.start()
    assert desk.watched == "0 users"
    desk.pass_time(100.0)
    (desk.directory / "away").rename(vmail)
    late = desk.deliver(ONE)
    assert compared(desk, lambda: desk.pass_time(15.0)) == [ONE]
    assert desk.contents(ONE, "Junk") == [late]
    assert caplog.text.count("mount the disk") == 1
    assert FilterState.GONE not in {row.state for row in desk.rows().values()}


def test_an_empty_directory_of_mail_at_the_start(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Where the disk of all mail is not mounted, nobody is gone."""
    desk.stop()
    vmail = desk.directory / "vmail"
    vmail.rename(desk.directory / "away")
    vmail.mkdir()
    desk.start()
    desk.pass_time(400.0)
    assert FilterState.GONE not in {row.state for row in desk.rows().values()}
    assert caplog.text.count("mount its disk if it is not mounted") == 1
    vmail.rmdir()
    (desk.directory / "away").rename(vmail)
    mail = desk.deliver_to_all()
    desk.pass_time(301.0)
    assert desk.are_moved(mail)


def test_damaged_while_the_service_was_down(desk: Desk) -> None:
    """Who is in the register and has no inbox at the start is not forgotten: what is wrong is told."""
    desk.stop()
    (desk.root(ONE) / "cur").rename(desk.root(ONE) / "away")
    desk.start()
    desk.pass_time(20.0)
    assert desk.rows()[ONE].state is FilterState.BROKEN
    (desk.root(ONE) / "away").rename(desk.root(ONE) / "cur")
    spam = desk.deliver(ONE)
    desk.pass_time(800.0)
    assert desk.contents(ONE, "Junk") == [spam]


# --- what holds for whom


def test_who_is_left_out(desk: Desk) -> None:
    """Nothing is done for who is left out by a new configuration, until another one takes them in."""
    desk.configure(users='without: ["*@one.example"]')
    desk.reload()
    mail = desk.deliver_to_all()
    desk.settle()
    assert desk.watched == "2 users"
    assert desk.are_moved({name: content for name, content in mail.items() if name.endswith("two.example")})
    assert desk.contents(ONE) == [mail[ONE]]
    assert (desk.rows()[ONE].state, desk.rows()[ONE].gone_at) == (FilterState.LEFT_OUT, None)
    desk.configure()
    desk.reload()
    desk.settle()
    assert desk.are_moved(mail)
    assert desk.rows()[ONE].state is FilterState.MOVING


def own_file(desk: Desk) -> Path:
    """Let users have own settings; the file of the first one, which is not there yet."""
    own = desk.directory / "own" / f"{ONE}.yaml"
    own.parent.mkdir()
    desk.configure(users=f"own: '{own.parent}/{{user}}.yaml'")
    return own


def test_settings_of_ones_own(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """A user's own file holds from the next waking; a faulty one leaves what was in force, and is told of."""
    own = own_file(desk)
    desk.reload()
    desk.settle()
    own.write_text("senders: {allow: ['*@*.example']}\n")
    ham = desk.deliver(ONE)
    desk.settle()
    assert desk.contents(ONE) == [ham]
    own.write_text("senders: {allow: ['*@*.example']}\nlearning: {dwell: much}\n")
    still = desk.deliver(ONE)
    caplog.clear()
    desk.pass_time(6.0)
    assert desk.awake == {ONE}, "long before it sleeps"
    row = desk.rows()[ONE]
    (record,) = (record for record in caplog.records if record.levelname == "ERROR")
    assert row.fault == record.getMessage()
    assert row.fault.startswith(f"own settings are not in force: {own}:2: learning.dwell: ")
    assert row.state is FilterState.MOVING
    desk.settle()
    assert sorted(desk.contents(ONE)) == sorted([ham, still])
    assert desk.rows()[ONE].fault == row.fault
    own.unlink()
    spam = desk.deliver(ONE)
    desk.settle()
    assert desk.contents(ONE, "Junk") == [spam]
    assert (desk.rows()[ONE].fault, desk.rows()[ONE].fault_since) == ("", None)


def test_settings_of_ones_own_are_read_without_mail(desk_of: Callable[[int], Desk]) -> None:
    """Faulty own settings of a user who gets no mail are told within minutes, at a start too, and so is their end."""
    desk = desk_of(2)
    vars(desk)["now"] = time.time  # files have their times from the kernel
    own = own_file(desk)
    desk.start()
    desk.settle()
    period = desk.host().template.service.reconcile_seconds + 10.0

    def told(seconds: float) -> str:
        desk.pass_time(seconds)
        return desk.rows()[ONE].fault

    own.write_text("spamd: {}\n")
    assert "spamd: holds for all users" in told(period)
    own.write_text("scoring: {spam_cutoff: 0.99}\n")
    assert told(period) == ""
    own.write_text("scoring: {spam_cutof: 0.99}\n")
    desk.reload()
    assert "spam_cutof" in told(10.0)
    own.unlink()
    assert told(period) == ""


def test_settings_of_ones_own_while_mail_comes(desk_of: Callable[[int], Desk]) -> None:
    """New settings of a user whose account is awake hold for the next message, and faulty ones are told with it."""
    desk = desk_of(1)
    vars(desk)["now"] = time.time  # files have their times from the kernel
    own = own_file(desk)
    desk.start()
    desk.settle()
    desk.deliver(ONE)
    desk.until(lambda: desk.contents(ONE, "Junk") != [], "it is moved")
    assert desk.awake == {ONE}
    own.write_text("senders: {allow: ['*@*.example']}\n")
    allowed = desk.deliver(ONE)
    desk.rest()
    assert desk.contents(ONE) == [allowed]
    assert desk.awake == {ONE}
    own.write_text("senders: {allow: ['*@*.example']}\nspamd: {}\n")
    desk.deliver(ONE)
    desk.pass_time(6.0)
    assert "spamd: holds for all users" in desk.rows()[ONE].fault
    assert len(desk.contents(ONE)) == 2, "the settings that were in force still are"


def test_another_template(desk: Desk) -> None:
    """With a template of another directory the users there are worked for, and the former ones are gone."""
    other = desk.directory / "other"
    other.mkdir()
    desk.config.write_text(desk.config.read_text().replace(f"{desk.directory}/vmail/", f"{other}/"))
    (desk.directory / "vmail" / "one.example").rename(other / "one.example")
    desk.reload()
    assert desk.watched == "2 users"
    with mock.patch.object(desk, "root", lambda name: other / "one.example" / name.partition("@")[0] / "Maildir"):
        desk.settle()
        spam = desk.deliver(ONE)
        desk.settle()
        assert desk.contents(ONE, "Junk") == [spam]
    assert desk.rows()[TWO].state is FilterState.GONE


# --- the process

_OF_ONE_PERSON = """
mailboxes: [{{path: {0}/vmail/one.example/u00/Maildir, roles: {{INBOX: inbox, Junk: spam}}}}]
ledger: {0}/lib/one/ledger.sqlite
"""


@pytest.mark.thorough
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
    assert process.rows()[ONE].state is FilterState.LEFT_OUT
