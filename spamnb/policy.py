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
_NOT_TRUSTED = "learning.trust_delivery is false: move it there from another folder to teach it"


@dataclass(frozen=True, slots=True)
class Trace:
    """A place where the message lies or has lain before.

    by_filter: the filter moved it there. left: it lies there no more, or is marked as deleted.
    same_delivery: it is the same delivery of the message as the file in question.
    same_file: both names are one file (a copy that an IMAP server made by a hard link).
    since: when it came there, in seconds since the epoch. lag: seconds from then until the file in question appeared.
    lately: where it has left, it was not long gone when the file in question appeared.
    alike: only Message-ID, Date and From agree: the message was changed on its way, or this is a forgery. It is listed
    where no such message lies anywhere any more, and may tell where the file came from; no label passes over.
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
    alike: bool = False


class Do(Enum):
    """What to do with a file that appeared."""

    NOTHING = auto()
    JUDGE = auto()
    WAIT = auto()  # until the other file of this delivery leaves spam; then it is known what this one means
    LEARN_HAM = auto()
    LEARN_SPAM = auto()
    LEARN_HAM_AND_FILE = auto()
    LEARN_SPAM_AND_FILE = auto()


@dataclass(frozen=True, slots=True)
class Meaning:
    """What to do, and why, in words for the log.

    weak: what is learned may be nobody's decision. rescued: a person wants it where it is. news: worth a line in the
    log though nothing is done.
    """

    do: Do
    why: str
    weak: bool = False
    rescued: bool = False
    news: bool = False


def meaning(
    role: Role,
    unsure: bool,
    label: int | None,
    traces: Sequence[Trace],
    *,
    verdict: str | None = None,
    same_name: bool = False,
    many: bool = False,
    named: bool = True,
    trust_delivery: bool = True,
) -> Meaning:
    """What it means that a file appeared in a folder of this role.

    `unsure`: it is the folder for unsure mail. `label`: what a person has called the message, or None. `traces`:
    all other places of the message, without those that the filter emptied itself. `verdict`: the filter's, if it is
    remembered. `same_name`: it has lain in this folder before, under the name it has now. `many`: it is one of many
    known messages that appeared at once. `named`: the folder's role is written in the configuration, and not that of
    the folder it lies in. `trust_delivery`: as in the configuration.
    """
    if role in (Role.TRAIN_SPAM, Role.TRAIN_HAM):
        # A head is no proof here: who may deliver into this folder could write that of a message which is deleted soon.
        if not trust_delivery and not _was_elsewhere([trace for trace in traces if not trace.alike]):
            return Meaning(Do.NOTHING, f"first seen there, and {_NOT_TRUSTED}", news=True)
        if role is Role.TRAIN_SPAM:
            return Meaning(Do.LEARN_SPAM_AND_FILE, "put into a folder for training spam")
        return Meaning(Do.LEARN_HAM_AND_FILE, "put into a folder for training ham")
    if has_no_meaning(role, unsure):
        return Meaning(Do.NOTHING, "in a folder without a meaning")
    if _is_brought_anew(role, traces, same_name, many):
        return Meaning(Do.NOTHING, "brought anew, by a synchroniser or out of a backup")
    came_from = _came_from(role, traces)
    if came_from is not None and came_from.same_folder:
        return Meaning(Do.NOTHING, "renamed where it lay")
    if role is Role.SPAM:
        return _meaning_in_spam(came_from, traces, verdict, named, trust_delivery)
    if came_from is not None and (came_from.role is Role.SPAM or came_from.unsure):
        where = "spam" if came_from.role is Role.SPAM else "unsure"
        if not came_from.left and not came_from.same_file:
            return Meaning(Do.WAIT, f"the same delivery lies in {where}: decided when that one is gone", news=True)
        return Meaning(Do.LEARN_HAM, f"a person took it out of {where}", rescued=True)
    if came_from is not None:
        if role is Role.HAM:
            return Meaning(Do.LEARN_HAM, "a person filed it")
        return Meaning(Do.NOTHING, "a person put it back")
    if role is Role.HAM:
        return Meaning(Do.NOTHING, "delivered into a ham folder")
    if label == HAM:
        return Meaning(Do.NOTHING, "a person called this message ham")
    return Meaning(Do.JUDGE, "new mail")


def _meaning_in_spam(
    came_from: Trace | None, traces: Sequence[Trace], verdict: str | None, named: bool, trust_delivery: bool
) -> Meaning:
    """What it means that a file appeared in a spam folder, from `came_from` if a person moved it."""
    if came_from is not None and came_from.role is Role.SPAM:
        return Meaning(Do.NOTHING, "moved from one spam folder to another")
    known = _latest(trace for trace in traces if trace.same_delivery or trace.same_file)
    if known is not None and known.role is Role.SPAM:
        # Its spam folder was renamed, or a synchroniser or a person doubled it: nobody took it out meanwhile.
        return Meaning(Do.NOTHING, f"{'the filter' if known.by_filter else 'a person'} had put it into spam")
    if not named and known is not None and known.role is Role.HAM and not known.unsure:
        # A folder that slipped into Junk, which a synchroniser brings as so many new files: nobody called it spam.
        return Meaning(Do.NOTHING, "filed mail, in a folder that came to lie in spam")
    if _was_elsewhere(traces):
        return Meaning(Do.LEARN_SPAM, "a person put it into a spam folder")
    if not traces and verdict == Verdict.SPAM:
        # A ledger that has forgotten the message's places: the filter may have put it there.
        return Meaning(Do.NOTHING, "first seen there, and the filter itself had called it spam")
    if not trust_delivery:
        return Meaning(Do.NOTHING, f"first seen there, and {_NOT_TRUSTED}", news=True)
    return Meaning(Do.LEARN_SPAM, "first seen in a spam folder", weak=True)


def has_no_meaning(role: Role, unsure: bool) -> bool:
    """Whether nothing follows from lying in such a folder, wherever the message came from."""
    return role is Role.NEUTRAL or unsure


def _was_elsewhere(traces: Sequence[Trace]) -> bool:
    """Whether the message came from another folder, so that somebody decided where it lies.

    Where a file lies and which flags it has proves nothing: a rule can deliver into any folder, and mark as read. Nor
    does another file of the message that appeared at about the same time: one delivery may write several.
    """
    return any(
        (trace.left and trace.lately if trace.alike else trace.left or trace.lag >= COPY_SECONDS)
        for trace in traces
        if not trace.same_folder and (trace.same_delivery or trace.same_file or trace.alike)
    )


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

    A message that only has the same Message-ID, Date and From counts where it has just left, and never in the inbox:
    anyone can write these three, and what new mail is must not depend on them.
    """
    own = _latest(
        trace
        for trace in traces
        if trace.same_file
        or (trace.same_delivery and (trace.left or (role is Role.INBOX and trace.lag >= COPY_SECONDS)))
    )
    if own is not None or role is Role.INBOX:
        return own
    return _latest(trace for trace in traces if trace.alike and trace.left and trace.lately)


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
    verdict: Verdict,
    name: Name,
    label: int | None,
    missing: str,
    tripped: bool,
    has_unsure_folder: bool,
    *,
    rescued: bool = False,
) -> Consequence:
    """What follows from a verdict on new mail.

    `label`: what a person has called the message. `missing`: what the filter still has to learn before it may move mail
    ("" for nothing). `tripped`: the circuit breaker is open. `rescued`: a person took the message out of spam once.
    """
    if label == HAM:
        return Consequence(Goal.STAY, "a person called this message ham")
    if label == SPAM:
        verdict = Verdict.SPAM
    if verdict is Verdict.HAM:
        return Consequence(Goal.STAY, "ham")
    if verdict is Verdict.UNSURE and not has_unsure_folder:
        return Consequence(Goal.STAY, "unsure")
    if rescued:
        return Consequence(Goal.STAY, f"{verdict}, but a person put this message back once")
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


