"""The configuration with a person's choices: the configuration has priority."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.label import Label
from spamnb.config import Config, Scoring, Senders, parse
from spamnb.config.chosen import CUTOFFS, Chosen, contradiction, cutoff_of, with_choices

HEAD = "mailboxes: [{path: /m, roles: {INBOX: inbox, Junk: spam}}]\nledger: /l\n"
HAM, SPAM = Label
numbers = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.5, 0.9, 0.95, 1.0])


def config(more: str = "") -> Config:
    """A configuration with these keys."""
    return parse(f"{HEAD}{more}\n", "c.yaml", {})


@pytest.mark.parametrize(
    ("more", "written"),
    [
        ("", set()),
        ("scoring:\n  # spam_cutoff: 0.9\n", set()),
        ("scoring: {spam_cutoff: 0.95}", {"scoring.spam_cutoff"}),
        (
            "scoring: {alpha: 1, ham_cutoff: 0.2}\nsenders: {allow: []}",
            {"scoring.alpha", "scoring.ham_cutoff", "senders.allow"},
        ),
    ],
)
def test_what_the_file_names(more: str, written: set[str]) -> None:
    """A configuration knows the keys that its file names, even with the default as the value."""
    assert config(more).written == written


def test_a_written_cutoff_stands_above() -> None:
    """A cutoff in the file counts, even if it equals the default; other cutoffs are as chosen."""
    chosen = Chosen(cutoffs={"spam_cutoff": 0.9, "ham_cutoff": 0.2})
    assert with_choices(config(), chosen).scoring == Scoring(spam_cutoff=0.9, ham_cutoff=0.2)
    assert with_choices(config("scoring: {spam_cutoff: 0.95}"), chosen).scoring == Scoring(ham_cutoff=0.2)
    assert with_choices(config("scoring: {alpha: 1}"), chosen).scoring == Scoring(
        alpha=1, spam_cutoff=0.9, ham_cutoff=0.2
    )


def test_what_contradicts_itself_does_not_count() -> None:
    """Of two contradicting chosen cutoffs the last counts; one that contradicts the file does not."""
    assert with_choices(config(), Chosen(cutoffs={"spam_cutoff": 0.4, "ham_cutoff": 0.5})).scoring.ham_cutoff == 0.5
    assert with_choices(config(), Chosen(cutoffs={"ham_cutoff": 0.97, "spam_cutoff": 0.3})).scoring == Scoring(
        spam_cutoff=0.3
    )
    written = config("scoring: {ham_cutoff: 0.6}")
    assert with_choices(written, Chosen(cutoffs={"spam_cutoff": 0.5})).scoring == written.scoring


@given(st.permutations(CUTOFFS), st.lists(numbers, max_size=2), st.sets(st.sampled_from(CUTOFFS)))
def test_always_a_configuration(keys: list[str], values: list[float], written: set[str]) -> None:
    """With any choices, the result is a valid configuration, and applying them twice changes nothing."""
    more = "\n".join(f"  {key}: {getattr(Scoring(), key)}" for key in written)
    before, chosen = config(f"scoring:\n{more}"), Chosen(cutoffs=dict(zip(keys, values, strict=False)))
    once = with_choices(before, chosen)
    assert contradiction(once.scoring) == ""
    assert with_choices(once, chosen) == once
    assert all(getattr(once.scoring, key) == getattr(before.scoring, key) for key in written)


@pytest.mark.parametrize(
    ("sender", "decided"),
    [
        ("a@named.example", (SPAM, "named.example")),  # though it is allowed
        ("b@kept.example", (HAM, "kept.example")),  # though it is blocked
        ("c@both.example", (HAM, "*@both.example")),  # allowed stands above blocked
        ("d@blocked.example", (SPAM, "d@blocked.example")),
        ("e@blocked.example", None),
    ],
)
def test_senders(sender: str, decided: tuple[Label, str] | None) -> None:
    """The file's senders have priority over chosen ones, and allowed ones over blocked ones."""
    written = config("senders: {allow: [kept.example], block: [named.example]}")
    chosen = Senders(("*@both.example", "a@named.example"), ("both.example", "d@blocked.example", "b@kept.example"))
    senders = with_choices(written, Chosen(chosen)).senders
    assert senders.named((sender,), "") == decided
    assert pickle.loads(pickle.dumps(senders)).named((sender,), "") == decided
    if decided is not None:
        assert senders.is_chosen(decided[1]) is ("named" not in sender and "kept" not in sender)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("2", "'2' is not allowed; write a number from 0 to 1"),
        ("nan", "'nan' is not allowed"),
        ("", "'' is not allowed"),
        ("0.9\x1b[2J", r"'0.9\x1b[2J' is not allowed"),
        ("9" * 400, "is not allowed"),
    ],
)
def test_no_cutoff(written: str, fault: str) -> None:
    """A cutoff is checked as in a configuration, in the same words."""
    assert cutoff_of("spam_cutoff", "0.97") == 0.97
    with pytest.raises(ValueError, match="not allowed") as raised:
        cutoff_of("spam_cutoff", written)
    assert fault in str(raised.value)
