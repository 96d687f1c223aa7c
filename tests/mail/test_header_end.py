"""The end of a header: text behind a line that is not a field is read, since mail programs show it."""

import base64
import json
import os
import quopri
import shutil
import subprocess
import tempfile
from email import message_from_bytes
from email.policy import compat32
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spamnb.bayes.score_plain import GRAMS
from spamnb.delivery.annotate import annotate
from spamnb.identity.digests import digests, identity
from spamnb.mail.reading import LazyReading, read
from tests.patience import PATIENCE
from tests.table import over_rows

TEXT = b"<html><body><p>Cheap pineapples, today alone</p></body></html>\n"
DECLARED = b"Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n"
HEADER = b"Message-ID: <1@b.example>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nFrom: A <a@b.example>\n"
REST = b"To: c@d.example\nSubject: harvest\nMIME-Version: 1.0\n"
BODY = base64.encodebytes(TEXT * 3)

NO_FIELDS = {
    "blank": b" \n",
    "tab": b"\t\n",
    "text": b"this is no field\n",
    "dot": b".\n",
    "dashes": b"--b\n",
    "quoted-from": b">From a@b\n",
    "from": b"From a@b Mon Jan  1 00:00:00 2024\n",
    "two-words": b"Foo Bar: x\n",
    "blank-before-colon": b"Foo : x\n",
    "no-name": b": x\n",
    "nul": b"\0\n",
    "bom": "\ufeffX-Pad: x\n".encode(),
    "nbsp": "\xa0\n".encode(),
    "nbsp-before-name": b"\xa0X-Pad: x\n",
    "8-bit-name": b"X-P\xe4d: x\n",
    "vertical-tab": b"\v\n",
    "lone-return": b"X-Pad: x\rX-Other: y\n",
    "two-returns": b"X-Pad: x\r\rX-Other: y\n",
    "return-before-line-end": b"X-Pad: x\r\r\n",
    "long-field": b"X-Pad: " + b"a" * 66_000 + b"\n",
    "long-folded-field": b"X-Pad:" + b"\n aaaaaaaaa" * 6_600 + b"\n",
    "many-fields": b"".join(b"X-Pad-%d: x\n" % number for number in range(600)),
}
PLACES = {
    "before-the-declaration": lambda line: HEADER + line + REST + DECLARED + b"\n" + BODY,
    "behind-the-declaration": lambda line: HEADER + DECLARED + line + REST + b"\n" + BODY,
    "at-the-top": lambda line: line + HEADER + REST + DECLARED + b"\n" + BODY,
    "in-a-part": lambda line: (
        HEADER + REST + b"Content-Type: multipart/mixed; boundary=xx\n\n--xx\n" + line + DECLARED + b"\n" + BODY
    ),
    "in-a-forwarded-message": lambda line: (
        HEADER + REST + b"Content-Type: message/rfc822\n\nFrom: e@f.example\n" + line + DECLARED + b"\n" + BODY
    ),
    "in-two-headers": lambda line: (
        HEADER + line + REST + b"Content-Type: multipart/mixed; boundary=xx\n\n--xx\n" + line + DECLARED + b"\n" + BODY
    ),
}


@over_rows("place", PLACES)
@over_rows("name", NO_FIELDS)
def test_what_stands_behind_such_a_line_is_read(name, place):
    """The Subject behind such a line is read, and fields behind it describe the body."""
    raw = PLACES[place](NO_FIELDS[name])
    for each in (raw, raw.replace(b"\n", b"\r\n")):
        found = read(each).tokens
        assert {"pineapples", "subject:harvest", "to:d.example"} <= found.keys()
        assert "from:a@b.example" in found
        assert LazyReading(each).summary == "harvest (a@b.example)"


@over_rows("name", NO_FIELDS)
def test_such_a_line_leaves_quoted_printable_read(name):
    """The same holds for a body in quoted-printable."""
    text = quopri.encodestring("Ananas süß und billig".encode())
    declared = b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n"
    found = read(HEADER + NO_FIELDS[name] + REST + declared + b"\n" + text).tokens
    assert found["süß"] == found["billig"] == 1


