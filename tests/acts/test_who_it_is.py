"""Is it who it says? What a person should know of the sender of a message."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.acts.who_it_is import WhoItIs, who_it_is
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.mail.relations import Addressees
from spamnb.rules.lookalikes import lookalike
from tests.table import over_rows
from tests.web.doubtful import DOUBTFUL, KNOWN, OURS

CONFIG = Config((), Path("ledger"), authserv_id=OURS)
_NEW_YEAR = datetime(2026, 1, 1, 12).timestamp()  # in any zone


@pytest.fixture
def knowing(ledger: Ledger) -> Ledger:
    """A ledger that knows a friend and a bank."""
    for letter in KNOWN:
        training.learn_message(ledger, letter, Label.HAM, "a test", _NEW_YEAR, how=How.HAND)
    return ledger


def asked(ledger: Ledger, raw: bytes, config: Config = CONFIG) -> WhoItIs:
    """Return the facts about a message."""
    return who_it_is(ledger, config, raw, read(raw))


SAID = {
    "denied": "Your mail server mx.home.example says that it does not come from harbourbank.example.",
    "answers": "Your answer would go to paul.meyer.1987@gmail.com, and not to chair@rowing-club.example.",
    "name": "It calls itself letters@harbourbank.example, but it comes from x9@parcel-news.example.",
    "namesake": "You know Anna Keller from anna@friends.example. This is a.keller.home@quickmail.example.",
    "resembles": "harbourbnak.example looks like harbourbank.example, which you know. It is a different site.",
    "link": "A link shows www.harbourbank.example, but it leads to harbourbank.login-check.example.",
}


@pytest.mark.parametrize("kind", SAID)
def test_what_is_alarming(knowing: Ledger, kind: str) -> None:
    """Each of six messages says one alarming thing, in one sentence."""
    assert [(fact.kind, fact.sentence) for fact in asked(knowing, DOUBTFUL[kind]).alarming] == [(kind, SAID[kind])]


LOOKALIKE = "Your answer would go to a@{0}, and not to {1}. The two sites look alike."
BANK = "letters@harbourbank.example"


@over_rows(
    ("kind", "before", "after", "said"),
    [
        # an address before the angle, without quotation marks; with a second sender; in brackets
        ("name", b'"letters@harbourbank.example"', b"letters@harbourbank.example", SAID["name"]),
        ("name", b"news.example>", b"news.example>, Bo <bo@parcel-news.example>", SAID["name"]),
        ("name", b'"letters@harbourbank.example"', b'"Bank (letters@harbourbank.example)"', SAID["name"]),
        # a site that the person knows
        ("name", b"letters@harbourbank", b"Harbourbank", SAID["name"].replace("letters@", "")),
        (
            "name",
            b"letters@harbourbank.example",
            b"Login at www.harbourbank.example!",
            SAID["name"].replace("letters@", "www."),
        ),
        # answers to a site that looks alike, also if the sender is known; or to a provider, by another path than before
        (
            "answers",
            b"paul.meyer.1987@gmail.com",
            b"a@rowing-clubs.example",
            LOOKALIKE.format("rowing-clubs.example", "chair@rowing-club.example"),
        ),
        (
            "resembles",
            b"<letters@harbourbnak.example>",
            b"<letters@harbourbank.example>\nReply-To: a@harbourbanks.example",
            LOOKALIKE.format("harbourbanks.example", BANK),
        ),
        (
            "denied",
            b"dmarc=fail header.from=harbourbank.example",
            b"dmarc=none\nReply-To: a@gmail.com",
            f"Your answer would go to a@gmail.com, and not to {BANK}.",
        ),
        # a letter of another script
        (
            "resembles",
            b"harbourbnak",
            "h\u0430rbourbank".encode(),
            f"h\u0430rbourbank.example (xn--hrbourbank-zqi.example) {SAID['resembles'].partition(' ')[2]}",
        ),
        # a link to an address without a name
        (
            "link",
            b"harbourbank.login-check.example",
            b"9.9.9.8",
            "A link shows www.harbourbank.example, but it leads to 9.9.9.8.",
        ),
    ],
)
def test_other_forms(knowing: Ledger, kind: str, before: bytes, after: bytes, said: str) -> None:
    """A message that pretends in another way says one alarming thing, too."""
    assert before in DOUBTFUL[kind]
    raw = DOUBTFUL[kind].replace(before, after)
    assert [fact.sentence for fact in asked(knowing, raw).alarming] == [said]


def test_where_answers_of_a_known_sender_go(knowing: Ledger) -> None:
    """Answers of a known sender may go to a provider, if the mail came over a path that the person knows."""
    letter = KNOWN[0].replace(b"Sunday", b"Monday").replace(b"To:", b"Reply-To: anna.k@gmail.com\nTo:")
    assert asked(knowing, letter) == WhoItIs()
    (fact,) = asked(knowing, letter.replace(b"mail.friends.example", b"mail.cheap-host.example")).alarming
    assert fact.sentence == "Your answer would go to anna.k@gmail.com, and not to anna@friends.example."


def test_what_else_is_known(knowing: Ledger) -> None:
    """Beside it stands how long the sender is known, over which path, and who has signed the message."""
    said = [fact.sentence for fact in asked(knowing, DOUBTFUL["denied"]).known]
    assert said == [
        "You have mail from letters@harbourbank.example since 2026-01-01.",
        "It came over bulk-sender.example. You have kept no mail of this address that came this way.",
        "Your mail server found no valid signature of harbourbank.example.",
    ]
    elsewhere = DOUBTFUL["denied"].replace(b"bulk-sender.example", b"harbourbank.example")
    elsewhere = elsewhere.replace(b"dkim=none", b"dkim=pass header.d=evil.example")
    assert [fact.sentence for fact in asked(knowing, elsewhere).known][1:] == [
        "It came over harbourbank.example, as mail of this address that you kept.",
        "It is signed by evil.example, and not by harbourbank.example.",
    ]
    signed = f"Authentication-Results: {OURS}; dkim=pass header.d=rowing-club.example\n".encode() + DOUBTFUL["answers"]
    assert [fact.sentence for fact in asked(knowing, signed).known] == [
        "This is the first mail from chair@rowing-club.example here.",
        "Your mail server says that rowing-club.example has signed it.",
    ]


def test_ordinary_letters(knowing: Ledger) -> None:
    """An ordinary letter has nothing of this, whoever wrote it; then nothing is said of its sender either."""
    for raw in (*KNOWN, *[message("ham", number) for number in range(200, 230)], b"", b"\xff" * 100):
        assert asked(knowing, raw) == WhoItIs()


@over_rows(
    ("kind", "before", "after"),
    [
        ("denied", b"dmarc=fail", b"dmarc=none"),
        ("denied", b"mx.home.example; dkim", b"mx.evil.example; dkim"),
        ("denied", b"From:", b"List-Id: <talk.home.example>\nFrom:"),  # lists change mail, so DMARC fails
        ("answers", b"@gmail.com", b"@mail.rowing-club.example"),
        ("answers", b"@gmail.com", b"@lists.example"),
        ("answers", b"From:", b"List-Unsubscribe: <https://a.example>\nFrom:"),
        ("name", b"x9@parcel-news", b"x9@mail.harbourbank"),
        ("name", b"letters@harbourbank.example", b"parcels.example"),
        ("name", b"letters@harbourbank.example", b"No. 7 of harbour.bank"),
        ("namesake", b"Anna Keller", b"Anna"),
        ("namesake", b"Anna Keller", b"Anna Berger"),
        ("namesake", b"a.keller.home@quickmail", b"keller@mail.friends"),
        ("resembles", b"harbourbnak", b"mail.harbourbank"),
        ("resembles", b"harbourbnak", b"lighthouse"),
        ("resembles", b"harbourbnak.example", b"harbourbank.test"),
        ("link", b"https://harbourbank.login-check.example", b"https://www.harbourbank.example"),
        ("link", b"https://harbourbank.login-check.example", b"https://click.account-care.example"),
        ("link", b">www.harbourbank.example<", b">here<"),
    ],
)
def test_what_is_not_alarming(knowing: Ledger, kind: str, before: bytes, after: bytes) -> None:
    """A change that makes each of these messages honest leaves nothing to say."""
    assert before in DOUBTFUL[kind]
    changed = DOUBTFUL[kind].replace(before, after).replace(b"Harbour Bank", b"Letters")
    assert [fact.sentence for fact in asked(knowing, changed).alarming] == []


def test_whom_one_has_written_to(knowing: Ledger) -> None:
    """An address that the person has written to does not count as a namesake, and its answers may go elsewhere."""
    for kind in ("answers", "namesake", "resembles"):
        address = read(DOUBTFUL[kind]).relations.as_recipient
        knowing.lessons.add_sent({kind.encode(): Addressees((address or 0,))})
        assert asked(knowing, DOUBTFUL[kind]) == WhoItIs()


def test_the_message_itself_is_left_out(knowing: Ledger) -> None:
    """A message that is learned as ham is not known by itself."""
    training.learn_message(knowing, DOUBTFUL["namesake"], Label.HAM, "a test", 2.0, how=How.HAND)
    assert [fact.kind for fact in asked(knowing, DOUBTFUL["namesake"]).alarming] == ["namesake"]
    assert asked(knowing, DOUBTFUL["namesake"]).known[0].sentence.startswith("This is the first mail")


def test_without_a_server(knowing: Ledger) -> None:
    """If the person has named no server, nobody says who has signed a message."""
    config = replace(CONFIG, authserv_id=None)
    assert asked(knowing, DOUBTFUL["denied"], config) == WhoItIs()
    assert {fact.kind for fact in asked(knowing, DOUBTFUL["name"], config).known} == {"since"}


HOSTILE = (
    "\u202eelpmaxe.knab@srettel\u2066 letters@harbourbank.example",
    "<script>alert(1)</script> letters@harbourbank.example",
    "letters@harbourbank.example {} {0} %s",
    "letters@harbourbank.example " + "A" * 5000,
    "letters@harbourbank.example \u05d0\u05e0\u05d0 \u202d",
    "letters@harbourbank.example\x1b[2J",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(knowing: Ledger, name: str) -> None:
    """Marks, markup and control characters in a name stay out of a sentence, and a long name is cut."""
    quoted = name.replace("\\", "").replace('"', "")
    raw = DOUBTFUL["name"].replace(b"letters@harbourbank.example", quoted.encode())
    (fact,) = asked(knowing, raw).alarming
    several = "Mail programs may show letters@harbourbank.example or x9@parcel-news.example as its sender."
    assert fact.sentence in (SAID["name"], several)
    friend = DOUBTFUL["namesake"].replace(b"Anna Keller", f'"Anna {quoted[:20]} Keller"'.encode())
    for fact in asked(knowing, friend).alarming:
        assert fact.sentence.isprintable()
        assert len(fact.sentence) < 400


@over_rows(
    ("site", "known"),
    [
        ("paypa1.example", "paypal.example"),
        ("paypaI.example".lower(), "paypal.example"),
        ("p\u0430ypal.example", "paypal.example"),  # Cyrillic
        ("xn--pypal-4ve.example", "paypal.example"),
        ("p\u00e0ypal.example", "paypal.example"),
        ("rnodern-bank.example", "modern-bank.example"),
        ("modernbank.example", "modern-bank.example"),
        ("modern-banks.example", "modern-bank.example"),
        ("modren-bank.example", "modern-bank.example"),
        ("paypal.test", ""),
        ("paypals.example", ""),  # too short to tell it from another name
        ("nodern-bank.example", ""),
        ("server10.example", ""),
        ("lighthouse.example", ""),
        ("", ""),
        ("a" * 500, ""),
    ],
)
def test_lookalikes(site: str, known: str) -> None:
    """A site is taken for another if its letters look alike, or if one letter of a long name differs."""
    assert lookalike(site, ["friends.example", "paypal.example", "modern-bank.example", "server11.example"]) == known


def test_a_site_within_an_address(knowing: Ledger) -> None:
    """A site that one knows may stand in the address of another one."""
    raw = DOUBTFUL["resembles"].replace(b"harbourbnak.example", b"harbourbank.example.evil.test")
    (fact,) = asked(knowing, raw).alarming
    assert fact.sentence == "It comes from evil.test, and not from harbourbank.example, whose name is in its address."
