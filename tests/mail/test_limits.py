import os
import subprocess
import sys
from itertools import islice, product
from random import Random

import pytest

from spamnb.mail.limits import DEFAULT_LIMITS, Limits
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import read
from spamnb.mail.shares import DOUBT
from tests.mail.hostile import alternatives
from tests.table import over_rows

PARTS = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\n\ntwo\n--b\n\nthree\n--b--\n"
LINKS = b"Content-Type: text/html\n\n<a href=http://one.example/>x</a><a href=http://two.example/>y</a>"
CHINESE = "Content-Type: text/plain; charset=utf-8\n\n一二三 四五六 七八 kept".encode()
NESTED = b"Content-Type: message/rfc822\n\nContent-Type: message/rfc822\n\nSubject: inner\n\nword\n"

# limit -> (a small value, a message past it, a token that is left out, the token that says so)
CASES = {
    "message_bytes": (20, b"Subject: x\n\nkept left\n" + b"out" * 9, "outout", "limit:message_bytes"),
    "header_bytes": (30, b"Subject: kept\nX-Mailer: one\nX-Left: out\n\nbody", "field:x-left", "limit:header_bytes"),
    "header_fields": (1, b"Subject: kept\nX-Left: out\n\nbody", "field:x-left", "limit:header_fields"),
    "field_chars": (4, b"Subject: kept left\n\nbody", "subject:left", "limit:field_chars"),
    "parts": (2, PARTS, "three", "limit:parts"),
    "nesting": (1, NESTED, "subject", "limit:nesting"),
    "text_chars": (9, b"\n\nkept kept left out", "left", "limit:text_chars"),
    "unspaced_chars": (5, CHINESE, "七八", "limit:unspaced_chars"),
    "html_chars": (12, b"Content-Type: text/html\n\n<p>kept kept <p>left", "left", "limit:html_chars"),
    "html_tags": (2, b"Content-Type: text/html\n\nkept<p>kept<p>kept<p>left", "left", "limit:html_tags"),
    "html_depth": (
        4,
        b"Content-Type: text/html\n\n<p><div><div><div hidden>kept",
        "html:hidden-text",
        "limit:html_depth",
    ),
    "links": (1, LINKS, "url:two.example", "limit:links"),
    "work": (60, b"Subject: kept\n\n" + b"some " * 60 + b"left " + b"some " * 60, "left", "limit:work"),
    "tokens": (12, b"Subject: x\n\n" + b" ".join(b"w%d" % n for n in range(99)), "w98", "limit:tokens"),
}


@over_rows("name", CASES)
def test_past_a_limit_the_rest_is_left_out(name):
    """Past a limit the rest is left out with a token; without the limit there is neither."""
    value, raw, left_out, note = CASES[name]
    limited = read(raw, DEFAULT_LIMITS._replace(**{name: value})).tokens
    assert note in limited
    assert left_out not in limited
    assert note not in read(raw).tokens


def test_a_long_word_becomes_its_shape():
    """A word longer than the limit counts as its first letter and its length in tens."""
    assert "w…20" in read(b"\n\nw" + b"o" * 27, DEFAULT_LIMITS._replace(token_chars=10)).tokens
    assert "w…20" in read(b"\n\nw" + b"o" * 27).tokens


def test_every_limit_has_a_test():
    """No limit is without a case here."""
    assert {*Limits._fields} == CASES.keys() | {"token_chars"}


def test_the_number_of_tokens_is_never_above_the_limit():
    """A message of more distinct tokens than the limit has exactly as many as the limit, with the note."""
    raw = b"Subject: x\n\n" + b" ".join(b"w%x" % n for n in range(9000))
    assert len(read(raw).tokens) == DEFAULT_LIMITS.tokens


def test_neither_words_nor_grams_use_up_the_tokens():
    """A text of very many words keeps its grams, and one that is nothing but beginnings and ends keeps its words."""
    many = " ".join(map("".join, islice(product("abcdefghijklmnopqrst", repeat=4), 6000)))
    short = " ".join(Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=500))
    for text in (many, f"{short} {many}"):
        found = read(b"\n" + text.encode()).tokens
        assert len(found) == DEFAULT_LIMITS.tokens
        assert sum(token.startswith("4:") for token in found) >= 200
        assert sum(":" not in token for token in found) >= 3000