ODD_HEADERS = {
    # A list of receivers that was written with a line of a tab in it.
    "tab-in-to": b"To: one@d.example,\n\t two@d.example,\n\t \n\tthree@d.example\nSubject: harvest\n",
    # Encoded words that were folded behind a line of a blank.
    "subject-behind-blank": b"To: c@d.example\nSubject: Re:\n \n\t=?iso-8859-1?q?har?=\n  =?iso-8859-1?q?vest?=\n",
    # An address list of thousands of encoded words.
    "long-to": b"To: c@d.example,\n" + b"\t=?utf-8?q?a=3E2024?=\n" * 4_000 + b"Subject: harvest\n",
    # A program of the way wrote its verdict without a colon.
    "verdict-without-colon": b"X-Checked No - 6\nTo: c@d.example\nSubject: harvest\n",
    "short-line": b"To: c@d.example\nSubject: harvest\nx\n",
}


@pytest.mark.parametrize("name", ODD_HEADERS)
def test_headers_as_programs_have_written_them(name):
    """Headers that were met in mail are read to their end."""
    raw = HEADER + ODD_HEADERS[name] + DECLARED + b"\n" + BODY
    assert {"pineapples", "subject:harvest", "to:d.example"} <= read(raw).tokens.keys()


STRAYS = [
    name for name, line in NO_FIELDS.items() if b"Pad" not in line and name not in ("blank", "tab", "from", "no-name")
]


@over_rows("name", STRAYS)
def test_text_that_some_programs_show_there_is_read_too(name):
    """Text between such a line and the end of the header, which is text to some programs, is read as such."""
    found = read(HEADER + REST + NO_FIELDS[name] + b"cheap melons\n\nand apples\n").tokens
    assert {"melons", "apples", "header-broken:"} <= found.keys()


def test_such_text_is_read_with_the_body_that_follows_it():
    """If all programs read the body the same, it and the text in the header are one text."""
    found = read(HEADER + REST + b"cheap melons\nas cheap\n\nas apples\n").tokens
    assert {"mime-parts:1", "opening:cheap", "closing:apples"} <= found.keys()


@over_rows("name", STRAYS)
def test_a_body_is_not_read_twice(name):
    """A body that one program decodes, and another shows raw, counts once, without its raw letters."""
    plain = read(HEADER + REST + DECLARED + b"\n" + BODY).tokens
    odd = read(HEADER + NO_FIELDS[name] + REST + DECLARED + b"\n" + BODY).tokens
    assert odd["pineapples"] == plain["pineapples"]
    more = [token for token in odd.keys() - plain.keys() if not token.startswith(GRAMS)]
    assert len(more) < 25
    opening = HEADER + NO_FIELDS[name] + REST + b"Content-Type: multipart/mixed; boundary=xx\n"
    for header in (opening, opening.replace(NO_FIELDS[name], b"") + NO_FIELDS[name].replace(b"-", b"")):
        found = read(header + b"\n--xx\n" + DECLARED + b"\n" + BODY + b"--xx--\n").tokens
        assert found["pineapples"] == plain["pineapples"]


def test_a_body_that_is_a_preamble_to_others_is_read():
    """Text before the first boundary is read if some programs know no boundary, or an earlier one."""
    multipart = b"Content-Type: multipart/mixed; boundary=xx\n"
    body = b"\nmelons\n--xx\n\nhi\n--xx--\n"
    assert "melons" in read(HEADER + REST + b"no field\n" + multipart + body).tokens
    assert "melons" in read(HEADER + REST + multipart + b"--xx\n" + body).tokens
    assert "melons" in read(HEADER + REST + multipart + b"cheap melons\n").tokens


def test_text_before_a_forwarded_message_is_read():
    """To some programs, text in the header before a nested message is that message's beginning."""
    assert "melons" in read(HEADER + b"Content-Type: message/rfc822\ncheap melons\n\nSubject: a\n\nhi\n").tokens


def test_declarations_of_no_body():
    """Fields behind such a line, and no body, make no part of their own."""
    found = read(HEADER + REST + b"no field\n" + DECLARED + b"cheap melons\n").tokens
    assert {"melons", "mime-parts:1"} <= found.keys()


@over_rows("end", [b"", b"\n", b"\nmore\n"])
@over_rows("line", [b".\n", b"--\n", b"Foo Bar: x\n", b"\xef\xbb\xbfX: x\n.\n", b"\r\r\n"])
def test_a_body_that_begins_at_such_a_line_is_decoded(line, end):
    """A body in base64 that to some programs begins at such a line is decoded, and the one behind the header too."""
    raw = HEADER + REST + DECLARED + line + BODY + end
    assert "pineapples" in read(raw).tokens
    both = HEADER + REST + DECLARED + line + base64.encodebytes(b"<p>ripe melons, many</p>") + b"\n" + BODY
    assert {"pineapples", "melons"} <= read(both).tokens.keys()


