import base64
import binascii
import shutil
from itertools import product

import pytest

from spamnb.mail.excerpt import excerpt
from spamnb.mail.parsing.charsets import codec_name, decode
from spamnb.mail.parsing.message import parse, unflow
from spamnb.mail.parsing.transfer import decode_transfer
from spamnb.mail.reading import read
from tests.mail.test_header_end import HEADER, shown_by_notmuch
from tests.table import over_rows


def text_of(header: str, body: bytes) -> str:
    return parse(header.encode() + b"\n\n" + body).texts[0].text


CHARSETS = {
    "utf-8": "größer",
    "iso-8859-1": "größer",
    "windows-1252": "“größer”",
    "iso-8859-2": "żółw",
    "koi8-r": "привет",
    "windows-1251": "привет",
    "iso-8859-7": "γεια",
    "windows-1255": "שלום",
    "windows-1256": "سلام",
    "iso-8859-9": "ışık",
    "tis-620": "สวัสดี",
    "gb2312": "你好",
    "gb18030": "你好",
    "big5": "你好",
    "hz": "你好",
    "iso-2022-jp": "こんにちは",
    "shift_jis": "こんにちは",
    "euc-jp": "こんにちは",
    "euc-kr": "안녕",
    "iso-2022-kr": "안녕",
    "utf-7": "größer",
    "utf-16": "größer",
    "utf-32": "größer",
    "cp437": "größer",
    "mac-roman": "größer",
}


@over_rows("charset", CHARSETS)
@over_rows("encoding", ["base64", "quoted-printable"])
def test_every_charset_that_python_knows(charset, encoding):
    """Text in a declared charset is read as written, in any encoding."""
    raw = CHARSETS[charset].encode(charset)
    body = base64.encodebytes(raw) if encoding == "base64" else b"".join(b"=%02X" % byte for byte in raw)
    header = f'Content-Type: text/plain; charset="{charset}"\nContent-Transfer-Encoding: {encoding}'
    assert text_of(header, body).rstrip() == CHARSETS[charset]


@over_rows(
    ("raw", "declared", "text", "claim"),
    [
        (b"plain", "", "plain", ""),
        (b"plain", "x-what", "plain", "unknown"),
        ("größer".encode(), "", "größer", "missing"),
        ("größer".encode("latin-1"), "", "größer", "missing"),
        ("größer".encode(), "us-ascii", "größer", "wrong"),
        ("größer".encode("latin-1"), "utf-8", "größer", "wrong"),
        ("größer".encode(), "euc-jp", "größer", "wrong"),
        (b"caf\xe9", "zlib", "café", "unknown"),
        (b"a-99", "punycode", "a-99", "unknown"),
        (b"\x93quoted\x94", "iso-8859-1", "“quoted”", ""),
    ],
)
def test_wrong_and_missing_charsets(raw, declared, text, claim):
    """A missing, unknown or wrong charset has a token, and the text is read as well as possible."""
    assert decode(raw, declared) == (text, claim)


# Of the WHATWG Encoding Standard: the labels of each charset that Python does not know by all of them.
LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8 utf-8 utf8",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso88595 iso_8859-5:1988",
    "iso8859-6": "arabic csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e iso-8859-6-i iso88596",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso88597 iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-ir-138 iso88598 iso_8859-8:1988 visual",
    "cp1255": "csiso88598i iso-8859-8-i logical windows-1255 x-cp1255",
    "iso8859-15": "csisolatin9 iso-8859-15 iso885915 iso_8859-15 l9",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1252": "ansi_x3.4-1968 ascii cp819 csisolatin1 ibm819 iso-8859-1 iso88591 iso_8859-1:1987 l1 us-ascii x-cp1252",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso88599 iso_8859-9:1989 l5 latin5 windows-1254",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030",
    "cp950": "big5 cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601",
    "utf-16": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16",
    "utf-16-be": "unicodefffe utf-16be",
}


@over_rows(("codec", "label"), [(codec, label) for codec, labels in LABELS.items() for label in labels.split()])
def test_the_labels_of_browsers(codec, label):
    """A charset is known by each label that browsers know."""
    assert codec_name(label.upper()) == codec


