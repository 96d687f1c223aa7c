"""What a message's place means, and a mail client's keywords. Pure: values in, a decision out.

What it means that a file appeared here (`meaning`, the table of docs/learning.md), and that it stayed: mail that was
kept or answered (`kept`). Where it means "judge it", `rules.consequence` says what follows from the verdict.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from spamnb.base.label import How, Label, Origin, Role, Verdict
from spamnb.config import Learning
from spamnb.ledger.history.locations import Location
from spamnb.maildir.names import Name

_SPAM_KEYWORDS = frozenset({"$junk", "junk"})  # RFC 9051, 2.3.2, and Thunderbird's spelling
_HAM_KEYWORDS = frozenset({"$notjunk", "notjunk", "nonjunk"})
# A mail server that delivers one message to several addresses of a person may write files that are the same to the
# last byte, but it does so at once; a person has to see a message before copying it.
COPY_SECONDS = 30.0
TRAINING = (Role.TRAIN_SPAM, Role.TRAIN_HAM)
# Not mail that was in the mailbox before the filter came, nor what the filter put there, if the role has changed since.
KEPT_ORIGINS: tuple[Origin, ...] = ("appeared", "undo", "waiting")
_NOT_TRUSTED = "first seen there, and learning.trust_delivery is false: move it there from another folder to teach it"


def taught_by(role: Role, unsure: bool = False) -> Label | None:
    """What mail in a folder of this role is learned as, when it is learned; `unsure`: it is the one for unsure mail."""
    if unsure or role.is_neutral:
        return None
    return Label.SPAM if role in (Role.SPAM, Role.TRAIN_SPAM) else Label.HAM


@dataclass(frozen=True, slots=True)
class PastPlace:
    """A place where the message is or was before. Places that the filter emptied itself are none.

    by_filter: the filter moved it there. left: it is not there any more, or is marked as deleted.
    same_delivery: it is the same delivery of the message as the file in question.
    same_file: both names are one file (a copy that an IMAP server made by a hard link).
    since: when it came there, in seconds since the epoch. lag: seconds from then until the file in question appeared.
    recently_left: if it has left, it had not been gone for long when the file in question appeared.
    alike: only Message-ID, Date and From agree: the message was changed on its way, or this is a forgery. It may tell
    where the file came from; no label passes over.
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
    recently_left: bool = True
    just_left: bool = False
    alike: bool = False

    @property
    def is_spam(self) -> bool:
        """Whether it is where mail is that may be spam."""
        return self.unsure or self.role is Role.SPAM

    @property
    def is_of_the_message(self) -> bool:
        """Whether it is a place of the very message, in this delivery."""
        return self.same_delivery or self.same_file

    @property
    def is_linked_later(self) -> bool:
        """Whether the file in question is a second name that somebody gave to the file here after its delivery.

        A name that a delivery, a rule or a program that saves space made is there soon after the first, and before the
        filter has moved that to spam: it says nothing.
        """
        return self.same_file and (self.lag >= COPY_SECONDS or (self.is_spam and self.lag > 0))


class Do(Enum):
    """What to do with a file that appeared."""

    NOTHING = auto()
    JUDGE = auto()
    ACCEPT = auto()  # a rule has filed it by the verdict that the filter told at delivery: it is the filter's own move
    WAIT = auto()  # until the other file of this delivery leaves spam; then it is known what this one means
    LEARN_HAM = auto()
    LEARN_SPAM = auto()
    LEARN_HAM_AND_FILE = auto()
    LEARN_SPAM_AND_FILE = auto()


@dataclass(frozen=True, slots=True)
class Meaning:
    """What to do, and why, in words for people.

    how: by what it is judged or learned. weak: it may be no person's decision. rescued: a person wants it where it is.
    news: logged though nothing is done.
    """

    do: Do
    why: str
    how: How = How.MAILDIR
    weak: bool = False
    rescued: bool = False
    news: bool = False


