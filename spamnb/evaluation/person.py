"""A simulated person: what the person does about a message, and when. The acts are those of `simulated_mailbox`."""

import heapq
import itertools
import random
from collections.abc import Callable

from spamnb.base.label import Label, Role
from spamnb.evaluation.habits import Habit
from spamnb.evaluation.simulated_mailbox import Mailbox


class Person:
    """The person of a mailbox, with a habit. kept_after: after how many messages kept mail counts."""

    def __init__(self, mailbox: Mailbox, habit: Habit, choose: random.Random, kept_after: int) -> None:
        self._mailbox, self._habit, self._choose, self._kept_after = mailbox, habit, choose, kept_after
        self._later: list[
            tuple[int, int, Callable[[int], None], int]
        ] = []  # a heap: when, in which order, the act, its message
        self._numbers = itertools.count()

    def act(self) -> None:
        """Do what is due before the next message comes."""
        while self._later and self._later[0][0] <= self._mailbox.now:
            _, _, act, of = heapq.heappop(self._later)
            act(of)

    def see(self, place: int, goal: Role | None) -> None:
        """See a message that has just come, at once or later, or never. goal: where it was moved; None: it stayed."""
        label = self._as_seen(self._mailbox.label_of(place))
        if goal is None or goal is Role.SPAM:
            self._react(place, label, is_moved=goal is Role.SPAM)
        else:
            self._react_apart(place, label, goal)

    def _as_seen(self, label: Label) -> Label:
        return Label(1 - label) if self._choose.random() < self._habit.wrong else label

    def _react(self, place: int, label: Label, *, is_moved: bool) -> None:
        habit, mailbox, chance = self._habit, self._mailbox, self._choose.random()
        if is_moved and habit.looks:
            self._do(habit.rescued_after, mailbox.open_spam, place)
        if habit.told:
            mailbox.correct(place, label)
        elif label is Label.SPAM and not is_moved:
            if chance < habit.correct:
                self._do(habit.corrected_after, mailbox.move_to_spam, place)
                mailbox.lie(place, is_left=False)
            elif self._choose.random() < habit.left:
                self._do(self._kept_after, mailbox.keep, place)
                mailbox.lie(place, is_left=True)
        elif label is Label.HAM and is_moved:
            if chance < habit.rescue:
                self._do(habit.rescued_after, mailbox.rescue, place)
        elif label is Label.HAM and chance < habit.keep:
            self._do(self._kept_after, mailbox.keep, place)
            mailbox.lie(place, is_left=True)

    def _react_apart(self, place: int, label: Label, goal: Role) -> None:
        """Find the message among mail that was put apart, at once or later, or never."""
        habit, mailbox, is_found = self._habit, self._mailbox, self._choose.random() < self._habit.correct
        is_kept = self._choose.random() < (habit.keep if label is Label.HAM else habit.left)
        if habit.told:
            mailbox.correct(place, label)
        elif is_found and label is Label.SPAM:
            self._do(habit.corrected_after, mailbox.move_on_to_spam, place)
        elif is_kept and goal is Role.NEWSLETTERS:
            self._do(self._kept_after, mailbox.keep, place)
        elif is_kept and is_found:
            self._do(habit.corrected_after, mailbox.move_to_inbox, place)

    def _do(self, after: int, act: Callable[[int], None], of: int) -> None:
        heapq.heappush(self._later, (self._mailbox.now + after, next(self._numbers), act, of))
