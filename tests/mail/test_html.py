import pytest

from spamnb.mail.html import HtmlText, read_html
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import read


def page(markup: str) -> HtmlText:
    return read_html(markup, DEFAULT_LIMITS)


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("V<b></b>iagra", ["Viagra"]),
        ("V<!-- x -->iagra", ["Viagra"]),
        ("V<font color=red>i</font>agra", ["Viagra"]),
        ("a<br>b", ["a", "b"]),
        ("a<br/>b", ["a", "b"]),
        ("<p>a<p>b", ["a", "b"]),
        ("<td>a</td><td>b</td>", ["a", "b"]),
        ("<table><tr><td>a<td>b</table>", ["a", "b"]),
        ("<li>a<li>b", ["a", "b"]),
        ("a<div>b</div>c", ["a", "b", "c"]),
        ("a<img src=x>b", ["a", "b"]),
        ("a<wbr>b", ["ab"]),
        ("&lt;a&gt;&nbsp;&amp;&#98;", ["<a>", "&b"]),
        ("a<unknown>b</unknown>", ["a", "b"]),
        ("<script>x</script>a<style>y</style>", ["a"]),
        ("<img alt='a b'>", ["a", "b"]),
        ("a<b", ["a"]),
        ("a < b <p>", None),
    ],
)
def test_words_are_parted_where_a_reader_sees_them_apart(markup, words):
    """Inline elements and comments do not part a word; blocks, breaks, cells and images do."""
    visible = page(markup).visible.split()
    assert visible if words is None else visible == words


@pytest.mark.parametrize(
    "markup",
    [
        '<p style="display:none">{}</p>',
        '<p style="DISPLAY : NONE !important">{}</p>',
        '<p style="visibility:hidden">{}</p>',
        '<p style="mso-hide:all">{}</p>',
        '<p style="font-size:0">{}</p>',
        '<p style="font-size: 1px">{}</p>',
        '<p style="font-size:0.1em">{}</p>',
        '<p style="opacity:0">{}</p>',
        '<p style="max-height:0px;overflow:hidden">{}</p>',
        "<p hidden>{}</p>",
        "<font color=white>{}</font>",
        '<font color="#fefefe">{}</font>',
        '<p style="color:#fff">{}</p>',
        '<p style="color: rgb(255, 255, 255)">{}</p>',
        '<table bgcolor="black"><td>{}</table>',
        '<p style="display:none"><b>{}</b></p>',
        '<p style="display:none"><b style="color:red">{}</b></p>',
    ],
)
def test_hidden_text_is_told_apart(markup):
    """Text that its sender hides from the reader is not the text that the reader sees."""
    found = page(markup.format("secret") + "<p>shown")
    assert (found.hidden.split(), found.visible.split()) == (["secret"], ["shown"])


@pytest.mark.parametrize(
    "style",
    [
        "font-size:1em",
        "font-size:1.5em",
        "font-size:10px",
        "border-width:0px",
        "line-height:0.9",
        "min-height:0",
        "width:0.5em",
        "opacity:0.9",
        "color:#333",
        "color:#fff;background:#000",
        "background-color:rgb(0,0,0);color:rgb(255,255,255)",
    ],
)
def test_ordinary_styles_hide_nothing(style):
    """Borders and lines of no width, ordinary sizes and white on black are shown."""
    found = page(f'<p style="{style}">shown</p>')
    assert (found.visible.split(), found.hidden.split()) == (["shown"], [])


def test_text_of_the_same_colour_is_shown_again_on_another_ground():
    """White text is hidden on white, and shown in a cell that is black."""
    found = page("<font color=white>a<table><td bgcolor=black>b</td><td>c</table></font>")
    assert (found.hidden.split(), found.visible.split()) == (["a", "c"], ["b"])
    assert "same-colour" in found.features


def test_hidden_words_are_no_words_of_the_text():
    """Hidden words are not taken for words that a reader sees, and that there are some is a token."""
    tokens = read(b"Content-Type: text/html\n\n<p>shown<p style='display:none'>secret").tokens
    assert {"shown", "html:hidden-text"} <= tokens.keys()
    assert "secret" not in tokens


@pytest.mark.parametrize(
    ("markup", "lies"),
    [
        ('<a href="http://evil.example/">www.bank.example.com</a>', True),
        ('<a href="http://evil.example/">https://bank.com/login</a>', True),
        ('<a href="http://bank.com@evil.example/">bank.com</a>', True),
        ('<a href="http://www.bank.com/x">bank.com</a>', False),
        ('<a href="http://evil.example/">click here</a>', False),
        ('<a href="mailto:a@b.example">b.example</a>', False),
        ('<a href="http://evil.example/"><b>bank</b>.com</a>', True),
    ],
)
def test_a_link_that_shows_another_host(markup, lies):
    """A link whose text is a host, and not its own, is told."""
    assert ("link-shows-another-host" in page(markup).features) is lies


def test_links_images_forms_and_comments():
    """Links, images, forms and comments are noted."""
    found = page(
        "<a href=http://a.example/>x</a><area href=b><img src=cid:1 width=1 height=1><img src=data:x>"
        "<form action=http://f.example/><input></form><!-- c -->"
    )
    assert found.links == ["http://a.example/", "b", "http://f.example/"]
    assert found.images == ["cid:1", "data:x"]
    assert {"form", "input", "comment", "image-invisible", "image-attached", "image-inline"} <= found.features


def test_a_title_is_not_shown():
    """A title is kept apart from the text."""
    found = page("<html><head><title>The title</title></head><body>text</body></html>")
    assert (found.title, found.visible.split()) == ("The title", ["text"])


@pytest.mark.parametrize(
    "markup", ["<", "<>", "</", "<!", "<!-", "<?", "<a href=", "&#xd800;<p>", "<\0p>", "\ufeff<p>x", "<p " * 99]
)
def test_bad_markup_is_no_fault(markup):
    """Markup of any quality is read."""
    assert isinstance(page(markup), HtmlText)


@pytest.mark.parametrize(
    "first", ['<?xml version="1.0" encoding="utf-16"?>', "\ufeff", "<!DOCTYPE html>", "<meta charset=utf-16>"]
)
def test_what_a_page_says_of_its_encoding_is_past(first):
    """Decoded text stays as it was decoded, whatever the page says."""
    assert page(first + "<p>größer").visible.split() == ["größer"]
