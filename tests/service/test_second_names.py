"""Files with two names: what a delivery, a rule or a program that saves space has linked, and what a person has."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.acts.moves import Intent, Mover
from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.messages import Entry, deliver
from spamnb.maildir.names import Name
from spamnb.rules.reactions import COPY_SECONDS
from tests.patience import PATIENCE, until
from tests.service.conftest import Site
from tests.service.desk import ROLES, Desk

pytestmark = pytest.mark.thorough  # they wait half a minute in all

_ORDERS = ("INBOX", "Archive"), ("Archive", "INBOX")


def link(site: Site, content: bytes, source: str, folder: str, subdir: str = "new") -> Path:
    """Give a message's file another name, in another folder."""
    name = next(site.bases) + (":2,S" if subdir == "cur" else "")
    target = Path(site.folders[folder].subdir(subdir)) / name
    target.hardlink_to(site.path_of(source, content))
    return target


def deliver_linked(site: Site, content: bytes, first: str, second: str) -> bytes:
    """A delivery into two folders, as procmail makes it."""
    site.deliver(content, first)
    link(site, content, first, second)
    return content


def by_hand(site: Site, first: str, second: str, contents: list[bytes]) -> None:
    """Deliver without any program."""
    for content in contents:
        deliver_linked(site, content, first, second)


def by_procmail(site: Site, first: str, second: str, contents: list[bytes]) -> None:
    """Deliver by procmail, with a recipe of one line that names both folders."""
    if shutil.which("procmail") is None:
        pytest.skip("needs procmail (Debian: procmail)")
    rules = site.directory / "procmailrc"
    rules.write_text(f":0\n{site.folders[first].path}/ {site.folders[second].path}/\n")
    rules.chmod(0o600)
    for content in contents:
        command = ["procmail", "-m", "DEFAULT=/dev/null", str(rules)]
        subprocess.run(command, input=content, timeout=PATIENCE, check=True, cwd=site.directory)


def same(site: Site, folder: str) -> list[bytes]:
    """Return which messages are in a folder; procmail adds a line end to each."""
    return sorted(map(identity, site.contents(folder)))


def lessons(site: Site) -> list[int]:
    """Return the number of learned messages of each kind, and the other counts."""
    with Ledger(str(site.ledger)) as ledger:
        totals: list[int] = ledger.lessons.totals().tolist()
        return totals


def rest(site: Site) -> None:
    """Let the service see to all that there is."""
    marker = site.deliver(message("spam", 979), "TrainSpam")
    until(lambda: site.label(marker) == 1, "what came later is settled")
    site.end()
    assert site.once() == 0


@pytest.mark.parametrize("deliver", [by_hand, pytest.param(by_procmail, marks=pytest.mark.real_system)])
@pytest.mark.parametrize("is_running", [True, False], ids=["running", "down"])
def test_one_delivery_under_two_names(
    site: Site, deliver: Callable[[Site, str, str, list[bytes]], None], is_running: bool
) -> None:
    """A message delivered into inbox and archive as one file is judged in the inbox, and learned nowhere.

    In whichever order the names come, and also where the service finds both at its start.
    """
    site.teach()
    before = lessons(site)
    if is_running:
        site.start()
    else:
        site.work()  # so that the mailbox is known
    spam = [message("spam", number) for number in range(950, 956)]
    ham = [message("ham", number) for number in range(950, 952)]
    deliver(site, *_ORDERS[0], spam[:3] + ham[:1])
    deliver(site, *_ORDERS[1], spam[3:] + ham[1:])
    if not is_running:
        site.start()
    wanted = sorted(map(identity, spam))
    until(lambda: same(site, "Junk") == wanted, lambda: f"six of six moved: {site.log()}")
    until(lambda: site.log().count("stays in INBOX, ham") == 2, "ham judged")
    site.end()
    assert site.once() == 0
    assert same(site, "Junk") == wanted
    assert same(site, "INBOX") == sorted(map(identity, ham))
    assert same(site, "Archive") == sorted(map(identity, spam + ham))
    assert lessons(site) == before
    assert "learned" not in site.log()
    assert site.faults() == []


