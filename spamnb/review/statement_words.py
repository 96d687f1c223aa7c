"""A statement in sentences, for the prompt and for the letter."""

from spamnb.base.wording import plural
from spamnb.review.at_most import CONFIDENCE
from spamnb.review.statement import Shown, Statement

_NUMBERS = ("", "one", "two", "three", "four", "five")


def title(found: Statement) -> str:
    """Return how much was moved, and when."""
    return f"{plural(found.moved, 'message')} moved to Junk in {found.period.words}"


def question(found: Statement) -> str:
    """Return what to do about the shown messages; call it only if there are any."""
    number = len(found.shown)
    which = "this message. If it" if number == 1 else f"these {_NUMBERS[number]}. If one"
    return f"Look at {which} is yours, move it out of Junk."


def why_shown(one: Shown) -> str:
    """Return why a message is shown."""
    if one.is_drawn:
        return "drawn at random"
    if not one.of:
        return "least like your other spam"
    return f"{one.ham or 'none'} of {one.of} of your letters look{'s' if one.ham <= 1 else ''} so"


def results(found: Statement) -> list[str]:
    """Return how much of the spam was caught, and how many of the moved messages were ham at most."""
    lines = []
    if found.spam:
        lines.append(f"Caught {found.caught} of {found.spam} spam. {found.back} came back because you want them.")
    if found.drawn:
        lines.append(_bound(found))
    return lines


def _bound(found: Statement) -> str:
    """Return how many messages were ham at most, with the number that this is by."""
    drawn = f"Drawn at random so far: {found.drawn}."
    if found.at_most is None:
        return f"{drawn} You have answered none of them, so nobody knows how many messages in Junk are yours."
    ham = sum(one.is_ham for one in found.answered)
    yours = f"{ham or 'none'} of these {'were' if ham > 1 else 'was'} yours"
    most = f"at most {found.at_most} of the {plural(found.behind, 'message')} that they stand for were yours"
    return f"{drawn} You have answered {len(found.answered)}, and {yours}. So {most} ({100 * CONFIDENCE:.0f} %)."