def speaks_by_staying(role: Role, unsure: bool, learning: Learning) -> bool:
    """Whether mail that stays in such a folder may be learned as ham by that."""
    return learning.kept and role in _WORD_FOR_HAM and not unsure


def is_kept(name: Name, role: Role, age: float, learning: Learning) -> bool:
    """Whether a message speaks for ham by having been kept: answered, or read and left there for a while.

    `age`: seconds since it appeared. A message marked as deleted says nothing. That it was answered is a decision;
    that it was read may be a rule's mark, or somebody who did not care, and teaches weakly.
    """
    if not speaks_by_staying(role, False, learning) or name.trashed:
        return False
    return name.replied or (name.seen and age >= learning.kept_days * 86_400)


def takes_back(label: int, verdict: str | None) -> bool:
    """Whether a label says the contrary of the filter's verdict: who writes that has looked at the message.

    A keyword that agrees with the verdict, or where there is none, may have been written by software alone.
    """
    return verdict == (Verdict.HAM if label == SPAM else Verdict.SPAM)


def labelled(keywords: Sequence[str]) -> int | None:
    """What a client's keywords call the message; None where they say nothing, or both."""
    written = {keyword.lower() for keyword in keywords}
    spam, ham = bool(written & _SPAM_KEYWORDS), bool(written & _HAM_KEYWORDS)
    return None if spam == ham else SPAM if spam else HAM
