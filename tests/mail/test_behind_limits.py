"""Text behind more than is read: it is read too, or the message says that it met a limit."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spamnb.mail.limits import Limits
from spamnb.mail.reading import read_content
from spamnb.mail.shares import fair_shares
from tests.mail.promises import SMALL

SECRET = "pineapples"
_FIELDS = b"Subject: x\nMIME-Version: 1.0\nContent-Type: "


def mixed(*parts: bytes, kind: bytes = b"mixed", boundary: bytes = b"=_b") -> bytes:
    """A multipart of these parts, which declare themselves."""
    body = b"".join(b"--" + boundary + b"\nContent-Type: " + part + b"\n" for part in parts)
    return b"multipart/%s; boundary=%s\n\n%s--%s--\n" % (kind, boundary, body, boundary)


def plain(text: str) -> bytes:
    return b"text/plain; charset=utf-8\n\n" + text.encode()


def page(markup: str) -> bytes:
    return b"text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(markup.encode())


def deep(levels: int, kind: bytes = b"mixed") -> bytes:
    part = plain(SECRET)
    for level in range(levels):
        part = mixed(part, kind=kind, boundary=b"=_%d=" % level)
    return part


def forwarded(levels: int) -> bytes:
    return b"message/rfc822\n\nContent-Type: " * levels + plain(SECRET)


def different(first: str) -> str:
    """5,000 different words that begin with a letter."""
    return " ".join(first + "".join(chr(97 + int(digit)) for digit in f"{number:04}") for number in range(5000))


WORDS = "best wishes to all of you\n" * 8000
EMPTY = b"text/plain\n\n"
READ = {
    "100 empty parts": mixed(*[EMPTY] * 100, plain(SECRET)),
    "1,000 empty parts": mixed(*[b"text/plain\n\n \n\t\n"] * 1000, plain(SECRET)),
    "300 small pictures": mixed(*[b"image/gif\n\nGIF89a"] * 300, plain(SECRET)),
    "10 levels": deep(10),
    "20 levels": deep(20),
    "19 levels of alternatives": deep(19, b"alternative"),
    "19 forwarded messages": forwarded(19),
    "a comment of 400 KB": page(f"<!--{'x ' * 200_000}--><p>{SECRET}"),
    "comments of 300 KB before and behind": page(f"<!--{'x ' * 150_000}--><p>{SECRET}<!--{'x ' * 150_000}-->"),
    "a style sheet of 400 KB": page(f"<style>{'a{color:red}' * 33_000}</style><p>{SECRET}"),
    "many style sheets": page("<style>a{color:red}</style>" * 10_000 + f"<p>{SECRET}"),
    "an attribute of 500 KB": page(f"<p title='{'x' * 500_000}'>{SECRET}"),
    "a link of 500 KB": page(f"<a href='http://a.example/{'x' * 500_000}'>{SECRET}</a>"),
    "many attributes": page(f"<p {'a=b ' * 100_000}>{SECRET}"),
    "200,000 line ends": plain("\n" * 200_000 + SECRET),
    "line ends before and behind": plain("\n" * 400_000 + SECRET + "\n" * 400_000),
    "letters of no width": plain("\u200b" * 250_000 + SECRET + "\u200b" * 50_000),
    "line breaks of HTML": page("<br>" * 30_000 + SECRET + "&nbsp;" * 60_000),
    "a first part of 200,000 letters": mixed(plain(WORDS), plain(SECRET)),
    "a first page of 200,000 letters": mixed(page(WORDS), page(SECRET)),
    "a first page of 40,000 tags": mixed(page("<b>x</b>" * 20_000), page(SECRET)),
    "a first text of 40,000 Chinese letters": mixed(plain("漢字。" * 20_000), plain("密码 " + SECRET)),
    "alternatives": mixed(*[plain(WORDS[:20_000])] * 40, plain(SECRET), kind=b"alternative"),
    "ligatures": plain("\ufdfa " * 90_000 + SECRET),
    "ligatures without blanks": plain("\ufdfa" * 190_000 + " " + SECRET),
    "style sheets that cost all work": page("<style>a{color:red}</style>" * 18_000 + f"<p>{SECRET}"),
    "a long text": plain(WORDS * 3 + SECRET),
    "a megabyte": plain(WORDS * 6 + SECRET),
    "a long page": page(WORDS * 3 + SECRET),
    "many tags": page("<b>x</b>" * 60_000 + f"<p>{SECRET}"),
    "a comment that hides the joint": page("<b>x</b>" * 60_000 + "<!--" + "<i>" * 9000 + "--><p>" + SECRET),
    "a style sheet over the joint": page("<b>x</b>" * 16_000 + "<style>" + "<" * 60_000 + f"</style><p>{SECRET}"),
    "a boundary that is never closed": b"multipart/mixed; boundary=x\n\n--x\n\nhello\n--x\nContent-Type: "
    + plain(SECRET),
    "forwarded headers of 1,000 fields": b"message/rfc822\n\n" + b"X-A: b\n" * 1000 + b"Content-Type: " + plain(SECRET),
}


@pytest.mark.parametrize("name", READ)
def test_text_behind_padding_is_read(name: str) -> None:
    """What a person does not see, or small parts, or a long text in front, do not hide a text at the end."""
    assert SECRET in read_content(_FIELDS + READ[name]).tokens


NOT_READ = {
    "21 levels": deep(21),
    "in the middle of 300 parts": mixed(*[plain("hello")] * 150, plain(SECRET), *[plain("hello")] * 150),
    "between two long texts": plain(WORDS + SECRET + WORDS),
    "between two long texts of a page": page(WORDS + SECRET + WORDS),
    "between ligatures": plain("\ufdfa " * 50_000 + SECRET + " \ufdfa" * 50_000),
    "between letters with marks that are left out later": plain(
        "\ufdfa " * 300 + "a\u20dd " * 50_000 + SECRET + " a\u20dd" * 16_000 + " \ufdfa" * 300
    ),
    "between tags": page("<b>x</b>" * 40_000 + SECRET + "<b>x</b>" * 40_000),
    "behind 10,000 empty parts": mixed(*[EMPTY] * 10_000, plain(SECRET)),
    "behind 60,000 boundaries": b"multipart/mixed; boundary=b\n\n" + b"--b\n" * 120_000 + b"\n" + plain(SECRET),
    "between 5,000 words and 5,000 words": plain(f"{different('a')} {SECRET} {different('b')}"),
}


@pytest.mark.parametrize("name", NOT_READ)
def test_a_message_that_is_not_read_to_its_end_says_so(name: str) -> None:
    """If a text is not read, the message is read in part, and so it is not ham."""
    content = read_content(_FIELDS + NOT_READ[name])
    assert SECRET not in content.tokens
    assert content.is_in_part


@pytest.mark.parametrize("name", NOT_READ | READ)
def test_the_same_with_small_limits(name: str) -> None:
    """With small limits, too, a text is read or the message says that it is read in part."""
    content = read_content(_FIELDS + (NOT_READ | READ)[name], SMALL)
    assert SECRET[0] + "…10" in content.tokens or content.is_in_part


# Pieces of a body of plain text, and of a page. Each is a padding that a stranger would try.
PLAIN = st.sampled_from(
    ["\n", " ", "a ", "word ", "\u200b", "漢", "\u202e", "http://a.example/ ", "éя ", "begin 644 a\n", "-----BEGIN "]
)
MARKUP = st.sampled_from(
    ["<br>", "<!-- x -->", "<b>", "</b>", "<p title='a'>", "<style>a{}</style>", "<table><td>", "&nbsp;", "x ",
     "<x y=z>", "<a href=http://a.example/>", "<div>", "</div>", "&#20013;", "<script>1</script>"]
)  # fmt: skip  # a list of pieces is read more easily in lines
LIMITS = st.builds(
    Limits,
    text_chars=st.integers(20, 400),
    html_chars=st.integers(20, 400),
    html_tags=st.integers(1, 40),
    parts=st.integers(1, 6),
    unspaced_chars=st.integers(1, 40),
    tokens=st.integers(20, 200),
    work=st.integers(200, 4000),
)


def _padded(pieces: list[tuple[str, int]]) -> str:
    return "".join(piece * number for piece, number in pieces)


def _padding(pieces: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.tuples(pieces, st.integers(1, 60)), max_size=4).map(_padded)


@settings(deadline=None)
@given(_padding(PLAIN), _padding(PLAIN), LIMITS, st.integers(0, 5))
def test_a_plain_text_between_paddings(before: str, behind: str, limits: Limits, parts: int) -> None:
    """Whatever is before and behind a text, in its part or in others, it is read or the message says it was not."""
    others = [plain(before)] * parts
    raw = _FIELDS + mixed(*others, plain(f"{before}\n{SECRET}\n{behind}"), plain(behind))
    content = read_content(raw, limits)
    assert content.is_in_part or SECRET in content.tokens or SECRET[::-1] in content.tokens


@settings(deadline=None)
@given(_padding(MARKUP), _padding(MARKUP), LIMITS, st.integers(0, 5))
def test_a_page_between_paddings(before: str, behind: str, limits: Limits, parts: int) -> None:
    """The same holds for a page."""
    raw = _FIELDS + mixed(*[page(before)] * parts, page(f"{before}<p> {SECRET} <p>{behind}"), page(behind))
    content = read_content(raw, limits)
    assert content.is_in_part or SECRET in content.tokens


@given(st.lists(st.integers(0, 1000), max_size=20), st.integers(0, 5000))
def test_shares_are_fair(sizes: list[int], most: int) -> None:
    """Shares are not above the size or, together, the limit; a part that is cut has as much as any other."""
    shares = fair_shares(sizes, most)
    assert all(share <= size for share, size in zip(shares, sizes, strict=True))
    assert sum(shares) <= most
    least_cut = min((share for share, size in zip(shares, sizes, strict=True) if share < size), default=most)
    assert max(shares, default=0) <= least_cut + len(sizes)
    assert sum(shares) == sum(sizes) or sum(shares) > most - len(sizes) - 1
