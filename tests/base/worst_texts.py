"""The worst texts for each regular expression of the package, as long as the reader's limits let them be.

They are 160 MB, so only the tests import this module, and no collection of tests makes them.
"""

import argparse
import contextlib
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path

from spamnb.base.errors import UsageError
from spamnb.cli.common.argument_types import executor, user_name
from spamnb.cli.common.argument_types import moment as _moment
from spamnb.cli.statement import _period
from spamnb.config.folder_names import matches
from spamnb.config.readers import dotted
from spamnb.config.template import parse_template
from spamnb.config.writing import _end_of_mailboxes, example
from spamnb.delivery.annotate import without
from spamnb.identity.digests import identity
from spamnb.identity.subject import subject_line
from spamnb.ledger.file.parts import rolling
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.parsing.fields import first_word
from spamnb.mail.parsing.message import parse
from spamnb.mail.tokens.nesting import surely_end
from spamnb.mail.tokens.tokenizer import tokenize
from spamnb.provider.isync import ImapAccount, fault_in
from spamnb.web.http import Response
from spamnb.web.routes import Route

BODY = DEFAULT_LIMITS.message_bytes
BLOCK = DEFAULT_LIMITS.header_bytes
VALUE = DEFAULT_LIMITS.field_chars
HEAD = 256 << 10  # as much of a header as the identity reads
LINE = 8 << 10  # of a request
TEXT = DEFAULT_LIMITS.text_chars
PAGE = DEFAULT_LIMITS.html_chars
CSS = 1000
SHEET = 100_000
URL = 2000
NAME = 255  # of a file, in bytes
HEADER = 16_384  # of a browser's request
PART_HEAD = 2000  # of a form, in bytes
HELP = 100_000  # of a command's help, of a unit
CONFIG = 20_000  # of a configuration; to read its YAML takes longest

Pattern = re.Pattern[str] | re.Pattern[bytes]
Use = Callable[[Pattern, str | bytes], object]


def every(pattern: Pattern, text: str | bytes) -> object:
    """findall, finditer, sub, split; and search, which is no slower."""
    return deque(pattern.finditer(text), maxlen=0)


def match(pattern: Pattern, text: str | bytes) -> object:
    return pattern.match(text)


def fullmatch(pattern: Pattern, text: str | bytes) -> object:
    return pattern.fullmatch(text)


def along(pattern: Pattern, text: str | bytes) -> object:
    """Match at the start, and again at the end of each match."""
    position = 0
    while (found := pattern.match(text, position)) is not None and found.end() > position:
        position = found.end()
    return position


def each_comma(pattern: Pattern, text: str | bytes) -> object:
    """Each piece between commas by itself."""
    return [pattern.fullmatch(piece) for piece in text.split(b"," if isinstance(text, bytes) else ",")]


