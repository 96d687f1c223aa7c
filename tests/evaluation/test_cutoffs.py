"""At which spam cutoff at most one ham in so many is called spam."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.label import Label, Verdict
from spamnb.evaluation.cutoffs import Advice, advise, cutoff_for
from spamnb.evaluation.measures import Outcome


def outcomes(ham: list[float], spam: list[float], configured: float) -> list[Outcome]:
    """Outcomes with these probabilities, named after their class and place."""
    return [
        Outcome(f"{label.word}{n}", label, Verdict.SPAM if p >= configured else Verdict.UNSURE, p, p)
        for label, found in zip(Label, (ham, spam), strict=True)
        for n, p in enumerate(found)
    ]


def advised(ham: list[float], spam: list[float], one_in: int, configured: float = 0.95) -> Advice:
    """The advice on mail with these probabilities."""
    return advise(outcomes(ham, spam, configured), one_in, configured, 0.1)


def spread(low: float, high: float, n: int) -> list[float]:
    """So many probabilities, evenly from one to the other."""
    found: list[float] = np.linspace(low, high, n).tolist()
    return found


def test_cutoff_is_expected_to_lose_no_more_than_allowed() -> None:
    """Above the k-th highest of n ham, a share of k / (n + 1) of other ham is expected; the cutoff is just above it."""
    ham = sorted([0.97, *(i / 1000 for i in range(900))], reverse=True)
    spam = [0.5, 0.96, 0.98, 0.99]
    assert 0.97 < cutoff_for(ham, spam, 100_000) <= 0.98, "too few to tell: above all ham"
    assert 0.97 < cutoff_for(ham, spam, 902) <= 0.98, "one in 902 is expected above the highest of 901"
    assert 0.899 < cutoff_for(ham, spam, 451) <= 0.96, "and two above the second"


@given(st.lists(st.floats(0.9, 0.99999999), min_size=1, max_size=9), st.lists(st.floats(0.9, 0.99999999), max_size=9))
def test_cutoff_as_it_is_written(ham: list[float], spam: list[float]) -> None:
    """The cutoff has few decimals, however near the ham: as written, it loses none."""
    cutoff = cutoff_for(sorted(ham, reverse=True), sorted([*spam, 0.99999999]), 10)
    assert max(ham) < float(str(cutoff)) <= 1
    assert str(cutoff_for([0.91], [0.99], 10)) == "0.95"


def test_a_cutoff_that_loses_too_much_is_raised() -> None:
    """If the configured cutoff calls more ham spam, a higher one is advised, with the ham that decides."""
    spam = [*spread(0.94, 0.99, 40), *spread(0.999, 1.0, 360)]
    found = advised([*spread(0, 0.5, 396), 0.96, 0.965, 0.97, 0.975], spam, 200)
    assert found.cutoff is not None
    assert 0.965 < found.cutoff < 0.99
    assert found.ham_lost < found.ham_lost_now == 4
    assert [outcome.probability for outcome in found.look_at] == [0.975, 0.97, 0.965, 0.96]


def test_no_cutoff_spares_doubted_ham() -> None:
    """While ham is probably misfiled spam, no cutoff above the default is advised; a lower configured one is raised."""
    spam = [*spread(0.94, 0.99, 40), *spread(0.999, 1.0, 360)]
    judged = outcomes([*spread(0, 0.5, 396), 0.96, 0.965, 0.97, 0.975], spam, 0.95)
    assert advise(judged, 200, 0.95, 0.1, is_doubted=True).cutoff is None
    judged = outcomes([*spread(0, 0.5, 396), 0.66, 0.665, 0.67, 0.675], spam, 0.6)
    assert advise(judged, 200, 0.6, 0.1, is_doubted=True).cutoff is not None


def test_a_cutoff_is_lowered_where_the_ham_allows_it() -> None:
    """A lower cutoff is advised if it calls no more ham spam, catches more, and there is enough ham."""
    ham, spam = spread(0, 0.7, 1000), [*spread(0.8, 0.94, 20), *spread(0.96, 1.0, 200)]
    found = advised(ham, spam, 200)
    assert found.cutoff is not None
    assert 0.69 < found.cutoff < 0.81
    assert found.caught > found.caught_now
    assert found.ham_lost <= 1000 / 200
    assert advised(ham, spam, 2000).cutoff == 0.95, "1000 ham cannot show that one in 2000 is lost"
    assert advised(ham, spread(0.96, 1.0, 200), 200).cutoff == 0.95, "nothing would be gained"
    assert advise(outcomes(ham, spam, 0.95), 200, 0.95, ham_cutoff=0.9).cutoff == 0.95, "below it mail is ham"


def test_what_is_more_probably_ham_is_never_called_spam() -> None:
    """No cutoff below one half is advised, however low the ham is."""
    found = advised(spread(0, 0.01, 1000), [*spread(0.02, 0.94, 20), *spread(0.96, 1.0, 200)], 200)
    assert found.cutoff == 0.5


def test_what_a_cutoff_catches_is_told_of_other_mail() -> None:
    """Ham and spam are counted with each message judged at the cutoff of all others."""
    choose = np.random.default_rng(3)
    told, truly = [], []
    for _ in range(20):
        ham, spam = choose.beta(1, 9, 200).tolist(), choose.beta(6, 1, 200).tolist()
        found = advise(outcomes(ham, spam, 0.95), 50, 0.95, 0.1)
        assert found.cutoff is not None
        told.append(found.ham_lost / 200)
        truly.append(float(np.mean(choose.beta(1, 9, 20_000) >= found.cutoff)))
    assert abs(np.mean(told) - np.mean(truly)) < 0.005
    assert np.mean(truly) < 0.02


@given(
    st.lists(st.sampled_from(np.linspace(0.5, 1.0, 26).tolist()), min_size=1, max_size=12),
    st.lists(st.sampled_from(np.linspace(0.5, 1.0, 26).tolist()), min_size=1, max_size=12),
    st.integers(2, 8),
)
def test_each_message_is_judged_at_the_cutoff_of_all_others(ham: list[float], spam: list[float], one_in: int) -> None:
    """The figures equal those of choosing the cutoff again without each message."""
    ham, spam = sorted(ham, reverse=True), sorted(spam)
    found = advised(ham, spam, one_in, configured=0.6)
    if found.ham_lost_now * one_in <= len(ham):
        return
    lost = sum(
        chance >= (max(0.6, cutoff_for(others, spam, one_in)) if others else 1.0)
        for chance, others in ((chance, ham[:place] + ham[place + 1 :]) for place, chance in enumerate(ham))
    )
    caught = sum(
        chance >= max(0.6, cutoff_for(ham, spam[:place] + spam[place + 1 :], one_in))
        for place, chance in enumerate(spam)
    )
    assert (found.ham_lost, found.caught) == (lost, 100 * caught / len(spam))


def test_mail_that_contradicts_itself_gets_no_advice() -> None:
    """If sparing enough ham would give up much spam, the ham that looks like spam is named instead.

    It may be spam that is filed wrongly.
    """
    misfiled = [0.9999, 0.9992, 0.985, 0.97, 0.96]
    found = advised([*spread(0, 0.6, 995), *misfiled], spread(0.9, 0.99999, 300), 1000)
    assert found.cutoff is None
    assert [outcome.probability for outcome in found.look_at] == misfiled
    assert {outcome.label for outcome in found.look_at} == {Label.HAM}
    assert found.given_up > 90
    assert advised([*spread(0, 0.6, 995), *misfiled], spread(0.9, 0.99999, 300), 150).cutoff is not None
