"""What a message's place means, and what is to be done with it. Pure: values in, a decision out.

The table of the README, row by row. Two questions are asked, one after the other: what does it mean that this
file appeared here (`meaning`), and, where it means "judge it", what follows from the verdict (`consequence`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from spamnb.config import Breaker, Learning, Role
from spamnb.filter import Verdict
from spamnb.ledger.learned import HAM, SPAM
from spamnb.maildir.names import Name

_SPAM_KEYWORDS = frozenset({"$junk", "junk"})  # RFC 9051, 2.3.2, and Thunderbird's spelling
_HAM_KEYWORDS = frozenset({"$notjunk", "notjunk", "nonjunk"})
# Notes in the ledger: since when moving is stopped, and since when it was allowed again (seconds since the epoch).
BREAKER_NOTE = "moving stopped"
RESUMED_NOTE = "moving resumed"
PAUSE_NOTE = "moving paused until"  # by a person; seconds since the epoch, "inf" until it is resumed
MARKS = frozenset("DFPRST")  # a person's marks on a message: all of Maildir's flags
# A mail server that delivers one message to several addresses of a person may write files that are the same to the
# last byte, but it does so at once; a person has to see a message before copying it.
COPY_SECONDS = 30.0
_WORD_FOR_HAM = (Role.INBOX, Role.HAM)


@dataclass(frozen=True, slots=True)
class Trace:
    """A place where the message lies or has lain before.

    by_filter: the filter moved it there. left: it lies there no more, or is marked as deleted.
    same_delivery: it is the same delivery of the message as the file in question.
    same_file: both names are one file (a copy that an IMAP server made by a hard link).
    since: when it came there, in seconds since the epoch. lag: seconds from then until the file in question appeared.
    lately: where it has left, it was not long gone when the file in question appeared.
    """

    role: Role
    unsure: bool
    same_folder: bool
    by_filter: bool
    left: bool
    same_delivery: bool
    same_file: bool
    since: float
    lag: float
    lately: bool = True


class Do(Enum):
    """What to do with a file that appeared."""

    NOTHING = auto()
    JUDGE = auto()
    LEARN_HAM = auto()
    LEARN_SPAM = auto()
    LEARN_HAM_AND_FILE = auto()
    LEARN_SPAM_AND_FILE = auto()


@dataclass(frozen=True, slots=True)
class Meaning:
    """What to do, and why, in words for the log."""

    do: Do
    why: str


def meaning(
    role: Role,
    unsure: bool,
    label: int | None,
    traces: Sequence[Trace],
    *,
    same_name: bool = False,
    many: bool = False,
    named: bool = True,
) -> Meaning:
    """What it means that a file appeared in a folder of this role.

    `unsure`: it is the folder for unsure mail. `label`: what the message is learned as, or None. `traces`:
    all other places of the message, without those that the filter emptied itself. `same_name`: it has lain in this
    folder before, under the name it has now. `many`: it is one of many known messages that appeared at once. `named`:
    the folder's role is written in the configuration, and not that of the folder it lies in.
    """
    if role is Role.TRAIN_SPAM:
        return Meaning(Do.LEARN_SPAM_AND_FILE, "put into a folder for training spam")
    if role is Role.TRAIN_HAM:
        return Meaning(Do.LEARN_HAM_AND_FILE, "put into a folder for training ham")
    if role is Role.NEUTRAL or unsure:
        return Meaning(Do.NOTHING, "in a folder without a meaning")
    if _is_brought_anew(role, traces, same_name, many):
        return Meaning(Do.NOTHING, "brought anew, by a synchroniser or out of a backup")
    came_from = _came_from(role, traces)
    if came_from is not None and came_from.same_folder:
        return Meaning(Do.NOTHING, "renamed where it lay")
    if role is Role.SPAM:
        if came_from is not None and came_from.role is Role.SPAM:
            return Meaning(Do.NOTHING, "moved from one spam folder to another")
        known = _latest(trace for trace in traces if trace.same_delivery or trace.same_file)
        if known is not None and known.role is Role.SPAM:
            # Its spam folder was renamed, or a synchroniser or a person doubled it: nobody took it out meanwhile.
            return Meaning(Do.NOTHING, f"{'the filter' if known.by_filter else 'a person'} had put it into spam")
        if not named and known is not None and known.role is Role.HAM and not known.unsure:
            # A folder that slipped into Junk, which a synchroniser brings as so many new files: nobody called it spam.
            return Meaning(Do.NOTHING, "filed mail, in a folder that came to lie in spam")
        return Meaning(Do.LEARN_SPAM, "a person put it into a spam folder")
    if came_from is not None and (came_from.role is Role.SPAM or came_from.unsure):
        return Meaning(Do.LEARN_HAM, "a person took it out of " + ("spam" if came_from.role is Role.SPAM else "unsure"))
    if came_from is not None:
        if role is Role.HAM:
            return Meaning(Do.LEARN_HAM, "a person filed it")
        return Meaning(Do.NOTHING, "a person put it back")
    if role is Role.HAM:
        return Meaning(Do.NOTHING, "delivered into a ham folder")
    if label == HAM:
        return Meaning(Do.NOTHING, "a person called this message ham")
    return Meaning(Do.JUDGE, "new mail")


def _is_brought_anew(role: Role, traces: Sequence[Trace], same_name: bool, many: bool) -> bool:
    """Whether the file was put there by a program that had it from elsewhere, and not by a person.

    A backup that is put back brings mail under the names that it had, while it still lies where it was moved since,
    or is long deleted. A synchroniser that has forgotten all fetches anew what lies in spam, under new names; and so
    much at once that a person would rather have moved it than copied it. What has just left another place was moved.
    """
    if any(trace.left and trace.lately and trace.same_delivery for trace in traces):
        return False
    if same_name:
        return True
    if not many or any(trace.same_file for trace in traces):
        return False
    same = [trace for trace in traces if trace.same_delivery]
    return any(trace.role is Role.SPAM or (trace.unsure and role is not Role.SPAM) for trace in same)


def _came_from(role: Role, traces: Sequence[Trace]) -> Trace | None:
    """Where a person took the message from: the latest place of this delivery that it has left.

    A place it has not left counts only if a mail program copied it: both are one file, or it appeared in the inbox
    long after the first. (A synchroniser may bring the copy now, and remove the original at its next run. In other
    folders labels and rules make copies at any time.) Any other file that lies elsewhere is another delivery of
    the same message, and says nothing of this one.
    """
    return _latest(
        trace
        for trace in traces
        if trace.same_file
        or (trace.same_delivery and (trace.left or (role is Role.INBOX and trace.lag >= COPY_SECONDS)))
    )


def _latest(traces: Iterable[Trace]) -> Trace | None:
    """The latest place with a meaning: what was rescued from the trash comes from where it lay before."""
    return max(traces, key=lambda trace: (trace.unsure or trace.role is not Role.NEUTRAL, trace.since), default=None)


class Goal(Enum):
    """Where a judged message should lie."""

    STAY = auto()
    SPAM = auto()
    UNSURE = auto()


@dataclass(frozen=True, slots=True)
class Consequence:
    """Where a message goes, and why, in words for the log."""

    goal: Goal
    why: str
    withheld: bool = False  # it would be moved, but moving is stopped


def consequence(
    verdict: Verdict, name: Name, label: int | None, missing: str, tripped: bool, has_unsure_folder: bool
) -> Consequence:
    """What follows from a verdict on new mail.

    `missing`: what the filter still has to learn before it may move mail ("" for nothing). `tripped`: the
    circuit breaker is open.
    """
    if label == HAM:
        return Consequence(Goal.STAY, "a person called this message ham")
    if label == SPAM:
        verdict = Verdict.SPAM
    if verdict is Verdict.HAM:
        return Consequence(Goal.STAY, "ham")
    if verdict is Verdict.UNSURE and not has_unsure_folder:
        return Consequence(Goal.STAY, "unsure")
    if not MARKS.isdisjoint(name.flags):
        return Consequence(Goal.STAY, f"{verdict}, but a person has read or marked it")
    if missing:
        return Consequence(Goal.STAY, f"{verdict}, but nothing is moved yet: {missing}")
    if tripped:
        return Consequence(Goal.STAY, f"{verdict}, but moving is stopped: `spamnb resume` starts it again", True)
    if verdict is Verdict.UNSURE:
        return Consequence(Goal.UNSURE, "unsure")
    return Consequence(Goal.SPAM, "a person called this message spam" if label == SPAM else "spam")


def missing_lessons(ham: int, spam: int, learning: Learning) -> str:
    """What the filter still has to learn before it may move mail, in words; "" for nothing.

    >>> missing_lessons(20, 13, Learning(minimum_messages=20))
    '7 more spam messages to learn'
    """
    lacking = [(learning.minimum_messages - number, name) for number, name in ((ham, "ham"), (spam, "spam"))]
    wanted = [f"{number} more {name} message{'s' if number > 1 else ''}" for number, name in lacking if number > 0]
    return f"{' and '.join(wanted)} to learn" if wanted else ""


def paused_until(note: str | None, now: float) -> float | None:
    """Until when a person has paused the moving of mail, by the ledger's note; None where that is over, or never was.

    >>> paused_until("100.0", 99.0), paused_until("100.0", 100.0), paused_until("inf", 1e12), paused_until(None, 0.0)
    (100.0, None, inf, None)
    """
    return None if note is None or float(note) <= now else float(note)


def trips(verdicts: Sequence[str], breaker: Breaker) -> bool:
    """Whether an abnormal share of the newest verdicts (the newest first) is spam."""
    window = verdicts[: breaker.window]
    return len(window) == breaker.window and window.count(Verdict.SPAM) > breaker.share * breaker.window


def is_kept(name: Name, role: Role, age: float, learning: Learning) -> bool:
    """Whether a message speaks for ham by having been kept: answered, or read and left there for a while.

    `age`: seconds since it appeared. A message marked as deleted says nothing.
    """
    if not learning.kept or role not in _WORD_FOR_HAM or name.trashed:
        return False
    return name.replied or (name.seen and age >= learning.kept_days * 86_400)


def labelled(keywords: Sequence[str]) -> int | None:
    """What a client's keywords call the message; None where they say nothing, or both."""
    written = {keyword.lower() for keyword in keywords}
    spam, ham = bool(written & _SPAM_KEYWORDS), bool(written & _HAM_KEYWORDS)
    return None if spam == ham else SPAM if spam else HAM