def fill(unit: str, size: int, before: str = "", after: str = "") -> str:
    return before + (unit * (size // len(unit) + 1))[:size] + after


def filled(unit: bytes, size: int, before: bytes = b"", after: bytes = b"") -> bytes:
    return before + (unit * (size // len(unit) + 1))[:size] + after


ADDED = (filled(b"\nX-Spam" + b"-" * 90, BLOCK), filled(b"\nStatus: x\n ", BODY), filled(b"\nx-mozilla-a-a-a", BODY))
IDENTITY = (filled(b"\nFrom:a\n b", BODY), filled(b"\nfrom:" + b" " * 900, BODY), filled(b"\n ", BODY, b"\ndate:a"))
CONTENT = (filled(b"\nContent-Type:a\n b", BODY), filled(b"\ncontent-id:" + b" " * 900, BODY))
STRAY = (
    filled(b"\na", BODY),
    filled(b"\n ", BODY),
    filled(b"a", BODY, b"\n"),
    filled(b" ", BODY, b"\n"),
    filled(b"\n" + b" " * 900 + b"a", BODY),
    filled(b"\n-a:", BODY),
)

NEARLY_FIELDS = (
    fill("\na:\n ", BODY),
    fill("a", BODY, "\n"),
    fill("\xa0", BODY, "\n"),
    fill("\xa0", BODY, "\nsubject"),
    fill(" ", BODY, "\nsubject"),
    fill("\xa0a", BODY, "\n"),
    fill("\n\xa0subject", BODY),
    fill("\nsubject:\n ", BODY),
)

# The pattern, how it is used, and its worst texts.
WORST: dict[str, tuple[Use, tuple[str | bytes, ...]]] = {
    "mail.claims._ADDRESS": (every, (fill("a", VALUE), fill("a.", VALUE), fill("b.", VALUE, "a@"), fill("a@", VALUE))),
    "mail.encoded_words._ENCODED_WORD": (
        every,
        (fill("=?", VALUE), fill("=?" + "a" * 60, VALUE), fill("=?a?q", VALUE)),
    ),
    "mail.encoded_words._FOLD": (every, (fill("\n", VALUE), fill("\n \t", VALUE), fill("\r\n   ", VALUE))),
    "mail.excerpt._BLANK_LINES": (every, (fill("\n", TEXT), fill("\n ", TEXT, "\n\n"), fill(" ", TEXT, "\n\n", "x"))),
    "mail.unsubscribe._ADDRESS": (
        every,
        (
            fill("<", VALUE),
            fill("< ", VALUE),
            fill(" ", VALUE, "<"),
            fill("<mailto:", VALUE),
            fill("a", VALUE, "<http:"),
        ),
    ),
    "web.access._HOST": (fullmatch, (fill("a.", HEADER), fill("0:", HEADER, "["), fill("1", HEADER, "a:"))),
    "web.connections._CODED": (
        every,
        (filled(b"\r\ntransfer-encoding:", HEADER), filled(b"a", HEADER, b"\r\ntransfer-encoding:")),
    ),
    "web.outcome._SEALED": (fullmatch, (fill("a-1.", HEADER), fill("a", HEADER), fill("0", HEADER, "a-1."))),
    "web.text._LINE_END": (every, (fill("\n", TEXT), fill("a", TEXT))),
    "web.upload._BOUNDARY": (
        fullmatch,
        (
            fill(" ", HEADER, "multipart/form-data"),
            fill(" ", HEADER, "multipart/form-data;"),
            fill("=", HEADER, "multipart/form-data;boundary=", '"'),
        ),
    ),
    "web.upload._NAME": (
        every,
        (filled(b"content-disposition: ", PART_HEAD), filled(b" ", PART_HEAD, b"content-disposition:")),
    ),
    "web.routes._PART": (every, (fill("{", NAME), fill("{a", NAME), fill("a", NAME, "{"))),
    "mail.abridged._MARK": (
        every,
        (filled(b"\0cut ", BODY), filled(b"\0cut 1111111111", BODY), filled(b"\0cut 1\0", BODY)),
    ),
    "mail.shares._BLANKS": (every, (fill("\u200b", BODY), fill("\u200b ", BODY), fill("a\u200b", BODY))),
    "mail.header_block._BLANK_LINES": (
        every,
        (filled(b" ", BODY), filled(b" \t\r", BODY), filled(b"\n ", BODY, after=b"x")),
    ),
    "mail.mime._LIKE_BOUNDARY": (
        every,
        (
            filled(b"--" + b" " * 230 + b"\n", BODY),
            filled(b"--a" + b" \t" * 10 + b"\n", BODY),
            filled(b"-", BODY),
            filled(b"--\n--content-", BODY),
        ),
    ),
    "mail.header_block._EMPTY_LINE": (
        every,
        (filled(b"\r", BODY, b"\n"), filled(b"\n \t", BODY), filled(b"\n\r", BODY)),
    ),
    "mail.mime._AFTER_BOUNDARY": (
        lambda _, raw: parse(raw),
        (
            filled(b"--b ", BODY, b"Content-Type: multipart/mixed; boundary=b\n\n"),
            filled(b" ", BODY, b"Content-Type: multipart/mixed; boundary=b\n\n--b"),
            filled(b"--b" + b" " * 2000 + b"\n", BODY, b"Content-Type: multipart/mixed; boundary=b\n\n", b"x"),
            filled(b"(.*)*", 190, b'Content-Type: multipart/mixed; boundary="', b'"\n\n') + filled(b"--(.*)*", BODY),
        ),
    ),
    "mail.transfer._PADDED_BREAK": (
        every,
        (
            filled(b" ", BODY, b"=", b"x"),
            filled(b"\r", BODY, b"=", b"x"),
            filled(b"=\r", BODY),
            filled(b"= \t", BODY, b"", b"x"),
            filled(b"\r", BODY, b"= ", b"x"),
        ),
    ),
    "mail.transfer._UU_BEGIN": (
        every,
        (filled(b"begin 644 ", BODY), filled(b"begin 644 a\r", BODY), filled(b"begin 644\n", BODY)),
    ),
    "mail.transfer._UU_LINE": (
        along,
        (
            filled(b"M", BODY, b"\n"),
            filled(b"\n`", BODY),
            filled(b"\r", BODY, b"\n"),
            filled(b"begin 644 a\n#86)C\n", BODY, b"\n"),
        ),
    ),
    "mail.transfer._UU_END": (along, (filled(b" ", BODY, b"\nend", b"x"), filled(b"\nend", BODY))),
    "mail.header_block._FIELD": (
        along,
        (
            fill("a", BLOCK),
            fill("a:\n ", BLOCK),
            fill("a:\n", BLOCK),
            fill("a:b\n\t", BLOCK, after="\0"),
            fill(" ", BLOCK, "a:"),
            fill("From \n", BLOCK),
            fill(" ", BLOCK),
            fill(":\n", BLOCK),
        ),
    ),
    "mail.fields._BYTE": (every, (fill("\udcff", VALUE), fill("a", VALUE))),
    "mail.fields._PLAIN_PARAMETER": (
        along,
        (
            fill("; a=b", VALUE),
            fill(" ", VALUE, ";"),
            fill("a", VALUE, "; "),
            fill("a", VALUE, ";a="),
            fill(" ", VALUE, ";a=b"),
            fill(" ", VALUE, ';a="', "'"),
        ),
    ),
    "mail.fields._MARKS": (lambda pattern, text: pattern.split(text), (fill("\\", BLOCK), fill(";", BLOCK))),
    "mail.fields._MEANT": (
        fullmatch,
        (fill(" ", BLOCK, "name"), fill("*", BLOCK, "name"), fill("name ", BLOCK), fill("=", BLOCK, "name")),
    ),
    "mail.fields._PLAIN_ADDRESS": (
        each_comma,
        (
            fill(" ", 2000),
            fill("a ", 2000, after="<"),
            fill("a.", 2000, after="@"),
            fill("a.", 2000, "a@", "("),
            fill(" ", 2000, '"a"'),
            fill("a", 2000, after="<a@b"),
            fill(" a.b@c.d", 2000),
            fill('" ', 2000, '"'),
        ),
    ),
    "identity.digests._ADDED_LATER": (every, ADDED),
    "identity.digests._SYNCHRONISED": (
        every,
        (filled(b"\nX-TUID: ", BODY), filled(b"\nX-TUID: aaaaaaaaaaaa", BODY)),
    ),
    "identity.headers._ENVELOPE": (match, (filled(b"From ", BODY), filled(b">From \n", BODY))),
    "identity.headers._BLANK_LINES": (
        every,
        (filled(b" ", BODY), filled(b" \t\r", BODY), filled(b"\n ", BODY, after=b"x")),
    ),
    "identity.headers._FIELD": (every, (*CONTENT, *IDENTITY)),
    "identity.headers._AMBIGUOUS": (every, STRAY),
    "identity.headers._TYPE": (fullmatch, (filled(b"a", HEAD), filled(b"a/", HEAD), filled(b"a", HEAD, b"a/"))),
    "identity.headers._PARAMETER": (
        along,
        (
            filled(b"; a=b", HEAD),
            filled(b" ", HEAD, b";"),
            filled(b"a", HEAD, b"; "),
            filled(b"a", HEAD, b";a="),
            filled(b" ", HEAD, b";a=b"),
            filled(b"a", HEAD, b';a="'),
        ),
    ),
    "identity.headers._BOUNDARY": (fullmatch, (filled(b"a", HEAD), filled(b"a", HEAD, after=b" "))),
    "identity.headers._ODD_BOUNDARY": (
        every,
        (
            filled(b'boundary="', HEAD),
            filled(b"a", HEAD, b'boundary="'),
            filled(b'boundary="a" ', HEAD),
            filled(b"boundary=", HEAD),
            filled(b"boundary=" + b"a" * 70, HEAD),
        ),
    ),
    "identity.headers._CONTROL": (every, (filled(b"a", HEAD), filled(b"\0", HEAD))),
    "identity.subject._WORD": (
        lambda _, value: subject_line(value),
        (
            filled(b"=?a?q?b?= ", HEAD),
            filled(b"=?a?q?b?= =?c?b?QQ==?= ", HEAD),
            filled(b"=?a?q?", HEAD),
            filled(b"a", HEAD, b"=?utf-8?q?", b"?="),
            filled(b"=41", HEAD, b"=?utf-7?q?", b"?="),
            filled(b"QUJD", HEAD, b"=?latin1?b?", b"?="),
            filled(b"=?", HEAD),
        ),
    ),
    "identity.transfer._PADDED": (fullmatch, (filled(b"a", BODY), filled(b"=", BODY), filled(b"aa==", BODY))),
    "identity.transfer._NO_ESCAPE": (every, (filled(b"=", BODY), filled(b"=4", BODY), filled(b"=41", BODY))),
    "identity.body._BEYOND_ASCII": (every, (filled(b"=", BODY), filled(b"=8", BODY), filled(b"=1", BODY))),
    "identity.body._MARK_END": (
        lambda _, raw: identity(raw),
        (
            filled(b"\n--b ", BODY, b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\n"),
            filled(b" ", BODY, b"Content-Type: multipart/mixed; boundary=b\n\n--b"),
            filled(b"\n--b" + b" " * 199 + b"x", BODY, b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\n"),
        ),
    ),
    "mail.ignored_fields._VERDICT": (
        match,
        (fill("x-", 40), fill("-as", 40), fill("a-", 40, "x-"), fill("spa", 40), fill("check", VALUE, "x-")),
    ),
    "mail.body._ARMOUR": (every, (fill("a", TEXT), fill("a" * 99 + "\n", TEXT), fill("a" * 39 + " ", TEXT))),
    "mail.charset_guess._RUN": (
        every,
        (
            filled(b"\xff", BODY),
            filled(b"\xffa", BODY),
            filled(b"a", BODY),
            filled(b"\xffaa", BODY),
        ),
    ),
    "mail.charset_guess._NO_LETTERS": (
        every,
        (filled(b"\xa0", 4096), filled(b"\x82\xa0", 4096), filled(b"\xff\xff\xfe", 4096)),
    ),
    "mail.charset_guess._LONG_RUN": (every, (filled(b"\xff", 4096, b""), filled(b"\xff\xffa", 4096))),
    "mail.charset_guess._NOT_BEYOND": (every, (fill("a", 4096), fill("a漢", 4096))),
    "mail.charsets._CODE_PAGE": (fullmatch, (fill("1", 40, "cp"), fill("windows", 40))),
    "mail.charsets._ISO": (fullmatch, (fill("iso8859", 100), fill("1", 100, "iso8859"))),
    "mail.charsets._ESCAPES": (every, (filled(b"\x1b$", BODY), filled(b"~{", BODY), filled(b"\x1b", BODY))),
    "mail.charsets._ESCAPED_RUN": (every, (filled(b"~{a", BODY), filled(b"\x1b$B", BODY), filled(b"a", BODY, b"~{"))),
    "mail.charsets._OF_ALL": (fullmatch, (fill("iso-2022-jp", VALUE), fill("-", VALUE))),
    "mail.charsets._META": (
        every,
        (
            filled(b"<meta", 4096),
            filled(b"<meta charset", 4096),
            filled(b"<meta charset=", 4096),
            filled(b" ", 4096, b"<meta c"),
        ),
    ),
    "mail.encoded_words._SPECIAL": (every, (fill("a", VALUE), fill(",", VALUE))),
    "mail.message._ENRICHED": (
        every,
        (fill("<", TEXT), fill("<a", TEXT), fill("<param>", TEXT), fill("<param>" + "a" * 200, TEXT)),
    ),
    "mail.text._MARKED": (every, (fill("a", TEXT), fill("ี", TEXT))),
    "mail.text._MARKED_WORD": (every, (fill("ี", TEXT), fill("हि", TEXT), fill("हि-", TEXT), fill("a", TEXT))),
    "mail.received._NAMES": (every, (fill("a.", 1000), fill("-", 1000), fill("a", 1000), fill("a--", 1000))),
    "mail.received._IPV6": (every, (fill("[a:", 1000), fill("1:", 1000, "["), fill("[ipv6:", 1000), fill("[::", 1000))),
    "mail.received._LOOKED_UP": (
        every,
        (fill("(", 1000), fill("(a.", 1000), fill("a", 1000, "("), fill("a@", 1000, "("), fill("(a. ", 1000)),
    ),
    "mail.received._HELO": (every, (fill("(helo=", 1000), fill(" helo ", 1000), fill("a", 1000, "(helo="))),
    "mail.received._DIGITS": (every, (fill("1", 200), fill("1a", 200))),
    "mail.body._URL": (
        every,
        (fill("http://", TEXT), fill("www.", TEXT), fill("http:// ", TEXT), fill("http://" + "a" * 1999, TEXT)),
    ),
    "mail.body._AT_HOST": (
        every,
        (
            fill("@", TEXT),
            fill("@a.", TEXT),
            fill("a.", TEXT, "@"),
            fill("@" + "a" * 63 + ".", TEXT),
            fill("@" + ("a" * 62 + ".") * 5, TEXT),
            fill("@a.b.c.d.e.1", TEXT),
        ),
    ),
    "mail.body._SHOUTED": (every, (fill("A", TEXT), fill("A" * 20 + "1", TEXT), fill("AAA ", TEXT))),
    "mail.text._MARKS": (every, (fill("!", TEXT), fill("! ", TEXT), fill("-=", TEXT))),
    "mail.text._PUNCTUATION": (every, (fill("!", TEXT), fill("!!?", TEXT), fill("--=", TEXT), fill("!?", TEXT))),
    "mail.shapes._RUN": (every, (fill("a", 200), fill("aA", 200))),
    "mail.shapes._LETTERS_AND_DIGITS": (every, (fill("a", 200), fill("a" * 8 + "-aaaa", 200), fill("a1-", 200))),
    "mail.dates._DATE": (every, (fill(" ", 100, "1"), fill("1 jan ", 100), fill("1", 100), fill("1 jan 2026  ", 100))),
    "mail.dates._ZONE": (every, (fill(" ", VALUE, "+0000"), fill("+0000", VALUE), fill("+0000 ", VALUE))),
    "mail.text._LOOKALIKE": (every, (fill("я", TEXT), fill("é", TEXT))),
    "mail.text._MIXED_WORD": (
        every,
        (fill("я", TEXT), fill("a", TEXT), fill("aя ", TEXT), fill("a" * 64 + "я ", TEXT), fill("-", TEXT)),
    ),
    "mail.text._INVISIBLE": (every, (fill("\u200b", TEXT), fill("a\u200b", TEXT))),
    "mail.text._COMBINING": (every, (fill("\u0300", TEXT), fill("a\u0300", TEXT))),
    "mail.text._EAST_ASIAN_LETTER": (every, (fill("漢", TEXT), fill("a", TEXT))),
    "mail.body._TAG": (every, (fill("<", TEXT), fill("<a", TEXT), fill("<a>", TEXT), "<" + fill("a", TEXT))),
    "mail.text._BEGINNING": (every, (fill(" ", TEXT), fill("a ", TEXT), fill("a", TEXT))),
    "mail.text._END": (every, (fill(" ", TEXT), fill("a ", TEXT), fill("a", TEXT))),
    "mail.text._STYLED": (every, (fill("𝐚", TEXT), fill("a", TEXT))),
    "mail.text._STYLED_WORD": (every, (fill("ａ ", TEXT), fill("a", TEXT), fill("𝐚 a", TEXT))),
    "mail.text._STYLED_EAST_ASIAN": (every, (fill("𝐚 ", TEXT), fill("a", TEXT), fill("ａ", TEXT))),
    "mail.text._UNSPACED": (every, (fill("漢", TEXT), fill("漢a", TEXT))),
    "mail.text._UNSPACED_LETTER": (every, (fill("漢", TEXT), fill("a", TEXT))),
    "mail.text._ASCII_WORD": (
        every,
        (fill("a-", TEXT), fill("a", TEXT), fill("1,.", TEXT), fill("$", TEXT), fill("a''", TEXT), fill("_", TEXT)),
    ),
    "mail.text._UP_TO_BLANK": (
        every,
        (fill("a", TEXT), fill(" ", TEXT), fill("a ", TEXT), fill("a" * 255 + " ", TEXT)),
    ),
    "mail.text._WORD": (
        every,
        (
            fill("a-", TEXT),
            fill("a", TEXT),
            fill("1,.", TEXT),
            fill("$", TEXT),
            fill("a''", TEXT),
            fill("1", TEXT),
            fill("$ ", TEXT),
            fill("_", TEXT),
        ),
    ),
    "filter.marks._LINK_OR_RUN": (
        every,
        (fill("http://", TEXT), fill("www.aaa", TEXT), fill("a", TEXT), fill("<", TEXT), fill("http:/", TEXT)),
    ),
    "filter.marks._WORD": (
        every,
        (fill("a-", TEXT), fill("a", TEXT), fill("$", TEXT), fill("_", TEXT), fill("1,", TEXT)),
    ),
    "mail.text._SYMBOL": (match, (fill("★", TEXT), fill("a", TEXT))),
    "mail.text._JOINED": (every, (fill("\u200d", TEXT), fill("a\u200d", TEXT), fill("\u200da", TEXT))),
    "mail.text.SPACED": (
        every,
        (
            fill("a ", TEXT),
            fill("a b c1", TEXT),
            fill("a" + ".b" * 41 + "1", TEXT),
            fill("a_", TEXT),
            fill("a.b.cc ", TEXT),
        ),
    ),
    "mail.text._BETWEEN": (every, (fill(" ", 100), fill("a.", 100))),
    "mail.text._DIGIT": (every, (fill("1", TEXT), fill("a", TEXT))),
    "mail.markup._BREAK": (
        every,
        (
            fill("</", PAGE),
            fill("</br", PAGE),
            fill("</p ", PAGE),
            fill("</p>" + "<b>" * 21, PAGE),
            fill("<b " + "a" * 500, PAGE, "</p>"),
        ),
    ),
    "mail.markup._XML_DECLARATION": (every, (fill(" ", TEXT), fill("<?xml", TEXT), fill("\n", TEXT, after="<?xml"))),
    "mail.links._HOST": (match, (fill("a", URL), fill(" ", URL), fill("a", URL, "//"), fill("a+", URL, after="://"))),
    "mail.links._SHOWN_HOST": (
        match,
        (fill(" ", 300), fill("a.", 300), fill("a-", 300), fill("a.b", 300, "http://"), fill(" ", 300, "a.bb/")),
    ),
    "mail.text._STRANGE": (every, (fill("\x01", TEXT), fill("a", TEXT))),
    "mail.text._STRANGE_IN_WORD": (
        every,
        (fill("\x01", TEXT, "a"), fill("a\x01", TEXT), fill("\ue000", TEXT, "a"), fill("a\x01\x01", TEXT)),
    ),
    "mail.text._BACKWARDS": (every, (fill("\u202e", TEXT), fill("\u202ea", TEXT), fill("\u202ea\u202c", TEXT))),
    "mail.text._LEFT_OVER": (every, (fill("\u0332", TEXT), fill("a", TEXT))),
    "mail.text._MARKS_ON_LETTER": (every, (fill("\u0332", TEXT), fill("a\u0332", TEXT), fill("\u0332", TEXT, "a"))),
    "mail.nesting._PLAIN": (
        match,
        (
            fill("<p a=b>x", PAGE, after="<"),
            fill("<style>", PAGE),
            fill("<!--", PAGE),
            fill("<!-- -", PAGE),
            fill(" a", PAGE, "<p"),
        ),
    ),
    "mail.nesting._TAG": (
        match,
        (fill(" a=b", PAGE, "<p"), fill(" ", PAGE, "<p"), fill("a", PAGE, "<"), fill("a", PAGE, "<p a='")),
    ),
    "mail.nesting._UNSEEN": (
        every,
        (fill("<!--", PAGE), fill("<!-- -", PAGE), fill("<style", PAGE), fill("<style><", PAGE)),
    ),
    "mail.open_elements._PIECE": (
        along,
        (
            fill("<!--", PAGE),
            fill("<!-- -", PAGE),
            fill("<p a='", PAGE),
            fill("=", PAGE, "<p "),
            fill("= ", PAGE, "<p "),
            fill("\"'", PAGE, "<p "),
            fill("<title>", PAGE),
            fill("<title><", PAGE),
            fill("<style a='", PAGE),
            fill("<plaintext", PAGE),
            fill("</", PAGE),
        ),
    ),
    "mail.open_elements._RAW_TAG": (match, (fill("a", PAGE), fill("=", PAGE, "<title "), fill("a='", PAGE, "<title "))),
    "mail.open_elements._PART_OF_RAW": (every, (fill("<", PAGE), fill("a", PAGE), fill("<a", PAGE))),
    "mail.open_elements._COMPARED": (
        every,
        (fill("<!--", PAGE), fill("<!-- -", PAGE), fill("</", PAGE), fill("</a", PAGE), fill("a", PAGE, "</")),
    ),
    "mail.raw_text._END_TAG": (
        every,
        (*(fill(f"</{name}", PAGE) for name in ("title", "textarea", "iframe", "xmp", "style")), fill("</", PAGE)),
    ),
    "mail.raw_text._OF_SCRIPT": (every, (fill("<script", PAGE), fill("<!-", PAGE), fill("-", PAGE), fill("</", PAGE))),
    "mail.repair._PLAIN": (
        along,
        (
            fill("<p a=b>x", PAGE, after="<"),
            fill(" a=b", PAGE, "<p"),
            fill(" ", PAGE, "<p a="),
            fill("a", PAGE, "<p a='"),
            fill("a", PAGE, "<"),
            fill("<p>", PAGE),
            fill("<scrip>", PAGE),
        ),
    ),
    "mail.repair._HEAD": (along, (fill(" ", PAGE), fill("<meta>", PAGE), fill("<meta a=b>", PAGE, after="<"))),
    "mail.repair._IN_HEAD": (match, (fill("<style", PAGE),)),
    "mail.repair._BEGINS_BODY": (match, (fill("<frame", PAGE),)),
    "mail.repair._ROOT": (match, (fill(" ", PAGE), fill("<!---->", PAGE), fill(" <!---->", PAGE, after="<htm"))),
    "mail.repair._ODD": (
        along,
        (
            fill("<!--", PAGE),
            fill("<!-- -", PAGE),
            fill("-", PAGE, "<!-"),
            fill("<!", PAGE),
            fill("<!doctype", PAGE),
            fill("</", PAGE),
            fill("<a", PAGE),
        ),
    ),
    "mail.repair._PIECE_OF_TAG": (
        every,
        (fill("=", PAGE), fill('"', PAGE), fill("a=", PAGE), fill(" ", PAGE, "a"), fill("a= ", PAGE), fill("a", PAGE)),
    ),
    "mail.repair._PLAIN_NAME": (fullmatch, (fill("a", PAGE),)),
    "mail.repair._ODD_LETTER": (every, (fill("@", PAGE), fill("a", PAGE))),
    "mail.repair._LIKE_END_OF_CODE": (every, (fill("</scrip", PAGE), fill("</style", PAGE), fill("</", PAGE))),
    "mail.repair._REFERENCE_IN_TAG": (
        every,
        (fill("&", PAGE), fill("&a", PAGE), fill("a", PAGE, "&"), fill("&a=", PAGE)),
    ),
    "mail.repair._TAG_OR_REFERENCE": (
        every,
        (fill("&", PAGE), fill("a", PAGE, "&"), fill("1", PAGE, "&#"), fill("<p a=b>", PAGE), fill(" a=b", PAGE, "<p")),
    ),
    "mail.repair._ODD_REFERENCE": (
        every,
        (fill("&", PAGE), fill("&a", PAGE), fill("a", PAGE, "&"), fill("&amp;", PAGE), fill("&#x", PAGE)),
    ),
    "mail.repair._META": (
        every,
        (fill("<meta", PAGE), fill("<meta ", PAGE), fill("<meta a='", PAGE), fill(" a='b'", PAGE, "<meta")),
    ),
    "mail.repair._CHARSET": (every, (fill("charse", PAGE),)),
    "mail.html._TAG": (every, (fill("<", PAGE), fill("</", PAGE), fill("</a", PAGE))),
    "mail.html._TAG_OF_RAW": (
        every,
        (fill("<style", PAGE), fill("<style ", PAGE), fill(" ", PAGE, "<style"), fill("</s", PAGE)),
    ),
    "mail.html._CONTROL": (every, (fill("&#", PAGE), fill("0", PAGE, "&#"), fill("&#x0", PAGE))),
    "mail.css._NO_FONT_SIZE": (fullmatch, (fill("0", CSS), fill("0", CSS, "0.", "x"))),
    "mail.css._SELECTOR": (
        fullmatch,
        (fill("a", 1000), fill(".", 1000), fill("a", 1000, "."), fill("a", 15, after=".") + fill("a", 1000)),
    ),
    "mail.css._PLAIN_BLOCK": (
        fullmatch,
        (
            fill("color:a(", CSS),
            fill("color:red;", CSS, after="{"),
            fill("color:", CSS),
            fill("/**/", CSS, after="/"),
            fill("'a'", CSS, "color:", "'"),
            fill("-a", CSS, "font"),
        ),
    ),
    "mail.css._PLAIN_SHEET": (
        fullmatch,
        (
            fill("a{color:red}", SHEET, after="{"),
            fill("a{color:red;", SHEET),
            fill("@media a{", SHEET),
            fill("a{color:red}", SHEET, "@media a{"),
            fill("a,", SHEET),
            fill("[a='b']", SHEET),
            fill("/*", SHEET),
            fill("/**/", SHEET, after="/"),
            fill("(", SHEET, "a{color:"),
            fill("(x)", SHEET, "a{color:("),
            fill("-", SHEET),
        ),
    ),
    "mail.css._PLAIN_SELECTOR": (
        fullmatch,
        (fill("a ", CSS), fill(" ", CSS, "a"), fill("a", CSS, "."), fill(".a", CSS), fill(".a", CSS, after="!")),
    ),
    "mail.css._MARKS": (every, (fill(" ", SHEET), fill("-->", SHEET), fill("--> ", SHEET, after="x"))),
    "mail.css._PLAIN_NAMES": (fullmatch, (fill("a", PAGE, after="!"),)),
    "mail.generated._STRINGS": (
        every,
        (
            *(fill(unit, SHEET, after="x") for unit in ("'", "\"'", "' ", "'\n", "\\", "/*", "/**", "/* *", "-a-")),
            *(fill(unit, SHEET, after="x") for unit in ("[", "['", "[x", "url(", "url('", "url(a", "url(\\")),
            *(fill(unit, SHEET, after="x") for unit in ("font:", "font:'", "font ", "@import'", "@import ")),
            *(fill(unit, SHEET, "url(") for unit in ("' '", " ", "a")),
            *(fill(unit, SHEET, "font:") for unit in ("' '", " ", "/", "/*")),
        ),
    ),
    "mail.generated._OWN": (every, (fill("-", CSS), fill("list", CSS), fill("q", CSS))),
    "mail.generated._COUNTERS": (
        every,
        (fill("pad:", SHEET), fill("pad", SHEET), fill(" ", SHEET, "pad"), fill("-", SHEET)),
    ),
    "mail.generated._IMPORTED": (
        every,
        (fill("'", SHEET), fill("' ", SHEET), fill("(data:", SHEET), fill("'data:", SHEET), fill(" ", SHEET, "'")),
    ),
    "mail.generated._ESCAPE": (every, (fill("\\", SHEET), fill("\\61 ", SHEET), fill("a", SHEET, "\\"))),
    "mail.css._RAW": (every, (fill("a", SHEET), fill("tit", SHEET), fill(" ", SHEET))),
    "mail.css._CLASS": (every, (fill("a", 500), fill("a ", 500))),
    "mail.css._COMMENT": (every, (fill("/*", SHEET), fill("/*/", SHEET), fill("/* */", SHEET), fill("<!-", SHEET))),
    "mail.css._FAR_AWAY": (match, (fill("-", CSS), fill("-9", CSS))),
    "mail.css._GONE": (match, (fill("0", CSS), fill("0", CSS, "0."), fill(" ", CSS, "0"), fill("-99", CSS))),
    "mail.css._NO_SIZE": (match, (fill("0", CSS), fill("0.", CSS))),
    "mail.css._FONT_SIZE": (
        every,
        (fill("0", CSS), fill(" 0", CSS), fill("1.", CSS), fill(" ", CSS, "1"), fill("sma", CSS), fill("a ", CSS)),
    ),
    "mail.css._COLOURS": (every, (fill("a", CSS), fill("#", CSS), fill("rgb(", CSS), fill("1", CSS, "rgb("))),
    "mail.css._RGB": (match, (fill(" ", 60, "rgb("), fill(" ", 60, "rgb(1,"), fill("1 ", 60, "rgba("))),
    "mail.css._HEX": (fullmatch, (fill("a", 60), fill("a", 60, "#"))),
    "mail.calendar._PROPERTY": (
        every,
        (
            fill("\n", TEXT),
            fill("organizer;", TEXT),
            fill('"', TEXT, "organizer;"),
            fill('a"', TEXT, "organizer;"),
            fill("a;", TEXT, 'organizer;"'),
            fill('\norganizer;"', TEXT),
            fill("\nbegin:x", TEXT),
        ),
    ),
    "mail.calendar._METHOD": (match, (fill("a", TEXT), fill("-", TEXT))),
    "mail.calendar._MARKUP": (every, (fill("<", TEXT), fill("<table", TEXT), fill("<a>", TEXT))),
    "mail.page._CALLS": (every, (fill("a", PAGE), fill("eval ", PAGE), fill("document.", PAGE), fill("at", PAGE))),
    "mail.page._URL": (every, (fill("http", PAGE), fill("https://", PAGE), fill("https://a ", PAGE))),
    "mail.urls.IPV4": (fullmatch, (fill("1.", 255), fill("1", 255), fill("111.", 255))),
    "mail.urls._ODD_IPV4": (fullmatch, (fill("1.", 255), fill("1", 255), fill("0x", 255), fill("0x1.", 255))),
    "mail.urls._SCHEME": (match, (fill("a", URL), fill("a+", URL))),
    "mail.urls._AUTHORITY_END": (every, (fill("a", URL), fill("@", URL))),
    "mail.urls._HOST_END": (every, (fill("a", 500), fill(",", 500))),
    "mail.urls._TARGET": (every, (fill("https://", 600), fill("a.", 600, "http://"), fill("http://www.", 600))),
    "mail.urls._DIGITS": (every, (fill("1", 100), fill("1a", 100))),
    "mail.urls._PATH_WORD": (every, (fill("a", 200), fill("a_", 200))),
    "maildir.names._FLAGS": (fullmatch, (fill("S", NAME, "2,"), fill("2,", NAME))),
    "maildir.names._UID_FIELD": (every, (fill(",U=1", NAME), fill("1", NAME, ",U="), fill(",U=", NAME))),
    "maildir.folders._SHIFT": (every, (fill("&", NAME), fill("&A", NAME), fill("A", NAME, "&"))),
    "maildir.folders._TO_SHIFT": (every, (fill("é", NAME), fill("&é", NAME))),
    "config.readers._NUMBER": (
        fullmatch,
        (fill("1", BODY, after="x"), fill("1e", BODY), fill("1.", BODY), fill("+", BODY)),
    ),
    "config.named_senders._PATTERN": (fullmatch, (fill("a", NAME), fill("a@", NAME), fill("*", NAME, after=" "))),
    "config.template._NAME": (fullmatch, (fill("a", NAME, after="/"), fill("a@", NAME), fill(".", NAME, "a"))),
    "config.template._FIELD": (every, (fill("{", CONFIG), fill("{a", CONFIG), fill("a", CONFIG, "{"))),
    "config.template._VARIABLE": (
        every,
        (fill("%", CONFIG), fill("1", CONFIG, "%"), fill("%{", CONFIG), fill("%{a", CONFIG), fill("a", CONFIG, "%{")),
    ),
    "host._RESERVED": (
        fullmatch,
        (
            fill("1", NAME),
            fill("a", NAME, "register.requests", "@"),
            fill("1", NAME, "1-of-"),
            fill("1", NAME, "register-"),
        ),
    ),
    "host.register._FILE": (fullmatch, (fill("1", NAME, "register-"), fill("1", NAME, "register-1-of-"))),
    "host.shares._SHARE": (fullmatch, (fill("1", NAME), fill("-of-1", NAME, "1"))),
    "host.shares._NUMBER": (fullmatch, (fill("1", NAME, "of-"),)),
    "setup.units._COMMAND": (every, (fill("Exec", HELP), fill("/spamnb", HELP, "Exec="), fill("a", HELP, "Exec"))),
    "setup.units._TO_QUOTE": (every, (fill(" ", NAME), fill("a", NAME))),
    "setup.units._TO_ESCAPE": (every, (fill('"', NAME), fill("a", NAME))),
    "provider.isync._ACCOUNT": (fullmatch, (fill("a", NAME), fill("@", NAME), fill("1", NAME, "a@b:"))),
    "provider.isync._VERSION": (every, (fill("isync 1\n", HELP), fill("1", HELP, "isync "), fill("\n", HELP))),
    "provider.isync._LISTED": (
        fullmatch,
        (
            fill("a", TEXT, "* LIST ("),
            fill("\\\\", TEXT, '* LIST () NIL "'),
            fill("a", TEXT, "* LIST () NIL ", " x"),
            fill(" ", TEXT, '* LIST () "/" "a"', "x"),
        ),
    ),
    "provider.isync._ESCAPED": (every, (fill("\\", NAME), fill("a", NAME))),
    "provider.isync._NAMESPACE": (every, (fill('* NAMESPACE (("', TEXT), fill("\\a", TEXT, '* NAMESPACE (("'))),
    "provider.isync._FETCHED": (every, (fill(" N: +1", HELP), fill("1", HELP, " N: +"), fill("1", HELP, " N: +1/"))),
    "setup.units._MARK": (match, (fill("a", HELP, "# Written by `spamnb install-unit` ("),)),
    "config.named_senders._LETTER": (every, (fill("*", NAME), fill("?.", NAME))),
    "mail.shown_addresses._PLAIN": (
        fullmatch,
        (
            fill("a ", VALUE, after="<"),
            fill("a.", VALUE),
            fill("a.", VALUE, "a@"),
            fill('"a" ', VALUE),
            fill("<a", VALUE),
        ),
    ),
    "mail.shown_addresses._PIECES": (every, (fill("(", VALUE), fill(" ", VALUE), fill("\\", VALUE), fill("a", VALUE))),
    "mail.shown_addresses._CONTROL": (every, (fill("\0", VALUE), fill("a", VALUE))),
    "mail.shown_addresses._LABEL": (fullmatch, (fill("a", VALUE), fill("ä", VALUE, after="."))),
    "mail.shown_addresses._DOT_ATOM": (fullmatch, (fill("a.", VALUE), fill("a", VALUE, after="("))),
    "mail.shown_addresses._ADDRESS": (
        fullmatch,
        (
            fill(",", VALUE),
            fill(",@w", VALUE),
            fill("@w.w", VALUE, after=":"),
            fill("w.", VALUE),
            fill("w.", VALUE, "w@"),
        ),
    ),
    "mail.shown_addresses._LOOSE": (
        every,
        (
            fill("a", VALUE),
            fill("a@", VALUE),
            fill("a ", VALUE),
            fill(" ", VALUE, "a", "@"),
            fill(" ", VALUE, "a@", "b"),
        ),
    ),
    "contacts.vcard._EMAIL": (
        fullmatch,
        (fill("a", VALUE), fill('"', VALUE, "email;"), fill(";", VALUE, "email"), fill("a:@", VALUE, "email;a:")),
    ),
    "contacts.vcard._ESCAPED": (every, (fill("\\", VALUE), fill("\\,", VALUE))),
    "mail.authentication._HOST": (fullmatch, (fill("a", VALUE), fill("a.", VALUE), fill("a", VALUE, after=" "))),
    "mail.authentication._PIECES": (
        every,
        (
            fill("\\", VALUE),
            fill('"', VALUE),
            fill("(", VALUE),
            fill(" ", VALUE),
            fill("a", VALUE),
            fill("a ;=", VALUE),
        ),
    ),
    "mail.relations._ID": (every, (fill("<", VALUE), fill("<a", VALUE), fill("a", VALUE, before="<"))),
    "mail.path._IP": (
        every,
        (fill("1.", 1000), fill("1:", 1000), fill(":", 1000), fill("1.1.1.1", 1000), fill("ipv6:", 1000)),
    ),
    "mail.path._WITH": (every, (fill(" ", 1000), fill(" with ", 1000), fill(" with  ", 1000))),
    "mail.path._NAMED": (
        every,
        (
            fill("(", 1000),
            fill("(a.", 1000),
            fill("a", 1000, before="("),
            fill("a@", 1000, before="("),
            fill("[1", 1000),
        ),
    ),
    "config.readers._WHOLE": (fullmatch, (fill("1", BODY), fill("-", BODY))),
    "config.readers._LOOPBACK": (fullmatch, (fill("127.1.1.1", BODY), fill("127.", BODY), fill("2", BODY, "127."))),
    "config.readers._HOST": (fullmatch, (fill("a", BODY, after="/"), fill("a.-_", BODY))),
    "config.readers._SERVER": (fullmatch, (fill("a", BODY, after="/"), fill("a.-_", BODY))),
    "config.readers._ACCOUNT": (fullmatch, (fill("a", BODY, after="/"), fill("a.-@", BODY))),
    "exchange.row_form._BEFORE_TEXT": (every, (fill("\x01", CONFIG), fill("a", CONFIG), fill("a\x1f", CONFIG))),
    "ledger.removal._FORMER": (fullmatch, (fill(".part", NAME), fill("a", NAME, ".damaged-"))),
    "ledger.removal._UNFINISHED": (fullmatch, (fill(".part", NAME), fill("a", NAME, ".damaged-"))),
    "config.readers._USER": (fullmatch, (fill("a", BODY, after="/"), fill("a.-$", BODY))),
    "service.reading_now._THREAD": (every, (fill("Current thread 0x", BODY), fill("a", BODY, "Current thread 0x"))),
    "spamd.report._TAKEN_FOR_NAMES": (every, (fill("A,", 4096), fill(",", 4096), fill("A", 4096))),
    "spamd.protocol._FIRST": (
        fullmatch,
        (filled(b"A", LINE), filled(b"1", LINE, b"A SPAMC/"), filled(b" \t", LINE, b"A SPAMC/1.5", b"x")),
    ),
    "spamd.protocol._NAME": (fullmatch, (filled(b"a", LINE, after=b" "), filled(b"a ", LINE))),
    "spamd.protocol._LENGTH": (fullmatch, (filled(b"1", LINE), filled(b"1", 12, after=b"x"))),
    "mail.header_block._SEPARATORS": (
        match,
        (filled(b"From ", BODY), filled(b">From \n", BODY), filled(b" ", BODY, b"From ", b":")),
    ),
    "mail.header_block._SPLIT_FROM": (
        every,
        (fill("\nfrom:", BODY), fill(" ", BODY, "\nfrom"), fill("\r a", BODY, "from:"), fill("from:a\rb", BODY)),
    ),
    "mail.header_block._RESULTS_BEHIND_RETURN": (
        every,
        (fill("\r", BODY), fill("\rauthentication-results", BODY), fill("authentication-results:", BODY)),
    ),
    "maildir.other_formats._SEPARATOR": (match, (filled(b"0:", 500, b"From "), filled(b" ", 500, b"From "))),
    "mail.header_block._ENVELOPE": (match, (filled(b"From ", BODY), filled(b">From \n", BODY))),
    "mail.header_block._ANY_FIELD": (
        every,
        (filled(b"a", BODY, b"\n"), filled(b" \t", BODY, b"\na"), filled(b"\na ", BODY)),
    ),
    "mail.header_block._FIRST_FIELD": (match, (filled(b"a", BODY), filled(b" ", BODY, b"a"))),
    "mail.header_block._STRAY": (
        every,
        (fill("\na", BODY), fill("a", BODY, "\n"), fill("\n ", BODY), fill("\nFrom", BODY)),
    ),
    "mail.header_block._WIDE_FIELD": (every, NEARLY_FIELDS),
    "mail.header_block._WANTED_FIELD": (every, NEARLY_FIELDS),
    "mail.fields._COMMENT_MARKS": (every, (fill("(", VALUE), fill("\\", VALUE), fill("()", VALUE))),
    "mail.readings._BASE64_LINE": (
        every,
        (filled(b"a", BODY), filled(b"a", BODY, b"", b" x"), filled(b"=", BODY), filled(b"a" * 20 + b"\t", BODY)),
    ),
    "delivery.annotate._RETURN_PATH": (
        match,
        (filled(b"\n ", BODY, b"return-path:"), filled(b" ", BODY, b"return-path")),
    ),
    "delivery.spamc._GRANTED": (match, (filled(b"SPAMD/", LINE), filled(b"SPAMD/1.1 0", LINE))),
    "delivery.spamc._TOLD": (every, (filled(b"\nX-Spamnb:", BODY), filled(b"x", BODY), filled(b"\n", BODY))),
    "delivery.verdict._VALUE": (
        fullmatch,
        (
            fill("1", VALUE, "spam, probability=0."),
            fill("a.", VALUE, "spam, probability=0.123456, score=1.1, version=", "/"),
        ),
    ),
    "bulk.sources._SEPARATOR": (
        match,
        (
            filled(b"From ", BODY),
            filled(b"1:11", 1 << 16, b"From "),
            filled(b"1:1", 1 << 16, b"From "),
            filled(b"a", 1 << 16, b"From "),
        ),
    ),
    "config.folder_names._SIGN": (every, (fill("[", NAME), fill("[*", NAME), fill("*", NAME), fill("[*]", NAME))),
    "config.folder_names._OPENING": (every, (fill("[", NAME), fill("[*", NAME), fill("*]", NAME))),
    "review.near_copies._LIST_TAG": (every, (fill("[", NAME), fill("[a", NAME), "[" + fill("a", NAME))),
    "review.near_copies._REPLY": (
        every,
        (fill("re", NAME), fill("re[1", NAME), "re" + fill(" ", NAME), fill("re ", NAME)),
    ),
    "review.near_copies._NUMBER": (every, (fill("1", NAME), fill("1a", NAME))),
    "config.folder_names._PATTERNS": (
        fullmatch,
        (fill("deleted ", NAME), fill("a", NAME), fill("sent-", NAME), fill("INBOX", NAME)),
    ),
}


def moment(text: str) -> None:
    with contextlib.suppress(UsageError):
        _moment(text, 0.0)


def period(text: str) -> None:
    with contextlib.suppress(argparse.ArgumentTypeError):
        _period(text)


def executed(text: str) -> None:
    with contextlib.suppress(argparse.ArgumentTypeError):
        executor(text)


def named(text: str) -> None:
    with contextlib.suppress(argparse.ArgumentTypeError):
        user_name(text)


def end_of_mailboxes(more: object) -> object:
    """Look for the end of the mailboxes in a configuration that goes on oddly behind them."""
    return _end_of_mailboxes("mailboxes:\n  - path: /m\n" + str(more))


# Expressions that a function makes for itself: what calls it, with its worst texts.


WITHIN: dict[str, tuple[Callable[[object], object], tuple[object, ...]]] = {
    "mail.nesting.surely_end": (
        lambda text: surely_end(str(text), [("div", 1)], ["div"] * str(text).count("<div")),
        (fill("<div>", PAGE), fill("<div ", PAGE), "<div>" + fill("<b>", PAGE)),
    ),
    "web.routes._compiled": (
        Route("GET", "/m/{id}/teach", lambda _: Response(b"")).match,
        (fill("1", HEADER, "/m/"), fill("/m/1", HEADER)),
    ),
    "mail.fields.first_word": (first_word, (fill(" ", VALUE), fill("a", VALUE))),
    "mail.header._addresses": (
        lambda raw: tokenize(parse(raw)),
        (filled(b"1", VALUE, b"From: ", b"@a\n\n"), filled(b"11a", VALUE, b"From: ", b"@a\n\n")),
    ),
    "provider.isync.fault_in": (
        lambda said: fault_in(said, ImapAccount("you", "imap.example", 993), "pass show mail", Path("/")),
        (fill("LOGIN ", TEXT), fill("a", TEXT, "LOGIN"), fill("\n", TEXT)),
    ),
    "config.readers.dotted": (lambda text: dotted("roles", text), (fill("a", BODY, after=" "), fill("-", BODY))),
    "config.folder_names._expression": (
        lambda text: matches(fill("a*", 60), text),
        (fill("a", NAME), fill("ab", NAME)),
    ),
    "config.template._pattern": (
        lambda text: parse_template("/m/*/{domain}/{user}/{local}@{domain}").match(text),
        (fill("a", 4096, "/m/a/"), fill("a@", 4096, "/m/a/a/"), fill("a/", 4096, "/m/"), fill("/", 4096)),
    ),
    "config.writing.example": (lambda _: example(of_host=True), ("",)),  # a text of ours
    "config.writing._end_of_mailboxes": (
        end_of_mailboxes,
        (fill("\n", CONFIG), fill(" ", CONFIG), fill("    #a\n", CONFIG), fill("    \n", CONFIG)),
    ),
    "delivery.annotate._pattern": (
        lambda text: without(text, ["X-Spam"]),
        (filled(b"X-Spam:\n ", BODY), filled(b"\r", BODY), filled(b"X-Spam ", BODY), filled(b"X-Spam:a\r ", BODY)),
    ),
    "cli.argument_types.executor": (
        executed,
        (fill("a", BODY, "dask://"), fill(":1", BODY, "dask://a"), fill("0", 99, "[")),
    ),
    "cli.argument_types.user_name": (named, (fill("a", BODY), fill(" ", BODY), fill("@", BODY))),
    "ledger.parts._copies": (rolling, (fill("/", 200), "/" + fill("a-", 200))),
    "cli.statement._period": (period, (fill("1", BODY), fill("2026-", BODY), fill("2026-W", BODY))),
    "cli.argument_types.span": (moment, (fill(" ", BODY, "1"), fill("1", BODY), fill("1 ", BODY))),
}
