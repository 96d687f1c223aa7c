"""Mail of people whom the person does not know yet, on its way through the folder for newcomers."""

import json
import re
from pathlib import Path

import pytest

from spamnb.acts.newcomers import knows_enough
from spamnb.base.label import Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import load
from spamnb.contacts import address_book
from spamnb.delivery.pipe import filtered
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import find_folders
from spamnb.rules.acquaintances import KNOWN_FIRST
from tests.service.conftest import Site

FRIEND = "friend1@book.example"
WHY = "ham, from somebody you do not know yet"


def letter(number: int, sender: str = "", kind: str = "ham") -> bytes:
    """A letter of somebody else than in all lessons, delivered by another server."""
    sender = sender or f"stranger{number}@elsewhere.example"
    lines = [line for line in message(kind, 800 + number).split(b"\n") if not line.startswith(b"From:")]
    border = b"Received: from elsewhere.example (mail.elsewhere.example [9.9.9.7]) by mx.example.org; now"
    return b"\n".join([border, f"From: {sender}".encode(), *lines])


def unsure(number: int) -> bytes:
    """A letter without a word that is known."""
    return b"From: who%d@elsewhere.example\nMessage-ID: <%d@elsewhere.example>\n\nxyzzy%d\n" % (number, number, number)


@pytest.fixture
def known(site: Site) -> Site:
    """A service with a folder for newcomers, and a person who knows enough people by their address book."""
    site.teach()
    write_book(site, KNOWN_FIRST)
    site.configure(f"authserv_id: mx.example.org\naddress_book: {site.directory / 'book.vcf'}", newcomers_folder="New")
    site.work()
    site.add_folder("New")
    return site


def write_book(site: Site, number: int) -> None:
    """An address book with that many people."""
    cards = [f"BEGIN:VCARD\nVERSION:4.0\nEMAIL:friend{one}@book.example\nEND:VCARD\n" for one in range(number)]
    (site.directory / "book.vcf").write_text("".join(cards))
    address_book._book.cache_clear()  # or the test would wait some seconds


def arrive(site: Site, *contents: bytes) -> None:
    """Mail comes, and the service works."""
    for content in contents:
        site.deliver(content)
    site.work()


def test_where_new_mail_goes(known: Site) -> None:
    """Ham and unsure mail of strangers goes there; sure spam goes to Junk; mail of a contact and read mail stay."""
    stranger, contact, doubtful, spam, read = letter(1), letter(2, FRIEND), unsure(3), letter(4, kind="spam"), letter(5)
    known.deliver(read)
    path = known.path_of("INBOX", read)
    path.rename(path.parent.parent / "cur" / f"{path.name}:2,S")
    arrive(known, stranger, contact, doubtful, spam)
    assert sorted(known.contents("New")) == sorted([stranger, doubtful])
    assert known.contents("Junk") == [spam]
    assert sorted(known.contents("INBOX")) == sorted([contact, read])
    assert known.why(stranger).startswith(f"{WHY}, probability 0.0")
    assert known.why(doubtful).startswith("unsure, from somebody you do not know yet, probability 0.")
    assert known.why(read) == "ham, but a person has read or marked it"
    assert known.faults() == []


def test_barely_spam_of_a_stranger(known: Site) -> None:
    """What is called spam with a probability below 0.97 goes there too; sure spam and blocked mail go to Junk."""
    more = "scoring: {ham_cutoff: 0.05, spam_cutoff: 0.1}\nsenders: {block: [who5@elsewhere.example]}"
    book = f"authserv_id: mx.example.org\naddress_book: {known.directory / 'book.vcf'}"
    known.configure(f"{book}\n{more}", newcomers_folder="New")
    barely, blocked, spam = unsure(3), unsure(5), letter(4, kind="spam")
    arrive(known, barely, blocked, spam)
    assert known.contents("New") == [barely]
    assert sorted(known.contents("Junk")) == sorted([blocked, spam])
    assert known.why(barely).startswith("perhaps spam, from somebody you do not know yet, probability 0.")
    known.move(barely, "New", "INBOX")
    known.work()
    assert known.label(barely) == Label.HAM
    assert known.contents("INBOX") == [barely]


