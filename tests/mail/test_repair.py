"""Markup is repaired for old versions of libxml2. These tests hold on each version; test_html.py says what is read."""

from hypothesis import given, settings
from hypothesis import strategies as st

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.tokens.html import read_html
from spamnb.mail.tokens.repair import repaired
from tests.line_count import lines_run
from tests.table import over_rows

# Without the end tags that are dropped, and without elements whose references are escaped.
PIECES = st.sampled_from(
    ["<p>", "</p>", "<a href='", "<img alt=\"", "'>", '">', ">", "<", "</", "/", "=", "&", ";", "#", "x", "<!--", "-->",
     "--!>", "<!", "<?", "<!-->", "<title>", "</title>", "<textarea>", "</textarea", "<script>", "</script>", "<style>",
     "</style", "<!--<script>", "<body>", "<head>", "<html>", "<table>", "<td>", "<b @x='", "<svg>", "&copy", "&sol;",
     "&#65", "&#x26;", "\f", "\n", "word", "<_", "<x:y/>", "<select>", "<br/>", "</x y='>'>"]
)  # fmt: skip  # a list of pieces is read more easily in lines


@settings(deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_repaired_markup_has_the_same_text_and_links(markup):
    """What is repaired is read as before, by a version that needs no repair; and once more makes no difference."""
    once, twice = (read_html(text, DEFAULT_LIMITS) for text in (markup, repaired(markup)))
    assert ("".join(once.visible.split()), once.links) == ("".join(twice.visible.split()), twice.links)


@over_rows(
    ("markup", "expected"),
    [
        ("", "<html>"),
        ("<html lang=x><body>a</body></html>", "<html lang=x><body>a"),
        ("<!doctype html><!-- a --> <HTML>a", "<!----> <HTML><body>a"),
        ("<head><title>a</title></head><style>b</style>c", "<html><head><title>a</title><style>b</style><body>c"),
        ("<p a='</body>'><!--</body>--></body>", "<html><p a='</body>'><!---->"),
        ("<style></body></style><script>'</html>'</script>", "<html><style></body></style><script>'</html>'</script>"),
        ("<p a='<title>'><b>c</b><p a='</title>'>", "<html><p a='<title>'><b>c</b><p a='</title>'>"),
        ("<p a='<!--'><b>c</b><p a='-->'>", "<html><p a='<!--'><b>c</b><p a='-->'>"),
        ("<p a='&#34; onclick=&#x22;'>", "<html><p a='&#34; onclick=&#x22;'>"),
        ("<p a='&QUOT; &Tab;'b=c>", '<html><p a="&quot; \t" b="c">'),
        ("<p a='\"'b=>", '<html><p a="&quot;" b="">'),
        ("<p @style=a>", '<html><p x--style="a">'),
    ],
)
def test_only_what_is_odd_is_rewritten(markup, expected):
    """Plain markup stays as it is, and what is in attributes, comments and raw text is no markup."""
    assert repaired(markup) == expected


@over_rows(
    "piece",
    ["<a@>x", "<a/b=c>", "<!>", "< ", "</x y>", "<title></title>", "<title>", "<script><!--", "<a ''", " ''", "&copy",
     "&#65;&", "<!--", "<p a=\"'", "<xmp><"],
)  # fmt: skip  # pieces are read more easily in lines
def test_twice_the_odd_pieces_cost_twice_as_much(piece):
    """The repair of markup with twice as many odd pieces takes about twice as long."""
    repaired(piece)
    once, twice = (lines_run(lambda number=number: repaired(piece * number)) for number in (500, 1000))
    assert twice < 2.2 * once


def test_an_element_of_very_many_attributes_has_none():
    """libxml2 compares each attribute with all before it; a few are kept, and without them no text is hidden."""
    many = " ".join(f"a{number:x}=b" for number in range(2000))
    assert repaired(f"<p hidden {many}>x").endswith("<p>x")
    assert repaired("<p hidden>x").endswith("<p hidden>x")