def meaning(
    role: Role,
    unsure: bool,
    label: Label | None,
    places: Sequence[PastPlace],
    *,
    verdict: str | None = None,
    told: str | None = None,
    same_name: bool = False,
    many: bool = False,
    named: bool = True,
    trust_delivery: bool = True,
) -> Meaning:
    """What it means that a file appeared in a folder of this role: the first row of the table that applies.

    `unsure`: it is the folder for unsure mail. `label`: what a person has called the message, or None. `places`: all
    other places of the message. `verdict`: the filter's, if it is remembered. `told`: the one
    that it told at delivery, before the message came, or None. `same_name`: it was in this folder before, under this
    name. `many`: it is one of many known messages that appeared at once. `named`: the folder's role is written in the
    configuration, and not that of the folder it is in.
    """
    source = _came_from(role, places)
    from_spam = source is not None and source.is_spam
    from_spam_role = source is not None and source.role is Role.SPAM
    spam_folder = "spam" if from_spam_role else "unsure"
    waits = source is not None and not source.left and not source.same_file
    known = _latest(_may_have_come_from(places))
    was_told = told == Verdict.SPAM and all(place.role is Role.SPAM for place in places)
    known_spam = known is not None and known.role is Role.SPAM
    known_ham = known is not None and known.role is Role.HAM and not known.unsure
    mover = "the filter" if known is not None and known.by_filter else "a person"
    # In a training folder the header alone proves nothing: a sender could write that of any message.
    moved_to_train = _was_elsewhere([place for place in places if not place.alike])

    any_role, home = tuple(Role), (Role.INBOX, Role.HAM)
    spam, ham, inbox = (Role.SPAM,), (Role.HAM,), (Role.INBOX,)
    table: tuple[tuple[tuple[Role, ...], bool, Meaning], ...] = (
        # In a folder of these roles, if this is so, it means:
        (TRAINING, not trust_delivery and not moved_to_train, Meaning(Do.NOTHING, _NOT_TRUSTED, news=True)),
        (TRAINING[:1], True, Meaning(Do.LEARN_SPAM_AND_FILE, "put into a folder for training spam", How.MOVE)),
        (TRAINING[1:], True, Meaning(Do.LEARN_HAM_AND_FILE, "put into a folder for training ham", How.MOVE)),
        (any_role, role.is_neutral or unsure, Meaning(Do.NOTHING, "in a folder without a meaning")),
        (any_role, _is_restored(role, places, same_name, many), Meaning(Do.NOTHING, "restored or fetched again")),
        (any_role, source is not None and source.same_folder, Meaning(Do.NOTHING, "renamed in its folder")),
        (spam, from_spam_role, Meaning(Do.NOTHING, "moved from one spam folder to another")),
        # Its spam folder was renamed, or a synchroniser or a person doubled it: nobody took it out meanwhile.
        (spam, known_spam, Meaning(Do.NOTHING, f"{mover} had put it into spam")),
        # A folder that was moved into Junk, which a synchroniser brings as so many new files: nobody called it spam.
        (spam, not named and known_ham, Meaning(Do.NOTHING, "filed mail, in a folder that was moved into spam")),
        (spam, _was_elsewhere(places), Meaning(Do.LEARN_SPAM, "a person put it into a spam folder", How.MOVE)),
        (spam, was_told, Meaning(Do.ACCEPT, "filed by the verdict told at delivery")),
        # A ledger that has forgotten the message's places: the filter may have put it there.
        (spam, not places and verdict == Verdict.SPAM, Meaning(Do.NOTHING, "first seen there, judged as spam before")),
        (spam, _is_second_name(places), Meaning(Do.NOTHING, "a second name of one delivery")),
        (spam, not trust_delivery, Meaning(Do.NOTHING, _NOT_TRUSTED, news=True)),
        (spam, True, Meaning(Do.LEARN_SPAM, "first seen in a spam folder", How.SEEN, weak=True)),
        (home, from_spam and waits, Meaning(Do.WAIT, f"the same delivery is in {spam_folder}", news=True)),
        (home, from_spam, Meaning(Do.LEARN_HAM, f"a person took it out of {spam_folder}", How.MOVE, rescued=True)),
        (ham, source is not None, Meaning(Do.LEARN_HAM, "a person filed it", How.MOVE)),
        (ham, True, Meaning(Do.NOTHING, "delivered into a ham folder")),
        (inbox, source is not None, Meaning(Do.NOTHING, "a person moved it to the inbox")),
        (inbox, label == Label.HAM, Meaning(Do.NOTHING, "a person called this message ham")),
        (inbox, True, Meaning(Do.JUDGE, "new mail")),
    )
    return next(meant for roles, applies, meant in table if role in roles and applies)


def tells_whom_one_knows(role: Role, unsure: bool) -> bool:
    """Whether mail in such a folder was sent by the person, so that answers to it are known."""
    return role is Role.SENT and not unsure


def _was_elsewhere(places: Sequence[PastPlace]) -> bool:
    """Whether the message came from another folder, so that somebody decided where it is.

    Its folder and flags prove nothing: a rule can deliver into any folder, and mark as read. Nor does another file of
    the message that appeared at about the same time: one delivery may write several.
    """
    return any(
        (place.left and place.recently_left if place.alike else place.left or place.lag >= COPY_SECONDS)
        for place in places
        if not place.same_folder and (place.is_of_the_message or place.alike)
    )


def _is_second_name(places: Sequence[PastPlace]) -> bool:
    """Whether the file has another name, in another folder: what it means is said where the message is judged."""
    return any(place.same_file and not place.same_folder and not place.left for place in places)


