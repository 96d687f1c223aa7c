"""The kinds of token: each has words, and none is met that has none."""

import re
from collections.abc import Iterator
from unittest import mock

from spamnb.bayes.score_plain import GRAMS
from spamnb.filter.explain import named
from spamnb.filter.judge import Clue
from spamnb.ledger.lessons.acquaintance import Acquaintance, tokens_of
from spamnb.mail.limits import DEFAULT_LIMITS, Limits
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import read
from spamnb.mail.tokens.kinds import KINDS, NOTES, Kind, Note, family_of, row_of
from tests.documents import ROOT
from tests.table import over_rows

PLAIN = b"""Received: from mx.example.org (mx.example.org [192.0.2.9]) by home.example; Mon, 2 Nov 2026 10:00:00 +0100
Received: from inner.example.org (inner.example.org [198.51.100.7]) by mx.example.org
From: Anna <anna1234@example.org>, "bert@example.net" <bert@example.org>
Reply-To: Anna <anna@example.org>, Carl <carl@example.org>
To: Dora <dora@example.org>, "emil@example.net" <emil@example.org>
Cc: Fred <fred@example.org>, "gina@example.net" <gina@example.org>
Subject: lunch at noon!!!
Message-ID: <abc.123@example.org>
In-Reply-To: <x@example.org>
Date: Mon, 2 Nov 2026 10:00:00 +0100
X-Mailer: Mailer
User-Agent: Agent
X-MimeOLE: Produced
X-Originating-IP: 192.0.2.1
Organization: Example
Precedence: list
X-Priority: 3
X-MSMail-Priority: Normal
Importance: high
Auto-Submitted: no
Content-Language: en
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

Dear friends, LUNCH is at noon. Write to anna@example.org or see http://user@www.example.org:8080/menu/today and
http://192.0.2.7/ http://0x7f.1/ http://%65xample.com/ http://xn--bcher-kva.example/ http://t.example/?http://u.example/
"""
DELIVERED = [  # by a server whose name was looked up, with every outcome
    b"From: anna@example.org\nDate: Mon, 2 Nov 2026 10:00:00 +0100\n"
    b"Received: from " + server + b" by home.example; Mon, 2 Nov 2026 10:01:00 +0100\n\nx\n"
    for server in (
        b"mx.example.org (mx.example.org [9.9.9.7])",
        b"mx.example.org (mx2.example.org [9.9.9.7])",
        b"mx.example.org (mx.example.net [9.9.9.7])",
        b"mx.example.org (unknown [9.9.9.7])",
        b"mx.example.org ([9.9.9.7])",
    )
]
EMPTY = b"""From: <anna@example.org>
Reply-To: "bert@example.net" <anna@other.example>
To: dora@example.org
Cc: emil@example.org
Message-ID: <abc>
Date: today
Subject:

"""
SHOUTED = b"Subject: LUNCH AT NOON\n\nx\n"
ODD = "Subject: FREE m\u200boney n\u043ew 𝐡𝐞𝐫𝐞\n\nm\u200boney n\u043ew 𝐡𝐞𝐫𝐞\n".encode()
HTML = b"""Subject: picture
Content-Type: text/html; charset=utf-8

<!-- x --><p style="color:white">white</p><p style="display:none">hidden</p><form></form>
<a href="http://there.example/">http://here.example/</a><a href="page.html">a</a><a href="ftp://x.example/">b</a>
<img src="http://user@www.example.org:8080/pixel/today" width=1 height=1><img src="cid:one"><img src="data:image/png,x">
<img src="http://192.0.2.7/"><img src="http://0x7f.1/"><img src="http://%65xample.com/"><img src="pixel.png">
<img src="http://xn--bcher-kva.example/"><img src="http://t.example/?http://u.example/"><img src="mailto:a@example.org">
"""
PARTS = b"""Subject: parts
no field
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain; charset=us-ascii

\xe4 caf\xc3\xa9
--b
Content-Type: text/plain; charset=nobody

caf\xe9
--b
Content-Type: text/plain
Content-Transfer-Encoding: base64

QUJDRA=Q!
--b
Content-Type: text/plain

begin 644 a.txt
#0V%T
`
end
--b
Content-Type: application/pdf; name=a.pdf
Content-Disposition: attachment

x
"""
CALENDAR = b"""Subject: invitation
Content-Type: text/calendar

METHOD:REQUEST
ORGANIZER:mailto:anna@example.org
SUMMARY:lunch
"""
PAGE = b"""Subject: page
Content-Type: text/html; name=a.html
Content-Disposition: attachment

<form action="http://form.example/"></form>
"""
CHINESE = "Subject: letter\nContent-Type: text/plain; charset=utf-8\n\n漢字\n".encode()
BROKEN = b"Content-Type: multipart/mixed\n\nno parts, caf\xe9\n"
# What a limit leaves out, by the limit.
OPEN = b"Content-Type: text/html\n\n" + 2500 * b"<i>" + 2500 * b"</b>"
LIMITED = {
    Limits(message_bytes=9): PLAIN,
    Limits(header_bytes=9): PLAIN,
    Limits(header_fields=2): PLAIN,
    Limits(field_chars=2): PLAIN,
    Limits(parts=1): PARTS,
    Limits(nesting=0): PARTS,
    Limits(text_chars=2): PLAIN,
    Limits(unspaced_chars=1): CHINESE,
    Limits(html_chars=9): HTML,
    Limits(html_tags=1): HTML,
    Limits(html_depth=0): HTML,
    Limits(links=1): HTML,
    Limits(tokens=9): PLAIN,
    Limits(work=9): PLAIN,
}
MESSAGES = [
    (raw, DEFAULT_LIMITS)
    for raw in (PLAIN, *DELIVERED, EMPTY, SHOUTED, ODD, HTML, OPEN, PARTS, CALENDAR, PAGE, BROKEN, b"")
]
MESSAGES += [(raw, limits) for limits, raw in LIMITED.items()]


