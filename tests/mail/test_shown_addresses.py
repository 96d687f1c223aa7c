"""Whose address is it: the addresses in From that mail programs show and answer, however a stranger writes the field.

mutt 2.2.12 and Thunderbird's parser (jsmime) were asked about each line of both tables.
"""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spamnb.base.label import Label
from spamnb.config import Senders
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import read
from spamnb.mail.relations import addressees, relations
from tests.profiles import daily

FRIEND, SPAM = "friend@good.example", "spam@bad.example"

# {a}: the address. {local}, {domain}: its parts. {quoted}: the local part in quotation marks.
FORMS = [
    "From: {a}",
    "FROM:<{a}>",
    "From: Ann <{a}>",
    'From: "Bell, Ann" <{a}>',
    "From: Ann B. Bell <{a}>",
    "From: Bell, Ann <{a}>",
    'From: "a \\" <friend@good.example>" <{a}>',
    "From: friend@good.example <{a}>",
    "From: a @ b <{a}>",
    "From: [x] <{a}>",
    "From: Ann > <{a}>",
    "From: {a} (Ann)",
    "From: (friend@good.example) {a}",
    "From: (a (b\\) c) d) <{a}> (e)",
    "From: {local}(c)@(d){domain}",
    "From: {local} @ {domain}",
    "From: Ann < {a} >",
    "From:\n\tAnn\n <{a}>",
    "From: {upper}",
    "From: {a}.",
    "From: {quoted}@{domain}",
    "From: Ann <{quoted}@{domain}.>",
    "From: =?utf-8?q?Ann?= <{a}>",
    "From: =?utf-8?q?=3Cfriend=40good.example=3E=2C?= <{a}>",
    'From: "=?utf-8?q?=22_=3Cfriend=40good.example=3E?=" <{a}>',
    "From: <>, {a}",
    "From: x:;, {a}",
    "From: team: Ann <{a}>;",
    "From: <@relay.example,@b.example:{a}>",
    f"From: {'x' * 600} <{{a}}>",
    "From : {a}",
    "From: {a}\nFrom: Ann <{a}>",
]

FORGERIES = [
    "From: friend@good.example <spam@bad.example>",
    'From: "friend@good.example" <spam@bad.example>',
    "From: 'friend@good.example' <spam@bad.example>",
    "From: friend@good.example<spam@bad.example> (x)",
    "From: friend@good.example via <spam@bad.example>",
    "From: (friend@good.example) spam@bad.example",
    "From: =?utf-8?q?friend=40good.example?= <spam@bad.example>",
    "From: =?utf-8?q?friend=40good.example?= spam@bad.example",
    "From: (=?utf-8?q?=29_=3Cfriend=40good.example=3E_=28?=) spam@bad.example",
    "From: =?utf-8?q?friend=40good.example?=",
    "From: <=?utf-8?q?friend=40good.example?=>",
    "From: =?utf-8?q?friend?=@good.example",
    "From: friend@good.example, <spam@bad.example>",
    "From: spam@bad.example, friend@good.example",
    "From: friend@good.example; spam@bad.example",
    "From: <friend@good.example> <spam@bad.example>",
    'From: "" <friend@good.example> via <spam@bad.example>',
    "From: <friend@good.example>spam@bad.example",
    "From: friend@good.example spam@bad.example",
    'From: friend@good.example "spam@bad.example"',
    "From: Ann <friend@good.example, spam@bad.example>",
    "From: Ann <<friend@good.example>spam@bad.example>",
    "From: <@friend@good.example:spam@bad.example>",
    "From: <friend@good.example:spam@bad.example>",
    "From: friend@good.example: spam@bad.example;",
    "From: spam@bad.example: friend@good.example;",
    "From: friend@good.example:;, spam@bad.example",
    "From: friend@good.example\nFrom: spam@bad.example",
    "From: spam@bad.example\nX: y\nFrom: friend@good.example",
    "From : spam@bad.example\nFrom: friend@good.example",
    "From: <friend@good.example\nFrom: spam@bad.example",
    'From: "friend@good.example"@bad.example',
    "From: friend@good.example@bad.example",
    "From: friend@good.example .bad.example",
    "From: friend@good.example.bad.example",
    "From: friend@good.example\\@bad.example",
    "From: friend@good.example\0@bad.example",
    'From: "friend@good.example <spam@bad.example>',
    "From: (friend@good.example <spam@bad.example>",
    "From: friend@good.example <>",
    "From: friend@go\N{SOFT HYPHEN}od.example",
    "From: nobody\nSender: friend@good.example",
    f"From: friend@good.example{',' * 9000}, spam@bad.example",
]


