"""Lessons from a spam folder that nobody has ever opened: all are forgotten when a person first takes mail out of it.

Such lessons hold each other up if they are wrong: ham that was moved to spam has taught that its like is spam. So the
first rescue shows that none of them is to be relied on. In its transaction the store takes their own tokens out of the
counts. From then on, the folders count as opened.
"""

from collections.abc import Iterable
from itertools import chain

from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Lessons, Relabel, pages

RESCUED = "a person has taken mail out of spam, and nobody had looked there before"


def note(ledger: Ledger, are_coming: bool) -> None:
    """Note whether such lessons are about to be learned: they are looked for from the first of them on."""
    if are_coming and ledger.state.unseen_since is None:
        ledger.state.unseen_since = ledger.lessons.last_change()


def rescued(ledger: Ledger, digests: Iterable[bytes], at: float) -> None:
    """Forget all such lessons if the filter has moved one of these messages to spam, and a person calls it ham.

    Call it in the transaction that changes the label of the messages, or before that.
    """
    if not ledger.messages.is_any_in_spam(digests):
        return
    with ledger.transaction():
        ledger.locations.set_all_spam_seen_at(at)
        if (since := ledger.state.unseen_since) is not None:
            ledger.lessons.relabel(forgetting(ledger.lessons, since), at)
            ledger.record_lessons()
            ledger.state.unseen_since = ledger.lessons.last_change()  # an undo may bring some of them back


def forgetting(lessons: Lessons, since: int = 0) -> list[Relabel]:
    """Return the changes that forget all such lessons. since: the number of a lesson before the first of them."""
    return [
        Relabel(lesson.digest, lesson.label, lesson.weak, None, True, RESCUED, lesson.how)
        for lesson in chain.from_iterable(pages(lessons, since))
        if lesson.is_unseen
    ]
