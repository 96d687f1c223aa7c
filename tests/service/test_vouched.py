"""A stranger's signed newsletter on its way: at delivery, in the mailbox, and after a decision about its sender."""

import json

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.config import load
from spamnb.contacts import address_book
from spamnb.delivery.pipe import filtered
from spamnb.ledger.ledger import Ledger
from tests.filter.test_vouched import BORDER, LEAVE, SIGNED
from tests.service.conftest import Site

KEY = "authserv_id: mx.example.org"
WHY = "mx.example.org vouches for this newsletter, and you have called no mail of shop.example spam"


def newsletter(number: int, *fields: str) -> bytes:
    """A newsletter of a shop, worded as spam."""
    lines = message("spam", 700 + number).split(b"\n")
    head = "\n".join([*fields, LEAVE, "From: news@shop.example"]).encode()
    return b"\n".join([head, *(line for line in lines if not line.startswith(b"From:"))])


def through(site: Site, mail: bytes) -> bytes:
    """Return a message as it comes out of the pipe."""
    return b"".join(filtered(mail, lambda: load(site.config, {}), "anna").message)


@pytest.fixture
def taught(site: Site) -> Site:
    """A service that knows letters and spam, with a named server."""
    site.teach()
    site.configure(KEY)
    site.work()
    return site


def test_it_stays_until_a_person_decides(taught: Site) -> None:
    """It stays in the inbox, and the history says why; once one is moved to Junk, the next of this site go there too.

    The unsure one of another site goes to the folder for unsure mail.
    """
    first, second = newsletter(0, SIGNED, BORDER), newsletter(1, SIGNED, BORDER).replace(b"news@", b"letters@")
    third = newsletter(2, SIGNED.replace("shop", "club"), BORDER).replace(b"news@shop", b"news@club")
    taught.deliver(first)
    taught.work()
    assert taught.contents("Junk") == []
    assert taught.why(first) == f"unsure: {WHY}"
    taught.move(first, "INBOX", "Junk")
    taught.work()
    taught.deliver(second)
    taught.work()
    assert sorted(taught.contents("Junk")) == sorted([first, second])
    taught.configure(KEY, unsure_folder="Maybe")
    taught.deliver(third)
    taught.work()
    assert third not in [*taught.contents("INBOX"), *taught.contents("Junk")]


def test_undo_of_the_move(taught: Site) -> None:
    """If the move to Junk is undone, the server vouches for mail of the site again."""
    first, second = newsletter(0, SIGNED, BORDER), newsletter(1, SIGNED, BORDER).replace(b"news@", b"letters@")
    taught.deliver(first)
    taught.work()
    taught.move(first, "INBOX", "Junk")
    taught.work()
    with Ledger(str(taught.ledger)) as ledger:
        (learned,) = [action for action in ledger.journal.newest(1) if action.kind == "learned"]
    assert taught.spamnb("undo", str(learned.id)) == 0
    taught.deliver(second)
    taught.work()
    assert taught.why(second) == f"unsure: {WHY}"


def test_without_the_key_it_is_spam(site: Site) -> None:
    """A configuration that names no server moves it to Junk."""
    site.teach()
    site.work()
    site.deliver(newsletter(1, SIGNED, BORDER))
    site.work()
    assert site.contents("Junk") == [newsletter(1, SIGNED, BORDER)]


def test_at_delivery(taught: Site) -> None:
    """A pipe says that it is unsure; it stays in the mailbox then, and the history names the server."""
    mail = newsletter(1, SIGNED, BORDER)
    told = through(taught, mail)
    assert told.startswith(b"X-Spamnb: unsure, probability=0.9")
    taught.deliver(told)
    taught.work()
    assert taught.contents("Junk") == []
    assert taught.why(mail) == f"unsure; judged at delivery (spamnb filter; {WHY})"


def test_a_field_that_comes_after_the_verdict(taught: Site) -> None:
    """If the server writes its field after the verdict at delivery, the mailbox has the last word."""
    told = through(taught, newsletter(1, BORDER))
    assert told.startswith(b"X-Spamnb: spam")
    taught.deliver(SIGNED.encode() + b"\n" + told)
    taught.work()
    assert taught.contents("Junk") == []
    assert taught.why(newsletter(1, BORDER)) == f"unsure: {WHY}; judged at delivery (spamnb filter)"


def test_explain(taught: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """`explain` names the server, and says what to do."""
    file = taught.directory / "newsletter.eml"
    file.write_bytes(newsletter(1, SIGNED, BORDER))
    assert taught.spamnb("explain", str(file)) == 0
    said = (
        f"It looks like spam, but it is unsure: {WHY}. If you move it to Junk, the next one of this sender is spam.\n"
    )
    assert said in capsys.readouterr().out
    assert taught.spamnb("explain", "--json", str(file)) == 0
    assert json.loads(capsys.readouterr().out)["vouched"] == WHY
    taught.spamnb("score", str(file))
    assert capsys.readouterr().out.startswith("U 0.9")


def test_a_contact(taught: Site) -> None:
    """A signed letter of a person in the address book stays, as soon as the book has them; an unsigned one does not."""
    book = taught.directory / "contacts/shop.vcf"
    book.parent.mkdir()
    taught.configure(f"{KEY}\naddress_book: {book.parent}")
    letters = [
        newsletter(number, *head).replace(f"{LEAVE}\n".encode(), b"")
        for number, head in enumerate([(SIGNED, BORDER), (SIGNED, BORDER), (BORDER,)])
    ]
    taught.deliver(letters[0])
    taught.work()
    assert taught.contents("Junk") == letters[:1]
    book.write_text("BEGIN:VCARD\nVERSION:4.0\nFN:Shop\nEMAIL:news@shop.example\nEND:VCARD\n")
    address_book._book.cache_clear()  # or the test would wait some seconds
    for letter in letters[1:]:
        taught.deliver(letter)
    taught.work()
    assert sorted(taught.contents("Junk")) == sorted([letters[0], letters[2]])
    assert "vouches for its sender, who is in your address book" in taught.why(letters[1])