@over_rows("declared", ["cp037", "ebcdic-cp-us", "ibm1140", "cp273", "cp424", "cp500", "cp875", "cp1026"])
def test_no_charset_hides_plain_text(declared):
    """A charset in which ASCII letters are other letters is unknown: programs that do not know it show the letters."""
    assert decode(b"Cheap pineapples", declared) == ("Cheap pineapples", "unknown")


TWO_READINGS = [
    ("hz", "~{pineapples~}"),
    ("hz", "pine~{~}apples"),
    ("hz", "\xff pineapples"),
    ("iso-2022-kr", "\x1b$)C\x0epineapples\x0f"),
    ("iso-2022-jp-2", "\x1b$Bpineapples\x1b(B"),
    ("utf-7", "+pineapples"),
    ("utf-7", "pine+AGE-pples"),
    ("utf-32", "pineapples"),
    ("utf-32", "p\0ine\0apples"),
    ("", "~{pineapples~}"),
    ("utf-8", "\x1b$Bpineapples\x1b(B"),
]


@over_rows(("declared", "written"), TWO_READINGS)
@over_rows("form", ["text/plain", "text/html", "text/plain; name=a.txt", "text/calendar"])
def test_a_charset_that_some_programs_do_not_know(declared, written, form):
    """A text in escapes is read in its charset, and as the programs show it that do not know this charset."""
    attached = b"Content-Disposition: attachment\n" if "name" in form else b""
    opening = f'Content-Type: {form}; charset="{declared}"\n'.encode() + attached
    readings = read(opening + b"\nplums " + written.encode("latin-1") + b" and plums\n").tokens
    assert {"pineapples", "pine"} & readings.keys(), written
    assert readings["plums"] == 2


def test_a_subject_in_a_charset_that_some_programs_do_not_know():
    """A Subject in escapes is read in both ways, too."""
    tokens = read(b"Subject: =?hz?q?~{pineapples~}?= and =?utf-7?q?pl+AHU-ms?=\n\nx\n").tokens
    assert {"subject:pineapples", "subject:plums"} <= tokens.keys()


def test_japanese_is_read_once():
    """ISO-2022-JP, which all programs know, is read in its charset alone."""
    raw = "こんにちは".encode("iso-2022-jp")
    assert [text.text for text in parse(b"Content-Type: text/plain; charset=iso-2022-jp\n\n" + raw).texts] == [
        "こんにちは"
    ]


@over_rows("declared", ["zlib", "rot13", "hex", "idna", "punycode", "unicode_escape", "undefined", "", "\0"])
def test_codecs_that_are_no_charsets(declared):
    """Python's codecs that are not charsets of mail are not used."""
    assert codec_name(declared) is None


def test_no_charset_yields_lone_surrogates():
    """UTF-7 can write half a character; decoded text can always be encoded."""
    assert decode(b"+2AA-x", "utf-7")[0].encode()
    assert decode(b"\x00\xd8x\x00", "utf-16-le")[0].encode()


@over_rows(
    ("body", "encoding", "content", "note"),
    [
        (b"QUJD\nRA==\n", "base64", b"ABCD", ""),
        (b"QUJD*RA", "base64", b"ABCD", "base64-broken:"),
        (b"QUJDR", "base64", b"ABC", "base64-broken:"),
        (b"QUI=QUI=", "base64", b"AB\x10P", "base64-broken:"),
        (b"a=3Db=\nc=ZZ=", "quoted-printable", b"a=bc=ZZ", ""),
        (b"caf=e9 =\r\nx", "quoted-printable", b"caf\xe9 x", ""),
        (b"a= \nb=\t \r\nc= \r\r\nd=\r\r\ne= ", "quoted-printable", b"abcde", ""),
        (b"a=\rb=\nc= \rd=\r\re\n", "quoted-printable", b"abcd\re\n", ""),
        (b"=3= \nD= D=\t=41==\r\n", "quoted-printable", b"=3D= D=\tA=\r\n", ""),
        (b"begin 644 x\n#86)C\n`\nend\n", "x-uuencode", b"abc", ""),
        (b"begin 644 x\n#86)C\n`\nend\n", "uue", b"abc", ""),
        (b"\xff\xfe not uu", "x-uuencode", b"\xff\xfe not uu\n", ""),
        (b"as it is", "8bit", b"as it is", ""),
        (b"as it is", "nonsense", b"as it is", ""),
    ],
)
def test_transfer_encodings(body, encoding, content, note):
    """Transfer encodings are undone; of broken ones, what can be had."""
    assert decode_transfer(body, encoding) == (content, note)


