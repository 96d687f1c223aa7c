"""Families of pages: one form, with a piece at a place that differs.

The words that Chromium shows of a page are not written down: it is asked.
"""

from collections.abc import Iterator
from typing import NamedTuple

_SHOWN = "<p class=a>Cheap pills"


class Family(NamedTuple):
    """Pages of one form. `gap` says what of them the reader does not see yet."""

    what: str
    forms: tuple[str, ...]
    pieces: tuple[str, ...]
    gap: str = ""

    def pages(self) -> Iterator[str]:
        """Yield each form with each piece."""
        for form in self.forms:
            for piece in self.pieces:
                yield form.replace("…", piece)


# Selectors of which browsers know some, and of which they drop the others with their rule.
_SELECTORS = (
    *(".a,", ",.a", ".a,,b", ".a>", ">.a", "+.a", ".a~", ".a .", ".a #", ".a:", ".a::", ".a:not()", ".a:is()", "&.a"),
    *(".a,b:nth-child(x)", ".a,b:nth-child(2n + )", ".a,b:lang()", ".a,[x", ".a,[x=]", ".a,[x=1]", ".a,[x=y z]"),
    *(".a,[x=y i]", ".a,[x='y' q]", ".a,[x|=y|]", ".a,x|y", ".a,|y", ".a,*|y", ".a,b()", ".a,b!", ".a,b$"),
    *(".a,1b", ".a,.1b", ".a,#-", ".a,.-", ".a,.--", ".a,--b", ".a,.\\", ".a,b /deep/ c", ".a,b || c", ".a,::cue"),
    *(".a,b::slotted(c)", ".a,::part(x)", ".a,::-webkit-x", ".a,::-moz-x", ".a,:-moz-any(b)", ".a,::-moz-x", ".a,[]"),
    *(".a,::selection", ".a,::hover", ".a,::first-child", ".a,a::link", ".a,::last-child", ".a,::active", "@media.a"),
    *("@mediaall .a", ".a\u00a0", "\u00a0.a", ".a\u2003", "\ufeff.a", ".a\u200b", ".a\x7f", "a:b.a", ".a,b:hover:zz"),
)
_BEHIND_PSEUDO_ELEMENTS = (
    *("::before::after", "::after:hover", "::before:link", "::before:first-child", "::before#b", "::before[x]"),
    *("b::before>c", "b:before c", "*::before *", "b:active::after.b", "b :after .c", ":before:after", "b >>> c"),
    *("a:first-child:focus::before::before", "b/**/c", "b::before a", "b::after.c", "::first-line::before"),
)
# Values of `display`, and what may follow them.
_VALUES = (
    *("none/**/", "/**/none", "no/**/ne", "none\\0", "none\\", "none\\;", "n\\6fne", "none,", "none none", "none;;"),
    *("none!important!", "none !important x", "none ! important", "none!IMPORTANT", "none!/**/important", "none /"),
    *("none)", "none(", "none]", "none}", "none''", "(none)", "none<!--", "none-->", "none\u200b", "\ufeffnone"),
    *("none\ufeff", "none\x7f", "none\x85", "none\u2028", "none\x0c", "none\r", "NONE", "none@", "none@x", "none;@x"),
    *("none;}x{", "none;x{y}", "none;x{display:block}", "none;&{display:block}", "none;@media all{display:block}"),
    *("none;@layer{display:block}", "none;@supports(color:red){display:block}", "none;@scope{:scope{display:block}}"),
    *("none;display:flow", "none;display:inline flow-root", "none;display:list-item flow", "none;display:-webkit-flex"),
    *("none;display:-webkit-inline-box", "none;display:-moz-box", "none;display:table flow", "none;display:block ruby"),
    *("none;display:inline math", "none;display:grid-lanes", "none;dis\\play:block", "none;DISPLAY:BLOCK"),
    *("none;display:block!important", "none;display:block!x", "none;display:\nblock", "none;display:block;display:x"),
    *("none;display:block none", "none;display:'block'", "none;display:(block)", "none;display:var(--x,block)"),
    *("none;display:VAR(--x,block)", "none;display:v\\61r(--x,block)", "none;--x:block;display:var(--x)"),
    *("none;--x:;display:var(--x)block", "none;display:env(x,block)", "none;display:if(else:block)"),
    *("none;display:attr(x type(*),block)", "none;display:first-valid(block)", "none;display:inherit"),
    *("none;display:revert-layer", "none;display:revert-rule", "none;display:contents", "none;ALL:revert"),
    *("none;a\\6cl:revert", "none;all:inherit", "none;all:x", "none;all:initial!important", "none;animation:x"),
    *("none;-webkit-animation:x", "none;transition:all", "none;display:block\\9", "none;*display:block"),
)
# What is before a rule.
_BEFORE = (
    *("@import 'x';", "@import url(x)", "@charset 'x';", "@charset{}", "@layer x;", "@layer;", "@x;", "@x{}", "@x{;}"),
    *("@x{}}", "@x(;){}", "@x[;]{}", "@x';'{}", "@x\\;", "@x\\{", "@\\{x;", "@font-face{}", "@font-face{", "@page{}"),
    *("@page :first{", "@media{}", "@media all{}", "@media all{}}", "@media all{", "@media all", "@media print{"),
    *("@media print{}}{", "@media all{@media print{", "@media (", "@media not all{", "@media all;", "@supports("),
    *("@supports not(x){", "@container x{", "@keyframes x{", "@keyframes x{a{}", "@-moz-document x{", "@namespace x;"),
    *("@namespace;", "@counter-style x{", "@property --x{", "@scope(.b){", "@starting-style{", "@viewport{"),
    *("@custom-media x;", "@function --x(){", "{", "}", "}}", "{}", "{}}", "(", "[", "(}", "[}", ")", "'", '"'),
    *("\\", "\\\n", "/", "/*", "/**", "/*/", "/**/", "//", "// x\n", "//{", "<!", "<!-", "<!--", "-->", "--", "-->}"),
    *("--><!--", "!", "!important", "%", "&", "&{", "*{", "a{", "a{}", "a{b", "a{b{", "a{b{}", "a{b:c;d{", "a{(}"),
    *("a{[}", "a{'}", "a{'\n}", "a{url(}", "a{x:url(}", "a{\\}", "a{/*}", "a{<!--}", "a{@x}", "a{@x;}", "a{!}", "a{{}"),
    *("a{}}", "a,", "a;", "a:", "a;b{}", "url(", "url('", "url( x )", "u+0", "1", "#", "#a", "@", "$", "$x{}"),
    *("~", "|", "||", "`", "?", ":root", ":", "::", ".", "\x7f", "\ufeff", "\u00a0", "\u2028", "\\0", "\\d800"),
)
_CONTROLS = ("\0", "\x01", "\x0b", "\x1c", "\x1f")
_BLANKS = ("\u00a0", "\u2003", "\u2028", "\u3000", "\x85", "\ufeff")
_ELEMENTS = (
    *("a", "applet", "area", "audio", "b", "base", "bgsound", "body", "br", "button", "caption", "center", "col", "dd"),
    *("details", "dialog", "embed", "fieldset", "form", "frameset", "h1", "head", "hr", "html", "iframe", "image"),
    *("input", "isindex", "keygen", "li", "link", "listing", "marquee", "math", "menuitem", "meta", "nobr", "noembed"),
    *(
        "noframes",
        "noscript",
        "object",
        "option",
        "p",
        "param",
        "plaintext",
        "rp",
        "ruby",
        "script",
        "select",
        "source",
    ),
    *("style", "summary", "svg", "table", "tbody", "td", "template", "textarea", "title", "tr", "video", "xmp", "o:p"),
)

