"""Attached pages: their programs and their links. Their words count if a program may show them below the message."""

import base64

from hypothesis import given, settings
from hypothesis import strategies as st

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.parsing.part_forms import Form, form_of
from spamnb.mail.reading import read
from spamnb.mail.tokens.page import page_tokens
from tests.table import over_rows

PAGE = b"""<!DOCTYPE html><html><head><title>Sign in</title>
<meta http-equiv="Refresh" content="9; URL='//next.example/'">
<script src="https://code.example/a.js"></script></head>
<body onload="document.write(unescape('%3c'))"><form action="https://post.example/login"><input type="PASSWORD">
</form><iframe src="data:text/html;base64,eA=="></iframe><img src="data:image/png;base64,eA==">
<a href="http://192.0.2.7/">words</a> <a href="mailto:anna@mail.example">anna</a></body></html>
"""
DRAWING = b"""<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><text>words</text>
<a xlink:href="https://there.example/x"><rect/></a><script type="text/javascript"><![CDATA[
fetch("https:\\/\\/post.example\\/in"); window.location = atob("aHR0cA==")]]></script></svg>
"""
PIECES = st.sampled_from(["<", ">", "</", "<script>", "<a href=", " onx='", "data:", "<meta ", "http://a.b", "\0"])
OF_PAGE = {"script", "form", "password", "iframe", "data-url", "meta-refresh", "unescape", "document-write"}
HOSTS_OF_PAGE = {"next.example", "code.example", "post.example", "example", "192.0.2.7"}
OF_DRAWING, HOSTS_OF_DRAWING = {"script", "atob", "location"}, {"there.example", "post.example", "example"}


def attached(fields: bytes, content: bytes) -> bytes:
    """A message with a text and an attachment."""
    part = fields + b"\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(content)
    return b"Content-Type: multipart/mixed; boundary=b\n\n--b\n" + part + b"\n--b\n\nhello\n--b--\n"


def tokens_of(features: set[str], hosts: set[str]) -> set[str]:
    """The tokens of an attached page."""
    return {f"attached-html:{feature}" for feature in features} | {f"attached-url:{host}" for host in hosts}


@over_rows(
    ("fields", "content", "expected"),
    [
        (b"Content-Type: application/octet-stream; name=a.HTM", PAGE, tokens_of(OF_PAGE, HOSTS_OF_PAGE)),
        (b"Content-Type: image/svg+xml", DRAWING, tokens_of(OF_DRAWING, HOSTS_OF_DRAWING)),
        (b"Content-Type: application/octet-stream; name=a.svg", DRAWING, tokens_of(OF_DRAWING, HOSTS_OF_DRAWING)),
        (b"Content-Type: application/pdf; name=a.html", PAGE, set()),
    ],
)
def test_an_attached_page_is_read_for_what_it_does(fields, content, expected):
    """Its elements, its programs and the hosts that it names are tokens; its words, its pictures and its names not."""
    found = read(attached(fields, content)).tokens.keys()
    assert {token for token in found if token.startswith(("attached-html:", "attached-url:"))} == expected
    others = {token.split(":")[0] for token in found if token.startswith(("html", "tag", "url", "image", "mail"))}
    assert others == set()
    assert found.isdisjoint({"words", "sign", "anna", "script"})
    assert "hello" in found


@over_rows(
    "fields",
    [
        b"Content-Type: text/html\nContent-Disposition: attachment",
        b"Content-Type: text/plain\nContent-Disposition: attachment; filename=a.shtml",
    ],
)
def test_a_page_that_is_attached_as_text_is_text_too(fields):
    """Thunderbird shows the text of a page that is attached as such."""
    found = read(attached(fields, PAGE)).tokens.keys()
    assert tokens_of(OF_PAGE, HOSTS_OF_PAGE) <= found
    assert {"hello", "words", "anna"} <= found
    assert not any(token.startswith(("html:", "tag:")) for token in found)


