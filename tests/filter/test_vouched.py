"""A newsletter that the person's own server vouches for."""

import pytest

from spamnb.base.label import How, Label, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring, Senders
from spamnb.filter.judge import Filter, FrozenFilter, Judgement
from spamnb.filter.vouching import Trusted, voucher
from spamnb.ledger.lessons.acquaintance import Seen
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Content, Reading, read
from spamnb.mail.relations import Relations
from tests.table import over_rows

OURS = "mx.example.org"
WHY = "mx.example.org vouches for this newsletter, and you have not called mail of this sender spam"
BORDER = "Received: from out.shop.example (out.shop.example [9.9.9.7]) by mx.example.org with ESMTP; 1 Jun 2026"
SIGNED = "Authentication-Results: mx.example.org; dkim=pass header.d=shop.example"
LEAVE = "List-Unsubscribe: <https://shop.example/bye>"


def newsletter(number: int = 1, *fields: str, sender: str = "news@shop.example") -> Reading:
    """A newsletter of a shop, worded as spam."""
    lines = message("spam", 700 + number).split(b"\n")
    head = "\n".join([*fields, f"From: {sender}"]).encode()
    return read(b"\n".join([head, *(line for line in lines if not line.startswith(b"From:"))]))


@pytest.fixture
def lessons() -> MemoryLessons:
    """Lessons of letters and spam."""
    learned = MemoryLessons()
    for label in Label:
        learned.learn([read(message(label.word, n)) for n in range(25)], label, "filed", 1.0, how=How.HAND)
    return learned


def judged(lessons: MemoryLessons, reading: Reading, senders: Senders, authserv_id: str | None) -> Judgement:
    """Return the judgement, which is one for one message and for many."""
    alone = Filter(lessons, Scoring(), senders, Trusted(authserv_id)).judge(reading)
    content = Content(reading.tokens, reading.relations)
    assert (
        FrozenFilter(lessons, Scoring(), senders, Trusted(authserv_id)).judge_all([content])[0].verdict is alone.verdict
    )
    assert Filter(lessons, Scoring(), senders, Trusted(authserv_id)).explain(reading).judgement.vouched == alone.vouched
    return alone


@over_rows(
    ("fields", "authserv_id", "is_vouched"),
    [
        ([SIGNED, BORDER, LEAVE], OURS, True),
        ([BORDER, SIGNED, LEAVE], OURS, True),
        ([SIGNED, BORDER, LEAVE], None, False),
        ([SIGNED, BORDER, LEAVE], "other.example", False),
        ([SIGNED, BORDER], OURS, False),
        ([BORDER, LEAVE], OURS, False),
        ([SIGNED.replace("pass", "fail"), BORDER, LEAVE], OURS, False),
        ([SIGNED.replace("shop.example", "evil.example"), BORDER, LEAVE], OURS, False),
        ([SIGNED, LEAVE], OURS, False),  # no path: a decision about its sender could not be remembered
        ([BORDER.replace("9.9.9.7", "172.17.0.1"), SIGNED, LEAVE], OURS, False),
        ([BORDER, "Received: from a by b", SIGNED, LEAVE], OURS, False),
    ],
)
def test_a_signed_newsletter_is_unsure(
    lessons: MemoryLessons, fields: list[str], authserv_id: str | None, is_vouched: bool
) -> None:
    """Spam is unsure if the named server says that it is signed by From's site, and it offers to unsubscribe."""
    plain = judged(lessons, newsletter(1, *fields), Senders(), None)
    found = judged(lessons, newsletter(1, *fields), Senders(), authserv_id)
    assert plain.verdict is Verdict.SPAM
    assert found == (plain._replace(verdict=Verdict.UNSURE, vouched=WHY) if is_vouched else plain)


