"""Ways to write a message of two texts, so that a reader sees the one and a filter may read the other.

Each way is a function of another person's letter and of the spam. It returns the fields that declare the body, and the
body. All ways show the spam. The letter is in sight, hidden, or an alternative that no program shows.
"""

import base64
import binascii
import html
import quopri
import re
from collections.abc import Callable
from urllib.parse import quote

Way = Callable[[str, str], bytes]

_FIELD = b"MIME-Version: 1.0\nContent-Type: "
_PADDING = b"".join(b" x-part-%d=y;" % number for number in range(400))  # more than 4 KB


def plain(text: str, encoding: bytes = b"8bit", charset: bytes = b"utf-8") -> bytes:
    """Return a part of plain text, in its encoding. The text is UTF-8, whatever charset is declared."""
    fields = b"text/plain; charset=%s\nContent-Transfer-Encoding: %s\n\n" % (charset, encoding)
    return fields + text.encode("utf-8", "replace")


def page(markup: str, head: str = "") -> bytes:
    """Return a part of HTML."""
    return b"text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(
        f"<html>{head}<body>{markup}</body></html>".encode("utf-8", "replace")
    )


def two_parts(kind: bytes, first: bytes, second: bytes) -> bytes:
    """Return a multipart of that kind. Of `alternative` programs show the second part, of `mixed` both."""
    parts = b"".join(b"--=_b\nContent-Type: " + part + b"\n" for part in (first, second))
    return b'multipart/%s; boundary="=_b"\n\n' % kind + parts + b"--=_b--\n"


def marked(text: str) -> str:
    """Return a text as HTML."""
    return "<br>\n".join(html.escape(text).splitlines())


def in_markup(of_letter: str, of_spam: str, sheet: str = "", head: str = "") -> Way:
    """Put both texts into one page, each in its markup."""
    return lambda letter, spam: (
        _FIELD + page(f"<style>{sheet}</style>{of_letter % marked(letter)}{of_spam % marked(spam)}", head)
    )


def hidden(style: str) -> Way:
    """Put the letter into an element with that style."""
    return in_markup(f'<div style="{style}">%s</div>', "<div>%s</div>")


def shown(markup: str, sheet: str = "") -> Way:
    """Put the spam below the letter into markup that looks hidden but is shown."""
    return in_markup("<div>%s</div>", markup, sheet)


def _uuencoded(letter: str, spam: str) -> str:
    return f"{letter}\n\nbegin 644 a.txt\n{spam}\nend\n"


def _broken(text: str) -> str:
    """Split each word into pieces, with padding after soft line breaks."""
    return "= \n".join(text[at : at + 2] for at in range(0, len(text), 2))


def _quoted(text: str) -> str:
    return quopri.encodestring(text.encode("utf-8", "replace")).decode("ascii").replace("=\n", "")


def _in_pieces(letter: str, spam: str) -> bytes:
    lines = [_quoted(line) if "=" in _quoted(line) else _broken(line) for line in spam.splitlines()]
    return _FIELD + plain(_quoted(letter) + "\n\n" + "\n".join(lines), b"quoted-printable")


def _behind_returns(letter: str, spam: str) -> bytes:
    lines = "".join(f"=\r{_quoted(line)}\n" for line in spam.splitlines())
    return _FIELD + plain(_quoted(letter) + "\n\n" + lines, b"quoted-printable")


def _behind_parameters(letter: str, spam: str) -> bytes:
    opening = b"multipart/mixed;" + _PADDING + b' boundary="=_b"\n\n' + letter.encode("utf-8", "replace")
    return _FIELD + opening + b"\n--=_b\nX-A: b\nContent-Type: " + page(marked(spam)) + b"\n--=_b--\n"