def test_a_body_that_python_reads_is_read():
    """If Python's `email` takes letters of the header for base64, the text that it shows is read."""
    raw = HEADER + DECLARED + b"abc\nTo: dd\n\nA" + base64.b64encode(TEXT * 3)  # 7 letters before the empty line
    shown = message_from_bytes(raw, policy=compat32).get_payload(decode=True)
    assert b"pineapples" in shown
    assert "pineapples" in read(raw).tokens


def test_parts_that_begin_within_the_header_are_read():
    """A boundary line without an empty line before it begins a part to some programs."""
    opening = HEADER + REST + b"Content-Type: multipart/mixed; boundary=xx\n"
    part = b"--xx\n" + DECLARED + b"\n" + BODY + b"--xx--\n"
    assert "pineapples" in read(opening + part).tokens
    assert "pineapples" in read(opening + b"--xx--\n\n" + part).tokens


@pytest.mark.parametrize("name", ["7bit", "x-none", "8bit"])
def test_of_two_encodings_both_are_undone(name):
    """Programs take the first or the last of two fields with one name: base64 is decoded wherever it is declared."""
    other = b"Content-Transfer-Encoding: %s\n" % name.encode()
    for declared in (other + DECLARED, DECLARED + other):
        assert "pineapples" in read(HEADER + REST + declared + b"\n" + BODY).tokens


@over_rows(
    "value",
    [
        b"(a) base64",
        b"(a (b) \\) c) base64",
        b"(" + b"a" * 300 + b") base64",
        b"=?us-ascii?q?base64?=",
        b"\n " * 150 + b"base64",
        b"base64x",
        b'"base64"',
        b" " * 5000 + b"base64",
    ],
)
def test_odd_forms_of_an_encoding(value):
    """An encoding behind comments and blank lines, or in an encoded word, is undone."""
    declared = DECLARED.replace(b" base64", b" " + value)
    assert "pineapples" in read(HEADER + REST + declared + b"\n" + BODY).tokens


@pytest.mark.parametrize(
    "value", [b"(a;b) text/html", b"text / html", b"text(a)/(b)html", b"=?us-ascii?q?text/html?=; charset=utf-8"]
)
def test_odd_forms_of_a_media_type(value):
    """A media type with comments, blanks or encoded words is what programs take it for."""
    declared = DECLARED.replace(b"text/html; charset=utf-8", value)
    found = read(HEADER + REST + declared + b"\n" + BODY).tokens
    assert {"pineapples", "html-links:0"} <= found.keys()


PADDING = {
    "parameters": b"".join(b" x%d=y;" % number for number in range(700)),
    "one-name": b" name=y;" * 700,
    "continuations": b"".join(b" name*%d=y;" % number for number in range(700)),
    "quoted": b' x="' + b'; boundary=yy\\"' * 500 + b'";',
    "comment": b" (" + b"; boundary=yy (a)" * 500 + b")",
    "many-comments": b" (; boundary=yy)" * 500,
    "short-comment": b" ((a) ; boundary=yy)",
    "open-comment": b" name=(y;",
    "no-name": b";" * 6000,
}


@over_rows("name", PADDING)
def test_what_stands_before_a_parameter_hides_nothing(name):
    """A boundary, a charset and a file's name are read behind any number of other parameters, and behind comments."""
    padding = PADDING[name]
    opening = HEADER + REST + b"Content-Type: multipart/mixed;" + padding + b" boundary=xx\n\nhello\n--xx\nA: b\n"
    assert "pineapples" in read(opening + DECLARED + b"\n" + BODY + b"--xx--\n").tokens
    russian = b"Content-Type: text/plain;" + padding + b" charset=koi8-r\n\n" + "да".encode("koi8-r") + b"\n"
    assert "да" in read(HEADER + REST + russian).tokens
    page = b"Content-Type: application/pdf\nContent-Disposition: attachment;" + padding + b" filename=a.htm\n\nx\n"
    assert "attached-extension:htm" in read(HEADER + REST + page).tokens


@pytest.mark.parametrize("field", [b"Content-Type: %s text/html", b"Content-Transfer-Encoding: %s base64"])
def test_long_comments_hide_nothing(field):
    """A media type and an encoding are read behind comments longer than the limit of a field."""
    name = field.partition(b":")[0]
    declared = b"\n".join(line for line in DECLARED.split(b"\n") if not line.startswith(name))
    comments = b"(" + b"a;b " * 2000 + b") (c)"
    found = read(HEADER + REST + field % comments + b"\n" + declared + b"\n" + BODY).tokens
    assert {"pineapples", "html-links:0"} <= found.keys()


