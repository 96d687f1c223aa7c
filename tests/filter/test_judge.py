"""The filter: one message, or many at once."""

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spamnb.base.label import How, Label, Verdict
from spamnb.bayes import score_plain
from spamnb.bayes.calibration import SLOPE
from spamnb.config import Model, Scoring, Senders
from spamnb.filter.explain import sides
from spamnb.filter.judge import Filter, FrozenFilter
from spamnb.filter.met_tokens import ESTIMATES, Bound, MetTokens
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.port import Relabel
from spamnb.mail.reading import Content, Reading
from tests.profiles import daily

TOKENS = st.dictionaries(st.from_regex(r"([ab4]:)?[xyz]{0,2}", fullmatch=True), st.integers(1, 3), max_size=6)
LESSONS = st.lists(st.tuples(st.integers(0, 1), TOKENS), max_size=8)


def reading(tokens: dict[str, int]) -> Reading:
    """A message with these tokens."""
    return Reading(b"", "", tokens)


def taught(lessons: list[tuple[int, dict[str, int]]]) -> MemoryLessons:
    """A memory that learned these."""
    learned = MemoryLessons()
    for n, (label, tokens) in enumerate(lessons):
        learned.learn([Reading(bytes([n]), "", tokens)], Label(label), "", 0.0, how=How.HAND)
    return learned


@pytest.mark.parametrize("model", get_args(Model))
def test_every_event_model_that_may_be_configured_judges(model: Model) -> None:
    """Each event model that `scoring.model` may name judges a message, and the filter knows no other."""
    assert list(ESTIMATES) == list(get_args(Model))
    learned = taught([(0, {"x": 1}), (1, {"y": 1})])
    judge = Filter(learned, Scoring(model=model), Senders()).judge
    assert judge(reading({"x": 2})).log_odds < 0 < judge(reading({"y": 2})).log_odds


@settings(max_examples=daily(20))
@given(LESSONS, st.lists(st.lists(TOKENS, max_size=4), max_size=4), st.integers(0, 5))
def test_many_messages_are_judged_as_each_by_itself(
    lessons: list[tuple[int, dict[str, int]]], batches: list[list[dict[str, int]]], remembered: int
) -> None:
    """Judged in batches, however few tokens are kept in mind between them, a message gets the judgement of its own."""
    learned = taught(lessons)
    alone, together = Filter(learned, Scoring(), Senders()), FrozenFilter(learned, Scoring(), Senders())
    one_by_one = Filter(learned, Scoring(), Senders(), met=MetTokens(Bound(remembered)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together._met._bound, "most", remembered)
        patch.setattr(score_plain, "LEAST_GRAMS", 2)
        for batch in batches:
            readings = [reading(tokens) for tokens in batch]
            for one, other in zip(
                together.judge_all(list(map(Content, batch))), map(alone.judge, readings), strict=True
            ):
                assert one.verdict == other.verdict
                assert one.log_odds == pytest.approx(other.log_odds, abs=1e-12)
                assert one.probability == pytest.approx(other.probability, abs=1e-12)
            assert list(map(one_by_one.judge, readings)) == list(map(alone.judge, readings))


@settings(max_examples=daily(30))
@given(st.data())
def test_tokens_are_kept_until_the_lessons_change(data: st.DataObject) -> None:
    """Whatever is learned, corrected and forgotten in between, kept tokens give the judgements of a new filter."""
    learned, bound = taught([(0, {"x": 1}), (1, {"y": 1})]), Bound(data.draw(st.integers(0, 20)))
    met, others = MetTokens(bound), MetTokens(bound)
    for _ in range(data.draw(st.integers(1, 8))):
        act, number = data.draw(st.sampled_from(["learn", "correct", "forget", "judge"])), data.draw(st.integers(0, 3))
        if act == "learn":
            learned.learn([Reading(bytes([number]), "", data.draw(TOKENS))], Label.HAM, "", 0.0, how=How.HAND)
        elif act == "correct":
            learned.learn([Reading(bytes([number]), "", {})], Label.SPAM, "", 0.0, how=How.HAND)
        elif act == "forget":
            learned.forget([bytes([number])], "", 0.0, how=How.HAND)
        message = reading(data.draw(TOKENS))
        for kept in (met, others):
            judge = Filter(learned, Scoring(), Senders(), met=kept).judge
            assert judge(message) == Filter(learned, Scoring(), Senders()).judge(message)
    met.clear()
    others.clear()
    assert bound.kept == 0


def test_labels_that_are_swapped() -> None:
    """Two messages of one size that swap their labels leave all totals as they were, but not what tokens point to."""
    learned = taught([(0, {"x": 1}), (1, {"y": 1})])
    judge = Filter(learned, Scoring(), Senders(), met=MetTokens()).judge
    before = judge(reading({"x": 1})).log_odds
    for number, label in enumerate(Label):
        relabel = Relabel(bytes([number]), label, False, Label(1 - label), False, "", How.HAND)
        assert learned.relabel([relabel], 0.0) == [True]
    assert judge(reading({"x": 1})).log_odds == -before > 0


@pytest.mark.parametrize("label", [0, 1])
def test_a_filter_that_knows_one_class_is_unsure(label: int) -> None:
    """Without a learned message of both classes every message is unsure, one by one and together."""
    learned = taught([(label, {"x": 1})])
    message = reading({"x": 1})
    assert Filter(learned, Scoring(), Senders()).judge(message).verdict is Verdict.UNSURE
    both = FrozenFilter(learned, Scoring(), Senders()).judge_all([Content(message.tokens)] * 2)
    assert [found.verdict for found in both] == ["unsure"] * 2


@pytest.mark.parametrize(("grams", "means"), [(19, 1), (20, 2)])
def test_the_shares_are_of_the_whole_score(grams: int, means: int) -> None:
    """The clues' shares add up to the log-odds of the probability; too few grams have no share."""
    of_ham = dict.fromkeys(["x", "tag:x", *(f"4:{chr(97 + n)}ab " for n in range(grams))], 1)
    learned = taught([(0, of_ham), (1, {"y": 1, "subject:y": 1})])
    message = reading(of_ham | {"y": 1, "new": 1})
    explanation = Filter(learned, Scoring(), Senders()).explain(message)
    judgement = explanation.judgement
    assert judgement == Filter(learned, Scoring(), Senders()).judge(message)
    assert sum(clue.share for clue in explanation.clues) == pytest.approx(SLOPE * judgement.log_odds)
    assert [SLOPE * clue.contribution for clue in explanation.clues] == pytest.approx(
        [clue.share for clue in explanation.clues]
    )
    speaking = sum(clue.weight for clue in explanation.clues if clue.log_odds)
    assert explanation.silent == pytest.approx(1 - speaking)
    of_sides = [clue.clue.token for side in sides(explanation).values() for clue in side]
    assert any(token.startswith("4:") for token in of_sides) == (means == 2)