def test_a_word_is_one_over_padded_soft_line_breaks():
    """Blanks behind the mark of a soft line break do not part a word, and a lone return behind it hides nothing."""
    opening = b"Content-Transfer-Encoding: quoted-printable\n\n"
    assert {"pineapples", "plums"} <= read(opening + b"pine= \napp=\t\r\nles=\r plums\n").tokens.keys()


def test_a_uuencoded_file_in_text_is_an_attachment_by_name_only():
    """Uuencoded lines are not words of the text around them."""
    message = parse(b"\n\nbefore\nbegin 644 x.exe\n#86)C\n`\nend\nafter\n")
    assert message.texts[0].text.split() == ["before", "after"]
    assert "uuencoded:" in message.notes


UU_FILE = binascii.b2a_uu(b"a real file, of more bytes than a line") + b"`\n"


@over_rows(
    ("media_type", "inside"),
    [
        (b"text/plain", b"Cheap pineapples\n"),
        (b"text/plain", b"Cheap pineapples\r\n\r\n"),
        (b"text/plain", UU_FILE + b"Cheap pineapples\n"),
        (b"text/plain", b"Cheap pineapples\n" + UU_FILE),
        (b"text/plain", b"CHEAP PINEAPPLES\n"),
        (b"text/html", b"Cheap <b>pineapples</b>\n"),
        (b"text/html", b")PINEAPPLES!!\n`\n"),
        (b"text/enriched", b")PINEAPPLES!!\n`\n"),
    ],
)
def test_text_between_the_marks_of_a_uuencoded_file_is_read(media_type, inside):
    """Such text is read and shown if a line has a wrong length, or if it is HTML."""
    raw = b"Content-Type: " + media_type + b"\n\nbefore\nbegin 644 a.txt\n" + inside + b"end\nafter\n"
    assert {"before", "pineapples", "after"} <= read(raw).tokens.keys()
    assert "uuencoded:" not in read(raw).tokens
    assert "pineapples" in excerpt(raw, 1000).text.lower()


@over_rows("line_end", [b"\n", b"\r\n"])
@over_rows("last", [b"`\n", b" \n", b"\n", b""])
def test_a_uuencoded_file_of_any_program_is_known(line_end, last):
    """Programs write a line of no bytes in three ways, or none, and end lines in two."""
    encoded = binascii.b2a_uu(bytes(range(45))) + binascii.b2a_uu(b"rest") + last
    raw = b"\nbefore\nbegin 644 x.exe\n" + encoded + b"end\nafter\n"
    message = parse(raw.replace(b"\n", line_end))
    assert message.texts[0].text.split() == ["before", "after"]
    assert "uuencoded:" in message.notes


def test_flowed_text():
    """Soft line breaks of format=flowed are joined, a signature's line and hard breaks are kept (RFC 3676)."""
    assert unflow("one \ntwo\n three\n-- \nme", delsp=False) == "one two\nthree\n-- \nme"
    assert unflow("on \ne", delsp=True) == "one"
    flowed = text_of("Content-Type: text/plain; format=flowed; delsp=yes", b"Via \ngra\n")
    assert flowed == "Viagra"


def test_alternatives_are_counted_once():
    """Text and its twin in HTML are one content: a word in both counts as often as in the one that has most."""
    raw = (
        b"Content-Type: multipart/alternative; boundary=b\n\n--b\n\noffer offer only\n"
        b"--b\nContent-Type: text/html\n\n<p>offer <b>markup</b>\n--b--\n"
    )
    tokens = read(raw).tokens
    assert (tokens["offer"], tokens["only"], tokens["markup"]) == (2, 1, 1)
    assert "mime:multipart/alternative>text/html" in tokens
    twice = read(raw.replace(b"alternative", b"mixed")).tokens
    assert twice["offer"] == 3


def test_a_nested_message_is_read():
    """The texts of a forwarded message, and the words of its subject, count as the body's."""
    raw = b"Subject: fwd\nContent-Type: message/rfc822\n\nSubject: inner words\nFrom: x@y.example\n\ninnermost\n"
    tokens = read(raw).tokens
    assert {"inner", "words", "innermost", "mime:message/rfc822>text/plain"} <= tokens.keys()
    assert "from:x@y.example" not in tokens


