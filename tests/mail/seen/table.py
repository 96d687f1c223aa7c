"""A table of pages: what Chromium shows of each, and what the reader leaves out.

`shown` are the words that Chromium shows. `left_out` are words that the reader leaves out of both its readings: they
are hidden so plainly that it is sure. It leaves out no word that Chromium shows.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """A page."""

    what: str
    page: str
    shown: str = "cheap pills"
    left_out: str = ""


ROWS = (
    # What hides for certain.
    Row(
        "display: none in a style attribute",
        "<div style='display:none'>Dear friend</div><p>Cheap pills",
        left_out="dear friend",
    ),
    Row(
        "display: none by a class",
        "<style>.a{display:none}</style><div class=a>Dear friend</div><p>Cheap pills",
        left_out="dear friend",
    ),
    Row(
        "display: none by a rule for elements in others",
        "<style>div p{display:none}</style><div><p>Dear friend</p></div>Cheap pills",
    ),
    Row(
        "display: none in plain @media",
        "<style>@media screen{.a{display:none}}</style><div class=a>Dear friend</div><p>Cheap pills",
    ),
    # Style sheets that do not hold.
    Row(
        "an alternate style sheet by title",
        "<style title=one>b{color:red}</style><style title=two>p{display:none}</style><p>Cheap pills",
    ),
    Row(
        "a content security policy that admits no styles",
        (
            "<meta http-equiv=content-security-policy content=\"style-src 'none'\"><style>p{display:none}"
            "</style><p>Cheap pills"
        ),
    ),
    Row(
        "such a policy, and a style attribute",
        "<meta http-equiv=content-security-policy content=\"style-src 'none'\"><p style='display:none'>Cheap pills",
    ),
    Row(
        "a default namespace that no element has",
        "<style>@namespace 'urn:x';p{display:none}</style><p>Cheap pills",
    ),
    Row(
        "a sheet for Unicode's blank and all",
        "<style media='\xa0all'>p{display:none}</style><p>Cheap pills",
    ),
    Row("a sheet of another type", "<style type='text/css;a'>p{display:none}</style><p>Cheap pills"),
    Row("a sheet for print", "<style media=print>p{display:none}</style><p>Cheap pills"),
    Row("a sheet in a template", "<template><style>p{display:none}</style></template><p>Cheap pills"),
    Row("a sheet in noscript", "<noscript><style>p{display:none}</style></noscript><p>Cheap pills", shown=""),
    Row("a rule behind an @-rule without an end", "<style>@x .a{display:none}</style><p class=a>Cheap pills"),
    Row("a rule behind a quotation mark", "<style>'.a{display:none}</style><p class=a>Cheap pills"),
    Row("a rule behind an open bracket", "<style>(.a{display:none}</style><p class=a>Cheap pills"),
    Row("a rule behind a stray brace", "<style>}.a{display:none}</style><p class=a>Cheap pills"),
    Row(
        "a rule in a comment of HTML and CSS",
        "<style><!-- /* --> .a{display:none} */ --></style><p class=a>Cheap pills",
    ),
    # Selectors.
    Row("an invalid pseudo-element beside the selector", "<style>p,::zz{display:none}</style><p>Cheap pills"),
    Row(
        "an element in a pseudo-element beside it",
        "<style>p,b::before a{display:none}</style><p>Cheap pills",
    ),
    Row(
        "a class of a pseudo-element beside it",
        "<style>p,b::after.c{display:none}</style><p>Cheap pills",
    ),
    Row(
        "a pseudo-element in a pseudo-element beside it",
        "<style>p,:before:after{display:none}</style><p>Cheap pills",
    ),
    Row(
        "the old deep combinator beside it",
        "<style>p,b >>> c{display:none}</style><p>Cheap pills",
    ),
    Row("an id that begins with a digit beside it", "<style>p,#1{display:none}</style><p>Cheap pills"),
    Row("::first-line", "<style>p{font-size:0}p::first-line{font-size:20px}</style><p>Cheap pills"),
    Row("a selector with an escape", "<style>p{display:none}\\70{display:block}</style><p>Cheap pills"),
    Row(":not", "<style>.a{display:none}:not(b).a{display:block}</style><p class=a>Cheap pills"),
    Row(":has", "<style>.a{display:none}body:has(p) .a{display:block}</style><p class=a>Cheap pills"),
    Row(
        ":is with what is not valid", "<style>.a{display:none}p:is(.a,::x){display:block}</style><p class=a>Cheap pills"
    ),
    Row(
        ":where, which is weaker", "<style>p{display:none}:where(p){display:block}</style><p>Dear friend</p>Cheap pills"
    ),
    Row(
        "a selector of an attribute",
        "<style>.a{display:none}[align]{display:block}</style><p class=a align=left>Cheap pills",
    ),
    Row(
        "an id of 61 letters",
        f"<style>#{60 * 'a'}{{display:none}}</style><p id={61 * 'a'}>Cheap pills",
    ),
    Row("capitals in a class", "<!doctype html><style>.a{display:none}</style><p class=A>Cheap pills"),
    Row("a Kelvin sign for a k", "<!doctype html><style>.k{display:none}</style><p class=\u212a>Cheap pills"),
    Row("Unicode's blank in a class", "<style>.a{display:none}</style><p class='\xa0a'>Cheap pills"),
    Row(
        "a control letter in a selector",
        "<style>.a\x01{display:none}</style><p class=a>Cheap pills",
    ),
    Row(
        "NUL in a selector",
        "<style>.a\0{display:none}</style><p class=a>Cheap pills",
    ),
    # Rules in rules, and conditions.
    Row("a rule in a rule", "<style>.a{display:none;&:not(b){display:block}}</style><p class=a>Cheap pills"),
    Row("@media in a rule", "<style>.a{display:none;@media all{display:block}}</style><p class=a>Cheap pills"),
    Row("@layer", "<style>p{display:none!important}@layer x{p{display:block!important}}</style><p>Cheap pills"),
    Row(
        "@supports", "<style>.a{display:none}@supports(display:block){p.a{display:block}}</style><p class=a>Cheap pills"
    ),
    Row(
        "@container",
        (
            "<style>div{container-type:inline-size}.a{display:none}@container(width>1px){p.a{display:block}}"
            "</style><div><p class=a>Cheap pills</div>"
        ),
    ),
    Row("@scope", "<style>.a{display:none}@scope(body){p.a{display:block}}</style><p class=a>Cheap pills"),
    Row(
        "@media with another width",
        "<style>.a{display:none}@media(min-width:1px){p.a{display:block}}</style><p class=a>Cheap pills",
    ),
    Row("!important", "<style>p{display:block!important}</style><p style='display:none'>Cheap pills"),
    # Declarations.
    Row("an escape in a value", "<p style='display:none;display:bl\\6f ck'>Cheap pills"),
    Row("an escape in a property", "<p style='display:none;d\\69splay:block'>Cheap pills"),
    Row("a comment in a value", "<p style='display:no/**/ne'>Cheap pills"),
    Row("a comment between words", "<p style='display/**/:/**/none'>Dear friend</p>Cheap pills"),
    Row("var() without a value", "<p style='display:none;display:var(--x)'>Cheap pills"),
    Row("unset", "<p style='display:none;display:unset'>Cheap pills"),
    Row("revert", "<p style='display:none;all:revert'>Cheap pills"),
    Row("a brace in a style attribute", "<p style='x{};display:none'>Cheap pills", shown=""),
    Row("a declaration behind a bad string", "<style>.a{x:'\n;display:none}</style><p class=a>Cheap pills", shown=""),
    Row(
        "a control letter in a value",
        "<p style='display:none\x01'>Cheap pills",
    ),
    Row("NUL in a value", "<p style='display:no\0ne'>Cheap pills"),
    Row(
        "NUL in the name of an attribute",
        "<p sty\0le='display:none'>Cheap pills",
    ),
    Row("a reference to NUL in a value", "<p style='display:none&#0;'>Cheap pills"),
    Row("a reference to a control letter in a value", "<p style='display:none&#11;'>Cheap pills"),
    Row("a reference in a value", "<p style='display&colon;none'>Dear friend</p>Cheap pills"),
    Row("a reference in the name of an attribute", "<p st&#121;le='display:none'>Cheap pills"),
    Row("the second of two style attributes", "<p style='color:red' style='display:none'>Cheap pills"),
    Row("an attribute without quotation marks", "<p style=color:red;display: none>Cheap pills"),
    Row("a transform that turns it over", "<p style='transform:rotate(180deg)'>Cheap pills"),
    Row("a transform of no size", "<p style='transform:scale(0)'>Dear friend</p>Cheap pills"),
    Row("opacity: 0", "<p style='opacity:0'>Dear friend</p>Cheap pills"),
    Row("white on white", "<p style='color:#fff'>Dear friend</p>Cheap pills"),
    Row(
        "visible in what is hidden",
        "<div style='visibility:hidden'>Dear friend <b style='visibility:visible'>Cheap pills</b></div>",
    ),
    Row("content-visibility", "<div style='content-visibility:hidden'>Dear friend</div>Cheap pills"),
    # Elements.
    Row("hidden=until-found", "<div hidden=until-found>Dear friend</div>Cheap pills"),
    Row("hidden, but displayed", "<style>[hidden]{display:block!important}</style><p hidden>Cheap pills"),
    Row("popover", "<div popover style='display:block'>Cheap pills</div>"),
    Row("inert", "<div inert>Cheap pills</div>"),
    Row("<details>", "<details>Dear friend<summary>Cheap pills</summary></details>"),
    Row("<dialog>", "<dialog>Dear friend</dialog><dialog open>Cheap pills</dialog>"),
    Row("<template>", "<template>Dear friend</template>Cheap pills"),
    Row(
        "a shadow tree",
        (
            "<div style='display:none'><template shadowrootmode=open><style>:host{display:block!important}"
            "</style><slot></slot></template>Cheap pills</div>"
        ),
    ),
    Row("<noscript>", "<noscript><p>Cheap pills</noscript>"),
    Row("<select>", "<select><option>Cheap pills<option>Dear friend</select>"),
    Row(
        "the label of an <option>",
        "<select><option label='Cheap pills'>Dear friend</select>",
    ),
    Row("a block in <select>", "<select><div style='display:none'></select>Cheap pills"),
    Row("<plaintext>", "<plaintext><b style='display:none'>Cheap <!--pills-->"),
    Row("<xmp>", "<xmp><!--</xmp>Cheap pills-->"),
    Row("<textarea>", "<textarea><!--</textarea>Cheap pills-->"),
    Row("<title>", "<title><!--</title>Cheap pills"),
    Row("a <title> that is displayed", "<style>head,title{display:block}</style><title>Cheap pills</title>"),
    Row(
        "a <title> that `all` displays",
        "<style>head *{all:unset}head{all:unset}</style><title>Cheap pills</title>",
    ),
    Row(
        "a <title> that an escape displays",
        "<style>h\\65 ad,t\\69tle{display:block}</style><title>Cheap pills</title>",
    ),
    Row("<frameset> behind text", "<p>Cheap<frameset><frame></frameset>pills"),
    Row("<iframe srcdoc>", "<iframe srcdoc='&lt;p>Cheap pills'></iframe>"),
    Row("<iframe> of a data URL", "<iframe src='data:text/html,Cheap pills'></iframe>"),
    *(
        Row(f"<iframe> of a data URL {what}", f"<iframe src='{url}'></iframe>")
        for what, url in (
            ("with the end of a line in it", "da\nta:text/html,Cheap pills"),
            ("behind a control letter", "&#1;data:text/html,Cheap pills"),
            ("of no known type", "data:x,Cheap pills"),
            ("of plain text", "data:text/plain,<!--Cheap pills-->"),
            ("with blanks, in base64", "data:text/html; base64 ,Q2hlYXAgcGlsbHM"),
            (
                "with SVG",
                'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"><text y="20">Cheap pills</text></svg>',
            ),
        )
    ),
    Row("an <iframe> in an <iframe>", "<iframe srcdoc=\"<iframe srcdoc='Cheap pills'></iframe>\"></iframe>"),
    Row("an <iframe> behind an open comment", "<iframe srcdoc='<!--'></iframe><iframe srcdoc='Cheap pills'></iframe>"),
    Row(
        "attr() in an <iframe>",
        "<iframe srcdoc=\"<style>p::after{content:attr(a)}</style><p a='Cheap pills'>\"></iframe>",
    ),
    Row(
        "letters that a rule in an <iframe> lets run backwards",
        "<iframe srcdoc='<style>b i{direction:rtl;unicode-bidi:bidi-override}</style><b><i>sllip paehC'></iframe>",
    ),
    Row("text in <iframe>", "<iframe>Dear friend</iframe>Cheap pills"),
    Row("<object>", "<object data=x style='display:block'>Cheap pills</object>"),
    Row("<marquee>", "<marquee>Cheap pills</marquee>"),
    Row("<ruby>", "<ruby>Cheap<rp>Dear</rp><rt>pills</ruby>"),
    Row("<meter> and <progress>", "<meter>Dear</meter><progress>friend</progress>Cheap pills"),
    Row("<base> and <link>", "<base href=http://a.example/><link rel=stylesheet href=a.css><p>Cheap pills"),
    Row("<canvas>", "<canvas>Dear friend</canvas>Cheap pills", shown="cheap pills dear friend"),
    # SVG and MathML.
    Row("<style> in SVG", "<svg><style></svg><p>Cheap pills"),
    Row("text in <style> in SVG", "<svg><style><p>Cheap pills</style></svg>"),
    Row("<title> in SVG", "<svg><title>Dear friend</title></svg>Cheap pills"),
    Row("<desc> in SVG", "<svg><desc>Dear friend</desc></svg>Cheap pills"),
    Row("<foreignObject>", "<svg><foreignObject width=99 height=99><p>Cheap pills</foreignObject></svg>"),
    Row("a closed element in SVG", "<svg><g style='display:none'/><text y=20>Cheap pills</text></svg>"),
    Row("a <p> that ends SVG", "<svg style='display:none'><p>Cheap pills"),
    Row("CDATA in SVG", "<svg><text y=20><![CDATA[Cheap pills]]></text></svg>"),
    Row("CDATA in MathML", "<math><mtext><![CDATA[Cheap pills]]></mtext></math>"),
    Row(
        "<annotation-xml>",
        "<math><annotation-xml encoding=text/html><p>Dear friend</p></annotation-xml></math>Cheap pills",
    ),
    Row("<script> in SVG", "<svg><script></svg>Cheap pills"),
    # Trees that browsers build otherwise.
    Row("an element that a block ends", "<p style='display:none'>Dear friend<div>Cheap pills</div>"),
    Row("a link that a link ends", "<a style='display:none'>Dear friend<a>Cheap pills"),
    Row("a heading that another ends", "<h1 style='display:none'>Dear friend</h6>Cheap pills"),
    Row("the adoption agency", "<b style='display:none'>Dear<p>friend</b>Cheap pills"),
    Row("foster parents", "<table style='display:none'><tr>Cheap pills<td>Dear friend</table>"),
    Row("a form in a form", "<form><form style='display:none'>Cheap pills"),
    Row("an element of a table outside it", "<td style='display:none'>Cheap pills"),
    Row("a second <body>", "<p>x<body style='display:none'><p style='display:block'>Cheap pills", shown=""),
    Row("an empty element", "<image style='display:none'>Cheap pills"),
    Row("a slash at the end of a tag", "<div style='display:none'/>Dear friend</div>Cheap pills"),
    Row("an end tag with attributes", "<div style='display:none'>Dear friend</div x='>'>Cheap pills"),
    Row(
        "an end tag with Unicode's blank",
        "<table><tr><td><div style='display:none'>Dear friend</div\xa0><td>Cheap pills</table>",
    ),
    Row(
        "an end tag with another of Unicode's blanks",
        "<ul><li><div style='display:none'>Dear friend</div\u3000><li>Cheap pills</ul>",
    ),
    Row(
        "an end tag with the sign for kelvin",
        "<table><tr><td><blockquote style='display:none'>Dear friend</bloc\u212aquote><td>Cheap pills</table>",
    ),
    Row(
        "an end tag with a long s",
        "<table><tr><td><strong style='display:none'>Dear friend</\u017ftrong><td>Cheap pills</table>",
    ),
    Row("</p> alone", "<div style='display:none'>Dear friend</p></div>Cheap pills"),
    Row("</p> at the beginning", "</p>Cheap pills"),
    Row("</br> at the beginning", "</br>Cheap pills"),
    Row("</html> at the beginning", "</html><p>Cheap pills"),
    Row("text behind </body></html>", "<p>Dear friend</body></html>Cheap pills", shown="cheap pills dear friend"),
    Row("a stray end tag at the beginning", "</x>Cheap pills"),
    Row("an end tag without a name", "</>Cheap pills"),
    # What is a comment, and what is not.
    Row("a comment that ends at once", "<!-->Cheap pills-->"),
    Row("a comment that ends with an exclamation mark", "<!--Dear friend--!>Cheap pills", left_out="dear friend"),
    Row("CDATA outside SVG", "<![CDATA[Dear friend>Cheap pills]]>"),
    Row("an instruction", "<?x Dear friend>Cheap pills", left_out="dear friend"),
    Row("a bogus comment", "</!Dear friend>Cheap pills"),
    Row("a doctype without an end of its string", "<!doctype html public 'x>Cheap pills"),
    Row("a script in a comment in a script", "<script><!--<script></script>Dear friend--></script>Cheap pills"),
    # Letters that are no text of the page.
    Row("::before", "<style>p::before{content:'Cheap pills'}</style><p>"),
    Row(
        "the string of a list marker",
        "<p style='display:list-item;list-style:\"Cheap pills\" inside'>",
    ),
    Row(
        "attr()",
        "<style>p::after{content:attr(title)}</style><p title='Cheap pills'>",
    ),
    Row("quotes", "<style>q{quotes:'Cheap ' 'pills'}</style><q></q>"),
    Row(
        "a counter",
        "<style>@counter-style x{system:cyclic;symbols:'Cheap pills'}li{list-style:x}</style><ul><li></ul>",
    ),
    *(
        Row(f"attr() {what}", f"<style>p::after{{content:{function}}}</style><p {name}='Cheap pills'>")
        for what, function, name in (
            ("of a name with a digit", "attr(x1)", "x1"),
            ("of a name of 45 letters", f"attr({45 * 'a'})", 45 * "a"),
            ("with an escape", "\\61ttr(t\\69tle)", "title"),
            ("with a comment", "attr(/**/title)", "title"),
            ("of eleven attributes", " ".join(f"attr(a{number})" for number in range(11)), "a9"),
        )
    ),
    Row("attr() behind a quotation mark", "<style>p::after{content:attr(a)}</style>x = ' y<p a='Cheap pills'>"),
    *(
        Row(f"a string {what}", f"<style>{css}</style><p>")
        for what, css in (
            ("that begins with an escape", "p::after{content:'\\'Cheap pills'}"),
            ("that the sheet's end ends", "p::after{content:'Cheap pills"),
            ("behind a quotation mark in a comment", "b{font:/*'*/x}p::after{content:'Cheap pills'}"),
            ("behind one in an address", "b{background:url(x'y)}p::after{content:'Cheap pills'}"),
            ("behind one in an address with escapes", "b{background:u\\72l(x'y)}p::after{content:'Cheap pills'}"),
            ("behind a comment in an address", "b{background:url(x/*)}p::after{content:'Cheap pills'}"),
            (
                "of a property",
                "@property --x{syntax:'*';inherits:false;initial-value:'Cheap pills'}p::after{content:var(--x)}",
            ),
            ("of a function", "@function --f(){result:'Cheap pills'}p::after{content:--f()}"),
            ("given to a function", "@function --f(--a){result:var(--a)}p::after{content:--f({'Cheap pills'})}"),
            ("behind else", "p::after{content:if(media(print):'';else:'Cheap pills')}"),
            ("of a variable like a typeface", "p{--font:'Cheap pills'}p::after{content:var(--font)}"),
            ("of an imported sheet", "@import 'data:text/css,p::after%7bcontent:%22Cheap%20pills%22%7d';"),
            ("that an escape imports", "@im\\70ort url(d\\61ta:,p::after%7bcontent:%22Cheap%20pills%22%7d);"),
        )
    ),
    Row("a string of a linked sheet", "<link rel=stylesheet href=\"data:,p::after{content:'Cheap pills'}\"><p>"),
    Row(
        "a counter of words without quotation marks",
        "<style>@counter-style x{system:additive;additive-symbols:1 Cheap-pills}li{list-style:x}</style><ul><li></ul>",
    ),
    Row("the value of an <input>", "<input value='Cheap pills'>"),
    Row("the placeholder of an <input>", "<input placeholder='Cheap pills'>"),
    Row("the value of a button", "<input type=submit value='Cheap pills'>"),
    Row("the alt of a picture", "<img src=x alt='Cheap pills'>"),
    Row("the alt of a picture behind 600 letters", f"<img src=x alt='{60 * 'honest wo '} Cheap pills'>"),
    Row("the alt of <image>", "<image src=x alt='Cheap pills'>"),
    Row("the alt of an <input>", "<input type=image alt='Cheap pills'>"),
    Row("the title of a paragraph", "<p title='Dear friend'>Cheap pills", left_out="dear friend"),
    # Letters that look otherwise.
    Row("text-transform", "<p style='text-transform:uppercase'>cheap pills"),
    Row("zero-width letters", "Che\u200bap p\u2060ills"),
    Row("a soft hyphen", "Che&shy;ap pi&shy;lls"),
    Row("letters that run backwards", "<bdo dir=rtl>sllip paehC</bdo>"),
    Row(
        "letters that a rule lets run backwards",
        "<style>div b{direction:rtl;unicode-bidi:bidi-override}</style><div><b>sllip paehC</b></div>",
    ),
    Row("letters that mirror marks turn", "\u202esllip paehC\u202c"),
    Row("full-width letters", "\uff23\uff48\uff45\uff41\uff50 pills"),
    Row("Cyrillic letters", "Che\u0430p pills"),
    Row("references without a semicolon", "&#67heap &#x70ills"),
    Row("a meta charset", "<meta charset=utf-7><p>Cheap pills"),
)
