"""A person's choices beside the configuration: refusals, effects, and undo."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.acts.choices import NoEffectError, choose, forget, standing
from spamnb.acts.undo import of_ids, undo
from spamnb.base.errors import LedgerError, UsageError
from spamnb.base.label import Verdict
from spamnb.config import Config, Scoring, parse
from spamnb.config.named_senders import SendersInForce, sender_pattern
from spamnb.filter.judge import Filter
from spamnb.ledger.history.choices import ChoiceKind
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations
from tests.lessons import NO_MAILBOX
from tests.patience import PATIENCE

HEAD = "mailboxes: [{path: /m, roles: {INBOX: inbox, Junk: spam}}]\nledger: /l\n"
CONFIG = parse(HEAD, "c.yaml", {})


def pick(ledger: Ledger, kind: ChoiceKind, *values: str, config: Config = CONFIG) -> list[int]:
    """Choose on a page."""
    return choose(ledger, config, kind, values, "page", 1.0)


def verdict(ledger: Ledger, sender: str, list_id: str = "", config: Config = CONFIG) -> Verdict:
    """The verdict on a message of that sender, which is unsure by itself."""
    in_force = ledger.choices.over(config)
    reading = Reading(b"1", "", {"x": 1}, Relations(sender, list_id))
    return Filter(ledger.lessons, in_force.scoring, in_force.senders).judge(reading).verdict


def chosen(ledger: Ledger, config: Config = CONFIG) -> list[tuple[str, str | float, str]]:
    """Return the choices, the newest first, each with the reason for having no effect."""
    return [(one.choice.kind, one.choice.value, one.without_effect) for one in standing(ledger, config)]


def test_a_sender_is_blocked_at_once_until_that_is_undone(ledger: Ledger) -> None:
    """A choice about a sender applies to the next message; its undo and redo apply at once too."""
    assert verdict(ledger, "a@shop.example") == "unsure"
    (action,) = pick(ledger, "block", "*@Shop.example ")
    assert verdict(ledger, "a@shop.example") == "spam"
    assert verdict(ledger, "a@other.example", "news.shop.example") == "unsure"
    for expected in ("unsure", "spam", "unsure"):
        (outcome,) = undo(ledger, NO_MAILBOX, of_ids(ledger, [action]), time.time)
        assert (outcome.fault, verdict(ledger, "a@shop.example")) == (None, expected)
        action = ledger.journal.newest_id()
    assert chosen(ledger) == []


def test_a_list_is_allowed(ledger: Ledger) -> None:
    """A List-Id names the list's mail, whoever wrote it, and lists below it."""
    pick(ledger, "allow", "lists.example")
    assert verdict(ledger, "spammer@other.example", "announce.lists.example") == "ham"
    assert verdict(ledger, "spammer@other.example", "notlists.example") == "unsure"


def test_the_last_choice_of_a_pattern_counts(ledger: Ledger) -> None:
    """The last choice about a pattern is in force; after its undo, the one before it."""
    pick(ledger, "allow", "shop.example")
    (second,) = pick(ledger, "block", "shop.example")
    assert (verdict(ledger, "a@shop.example"), chosen(ledger)) == ("spam", [("block", "shop.example", "")])
    list(undo(ledger, NO_MAILBOX, of_ids(ledger, [second]), time.time))
    assert verdict(ledger, "a@shop.example") == "ham"


def test_a_cutoff(ledger: Ledger) -> None:
    """A cutoff that is chosen is in force at once; chosen again it makes no second choice."""
    assert len(pick(ledger, "spam_cutoff", "0.97")) == 1
    assert ledger.choices.over(CONFIG).scoring == Scoring(spam_cutoff=0.97)
    assert pick(ledger, "spam_cutoff", "0.970") == []
    pick(ledger, "spam_cutoff", "0.9")
    assert len(pick(ledger, "spam_cutoff", "0.97")) == 1
    assert chosen(ledger) == [("spam_cutoff", 0.97, "")]


def test_several_at_once_or_none(ledger: Ledger) -> None:
    """Several senders are chosen together; if one of them is impossible, none is chosen."""
    assert len(pick(ledger, "block", "a@x.example", "A@x.example", "b.example")) == 2
    with pytest.raises(UsageError):
        pick(ledger, "block", "c.example", "nobody")
    pick(ledger, "allow", "d.example")
    with pytest.raises(NoEffectError):
        pick(ledger, "block", "c.example", "x@d.example")
    assert {value for _, value, _ in chosen(ledger)} == {"a@x.example", "b.example", "d.example"}