@over_rows(
    ("kind", "disposition", "filename", "form"),
    [
        ("text/html", "", "a.html", Form.HTML),
        ("text/html", "inline", "a.html", Form.HTML),
        ("application/xhtml+xml", "attachment", "", Form.PAGE),
        ("text/plain", "", "a.html", Form.TEXT),
        ("text/plain", "attachment", "a.txt", Form.ATTACHED),
        ("message/delivery-status", "", "", Form.ATTACHED),
        ("message/rfc822", "", "a.txt", Form.FILE),
        ("application/octet-stream", "", "a.TXT", Form.ATTACHED),
        ("application/octet-stream", "attachment", "smime.p7m", Form.SIGNED),
        ("application/x-pkcs7-mime", "", "", Form.SIGNED),
        ("application/octet-stream", "", "a.xhtml. ", Form.PAGE),
        ("application/octet-stream", "", "html", Form.FILE),
        ("application/octet-stream", "", "", Form.FILE),
        ("application/zip", "attachment", "a.html", Form.FILE),
        ("image/svg+xml", "inline", "", Form.PAGE),
        ("image/png", "", "a.svg", Form.FILE),
    ],
)
def test_as_what_a_part_is_read(kind, disposition, filename, form):
    """A shown part is text; a page is known by its media type, or by its name if the type is vague."""
    assert form_of(kind, disposition, filename) is form


@over_rows(
    ("markup", "expected"),
    [
        ("", set()),
        ("words atob", set()),
        ("<p onclick='location=1'>", tokens_of({"script", "location"}, set())),
        ("<a href=' JavaScript:eval(1)'>", tokens_of({"script", "eval"}, set())),
        ("<a href='data:text/html,x'>", tokens_of({"data-url"}, set())),
        ("<svg><image xlink:href='data:image/png,x'/>", set()),
        ("<script>String.fromCharCode(1);decodeURIComponent('a')</script>",
         tokens_of({"script", "fromcharcode", "decodeuricomponent"}, set())),
        ("<script>relocations</script>", tokens_of({"script"}, set())),
        ("<svg:script>atob(1)</svg:script>", tokens_of({"script", "atob"}, set())),
        ("<button formaction=//a.example>", tokens_of(set(), {"a.example", "example"})),
        ("<meta http-equiv=refresh content=5>", tokens_of({"meta-refresh"}, set())),
        ("<a href>", set()),
        ("<script", set()),
    ],
)  # fmt: skip  # one case a line is read more easily
def test_what_a_page_does(markup, expected):
    """Programs are found in elements, handlers and links; similar text is not a program."""
    assert set(page_tokens(markup, DEFAULT_LIMITS)) == expected


def test_pages_do_not_use_up_what_the_text_needs():
    """A page before the text, as large as any, leaves the text what it needs."""
    page = b"--b\nContent-Type: text/html\nContent-Disposition: attachment\n\n" + b"<a href=x>y" * 50_000
    text = b"\n--b\nContent-Type: text/html\n\n<p>words\n--b--\n"
    found = read(b"Content-Type: multipart/mixed; boundary=b\n\n" + page + text).tokens
    assert {"words", "limit:html_tags"} <= found.keys()


def test_links_of_a_page_are_limited():
    """Past the limit the rest is left out, and a token says so."""
    markup = "".join(f"<a href=http://h{number}.example/>" for number in range(DEFAULT_LIMITS.links + 1))
    found = set(page_tokens(markup, DEFAULT_LIMITS))
    assert {"limit:links", "attached-url:h0.example"} <= found
    assert f"attached-url:h{DEFAULT_LIMITS.links}.example" not in found


@settings(deadline=None)
@given(st.lists(PIECES | st.text()).map("".join))
def test_any_markup_is_read_as_a_page(markup):
    """Any markup yields tokens of pages and no others."""
    assert all(token.startswith(("attached-html:", "attached-url:")) for token in page_tokens(markup, DEFAULT_LIMITS))
