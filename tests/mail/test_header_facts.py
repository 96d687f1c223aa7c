"""Facts of the header: how its parts are written, and how they agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.mail.reading import read
from spamnb.mail.tokens.kinds import row_of
from spamnb.mail.tokens.shapes import id_shape
from spamnb.mail.tokens.urls import hosts
from tests.table import over_rows

FACTS = ("agree", "skew", "skew-first", "date-shape", "from-shape", "from-name-shape", "helo-shape", "rdns")
FACTS += ("rdns-shape", "rdns-digits")
DATE = "Mon, 2 Nov 2026 10:00:00 +0100"
NEWSLETTER = """Received: from mail-7.post.example.net (mail-7.post.example.net [9.9.9.7])
 by mx.home.example (Postfix) with ESMTPS id 4XyZ for <dora@home.example>; Mon, 2 Nov 2026 10:09:30 +0100 (CET)
Received: from shop12 ([9.9.8.3]) by mail-7.post.example.net with ESMTP id 7; Mon, 2 Nov 2026 09:00:10 GMT
From: "The Shop" <news.letter7@shop.example.org>
Date: Mon, 2 Nov 2026 10:00:00 +0100
"""


def tokens(header: str) -> set[str]:
    return set(read(header.encode("utf-8", "surrogateescape") + b"\n\nbody\n").tokens)


def of_kinds(header: str, *kinds: str) -> set[str]:
    return {token for token in tokens(header) if token.partition(":")[0] in kinds}


def brought_by(server: str) -> set[str]:
    return of_kinds(f"Received: from {server} by mx.home.example; {DATE}", "helo-shape", "rdns", *FACTS[-2:])


def test_the_facts_of_a_header() -> None:
    """A newsletter that a sender's service delivers has one token of each kind."""
    assert of_kinds(NEWSLETTER, *FACTS) == {
        "agree:from-path:other",
        "skew:+3",
        "skew-first:+0",
        "date-shape:aaa, d aaa dddd dd:dd:dd +dddd",
        "from-shape:a.ad",
        "from-name-shape:Aa Aa",
        "helo-shape:a-d.net",
        "rdns:helo",
        "rdns-shape:a-d",
        "rdns-digits:1",
    }


def test_a_header_without_date_and_received_has_none() -> None:
    """Mail whose header was taken away has no facts that say so."""
    assert not of_kinds("From: Anna <anna@example.org>\nSubject: x", *FACTS)


@pytest.mark.parametrize(
    ("server", "sender", "agreement"),
    [
        ("a.example.org (a.example.org [9.9.9.7])", "anna@mail.example.org", "same"),
        ("a.example.org (a.example.org [9.9.9.7])", "anna@example.net", "other"),
        ("a.example.org (a.example.org [9.9.9.7])", "", "other"),
        ("a.example.org (unknown [9.9.9.7])", "anna@example.org", "ip"),
        ("a.example.org (unknown [IPv6:2a00:1450::7])", "anna@example.org", "ip"),
        ("a.example.org (a.example.org [192.168.0.7])", "anna@example.org", "none"),
    ],
)
def test_the_sender_and_the_server(server: str, sender: str, agreement: str) -> None:
    """A token says whether the sender's site is that of the delivering server."""
    header = f"Received: from {server} by mx.home.example\nFrom: {sender}"
    assert of_kinds(header, "agree") == {f"agree:from-path:{agreement}"}


@over_rows(
    ("arrived", "skew"),
    [
        ("Mon, 2 Nov 2026 10:00:59 +0100", "+0"),
        ("Mon, 2 Nov 2026 10:01:00 +0100 (CET)", "+1"),
        ("Mon, 2 Nov 2026 09:59:00 +0100", "-1"),
        ("2 Nov 2026 09:00:00 -0000", "+0"),
        ("Mon,  2 Nov 2026 09:00 UTC", "+0"),
        ("Mon, 2 Nov 2026 10:00:00 -0800", "+9"),
        ("Tue, 3 Nov 2026 10:00:00 +0100", "+10"),
        ("Mon, 2 Nov 2099 10:00:00 +0100", "+20"),
        ("Fri, 2 Nov 0001 10:00:00 +0100", "-20"),
        ("Mon, 2 Nov 2026 99:99:99 +9999", "-9"),
    ],
)
def test_the_time_on_the_way(arrived: str, skew: str) -> None:
    """The power of two of the minutes and one more, at most 20, with a sign; seconds do not count."""
    header = f"Received: from a by b; {arrived}\nDate: {DATE}"
    assert of_kinds(header, "skew", "skew-first") == {f"skew:{skew}", f"skew-first:{skew}"}