def _declared(charset: bytes, opening: str = "", closing: str = "") -> Way:
    """Declare a charset that some programs do not know; its escapes are around each word of the spam, not in links."""

    def way(letter: str, spam: str) -> bytes:
        words = re.sub(r"(?<!\S)[a-zA-Z]{2,}(?!\S)", lambda word: f"{opening}{word[0]}{closing}", spam)
        return _FIELD + plain(f"{letter}\n\n{words}\n", b"8bit", charset)

    return way


def _in_the_same_boundary(letter: str, spam: str) -> bytes:
    """Put the letter into a multipart within, which has the boundary of that around it, and the spam behind it."""
    parts = b"--=_b\nContent-Type: " + plain(letter) + b"\n--=_b--\n"
    inner = b'Content-Type: multipart/mixed; boundary="=_b"\n\n' + parts
    last = b"--=_b\nContent-Type: " + page(marked(spam)) + b"\n--=_b--\n"
    return _FIELD + b'multipart/mixed; boundary="=_b"\n\n--=_b\n' + inner + last


def _in_uue(letter: str, spam: str) -> bytes:
    text = spam.encode("utf-8", "replace")
    lines = b"".join(binascii.b2a_uu(text[at : at + 45]) for at in range(0, len(text), 45))
    part = b"text/plain; charset=utf-8\nContent-Transfer-Encoding: uue\n\nbegin 644 a\n" + lines + b"`\nend\n"
    return _FIELD + two_parts(b"mixed", plain(letter), part)


_RAW_FOR_SOME = [
    f"<{around}><{name}></{around}>" for around in ("svg", "math") for name in ("style", "title", "script")
]
# Browsers do not take `.b` from these. A policy counts only in the head.
_NO_SHEETS = {
    "a sheet of a second title": "<style title=x>a{color:red}</style><style title=y>.b{display:none}</style>",
    "`@namespace` before it": "<style>@namespace 'urn:x';.b{display:none}</style>",
    "`a::before b` beside it": "<style>.b,a::before b{display:none}</style>",
    "`a::after:hover` beside it": "<style>.b,a::after:hover{display:none}</style>",
    "NUL behind it": "<style>.b\0{display:none}</style>",
    "NUL in its `none`": "<style>.b{display:no\0ne}</style>",
    "a control letter behind it": "<style>.b\x01{display:none}</style>",
    "a blank of Unicode before its media": "<style media='\u00a0all'>.b{display:none}</style>",
    "another type": '<style type="text/x">.b{display:none}</style>',
    "a bracket before it": "<style>] ;.b{display:none}</style>",
    "an invalid selector beside it": "<style>.b,::x{display:none}</style>",
    "its sheet in a template": "<template><style>.b{display:none}</style></template>",
}
_POLICY = "<meta http-equiv=content-security-policy content=\"style-src 'none'\">"
_LONG = "b" * 60  # letters of an id
_NO_STYLES = {
    **{f"`{style}`": style for style in ("a:{;display:none;}", "display:none;all:revert", "display:none&#0;")},
    "`display:none&#11;`": "display:none&#11;",
    "NUL in `display:none`": "display:no\0ne",
    "`display:none` and a control letter": "display:none\x01",
}
_OWN_SIZES = ("font-size:calc(12px)", "font:message-box", "all:initial", "font-size:max(9px,1em)")
# A libxml2 before 2.14 loses text behind these, wherever they are, or if they come first.
_LOST_BEHIND = ("</body></html>", "<!-->", "<!--->", "<title><!--</title>", "<textarea><!--</textarea>")
_LOST_BEHIND_FIRST = ("</html>", "</p>", "</x>", "</!x>", "<!-->")
_VOID = ("wbr", "embed", "source", "track", "keygen", "bgsound", "image")

