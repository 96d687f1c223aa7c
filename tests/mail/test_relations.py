"""The author of a message, its path, thread and list; and the possible answers to a sent message."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spamnb.mail.parsing.message import parse
from spamnb.mail.path import path_of
from spamnb.mail.reading import read, read_content
from spamnb.mail.relations import Addressees, Relations, Reply, addressees, relations, reply
from tests.profiles import daily
from tests.table import over_rows

OWN = "from mx.example.org (localhost [127.0.0.1]) by store.example.org with LMTP; Mon, 1 Jun 2026 10:00:00 +0000"

PATH = "Received: from b.example (mail.b.example [9.9.9.7]) by mx.example.org; now\n"
FORGED = "from x (out.b.example [9.9.9.7]) by mx.example.org (Postfix) with ESMTP id 2; Mon, 1 Jun 2026 09:59:59 +0000"


def received(*fields: str) -> bytes:
    """A message that came over these servers, the last one on top."""
    return "".join(f"Received: {field}\n" for field in fields).encode() + b"From: a@example.org\n\nhello\n"


@over_rows(
    ("fields", "path"),
    [
        # Postfix, and what it calls a server without a name
        (["from a.example (out.b.example [9.9.9.7]) by mx.example.org (Postfix) with ESMTP id 1"], "b.example"),
        (["from b.example (unknown [9.9.9.7]) by mx.example.org (Postfix)"], "9.9.9"),
        # sendmail; a name that is only claimed, and one that may be forged, say nothing
        (["from b.example ([9.9.9.7]) by mx.example.org (8.15.2/8.15.2)"], "9.9.9"),
        (["from x (root@b.example [9.9.9.7]) by mx.example.org (8.15.2/8.15.2)"], "b.example"),
        (["from x (b.example [9.9.9.7] (may be forged)) by mx.example.org (8.15.2/8.15.2)"], "9.9.9"),
        # Exim
        (["from b.example ([9.9.9.7] helo=friend.example) by mx.example.org with esmtp (Exim 4.94)"], "b.example"),
        (["from [9.9.9.7] (helo=friend.example) by mx.example.org with esmtp (Exim 4.94)"], "9.9.9"),
        # qmail, and a provider whose uppermost fields name no sender
        (["from unknown (HELO friend.example) (9.9.9.7) by mx.example.org with SMTP"], "9.9.9"),
        (["by 10.1.1.1 with SMTP id x", "from b.example (b.example. [9.9.9.7]) by mx.example.org"], "b.example"),
        # the person's own servers are passed over, and so is a program that fetches mail
        ([OWN, "from x (out.b.example [9.9.9.7]) by mx.example.org"], "b.example"),
        (["from pop.c.example [9.9.9.1] by localhost with POP3", "from x (b.example [9.9.9.7]) by m"], "b.example"),
        # a server that calls itself an address of another one
        (["from [8.8.8.8] (unknown [9.9.9.7]) by mx.example.org"], "8.8.8 9.9.9"),
        (["from (b.example [8.8.8.8]) (evil.example [9.9.9.7]) by mx.example.org"], "8.8.8 9.9.9"),
        (["from (b.example [9.9.9.7]) (evil.example [9.9.9.7]) by mx.example.org"], "9.9.9"),
        # what a stranger has written below the field of the person's own server
        (["from x (evil.example [9.9.9.7]) by mx.example.org", "from y (b.example [8.8.8.8]) by z"], "evil.example"),
        (["from x (mail.shop.example.co.uk [9.9.9.7]) by mx.example.org"], "example.co.uk"),
        (["from x (unknown [IPv6:2001:4860:4860::8888]) by mx.example.org"], "2001:4860:4860"),
        (["from x (unknown [IPv6:::ffff:9.9.9.7]) by mx.example.org"], "9.9.9"),
        (["from friend.example (unknown [::ffff:9.9.9.7]) by mx.example.org with ESMTP (Courier)"], "9.9.9"),
        (["from x (unknown [192.168.1.7]) by mx.example.org"], ""),
        ([], ""),
        # behind a translation of addresses or in a container all come from one address, and have written what is below
        (["from x (unknown [172.17.0.1]) by mx.example.org (Postfix) with ESMTP id 1", FORGED], ""),
        (["from x (mx.example.org [192.168.1.1]) by mx.example.org", FORGED], ""),
        (["from x (unknown [100.64.0.1]) by mx.example.org", FORGED], ""),
        (["from x (unknown [IPv6:fd00::1]) by mx.example.org", FORGED], ""),
        (["from x (unknown [::ffff:172.17.0.1]) by mx.example.org", FORGED], ""),
        (["from [9.9.9.7] (unknown [172.17.0.1]) by mx.example.org"], ""),
        (["from (b.example [9.9.9.7]) (unknown [172.17.0.1]) by mx.example.org"], ""),
        (["from unknown (HELO 9.9.9.7) (172.17.0.1) by mx.example.org with SMTP"], ""),
        ([OWN, "from x (unknown [172.17.0.1]) by mx.example.org (Postfix) with ESMTP id 1", FORGED], ""),
        (["from x by mx.example.org with qmail-scanner-1.00", FORGED], ""),
        # what a stranger calls himself, or the person, is no protocol
        (["from x with LMTP (unknown [172.17.0.1]) by mx.example.org with ESMTP id 1", FORGED], ""),
        (["from x by y with LMTP (unknown [172.17.0.1]) by mx.example.org with ESMTP id 1", FORGED], ""),
        (["from [127.0.0.1] by y (unknown [172.17.0.1]) by mx.example.org with ESMTP id 1", FORGED], ""),
        (['from x (u [172.17.0.1]) by mx.example.org for <"you+ with imap "@example.org>', FORGED], ""),
        (['from x (evil.example [8.8.4.4]) by mx for <"a with imap "@example.org>', FORGED], "evil.example"),
        # handed over on one machine, or by a protocol that no stranger speaks
        (["from mx.example.org by store.example.org with LMTP id 1", FORGED], "b.example"),
        (["from mx.example.org ([10.1.1.1]) by store.example.org with LMTPS id 1", FORGED], "b.example"),
        (["by mx.example.org (Postfix, from userid 5)", "from localhost ([::1]) by mx", FORGED], "b.example"),
        (["from pop.example ([10.1.1.1]) by localhost with IMAP (fetchmail) for me@localhost", FORGED], "b.example"),
        ([OWN] * 12 + [FORGED], ""),
    ],
)
def test_the_path(fields: list[str], path: str) -> None:
    """The path is the server outside that the person's own server took the message from, whatever it called itself."""
    assert relations(parse(received(*fields))).path == path