@pytest.mark.parametrize(
    ("more", "kind", "value", "why"),
    [
        ("scoring: {spam_cutoff: 0.95}", "spam_cutoff", "0.9", "the configuration names spam_cutoff"),
        ("scoring: {ham_cutoff: 0.5}", "spam_cutoff", "0.4", "ham_cutoff (0.5) must be below spam_cutoff (0.4)"),
        ("senders: {allow: ['*@x.example']}", "block", "a@x.example", "senders.allow has *@x.example"),
        ("senders: {allow: [x.example]}", "block", "*@x.example", "senders.allow has x.example"),
        ("senders: {block: [x.example]}", "allow", "list.x.example", "senders.block has x.example"),
        ("senders: {block: [x.example]}", "block", "x.example", "senders.block has x.example"),
    ],
)
def test_the_configuration_stands_above(ledger: Ledger, more: str, kind: ChoiceKind, value: str, why: str) -> None:
    """A choice against the configuration is refused, and the refusal names the key."""
    written = parse(f"{HEAD}{more}\n", "c.yaml", {})
    with pytest.raises(NoEffectError) as raised:
        pick(ledger, kind, value, config=written)
    assert why in str(raised.value)
    assert ledger.journal.newest_id() == 0
    pick(ledger, kind, value)  # before it was written there
    assert [(one[:2], why in one[2]) for one in chosen(ledger, written)] == [
        ((kind, float(value) if kind == "spam_cutoff" else value), True)
    ]
    in_force = ledger.choices.over(written)
    assert in_force.scoring == written.scoring
    assert in_force.senders.named("a@list.x.example", "") == written.senders.named("a@list.x.example", "")


def test_what_is_allowed_stands_above(ledger: Ledger) -> None:
    """A sender of an allowed domain is not blocked while that is allowed; one of a blocked domain can be allowed."""
    pick(ledger, "allow", "x.example")
    with pytest.raises(NoEffectError, match=r"you allow x\.example"):
        pick(ledger, "block", "a@x.example")
    pick(ledger, "block", "y.example")
    pick(ledger, "allow", "a@y.example")
    assert [verdict(ledger, sender) for sender in ("a@y.example", "b@y.example")] == ["ham", "spam"]


def test_forget(ledger: Ledger) -> None:
    """To forget takes back all that was chosen of a pattern or a cutoff, and can be undone."""
    pick(ledger, "allow", "x.example")
    pick(ledger, "block", "x.example")
    pick(ledger, "spam_cutoff", "0.9")
    pick(ledger, "spam_cutoff", "0.99")
    actions = forget(ledger, CONFIG, " X.example", time.time)
    assert (len(actions), verdict(ledger, "a@x.example")) == (2, "unsure")
    forget(ledger, CONFIG, "spam_cutoff", time.time)
    assert chosen(ledger) == []
    for nothing in ("x.example", "spam_cutoff", "\x1b"):
        with pytest.raises(NoEffectError):
            forget(ledger, CONFIG, nothing, time.time)
    list(undo(ledger, NO_MAILBOX, of_ids(ledger, actions), time.time))
    assert verdict(ledger, "a@x.example") == "spam"
    forget(ledger, CONFIG, "x.example", time.time)
    assert chosen(ledger) == []
    assert ledger.verify() == []


@pytest.mark.parametrize(
    "written",
    [
        *("*", "*@*", "@x.example", "x", "", " ", "a b@x.example", "x..example", "a@b@c.example", "a\n@x.example"),
        *("*a*b*c*d*e*f@x.example", "*" * 6 + "x.example"),
        *("\x1b.example", "\u202ex.example", "\udce9.example", "a" * 300 + ".example", "'; DROP TABLE choice; --"),
    ],
)
def test_hostile_patterns(ledger: Ledger, written: str) -> None:
    """A text that is not a sender is refused in printable words, as in the configuration, and nothing is kept."""
    with pytest.raises(UsageError) as raised:
        pick(ledger, "block", written)
    assert str(raised.value).isprintable()
    assert ledger.journal.newest_id() == 0