FAMILIES = (
    Family("selectors", (f"<style>…{{display:none}}</style>{_SHOWN}",), _SELECTORS),
    Family(
        "what is behind a pseudo-element",
        (f"<style>.a,…{{display:none}}</style>{_SHOWN}",),
        _BEHIND_PSEUDO_ELEMENTS,
        gap="the list of selectors is taken for valid",
    ),
    Family(
        "values",
        (f"<style>.a{{display:…}}</style>{_SHOWN}", '<p style="display:…">Cheap pills'),
        _VALUES,
    ),
    Family(
        "what is before a rule",
        (f"<style>….a{{display:none}}</style>{_SHOWN}",),
        _BEFORE,
    ),
    Family(
        "control letters",
        (
            f"<style>….a{{display:none}}</style>{_SHOWN}",
            f"<style>.a…{{display:none}}</style>{_SHOWN}",
            f"<style>.a{{display:none…}}</style>{_SHOWN}",
            f"<style>.a{{…display:none}}</style>{_SHOWN}",
            f"<style media='screen…'>.a{{display:none}}</style>{_SHOWN}",
            f"<style type='text/css…'>.a{{display:none}}</style>{_SHOWN}",
            "<style>.a{display:none}</style><p class='a…'>Cheap pills",
            "<p style='display:none…'>Cheap pills",
            "<p st…yle='display:none'>Cheap pills",
            "<div… style='display:none'>Cheap pills",
            "<div …style='display:none'>Cheap pills",
        ),
        _CONTROLS,
        gap="control letters are dropped, or taken for blanks",
    ),
    Family(
        "blanks of Unicode",
        (
            f"<style>.a…{{display:none}}</style>{_SHOWN}",
            f"<style>.a{{display:none…}}</style>{_SHOWN}",
            f"<style>.a{{…display:none}}</style>{_SHOWN}",
            f"<style>.a{{display…:none}}</style>{_SHOWN}",
            f"<style type='text/css…'>.a{{display:none}}</style>{_SHOWN}",
            "<style>.a{display:none}</style><p class='a…'>Cheap pills",
            "<style>#a{display:none}</style><p id='…a'>Cheap pills",
            "<p style='display:none…'>Cheap pills",
            "<p…style='display:none'>Cheap pills",
            "<p style…='display:none'>Cheap pills",
        ),
        _BLANKS,
    ),
    Family(
        "blanks of Unicode in `media`",
        (
            f"<style media='…all'>.a{{display:none}}</style>{_SHOWN}",
            f"<style media='screen…'>.a{{display:none}}</style>{_SHOWN}",
        ),
        _BLANKS,
        gap="blanks of Unicode are stripped",
    ),
    Family(
        "elements",
        (
            "<… style='display:none'>Cheap pills",
            "<p style='display:none'>x<…>Cheap pills</…>",
            "<div style='display:none'><…></div>Cheap pills",
            "<table style='display:none'><…>Cheap pills</table>",
            f"<…><style>.a{{display:none}}</style></…>{_SHOWN}",
        ),
        _ELEMENTS,
    ),
    Family(
        "elements that end nothing",
        ("</…>Cheap pills", "<svg><…></svg>Cheap pills", "<title><…>x</…></title>Cheap pills"),
        _ELEMENTS,
    ),
)