def test_what_a_message_says() -> None:
    """Sender, list, path and the Message-IDs that it answers are read; the same in every reader."""
    raw = (
        b"Received: from x (out.b.example [9.9.9.7]) by mx.example.org\nFrom: Ann <Ann@B.example>\n"
        b"List-Id: Talk about it <Talk.b.example>\nMessage-ID: <3@b.example>\n"
        b"References: <0@c.example>\n <1@c.example>\nIn-Reply-To: <2@c.example>\n\nhello\n"
    )
    found = read(raw).relations
    assert found == read_content(raw).relations
    assert found[:3] == ("ann@b.example", "talk.b.example", "b.example")
    assert len(set(found.answers)) == 3
    assert found.sender_over_path not in (None, found._replace(path="c.example").sender_over_path)
    assert found.sender_over_path != found._replace(sender="eve@b.example").sender_over_path
    assert read(raw.replace(b"From:", b"X:")).relations.answers == Relations().answers == ()
    assert found._replace(path="").sender_over_path is found._replace(sender="").sender_over_path is None


@over_rows(
    ("fields", "is_discussion"),
    [
        (["List-Post: <mailto:talk@b.example>"], True),
        (["List-Post: NO (posting is not allowed)"], False),
        (["List-Post:"], False),
        (["List-Id: <news.b.example>", "List-Unsubscribe: <mailto:leave@b.example>"], False),
    ],
)
def test_to_which_lists_one_may_write(fields: list[str], is_discussion: bool) -> None:
    """List-Post names an address or a page; NO says that nobody may write to the list."""
    assert relations(parse("\n".join([*fields, "", "hi"]).encode())).is_discussion is is_discussion


def test_only_the_nearest_references_count() -> None:
    """However many Message-IDs a stranger writes, the last twenty count."""

    def answers(*numbers: int) -> tuple[int, ...]:
        named = b" ".join(b"<%d@c>" % number for number in numbers)
        return relations(parse(b"From: a@b.example\nReferences: " + named + b"\n\nx\n")).answers

    assert answers(*range(90)) == answers(*range(70, 90))
    assert len(answers(*range(90))) == 20


def written(fields: str = "", text: str = "See you tomorrow.", to: str = "Bob <Bob@B.example>") -> Addressees:
    """To whom a sent message went."""
    head = f"From: Me <me@example.org>\nTo: {to}\nMessage-ID: <9@example.org>\nSubject: Lunch\n"
    return addressees(parse(f"{fields}{head}\n{text}\n".encode()))


def answer(sender: str, number: int = 9) -> tuple[int, ...]:
    """Return somebody's answer to it."""
    return relations(parse(f"From: {sender}\nIn-Reply-To: <{number}@example.org>\n\nyes\n".encode())).answers