@given(st.text(st.characters(), max_size=40))
def test_any_text(text: str) -> None:
    """Any text is a pattern that is printable and is read as itself, or is refused."""
    try:
        pattern = sender_pattern(text)
    except ValueError as fault:
        assert fault.args[0]
        return
    assert pattern.isprintable()
    assert sender_pattern(pattern) == pattern


def test_a_pattern_of_before_with_more_stars(ledger: Ledger) -> None:
    """A pattern with more stars than one may write today still has its effect in a ledger, and can be taken back."""
    pattern = "*a" * 100 + "@x.example"
    ledger.choices.record("block", pattern, "prompt", "said at the prompt", 1.0)
    assert verdict(ledger, "b" + "a" * 200 + "@x.example") == "spam"
    assert verdict(ledger, "a" * 99 + "@x.example") == "unsure"
    assert chosen(ledger) == [("block", pattern, "")]
    forget(ledger, CONFIG, pattern, time.time)
    assert chosen(ledger) == []


def test_no_number_of_patterns_takes_long(ledger: Ledger) -> None:
    """More senders than a thousand are refused, and have no effect if they come back by an undo: the newest count."""
    patterns = [f"*{number}@x.example" for number in range(1000)]
    first = pick(ledger, "block", *patterns)
    with pytest.raises(NoEffectError, match="1,000 senders: take some"):
        pick(ledger, "allow", "a@b.example")
    assert pick(ledger, "allow", patterns[0]) and pick(ledger, "ham_cutoff", "0.2")
    list(undo(ledger, NO_MAILBOX, of_ids(ledger, first), lambda: 2.0))
    pick(ledger, "block", *(f"*{number}@y.example" for number in range(999)))
    list(undo(ledger, NO_MAILBOX, of_ids(ledger, range(first[0] + 1002, first[0] + 2002)), lambda: 3.0))
    assert len(ledger.choices.newest()) == 2000
    in_force = ledger.choices.over(CONFIG)
    assert isinstance(in_force.senders, SendersInForce)
    assert len(in_force.senders.chosen.allow + in_force.senders.chosen.block) == 1000
    assert in_force.scoring.ham_cutoff == 0.2


_BLOCKING = """
import sys
from spamnb.acts.choices import choose
from spamnb.config import Config
from spamnb.ledger.ledger import Ledger
with Ledger(sys.argv[1]) as ledger:
    for number in range(10):
        senders = [f"{number}.{sys.argv[2]}.example", "shared.example"]
        choose(ledger, Config((), ledger.path), "block", senders, "prompt", 1.0)
"""


def test_two_processes(ledger: Ledger) -> None:
    """If two processes choose at once, each choice is kept, a common one once, and a third process sees all."""
    assert ledger.choices.over(CONFIG).senders.named("a@0.first.example", "") is None
    command = [sys.executable, "-c", _BLOCKING, ledger.path]
    processes = [subprocess.Popen([*command, name]) for name in ("first", "second")]
    assert [process.wait(PATIENCE) for process in processes] == [0, 0]
    values = [value for _, value, _ in chosen(ledger)]
    assert len(values) == len(set(values)) == 21
    assert len(ledger.choices.standing()) == 21
    assert verdict(ledger, "a@0.first.example") == verdict(ledger, "a@9.second.example") == "spam"


def test_the_same_object_while_nothing_changes(ledger: Ledger, tmp_path: Path) -> None:
    """While nothing is chosen, the configuration in force is the same object, by one question of the ledger."""
    pick(ledger, "block", "x.example")
    first = ledger.choices.over(CONFIG)
    asked: list[str] = []
    ledger._connection._sqlite.set_trace_callback(asked.append)
    assert ledger.choices.over(CONFIG) is first
    ledger._connection._sqlite.set_trace_callback(None)
    assert len(asked) == 1
    with Ledger(str(tmp_path / "ledger.sqlite")) as other:
        pick(other, "block", "y.example")
    assert ledger.choices.over(CONFIG) is not first


def test_a_ledger_that_is_only_read(ledger: Ledger) -> None:
    """Choices are read from a ledger that is only read, and not made there."""
    pick(ledger, "block", "x.example")
    with Ledger(ledger.path, only_read=True) as reader:
        assert chosen(reader) == [("block", "x.example", "")]
        with pytest.raises(LedgerError):
            pick(reader, "block", "y.example")
