"""The person's own lists of senders: how they are written, and what they match."""

import pytest

from spamnb.base.errors import ConfigError
from spamnb.base.label import How, Label
from spamnb.config import Config, Scoring, Senders, parse
from spamnb.filter.judge import Filter, FrozenFilter
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Content, Reading
from spamnb.mail.relations import Relations

HEAD = "mailboxes: [{path: /m, roles: {INBOX: inbox, Junk: spam}}]\n"


def config(senders: str) -> Config:
    """A configuration with these senders."""
    return parse(f"{HEAD}senders: {senders}\n", "c.yaml", {"HOME": "/home/anna"})


@pytest.mark.parametrize(
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
    ],
)
def test_what_a_pattern_names(pattern: str, sender: str, list_id: str, named: bool) -> None:
    """An address is named whole; a domain or List-Id with those below it."""
    found = Senders(spam=(pattern,)).named(sender, list_id)
    assert found == ((Label.SPAM, pattern) if named else None)


@pytest.mark.parametrize(
    ("senders", "fault"),
    [
        ("{ham: ['@example.org']}", "senders.ham[0]: '@example.org' has nothing before '@'; write '*@example.org'"),
        ("{ham: [ann]}", "senders.ham[0]: 'ann' has neither '@' nor a dot; write an address (*@example.org)"),
        ("{ham: ['*']}", "senders.ham[0]: '*' would be all mail; write an address"),
        ("{spam: ['*@*']}", "senders.spam[0]: '*@*' would be all mail"),
        ("{spam: ['*@*.*']}", "senders.spam[0]: '*@*.*' would be all mail"),
        ("{ham: ['Ann <ann@example.org>']}", "senders.ham[0]: 'Ann <ann@example.org>' cannot be a sender; write"),
        ("{ham: ['a@b@c.example']}", "senders.ham[0]: 'a@b@c.example' cannot be a sender"),
        ("{ham: ['']}", "senders.ham[0]: '' cannot be a sender"),
        ("{ham: ann@example.org}", "senders.ham: is the text 'ann@example.org'; write a list of senders"),
        ("{ham: [a.example], spam: [A.example]}", "senders.spam: 'a.example' is also in senders.ham; keep one"),
        ("{hams: [a.example]}", "senders.hams: is not a key; the keys are ham, spam (did you mean ham?)"),
    ],
)
def test_faults(senders: str, fault: str) -> None:
    """What cannot be a sender, or would be all mail, is a fault that says what to write."""
    with pytest.raises(ConfigError) as raised:
        config(senders)
    assert fault in str(raised.value)


def test_written_and_read() -> None:
    """Lists may be empty; patterns are read without regard to case."""
    assert config("{ham: [], spam: ['*@Example.ORG', Talk.example.org]}").senders == Senders(
        (), ("*@example.org", "talk.example.org")
    )
    assert config("{}").senders == Senders()


def test_a_list_decides_the_verdict_and_not_the_probability() -> None:
    """Who is listed has the verdict of the list, also where nothing is learned; where both lists match, it is ham."""
    senders = Senders(ham=("ann@example.org",), spam=("example.org",))
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
