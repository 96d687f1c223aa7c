"""Find out whether a person has ordered a message to spam, by moving a near-copy of it there.

Only a filter that has not begun to move mail asks this: afterwards its own verdict decides.
"""

from collections.abc import Mapping

from spamnb.acts.newcomers import why_known
from spamnb.base.label import Label
from spamnb.config import Config
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading
from spamnb.mail.tokens.kinds import kind
from spamnb.rules.destination import is_near_copy

_MOST = 200  # newest lessons of each class


class NearCopies:
    """Keeps the words of the newest lessons for many messages, until something is learned."""

    def __init__(self) -> None:
        self._last = -1
        self._words: tuple[dict[bytes, frozenset[str]], ...] = ({}, {})

    def is_ordered(self, ledger: Ledger, config: Config, reading: Reading) -> bool:
        """Tell whether a message is a near-copy of one that a person called spam.

        It is not if ham is as near, or if the person knows its sender. Mail of lists is never one, since a message may
        come over a list and without it. config: with the person's choices.
        """
        if reading.relations.list_id:
            return False
        words = _words(reading.tokens)
        of_ham, of_spam = self._newest(ledger)
        near = (any(is_near_copy(words, other) for other in of_class.values()) for of_class in (of_spam, of_ham))
        return next(near) and not next(near) and not why_known(ledger, config, reading.relations)

    def forget(self) -> None:
        """Keep nothing any longer."""
        self._last, self._words = -1, ({}, {})

    def _newest(self, ledger: Ledger) -> tuple[dict[bytes, frozenset[str]], ...]:
        """Return the words of the newest learned ham, and of the newest spam that a person decided."""
        if (last := ledger.lessons.last_change()) != self._last:
            newest = (ledger.lessons.newest(label, _MOST) for label in Label)
            of_ham, of_spam = ([one.digest for one in each if not (one.weak and one.label)] for each in newest)
            known = self._words[Label.HAM] | self._words[Label.SPAM]
            new = {*of_ham, *of_spam} - known.keys()
            learned = ledger.lessons.copies_of([*new], with_tokens=new)
            known |= {copy.lesson.digest: _words(copy.with_its_tokens()) for copy in learned}
            self._words = tuple(
                {each: known[each] for each in of_class if each in known} for of_class in (of_ham, of_spam)
            )
            self._last = last
        return self._words


def _words(tokens: Mapping[str, int]) -> frozenset[str]:
    """Return the bare words of the text."""
    return frozenset(token for token in tokens if not kind(token))