def test_parameters_that_take_long_do_not_hide_a_boundary():
    """Parts whose names are written so that they take long to read leave a later boundary what it needs."""
    odd = b"--xx\nContent-Type: text/plain;" + b"".join(b" name*%d=y;" % number for number in range(350)) + b"\n\nx\n"
    inner = b"--xx\nContent-Type: multipart/mixed; (c) boundary=yy\n\n--yy\nA: b\n" + DECLARED + b"\n" + BODY
    raw = HEADER + REST + b"Content-Type: multipart/mixed; boundary=xx\n\n" + odd * 20 + inner
    assert "pineapples" in read(raw).tokens


@pytest.mark.parametrize("between", [b"", b"no field\n"])
@pytest.mark.parametrize("other", [b"Content-Type: image/png\n", b"Content-Disposition: attachment\n"])
def test_a_body_that_is_text_in_one_reading_is_read(other, between):
    """A body that some programs show as text, and others as an attachment or an image, is read."""
    own = b"Content-Disposition: inline\n" if b"Disposition" in other else b""
    for declared in (other + between + own + DECLARED, own + DECLARED + between + other):
        assert "pineapples" in read(HEADER + REST + declared + b"\n" + BODY).tokens


def test_an_attachment_behind_such_a_line_is_none_to_others():
    """A body that is an attachment by a field behind such a line is read as those read it that do not see the field."""
    raw = HEADER + REST + DECLARED + b"no field\nContent-Disposition: attachment\n\n" + BODY
    assert "pineapples" in read(raw).tokens
    assert "melons" in read(HEADER + REST + b"no field\nContent-Disposition: attachment\n\nmelons\n").tokens


def test_the_last_field_before_such_a_line_counts_too():
    """For a program that takes the last of two fields, that encoding is undone."""
    plain = b"Content-Transfer-Encoding: 7bit\n"
    assert "pineapples" in read(HEADER + REST + plain + DECLARED + b"no field\n" + plain + b"\n" + BODY).tokens


def test_a_part_of_a_digest_behind_such_a_line_is_read():
    """A part of a digest is a message, even behind a line that is not a field."""
    opening = HEADER + REST + b"Content-Type: multipart/digest; boundary=xx\n\n--xx\nno field\n\n"
    assert "pineapples" in read(opening + HEADER + DECLARED + b"\n" + BODY + b"--xx--\n").tokens


def test_a_text_without_an_end_of_the_header_stays_text():
    """If no empty line ends the header, all behind its first line of text is text, even with colons."""
    found = read(b"Subject: meeting\nsee below .\nsubject : re : minutes\nto : all of us\n").tokens
    assert {"minutes", "all", "to:none", "mime-parts:1"} <= found.keys()
    assert "subject:minutes" not in found


# One rule for all: the reader, the identity, and what writes into a header.

FIELDS = [("X-Spamnb", "spam, probability=0.998700")]
ENVELOPES = [
    b"",
    b"From a@b.example Mon Jan  1 00:00:00 2024\n",
    b">From a@b.example Mon Jan  1 00:00:00 2024\n",
    b"From a@b.example Mon Jan  1 00:00:00 2024\n>From c@d.example Mon Jan  1 00:00:00 2024\n",
    b"From a\nFrom b\n>From c\n",
]


@over_rows("envelope", ENVELOPES)
@over_rows("name", ["text", "blank", "quoted-from", "bom"])
def test_lines_of_an_mbox_are_no_part_of_the_message(envelope, name):
    """Any number of `From ` and `>From ` lines before the header changes nothing."""
    raw = HEADER + NO_FIELDS[name] + REST + DECLARED + b"\n" + BODY
    for end in (b"\n", b"\r\n"):
        both = [each.replace(b"\n", end) for each in (envelope + raw, raw)]
        assert digests(both[0]) == digests(both[1])
        assert read(both[0]) == read(both[1])


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_verdict_in_the_header_leaves_the_message_what_it_is(step):
    """A message with the verdict in its header has the same identity and tokens, and the verdict is in the header."""
    for name, envelope, place in [*product(NO_FIELDS, ENVELOPES, PLACES)][::step]:
        raw = envelope + PLACES[place](NO_FIELDS[name])
        beginning, replaced = annotate(raw, FIELDS, ["X-Spamnb"])
        made = beginning + raw[replaced:]
        which = name, envelope, place
        assert made != raw, which
        if not raw[len(envelope) :].startswith((b" ", b"\t")):
            assert identity(made) == identity(raw), which
            if name != "many-fields":  # of which not all are read
                assert read(made).tokens == read(raw).tokens, which
            head = made.partition(b"\n\n")[0]
            assert made.startswith(envelope + b"X-Spamnb: spam") or b"\nX-Spamnb: spam" in head, which


