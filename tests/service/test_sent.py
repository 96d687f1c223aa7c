"""Sent mail tells whom one knows; and the person's own lists of senders."""

import json
from pathlib import Path

import pytest

from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.acquaintance import Acquaintance, Seen
from spamnb.mail.reading import read
from spamnb.maildir.folders import create_folder
from spamnb.service.jobs import Forgetting
from tests.patience import until
from tests.service.conftest import Site
from tests.service.desk import DAY, Desk

PATH = b"Received: from out.b.example (out.b.example [9.9.9.7]) by mx.example.org with ESMTP; 1 Jun 2026 10:00 +0000\n"


def letter(number: int, to: str = "ann@b.example", fields: str = "") -> bytes:
    """A letter that the person has sent."""
    head = f"From: you@home.example\nTo: {to}\nMessage-ID: <{number}@home.example>\nSubject: Letter {number}\n{fields}"
    return f"{head}\nDear Ann, shall we meet on Sunday?\n".encode()


def answer(number: int, sender: str = "ann@b.example", path: bytes = PATH) -> bytes:
    """An answer to it."""
    return (
        path
        + (
            f"From: {sender}\nTo: you@home.example\nMessage-ID: <a{number}.{sender}>\nSubject: Re: Letter {number}\n"
            f"In-Reply-To: <{number}@home.example>\n\nWith pleasure.\n"
        ).encode()
    )


def known(ledger: Ledger, content: bytes) -> set[Acquaintance]:
    """Return the record of a message."""
    return set(ledger.lessons.seen([read(content).relations])[0].known)


def sent(desk: Desk) -> set[bytes]:
    """Which sent messages are known."""
    return set(desk.ledger.lessons.sent())


ANSWER = {Acquaintance.ANSWER}


def test_sent_mail_is_read_as_it_appears(desk: Desk) -> None:
    """A letter in a folder with a usual name of sent mail makes answers of its recipient known, and stays."""
    assert known(desk.ledger, answer(1)) == set()
    desk.deliver(letter(1), "Sent", "S")
    assert known(desk.ledger, answer(1)) == ANSWER
    assert known(desk.ledger, answer(1, path=b"")) == ANSWER
    assert known(desk.ledger, answer(1, "eve@c.example")) == set()
    assert len(desk.paths(letter(1), "Sent")) == 1
    assert desk.lesson(letter(1)) == (None, False)


def test_sent_mail_from_before_is_read_at_the_start(tmp_path: Path) -> None:
    """Sent mail that lay there at the first start is read too, and no other mail of that time."""
    create_folder(str(tmp_path / "Maildir"), "maildir++", "INBOX")
    for name, content in (("Sent", letter(1)), ("Drafts", letter(2)), ("Archive", letter(3))):
        folder = create_folder(str(tmp_path / "Maildir"), "maildir++", name)
        (Path(folder.subdir("cur")) / f"1.{name}:2,S").write_bytes(content)
    desk = Desk(tmp_path, "Maildir")
    assert sent(desk) == {identity(letter(1))}
    assert known(desk.ledger, answer(1)) == ANSWER
    desk.stop()
    desk.ledger.close()


def test_a_folder_gets_and_loses_the_role(desk: Desk) -> None:
    """If a folder gets the role `sent`, its mail is read; if it loses that role, this is forgotten."""
    desk.deliver(letter(1), "Sent", "S")
    desk.deliver(letter(2), "Archive", "S")
    roles = desk.roles
    desk.roles = {**roles, "Archive": Role.SENT}
    desk.restart()
    assert sent(desk) == {identity(letter(1)), identity(letter(2))}
    desk.roles = {**roles, "Sent": Role.HAM}
    desk.restart()
    assert sent(desk) == set()
    assert desk.ledger.lessons.verify() == []


def test_all_sent_mail_is_read_again_after_an_upgrade(desk: Desk) -> None:
    """If an upgrade needs more of sent mail, the next start reads all of it; nothing of deleted mail is lost."""
    desk.deliver(letter(1), "Sent", "S")
    desk.deliver(letter(2, "bob@b.example"), "Sent", "S").unlink()
    desk.work()
    everyone = desk.ledger.lessons.seen([read(answer(1)).relations, read(answer(2, "bob@b.example")).relations])
    assert everyone == [Seen(answered=True, written_to=True)] * 2
    ledger = desk.ledger._connection
    ledger.execute("DELETE FROM recipient")
    ledger.execute("UPDATE folder SET sent_read = 0")
    desk.restart()
    everyone = desk.ledger.lessons.seen([read(answer(1)).relations, read(answer(2, "bob@b.example")).relations])
    assert everyone == [Seen(answered=True, written_to=True), Seen(answered=True)]