def test_the_answers_that_a_sent_message_may_get() -> None:
    """All recipients but oneself may answer it, and no others; the message it answers is not the person's."""
    found = written("Cc: me@example.org, c@c.example\nBcc: d@d.example\nIn-Reply-To: <1@example.org>\n").answers
    assert set(found) == {*answer("Bob@b.example"), *answer("c@c.example"), *answer("d@d.example")}
    assert not set(answer("bob@b.example", 1)) & set(found)
    assert len(set(found)) == 3


def recipient(sender: str) -> int | None:
    """Return what makes a sender a recipient."""
    return relations(parse(f"From: {sender}\n\nyes\n".encode())).as_recipient


def test_to_whom_the_person_has_written() -> None:
    """All recipients but oneself are known as such, whatever the case of letters, also without a Message-ID."""
    found = written("Cc: me@example.org, c@c.example\nBcc: d@d.example\n").recipients
    assert set(found) == {recipient("BOB@b.example"), recipient("c@c.example"), recipient("d@d.example")}
    bare = addressees(parse(b"From: me@example.org\nTo: bob@b.example\n\nhello\n"))
    assert bare == Addressees((recipient("bob@b.example") or 0,), ())
    assert recipient("bob@b.example, eve@c.example") is recipient("bob@") is None


@pytest.mark.parametrize(
    "fields",
    [
        "Auto-Submitted: auto-replied\n",
        "Precedence: bulk\n",
        "Precedence: auto_reply\n",
        "X-Autoreply: yes\n",
        "Content-Type: multipart/report; boundary=x\n",
    ],
)
def test_what_no_person_wrote(fields: str) -> None:
    """An automatic reply or a receipt may get no answer: whoever writes to the person gets one."""
    assert written(fields, "--x\n\nread\n--x--") == Addressees()


@pytest.mark.parametrize(
    "fields",
    [
        ["from x (evil.example [9.9.9.7]) by mx.example.org with ESMTP id 1"],
        [OWN, "from x (evil.example [9.9.9.7]) by mx.example.org with ESMTP id 1"],
        ["from x (unknown [172.17.0.1]) by mx.example.org with ESMTP id 1"],
        ["from x by mx.example.org with ESMTP id 1"],
        [OWN] * 13,
    ],
)
def test_what_was_delivered_into_sent(fields: list[str]) -> None:
    """Mail from a different machine was not sent by this person, whatever its From; it makes nobody known."""
    assert written("".join(f"Received: {field}\n" for field in fields)) == Addressees()


@pytest.mark.parametrize("field", [OWN, "by laptop (Postfix, from userid 1000) id 1", "by 10.1.1.1 with HTTP"])
def test_a_copy_that_stayed_on_the_machine(field: str) -> None:
    """A copy to oneself, filed into Sent by a rule, was sent by this person if it never left their machine."""
    assert written(f"Received: {field}\n") == written()


def test_which_message_a_letter_answers() -> None:
    """In-Reply-To names it, and else the last of References; the letter goes to its sender alone among the senders."""

    def replied(fields: str) -> Reply:
        return reply(parse(f"From: me@example.org\nTo: Bob <Bob@B.example>, me@example.org\n{fields}\nyes\n".encode()))

    def is_answered(sender: str, name: str = "<1@b.example>") -> bool:
        return found.answers(parse(f"From: {sender}\nMessage-ID: {name}\n\nhello\n".encode()))

    found = replied("In-Reply-To: <1@b.example>\nReferences: <0@b.example> <2@b.example>\n")
    assert found == Reply(("bob@b.example",), ("1@b.example",))
    assert is_answered("BOB@b.example")
    assert not any(map(is_answered, ["eve@b.example", "bob@b.example, eve@b.example", "me@example.org", "bob@"]))
    assert not is_answered("bob@b.example", "<2@b.example>")
    assert not is_answered("bob@b.example", "")
    assert replied("References: <0@b.example> <2@b.example>\n").message_ids == ("2@b.example",)
    assert replied("") == Reply(("bob@b.example",))
    assert replied("In-Reply-To: <1@b.example>\nAuto-Submitted: auto-replied\n") == Reply()
    assert (
        replied("In-Reply-To: <1@b.example>\nReceived: from x (evil.example [9.9.9.7]) by mx.example.org\n") == Reply()
    )


