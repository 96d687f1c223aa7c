"""Find out whether a person has ordered a message to spam, and whether the filter has moved it for that reason.

An order is a block, or the person has moved the same message or a near-copy of it there. Only a filter that has not
begun to move mail asks for near-copies: afterwards its own verdict decides.
"""

from collections.abc import Mapping, Set

from spamnb.acts.may_move import has_begun
from spamnb.acts.newcomers import why_known
from spamnb.acts.not_yet import moved_nothing_until
from spamnb.base.label import Label, Role, Verdict
from spamnb.config import Config
from spamnb.ledger.history.actions import Action
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading
from spamnb.mail.tokens.kinds import kind
from spamnb.rules.destination import NEAR_COPY, is_near_copy, shared_by_near_copies

# Newest lessons that are compared. Each takes 0.05 ms, and ham is asked only about what is near spam.
_MOST = {Label.SPAM: 50, Label.HAM: 200}


def is_near_order(ledger: Ledger, config: Config, reading: Reading, verdict: Verdict) -> bool:
    """Tell whether a message is a near-copy of one that a person called spam.

    It is not if ham is as near, or if the person knows its sender, or by a verdict of ham: the spam was learned, so
    much must speak for ham. Mail of lists is never one, since a message may come over a list and without it.

    config: with the person's choices. verdict: the filter's own.
    """
    if verdict is Verdict.HAM or reading.relations.list_id:  # most mail: what follows takes as long as the verdict
        return False
    words = _words(reading.tokens)
    is_near = _is_near(ledger, words, Label.SPAM)
    return is_near and not _is_near(ledger, words, Label.HAM) and not why_known(ledger, config, reading.relations)


def _is_near(ledger: Ledger, words: Set[str], label: Label) -> bool:
    """Tell whether one of the newest lessons of this label has most of these words; of spam, one that a person decided.

    The tokens of a lesson are fetched as text only if it holds enough of the words: that reads the whole dictionary.
    """
    if not (least := shared_by_near_copies(words)):
        return False
    lessons = ledger.lessons.holding(words, least, label, _MOST[label])
    digests = [one.digest for one in lessons if not (one.weak and label is Label.SPAM)]
    copies = ledger.lessons.copies_of(digests, with_tokens=digests) if digests else []
    return any(is_near_copy(words, _words(copy.with_its_tokens())) for copy in copies)


def is_by_order(action: Action, begun_at: float) -> bool:
    """Tell whether a move follows from what a person ordered, and not from the filter's verdict.

    begun_at: the answer of `moved_nothing_until`.
    """
    is_move = action.kind == "moved" and action.goal is Role.SPAM and action.takes_back is None
    return is_move and (action.verdict != Verdict.SPAM or action.at <= begun_at)


def moved_by_order(ledger: Ledger, digest: bytes) -> str:
    """Return a sentence if the newest move of a message to spam was ordered; else ""."""
    known = ledger.messages.find(digest)
    moves = [] if known is None else [one for one in ledger.journal.of_message(known.id) if one.goal is Role.SPAM]
    if not moves or moves[-1].state != "done" or not is_by_order(moves[-1], moved_nothing_until(ledger)):
        return ""
    return f"The filter moved it on your order: {moves[-1].why}."


def order_about(ledger: Ledger, config: Config, reading: Reading, verdict: Verdict) -> str:
    """Return a sentence if a message was moved by order, or goes to spam by order; else "".

    Nothing is said of a message that a person has called something, nor of a sender with a fixed label: both are said
    elsewhere. config: with the person's choices. verdict: the filter's own.
    """
    if moved := moved_by_order(ledger, reading.digest):
        return moved
    lesson, relations = ledger.lessons.find(reading.digest), reading.relations
    is_decided = lesson is not None and lesson.decision is not None
    if has_begun(ledger, config.learning) or is_decided or config.senders.named(relations.senders, relations.list_id):
        return ""
    is_ordered = is_near_order(ledger, config, reading, verdict)
    return f"The filter moves it on your order, though it knows little yet: {NEAR_COPY}." if is_ordered else ""


def _words(tokens: Mapping[str, int]) -> frozenset[str]:
    """Return the bare words of the text."""
    return frozenset(token for token in tokens if not kind(token))