def test_programs_get_no_answers(desk: Desk) -> None:
    """A vacation notice is recorded as sent, but an answer to it does not count: anybody can get one."""
    desk.deliver(letter(1, fields="Auto-Submitted: auto-replied\n"), "Sent")
    assert len(sent(desk)) == 1
    assert known(desk.ledger, answer(1)) == set()


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(
    "path", [PATH, b"Received: from x (unknown [172.17.0.1]) by mx.example.org with ESMTP; 1 Jun 2026 10:00 +0000\n"]
)
def test_what_a_stranger_delivers_into_sent(desk: Desk, trusted: bool, path: bytes) -> None:
    """Mail to you+Sent@, with any From and any recipient, makes nobody known; what the person sends does."""
    desk.restart(trust_delivery=trusted)
    desk.deliver(path + letter(1), "Sent")
    desk.deliver(path + letter(2).replace(b"you@home.example", b"eve@c.example"), "Sent")
    assert known(desk.ledger, answer(1)) == known(desk.ledger, answer(2)) == set()
    desk.deliver(letter(3), "Sent", "S")
    assert known(desk.ledger, answer(3)) == ANSWER
    assert known(desk.ledger, answer(1)) == set()


def test_forgotten_when_long_gone(desk: Desk) -> None:
    """Sent mail that was deleted is forgotten with the record of its message, after `retention_days`."""
    kept, deleted = letter(1), letter(2)
    desk.deliver(kept, "Sent")
    desk.deliver(deleted, "Sent").unlink()
    desk.work()
    desk.deliver(message("ham", 950))  # the newest record is never forgotten
    for days, left in ((300, {kept, deleted}), (400, {kept})):
        forgetting = Forgetting(desk.ledger, 365.0, dict)
        while forgetting.step_if_due(desk.now() + days * DAY):
            pass
        assert sent(desk) == {identity(one) for one in left}
    assert desk.ledger.lessons.verify() == []


def test_the_whole_loop(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """The real service reads sent mail and recognises the answer to it; the token is among the clues."""
    site.folders["Sent"] = create_folder(str(site.root), "maildir++", "Sent")
    site.teach()
    site.start()
    site.deliver(letter(1), "Sent")
    with Ledger(str(site.ledger)) as ledger:
        until(lambda: known(ledger, answer(1)) == ANSWER, "the letter read")
    first = site.deliver(answer(1))
    until(lambda: "Re: Letter 1" in site.log(), "the answer judged")
    assert site.contents("INBOX") == [first]
    site.move(first, "INBOX", "Archive")
    until(lambda: site.label(first) == 0, "the filed answer learned")
    assert site.end() == 0
    assert site.contents("Sent") == [letter(1)]
    file = site.directory / "second.eml"
    file.write_bytes(answer(1, path=PATH) + b"And on Monday?\n")
    capsys.readouterr()
    assert site.spamnb("explain", "--json", str(file)) == 0
    explained = json.loads(capsys.readouterr().out)
    assert set(explained["history"]) == {"answer", "correspondent"}
    assert "known:answer" in {clue["token"] for clue in explained["clues"]}, "which the filed answer was learned with"
    assert site.faults() == []


def test_lists_of_senders(site: Site) -> None:
    """Listed as ham, mail stays out of Junk, as spam it goes there; a decision about a message beats both lists."""
    site.configure("senders: {allow: ['*@deals.example', talk.example], block: [friends.example]}\n")
    site.teach()
    listed_ham = message("spam", 960).replace(b"From: promo960@", b"From: promo@deals.example\nX-Was: ")
    of_a_list = message("spam", 961).replace(b"Subject:", b"List-ID: Offers <offers.talk.example>\nSubject:")
    listed_spam, other_spam, rescued = message("ham", 962), message("spam", 963), message("ham", 964)
    delivered = [site.deliver(one) for one in (listed_ham, of_a_list, listed_spam, other_spam, rescued)]
    site.spamnb("train", "--ham", str(site.path_of("INBOX", rescued)))
    site.start()
    until(lambda: len(site.contents("INBOX")) + len(site.contents("Junk")) == len(delivered), "all there")
    site.end()
    assert sorted(site.contents("INBOX")) == sorted(delivered), "mail from before the start"
    again = [one.replace(b"Message-ID: <", b"Message-ID: <again.") for one in delivered]
    file = site.directory / "rescued.eml"
    file.write_bytes(again[-1])
    assert site.spamnb("train", "--ham", str(file)) == 0
    for one in again:
        site.deliver(one)
    site.work()
    assert sorted(site.contents("Junk")) == sorted(again[2:4])
    assert [site.label(one) for one in again] == [None] * 4 + [0], "a list teaches nothing"
