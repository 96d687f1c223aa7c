"""Markup with very many open elements costs no more than other markup of its size, and all of its text is read."""

import pytest

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.tokens import open_elements
from spamnb.mail.tokens.html import HtmlText, read_html
from tests.table import over_rows

OPEN = "<b><div>" + 2500 * "<x>" + 2500 * "</b>"  # more comparisons than are made


def page(markup: str) -> HtmlText:
    return read_html(markup, DEFAULT_LIMITS)


def in_pieces(monkeypatch, comparisons: int) -> None:
    """Have all markup read in pieces."""
    monkeypatch.setattr(open_elements, "may_be_slow", lambda _: True)
    monkeypatch.setattr(open_elements, "_COMPARISONS", comparisons)


@over_rows(
    ("markup", "words"),
    [
        ("</i>Cheap <p>pills", ["Cheap", "pills"]),
        *((start * "<i>" + "Via<b></b>gra", ["Viagra"]) for start in range(100, 120)),
        ("V<i></u>iag</h1></q>ra", ["Viagra"]),
        ("a<br>b</p>c<p>d", ["a", "b", "c", "d"]),
        ("<title></title><body></body></html>a", ["a"]),
        (100 * "<i title='<!--'>" + "a" + 200 * "<i title='<!--'></i>" + "b", ["ab"]),
        (127 * "<i>" + "<i title='<!--'>a", ["a"]),
        (127 * "<i>" + "<i title=<!-->a", ["a"]),
        (127 * "<i>" + "<!-- <!-- x -->a", ["a"]),
        (126 * "<i>" + "<script>'<!--'</script>a", ["a"]),
        (127 * "<i>" + "<script><!--<script></script><!-- --></script>a", ["a"]),
        ("<script><!--" + 300 * "</x>x" + "</script>a", ["a"]),
        ("<style>" + 300 * "</x>x" + "</style>a", ["a"]),
        ("<title/>" + 300 * "</x>x" + "</title> a", None),
        ("<textarea>" + 300 * "<x>" + "</textarea>a", None),
        ("a<plaintext>" + 300 * "</x>", None),
        ("<p title='" + 3000 * "<x>" + "'>a", ["a"]),
        (3000 * "</x>" + "a", ["a"]),
    ],
)
def test_all_text_is_read_behind_too_many_open_elements(markup, words):
    """A browser shows the same text behind too many open elements as without them, and the page is in doubt."""
    read = page(OPEN + f"<p>{markup}")
    shown = read.visible.split()
    assert ("a" in shown) if words is None else shown == words
    assert "limit:html_open" in read.notes


def test_hidden_text_is_in_doubt_behind_too_many_open_elements():
    """Behind too many open elements nothing is hidden for certain."""
    hidden = "<div style='display:none'>a</div>"
    assert page(hidden).visible.strip() == ""
    assert page(OPEN + hidden).visible.strip() == "a"


@over_rows(
    "markup",
    [
        2000 * "<p><b>a</b></p>",
        2000 * "<li><a href=x>a</a>",
        3000 * "<td>a</i>",
        100 * "<div>" + 10_000 * "<br>" + 100 * "</div>",
        "<!--" + 6000 * "<i></b>" + "-->",
    ],
)
def test_ordinary_elements_are_followed_to_their_ends(markup):
    """Many tags alone, and elements whose end tags are missing, are followed, and leave no note."""
    assert open_elements.may_be_slow(markup)
    assert "limit:html_open" not in page(markup).notes


@pytest.mark.parametrize("charset", ["cp037", "iso-8859-1", "utf-16"])
def test_a_charset_in_the_markup_is_not_obeyed(monkeypatch, charset):
    """Markup that is read in pieces is text already: a charset in it changes nothing."""
    in_pieces(monkeypatch, 3_000_000)
    meta = f"<meta http-equiv=content-type content='text/html; &#99;harset={charset}'>"
    assert page(f"<head>{meta}<meta charset={charset}>" + 300 * "<p>" + "vários ’").visible.split() == ["vários", "’"]


def test_a_page_in_pieces_is_read_like_a_whole_page(monkeypatch):
    """Pieces change neither text nor links nor elements."""
    markup = (
        "<!doctype html><html><head><title>a</title><style>.x{display:none}</style></head><body><!-- <p> -->"
        + 300 * "<p class=y title='a>b'>word <a href='http://a.example/?b&amp;c'>lin<b>k</b></a>&nbsp;<br/>"
        + "<div class=x>hidden</div><script>document.write('<p>')</script><textarea><b></textarea></body></html>more"
    )
    whole = page(markup)
    in_pieces(monkeypatch, 3_000_000)
    assert page(markup) == whole
