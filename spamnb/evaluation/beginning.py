"""When a simulated filter begins to move mail, and what it learns of the mail that its user leaves until then."""

from collections.abc import Iterator
from itertools import islice

from spamnb.acts.may_move import missing_now
from spamnb.base.label import Label
from spamnb.evaluation.simulated_mail import Mail
from spamnb.rules import weak_lessons
from spamnb.rules.destination import is_young
from spamnb.rules.moving import fewest, why_it_waits
from spamnb.rules.reactions import reaction_to_left_behind


class Beginning:
    """The wait of a filter that begins with nothing. Once nothing is missing, this stays so."""

    def __init__(self, mail: Mail) -> None:
        self._mail = mail
        self._missing: str | None = None
        self._asked_at = -1  # the last change of a lesson when it was asked whether the filter knows enough
        self._ready: int | None = None  # when the filter knew enough
        # In the inbox since before moving began, and not learned; whether the user leaves it there.
        self._lying: dict[int, bool] = {}
        self._called_spam: list[int] = []  # by the filter, before moving began
        self._spared: set[int] = set()  # called spam since then, but of lists that the filter does not know
        self._sorted_until = -1  # the newest message that the user has moved to spam
        self.began_at: int | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the filter moves mail."""
        return self._missing == ""

    def called_spam(self, place: int) -> None:
        """Note a message that the filter has called spam before it has begun."""
        self._called_spam.append(place)

    def spare(self, place: int) -> None:
        """Note a message that the filter calls spam, and that stays since its list is unknown."""
        self._spared.add(place)

    def lie(self, place: int, *, is_left: bool) -> None:
        """Note a message that comes to the inbox before the filter has begun to move mail, or that it has spared."""
        if not self.has_begun or place in self._spared:
            self._lying[place] = is_left

    def learned(self, place: int) -> None:
        """Note that a message of the inbox is learned."""
        self._lying.pop(place, None)

    def moved_to_spam(self, place: int) -> None:
        """Note that the user has moved a message to spam, and learn the mail that the user has left there since."""
        self._lying.pop(place, None)
        self._sorted_until = max(self._sorted_until, place)
        self._learn_left_behind()

    def lacking(self) -> str:
        """Return what must still be learned before mail is moved; "" for nothing."""
        mail = self._mail
        if self._missing == "":
            return ""
        if self._ready is None and self._asked_at != (learned_until := mail.lessons.last_change()):
            self._asked_at = learned_until
            self._missing = missing_now(mail.lessons, mail.scoring, mail.learning)
            if not self._missing:
                self._ready = mail.now
                self._learn_left_behind()
        if self._ready is not None:
            days = (mail.now - self._ready) / mail.a_day
            self._missing = why_it_waits(len(self._unsorted()), days, self._fates(), mail.learning)
            if not self._missing:
                self.began_at = mail.now
        return self._missing or ""

    def _learn_left_behind(self) -> None:
        """Learn the mail that the user has left, while moving later mail to spam."""
        mail, called_spam = self._mail, set(self._called_spam)
        young = is_young(mail.learned[Label.HAM])
        for place in filter(self._is_left_behind, list(self._lying) if mail.learning.kept else ()):
            is_spared = place in self._spared
            if is_spared and not young:
                continue
            meant = reaction_to_left_behind(
                is_spared or place in called_spam,
                knows_enough=self._ready is not None,
                has_begun=self.has_begun,
                is_spared=is_spared,
            )
            if meant is None or (meant.doubtful and not self._teaches_ham(place)):
                continue
            mail.learn(place, Label.HAM, meant.why, meant.how, weak=True)
            del self._lying[place]

    def _teaches_ham(self, place: int) -> bool:
        mail = self._mail
        return weak_lessons.teaches_ham(mail.judge(place).probability, mail.missed, is_taught=mail.is_taught)

    def _is_left_behind(self, place: int) -> bool:
        return self._lying.get(place, False) and place < self._sorted_until

    def _unsorted(self) -> list[int]:
        """Return the mail in the inbox that the filter has called spam, and that is not learned."""
        lying = [place for place in self._called_spam if place in self._lying]
        lessons = [self._mail.lessons.find(self._mail.digest(place)) for place in lying]
        return [place for place, lesson in zip(lying, lessons, strict=True) if lesson is None or lesson.label is None]

    def _fates(self) -> list[bool]:
        """Return what the user did with mail that the filter has called spam since it knew enough, the newest first."""
        return list(islice(self._known_fates(), fewest(Label.SPAM, self._mail.learning)))

    def _known_fates(self) -> Iterator[bool]:
        for place in reversed(self._called_spam):
            if place >= (self._ready or 0) and (fate := self._fate(place)) is not None:
                yield fate

    def _fate(self, place: int) -> bool | None:
        lesson = self._mail.lessons.find(self._mail.digest(place))
        if lesson is None or lesson.label is None:
            return False if self._is_left_behind(place) else None
        if lesson.label is Label.HAM:
            return False
        is_said_since = not lesson.weak and lesson.at >= self._mail.at(place)  # not of a copy that came before
        return True if is_said_since else None