UNREADABLE = ["", "now", "Mon, 2 Nov 0000 10:00:00 +0100", "31 Jun 2026 10:00:00 +0100", "0 Nov 2026 10:00:00 +0100"]
UNREADABLE += ["2 Foo 2026 10:00:00 +0100", "2 Nov 26 10:00:00 +0100", "2 Nov 2026 10:00:00", "2 Nov 2026 10:00 EST"]
UNREADABLE += ["2 Nov 99999999999999999999 10:00:00 +0100", "9" * 5000, "2 Nov ²⁰²⁶ 10:00:00 +0100", ";" * 5000]


@over_rows("written", UNREADABLE)
def test_a_date_that_cannot_be_read(written: str) -> None:
    """If one of two dates is missing or unreadable, no token gives the time between them."""
    headers = (f"Received: from a by b; {written}\nDate: {DATE}", f"Received: from a by b; {DATE}\nDate: {written}")
    assert not [token for header in headers for token in of_kinds(header, "skew", "skew-first")]
    assert not of_kinds(f"Date: {DATE}", "skew", "skew-first")


def test_the_lowest_date_of_the_way() -> None:
    """`skew-first:` is of the lowest Received field of twelve."""
    late = "Received: from a by b; Mon, 2 Nov 2026 11:00:00 +0100\n"
    early = "Received: from a by b; Mon, 2 Nov 2026 10:01:00 +0100\n"
    assert "skew-first:+1" in tokens(late * 11 + early + f"Date: {DATE}")
    assert "skew-first:+5" in tokens(late * 12 + early + f"Date: {DATE}")


@over_rows(
    ("server", "helo", "rdns", "shape", "digits"),
    [
        ("a.example.org (a.example.org [9.9.9.7])", "a.org", "helo", "a", 0),
        ("[8.8.8.8] (c-24-5.isp.example [9.9.9.7])", "d", "other", "a-d-d", 2),
        ("mx1.example.org (mx2.example.org. [9.9.9.7])", "ad.org", "site", "ad", 1),
        ("example.org (may.example.net [9.9.9.7] (may be forged))", "a.org", "other", "a", 0),
        ("local (host [9.9.9.7])", "a", "other", "a", 0),
        ("a.example.org (unknown [9.9.9.7])", "a.org", "unknown", "a", 0),
        ("a.example.org ([9.9.9.7])", "a.org", "none", "none", 0),
        ("a.example.org ([9.9.9.7] helo=User7)", "ad", "other", "a", 0),  # Exim
        ("[9.9.9.7] (helo=user.example)", "a.example", "none", "none", 0),
        ("a.example.org (HELO a.example.org) (9.9.9.7)", "a.org", "helo", "a", 0),  # qmail
    ],
)
def test_the_server_that_brought_it(server: str, helo: str, rdns: str, shape: str, digits: int) -> None:
    """A token has the server's own name, and one the name found for its address."""
    expected = {f"helo-shape:{helo}", f"rdns:{rdns}", f"rdns-shape:{shape}", f"rdns-digits:{digits}"}
    assert brought_by(server) == expected


@pytest.mark.parametrize("server", ["a.example (a.example [10.0.0.7])", "localhost (localhost [127.0.0.1])", "x", ""])
def test_a_server_without_a_public_address(server: str) -> None:
    """The user's own server has no token; the field below it may be forged."""
    assert not brought_by(server)
    assert brought_by("a.example (a.example [9.9.9.7])")


def test_networks_of_ipv6() -> None:
    """An IPv6 address of a server has tokens for its networks."""
    topmost = "Received: from a.example (a.example [IPv6:2a00:1450:4864:20::52e]) by b; Mon, 2 Nov 2026 10:00:00 +0100"
    claimed = "Received: from c.example (2a00:0:4864::1) by 2a00:9:9::9 with SMTP id (1:2:3) [::ffff:9.9.9.9] [:::::]"
    found = {token for token in tokens(f"{topmost}\n{claimed}") if "-ip:2a" in token or "-ip:0" in token}
    assert found == {
        *("received-ip:2a00:1450", "received-ip:2a00:1450:4864"),
        *("received-claimed-ip:2a00:0000", "received-claimed-ip:2a00:0000:4864"),
    }


def test_a_claimed_address_is_told_by_its_networks() -> None:
    """Only the topmost Received field tells of a whole address."""
    found = of_kinds("Received: from a ([9.9.9.7])\nReceived: from b ([9.9.8.6])", "received-ip", "received-claimed-ip")
    assert found == {
        *("received-ip:9.9", "received-ip:9.9.9", "received-ip:9.9.9.7"),
        *("received-claimed-ip:9.9", "received-claimed-ip:9.9.8"),
    }


@pytest.mark.parametrize(
    "field",
    [
        "from a.example by b.example for <anna.lind@home.example>; Mon",
        "from a.example by b.example for anna.lind@home.example; Mon",
        "from a.example by b.example with esmtp (for all of them) for <anna.lind@home.example>",
    ],
)
def test_the_recipient_is_no_host_of_the_way(field: str) -> None:
    """The text behind `for` is an address of the user."""
    found = of_kinds(f"Received: {field}", "received")
    assert found == {"received:a.example", "received:b.example", "received:example"}