def test_the_grams_of_many_parts_leave_room_for_words():
    """With any number of texts, those behind the first are read too."""
    choose = Random(1)
    noise = [" ".join(choose.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=500)).encode() for _ in range(20)]
    raw = b"Content-Type: multipart/mixed; boundary=b\n" + b"".join(
        b"\n--b\n\n" + text for text in (*noise, b"pineapples")
    )
    assert "pineapples" in read(raw + b"\n--b--\n").tokens


def test_subjects_of_forwarded_messages_leave_room_for_the_text():
    """They are many and long, and the words of the text are all there."""
    inner = b"".join(
        b"\n--b\nContent-Type: message/rfc822\n\nSubject: "
        + b" ".join(b"w%dx%d" % (n, m) for m in range(600))
        + b"\n\nx\n"
        for n in range(20)
    )
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\npineapples and plums\n" + inner + b"\n--b--\n"
    assert {"pineapples", "plums"} <= read(raw).tokens.keys()


def test_html_chars_are_counted_over_all_parts():
    """The limit on markup holds for the message, not for each of its parts."""
    part = b"--b\nContent-Type: text/html\n\n<p>some markup\n"
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n" + part * 3
    message = parse(raw, DEFAULT_LIMITS._replace(html_chars=20))
    assert sum(len(text.text.removeprefix(DOUBT)) for text in message.texts) == 20


def test_html_tags_are_counted_over_all_parts():
    """The limit on tags applies to all parts together too."""
    part = b"--b\nContent-Type: text/html\n\n<p>some<p>markup\n"
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n" + part * 3
    message = parse(raw, DEFAULT_LIMITS._replace(html_tags=3))
    assert [text.text.strip() for text in message.texts] == [DOUBT + "<p>some"] * 3


def test_links_in_plain_text_are_limited_too():
    """URLs in plain text past the limit are left out, and a token says so."""
    limited = read(b"Subject: x\n\nhttp://one.example/ http://two.example/", DEFAULT_LIMITS._replace(links=1)).tokens
    assert {"url:one.example", "limit:links"} <= limited.keys()
    assert "url:two.example" not in limited


def test_words_behind_too_many_chinese_letters_are_read():
    """Only letters of scripts without spaces are left out past their limit: a Latin word behind them counts."""
    limited = read(CHINESE, DEFAULT_LIMITS._replace(unspaced_chars=5)).tokens
    assert {"一二", "二三", "四", "八", "kept"} <= limited.keys()
    assert not {"四五", "五六", "七八"} & limited.keys()


def test_chinese_letters_are_counted_over_all_parts():
    """All texts together have one limit on letters of scripts without spaces; the last ones have their share of it."""
    raw = alternatives("一二三".encode(), "一二三".encode(), "四五".encode())
    assert "limit:unspaced_chars" not in read(raw, DEFAULT_LIMITS._replace(unspaced_chars=8)).tokens
    limited = read(raw, DEFAULT_LIMITS._replace(unspaced_chars=7)).tokens
    assert {"一二", "二三", "四五", "limit:unspaced_chars"} <= limited.keys()
    assert limited["一二"] == 1


def test_the_text_of_a_page_is_limited_as_any_text():
    """A page may have more markup than text is read; text past the limit on text is left out, and has a token."""
    raw = b"Content-Type: text/html\n\n<p>kept kept kept left"
    limited = read(raw, DEFAULT_LIMITS._replace(text_chars=15)).tokens
    assert "limit:text_chars" in limited
    assert "left" not in limited


@pytest.mark.thorough
def test_which_tokens_are_kept_is_no_chance():
    """The same message has its tokens in the same order in every process, so that a limit leaves out the same ones."""
    raw = b"Subject: a b c\nContent-Type: text/html\n\n<form><input><button><img src=x><!-- c --><p>one two three"
    script = f"from spamnb.mail.reading import read; print(list(read({raw!r}).tokens))"
    runs = set()
    for seed in "123":
        environment = os.environ | {"PYTHONHASHSEED": seed}
        runs.add(
            subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True).stdout
        )
    assert len(runs) == 1


@pytest.mark.parametrize(
    "head",
    [
        b"".join(b"Subject: %s\n" % (b"=?utf-8?q?=FF?= " * 200) for _ in range(15)),
        b"X-A: " + b"=?" * 2000 + b"\n",
        b"Content-Disposition: inline" + b";)" * 2000 + b"\n",
    ],
    ids=["encoded-words", "marks", "parameters"],
)
def test_a_header_does_not_use_up_the_work_that_the_text_needs(head):
    """The text of a message is read, whatever its header contains."""
    assert "words" in read(head + b"\nwords\n").tokens