def message(header: str) -> bytes:
    """A message with these fields."""
    return f"{header}\nSubject: hello\n\nhello\n".encode()


def senders(header: str) -> tuple[str, ...]:
    """The senders of a message with these fields."""
    return relations(parse(message(header))).senders


def written(form: str, local: str, domain: str) -> str:
    """A form with an address. The local part is without quotation marks."""
    quoted = '"' + re.sub(r'(["\\])', r"\\\1", local) + '"'
    local = local if re.fullmatch(r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*", local) else quoted
    address = f"{local}@{domain}"
    return form.format(a=address, local=local, domain=domain, quoted=quoted, upper=address.upper())


def test_the_tables_have_no_line_twice() -> None:
    """There are 32 forms of an address, and 43 forgeries of one."""
    assert (len({*FORMS}), len({*FORGERIES})) == (len(FORMS), len(FORGERIES)) == (32, 43)


@pytest.mark.parametrize("form", FORMS)
def test_an_address_in_any_form(form: str) -> None:
    """However an address is written, `block` and `allow` name its mail."""
    found = senders(written(form, *SPAM.split("@")))
    assert found == (SPAM,)
    assert Senders(block=(SPAM,)).named(found, "") == (Label.SPAM, SPAM)
    assert Senders(allow=(SPAM,)).named(found, "") == (Label.HAM, SPAM)
    assert Senders(allow=(FRIEND,), block=(FRIEND,)).named(found, "") is None


ATOM = st.text("abcxyz019!#$%&'*+/=?^_`{|}~-", min_size=1, max_size=8)
DOTTED = st.lists(ATOM, min_size=1, max_size=3).map(".".join)
ANY_TEXT = st.text([chr(code) for code in range(32, 127) if not chr(code).isupper()], min_size=1, max_size=12)
DOMAIN = st.lists(st.text("abcxyz019-", min_size=1, max_size=8), min_size=2, max_size=4).map(".".join)


@settings(deadline=None, max_examples=daily(30))
@given(DOTTED | ANY_TEXT, DOMAIN)
@example('a@b> "<c', "d.example")
@example("\\", "d.example")
def test_any_address_in_any_form(local: str, domain: str) -> None:
    """All forms of any valid address give that address, in one spelling."""
    found = {form: senders(written(form, local, domain)) for form in FORMS}
    assert len({*found.values()}) == 1
    ((address,),) = {*found.values()}
    assert address == written("{a}", local, domain)


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_is_not_taken_for_the_friend(forgery: str) -> None:
    """If programs may show another address, nobody is allowed or known; the shown one is blocked."""
    named = senders(forgery)
    assert Senders(allow=(FRIEND, "*@good.example", "good.example")).named(named, "") is None
    if "bad.example" in forgery:
        assert Senders(block=("bad.example",)).named(named, "") == (Label.SPAM, "bad.example")
    path = "Received: from x (out.b.example [9.9.9.7]) by mx.example.org\nIn-Reply-To: <1@home.example>\n"
    forged, honest = (read(message(f"{path}{field}")).relations for field in (forgery, f"From: {FRIEND}"))
    assert forged.sender_over_path != honest.sender_over_path
    assert not {*forged.answers} & {*honest.answers}


@pytest.mark.parametrize(
    "field",
    [
        "From: spam@bad.example (Ann",
        "From: Ann <spam@bad.example",
        'From: "spam@bad.example"',
        "From: 'spam@bad.example'",
        "From: spam@bad..example",
        'From: spam@"bad.example"',
        "From: sp\\am@bad.example",
        "From: Ann spam@bad.example",
        "From: <<spam@bad.example>>",
        "From: <mailto:spam@bad.example>",
        "From: <> <spam@bad.example>",
        "From: spam\N{ZERO WIDTH SPACE}@bad.example",
        "From: <spam@bad.example\N{NO-BREAK SPACE}>",
        "From: Ann <=?utf-8?q?spam?=@bad.example>",
        "From: =?utf-8?q?Ann_=3Cspam=40bad.example=3E?=",
        f"From: {'x' * 100_000} <spam@bad.example>",
    ],
)
def test_in_doubt_mail_is_blocked_and_not_allowed(field: str) -> None:
    """An address that only some programs show is blocked, and not allowed."""
    assert Senders(block=(SPAM,)).named(senders(field), "") == (Label.SPAM, SPAM)
    assert Senders(allow=(SPAM, "bad.example")).named(senders(field), "") is None


@pytest.mark.parametrize("rest", [SPAM, f"<{SPAM}>", f"X: <{SPAM}>", f"x\r<{SPAM}>", f" x\r<{SPAM}>", f"From: {SPAM}"])
def test_a_lone_return(rest: str) -> None:
    """What follows a lone return is another line for some programs; mutt shows it as a part of From."""
    named = senders(f"From: {FRIEND}\r{rest}")
    assert Senders(allow=(FRIEND,)).named(named, "") is None
    assert Senders(block=(SPAM,)).named(named, "") == (Label.SPAM, SPAM)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r\r\n", "\r\n ", "\r\t"])
def test_returns_that_all_programs_read_alike(line_end: str) -> None:
    """A return before a line end, or one that folds a field, puts nothing in doubt."""
    is_fold = line_end[-1] in " \t"
    assert senders(f"From: Ann{line_end}<{SPAM}>" if is_fold else f"From: {SPAM}{line_end}X: y") == (SPAM,)


@pytest.mark.parametrize("raw", ["ü@bücher.example".encode(), "ü@bücher.example".encode("latin-1")])
def test_letters_beyond_ascii(raw: bytes) -> None:
    """An address may have raw letters (RFC 6532), in the charset of the message."""
    text = b"From: " + raw + b"\nContent-Type: text/plain; charset=iso-8859-1\n\nB\xfccher\n"
    assert relations(parse(text)).senders == ("ü@bücher.example",)


def test_the_number_of_addresses_is_limited() -> None:
    """If From has very many addresses, the first and the last count, and the mail is in doubt."""
    many = [f"a{number}@b.example" for number in range(100)]
    for header in (f"From: {', '.join(many)}", "\n".join(f"From: {each}" for each in many)):
        found = senders(header)
        assert len(found) < 12
        assert (found[0], found[-2], found[-1]) == ("a0@b.example", "a99@b.example", "")


def test_recipients_of_sent_mail_are_read_the_same_way() -> None:
    """An answer is expected from the address to which the message goes, not from its name."""

    def replies(to: str) -> tuple[int, ...]:
        return addressees(parse(message(f"From: me@home.example\nTo: {to}\nMessage-ID: <1@home.example>"))).answers

    assert replies(f"{FRIEND} <{SPAM}>") == replies(SPAM) != replies(FRIEND)
    assert {*replies(f"team: {FRIEND};, <@relay.example:{SPAM}>")} == {*replies(SPAM), *replies(FRIEND)}


def test_a_summary_names_the_address_that_is_answered() -> None:
    """A person sees the address that counts."""
    assert read(message(f"From: {FRIEND} <{SPAM}>")).summary == f"hello ({SPAM})"


def test_a_separator_of_an_mbox_is_not_a_field() -> None:
    """`From a@b` before the header names no sender; `From : a@b` does."""
    assert senders("From a@b.example Mon Jan  1 00:00:00 2024\nX: y") == ("",)
    assert senders("X: y\nFrom\t: a@b.example\nTo: c") == ("a@b.example",)


@pytest.mark.parametrize("unit", ["(", "<", "@", ",", '"', "\\", "a@", "@a,", "a@b.c:", "=?utf-8?q?=40?= ", "\0", " "])
def test_any_length_is_read(unit: str) -> None:
    """However long a field is, few addresses come of it, and none is longer than an address may be."""
    for header in (f"From: {unit * 20_000}", f"From: {unit * 300}\n" * 200):
        found = parse(message(header), DEFAULT_LIMITS).authors
        assert len(found) < 12
        assert all(len(address) <= 254 for address in found)
