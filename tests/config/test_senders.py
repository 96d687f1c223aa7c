"""The person's own lists of senders: how they are written, and what they match."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.errors import ConfigError
from spamnb.base.label import How, Label
from spamnb.config import Config, Scoring, Senders, parse
from spamnb.config.named_senders import SendersInForce, _fits
from spamnb.filter.judge import Filter, FrozenFilter
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Content, Reading
from spamnb.mail.relations import Relations
from tests.line_count import lines_run
from tests.table import over_rows

HEAD = "mailboxes: [{path: /m, roles: {INBOX: inbox, Junk: spam}}]\n"


def config(senders: str) -> Config:
    """A configuration with these senders."""
    return parse(f"{HEAD}senders: {senders}\n", "c.yaml", {"HOME": "/home/anna"})


@over_rows(
    ("pattern", "sender", "list_id", "named"),
    [
        ("ann@example.org", "ann@example.org", "", True),
        ("ann@example.org", "jo.ann@example.org", "", False),
        ("*@example.org", "ann@example.org", "", True),
        ("*@example.org", "ann@mail.example.org", "", False),
        ("news-?@example.org", "news-7@example.org", "", True),
        ("example.org", "ann@example.org", "", True),
        ("example.org", "ann@mail.example.org", "", True),
        ("example.org", "ann@badexample.org", "", False),
        ("example.org", "ann@example.org.evil.example", "", False),
        ("example.org", "ann@elsewhere.example", "talk.example.org", True),
        ("talk.example.org", "ann@example.org", "", False),
        ("*.example", "ann@deals.example", "", True),
        ("*.example", "ann@example", "", False),
        ("example.org", "", "", False),
        ("bücher.example", "a@xn--bcher-kva.example", "", True),
        ("*@xn--bcher-kva.example", "a@bücher.example", "", True),
        ("ann@bücher.example", "ann@news.xn--bcher-kva.example", "", False),
        ("bücher.example", "a@b.example", "list.xn--bcher-kva.example", True),
        ("*.büc?er.example", "a@b.büchner.example", "", False),
        (f"{'ü' * 70}.example", f"a@{'ü' * 70}.example", "", True),
        ("*bücher.example", "a@meine-xn--bcher-kva.example", "", False),
        ("*bücher.example", "a@alte.xn--bcher-kva.example", "", True),
        ("*@*.example", "a@b@c.example", "", True),
        ("*", "", "", False),
        (f"{'a' * 242}@example.org", f"{'a' * 242}@example.org", "", True),
        ("*@example.org", f"{'a' * 243}@example.org", "", False),
        ("example.org", f"{'a' * 243}@example.org", "", False),
        ("list:talk.example.org", "ann@elsewhere.example", "talk.example.org", True),
        ("list:talk.example.org", "ann@talk.example.org", "", False),
        ("list:talk.example.org", "talk@example.org", "", False),
        ("list:talk.example.org", "ann@talk.example.org", "a.talk.example.org", False),
        ("list:example.org", "ann@example.org", "talk.example.org", False),
        ("list:*.example.org", "ann@mail.example.org", "", False),
        ("list:*.example.org", "", "talk.example.org", True),
        ("list:*.example.org", "", "example.org", False),
        ("list:ta?k.example.org", "", "talk.example.org", True),
        ("list:bücher.example", "", "xn--bcher-kva.example", True),
        ("list:bücher.example", "a@bücher.example", "", False),
        ("list:example.org", "list:ann@example.org", "", False),
        ("example.org", "", f"{'a.' * 121}.example.org"[-254:], True),
        ("example.org", "", f"{'a.' * 122}.example.org"[-255:], False),
    ],
)
def test_what_a_pattern_names(pattern: str, sender: str, list_id: str, named: bool) -> None:
    """An address is named whole, a domain or List-Id with those below it; either spelling of an international one."""
    found = Senders(block=(pattern,)).named((sender,), list_id)
    assert found == ((Label.SPAM, pattern) if named else None)


@given(st.text("ab*?", max_size=12), st.text("ab", max_size=12))
def test_wildcards(pattern: str, name: str) -> None:
    """A star stands for any letters, and a question mark for one, as in the names of files."""
    assert _fits(pattern, [name]) is fnmatch.fnmatchcase(name, pattern)


def test_the_cost_of_a_pattern() -> None:
    """A pattern costs the letters of pattern and name, whatever stars it has: nothing is tried twice."""

    def cost(pattern: str, size: int) -> int:
        return lines_run(lambda: _fits(pattern, ["a" * size]))

    assert cost("a?" * 20, 200) - cost("a?" * 20, 100) == cost("*a" * 20, 200) - cost("*a" * 20, 100) < 400
    assert cost("*a*?" * 40, 100) - cost("*a*?" * 20, 100) < 400


@over_rows(
    ("senders", "list_id", "decided"),
    [
        (("ann@example.org", "bob@example.org"), "", (Label.HAM, "ann@example.org")),
        (("ann@example.org", "eve@bad.example"), "", (Label.SPAM, "bad.example")),
        (("eve@bad.example", "ann@example.org"), "", (Label.SPAM, "bad.example")),
        (("ann@example.org", "jo@other.example"), "", None),
        (("ann@example.org", ""), "", None),
        (("eve@bad.example", ""), "", (Label.SPAM, "bad.example")),
        (("eve@bad.example", ""), "talk.example.net", (Label.HAM, "talk.example.net")),
        (("",), "talk.example.net", (Label.HAM, "talk.example.net")),
        (("",), "", None),
    ],
)
def test_mail_of_several_senders(senders: tuple[str, ...], list_id: str, decided: tuple[Label, str] | None) -> None:
    """Mail is allowed if all its senders are, and blocked if one is; no pattern names "", a sender in doubt."""
    lists = Senders(allow=("ann@example.org", "*@example.org", "talk.example.net"), block=("bad.example",))
    assert lists.named(senders, list_id) == decided


def test_one_list_allows_all_senders() -> None:
    """If the configuration allows one sender and a choice allows the other, the filter judges mail of both."""
    both = SendersInForce(allow=("ann@example.org",), chosen=Senders(allow=("bob@example.net",)))
    assert both.named(("ann@example.org", "bob@example.net"), "") is None
    assert both.named(("bob@example.net",), "") == (Label.HAM, "bob@example.net")


@over_rows(
    ("senders", "fault"),
    [
        ("{allow: ['@example.org']}", "senders.allow[0]: '@example.org' has nothing before '@'; write '*@example.org'"),
        ("{allow: [ann]}", "senders.allow[0]: 'ann' has neither '@' nor a dot; write an address (*@example.org)"),
        ("{allow: ['*']}", "senders.allow[0]: '*' matches all mail; write an address"),
        ("{allow: ['list:']}", "senders.allow[0]: 'list:' cannot be a sender; write an address"),
        ("{allow: ['list:*']}", "senders.allow[0]: 'list:*' matches all mail; write an address"),
        ("{allow: ['list:talk']}", "'list:talk' has neither '@' nor a dot; write an address (*@example.org), a domain"),
        ("{allow: ['list:ann@example.org']}", "senders.allow[0]: 'list:ann@example.org' cannot be a sender"),
        ("{allow: ['list:list:a.example']}", "senders.allow[0]: 'list:list:a.example' cannot be a sender"),
        ("{allow: ['lists:a.example']}", "senders.allow[0]: 'lists:a.example' cannot be a sender"),
        ("{allow: ['list: a.example']}", "senders.allow[0]: 'list: a.example' cannot be a sender"),
        ("{block: ['*@*']}", "senders.block[0]: '*@*' matches all mail"),
        ("{block: ['*@*.*']}", "senders.block[0]: '*@*.*' matches all mail"),
        ("{allow: ['Ann <ann@example.org>']}", "senders.allow[0]: 'Ann <ann@example.org>' cannot be a sender; write"),
        ("{allow: ['*a*b*c*d*e*@f.example']}", "'*a*b*c*d*e*@f.example' has more than 5 stars; write at most 5"),
        ("{allow: ['a@b@c.example']}", "senders.allow[0]: 'a@b@c.example' cannot be a sender"),
        ("{allow: ['']}", "senders.allow[0]: '' cannot be a sender"),
        ("{allow: ann@example.org}", "senders.allow: is the text 'ann@example.org'; write a list of senders"),
        ("{allow: [a.example], block: [A.example]}", "senders.block: 'a.example' is also in senders.allow; keep one"),
        ("{allows: [a.example]}", "senders.allows: is not a key; the keys are allow, block (did you mean allow?)"),
    ],
)
def test_faults(senders: str, fault: str) -> None:
    """A pattern that cannot be a sender, or would match all mail, is a fault that says what to write."""
    with pytest.raises(ConfigError) as raised:
        config(senders)
    assert fault in str(raised.value)


@over_rows(
    ("pattern", "decided"),
    [
        ("ann@example.org", None),
        ("bob@example.net", (Label.SPAM, "example.net")),
        ("example.net", (Label.SPAM, "example.net")),
        ("talk.example.net", (Label.SPAM, "example.net")),
        ("list:talk.example.net", (Label.SPAM, "example.net")),
        ("list:talk.example.org", (Label.HAM, "list:talk.example.org")),
        ("talk.example.org", None),
        ("ann@talk.example.org", None),
    ],
)
def test_what_is_decided_about_a_pattern(pattern: str, decided: tuple[Label, str] | None) -> None:
    """The mail that a pattern names is that of an address, of a domain or of a list, and of nothing else."""
    assert Senders(allow=("list:talk.example.org",), block=("example.net",)).named_by(pattern) == decided
    both = SendersInForce(chosen=Senders(allow=("list:talk.example.org",), block=("example.net",)))
    assert both.named_by(pattern) == decided


def test_written_and_read() -> None:
    """Lists may be empty; patterns are read without regard to case."""
    assert config("{allow: [], block: ['*@Example.ORG', Talk.example.org]}").senders == Senders(
        (), ("*@example.org", "talk.example.org")
    )
    assert config("{}").senders == Senders()


def test_a_list_decides_the_verdict_and_not_the_probability() -> None:
    """A listed sender gets the list's verdict, even without lessons; if both lists match, it is ham."""
    senders = Senders(allow=("ann@example.org",), block=("example.org",))
    lessons = MemoryLessons()
    for _ in range(2):
        alone, together = Filter(lessons, Scoring(), senders), FrozenFilter(lessons, Scoring(), senders)
        for sender, verdict in (("ann@example.org", "ham"), ("bob@example.org", "spam")):
            reading = Reading(b"1", "", {"x": 1}, Relations(sender))
            plain = Filter(lessons, Scoring(), Senders()).judge(reading)
            (bulk,) = together.judge_all([Content(reading.tokens, reading.relations)])
            for found in (alone.judge(reading), alone.explain(reading).judgement, bulk):
                assert found.verdict == verdict
                assert found.listed in ("ann@example.org", "example.org")
                assert found.probability == pytest.approx(plain.probability)
            assert plain.listed == ""
        for label in Label:
            lessons.learn([Reading(bytes([label]), "", {"x": 1 + label})], label, "a test", 1.0, how=How.HAND)
