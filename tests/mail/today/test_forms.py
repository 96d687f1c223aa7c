"""The tokens of each form of present-day mail, and the texts that must not be tokens."""

import re
from functools import cache

import pytest

from spamnb.base.label import Label
from spamnb.mail.reading import read
from tests.mail.today.library import LIBRARY, Mail
from tests.mail.today.noise import is_noise, is_uuid
from tests.table import over_rows

MOST_NOISE = 0.3  # percent of the library's tokens; it has 0.13
HOSTS = {"received", "received-claimed", "message-id", "url", "image-url", "mail", "attached-url"}
MARKS_OF_A_CALENDAR = {"begin", "vcalendar", "vevent", "vtimezone", "valarm", "dtstart", "tzid", "rrule", "attendee"}
REGION = "eurprd08."  # all machines of a region have it behind their names
LARGE_SENDERS = {"numbered_sender", "cloud_sender", "list_sender"}

MUST = {
    # invitations
    "invitation-to-a-rehearsal": {
        "ics-method:request", "organizer:webpost.example", "second", "movement", "opening-pair:summer rehearsal",
    },
    "renewal-in-a-calendar": {"ics-method:request", "organizer:webpost.example", "refund", "antivirus"},
    "cancelled-meeting": {"ics-method:cancel", "organizer:northmill.example", "skagen", "auditors"},
    # attached pages
    "voicemail-with-html": {
        "attached-html:script", "attached-html:form", "attached-html:atob",
        "attached-url:portal-login.badhost.example", "attached-url:badhost.example",
        "attached:text/html", "attached-extension:html",
    },
    "document-in-svg": {
        "attached-html:script", "attached-html:atob", "attached-url:pay.badhost.example", "attached-extension:svg",
    },
    # letters in disguise
    "styled-letters": {"body-styled:", "subject-styled:", "subject:luxury", "replica"},
    "full-width-letters": {"body-styled:", "subject-styled:", "subject:loan", "cash"},
    # the extensions of long names
    "dmarc-report-zip": {"attached-extension:zip"},
    "dmarc-report-gz": {"attached-extension:xml.gz", "attached-extension:gz"},
    "report-that-is-a-program": {"attached-extension:pdf.exe", "attached-extension:exe"},
    # relays over IPv6, and servers without a name
    "letter-over-ipv6": {
        "received-ip:2606:4700", "received-ip:2606:4700:4700", "received-claimed-ip:2620:00fe", "rdns:unknown",
        "agree:from-path:ip",
    },
    # who delivers for whom
    "letter-from-an-own-server": {"agree:from-path:same", "rdns:helo", "message-id-shape:uuid", "skew:+0"},
    "extortion": {"agree:from-path:same", "skew:+9"},
    "newsletter-of-a-shop": {"agree:from-path:other", "skew-first:+0"},
    "minutes-from-a-colleague": {"rdns:site", "agree:from-path:other"},
    "redirected-to-another-site": {"url-redirects:", "url:refund-desk.badhost.example"},
    "suspended-account": {"url-redirects:", "url:streambox-verify.badhost.example"},
    "boss-fraud": {"reply-to-elsewhere:"},
}  # fmt: skip  # a message's tokens are read more easily together
MUST_NOT = {
    "invitation-to-a-rehearsal": {"vcalendar", "dtstart", "tzid", "econd", "reminder"},
    "voicemail-with-html": {"voice portal", "portal", "var", "onload"},  # the page's words are not read
    "letter-of-a-school": {"body-styled:", "subject-styled:"},
    "newsletter-of-a-choir": {"html:image-attached"},
}


@cache
def tokens(name: str) -> frozenset[str]:
    return frozenset(read(LIBRARY[name].raw).tokens)


def kind(token: str) -> str:
    return token.partition(":")[0] if ":" in token else ""


def test_the_library_is_of_both_kinds() -> None:
    """Twenty honest messages and twenty spam; each sending system has sent both."""
    labels = [mail.label for mail in LIBRARY.values()]
    assert (labels.count(Label.HAM), labels.count(Label.SPAM)) == (20, 20)
    systems = {label: {mail.system for mail in LIBRARY.values() if mail.label is label} for label in Label}
    assert systems[Label.HAM] == systems[Label.SPAM]