def test_a_nested_message_in_base64_is_read():
    """A forwarded message may itself be encoded."""
    inner = base64.encodebytes(b"Subject: inner\n\ninnermost\n")
    assert "innermost" in read(b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + inner).tokens


def test_attachments_are_named_and_measured():
    """An attachment has tokens for type, name, extension and size class, not for its content."""
    raw = (
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n--b\nContent-Type: application/pdf\n"
        b"Content-Disposition: attachment; filename*0=invoice; filename*1=.pdf.exe\n"
        b"Content-Transfer-Encoding: base64\n\nc2VjcmV0\n--b--\n"
    )
    tokens = read(raw).tokens
    assert {"attached:application/pdf", "attached-size:3", "attached-name:invoice.pdf.exe"} <= tokens.keys()
    assert "attached-extension:pdf.exe" in tokens
    assert "secret" not in tokens


@over_rows(
    "fields",
    [
        b"Content-Type: text/plain; name=a.txt\nContent-Disposition: attachment\n",
        b"Content-Type: text/x-diff; name=a.txt\nContent-Disposition: attachment\n",
        b"Content-Type: application/octet-stream; name=a.txt\n",
        b"Content-Type: application/octet-stream\nContent-Disposition: attachment; filename=a.txt\n",
        b"Content-Type: message/delivery-status; name=a.txt\n",
        b"Content-Type: application/pgp; name=a.txt\nContent-Disposition: attachment\n",
        b"Content-Type: text/plain; name=a.ics\nContent-Disposition: attachment\n\nBEGIN:VCALENDAR",
    ],
)
def test_an_attached_text_is_read(fields):
    """A text that most programs show below the message is read, and is an attachment too."""
    tokens = read(fields + b"\nplums\n").tokens
    assert "plums" in tokens
    assert {"attached-name:a.txt", "attached-name:a.ics"} & tokens.keys()


def test_an_attached_text_does_not_cost_the_message_its_own():
    """An attached text in front, as long as is read, takes nothing from the message's own text."""
    attached = b"Content-Type: text/plain\nContent-Disposition: attachment\n\n" + b"x " * 150_000
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n%s\n--b\n\nplums\n--b--\n" % attached
    assert {"plums", "limit:text_chars"} <= read(raw).tokens.keys()


@pytest.mark.parametrize("kind", ["text/calendar", "application/ics"])
def test_calendar_parts_are_read(kind):
    """An invitation is text."""
    assert "meeting" in read(f"Content-Type: {kind}\n\nBEGIN:VCALENDAR\nSUMMARY:Meeting\n".encode()).tokens