def test_what_a_person_does_with_one_of_two_names(site: Site) -> None:
    """A person's move of one name, and a copy out of Junk, is a decision, whatever other names the file has."""
    site.teach()
    site.start()
    moved, copied, renamed, spam = (message("spam", number) for number in range(960, 964))
    letter = message("ham", 960)
    for content in (moved, copied, renamed, spam):
        deliver_linked(site, content, "INBOX", "Archive")
    deliver_linked(site, letter, "Archive", "INBOX")
    until(lambda: len(site.contents("Junk")) == 4, "spam moved")
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    site.move(moved, "Junk", "INBOX")
    link(site, copied, "Junk", "INBOX", "cur")
    site.path_of("Archive", renamed).rename(Path(site.folders["Archive"].subdir("cur")) / f"{next(site.bases)}:2,S")
    site.move(letter, "INBOX", "Junk")
    until(
        lambda: (site.label(moved), site.label(copied), site.label(letter)) == (0, 0, 1),
        lambda: f"decided: {site.log()}",
    )
    rest(site)
    assert (site.label(moved), site.label(copied), site.label(letter)) == (0, 0, 1)
    assert site.label(renamed) is site.label(spam) is None
    assert {moved, copied} <= set(site.contents("INBOX"))
    assert site.faults() == []


def test_a_rule_copies_soon_and_a_person_later(site: Site) -> None:
    """A second name in a different folder is a rule's if the file has just come, and a person's later."""
    site.teach()
    site.start()
    by_a_rule, by_a_person, to_junk = (message("ham", number) for number in range(970, 973))
    for content in (by_a_rule, by_a_person, to_junk):
        site.deliver(content)
    until(lambda: site.log().count("stays in INBOX, ham") == 3, "ham judged")
    link(site, by_a_rule, "INBOX", "Archive", "cur")
    rest(site)
    assert site.label(by_a_rule) is None
    with Ledger(str(site.ledger)) as ledger:
        ledger.locations._db.execute("UPDATE file SET since = since - ?", (2 * COPY_SECONDS,))
    link(site, by_a_person, "INBOX", "Archive", "cur")
    link(site, to_junk, "INBOX", "Junk", "cur")
    assert site.once() == 0
    assert (site.label(by_a_rule), site.label(by_a_person), site.label(to_junk)) == (None, 0, 1)


def test_two_inboxes_and_an_archive(desk: Desk) -> None:
    """If a delivery has three names, each in an inbox is judged and moved there; nothing is learned."""
    desk.roles = ROLES | {"Work": Role.INBOX}
    desk.folder("Work")
    desk.ahead = 0.0  # the kernel's clock, which says until when a linked file is another program's
    desk.restart()
    spam = message("spam", 978)
    first = Path(deliver(desk.folder("INBOX"), spam, next(desk.bases)))
    for folder in ("Work", "Archive"):  # the same base name, as `ln` gives it
        (Path(desk.folder(folder).subdir("new")) / first.name).hardlink_to(first)
    desk.work()
    assert desk.where(spam) == ["Junk", "Junk", "Archive"]
    assert desk.lesson(spam) == (None, False)


@pytest.mark.parametrize("stays", [True, False], ids=["copied", "moved"])
def test_linked_while_it_is_judged(desk: Desk, monkeypatch: pytest.MonkeyPatch, stays: bool) -> None:
    """Spam that gets a second name during the judging is moved once that name stays; not if a server moved it."""
    spam, carry_out = message("spam", 974), Mover.carry_out
    archived = Path(desk.folder("Archive").subdir("new")) / next(desk.bases)

    def linked_first(mover: Mover, intent: Intent, entry: Entry | None, *, waits: bool = False) -> bool:
        if archived.exists():
            return carry_out(mover, intent, entry, waits=waits)
        (path,) = desk.paths(spam, "INBOX")
        archived.hardlink_to(path)
        moved = carry_out(mover, intent, entry, waits=waits)
        assert not moved
        if not stays:
            path.unlink()
        return moved

    monkeypatch.setattr(Mover, "carry_out", linked_first)
    desk.ahead = 0.0
    desk.deliver(spam)
    assert desk.where(spam) == (["Junk", "Archive"] if stays else ["Archive"])
    assert desk.lesson(spam) == ((None, False) if stays else (0, False))
    assert desk.ledger.journal.intents() == []