@pytest.mark.parametrize(
    ("sender", "received", "site"),
    [
        ("orders@mail.shop.example", PATH, "shop.example"),
        ("orders@mail.shop.example", "", ""),
        ("a@shop.example, b@shop.example", PATH, ""),
        ("ann@gmail.com", PATH, ""),
        ("orders@shop.onmicrosoft.com", PATH, "shop.onmicrosoft.com"),
        ("root@[192.0.2.1]", PATH, ""),
    ],
)
def test_the_site_of_a_sender(sender: str, received: str, site: str) -> None:
    """A sender has a site if its mail came over a path, and strangers do not share its domain."""
    assert relations(parse(f"{received}From: {sender}\n\nhello\n".encode())).site == site


def test_what_is_a_letter_all_the_same() -> None:
    """Auto-Submitted may say no; what goes to very many is an announcement."""
    assert written("Auto-Submitted: no\n") == written() != Addressees()
    assert written(to=", ".join(f"a{n}@b.example" for n in range(60))) == Addressees()


FIELDS = st.sampled_from(
    [b"From: ", b"\nReceived: from ", b" by ", b"(", b"[9.9.9.7]", b"\nList-Id: <", b"\nReferences: <a@b>",
     b"\nTo: a@b",
     b"\n\n", b"\nPrecedence: ", b">", b"@", b"[::1]", b"\nMessage-ID: <\xff\xfe>", b"\nTo: undisclosed-recipients:;"]
)  # fmt: skip  # a list of fragments is read more easily in lines


@settings(deadline=None, max_examples=daily(100))
@given(st.lists(FIELDS | st.binary(max_size=20), max_size=40).map(b"".join))
def test_any_bytes(raw: bytes) -> None:
    """Any bytes have relations of limited size, and may be read as sent."""
    reading = read(raw)
    found, sender = reading.relations.answers, reading.relations.sender_over_path
    assert len(found) <= 20
    assert all(-(2**63) <= value < 2**63 for value in (*found, sender or 1, *sum(addressees(parse(raw)), ())))


def test_a_path_takes_time_in_proportion() -> None:
    """The work for Received fields is limited, whatever they contain."""
    for field in ("1.1.1.1 " * 9000, ":" * 9000, "(a." * 9000, "(" * 9000, "a" * 9000):
        assert len(path_of([f"from {field}"] * 1000)) < 2000


# Kept in ledgers: these never change. Of networks on which Pythons do not agree, a path comes of 2001:4860:: alone.
PINNED = {
    "9.9.9.7": 4072403658341400912,
    "2001:4860::1": 8061754860974320257,
    "2002::1": None,
    "64:ff9b:1::1": None,
    "2001:4:112::1": None,
    "192.0.0.9": None,
    "224.0.0.1": None,
}


@over_rows("written", PINNED)
def test_what_the_ledger_keeps_never_changes(written: str) -> None:
    """The hashes of a sender over a path are the same with every Python and in every later version."""
    raw = (
        f"Received: from a.example (unknown [{written}]) by mx.example.org; Mon, 1 Jun 2026 10:00:00 +0000\n"
        "From: Anna <anna@friends.example>\nIn-Reply-To: <1@home.example>\n\nhello\n"
    )
    relations = read(raw.encode()).relations
    assert (relations.sender_over_path, relations.answers) == (PINNED[written], (45670309958857759,))
    assert relations.as_recipient == 7816401782954352632


@over_rows(
    ("results", "sender", "is_signed"),
    [
        (["mx.example.org; dkim=pass header.d=shop.example"], "news@shop.example", True),
        (["mx.example.org; dkim=pass header.d=shop.example"], "b@mail.shop.example", True),
        (["dkim=pass header.d=shop.example"], "news@shop.example", True),  # Microsoft's, which has no name
        (["mx.example.org; dmarc=pass header.from=shop.example"], "news@shop.example", True),
        (["mx.example.org; dmarc=pass"], "news@shop.example", False),
        (["mx.example.org; dkim=fail header.d=shop.example"], "news@shop.example", False),
        (["mx.example.org; dkim=pass header.d=evil.example"], "news@shop.example", False),
        (["mx.example.org; dkim=pass header.d=shop.example; dmarc=fail"], "news@shop.example", False),
        (["mx.example.org; ("], "news@shop.example", False),
        ([], "news@shop.example", False),
        (["mx.example.org; dkim=pass header.d=shop.example"], "", False),
    ],
)
def test_who_answers_for_a_message(results: list[str], sender: str, is_signed: bool) -> None:
    """A lesson keeps the holder of From's domain if the server at the top vouches for it; this hash never changes."""
    found = Relations(sender, results=tuple(results)).signed_by
    assert found == (PINNED_HOLDER if is_signed else None)
    assert Relations(sender, others=("b@b.example",), results=tuple(results)).signed_by is None


PINNED_HOLDER = 6768891755184008799
