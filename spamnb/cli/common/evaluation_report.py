"""The output of `evaluate`: the figures of one run, the figures of several orders, and the advice on the cutoff."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from spamnb.base.wording import plural
from spamnb.cli.common import output_files
from spamnb.cli.common.output import table

if TYPE_CHECKING:
    from spamnb.evaluation.cutoffs import Advice
    from spamnb.evaluation.measures import Measure, Outcome
    from spamnb.evaluation.runs import Average, Figure

_NAMES = {
    "hm": "ham called spam",
    "sm": "spam not caught",
    "unsure": "unsure",
    "lam": "logistic mean of both",
    "one_minus_roca": "1 − area under the ROC curve",
    "sm_at_hm": "spam not caught at the cutoff that 0.1 % of the ham is above",
    "brier": "Brier score × 100",
    "calibration": "calibration error",
}
_COUNTS = {
    "messages": "messages",
    "ham": "messages that are ham",
    "spam": "messages that are spam",
    "ham_lost": "ham called spam, messages",
    "unscored": "judged before it had learned both ham and spam",
    "contradicting": "judged the opposite of their label",
    "one_minus_roca_of_all": "1 − area under the ROC curve, with the unscored messages",
}
_OF_USER = {
    "messages": "messages that came, after the first lessons",
    "ham_lost": "ham moved to Junk",
    "hm": "ham moved to Junk, in percent",
    "caught": "spam moved to Junk, in percent",
    "caught_second_half": "spam moved to Junk in the second half, in percent",
    "one_minus_roca": "1 − area under the ROC curve, in percent",
    "one_minus_roca_second_half": "1 − area under the ROC curve, in the second half",
    "learned_ham": "learned ham at the end",
    "learned_spam": "learned spam at the end",
    "switched_on_at": "messages before the first move",
    "breaker_tripped": "how often an abnormal share of spam stopped the moving",
    "inbox_unsure_ham": "unsure ham in the inbox",
    "inbox_spam": "spam in the inbox",
    "newcomers_ham": "ham in the folder for newcomers",
    "newcomers_spam": "spam in the folder for newcomers",
    "newcomers_ham_a_week": "ham in the folder for newcomers per week, from the second month on",
    "newcomers_spam_a_week": "spam in the folder for newcomers per week, from the second month on",
    "newsletters_ham": "ham in the folder for newsletters",
    "newsletters_spam": "spam in the folder for newsletters",
    "newsletters_ham_a_week": "ham in the folder for newsletters per week, from the second month on",
    "newsletters_spam_a_week": "spam in the folder for newsletters per week, from the second month on",
}
_NAMED = 5  # messages at most that contradict their label


def rounded(figures: Mapping[str, Figure]) -> dict[str, object]:
    """Return the figures as printed: six decimals are enough for a percentage."""
    return {name: round(one, 6) if isinstance(one, float) else one for name, one in figures.items()}


def one_run(figures: Mapping[str, Figure], measures: Mapping[str, Measure]) -> str:
    """Return the measures of one run, with their intervals."""
    n_spam = int(figures["spam"] or 0)
    caught = n_spam - round(n_spam * measures["sm"].value / 100)
    counts = (
        f"{figures['messages']} messages judged: {figures['ham_lost']} of {figures['ham']} ham called spam,"
        f" {caught} of {n_spam} spam caught\n"
    )
    if figures["unscored"]:
        counts += (
            "{unscored} of them came before the filter had learned both ham and spam, and have no rank: with them"
            " one_minus_roca is {one_minus_roca_of_all:.4f}\n"
        ).format_map(figures)
    rows = [("measure", "percent", "95 % interval", "")]
    for name, meaning in _NAMES.items():
        one = measures[name]
        rows.append((name, f"{one.value:.4f}", f"{one.low:.4f} to {one.high:.4f}", meaning))
    return f"{counts}\n{table(rows)}"


def one_user(figures: Mapping[str, Figure]) -> str:
    """Return the figures of one run of a simulated user."""
    rows = [(name, _shown(figures[name]), meaning) for name, meaning in _OF_USER.items() if name in figures]
    return table([("figure", "", ""), *rows])


def several_runs(averaged: Average) -> str:
    """Return the figures of several orders: mean, least and greatest."""
    rows = [("figure", "mean", "least", "greatest", "")]
    meanings = _OF_USER if "habit" in averaged.mean else _COUNTS | _NAMES
    for name, meaning in meanings.items():
        if name in averaged.mean:
            least, greatest = averaged.spread.get(name, (None, None))
            rows.append((name, _shown(averaged.mean[name]), _shown(least), _shown(greatest), meaning))
    return table(rows)


def _shown(figure: Figure) -> str:
    if figure is None:
        return "-"
    return f"{figure:.4f}" if isinstance(figure, float) else str(figure)


def opposites(outcomes: Sequence[Outcome], *, own: bool) -> str:
    """Return how many messages are judged the opposite of their label, and the clearest of them; "" for none.

    own: they are the user's own mail, so `audit` can show more.
    """
    if not outcomes:
        return ""
    are, their = ("is", "its") if len(outcomes) == 1 else ("are", "their")
    hint = "`spamnb audit` shows messages that you have taught wrongly.\n\n" if own else ""
    heading = f"{plural(len(outcomes), 'message')} {are} judged the opposite of {their} label:"
    return f"{heading}\n\n{_listed(outcomes)}\n\n{hint}"


def advice(given: Advice, one_in: int, configured: float, n_ham: Figure, *, own: bool) -> str:
    """Return the advised cutoff in words, or the reason against any advice. own: it is for the user's own mail."""
    if given.cutoff is None:
        return (
            f"This mail contradicts itself, so no cutoff is proposed: to spare all but one ham in {one_in}, the filter"
            f" would give up {given.given_up:.0f} % of the spam that it catches now. Look at these first: they are"
            f" filed as ham and look like spam. To check your own mail: spamnb audit\n\n{_listed(given.look_at)}"
        )
    doubt = "" if given.enough else f" {n_ham} ham are too few to be sure of that."
    if given.cutoff == configured:
        return f"At {configured}, at most one ham in {one_in} is called spam here: keep this cutoff.{doubt}"
    look_at = f"\n\nThese decide it. Are they ham?\n\n{_listed(given.look_at)}" if given.look_at else ""
    choose = f"run `spamnb choose spam_cutoff {given.cutoff}`, or " if own else ""
    return (
        f"If at most one ham in {one_in} may be called spam, {choose}"
        "write the lines below into the configuration. On other mail of yours"
        f" such a cutoff catches {given.caught:.1f} % of the spam, and {given.ham_lost} of {n_ham} ham are called spam;"
        f" {configured} catches {given.caught_now:.1f} %, and {given.ham_lost_now} ham are called spam.{doubt}{look_at}"
        f"\n\nscoring:\n  spam_cutoff: {given.cutoff}"
    )


def _listed(outcomes: Sequence[Outcome]) -> str:
    rows = [("probability", "filed as", "message")]
    rows += [(f"{one.probability:.6f}", one.label.word, one.summary) for one in outcomes[:_NAMED]]
    more = len(outcomes) - _NAMED
    return table(rows) + (f"\nand {more} more" if more > 0 else "")


def advice_as_object(given: Advice) -> dict[str, object]:
    """Return the advice as part of a JSON object; `spam_cutoff` is null if the mail contradicts itself."""
    return {
        "spam_cutoff": given.cutoff,
        "spam_caught": round(given.caught, 4),
        "spam_caught_now": round(given.caught_now, 4),
        "look_at": [
            {"path": one.name, "probability": one.probability, "message": one.summary} for one in given.look_at
        ],
    }


def write_scores(path: str, outcomes: Iterable[Outcome]) -> None:
    """Write a line per message, in the format of the TREC spam track."""
    with output_files.opened(path) as file:
        for one in outcomes:
            line = f"{one.name} judge={one.label.word} class={one.verdict} score={one.score:.9g}\n"
            file.write(line.encode("utf-8", "surrogateescape"))