@pytest.mark.parametrize(
    "field",
    [
        "from looking for x@y.example ([9.9.9.7]) by b.example with esmtp",
        "from a.example (for you [9.9.9.7]) by b.example (Postfix for Debian) with esmtp",
        "from for.example ([9.9.9.7]) by b.example with esmtp",
        "from a by b for c@d ([9.9.9.7]) by b.example for <anna@home.example>",
    ],
)
def test_a_stranger_cannot_hide_the_way(field: str) -> None:
    """`for` in a comment, in a host's name or in what a stranger calls himself ends nothing."""
    assert {"received:b.example", "received-ip:9.9.9.7"} <= tokens(f"Received: {field}")


@over_rows(
    ("host", "first"),
    [
        ("mail217.suw10.mcsv.example", "maild.suw10.mcsv.example"),
        ("o82pr81mb1538.eur04.prod.example", "odprdmbd.eur04.prod.example"),
        ("c-24-5-10-3.hsd1.isp.example", "c-d-d-d-d.hsd1.isp.example"),
        ("24-5-10-3.hsd1.isp.example", "d-d-d-d.hsd1.isp.example"),
        ("20261102093000.a.shop.example", "a.shop.example"),
        ("65a7d26193901af0.mail.shop.example", "mail.shop.example"),
        ("214.mail.shop.example", "214.mail.shop.example"),
        ("www.mail.shop.example", "www.mail.shop.example"),
        ("mail-qv1-f49.provider.example", "mail-qvd-fd.provider.example"),
        ("20261102093000.shop.example", "shop.example"),
        ("shop24.example", "shop24.example"),
        ("shop24.co.uk", "shop24.co.uk"),
        ("mail2.shop24.co.uk", "maild.shop24.co.uk"),
        ("192.0.2.217", "192.0.2.217"),
    ],
)
def test_the_number_of_a_host(host: str, first: str) -> None:
    """The first label below a registered domain loses the machine's number, and goes if it is an identifier."""
    assert hosts("url", host)[0] == f"url:{first}"


@over_rows(
    ("identifier", "shape"),
    [
        ("d2f1a8c4-1b2c-4d5e-8f90-a1b2c3d4e5f6", "uuid"),
        ("385d24b36eb695bbbc06eb8b7bc684da", "h4"),
        ("CAMwdTOHv05K-q7d0xdwn0J6NcGDM1-dNV", "x-x-aA"),
        ("01cae1d4$d303d300$e6d8d5cb", "h1$h1$h1"),
        ("20261102093000.GA1234", "d.Ad"),
        ("964551971.1031163664828.JavaMail.root", "d.d.AaAa.a"),
        ("deadbeefcafe", "a"),
        ("", ""),
    ],
)
def test_the_shape_of_an_identifier(identifier: str, shape: str) -> None:
    """A random identifier has a stable shape."""
    assert id_shape(identifier) == shape


def test_identifiers_in_the_name_of_a_mail_program() -> None:
    """A long word with digits has a token for its shape."""
    found = of_kinds("X-Mailer: ZimbraWebClient Mailer2 cid294rkngfozx75hvv3e8w", "x-mailer")
    assert found == {"x-mailer:zimbrawebclient", "x-mailer:mailer2", "x-mailer:x"}


def test_words_of_a_path() -> None:
    """Words and short numbers of a path are tokens; a mix of letters and digits is part of an identifier."""
    assert {
        token for token in read(b"Subject: x\n\nhttp://a.example/buy/a8f3/2026/12345678/x7\n").tokens if "path" in token
    } == {*("url-path:buy", "url-path:2026")}


TEXT = st.text(st.characters(exclude_characters="\r\n"), max_size=80) | st.from_regex(
    r"[0-9]{1,3} (jan|Feb|DEC) [0-9]{1,6} [0-9]{1,3}:[0-9]{2}(:[0-9]{2})? ?[+-]?[0-9]{0,5}", fullmatch=True
)
SERVER = st.lists(
    st.sampled_from(["from ", " by ", " for ", "(", ")", "[", "]", "9.9.9.7", "::1", "2a00::7", "helo=", " ", ";"])
    | TEXT,
    max_size=12,
).map("".join)


@given(st.lists(SERVER, max_size=14), TEXT, TEXT)
def test_any_text_in_these_fields(received: list[str], date: str, sender: str) -> None:
    """With any text in these fields, each fact has at most one token, with words for it."""
    header = "".join([f"Received: {field}\n" for field in received]) + f"Date: {date}\nFrom: {sender}"
    found = list(read(header.encode("utf-8", "surrogatepass") + b"\n\nx\n").tokens)
    assert all(row_of(token) for token in found)
    facts = [token.partition(":")[0] for token in found if token.partition(":")[0] in FACTS]
    assert len(facts) == len(set(facts))
