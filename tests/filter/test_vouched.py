"""A newsletter that the person's own server vouches for."""

import pytest

from spamnb.base.label import How, Label, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring, Senders
from spamnb.filter.judge import Filter, FrozenFilter, Judgement
from spamnb.filter.vouching import Trusted, voucher
from spamnb.ledger.lessons.acquaintance import Seen, SignedBefore
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.holders import holder_of
from spamnb.mail.reading import Content, Reading, read, read_content
from spamnb.mail.relations import Relations
from tests.mail.test_own_results import FORMS
from tests.table import over_rows

OURS = "mx.example.org"
WHY = "mx.example.org vouches for this newsletter, and you have called no mail of shop.example spam"
BORDER = "Received: from out.shop.example (out.shop.example [9.9.9.7]) by mx.example.org with ESMTP; 1 Jun 2026"
SIGNED = "Authentication-Results: mx.example.org; dkim=pass header.d=shop.example"
LEAVE = "List-Unsubscribe: <https://shop.example/bye>"


def newsletter(number: int = 1, *fields: str, sender: str = "news@shop.example") -> Reading:
    """A newsletter of a shop, worded as spam."""
    lines = message("spam", 700 + number).split(b"\n")
    head = "\n".join([*fields, f"From: {sender}"]).encode()
    return read(b"\n".join([head, *(line for line in lines if not line.startswith(b"From:"))]))


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
        ([SIGNED, LEAVE], OURS, False),  # no machine outside: a stranger may have written the field
        ([BORDER.replace("9.9.9.7", "172.17.0.1"), SIGNED, LEAVE], OURS, True),
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


def signed(number: int, sender: str, *, path: str = "9.9.9.7", result: str = "pass", by: str = "") -> Reading:
    """A newsletter with the server's result for a signature; by: who signs, if not the domain of the sender."""
    domain = by or sender.rpartition("@")[2]
    field = f"Authentication-Results: {OURS}; dkim={result} header.d={domain}"
    border = BORDER.replace("out.shop.example [9.9.9.7]", f"unknown [{path}]")
    return newsletter(number, field, border, LEAVE, sender=sender)


def is_vouched_for(lessons: MemoryLessons, reading: Reading) -> bool:
    """Whether the server vouches for a message."""
    return judged(lessons, reading, Senders(), OURS).verdict is Verdict.UNSURE


def decide(lessons: MemoryLessons, label: Label, *readings: Reading) -> None:
    """Decide what some messages are."""
    lessons.learn(readings, label, "moved", 2.0, how=How.MOVE)


OTHERS = {
    "a new address": ("deals@shop.example", "9.9.9.7"),
    "a new subdomain": ("news@mail.shop.example", "9.9.9.7"),
    "a new path": ("news@shop.example", "8.8.4.4"),
    "all of it": ("x@a.b.shop.example", "8.8.4.4"),
    "no path": ("x@shop.example", "172.17.0.1"),
}


@over_rows(("sender", "path"), OTHERS.values())
def test_a_decision_counts_for_the_site(lessons: MemoryLessons, sender: str, path: str) -> None:
    """One decision that signed mail is spam ends it for the site, over any path, until it is undone."""
    taught = MemoryLessons()
    taught.take_over(lessons.copies_of(digests := [each.digest for each in lessons.changes(0)], digests))
    assert is_vouched_for(taught, signed(2, sender, path=path))
    decide(taught, Label.SPAM, signed(1, "news@shop.example"))
    assert not is_vouched_for(taught, signed(2, sender, path=path))
    assert is_vouched_for(taught, signed(3, "news@other.example", path=path))
    taught.forget([signed(1, "news@shop.example").digest], "undone", 3.0, how=How.HAND)
    assert is_vouched_for(taught, signed(2, sender, path=path))


def test_who_signs_for_a_subdomain(lessons: MemoryLessons) -> None:
    """A decision about mail of a subdomain counts for the site and for its other subdomains."""
    decide(lessons, Label.SPAM, signed(1, "news@mail.shop.example", by="shop.example"))
    assert not is_vouched_for(lessons, signed(2, "news@letters.shop.example"))
    assert not is_vouched_for(lessons, signed(3, "news@shop.example", by="mail.shop.example"))


@pytest.mark.parametrize("result", ["fail", "none"])
def test_forged_mail_says_nothing_of_the_site(lessons: MemoryLessons, result: str) -> None:
    """A decision about mail that only claims to be of a site does not end it: anyone can write any From."""
    decide(lessons, Label.SPAM, *[signed(n, "news@shop.example", path="8.8.4.4", result=result) for n in range(9)])
    decide(lessons, Label.SPAM, signed(20, "news@shop.example", path="8.8.4.4", by="evil.example"))
    assert is_vouched_for(lessons, signed(30, "news@shop.example"))
    assert not is_vouched_for(lessons, signed(31, "news@shop.example", path="8.8.4.4")), "this address over this path"


def test_ham_makes_up_for_spam(lessons: MemoryLessons) -> None:
    """It counts until as many decisions call mail of the site ham; the very sender stays without a voucher."""
    decide(lessons, Label.SPAM, signed(1, "news@shop.example"))
    decide(lessons, Label.HAM, signed(2, "orders@shop.example", path="8.8.4.4"))
    found = judged(lessons, signed(3, "parcels@shop.example"), Senders(), OURS)
    assert found.vouched == WHY.replace("no mail of shop.example spam", "no more mail of shop.example spam than ham")
    assert not is_vouched_for(lessons, signed(4, "news@shop.example"))
    assert not is_vouched_for(lessons, signed(5, "news@shop.example", path="172.17.0.1")), "perhaps this very sender"
    decide(lessons, Label.SPAM, signed(6, "offers@shop.example"))
    assert not is_vouched_for(lessons, signed(3, "parcels@shop.example"))