# Of these, libxml2 and browsers end the hidden element at different places.
_ENDS = (
    "<table><tr><td><div style=display:none>x<td>%s</table>",
    "<ul><li><div style=display:none>x</li>%s</ul>",
    "<b style=display:none><div></b>%s</div>",
    "<p><span style=display:none><div>%s</div></span>",
    "<p style=display:none>x<section>%s</section>",
)
# What stands in each word of the spam.
_IN_WORDS = {
    "`<x></x>`": "<x></x>",
    "`<o:p></o:p>`": "<o:p></o:p>",
    "`<img width=0>`": "<img width=0>",
    "`<script></script>`": "<script></script>",
    "a control letter": "&#1;",
    "a private letter": "&#xe000;",
    "a tag letter (U+E0061)": "&#xe0061;",
    "a mark below (U+0332)": "&#x332;",
}
_ATTACHED = {
    "attached text": b"Content-Type: text/plain; charset=utf-8; name=a.txt\nContent-Disposition: attachment",
    "`message/delivery-status`": b"Content-Type: message/delivery-status",
    "`application/octet-stream; name=a.txt`": b"Content-Type: application/octet-stream; name=a.txt",
    "`application/pgp`": b"Content-Type: application/pgp; charset=utf-8",
    "attached HTML": b"Content-Type: text/html; charset=utf-8; name=a.html\nContent-Disposition: attachment",
}


def _in_words(piece: str) -> Way:
    """Put a piece of markup into the middle of each word of the spam."""

    def way(letter: str, spam: str) -> bytes:
        words = re.sub(r"[^\W\d_]{4,}", lambda word: f"{word[0][:2]}\0{word[0][2:]}", spam)
        return _FIELD + page(f"<div>{marked(letter)}</div><div>{marked(words)}</div>".replace("\0", piece))

    return way


def _in_lines(of_line: str, sheet: str = "", is_backwards: bool = False) -> Way:
    """Put each line of the spam into markup."""

    def way(letter: str, spam: str) -> bytes:
        lines = [html.escape(line[::-1] if is_backwards else line) for line in spam.splitlines() if line.strip()]
        markup = "<br>".join(of_line.replace("%s", line) for line in lines)
        return _FIELD + page(f"<style>{sheet}</style><div>{marked(letter)}</div><div>{markup}</div>")

    return way


def _in_frame(name: str, opening: str = "", written: Callable[[str], str] = html.escape) -> Way:
    """Put the spam into a frame, as the value of that attribute."""

    def way(letter: str, spam: str) -> bytes:
        frame = f'<iframe width=900 height=9000 {name}="{opening}{written(marked(spam))}"></iframe>'
        return _FIELD + page(f"<div>{marked(letter)}</div>{frame}")

    return way


def _behind_nothing(opening: str) -> Way:
    """Show the letter as plain text, and the spam as a page of its own that begins so."""

    def way(letter: str, spam: str) -> bytes:
        content = base64.encodebytes(f"{opening}<p>{marked(spam)}".encode("utf-8", "replace"))
        part = b"text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\n" + content
        return _FIELD + two_parts(b"mixed", plain(letter), part)

    return way


def _attached(fields: bytes) -> Way:
    """Show the letter, and attach the spam."""

    def way(letter: str, spam: str) -> bytes:
        is_html = b"text/html" in fields
        content = base64.encodebytes((marked(spam) if is_html else spam).encode("utf-8", "replace"))
        part = fields + b"\nContent-Transfer-Encoding: base64\n\n" + content
        parts = b"--=_b\nContent-Type: " + plain(letter) + b"\n--=_b\n" + part + b"\n--=_b--\n"
        return _FIELD + b'multipart/mixed; boundary="=_b"\n\n' + parts

    return way


def _signed(letter: str, spam: str) -> bytes:
    """Show the letter, and below it the spam, which lies in the signature of a file of S/MIME."""
    content = b"Content-Type: " + page(marked(spam))
    oid = bytes.fromhex("06092a864886f70d0107")
    head = b"\x30\x80%s\x02\xa0\x80\x30\x80\x02\x01\x01\x31\x00\x30\x80%s\x01\xa0\x80\x04\x83" % (oid, oid)
    whole = head + len(content).to_bytes(3) + content + b"\0\0" * 5
    fields = b"application/pkcs7-mime; name=smime.p7m\nContent-Transfer-Encoding: base64\n\n"
    return _FIELD + two_parts(b"mixed", plain(letter), fields + base64.encodebytes(whole))