def test_out_into_the_inbox(known: Site) -> None:
    """A person who moves mail from there into the inbox says ham, and knows the sender from then on."""
    first, second, other = letter(1), letter(2, "stranger1@elsewhere.example"), letter(3, "someone@far.example")
    arrive(known, first)
    known.move(first, "New", "INBOX")
    known.work()
    assert known.label(first) == Label.HAM
    assert known.why(first) == "a person took it out of newcomers"
    arrive(known, second, other)
    assert sorted(known.contents("INBOX")) == sorted([first, second])
    assert known.contents("New") == [other]


def reply(to: bytes, recipient: str = "", **more: str) -> bytes:
    """A message of the person's that answers another one; more: further fields, or others."""
    sender = re.search(rb"(?m)^From: (.*)", to)[1].decode()  # type: ignore[index]
    own_id = re.search(rb"(?m)^Message-ID: (.*)", to)[1].decode()  # type: ignore[index]
    fields = {"From": "you@home.example", "To": recipient or sender, "In_Reply_To": own_id, **more}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items() if value]
    return "\n".join([*lines, "Subject: Re: hello", "", "Thank you!", ""]).encode()


def send(site: Site, *contents: bytes) -> None:
    """A mail program keeps sent mail, and the service works."""
    for content in contents:
        path = Path(site.folders["Sent"].subdir("cur")) / f"{next(site.bases)}:2,S"
        path.write_bytes(content)
    site.work()


def mark_answered(site: Site, content: bytes, folder: str = "New") -> None:
    """A mail program marks a message as answered, and the service works."""
    path = site.path_of(folder, content)
    path.rename(path.parent.parent / "cur" / f"{path.name.partition(':')[0]}:2,RS")
    site.work()


@pytest.fixture
def writing(known: Site) -> Site:
    """The same, and a folder of sent mail."""
    known.roles["Sent"] = Role.SENT
    known.configure(
        f"authserv_id: mx.example.org\naddress_book: {known.directory / 'book.vcf'}", newcomers_folder="New"
    )
    known.add_folder("Sent")
    known.work()
    return known


@pytest.mark.parametrize("sign", ["mark", "In-Reply-To", "References", "mark and sent"])
def test_an_answer(writing: Site, sign: str) -> None:
    """An answered letter goes to the inbox as ham, and its sender is known; another letter of the day stays there."""
    arrive(writing, first := letter(1), other := letter(2))
    if sign == "References":
        (name,) = re.findall(rb"(?m)^Message-ID: (.*)", first)
        send(writing, reply(first, In_Reply_To="", References=f"<older@b.example> {name.decode()}"))
    elif "sent" in sign or sign == "In-Reply-To":
        send(writing, reply(first))
    if "mark" in sign:
        mark_answered(writing, first, "INBOX" if "sent" in sign else "New")
    assert (writing.contents("INBOX"), writing.contents("New")) == ([first], [other])
    assert (writing.label(first), writing.label(other)) == (Label.HAM, None)
    assert writing.why(first) == "answered"
    arrive(writing, second := letter(3, "stranger1@elsewhere.example"))
    assert second in writing.contents("INBOX")
    writing.work()
    assert writing.faults() == []


def test_an_answer_that_is_undone(writing: Site) -> None:
    """An undo brings the letter back to the folder, where it stays, whatever is undone and however it is marked."""
    arrive(writing, first := letter(1))
    mark_answered(writing, first)
    assert writing.contents("INBOX") == [first]
    assert writing.spamnb("undo", "--since", "1h", "--only", "moves", "--yes") == 0
    writing.work()
    assert (writing.contents("INBOX"), writing.contents("New"), writing.label(first)) == ([first], [], Label.HAM)


def test_what_is_no_answer(writing: Site) -> None:
    """Mail that only goes to the sender, or answers somebody else, leaves a letter there; so do received mail,
    a vacation notice, and a letter that the person has put there.
    """
    put = writing.deliver(letter(9), "New")
    arrive(writing, first := letter(1))
    mark_answered(writing, put)
    received = b"Received: from elsewhere.example (mail.elsewhere.example [9.9.9.7]) by mx.example.org; now\n"
    send(
        writing,
        reply(first, In_Reply_To=""),
        reply(first, "another@elsewhere.example"),
        received + reply(first),
        reply(first, Auto_Submitted="auto-replied"),
        reply(put),
    )
    assert sorted(writing.contents("New")) == sorted([first, put])
    assert (writing.label(first), writing.label(put)) == (None, None)
    (name,) = re.findall(rb"(?m)^Message-ID: (.*)", first)
    send(writing, reply(first, In_Reply_To="<other@b.example>", References=f"{name.decode()} <other@b.example>"))
    assert first in writing.contents("New")