@pytest.mark.parametrize("domain", ["gmail.com", "hotmail.co.uk", "a.onmicrosoft.com", "a.gouv.fr"])
def test_strangers_do_not_answer_for_one_another(lessons: MemoryLessons, domain: str) -> None:
    """A decision about one user of a provider, or one name below a shared one, counts for that one alone."""
    decide(lessons, Label.SPAM, *[signed(number, f"eve@{domain}") for number in range(3)])
    assert not is_vouched_for(lessons, signed(5, f"eve@{domain}", path="8.8.4.4"))
    assert is_vouched_for(
        lessons, signed(6, f"ann@{domain}" if "@" in holder_of(f"ann@{domain}") else f"ann@b{domain}")
    )


@pytest.mark.parametrize("provider", FORMS)
def test_at_each_provider(lessons: MemoryLessons, provider: str) -> None:
    """A newsletter is vouched for at each large provider, also if no path is known there; one decision ends it."""
    form = FORMS[provider]
    raw = form.mail("pass", LEAVE).replace(b"dmarc=none", b"dmarc=pass").replace(b"dmarc=unknown", b"dmarc=pass")
    first, second = (read_content(raw.replace(b"news@", address)).relations for address in (b"news@", b"b@"))
    assert first.is_newsletter
    assert voucher(first, Seen(), lessons.signed_before, form.site, frozenset())
    decide(lessons, Label.SPAM, Reading(b"first", "first", {"hello": 1}, first))
    (seen,) = lessons.seen([second])
    assert not voucher(second, seen, lessons.signed_before, form.site, frozenset())


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


UNLESS = "and you have called no mail of shop.example spam"
RESULTS = ("mx.example.org; dkim=pass header.d=shop.example",)
NO_POLICY = (f"{RESULTS[0]}; dmarc=none",)
NONE = SignedBefore()
LETTER = Relations("news@shop.example", path="9.9.9", results=RESULTS)
CONTACT = f"mx.example.org vouches for its sender, who is in your address book, {UNLESS}"


@over_rows(
    ("relations", "seen", "before", "contacts", "why"),
    [
        (LETTER, Seen(), NONE, {"news@shop.example"}, CONTACT),
        (LETTER, Seen(ham=True), NONE, {"news@shop.example"}, CONTACT),
        (LETTER._replace(is_newsletter=True), Seen(), NONE, set(), WHY),
        # a newsletter needs a policy, if the server asks for one
        (LETTER._replace(results=NO_POLICY), Seen(), NONE, {"news@shop.example"}, CONTACT),
        (LETTER._replace(results=NO_POLICY, is_newsletter=True), Seen(), NONE, set(), ""),
        (LETTER, Seen(), NONE, {"other@shop.example"}, ""),
        (LETTER, Seen(spam=True), NONE, {"news@shop.example"}, ""),
        (LETTER, Seen(ham=True, spam=True), NONE, {"news@shop.example"}, ""),
        # an address alone proves nothing
        (LETTER._replace(results=()), Seen(ham=True), NONE, {"news@shop.example"}, ""),
        (
            LETTER._replace(results=("mx.example.org; dkim=pass header.d=evil.example",)),
            Seen(),
            NONE,
            {LETTER.sender},
            "",
        ),
        (LETTER._replace(path=""), Seen(), NONE, {"news@shop.example"}, CONTACT),
        (LETTER._replace(path=""), Seen(), SignedBefore(2, 1), {"news@shop.example"}, ""),
        (LETTER, Seen(), SignedBefore(2, 3), {"news@shop.example"}, ""),
        (
            LETTER,
            Seen(),
            SignedBefore(2, 2),
            {"news@shop.example"},
            CONTACT.replace("no mail", "no more mail") + " than ham",
        ),
        (LETTER._replace(others=("eve@evil.example",)), Seen(), NONE, {"news@shop.example"}, ""),
        (LETTER._replace(sender=""), Seen(), NONE, {""}, ""),
    ],
)
def test_whom_the_server_vouches_for(
    relations: Relations, seen: Seen, before: SignedBefore, contacts: set[str], why: str
) -> None:
    """A signed newsletter is unsure and not spam, and so is signed mail of a contact; a decision ends that."""
    assert voucher(relations, seen, lambda _: before, OURS, contacts) == why
    assert voucher(relations, seen, never_asked, None, contacts) == ""


def never_asked(relations: Relations) -> SignedBefore:
    """Fail: nobody needs to know what was decided about mail of who answers for this message."""
    raise AssertionError(relations)


def test_the_decisions_about_signed_mail_are_asked_for_last(lessons: MemoryLessons) -> None:
    """Who has signed a message is found out only if the server could vouch for it."""
    contacts = {LETTER.sender}
    for relations, seen in (
        (LETTER, Seen(spam=True)),
        (LETTER._replace(results=()), Seen()),
        (LETTER._replace(sender="ann@other.example"), Seen()),
    ):
        assert voucher(relations, seen, never_asked, OURS, contacts) == ""
    with pytest.raises(AssertionError):
        voucher(LETTER, Seen(), never_asked, OURS, contacts)