@given(
    st.lists(
        st.sampled_from([*NO_FIELDS.values()][:19]) | st.binary(max_size=20).map(lambda line: line + b"\n"), max_size=8
    )
)
@example([b"\r\n"])
def test_any_header_keeps_its_identity_with_a_verdict(lines):
    """With any lines in its header, a message keeps its identity when the verdict is added."""
    raw = b"A: b\n" + b"".join(lines) + b"\n\nbody\n"
    beginning, replaced = annotate(raw, FIELDS, ["X-Spamnb"])
    assert identity(beginning + raw[replaced:]) == identity(raw)


# The programs themselves.


def shown_by_dovecot(raw: bytes, directory: Path) -> str:
    """Return Dovecot's view of the message: structure and Subject."""
    for name in ("cur", "new", "tmp"):
        (directory / "mail" / name).mkdir(parents=True)
    (directory / "mail/cur/1700000001.M1P1.home:2,S").write_bytes(raw)
    (directory / "conf").write_text(
        f"base_dir = {directory}/run\nlog_path = {directory}/log\nmail_location = maildir:{directory}/mail\n"
        "mail_uid = 65534\nmail_gid = 65534\nfirst_valid_uid = 1\n"
    )
    directory.chmod(0o755)
    command = ["doveadm", "-c", f"{directory}/conf", "-f", "flow", "fetch", "imap.bodystructure hdr.subject", "all"]
    environ = {"PATH": os.environ["PATH"] + ":/usr/bin", "HOME": str(directory), "USER": "nobody"}
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "65534:65534", str(directory)], check=True)
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
    return subprocess.run(command, capture_output=True, check=True, env=environ, timeout=PATIENCE).stdout.decode()


@pytest.mark.real_system
def test_dovecot_passes_over_what_we_pass_over():
    """Dovecot tells a client that the body is HTML in base64, behind each of these lines."""
    if shutil.which("doveadm") is None:
        pytest.skip("needs doveadm (Debian: dovecot-core)")
    lines = {name: line for name, line in NO_FIELDS.items() if b"\r" not in line}
    raw = PLACES["before-the-declaration"](b"".join(lines.values()))
    with tempfile.TemporaryDirectory(prefix="spamnb-dovecot-") as directory:  # that another user can reach
        told = shown_by_dovecot(raw, Path(directory))
    assert '"text" "html" ("charset" "utf-8") NIL NIL "base64"' in told
    assert "hdr.subject=harvest" in told


def shown_by_notmuch(messages: dict[object, bytes], directory: Path) -> str:
    """Return what notmuch shows of the messages, as JSON."""
    (directory / "mail").mkdir()
    for name, raw in messages.items():
        (directory / "mail" / str(name)).write_bytes(raw)
    (directory / "config").write_text(f"[database]\npath={directory}/mail\n[user]\nname=a\nprimary_email=a@b.example\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(directory), "NOTMUCH_CONFIG": str(directory / "config")}
    subprocess.run(["notmuch", "new", "--quiet"], check=True, capture_output=True, env=environ, timeout=PATIENCE)
    show = ["notmuch", "show", "--format=json", "--include-html", "--entire-thread=false", "*"]
    return subprocess.run(show, check=True, capture_output=True, env=environ, timeout=PATIENCE).stdout.decode()


@pytest.mark.real_system
def test_notmuch_passes_over_what_we_pass_over(tmp_path):
    """notmuch, which reads by GMime, shows the text behind each of these lines."""
    if shutil.which("notmuch") is None:
        pytest.skip("needs notmuch (Debian: notmuch)")
    place = PLACES["before-the-declaration"]
    lines = enumerate(NO_FIELDS.items())
    found = shown_by_notmuch(
        {name: place(line).replace(b"<1@", b"<%d@" % each) for each, (name, line) in lines}, tmp_path
    )
    assert found.count("pineapples") == 3 * len(NO_FIELDS)
    assert json.loads(found)