def test_the_library_is_of_made_up_hosts() -> None:
    """Every host in the library is below a name that nobody can own."""
    for mail in LIBRARY.values():
        hosts = re.findall(rb"(?:https?://|[\w.+-]@)([\w-]+(?:\.[\w-]+)+)", mail.raw.replace(b"=\n", b""))
        assert [host for host in hosts if not host.endswith(b".example")] == [], mail.name


@over_rows("name", MUST)
def test_what_is_evidence_becomes_a_token(name: str) -> None:
    """Text that shows the kind of a message, and occurs in others too, is a token."""
    assert MUST[name] - tokens(name) == set()


@pytest.mark.parametrize("name", MUST_NOT)
def test_what_is_none_becomes_no_token(name: str) -> None:
    """Text that shows nothing, or misleads, is not a token."""
    assert MUST_NOT[name] & tokens(name) == set()


@over_rows("mail", LIBRARY.values())
def test_no_ids(mail: Mail) -> None:
    """No UUID is a token, no mark of a calendar is a shout, and no host is named by an id or a machine's number."""
    found = tokens(mail.name)
    assert [token for token in found if is_uuid(token)] == []
    assert [token for token in found if kind(token) == "shout" and token[6:] in MARKS_OF_A_CALENDAR] == []
    hosts = [token.partition(":")[2] for token in found if kind(token) in HOSTS]
    assert [host for host in hosts if is_noise(host)] == []
    inner = [host for host in hosts if host.count(".") >= 3 and not host.startswith(REGION)]
    assert [host for host in inner if re.search(r"\d", host.partition(".")[0])] == []
    assert [
        token for token in found if kind(token) in {"x-mailer", "url-path", "image-url-path"} and is_noise(token)
    ] == []


@over_rows("mail", LIBRARY.values())
def test_the_facts_of_the_header(mail: Mail) -> None:
    """Each message that came over a public server tells how its sender, its date and that server agree."""
    facts = "skew skew-first date-shape from-shape from-name-shape helo-shape rdns rdns-shape rdns-digits"
    kinds = [kind(token) for token in tokens(mail.name)]
    assert [fact for fact in facts.split() if kinds.count(fact) != 1] == []
    assert len([token for token in tokens(mail.name) if token.startswith("agree:from-path:")]) == 1


@over_rows("mail", LIBRARY.values())
def test_the_recipient_is_no_host(mail: Mail) -> None:
    """The address behind `for` in a Received field is the person's own, and names no host of the way."""
    assert not {"received:anna.lind", "received:lind", "received-claimed:anna.lind"} & tokens(mail.name)


def test_messages_of_one_system_share_their_form() -> None:
    """A large sender writes its ids into each message, and yet two of its letters have the same shape of Message-ID."""
    for system in LARGE_SENDERS:
        shapes = [
            {token for token in tokens(mail.name) if kind(token) == "message-id-shape"}
            for mail in LIBRARY.values()
            if mail.system == system
        ]
        assert all(shape == shapes[0] for shape in shapes), system


def test_little_of_it_is_noise() -> None:
    """Few tokens of the library are met in one message alone because they hold an id."""
    met = [token for name in LIBRARY for token in tokens(name)]
    noise = [token for token in met if is_noise(token)]
    assert 100 * len(noise) / len(met) < MOST_NOISE, noise


@over_rows(
    ("token", "is_one"),
    [
        ("url:u48300791.ct.mailgrid.example", True),
        ("url-path:9f7c2a51e8d04b36", True),
        ("subject-pair:id 13748192837465019283", True),
        ("url-path:unsubscribe", False),
        ("received:eurprd08.prod.outpost.example", False),
        ("received-claimed:am0pr08mb5012.eurprd08.prod.outpost.example", True),
        ("received-ip:192.0.2", False),
        ("message-id-shape:adadadada", False),
    ],
)
def test_what_noise_is(token: str, is_one: bool) -> None:
    """An id is eight mixed letters and digits in a row; a word, a region or a shape is not."""
    assert is_noise(token) == is_one