def _parts(*parts: bytes, kind: bytes = b"mixed", boundary: bytes = b"=_b") -> bytes:
    body = b"".join(b"--" + boundary + b"\nContent-Type: " + part + b"\n" for part in parts)
    return b'multipart/%s; boundary="%s"\n\n' % (kind, boundary) + body + b"--" + boundary + b"--\n"


def _in_parts(before: bytes, number: int, behind: int = 0) -> Way:
    """Put that many such parts between the letter and the spam, and others behind it."""
    return lambda letter, spam: (
        _FIELD + _parts(plain(letter), *[before] * number, page(marked(spam)), *[before] * behind)
    )


def _deep(levels: int, kind: bytes = b"mixed") -> Way:
    """Put the spam into that many parts in one another."""

    def way(letter: str, spam: str) -> bytes:
        part = page(marked(spam))
        for level in range(levels):
            part = _parts(part, kind=kind, boundary=b"=_%d=" % level)
        return _FIELD + _parts(plain(letter), part)

    return way


def _forwarded(levels: int) -> Way:
    """Put the spam into that many messages in one another."""
    return lambda letter, spam: (
        _FIELD + _parts(plain(letter), b"message/rfc822\n\nContent-Type: " * levels + page(marked(spam)))
    )


def _between(before: str, behind: str = "") -> Way:
    """Put markup before and behind the spam, below the letter."""
    return lambda letter, spam: _FIELD + page(f"<div>{marked(letter)}</div>{before}<p>{marked(spam)}</p>{behind}")


def _in_plain(before: str, behind: str = "") -> Way:
    """Put text before and behind the spam, below the letter."""
    return lambda letter, spam: _FIELD + plain(f"{letter}\n{before}\n{spam}\n{behind}")


_EMPTY = b"text/plain\n\n"
_SMALL = b"text/plain\n\nBest wishes"
_WORDS = "Best wishes to all of you\n"
_PICTURE = b"image/png\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(bytes(range(256)) * 8000)
_COMMENT, _SHEET = f"<!--{'x ' * 200_000}-->", f"<style>{'p.a{color:red}' * 20_000}</style>"

_IN_SIGHT = in_markup("<div>%s</div>", "<div>%s</div>")