def test_stopped_before_linked_spam_may_be_moved(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spam with a second name from the judging is moved even if the service ends in between."""
    spam, rename = message("spam", 980), Mover._rename
    archived = Path(desk.folder("Archive").subdir("new")) / next(desk.bases)

    def linked_first(mover: Mover, intent: Intent, entry: Entry, name: Name) -> bool:
        archived.hardlink_to(entry.path(intent.source))
        return rename(mover, intent, entry, name)

    desk.ahead = 0.0
    deliver(desk.folder("INBOX"), spam, next(desk.bases))
    with monkeypatch.context() as patched:
        patched.setattr(Mover, "_rename", linked_first)
        desk.account.compare()
    assert desk.where(spam) == ["INBOX", "Archive"]
    desk.restart()
    assert desk.where(spam) == ["Junk", "Archive"]
    assert desk.lesson(spam) == (None, False)
    assert desk.ledger.journal.intents() == []


@pytest.mark.slow
def test_backup_by_hard_links(site: Site) -> None:
    """A backup that links every file (`cp -al`) hinders no move, teaches nothing, and changes no decision."""
    site.teach()
    site.start()
    before, backups = lessons(site), (site.directory / f"backup.{number}" for number in range(9))

    def back_up() -> Path:
        made = next(backups)
        subprocess.run(["cp", "-al", site.root, made], capture_output=True, timeout=PATIENCE, check=False)
        return made  # without a file that was moved meanwhile

    spam, kept = [message("spam", number) for number in range(981, 986)], message("ham", 981)
    for content in spam[:3]:
        site.deliver(content)
        back_up()
    site.deliver(kept)
    until(lambda: same(site, "Junk") == sorted(map(identity, spam[:3])), "spam moved")
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    site.end()
    for content in spam[3:]:
        site.deliver(content)
    shutil.rmtree(back_up())  # which sets the status of every file again
    back_up()
    site.start()
    until(lambda: same(site, "Junk") == sorted(map(identity, spam)), lambda: f"what came meanwhile moved: {site.log()}")
    assert lessons(site) == before
    site.move(spam[0], "Junk", "INBOX")
    back_up()
    site.move(kept, "INBOX", "Junk")
    back_up()
    until(lambda: (site.label(spam[0]), site.label(kept)) == (0, 1), lambda: f"decided: {site.log()}")
    site.end()
    assert site.once() == 0
    assert [site.label(content) for content in spam[1:]] == [None] * 4
    assert site.faults() == []


@pytest.mark.parametrize("command", [["jdupes", "-q", "-r", "-L"], ["hardlink", "-t"]], ids=["jdupes", "hardlink"])
def test_duplicates_are_made_one_file(site: Site, command: list[str]) -> None:
    """If a program makes one file of two copies, that teaches nothing, and later decisions count."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]} (Debian: jdupes; util-linux)")
    site.teach()
    site.start()
    spam, ham = message("spam", 975), message("ham", 975)
    for content in (spam, ham):
        site.deliver(content)
        site.deliver(content, "Archive")
    until(lambda: site.contents("Junk") == [spam] and "stays in INBOX, ham" in site.log(), "both judged")
    first = site.deliver(message("spam", 976), "TrainSpam")
    until(lambda: site.label(first) == 1, "the copies in the archive seen")
    subprocess.run([*command, str(site.root)], capture_output=True, timeout=PATIENCE, check=True)
    for content, folder in ((spam, "Junk"), (ham, "INBOX")):
        assert os.path.samefile(site.path_of(folder, content), site.path_of("Archive", content))
    second = site.deliver(message("spam", 977), "TrainSpam")
    until(lambda: site.label(second) == 1, "what came after it")
    assert (site.label(spam), site.label(ham)) == (None, None)
    site.move(spam, "Junk", "INBOX")
    site.move(ham, "INBOX", "Junk")
    rest(site)
    assert (site.label(spam), site.label(ham)) == (0, 1)
    assert site.faults() == []