def test_an_address_in_doubt_is_not_vouched_for(lessons: MemoryLessons) -> None:
    """If From has several addresses, or programs disagree about it, no server vouches for the message."""
    for sender in ("news@shop.example, eve@evil.example", "<news@shop.example> <eve@evil.example>"):
        reading = newsletter(1, SIGNED, BORDER, LEAVE, sender=sender)
        assert judged(lessons, reading, Senders(), OURS).verdict is Verdict.SPAM


def test_a_decision_about_the_sender_goes_before_the_server(lessons: MemoryLessons) -> None:
    """After one decision that mail of the sender over this path is spam, the next newsletter is spam."""
    later = newsletter(2, SIGNED, BORDER, LEAVE)
    lessons.learn([newsletter(1, SIGNED, BORDER, LEAVE)], Label.SPAM, "in Junk", 2.0, how=How.SEEN, weak=True)
    assert judged(lessons, later, Senders(), OURS).vouched == WHY
    lessons.learn([newsletter(1, SIGNED, BORDER, LEAVE)], Label.SPAM, "moved", 2.0, how=How.MOVE)
    assert judged(lessons, later, Senders(), OURS).verdict is Verdict.SPAM


def test_the_persons_own_lists_go_before_the_server(lessons: MemoryLessons) -> None:
    """A blocked sender stays spam, and an allowed one is ham."""
    reading = newsletter(1, SIGNED, BORDER, LEAVE)
    for senders, verdict in ((Senders(block=("shop.example",)), "spam"), (Senders(allow=("shop.example",)), "ham")):
        found = judged(lessons, reading, senders, OURS)
        assert (found.verdict, found.listed, found.vouched) == (verdict, "shop.example", "")


def test_a_verdict_of_before(lessons: MemoryLessons) -> None:
    """A verdict from before the server wrote its field becomes unsure; one by the person's own list does not."""
    relations = newsletter(1, SIGNED, BORDER, LEAVE).relations
    spam = Judgement(Verdict.SPAM, 0.99, 2.3)
    for senders, authserv_id, verdict in (
        (Senders(), OURS, "unsure"),
        (Senders(), None, "spam"),
        (Senders(block=("shop.example",)), OURS, "spam"),
    ):
        assert (
            Filter(lessons, Scoring(), senders, Trusted(authserv_id)).judged_before(spam, relations).verdict == verdict
        )


UNLESS = "and you have not called mail of this sender spam"
RESULTS = ("mx.example.org; dkim=pass header.d=shop.example",)
LETTER = Relations("news@shop.example", path="9.9.9", results=RESULTS)
CONTACT = f"mx.example.org vouches for its sender, who is in your address book, {UNLESS}"


@over_rows(
    ("relations", "seen", "contacts", "why"),
    [
        (LETTER, Seen(), {"news@shop.example"}, CONTACT),
        (LETTER, Seen(ham=True), {"news@shop.example"}, CONTACT),
        (LETTER._replace(is_newsletter=True), Seen(), set(), WHY),
        (LETTER, Seen(), {"other@shop.example"}, ""),
        (LETTER, Seen(spam=True), {"news@shop.example"}, ""),
        (LETTER, Seen(ham=True, spam=True), {"news@shop.example"}, ""),
        # an address alone proves nothing
        (LETTER._replace(results=()), Seen(ham=True), {"news@shop.example"}, ""),
        (LETTER._replace(results=("mx.example.org; dkim=pass header.d=evil.example",)), Seen(), {LETTER.sender}, ""),
        (LETTER._replace(path=""), Seen(), {"news@shop.example"}, ""),
        (LETTER._replace(others=("eve@evil.example",)), Seen(), {"news@shop.example"}, ""),
        (LETTER._replace(sender=""), Seen(), {""}, ""),
    ],
)
def test_whom_the_server_vouches_for(relations: Relations, seen: Seen, contacts: set[str], why: str) -> None:
    """A signed newsletter is unsure and not spam, and so is signed mail of a contact; a decision ends that."""
    assert voucher(relations, seen, OURS, contacts) == why
    assert voucher(relations, seen, None, contacts) == ""