def _is_restored(role: Role, places: Sequence[PastPlace], same_name: bool, many: bool) -> bool:
    """Whether the file was put there by a program that had it from elsewhere, and not by a person.

    A backup brings mail under the names that it had. A synchroniser that has lost its state fetches what is in spam
    again, under new names; and so much at once that a person would rather have moved it than copied it. What has just
    left another place was moved.
    """
    if any(place.left and place.recently_left and place.same_delivery for place in places):
        return False
    if same_name:
        return True
    if not many or any(place.same_file for place in places):
        return False
    same = [place for place in places if place.same_delivery]
    return any(place.role is Role.SPAM or (place.unsure and role is not Role.SPAM) for place in same)


def _came_from(role: Role, places: Sequence[PastPlace]) -> PastPlace | None:
    """Where a person took the message from: the latest place of this delivery that it has left.

    A place it has not left counts only if a mail program copied it: it gave the file a second name after its delivery,
    or the copy appeared in the inbox long after the first. (A synchroniser may remove the original at its next run. In
    other folders labels and rules make copies at any time.) Any other file elsewhere is another delivery of the same
    message.

    A message that is only alike counts where it has just left, and never in the inbox: anyone can write these fields.
    """
    own = _latest(
        place
        for place in _may_have_come_from(places)
        if (place.same_delivery and (place.left or (role is Role.INBOX and place.lag >= COPY_SECONDS)))
        or place.is_linked_later
    )
    if own is not None or role is Role.INBOX:
        return own
    return _latest(place for place in places if place.alike and place.left and place.recently_left)


def _may_have_come_from(places: Sequence[PastPlace]) -> list[PastPlace]:
    """The places of this delivery; where it has just left one, only those that it has left: it was moved, not copied.

    Without that, a message with a second name in an archive would seem to come from there when it is taken out of spam.
    """
    own = [place for place in places if place.is_of_the_message]
    left = [place for place in own if place.left]
    return left if any(place.just_left for place in left) else own


def _latest(places: Iterable[PastPlace]) -> PastPlace | None:
    """The latest place with a meaning: what was rescued from the trash comes from where it was before."""
    return max(places, key=lambda place: (place.unsure or not place.role.is_neutral, place.since), default=None)


def origin_of(do: Do, before: Collection[Origin]) -> Origin:
    """How a file that appeared is recorded; `before`: how files of its delivery in the same folder were recorded.

    What was there before the filter came stays that under any name: it does not become mail that was kept. And what
    waits goes on waiting when it is renamed.
    """
    if do is Do.WAIT or (do is Do.NOTHING and "waiting" in before):
        return "waiting"
    return "before" if "before" in before else "appeared"


def waits_until(places: Iterable[Location], is_spam: Callable[[Location], bool], dwell: float) -> dict[bytes, float]:
    """Until when a file waits for the other files of its delivery that are or were in spam, by the delivery.

    In seconds since the epoch: one dwell after the last of them has left; infinity while one is there. A delivery that
    is not listed was never in spam as it is now (a move was undone, or the folder has another role).
    """
    ends: dict[bytes, float] = {}
    for place in places:
        if place.origin != "waiting" and is_spam(place):
            has_left = place.gone_at is not None or "T" in place.flags
            end = (place.gone_at or 0.0) + dwell if has_left else float("inf")
            ends[place.content] = max(end, ends.get(place.content, end))
    return ends


def learns_kept(role: Role, unsure: bool, learning: Learning) -> bool:
    """Whether mail that stays in such a folder may be learned as ham by that."""
    return learning.kept and role in (Role.INBOX, Role.HAM) and not unsure


def kept(name: Name, role: Role, age: float, learning: Learning, origin: Origin = "appeared") -> Meaning | None:
    """What it means that a message is still where it is: answered, or read and left there for a while.

    `age`: seconds since it appeared. That it was answered is a decision; that it was read may be a rule's mark, or
    somebody who did not care. None where it means nothing.
    """
    if not learns_kept(role, False, learning) or name.trashed or origin not in KEPT_ORIGINS:
        return None
    if name.replied:
        return Meaning(Do.LEARN_HAM, "answered", How.KEPT)
    if name.seen and age >= learning.kept_days * 86_400 and origin != "waiting":
        return Meaning(Do.LEARN_HAM, "read and kept", How.KEPT, weak=True)
    return None


def label_of_keywords(keywords: Iterable[str]) -> Label | None:
    """What a client's keywords call the message; None where they call it nothing, or both."""
    written = {keyword.lower() for keyword in keywords}
    spam, ham = bool(written & _SPAM_KEYWORDS), bool(written & _HAM_KEYWORDS)
    return None if spam == ham else Label.SPAM if spam else Label.HAM