def tokens() -> set[str]:
    """All that the messages above hold, and what a ledger says of mail."""
    met = {token for raw, limits in MESSAGES for token in read(raw, limits).tokens}
    # No markup is known that does it.
    with mock.patch("spamnb.mail.tokens.markup.BeautifulSoup", side_effect=ValueError):
        met |= read(HTML).tokens.keys()
    return met | set(tokens_of(Acquaintance))


def prefixes(text: str) -> Iterator[str]:
    """The prefixes that a document names."""
    return (found for found in re.findall(r"`([a-z0-9-]+):[^`]*`", text))


def test_every_token_has_words() -> None:
    """Each token is of a kind or a note; nothing else passes for a word."""
    met = tokens()
    assert [token for token in met if row_of(token) is None] == []
    raw = b"".join(raw for raw, _ in MESSAGES).lower()
    notes = [token for token in met if re.fullmatch(r"[a-z]+(-[a-z]+)+", token) and token.encode() not in raw]
    assert [token for token in notes if token not in NOTES] == []


@over_rows("raw", [raw for raw, _ in MESSAGES])
def test_every_note_of_the_reader_has_words(raw: bytes) -> None:
    """Every note of the reader has a row."""
    assert set(parse(raw).notes) <= NOTES.keys()


def test_every_row_is_met() -> None:
    """Each kind and each note is of a token that the reader makes."""
    met = tokens()
    assert NOTES.keys() <= met
    of_kinds = {token for token in met if token not in NOTES or token.partition(":")[0] in KINDS}
    assert {token.partition(":")[0] for token in of_kinds if ":" in token} | {""} == KINDS.keys()


def test_a_note_speaks_as_its_kind_does() -> None:
    """A note with the prefix of a kind concerns the header exactly if that kind does."""
    kind_of = {note: KINDS.get(note.token.partition(":")[0]) for note in NOTES.values()}
    assert all(note.of_header == kind.of_header for note, kind in kind_of.items() if kind is not None)


def test_no_word_of_a_text_is_a_note() -> None:
    """Each note has a colon, which no word has, even if a text contains the note's own name."""
    names = " ".join(NOTES).replace(":", " ")
    words = read(f"Content-Type: text/plain\n\n{names}\n".encode()).tokens
    nothing = read(b"Content-Type: text/plain\n\nword\n").tokens
    assert not NOTES.keys() & (words.keys() - nothing.keys())


@over_rows("row", [*KINDS.values(), *NOTES.values()])
def test_words_are_plain(row: Kind | Note) -> None:
    """Words go in the middle of a sentence, and no two rows share them."""
    assert row.words.isprintable()
    assert row.words[:1].islower() or row.words.startswith("HTML")
    assert [one for one in (*KINDS.values(), *NOTES.values()) if one.words == row.words] == [row]


@over_rows(
    ("token", "kind", "text"),
    [
        ("charset-wrong:", "a text in another character set than it names", ""),
        ("limit:work", "that it takes too long to be read to its end", ""),
        ("subject-pair:^ lunch", "a subject that begins with", "lunch"),
        ("subject-pair:lunch $", "a subject that ends with", "lunch"),
        ("opening-pair:^ dear", "a text that begins with", "dear"),
        ("from:a@example.org", "the sender", "a@example.org"),
        ("url:2001:db8::1", "a link to", "2001:db8::1"),
        ("4: off", "words that begin with", "off"),
        ("4:ing ", "words that end in", "ing"),
        ("4: of ", "the short word", "of"),
        ("4: a b", "two words that begin with", "a b"),
        ("4:a b ", "two words that end in", "a b"),
        ("4:sing ", "in the subject, words that end in", "ing"),
        ("4:s at ", "in the subject, the short word", "at"),
        ("4:", "at the ends of words,", ""),
        ("later:x", "the mark", "later:x"),
    ],
)
def test_in_words(token: str, kind: str, text: str) -> None:
    """A token is described by its kind and its text; one of an unknown kind is shown unchanged."""
    found = named(Clue(token, 1, 0, -1.0, 1.0))
    assert (found.kind, found.text) == (kind, text)


def test_what_is_weighed_together() -> None:
    """Tokens that show HTML are one family; each other kind is its own, and all grams are one."""
    html = {token.partition(":")[0] for token in tokens() if family_of(token) == "html:"}
    assert html == {kind.prefix for kind in KINDS.values() if kind.family} | {"html"}
    assert {family_of("mime-parts:1"), family_of("url-image:x"), family_of("html")} == {"mime-parts:", "url-image:", ""}
    assert family_of("4: of ") == family_of("4:sing ") == GRAMS


def test_the_document_lists_the_kinds() -> None:
    """The table of tokens in docs/evidence/score.md has each kind, and no other."""
    _, _, table = (ROOT / "docs/evidence/score.md").read_text(encoding="utf-8").partition("## Tokens\n")
    notes = {token.partition(":")[0] for token in NOTES}
    assert {*prefixes(table.partition("\n## ")[0]), ""} - (notes - KINDS.keys()) == KINDS.keys()