def test_a_truncated_multipart_is_read_to_its_end():
    """A multipart without its closing boundary has a token, and is read."""
    tokens = read(b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nwords\n").tokens
    assert {"words", "multipart-unclosed:"} <= tokens.keys()


def test_a_multipart_without_its_boundary_is_text():
    """A multipart whose boundary never comes has a token, and is read as text."""
    assert "multipart-broken:" in read(b"Content-Type: multipart/mixed; boundary=b\n\nwords\n").tokens


def test_boundaries_that_begin_alike():
    """An inner boundary may begin with the outer one (RFC 2046, 5.1.2)."""
    raw = (
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/mixed; boundary=bb\n\n"
        b"--bb\n\none\n--bb--\n--b\n\ntwo\n--b--\n"
    )
    assert [text.text.strip() for text in parse(raw).texts] == ["one", "two"]


WITHIN = (
    b"Content-Type: multipart/%s; boundary=b\n\n--b\nContent-Type: multipart/%s; boundary=b\n\n"
    b"--b\n\nwalnuts\n--b\n\nContent-Transfer-Encoding: base64\n\ncGVhY2hlcyBhbmQgcGx1bXM=\n--b--\n"
    b"--b\nContent-Type: text/plain\n\npineapples\n--b--\nepilogue\n"
)
KINDS = [b"mixed", b"alternative", b"digest"]


@over_rows("inner", KINDS)
@over_rows("outer", KINDS)
def test_a_multipart_within_that_has_the_boundary_around_it(outer, inner):
    """Parts are read both as if the multipart around ends first, and as if the one within does."""
    tokens = read(WITHIN % (outer, inner)).tokens
    assert {"walnuts", "pineapples"} <= tokens.keys()
    assert "peaches" in tokens or b"digest" not in (outer, inner)
    assert "epilogue" not in tokens


def test_parts_behind_the_last_boundary_are_not_read():
    """No program shows a part behind the closing boundary, so it is not read."""
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nwalnuts\n--b--\n--b\n\npineapples\n--b--\n"
    assert "pineapples" not in read(raw).tokens


@pytest.mark.real_system
def test_notmuch_ends_the_multipart_within_first(tmp_path):
    """notmuch, which reads by GMime, shows the part behind both."""
    if shutil.which("notmuch") is None:
        pytest.skip("needs notmuch (Debian: notmuch)")
    kinds = list(product(KINDS[:2], KINDS))
    messages = [HEADER.replace(b"<1@", b"<%d@" % number) + WITHIN % each for number, each in enumerate(kinds)]
    assert shown_by_notmuch(dict(enumerate(messages)), tmp_path).count("pineapples") == len(kinds)


@pytest.mark.parametrize("kind", ["pgp", "x-pgp-message", "pgp-keys", "pgp-signed"])
def test_mail_of_old_pgp_is_read(kind):
    """mutt shows text of these types, and Thunderbird of two of them."""
    assert "pineapples" in read(f"Content-Type: application/{kind}\n\nCheap pineapples\n".encode()).tokens


ENCODED_TEXT = b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(b"Cheap pineapples, today alone. " * 3)


def test_a_multipart_in_base64_is_read():
    """A multipart in a transfer encoding, which RFC 2045 forbids and mutt undoes, is read, with parts or without."""
    opening = b"Content-Type: multipart/mixed; boundary=xx\nContent-Transfer-Encoding: base64\n\n"
    parts = b"--xx\n" + ENCODED_TEXT + b"--xx--\n"
    assert "pineapples" in read(opening + base64.encodebytes(parts)).tokens
    assert "pineapples" in read(opening + b"--xx\n\nhihi\n--xx--\n" + base64.encodebytes(b"\n" + parts)).tokens
    assert "pineapples" in read(opening + base64.encodebytes(b"Cheap pineapples, today alone.")).tokens
    assert "pineapples" in read(opening + parts).tokens
    assert "pineapples" in read(opening.replace(b"base64", b"quoted-printable") + b"=2D-xx\n" + parts[5:]).tokens


def test_a_nested_message_that_is_not_in_its_encoding_is_read():
    """A nested message that is declared as base64, but is not, is read unchanged."""
    opening = b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
    assert "pineapples" in read(opening + b"Subject: hello there\n" + ENCODED_TEXT).tokens


@pytest.mark.parametrize("kind", ["message/news", "message/rfc2822", "message/global"])
def test_a_nested_message_by_other_names_is_read(kind):
    """Media types that mail programs take for a message are read as one."""
    assert "pineapples" in read(f"Content-Type: {kind}\n\nSubject: a\n".encode() + ENCODED_TEXT).tokens


def test_text_that_is_declared_as_a_header_is_read():
    """A text that is declared as a message's header, but is not, is read."""
    assert "pineapples" in read(b"Content-Type: text/rfc822-headers\n" + ENCODED_TEXT).tokens
    assert "pineapples" in read(b"Content-Type: text/rfc822-headers\n\nSubject: a\n\nCheap pineapples").tokens


@pytest.mark.parametrize(
    ("declared", "line", "end"),
    [
        (b"x" * 300, b"x" * 300, b"\n"),
        (b'""', b"", b"\n"),
        (b"xx", b"xxx", b"\n"),
        (b"xx", b"xx more", b"\n"),
        (b"xx", b"xx", b"\r"),
        (b"xx", b"xx", b"\r\r\n"),
    ],
)
def test_odd_boundaries(declared, line, end):
    """Parts behind a boundary that some programs find are read."""
    raw = b"Content-Type: multipart/mixed; boundary=" + declared + b"\n\n--" + line + end + ENCODED_TEXT
    assert "pineapples" in read(raw + b"--" + line + b"--\n").tokens