@pytest.mark.parametrize("where", ["New", "Archive", "Trash", "gone"])
def test_a_forged_letter_is_not_the_answered_one(writing: Site, where: str) -> None:
    """If a second message has the sender and Message-ID of the answered letter, the filter moves neither.

    Its mark still shows which letter was answered.
    """
    arrive(writing, first := letter(1))
    (name,) = re.findall(rb"(?m)^Message-ID: (.*)", first)
    forged = b"Received: from b (b.example [8.8.8.8]) by mx.example.org; now\nFrom: stranger1@elsewhere.example\n"
    arrive(writing, forged := forged + b"Message-ID: %s\nSubject: hello\n\nxyzzy\n" % name)
    if where == "gone":
        writing.path_of("New", first).unlink()
        writing.work()
    elif where != "New":
        writing.move(first, "New", where)
        writing.work()
    send(writing, reply(first))
    assert forged in writing.contents("New")
    assert writing.label(forged) is None
    if where == "New":
        assert first in writing.contents("New")
        mark_answered(writing, first)
        assert (writing.contents("INBOX"), writing.contents("New")) == ([first], [forged])


@pytest.mark.parametrize("kept", [True, False])
def test_an_answer_that_must_not_teach(writing: Site, kept: bool) -> None:
    """With `kept: false` an answer neither teaches nor moves anything."""
    more = f"learning: {{kept: {str(kept).lower()}, dwell_seconds: 0.3}}"
    writing.configure(
        f"authserv_id: mx.example.org\naddress_book: {writing.directory / 'book.vcf'}\n{more}", newcomers_folder="New"
    )
    arrive(writing, first := letter(1), second := letter(2))
    send(writing, reply(first))
    mark_answered(writing, second)
    assert sorted(writing.contents("INBOX" if kept else "New")) == sorted([first, second])


def test_a_receipt_of_a_shop(known: Site) -> None:
    """Mail from another address of a site over the path of its ham stays in the inbox, until some of it is spam."""

    def of(number: int, address: str, host: str = "mail.shop.example", kind: str = "ham") -> bytes:
        return letter(number, address, kind).replace(b"mail.elsewhere.example", host.encode())

    arrive(known, first := of(1, "orders@shop.example"))
    assert known.contents("New") == [first]
    arrive(known, waits := of(2, "service@mail.shop.example"))
    assert waits in known.contents("New"), "nothing is known of the first one"
    known.move(first, "New", "INBOX")
    known.work()
    arrive(known, receipt := of(3, "receipts@pay.shop.example"), forged := of(4, "x@shop.example", "b.example"))
    arrive(known, alike := of(5, "x@workshop.example"))
    assert receipt in known.contents("INBOX")
    assert {forged, alike} <= {*known.contents("New")}
    known.move(receipt, "INBOX", "Junk")
    known.work()
    arrive(known, last := of(6, "other@shop.example"))
    assert last not in known.contents("INBOX")


def test_another_customer_of_a_provider(known: Site) -> None:
    """One known address at a mailbox provider makes nobody else there known."""
    arrive(known, first := letter(1, "ann@gmail.com"))
    known.move(first, "New", "INBOX")
    known.work()
    arrive(known, second := letter(2, "bob@gmail.com"))
    assert known.contents("New") == [second]


def test_out_into_a_folder_of_ham(known: Site) -> None:
    """To file it in a folder of ham means the same."""
    arrive(known, first := letter(1))
    known.move(first, "New", "Archive")
    known.work()
    assert known.label(first) == Label.HAM


def test_out_into_junk(known: Site) -> None:
    """A person who moves mail from there into Junk says spam, and does not know the sender."""
    first, second = letter(1), letter(2, "stranger1@elsewhere.example")
    arrive(known, first)
    known.move(first, "New", "Junk")
    known.work()
    assert known.label(first) == Label.SPAM
    arrive(known, second)
    assert second not in known.contents("INBOX")


@pytest.mark.parametrize("put", ["INBOX", "Junk", "Archive"])
def test_it_teaches_nothing_by_its_place(known: Site, put: str) -> None:
    """Mail that a person puts there is neither learned nor moved, wherever it comes from."""
    content = known.deliver(letter(1, FRIEND), put)
    known.work()
    label = known.label(content)
    known.move(content, put, "New")
    known.work()
    assert (known.contents("New"), known.label(content)) == ([content], label)


