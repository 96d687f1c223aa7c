import time

import pytest

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import read
from spamnb.mail.tokens.html import HtmlText, read_html
from tests.table import over_rows


def page(markup: str) -> HtmlText:
    return read_html(markup, DEFAULT_LIMITS)


@over_rows(
    ("markup", "words"),
    [
        ("V<b></b>iagra", ["Viagra"]),
        ("V<!-- x -->iagra", ["Viagra"]),
        ("V<font color=red>i</font>agra", ["Viagra"]),
        ("a<br>b", ["a", "b"]),
        ("a<br/>b", ["a", "b"]),
        ("<p>a<p>b", ["a", "b"]),
        ("<table><td>a</td><td>b</td></table>", ["a", "b"]),
        ("<div>V<td>ia</td><tr>gra", ["Viagra"]),
        ("V<input type=hidden>i<iframe width=0></iframe>ag<svg width=0></svg>r<audio></audio>a", ["Viagra"]),
        ("<table><tr><td>a<td>b</table>", ["a", "b"]),
        ("<li>a<li>b", ["a", "b"]),
        ("a<div>b</div>c", ["a", "b", "c"]),
        ("a<img src=x>b", ["a", "b"]),
        ("a<wbr>b", ["ab"]),
        ("a</br>b</BR x>c</p>d<i>e</i></p >f", ["a", "b", "c", "de", "f"]),
        ("<b>a</b></p><!-- x --><i>b</i></p><o:p></o:p>c</p><div>d</div>", ["a", "b", "c", "d"]),
        ("a</brx>b</pre>c</x>d", ["abcd"]),
        ("&lt;a&gt;&nbsp;&amp;&#98;", ["<a>", "&b"]),
        ("V<unknown>i</unknown>a<o:p></o:p>g<time>r</time>a", ["Viagra"]),
        ("V<script>x</script>i<style>y</style>a<title>z</title>gra", ["Viagra"]),
        ("V<object></object>i<noscript>a</noscript>g<map></map>ra", ["Viagra"]),
        ("V<img width=0 src=x>i<img style='display:none' src=x>a<img src=x style='width:0'>gra", ["Viagra"]),
        ("V<div style='display:inline'>i</div>agra", ["Viagra"]),
        ("<style>.b{display:inline}</style>V<div class=b>i</div>agra", ["Viagra"]),
        ("V<div style='display:none'>x</div>iagra", ["Viagra"]),
        ("a<span style='display:block'>b</span>c", ["a", "b", "c"]),
        ("<nav>a</nav>b<section>c</section>d", ["a", "b", "c", "d"]),
        ("a<button>b</button>c<input>d<select><option>e<option>f</select>", ["a", "b", "c", "d", "e", "f"]),
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


@over_rows(
    "markup",
    [
        '<p style="display:none">{}</p>',
        '<p style="display:none">{}',
        '<div style="display:none">{}<p>x</p><table><tr><td>x</td></tr></table><ul><li>x</li></ul></div>'.replace(
            "x", ""
        ),
        '<table><tr><td><div style="display:none">{}<br><img src=x></div></td></tr></table><i>',
        '<!DOCTYPE html><!-- <p> --><!--[if mso]><p><![endif]--><font style="display:none">{} <b></b></font>',
        '<p style="DISPLAY : NONE !important">{}</p>',
        '<p style="/* a; b */ display: none">{}</p>',
        '<p style="display:none;max-height:0px;overflow:hidden;mso-hide:all">{}</p>',
        '<p style="display:none"><b>{}</b></p>',
        '<p style="display:none"><b style="color:red">{}</b></p>',
        '<p style="display:none"><b style="display:block !important">{}</b></p>',
        "<style>.a{{display:none}}</style><p class=a>{}</p>",
        "<style>/* x{{y}} */ p.x, #a {{ Display: none }}</style><p id=a>{}</p>",
        "<style><!-- @media print{{.b{{color:red}}}} p.a{{display:none}} --></style><p class='b a'>{}</p>",
        "<style>@font-face{{font-family:'b';src:url('//x/?a=b') format('c')}} i{{display:none}}</style><i>{}</i>",
        "<style>@media screen{{a[x='y'],a>b{{width:100% !important}}}} .a{{display:none}}</style><p class=a>{}</p>",
        "<style>.a{{display:none}} a:hover{{color:red}} .x{{font-size:9px !important}}</style><p class=a>{}</p>",
    ],
)
def test_hidden_text_is_told_apart(markup):
    """Text that its sender hides from the reader is not the text that the reader sees."""
    found = page(markup.format("secret") + "<p>shown")
    assert (found.hidden.split(), found.visible.split(), found.certain.split()) == (["secret"], ["shown"], ["shown"])


@over_rows(
    "markup",
    [
        # Hidden, unless there is something behind the text, or a shadow.
        "<font color=white>{}</font>",
        '<font color="#fefefe">{}</font>',
        '<font color="#ffffffff">{}</font>',
        '<p style="color:#fff">{}</p>',
        '<p style="color:#fff;background-repeat:no-repeat">{}</p>',
        '<p style="color: rgb(255, 255, 255)">{}</p>',
        '<table bgcolor="black"><td>{}</table>',
        '<p style="color:transparent">{}</p>',
        '<p style="color:rgba(0,0,0,0)">{}</p>',
        '<p style="color:rgb(255 255 255)">{}</p>',
        "<font color=snow>{}</font>",
        '<font color=black style="color:white">{}</font>',
        "<style>.a{{color:#fff}}</style><p class=a>{}</p>",
        "<style>#a{{background:#000}} p.b{{color:#010101}}</style><div id=a><p class=b>{}</p></div>",
        # Hidden, unless a program or an element has another opinion of letters.
        '<p style="visibility:hidden">{}</p>',
        '<p style="font-size:0">{}</p>',
        '<p style="font-size:0in">{}</p>',
        '<p style="opacity:0">{}</p>',
        '<p style="font-size:0"><b style="font-size:1em">{}</b></p>',
        "<style>/* x{{y}} */ p.x, #a {{ Visibility: hidden }}</style><p id=a>{}</p>",
        "<style><!-- @media print{{.b{{color:red}}}} p.a{{font-size:0px}} --></style><p class='b a'>{}</p>",
        # Hidden, unless another element leads back.
        '<p style="text-indent:-9999px">{}</p>',
        '<p style="position:absolute;left:-9999px">{}</p>',
        '<p style="left:-9999px">{}</p>',
        '<span style="max-height:0.0px;overflow:hidden">{}</span>',
        '<p style="font-size: 1px">{}</p>',
        '<p style="font-size:.15em">{}</p>',
        '<p style="clip:rect(0,0,0,0)">{}</p>',
        '<p style="clip-path:inset(50%)">{}</p>',
        '<p style="transform:scale(0)">{}</p>',
        # Hidden by some programs.
        '<p style="mso-hide:all">{}</p>',
        "<p hidden>{}</p>",
        "<details>{}</details>",
        "<canvas>{}</canvas>",
        # No program follows what is written.
        '<p style="display:nonexistent">{}</p>',
        '<p style="visibility:hidden-x">{}</p>',
        '<p style="display:none !vital">{}</p>',
        '<p style="font:0/0 a">{}</p>',
        # Another declaration overrules it.
        '<p style="display:block !important; display:none">{}</p>',
        '<p style="displa\\79:block !important; display:none">{}</p>',
        "<p style=\"x:'; display:none; y:'\">{}</p>",
        '<p style="x:[; display:none; y:]">{}</p>',
        '<p style="display:none; x:url(;">{}</p>',
        '<p style="display:none;' + " " * 1000 + 'display:block">{}</p>',
        '<p style="font-size:0"><b style="font-size:calc(9px)">{}</b></p>',
        '<p style="font-size:0"><font size=4>{}</font></p>',
        '<div style="font-size:0"><table><td>{}</table></div>',
        # The style sheet may overrule it.
        "<style>p{{display:block !important}}</style><p style='display:none'>{}</p>",
        "<style>@media screen{{p{{display:block !important}}}}</style><p style='display:none'>{}</p>",
        "<style media='(min-width:1px)'>p{{display:block !important}}</style><p style='display:none'>{}</p>",
        "<p style='display:none'>{}</p><style>p{{display:block !important}}</style>",
        "<style>p{{font-family:'}} p{{'; display:block !important}}</style><p style='display:none'>{}</p>",
        "<link rel=stylesheet href='data:text/css,p'><p style='display:none'>{}</p>",
        "<style>.a{{display:none}} @media screen{{p{{display:block}}}}</style><p class=a>{}</p>",
        "<style>.a{{display:none}} [class]{{opacity:1}}</style><p class=a>{}</p>",
        "<style>.a{{display:none}} .b{{display:block}}</style><p class='b a'>{}</p>",
        "<style>.A{{display:none}}</style><p class=a>{}</p>",
        "<style>.a{{display:none}}</style><p class=A>{}</p>",
        # Browsers move text in a table that is in none of its cells.
        "<table style='display:none'>{}<td></table>",
    ],
)
def test_text_that_is_hidden_in_doubt_is_told_apart(markup):
    """Text counts as visible and hidden if only a browser can decide which."""
    found = page(markup.format("secret") + "<p>shown")
    assert (found.hidden.split(), found.certain.split()) == (["secret"], ["shown"])
    assert sorted(found.visible.split()) == ["secret", "shown"]


@over_rows(
    "markup",
    [
        # Tags in raw text are elements for a browser if it is in one of these.
        *(
            f"<{around}><{raw}></{around}>{{}}"
            for around in ("svg", "math", "select")
            for raw in ("style", "title", "script")
        ),
        "<svg><style></svg>{}<svg><title></svg>",
        "<svg><text><![CDATA[{}]]></text></svg>",
        "<svg><style></svg><p style='display:none'>{}",
        "<p>shown</p><svg><style><p>{}",
        # Their text is shown if a style says so.
        "<script type=x style='display:block'>{}</script>",
        "<title style='display:block'>{}</title>",
        "<style>.a{{display:block}}</style><script type=x class=a>{}</script>",
        "<style>[x]{{display:block}}</style><script type=x x>{}</script>",
        "<style>*{{display:block}}</style><script type=x>{}</script>",
        "<style>script{{display:block}}</style><script type=x>{}</script>",
        "<style>head,style{{display:block}} {}</style>",
        "<style>p p, *{{display:block !important}}</style><p style='display:none'>{}</p>",
        "<style>title{{display:block}}</style><p><title>{}</title></p>",
        # Browsers leave these rules out.
        "<style>] .b{{display:none}}</style><p class=b>{}",
        "<style>];.b{{display:none}}</style><p class=b>{}",
        "<style>.b,::x{{display:none}}</style><p class=b>{}",
        "<style>.b,%{{display:none}}</style><p class=b>{}",
        "<style>[x{{}} .b{{display:none}}</style><p class=b>{}",
        "<style>@x '\"'\"; .b{{display:none}} a{{x:'\"'}}</style><p class=b>{}",
        # Browsers do not see the declaration, or overrule it.
        '<p style="a:{{;display:none;}}">{}</p>',
        '<p style="x:)(;display:none">{}</p>',
        "<p style=\"x:'&quot;'&quot;;display:none;y:'&quot;\">{}</p>",
        '<p style="display:none;all:revert">{}</p>',
        '<p style="opacity:0;display:contents">{}</p>',
        '<p style="opacity:0;animation:a 1s both">{}</p>',
        "<style>@import 'data:text/css,p{{display:block!important}}'</style><p style='display:none'>{}</p>",
        "<style>a{{x:'/*'}} p{{display:block!important}} a{{x:'*/'}}</style><p style='display:none'>{}</p>",
        "<style>a{{x:url(/*)}} p{{display:block!important}} a{{x:url(*/)}}</style><p style='display:none'>{}</p>",
        "<style>p{{display:block!important; x{{y:z}}}}</style><p style='display:none'>{}</p>",
        "<style>p{{x{{y:z}} display:block!important}}</style><p style='display:none'>{}</p>",
        # In letters of no size, letters of a size of their own, perhaps.
        "<style>*{{font-size:9px}}</style><div style='font-size:0'><b>{}</b></div>",
        "<style>div b{{visibility:visible}}</style><div style='visibility:hidden'><b>{}</b></div>",
        "<div style='font-size:0'><b>{}</b></div><style>*{{font-size:9px}}</style>",
        *(
            f'<div style="font-size:0"><p style="{style}">{{}}</p></div>'
            for style in ("font:message-box", "all:initial", "font-size:max(9px,1em)", "font-size:revert")
        ),
        '<div style="visibility:hidden"><p style="all:initial">{}</p></div>',
        # These end where the next one begins, or elsewhere, or are no elements for a browser.
        "<nobr style='display:none'>x <nobr>{}",
        "<div style='display:none'><nobr>x</nobr></div> <nobr>{}",
        "<button style='display:none'>x<button>{}",
        "<section style='display:none'><div></section>{}</div>",
        "<template><div></template>{}</div>",
        # Browsers end these earlier than libxml2.
        "<table><tr><td><div style='display:none'>x<td> {} </table>",
        "<table><div style='display:none'>x<tr> {} </table>",
        "<ul><li><div style='display:none'>x</li> {} </ul>",
        "<ul><li><div style='display:none'>x<li> {} </ul>",
        "<b style='display:none'><div></b> {} </div>",
        "<p><span style='display:none'><div> {} </div></span>",
        "<p style='display:none'>x<section> {} </section>",
        "<!DOCTYPE html><p style='display:none'>x<table><td> {} </table>",
        "<center><div style='display:none'>x</center> {} ",
        "<a><span style='display:none'>x<a>  {} </a></span></a>",
        "<textarea><div style='display:none'> {} </div></textarea>",
        "<!-- <div> --><div style='display:none'>x</div><!--><div style='display:none'> {} </div>-->",
        "<i title='<div>'><td><div style='display:none'>x<td> {} </i>",
        "<div style='display:none' title='</div>'>x</div><td><div style='display:none'>x<td> {} ",
        "<div style='display:none'>x<!--</div>--><td></div></td> {}",
        "<td style='display:none'>{}</td>",
        "<noframes>{}</noframes>",
        # For a browser no style sheet, no such rule, or no such declaration.
        "<style type='text/x'>.b{{display:none}}</style><p class=b>{}",
        "<template><style>.b{{display:none}}</style></template><p class=b>{}",
        "<select><style>.b{{display:none}}</style></select><p class=b>{}",
        "<style>}} .b{{display:none}}</style><p class=b>{}",
        "<style>@media print{{@media print{{a{{x:y}}}} .b{{display:none}}}}</style><p class=b>{}",
        "<style>.1b{{display:none}}</style><p class=1b>{}",
        "<style>.b{{display:none}}</style><p class='a\xa0b'>{}",
        "<p style='\xa0display:none'>{}",
        "<p style='dis/**/play:none'>{}",
        # These have no text in them.
        *(f"<{name} style='display:none'>{{}}" for name in ("wbr", "embed", "image", "source", "track", "keygen")),
        "<bgsound style='display:none'>{}",
        "<head><x>{}",
    ],
)
def test_what_a_browser_shows_is_never_left_out(markup):
    """Text counts as visible if a browser shows it, though libxml2 or a part of CSS would have it hidden."""
    assert "secret" in page(markup.format("secret") + "<p>shown").visible.split()


@over_rows(
    "markup",
    [
        # An end tag that closes nothing, and what comes behind the end of the page.
        *(f"</{name}>{{}}" for name in ("html", "body", "head", "p", "br", "b", "x", "title", "style")),
        *(f"<p>shown</{name}> {{}}" for name in ("html", "body", "head", "body></html")),
        *(f"<head></{name}><p>{{}}" for name in ("html", "body", "head", "head></html")),
        "<!DOCTYPE html></html>{}",
        "<!-- x --></html>{}",
        "<html></html></html><p>{}",
        # Comments that end where they begin, and what is like a comment.
        *(f"{comment}{{}}" for comment in ("<!-->", "<!--->", "<!---->", "<!-- --!>", "<!---x--->", "<!-- <!-- -->")),
        *(
            f"{comment}{{}}"
            for comment in ("<!>", "<!x '>", "<?>", "<?x '>", "</>", "</3 '>", "<![CDATA[>", "<![if x]>")
        ),
        *(f"<!DOCTYPE {name}>{{}}" for name in ("html PUBLIC 'x", 'html SYSTEM "x', "[", "")),
        # In these are no tags and no comments.
        *(
            f"<{name}>{tag}</{name}> {{}}"
            for name in ("title", "textarea", "iframe", "noembed", "noframes", "xmp", "style", "script")
            for tag in ("<b hidden>", "<!--", "<a b='", "<style>", "<title", f"</{name}x>", "<")
        ),
        "<title>x</title y='>'>{}",
        "<script><!--</script>{}",
        "<script><!--<script>--></script>{}",
        "<script><!--<script></script></script>{}",
        "<plaintext></plaintext><style>\n{}\n",
        "<xmp><p hidden>\n{}\n",
        # Where a tag ends.
        *(
            f"<p {attributes}>{{}}"
            for attributes in ("'", "x'", "=", "='", "a=", "a= b'", "/'", "a='>'b", "@='>'", "\f'")
        ),
        *(f"<p a=b /c={quote}>{quote}>{{}}" for quote in "'\""),
        "</p a='>'>{}",
        "<script@>{}",
        "<style\x0b>{}",
        "<p" + " a" * 300 + " b='>'>{}",
        "<a" + "a" * 300 + ">{}",
        # What begins no tag.
        *(f"<{mark} {{}} <p>" for mark in ("", "<", "_", ":", ".", "1", "ſcript", "=")),
    ],
)
def test_markup_is_taken_apart_as_a_browser_does(markup):
    """Text is read in both readings, though it comes behind a tag or a comment that only browsers see end."""
    found = page(markup.format("secret"))
    assert (found.visible.split().count("secret"), found.certain.split().count("secret")) == (1, 1)


@over_rows(
    "markup",
    [
        *(f"<{mark} secret >" for mark in ("!", "?", "/3", "!DOCTYPE", "!--", "/ ", "![cdata[", "a ")),
        *(f"<p {name}='> secret '>" for name in ("a", "@a", "a/b", "a:b", "/a", "a=b\fc", "x'", "1", "ſ")),
        "</p a='> secret '>",
        "<script><!--<script></script> secret --></script>",
        "<style>a</stylex> secret ",
        "<title>a</titlex> secret ",
        "<p a=' secret ",
    ],
)
def test_what_no_browser_takes_for_text_is_not_read(markup):
    """What is in a tag or a comment for each browser is no text."""
    found = page(f"<p>shown</p>{markup}")
    assert "secret" not in f"{found.visible} {found.certain}".split()


@over_rows(
    ("markup", "text"),
    [
        ("V&shy;iagra&shyx", "V\xadiagra\xadx"),
        ("&Vscr;&period;&commat;&NewLine;x", "𝒱.@ x"),
        ("&copy=&copy;&COPY;&ampx;&LT;", "©=©©&x;<"),
        ("&#150;&#x96;&#x1f600;&#0000000000000000000065;&#65x", "––😀AAx"),
        ("&#0;&#xd800;&#x110000;&#" + "9" * 5000 + ";", "����"),
        ("&#160;x&#10;&#9;&#xe000;&#x10000;&#128;&AMP&amp", "x \ue000𐀀€&&"),
        ("&;&x;&xyz&#;&#x;&&", "&;&x;&xyz&#;&#x;&&"),
        ("<textarea>&period;</textarea>", "."),
        ("<xmp>&amp;&period;</xmp>", "&amp;&period;"),
    ],
)
def test_references_are_those_of_html_5(markup, text):
    """A reference is what a browser makes of it, with and without a semicolon."""
    assert page(f"<p>{markup}").visible.split() == text.split()


@over_rows(
    ("link", "target"),
    [
        ("'?a&copy=b&lt=c&notes&amp;d'", "?a&copy=b&lt=c&notes&d"),
        ("http&colon;&sol;&sol;a&period;example", "http://a.example"),
        ("'&copy &copy; &#64;=&#x40;=\"'", '© © @=@="'),
        ("?a&b=c", "?a&b=c"),
        ("'a'b=c&sol;'", "a"),
    ],
)
def test_references_in_a_link(link, target):
    """In an attribute, a reference without a semicolon is none before a letter or an equals sign."""
    assert page(f"<a href={link}>x").links == [target]


def test_a_word_with_an_annotation_in_it_is_a_word():
    """A word counts with and without the small text above it, and with a picture's text that may not be shown."""
    found = page("<ruby>V<rt>x</rt></ruby>iagra c<img width=1 alt=y>heap a<div hidden>z</div>b")
    assert found.certain.split() == ["Viagra", "cheap", "ab"]
    assert found.visible.split() == ["Vxiagra", "c", "y", "heap", "a", "z", "b"]


@over_rows(
    "markup",
    [
        "<bdo dir=rtl>argaiv</bdo>",
        "<div dir=rtl><bdo>argaiv</bdo></div>",
        "<span style='unicode-bidi:bidi-override;direction:rtl'>argaiv</span>",
        "<style>.b{unicode-bidi:bidi-override;direction:rtl}</style><b class=b>argaiv</b>",
        "<b dir=rtl><span style='unicode-bidi:isolate-override'>argaiv</span></b>",
        "&#x202e;argaiv&#x202c;",
        "<bdo dir=rtl>a<br>argaiv</bdo>",
        "<bdo dir=ltr>viagra</bdo>",
        "<bdo>viagra</bdo>",
        "<p dir=rtl>viagra",
    ],
)
def test_letters_that_run_backwards_are_read_as_they_are_seen(markup):
    """Words whose letters a style or an element turns round count as a reader sees them."""
    assert "viagra" in read(b"Content-Type: text/html\n\n" + markup.encode()).tokens


def test_words_that_are_hidden_in_doubt_count_in_both_readings():
    """A word with doubtfully hidden text in it counts in both readings, with a note."""
    markup = b"Ap<b style='mso-hide:all'>pl</b>es<p style='position:absolute;left:-9999px'>plums"
    tokens = read(b"Content-Type: text/html\n\n" + markup).tokens
    assert {"apples", "apes", "plums", "html:hidden-text"} <= tokens.keys()
    assert "pl" not in tokens
    assert tokens["apples"] == 1


@pytest.mark.parametrize("element", ["object", "applet", "object data=x"])
def test_what_stands_for_an_object_is_read(element):
    """Mail programs do not show objects but their fallback, which is read."""
    found = page(f"<{element}>shown</{element.split()[0]}>")
    assert (found.certain.split(), found.hidden) == (["shown"], "")


@pytest.mark.parametrize(
    "markup", ["<p hidden style='display:block'>{}", "<p style='opacity:0;opacity:1'>{}", "<p style='height:0'>{}"]
)
def test_what_is_shown_after_all_is_shown(markup):
    """A declaration that shows an element holds against the attribute that hides it, and against one before it."""
    assert page(markup.format("shown")).certain.split() == ["shown"]


@over_rows(
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
        "font-size:0.9em",
        "font-size:.85rem",
        "font:bold 16px/1.5 Arial",
        "font:small serif",
        "height:0",
        "max-width:0",
        "display:none;display:block",
        "background:no-repeat #222;color:#fff",
        "background:url(x.png);color:#fff",
        "background:#222 url(x.png);color:#fff",
        "background-image:linear-gradient(#000,#222);color:#fff",
        "background:tomato;color:#fff",
        "color:inherit;background:inherit",
        "margin-left:-20px",
    ],
)
def test_ordinary_styles_hide_nothing(style):
    """Borders and lines of no width, ordinary sizes and white on black are shown."""
    found = page(f'<p style="{style}">shown</p>')
    assert (found.certain.split(), found.hidden.split()) == (["shown"], [])


def test_text_of_the_same_colour_is_shown_again_on_another_ground():
    """White text is hidden on white, and shown in a cell that is black."""
    found = page("<font color=white>a<table><td bgcolor=black>b</td><td>c</table></font>")
    assert (found.hidden.split(), found.certain.split()) == (["a", "c"], ["b"])
    assert "same-colour" in found.features


@pytest.mark.parametrize(
    "markup",
    [
        '<td style="font-size:0px"><div style="font-size:0"><p style="font-size:13px">{}</p></div></td>',
        '<td style="font-size:0"><p style="font:12pt serif">{}</p></td>',
        '<td style="font-size:1px"><p style="font-size:small">{}</p></td>',
        '<td style="visibility:hidden"><p style="visibility:visible">{}</p></td>',
        '<td style="color:transparent"><p style="color:#333">{}</p></td>',
    ],
)
def test_what_an_element_hides_another_in_it_shows(markup):
    """Newsletters set a cell to letters of no size, against gaps, and each text in it to its own."""
    found = page(f"<table><tr>{markup.format('shown')}<td>next</table>")
    assert (found.certain.split(), found.hidden.split()) == (["shown", "next"], [])


@over_rows(
    "markup",
    [
        "<table><td bgcolor=navy><font color=white>{}</font></table>",
        "<table><td bgcolor=tomato><font color=white>{}</font></table>",
        "<table><td background=x.jpg><font color=white>{}</font></table>",
        '<font color=white style="color:black">{}</font>',
        "<style>.b{{background:#222}}</style><p class=b style='color:#fff'>{}",
        "<style>#b td{{background:#222}}</style><p style='color:#fff'>{}",
        "<style>.a{{color:#fff}} #b td{{background:#222}}</style><p class=a>{}",
        "<style>.a{{color:#fff}} @media screen{{p{{background:#222}}}}</style><p class=a>{}",
        "<style>p{{color:#fff}}</style><p>{}",
        "<style>.a{{display:none}}</style><p class=a style='display:block'>{}",
        "<style>@media print{{.a{{display:none}} .b{{x:y}}}}</style><p class=a>{}",
        "<style media=print>.a{{display:none}}</style><p class=a>{}",
        "<style amp4email-boilerplate>body{{visibility:hidden}}</style><body>{}",
        "<style>.a:hover, .a .b, x{{display:none}}</style><p class=a>{}",
    ],
)
def test_what_cannot_be_known_to_be_hidden_is_shown(markup):
    """White text counts as shown on a picture, in an unknown colour, or with an unread style sheet."""
    found = page(markup.format("shown"))
    assert (found.certain.split(), found.hidden.split()) == (["shown"], [])


@over_rows("css", ["{", "}", "{}", "a{", "}}a{display:none}", "/*", "@", ",{display:none}", ".a{" * 9])
def test_any_style_sheet_is_read(css):
    """No style sheet causes an error."""
    assert page(f"<style>{css}</style><p>shown").visible.split() == ["shown"]


def test_a_page_with_a_style_sheet_is_read_in_a_moment():
    """As many rules and classes as fit into a page cost less than 10 times the page; it is twice as much."""
    rules = "".join(f".c{number}{{display:block;font-size:{number}px}}" for number in range(2000))
    marked = "<b class='c1 c2 c3 c4 c5 c6 c7 c8 c9'>x</b>" * 8000

    def seconds(markup: str) -> float:
        started = time.process_time()
        page(markup)
        return time.process_time() - started

    assert min(seconds(f"<style>{rules}</style>{marked}") for _ in range(3)) < 10 * min(
        seconds(marked) for _ in range(3)
    )


def test_hidden_words_are_no_words_of_the_text():
    """Hidden words are not taken for words that a reader sees, and that there are some is a token."""
    tokens = read(b"Content-Type: text/html\n\n<p>shown<p style='display:none'>secret").tokens
    assert {"shown", "html:hidden-text"} <= tokens.keys()
    assert "secret" not in tokens


@over_rows(
    ("markup", "deceives"),
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
def test_a_link_that_shows_another_host(markup, deceives):
    """A link whose text is a different host than its target has a token."""
    assert ("link-shows-another-host" in page(markup).features) is deceives


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
    """A title is not part of the text."""
    found = page("<html><head><title>The title</title></head><body>text</body></html>")
    assert found.visible.split() == ["text"]
    assert not found.hidden.split()


@over_rows("markup", ["<", "<>", "</", "<!", "<!-", "<?", "<a href=", "&#xd800;<p>", "<\0p>", "\ufeff<p>x", "<p " * 99])
def test_bad_markup_is_no_fault(markup):
    """Markup of any quality is read."""
    assert isinstance(page(markup), HtmlText)


@pytest.mark.parametrize(
    "first", ['<?xml version="1.0" encoding="utf-16"?>', "\ufeff", "<!DOCTYPE html>", "<meta charset=utf-16>"]
)
def test_what_a_page_says_of_its_encoding_is_past(first):
    """Decoded text stays as decoded, whatever the page declares."""
    assert page(first + "<p>größer").visible.split() == ["größer"]
