"""Say to a person why the filter moves nothing yet: what counts already, and when the rest counts.

`status`, `init`, `run`, `doctor` and the pages take the sentences from here. The short texts of `may_move` are for the
journal and for programs.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass

from spamnb.acts.may_move import has_begun
from spamnb.acts.waiting import Cause, Waiting, nothing_learned, waiting
from spamnb.acts.wanted import MOST, wanted_questions
from spamnb.base.wording import escaped, part_of_day, plural
from spamnb.config import Config, Learning
from spamnb.ledger.ledger import Ledger
from spamnb.rules.moving import missing_lessons, until_it_moves


@dataclass(frozen=True, slots=True)
class NotYet:
    """Why a filter moves nothing that has never moved mail.

    waiting: the same in numbers. words: for a person, in whole sentences. weekly: how many ham and spam come in a week,
    if the person still has to show some; 0: not known. questions: about how many messages the person may be asked, to
    hasten it. learns_folders: nothing is learned yet, and `init --learn` may find mail from before the filter.
    """

    waiting: Waiting
    words: str
    weekly: tuple[int, int]
    questions: int = 0
    learns_folders: bool = False

    @property
    def way(self) -> str:
        """What the answers to the questions bring, in words."""
        return f"To begin {'now' if self.questions >= self.waiting.ham_missing else 'sooner'}"

    @property
    def needed(self) -> tuple[int, int]:
        """How many more ham and spam must be learned; none if something else is missing."""
        is_needed = self.waiting.cause is Cause.LESSONS
        return (self.waiting.ham_missing, self.waiting.spam_missing) if is_needed else (0, 0)


def not_yet(ledger: Ledger | None, config: Config, now: float, missing: str) -> NotYet | None:
    """Return why a filter moves nothing yet; None if it may move mail. Without a ledger nothing is learned.

    missing: what `may_move.find_missing` returns, or that this is not known yet.
    """
    if not missing:
        return None
    learning, junk = config.learning, escaped(config.spam_folder)
    found = nothing_learned(learning) if ledger is None else waiting(ledger, learning)
    if found is None:  # it begins with the next message
        return None
    weekly = (0, 0) if ledger is None or _still_to_show(found) == (0, 0) else ledger.figures.weekly(now)
    words = in_words(found, missing, weekly, learning, junk, now)
    if ledger is None:
        return NotYet(found, words, weekly, learns_folders=True)
    learns_folders = not found.ham and not found.spam and ledger.locations.has_unlearned_before()
    return NotYet(found, words, weekly, _questions(ledger, config, found), learns_folders)


def _questions(ledger: Ledger, config: Config, found: Waiting) -> int:
    """Return how many wanted messages a person can show now, of those that are missing, if nothing else is missing."""
    if found.cause is not Cause.LESSONS or found.spam_missing:
        return 0
    return len(wanted_questions(ledger, config, min(found.ham_missing, MOST)))


def moved_nothing_until(ledger: Ledger) -> float:
    """Return until when mail was judged that a filter could not move, because it knew too little. As a Unix time.

    Infinity if it has never moved mail. Minus infinity if it could move its first mail, or if nobody knows.
    """
    if ledger.state.begun_with is None:
        return math.inf
    begun_at = ledger.state.begun_at
    return -math.inf if begun_at is None else begun_at


def only_guesses(ledger: Ledger, learning: Learning) -> bool:
    """Tell whether the filter has learned so little that its figures mean nothing: no page or prompt shows them."""
    ham, spam = ledger.lessons.totals().tolist()[:2]
    return not has_begun(ledger, learning) and bool(missing_lessons(ham, spam, learning))


def guessed_until(ledger: Ledger) -> float:
    """Return until when mail was judged by a filter that knew too little, as a Unix time.

    Infinity if it has never known enough. Minus infinity if it always did, or if nobody knows.
    """
    ready_at = ledger.state.ready_at
    return moved_nothing_until(ledger) if ready_at is None else ready_at


def in_words(found: Waiting, missing: str, weekly: tuple[int, int], learning: Learning, junk: str, now: float) -> str:
    """Return why a filter moves nothing yet, in whole sentences. The values are those of `not_yet`, junk is printable.

    >>> found = Waiting(Cause.LESSONS, 12, 3, 20, 5)
    >>> in_words(found, "", (70, 30), Learning(), "Junk", 0.0).partition(". ")[2]
    'It has learned 12 of 20 ham and 3 of 5 spam.'
    """
    if found.cause is Cause.LESSONS:
        return _of_lessons(found, weekly, learning, junk, now)
    if found.cause is Cause.SORTING:
        return _of_sorting(found, junk, now)
    return f"By itself, the filter moves nothing yet: {missing}."


def _still_to_show(found: Waiting) -> tuple[int, int]:
    """Return how many ham and spam are needed beside the ham that counts soon; none if something else is missing."""
    if found.cause is not Cause.LESSONS:
        return 0, 0
    return max(0, found.ham_missing - len(found.kept_at)), found.spam_missing


def _of_lessons(found: Waiting, weekly: tuple[int, int], learning: Learning, junk: str, now: float) -> str:
    """Return what a person does, what counts already, and when the mail counts that the person has kept."""
    to_do = until_it_moves(_still_to_show(found), weekly, learning, junk)
    sentences = [f"By itself, the filter moves nothing {to_do or 'yet'}."]
    if found.ham or found.spam:
        of_each = (found.ham, found.ham_needed, "ham"), (found.spam, found.spam_needed, "spam")
        learned = (f"{number}{f' of {all_}' if number < all_ else ''} {word}" for number, all_, word in of_each)
        sentences.append(f"It has learned {' and '.join(learned)}.")
    if found.ham_missing and found.kept_at:
        enough_at = found.enough_ham_at
        at = found.kept_at[-1] if enough_at is None else enough_at
        kept = bisect_right(found.kept_at, at)
        enough = "" if enough_at is None else ", which is enough"
        count, they_count = ("counts", "It counts") if kept == 1 else ("count", "They count")
        sentences.append(f"By {part_of_day(at, now)}, {plural(kept, 'message')} that you kept {count} too{enough}.")
        sentences.append(f"{they_count} at once if you move a later message to {junk}.")
    return " ".join(sentences)


def _of_sorting(found: Waiting, junk: str, now: float) -> str:
    """Return what a filter waits for that knows enough."""
    would = f"it would move {plural(found.unsorted, 'message')} in the inbox" if found.unsorted else "it knows enough"
    left = max(1, found.confirmed_needed - found.confirmed)
    next_ = "the next message" if left == 1 else f"the next {left} messages"
    latest = "" if found.latest_at is None else f", by {part_of_day(found.latest_at, now)} at the latest"
    begins = f"It begins when you have moved {next_} that it calls spam to {junk}{latest}."
    return f"By itself, the filter moves nothing yet: {would}. {begins}"