def test_it_begins_when_enough_people_are_known(known: Site) -> None:
    """With fewer than twenty known addresses nobody is a newcomer."""
    write_book(known, KNOWN_FIRST - 1)
    arrive(known, first := letter(1))
    assert (known.contents("INBOX"), known.why(first)) == ([first], "ham")
    with Ledger(str(known.ledger)) as ledger:
        assert not knows_enough(ledger, load(known.config, {}))
    write_book(known, KNOWN_FIRST)
    arrive(known, second := letter(2))
    assert known.contents("New") == [second]


def test_too_many(known: Site) -> None:
    """If more than half of a day's mail has gone there, a newcomer stays in the inbox, and the reason says so."""
    strangers, friends = [letter(n) for n in range(12)], [letter(100 + n, FRIEND) for n in range(8)]
    arrive(known, *strangers)
    assert sorted(known.contents("New")) == sorted(strangers)
    arrive(known, *friends)  # of twenty messages twelve have gone there
    arrive(known, doubtful := unsure(50), late := letter(60))
    assert sorted(known.contents("INBOX")) == sorted([*friends, doubtful, late])
    assert known.why(late) == f"{WHY}, like more than half of the mail of the last day"
    arrive(known, *(letter(200 + n, FRIEND) for n in range(4)))
    arrive(known, later := letter(61))
    assert later in known.contents("New"), "it ends by itself"


def test_at_delivery(known: Site) -> None:
    """Mail that a pipe has called ham at delivery goes there when it comes to the inbox."""
    told = b"".join(filtered(letter(1), lambda: load(known.config, {}), "anna").message)
    assert told.startswith(b"X-Spamnb: ham, probability=0.0")
    arrive(known, told)
    assert known.contents("New") == [told]
    assert "judged at delivery (spamnb filter)" in known.why(told)


def test_while_moving_is_stopped(known: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """It stays while moving is stopped; `resume --move` then moves it, unless the sender is known by now."""
    known.spamnb("pause")
    first, second = letter(1), letter(2)
    arrive(known, first, second)
    assert sorted(known.contents("INBOX")) == sorted([first, second])
    assert known.why(first) == "ham, but moving is stopped: `spamnb resume` starts it again"
    book = known.directory / "book.vcf"
    book.write_text(book.read_text().replace("friend0@book", "stranger2@elsewhere"))
    address_book._book.cache_clear()
    assert known.spamnb("resume", "--move") == 0
    assert (known.contents("New"), known.contents("INBOX")) == ([first], [second])
    assert "moved 1 message that had been withheld, left 1" in capsys.readouterr().out


def test_undo(known: Site) -> None:
    """An undo brings it back to the inbox, where it stays; it teaches nothing."""
    arrive(known, first := letter(1))
    assert known.spamnb("undo", "--since", "1h", "--only", "moves", "--yes") == 0
    known.work()
    assert (known.contents("INBOX"), known.label(first)) == ([first], None)


def test_what_people_and_programs_are_told(known: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """`explain` says whether the sender is known, and why; the metrics count the moves."""
    file = known.directory / "letter.eml"
    file.write_bytes(letter(1))
    known.spamnb("explain", str(file))
    assert "You do not know its sender yet." in capsys.readouterr().out
    file.write_bytes(letter(1, FRIEND))
    known.spamnb("explain", str(file))
    assert "You know its sender: this address is in your address book." in capsys.readouterr().out
    arrive(known, letter(1))
    known.spamnb("status", "--prometheus")
    assert 'spamnb_moved_messages_total{to="newcomers"} 1' in capsys.readouterr().out
    known.spamnb("history", "--json", "--kind", "moved")
    (moved,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (moved["destination"], moved["verdict"]) == ("New", "ham")


def test_without_the_folder(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the key nothing is said of strangers."""
    site.teach()
    site.work()
    arrive(site, first := letter(1))
    assert site.why(first) == "ham"
    file = site.directory / "letter.eml"
    file.write_bytes(first)
    site.spamnb("explain", str(file))
    assert "its sender" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["New", "Sorted/New"])
def test_the_folder_is_made(site: Site, name: str) -> None:
    """The service makes the folder at its start."""
    site.configure(newcomers_folder=name)
    site.work()
    assert {folder.name for folder in find_folders(str(site.root), "maildir++")} == {*site.roles, name}