# The first of each group has both texts in sight; the others are compared with it.
WAYS: dict[str, dict[str, Way]] = {
    "plain text": {
        "in sight": lambda letter, spam: _FIELD + plain(f"{letter}\n\n{spam}\n"),
        "spam between `begin 644` and `end`": lambda letter, spam: _FIELD + plain(_uuencoded(letter, spam)),
        "spam in pieces of two letters, `= ` between them": _in_pieces,
        "spam behind `=` and a lone return": _behind_returns,
        "letter as preamble, 4 KB of parameters before the boundary": _behind_parameters,
        "declared as `cp037` (EBCDIC)": _declared(b"cp037"),
        "declared as `hz`, spam with `~{` and `~}` around each word": _declared(b"hz", "~{", "~}"),
        "declared as `utf-7`, spam with `+` before each word": _declared(b"utf-7", "+"),
        "declared as `iso-2022-kr`, spam in its escapes": _declared(b"iso-2022-kr", "\x1b$)C\x0e", "\x0f"),
        "spam in the transfer encoding `uue`": _in_uue,
        "spam behind 200,000 line ends": _in_plain("\n" * 200_000),
        "spam between 200,000 line ends": _in_plain("\n" * 200_000, "\n" * 200_000),
        "spam behind 200,000 letters of no width": _in_plain("\u200b" * 200_000),
    },
    "HTML, letter that no program shows": {
        "in sight": _IN_SIGHT,
        "spam without a letter": lambda _, spam: _FIELD + page(marked(spam)),
        "letter as the alternative in plain text": lambda letter, spam: (
            _FIELD + two_parts(b"alternative", plain(letter), page(marked(spam)))
        ),
        "letter: `display:none`": hidden("display:none"),
        "letter: `display:none`, spam: `mso-hide:all`": in_markup(
            '<div style="display:none">%s</div>', '<div style="mso-hide:all">%s</div>'
        ),
    },
    "HTML, letter hidden by size, colour and the like": {
        "in sight": _IN_SIGHT,
        "letter: `visibility:hidden`": hidden("visibility:hidden"),
        "letter: `opacity:0`": hidden("opacity:0"),
        "letter: `font-size:0in`": hidden("font-size:0in"),
        "letter: `color:#fff`": hidden("color:#fff"),
        "letter: `color:#ffffffff`": hidden("color:#ffffffff"),
        "letter: `color:hsl(0,0%,100%)`": hidden("color:hsl(0,0%%,100%%)"),
        "letter: `max-height:0.0px;overflow:hidden`": hidden("max-height:0.0px;overflow:hidden"),
        "letter: an escape in `display`": hidden("d\\69splay:none"),
        "letter: a selector of two parts": in_markup("<div><p class=a>%s</p></div>", "%s", "div .a{display:none}"),
        "letter: a selector of an attribute": in_markup("<p lang=x>%s</p>", "%s", "[lang=x]{display:none}"),
        "letter: `@media`": in_markup("<p class=a>%s</p>", "%s", "@media all{.a{display:none}}"),
        "letter: `clip`": hidden("position:absolute;clip:rect(0,0,0,0)"),
        "letter: `clip-path`": hidden("clip-path:inset(50%%)"),
        "letter: `transform:scale(0)`": hidden("transform:scale(0)"),
        "letter: `<details>`": in_markup("<details>%s</details>", "%s"),
        "letter: `<canvas>`": in_markup("<canvas>%s</canvas>", "%s"),
    },
    "HTML, spam with a style that looks hidden": {
        "in sight": _IN_SIGHT,
        "spam: between `begin 644` and `end`": lambda letter, spam: (
            _FIELD + page(f"<pre>{html.escape(_uuencoded(letter, spam))}</pre>")
        ),
        "spam: `mso-hide:all`": shown('<div style="mso-hide:all">%s</div>'),
        "spam: `left:-9999px` without a position": shown('<div style="left:-9999px">%s</div>'),
        "spam: `height:0` inline": shown('<span style="height:0;overflow:hidden">%s</span>'),
        "spam: `display:nonexistent`": shown('<div style="display:nonexistent">%s</div>'),
        "spam: `hidden` with `display:block`": shown('<div hidden style="display:block">%s</div>'),
        "spam: `<object>`": shown("<object>%s</object>"),
        "spam: `font-size:.15em` of 99 px": shown(
            '<div style="font-size:99px"><div style="font-size:.15em">%s</div></div>'
        ),
        "spam: white, before a black box": shown(
            '<div style="background:#000;position:absolute;width:9in;height:9in"></div>'
            '<div style="position:relative;color:#fff">%s</div>'
        ),
        "letter as the alternative, spam: `mso-hide:all`": lambda letter, spam: (
            _FIELD + two_parts(b"alternative", plain(letter), page(f'<div style="mso-hide:all">{marked(spam)}</div>'))
        ),
        "spam: `::first-line`": _in_lines(
            "<p>%s</p>", "p{font-size:0;white-space:nowrap}p::first-line{font-size:16px}"
        ),
        **{f"spam: {name}": shown(f'<div style="{style}">%s</div>') for name, style in _NO_STYLES.items()},
        **{
            f"spam: `font-size:0`, inside it `{style}`": shown(
                f'<div style="font-size:0"><div style="{style}">%s</div></div>'
            )
            for style in _OWN_SIZES
        },
    },
    "HTML, spam under a style sheet that does not hold": {
        "in sight": _IN_SIGHT,
        "spam: `!important` in the sheet": shown('<div style="display:none">%s</div>', "div{display:block !important}"),
        **{f"spam: `.b` with {name}": shown(f"{sheet}<p class=b>%s</p>") for name, sheet in _NO_SHEETS.items()},
        "spam: `.b` with a policy against styles": in_markup(
            "<div>%s</div>", "<p class=b>%s</p>", ".b{display:none}", _POLICY
        ),
        "spam: `display:none` with a policy against styles": in_markup(
            "<div>%s</div>", "<p style=display:none>%s</p>", "", _POLICY
        ),
        "spam: an id of 61 letters, a rule for the first 60": shown(
            f"<p id={_LONG}x>%s</p>", f"#{_LONG}{{display:none}}"
        ),
        "spam: `<title>` that an escape displays": _in_lines("<title>%s</title>", "t\\69tle{display:block}"),
    },
    "HTML, spam behind an element that browsers end elsewhere": {
        "in sight": _IN_SIGHT,
        **{f"spam: behind `{opening}`": shown(f"{opening}%s") for opening in _RAW_FOR_SOME},
        **{
            f"spam: `<{name} style=display:none>` before it": shown(f"<{name} style=display:none>x<{name}>%s")
            for name in ("nobr", "button")
        },
        **{f"spam: `<{name} style=display:none>` before it": shown(f"<{name} style=display:none>%s") for name in _VOID},
        **{f"spam: `{markup % '…'}`": shown(markup) for markup in _ENDS},
    },
    "HTML, spam behind tags that close nothing, and short comments": {
        "in sight": _IN_SIGHT,
        **{f"spam: behind `{opening}`": shown(f"{opening}<p>%s</p>") for opening in _LOST_BEHIND},
    },
    "HTML, spam in pieces, or backwards": {
        "in sight": _IN_SIGHT,
        **{f"spam: {name} in each word": _in_words(piece) for name, piece in _IN_WORDS.items()},
        "spam: written backwards": _in_lines("<bdo dir=rtl>%s</bdo>", is_backwards=True),
        "spam: written backwards by a rule": _in_lines(
            "<p><b>%s</b></p>", "p b{direction:rtl;unicode-bidi:bidi-override}", is_backwards=True
        ),
    },
    "HTML, spam in attributes, strings, CDATA and frames": {
        "in sight": _IN_SIGHT,
        "spam: `<input value>`": _in_lines('<input size=200 value="%s">'),
        "spam: `<option label>`": _in_lines('<select><option label="%s"></select>'),
        "spam: `<img alt>`": _in_lines('<img alt="%s">'),
        "spam: `content:attr(title)`": _in_lines('<p title="%s"></p>', "p::after{content:attr(title)}"),
        "spam: a string of `list-style`": _in_lines("<p style=\"display:list-item;list-style:inside '%s'\"></p>"),
        "spam: CDATA in `<svg>`": _in_lines("<svg width=2000 height=20><text y=15><![CDATA[%s]]></text></svg>"),
        "spam: `<iframe srcdoc>`": _in_frame("srcdoc"),
        "spam: `<iframe>` of a data URL": _in_frame("src", "data:text/html;charset=utf-8,", quote),
    },
    "two parts of plain text": {
        "in sight": lambda letter, spam: _FIELD + two_parts(b"mixed", plain(letter), plain(spam)),
        **{
            f"letter in plain text, spam: {name}": _attached(each)
            for name, each in _ATTACHED.items()
            if b"/html" not in each
        },
    },
    "a part of plain text, and one of HTML": {
        "in sight": lambda letter, spam: _FIELD + two_parts(b"mixed", plain(letter), page(marked(spam))),
        **{f"letter in plain text, spam: behind `{tag}`": _behind_nothing(tag) for tag in _LOST_BEHIND_FIRST},
        "letter in plain text, spam: attached HTML": _attached(_ATTACHED["attached HTML"]),
        "letter in plain text, spam: within a signature (S/MIME)": _signed,
        "letter in plain text, spam: behind a multipart with its parent's boundary": _in_the_same_boundary,
    },
    "parts in great number, in one another, and large": {
        "in sight": lambda letter, spam: _FIELD + two_parts(b"mixed", plain(letter), page(marked(spam))),
        "spam behind 100 empty parts": _in_parts(_EMPTY, 100),
        "spam behind 1,000 empty parts": _in_parts(_EMPTY, 1000),
        "spam behind 300 tiny pictures": _in_parts(b"image/gif\n\nGIF89a", 300),
        "spam behind a large picture": _in_parts(_PICTURE, 1),
        "spam between two large pictures": _in_parts(_PICTURE, 1, 1),
        "spam behind 10 levels": _deep(10),
        "spam behind 19 levels": _deep(19),
        "spam behind 19 levels of alternatives": _deep(19, b"alternative"),
        "spam in 19 forwarded messages": _forwarded(19),
        "spam behind a part of 200,000 letters": _in_parts(plain(_WORDS * 8000), 1),
        "spam between two parts of 200,000 letters": _in_parts(plain(_WORDS * 8000), 1, 1),
        "spam behind a page of 200,000 letters": _in_parts(page(_WORDS * 8000), 1),
        "spam behind a part of 40,000 Chinese letters": _in_parts(plain("漢字。" * 20_000), 1),
        "spam behind a forwarded header of 1,000 fields": lambda letter, spam: (
            _FIELD
            + _parts(plain(letter), b"message/rfc822\n\n" + b"X-A: b\n" * 1000 + b"Content-Type: " + page(marked(spam)))
        ),
        "spam in a boundary that is never closed": lambda letter, spam: (
            _FIELD + _parts(plain(letter), page(marked(spam))).removesuffix(b"--=_b--\n")
        ),
    },
    "text and markup that nobody sees": {
        "in sight": _IN_SIGHT,
        "spam behind 400 KB of comment": _between(_COMMENT),
        "spam between comments of 300 KB": _between(_COMMENT[:300_000] + "-->", _COMMENT[:300_000] + "-->"),
        "spam behind 280 KB of style sheet": _between(_SHEET),
        "spam behind 5,000 style sheets": _between("<style>a{color:red}</style>" * 5000),
        "spam behind an attribute of 400 KB": _between(f"<p title='{'x ' * 200_000}'>"),
        "spam behind a link of 400 KB": _between(f"<a href='http://a.example/{'x' * 400_000}'></a>"),
        "spam behind 100,000 attributes": _between(f"<p {'a=b ' * 100_000}>"),
        "spam behind 15,000 line breaks": _between("<br>" * 15_000),
    },
    "spam past a limit, which is never ham": {
        "in sight": lambda letter, spam: _FIELD + two_parts(b"mixed", plain(letter), page(marked(spam))),
        "spam behind 20 levels": _deep(20),
        "spam behind 40 levels": _deep(40),
        "spam in 25 forwarded messages": _forwarded(25),
        "spam in the middle of 300 parts": _in_parts(_SMALL, 150, 150),
        "spam behind 10,000 empty parts": _in_parts(_EMPTY, 10_000),
        "spam between two texts of 200,000 letters": _in_plain(_WORDS * 8000, _WORDS * 8000),
        "spam between 40,000 tags": _between("<b>x</b>" * 30_000, "<b>x</b>" * 30_000),
        "spam in the middle of a megabyte": _in_plain(_WORDS * 25_000, _WORDS * 25_000),
    },
}
