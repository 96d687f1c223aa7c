"""Decide the reaction to a message from its place, the time since it came, and a mail client's keywords. Pure.

`reaction_to` decides about a file that appeared: the table of tests/rules/test_reactions.py. `reaction_to_kept` decides
about mail that stayed in its place. If the reaction is to judge a message, `rules.destination` decides where it goes.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from spamnb.base.label import How, Label, Origin, Role, Verdict, contradicts
from spamnb.config import Learning
from spamnb.ledger.history.locations import Location
from spamnb.rules.weak_lessons import LEFT_BEHIND, Silence

_SPAM_KEYWORDS = frozenset({"$junk", "junk"})  # RFC 9051, 2.3.2, and Thunderbird's spelling
_HAM_KEYWORDS = frozenset({"$notjunk", "notjunk", "nonjunk"})
# A mail server may deliver one message to several addresses of a person, as files that are the same to the last byte.
# It does so at once. A person has to see a message before copying it.
COPY_SECONDS = 30.0
TRAINING = (Role.TRAIN_SPAM, Role.TRAIN_HAM)
_KEPT_ROLES = (Role.INBOX, Role.HAM, Role.NEWSLETTERS, Role.NEWCOMERS)
_KEPT_ORIGINS: tuple[Origin, ...] = ("appeared", "undo", "waiting")
_NOT_TRUSTED = "first seen there, and learning.trust_delivery is false: move it there from another folder to teach it"


def taught_by(role: Role) -> Label | None:
    """Return the label for mail that is learned in a folder of this role."""
    if role.is_neutral or role.is_apart:
        return None
    return Label.SPAM if role in (Role.SPAM, Role.TRAIN_SPAM) else Label.HAM


@dataclass(frozen=True, slots=True)
class PastPlace:
    """A place of the message, now or in the past. Places that the filter emptied itself are not included.

    by_filter: the filter moved it there. is_gone: it is no longer there, or is marked as deleted.
    same_delivery: it is the same delivery of the message as the file in question.
    same_file: both names are one file (a copy that an IMAP server made by a hard link).
    since: when it came there, in seconds since the epoch. lag: seconds from then until the file in question appeared.
    left_recently: if it is gone, it left shortly before the file in question appeared, or later.
    left_as_it_appeared: it left when the file in question appeared, or later, or is marked as deleted.
    alike: only Message-ID, Date and From agree: the message was changed on its way, or this is a forgery. It may show
    where the file came from. It passes no label on.
    is_letter: the file there is a letter that the filter itself wrote.
    """

    role: Role
    same_folder: bool
    by_filter: bool
    is_gone: bool
    same_delivery: bool
    same_file: bool
    since: float
    lag: float
    left_recently: bool = True
    left_as_it_appeared: bool = False
    alike: bool = False
    is_letter: bool = False

    @property
    def is_of_the_message(self) -> bool:
        """Tell whether it is a place of the very message, in this delivery."""
        return self.same_delivery or self.same_file

    @property
    def is_linked_later(self) -> bool:
        """Tell whether the file in question is a second name that somebody gave to this file after its delivery.

        A delivery, a rule or a program that saves space gives the second name soon after the first. At that time the
        filter has not moved the first to spam yet. Such a name does not count as a decision.
        """
        return self.same_file and (self.lag >= COPY_SECONDS or (self.role.is_goal and self.lag > 0))


def left_recently(gone_at: float, appeared: float, dwell: float, *, alike: bool) -> bool:
    """Tell whether a place was left when the file in question appeared, or shortly before.

    Times are seconds since the epoch; dwell: the seconds that a file lies in its place until the filter looks at it.
    alike: see `PastPlace`; long after the file has appeared, that its place was left is chance.

    >>> [left_recently(gone_at, 100.0, 5.0, alike=True) for gone_at in (69.0, 70.0, 135.0, 136.0)]
    [False, True, True, False]
    """
    return gone_at >= appeared - COPY_SECONDS and not (alike and gone_at > appeared + COPY_SECONDS + dwell)


class Step(Enum):
    """What to do with a file that appeared."""

    NOTHING = auto()
    LETTER = auto()  # nothing too: a letter of the filter's own has another name
    JUDGE = auto()
    ADOPT = auto()  # a rule has filed it by the verdict at delivery: this counts as the filter's own move
    WAIT = auto()  # until the other file of this delivery leaves spam, which decides about this file
    LEARN_HAM = auto()
    LEARN_SPAM = auto()
    LEARN_HAM_AND_FILE = auto()
    LEARN_SPAM_AND_FILE = auto()


_LABELS: Final = {
    Step.LEARN_HAM: Label.HAM,
    Step.LEARN_SPAM: Label.SPAM,
    Step.LEARN_HAM_AND_FILE: Label.HAM,
    Step.LEARN_SPAM_AND_FILE: Label.SPAM,
}


@dataclass(frozen=True, slots=True)
class Reaction:
    """The reaction to a file, and why, in words for people.

    how: the cause of the judging or learning. weak: perhaps no person has decided. doubtful: it is only learned if the
    filter does not doubt it. rescued: a person wants the message in this folder. sorts: the role of the folder for
    the next mail of this list or sender, if the move says that. log_it: write a log line although nothing is done.
    """

    step: Step
    why: str
    how: How = How.MAILDIR
    weak: bool = False
    doubtful: bool = False
    rescued: bool = False
    sorts: Role | None = None
    log_it: bool = False

    @property
    def label(self) -> Label | None:
        """Return the label that its message is learned with, or None."""
        return _LABELS.get(self.step)

    @property
    def files(self) -> bool:
        """Tell whether the file goes to the folder of its label when it is learned."""
        return self.step in (Step.LEARN_HAM_AND_FILE, Step.LEARN_SPAM_AND_FILE)


@dataclass(frozen=True, slots=True)
class Facts:
    """The known facts about a file that appeared, before anything is written.

    role: of its folder. decision: what a person has called its message, or None. places: all other places of the
    message. verdict: the filter's, if it is remembered.
    early_verdict: the filter's verdict at delivery, before the message came, or None. has_known_name: it was in this
    folder before, under this name. is_one_of_many: it is one of many known messages that appeared at once.
    role_is_configured: the configuration names the folder; else the folder has the role of its parent.
    """

    role: Role
    decision: Label | None = None
    places: Sequence[PastPlace] = ()
    verdict: str | None = None
    early_verdict: str | None = None
    has_known_name: bool = False
    is_one_of_many: bool = False
    role_is_configured: bool = True


def reaction_to(facts: Facts, *, trust_delivery: bool = True) -> Reaction:
    """Return the reaction to a file that appeared: the first row of the table that applies."""
    role, places = facts.role, facts.places
    source = _came_from(role, places)
    came_from = None if source is None else source.role
    from_goal = came_from is not None and came_from.is_goal
    is_still_there = source is not None and not source.is_gone and not source.same_file
    known = _latest(_may_have_come_from(places))
    was_filed_early = facts.early_verdict == Verdict.SPAM and all(place.role is Role.SPAM for place in places)
    was_judged_spam = not places and facts.verdict == Verdict.SPAM
    known_spam = known is not None and known.role is Role.SPAM
    known_ham = known is not None and known.role is Role.HAM
    came_with_folder = known_ham and not facts.role_is_configured
    is_sorted = came_from is not None and not came_from.is_neutral
    is_meaningless = taught_by(role) is None and role is not Role.NEWSLETTERS
    nothing = Reaction(Step.NOTHING, "in a folder without a meaning")
    taken_out = Reaction(Step.LEARN_HAM, f"a person took it out of {came_from}", How.MOVE, rescued=True)
    mover = "the filter" if known is not None and known.by_filter else "a person"
    # In a training folder the header alone proves nothing: a sender can write the header of any message.
    moved_to_train = _was_elsewhere([place for place in places if not place.alike])

    any_role, home = tuple(Role), (Role.INBOX, Role.HAM)
    spam, ham, inbox, newsletters = (Role.SPAM,), (Role.HAM,), (Role.INBOX,), (Role.NEWSLETTERS,)
    table: tuple[tuple[tuple[Role, ...], bool, Reaction], ...] = (
        # Columns: the roles of the folder, the condition, the reaction.
        (any_role, _is_letter(facts), Reaction(Step.LETTER, "a letter of the filter")),
        (TRAINING, not trust_delivery and not moved_to_train, Reaction(Step.NOTHING, _NOT_TRUSTED, log_it=True)),
        (TRAINING[:1], True, Reaction(Step.LEARN_SPAM_AND_FILE, "put into a folder for training spam", How.MOVE)),
        (TRAINING[1:], True, Reaction(Step.LEARN_HAM_AND_FILE, "put into a folder for training ham", How.MOVE)),
        (any_role, is_meaningless, nothing),
        (any_role, _is_restored(facts), Reaction(Step.NOTHING, "restored or fetched again")),
        (any_role, source is not None and source.same_folder, Reaction(Step.NOTHING, "renamed in its folder")),
        (newsletters, came_from is Role.SPAM, replace(taken_out, sorts=role)),
        (newsletters, is_sorted, Reaction(Step.NOTHING, "a person sorted it", sorts=role)),
        (newsletters, True, nothing),
        (spam, came_from is Role.SPAM, Reaction(Step.NOTHING, "moved from one spam folder to another")),
        # Its spam folder was renamed, or a synchroniser or a person copied it: nobody took it out in between.
        (spam, known_spam, Reaction(Step.NOTHING, f"{mover} had put it into spam")),
        # A folder was moved into Junk, and a synchroniser brings its mail as new files: nobody called the mail spam.
        (spam, came_with_folder, Reaction(Step.NOTHING, "filed mail, in a folder that was moved into spam")),
        (spam, _was_elsewhere(places), Reaction(Step.LEARN_SPAM, "a person put it into a spam folder", How.MOVE)),
        (spam, was_filed_early, Reaction(Step.ADOPT, "filed by the verdict given at delivery")),
        # The ledger may have forgotten the message's places: the filter may have put it there.
        (spam, was_judged_spam, Reaction(Step.NOTHING, "first seen there, judged as spam before")),
        (spam, _is_second_name(places), Reaction(Step.NOTHING, "a second name of one delivery")),
        (spam, not trust_delivery, Reaction(Step.NOTHING, _NOT_TRUSTED, log_it=True)),
        (spam, True, Reaction(Step.LEARN_SPAM, "first seen in a spam folder", How.SEEN, weak=True)),
        (home, from_goal and is_still_there, Reaction(Step.WAIT, f"the same delivery is in {came_from}", log_it=True)),
        (inbox, came_from is Role.NEWSLETTERS, replace(taken_out, sorts=role)),
        (home, from_goal, taken_out),
        (ham, source is not None, Reaction(Step.LEARN_HAM, "a person filed it", How.MOVE)),
        (ham, True, Reaction(Step.NOTHING, "delivered into a ham folder")),
        (inbox, source is not None, Reaction(Step.NOTHING, "a person moved it to the inbox")),
        (inbox, facts.decision == Label.HAM, Reaction(Step.NOTHING, "a person called this message ham")),
        (inbox, True, Reaction(Step.JUDGE, "new mail")),
    )
    return next(reaction for roles, applies, reaction in table if role in roles and applies)


def _is_letter(facts: Facts) -> bool:
    """Tell whether the file is a letter that the filter wrote: the latest place of its delivery holds one.

    In the inbox a copy of its bytes beside it is a stranger's message. If the letter has left its place, they are the
    letter, as for any mail.
    """
    own = _latest(_may_have_come_from(facts.places))
    return own is not None and own.is_letter and (own.is_gone or own.same_file or facts.role is not Role.INBOX)


def _was_elsewhere(places: Sequence[PastPlace]) -> bool:
    """Tell whether the message came from another folder, so that somebody decided where it is.

    Its folder and flags prove nothing: a rule can deliver into any folder, and mark as read. Another file of the
    message that appeared at about the same time proves nothing either: one delivery may write several.
    """
    return any(
        (place.is_gone and place.left_recently if place.alike else place.is_gone or place.lag >= COPY_SECONDS)
        for place in places
        if not place.same_folder and (place.is_of_the_message or place.alike)
    )


def _is_second_name(places: Sequence[PastPlace]) -> bool:
    """Tell whether the file has another name in another folder: the message is judged there."""
    return any(place.same_file and not place.same_folder and not place.is_gone for place in places)


def _is_restored(facts: Facts) -> bool:
    """Tell whether a program put the file there that had it from elsewhere, and not a person.

    A backup brings mail under its old names. A synchroniser that has lost its state fetches what is in spam again,
    under new names. It fetches so much mail at once that a person would rather have moved than copied it. A message
    that has just left another place was moved.
    """
    places = facts.places
    if any(place.is_gone and place.left_recently and place.same_delivery for place in places):
        return False
    if facts.has_known_name:
        return True
    if not facts.is_one_of_many or any(place.same_file for place in places):
        return False
    same = [place for place in places if place.same_delivery]
    return any(place.role is Role.SPAM or (place.role.is_goal and facts.role is not Role.SPAM) for place in same)


def _came_from(role: Role, places: Sequence[PastPlace]) -> PastPlace | None:
    """Return the place from which a person took the message: the latest place of this delivery that it has left.

    A place that it has not left counts only if a mail program copied it. Then the mail program gave the file a second
    name after its delivery, or the copy appeared in the inbox long after the first. (A synchroniser may remove the
    original at its next run. In other folders, labels and rules make copies at any time.) Any other file elsewhere is
    another delivery of the same message.

    A message that is only alike counts if it has just left, and never in the inbox: anyone can write these fields.
    """
    own = _latest(
        place
        for place in _may_have_come_from(places)
        if (place.same_delivery and (place.is_gone or (role is Role.INBOX and place.lag >= COPY_SECONDS)))
        or place.is_linked_later
    )
    if own is not None or role is Role.INBOX:
        return own
    return _latest(place for place in places if place.alike and place.is_gone and place.left_recently)


def _may_have_come_from(places: Sequence[PastPlace]) -> list[PastPlace]:
    """Return the places of this delivery. If it has just left some, return only these: the message was moved.

    Otherwise a message with a second name in an archive would seem to come from there when it is taken out of spam.
    """
    own = [place for place in places if place.is_of_the_message]
    gone = [place for place in own if place.is_gone]
    return gone if any(place.left_as_it_appeared for place in gone) else own


def _latest(places: Iterable[PastPlace]) -> PastPlace | None:
    """Return the latest place with a meaning: mail rescued from the trash comes from its place before the trash."""
    return max(places, key=lambda place: (not place.role.is_neutral, place.since), default=None)


def origin_of(step: Step, before: Collection[Origin]) -> Origin:
    """Return the origin that is recorded for a file that appeared.

    before: the origins of files of its delivery that were in the same folder. Mail from before the filter keeps that
    origin under any name: it does not count as kept mail. A file that waits goes on waiting if it is renamed.
    """
    if step is Step.LETTER:
        return "letter"
    if step is Step.WAIT or (step is Step.NOTHING and "waiting" in before):
        return "waiting"
    return "before" if "before" in before else "appeared"


def waits_until(locations: Iterable[Location], is_spam: Callable[[Location], bool], dwell: float) -> dict[bytes, float]:
    """Return per delivery until when a file waits for the delivery's other files that are or were in spam.

    Seconds since the epoch: one dwell after the last of them has left; infinity while one is there. A delivery that is
    not listed was never in spam in its present form (a move was undone, or the folder has another role).
    """
    ends: dict[bytes, float] = {}
    for location in locations:
        if location.origin != "waiting" and is_spam(location):
            has_left = location.gone_at is not None or "T" in location.flags
            end = (location.gone_at or 0.0) + dwell if has_left else float("inf")
            ends[location.content] = max(end, ends.get(location.content, end))
    return ends


def reaction_to_end_of_waiting(
    other_left_spam: bool, called_spam_since: bool, *, left_newsletters: bool = False
) -> Reaction:
    """Return the reaction to a file that no longer waits for the other file of its delivery (`waits_until`).

    other_left_spam: the other file was in spam, and has left; otherwise it was never spam in its present form.
    called_spam_since: a person has called the message spam since the file came: then the other file was deleted as
    spam. left_newsletters: the other file was among the newsletters.
    """
    if other_left_spam and not called_spam_since:
        why, sorts = "the other file of its delivery was taken out of spam", Role.INBOX if left_newsletters else None
        return Reaction(Step.LEARN_HAM, why, How.MOVE, rescued=True, sorts=sorts)
    return Reaction(Step.NOTHING, "the other file of its delivery was deleted as spam, or is not spam")


def learns_kept(role: Role, learning: Learning) -> bool:
    """Tell whether mail that stays in such a folder may be learned as ham for that reason."""
    return learning.kept and role in _KEPT_ROLES


def kept_origins(role: Role) -> tuple[Origin, ...]:
    """Return who may have put the mail there that a person keeps in a folder of this role.

    Mail that was in the mailbox before the filter does not count. Mail that the filter moved counts only among the
    newsletters: in the inbox or a ham folder, the folder has another role than at that time. Among the newcomers no
    other mail counts: the person has put it there, or an undo.
    """
    if role is Role.NEWCOMERS:
        return ("filter",)
    return (*_KEPT_ORIGINS, "filter") if role is Role.NEWSLETTERS else _KEPT_ORIGINS


def reaction_to_kept(
    flags: str,
    role: Role,
    age: float,
    learning: Learning,
    origin: Origin = "appeared",
    *,
    left_behind: Reaction | None = None,
) -> Reaction | None:
    """Return the reaction to a message that is still in its place: answered, or read and left there for a while.

    flags: Maildir's letters. age: seconds since it appeared. left_behind: the reaction if a person has left it behind.
    An answer is a decision, and the letter of a newcomer then goes to the inbox. A rule may have marked the message as
    read, or the reader may not care about spam. None if it means nothing.
    """
    if not learns_kept(role, learning) or "T" in flags or origin not in kept_origins(role):
        return None
    if role is Role.NEWCOMERS:
        return ANSWERED_NEWCOMER if "R" in flags else None
    if "R" in flags:
        return Reaction(Step.LEARN_HAM, "answered", How.KEPT)
    if left_behind is not None:
        return left_behind
    if "S" in flags and age >= learning.kept_days * 86_400 and origin != "waiting":
        return Reaction(Step.LEARN_HAM, "read and kept", How.KEPT, weak=True, doubtful=True)
    return None


def reaction_to_left_behind(
    is_called_spam: bool, *, knows_enough: bool, has_begun: bool, is_spared: bool = False
) -> Reaction | None:
    """Return the reaction to mail from before moving began that a person has read, while moving later mail to spam.

    This person has passed it by. is_called_spam: by the filter, when it came. knows_enough: the filter knows enough to
    begin. Then it would move such mail, so it learns what the person has left of it, whatever it thinks of that. Once
    moving has begun, it learns no other mail so. is_spared: it came after moving began, and the filter did not move it,
    since it does not know its list.
    """
    if has_begun and not is_called_spam:
        return None
    is_doubtful = is_spared or not (is_called_spam and knows_enough)
    return Reaction(Step.LEARN_HAM, LEFT_BEHIND, How.KEPT, weak=True, doubtful=is_doubtful)


def reaction_to_silence(silence: Silence) -> Reaction:
    """Return the reaction to spam that the filter moved to Junk some time ago, and that nobody has taken out."""
    return Reaction(Step.LEARN_SPAM, silence.why, silence.how, weak=True, doubtful=True)


# To a letter in the folder for newcomers that the person has answered.
ANSWERED_NEWCOMER = Reaction(Step.LEARN_HAM_AND_FILE, "answered", How.KEPT)


def reaction_to_keywords(
    label: Label,
    verdict: str | None,
    role: Role = Role.INBOX,
    flags: str = "",
    origin: Origin = "appeared",
    *,
    moves: bool = False,
    is_wanted: bool = False,
) -> Reaction:
    """Return the reaction to new junk keywords of a mail client that give the message this label.

    verdict: the filter's, if it is remembered. role: of the folder. flags: Maildir's letters. origin: who put the file
    there. moves: the configuration lets marked messages move. is_wanted: a person has called the message ham, or has
    rescued it.

    The lesson is weak, since software writes keywords too, unless they contradict the verdict. Software does not mark
    mail in spam as ham, so there this is a decision, if it moves the message. Mail from before the filter is never
    moved, nor is mail that a program is about to delete since it has copied it. A letter of the filter teaches nothing.
    """
    if origin == "letter":
        return Reaction(Step.NOTHING, "a letter of the filter")
    is_spam, why = label is Label.SPAM, "marked by a mail client"
    weak = not contradicts(label, verdict)
    leaves = (role in (Role.INBOX, Role.HAM) or role.is_apart) if is_spam else role is Role.SPAM
    if not moves or not leaves or origin == "before" or "T" in flags or (is_spam and weak and is_wanted):
        return Reaction(Step.LEARN_SPAM if is_spam else Step.LEARN_HAM, why, How.KEYWORD, weak=weak)
    if is_spam:
        return Reaction(Step.LEARN_SPAM_AND_FILE, why, How.KEYWORD, weak=weak)
    return Reaction(Step.LEARN_HAM_AND_FILE, why, How.KEYWORD, rescued=True)


def reaction_to_tag(is_tagged: bool, verdict: str | None) -> Reaction | None:
    """Return the reaction to a message that has got the tag for spam in notmuch, or has lost it; None for nothing.

    verdict: the filter's, if it is remembered. A hook may write the verdict as a tag, so that teaches nothing. Nothing
    but a person takes the tag away.
    """
    if not is_tagged:
        return Reaction(Step.LEARN_HAM, "no longer tagged as spam in notmuch", How.KEYWORD)
    if verdict == Verdict.SPAM:
        return None
    return Reaction(
        Step.LEARN_SPAM, "tagged as spam in notmuch", How.KEYWORD, weak=not contradicts(Label.SPAM, verdict)
    )


def label_of_keywords(keywords: Iterable[str]) -> Label | None:
    """Return the label that a client's keywords give to the message; None if they give none, or both."""
    written = {keyword.lower() for keyword in keywords}
    spam, ham = bool(written & _SPAM_KEYWORDS), bool(written & _HAM_KEYWORDS)
    return None if spam == ham else Label.SPAM if spam else Label.HAM
