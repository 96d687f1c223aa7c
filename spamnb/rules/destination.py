"""Decide where a judged message goes. Pure: values in, a decision out."""

import math
from collections.abc import Callable, Collection, Set
from dataclasses import dataclass
from typing import NamedTuple

from spamnb.base.label import Label, Role, Verdict
from spamnb.ledger.history.senders import Learned
from spamnb.mail.relations import Relations
from spamnb.rules.moving import Hindrance

MARKS = frozenset("DFPRST")  # a person's marks on a message: all of Maildir's flags
_FEWEST = 20  # messages of a day that show whether too many are of newcomers
_NEWCOMER = "from somebody you do not know yet"
# A probability. With this folder, no ham of a careless person is in Junk in five lives instead of two, and a tidy one
# gets 0.4 spam per week more in it: docs/evidence/accuracy.md, "Strangers and newsletters apart".
_SURELY_SPAM = 0.97
NEAR_COPY = "a near-copy of a message that a person called spam"
UNKNOWN_LIST = "from a mailing list that you do not know yet"
DISCUSSION = "from a discussion list, and not surely spam"
_HAM_OF_LIST, _SPAM_OF_LIST = 6, 5  # learned messages of one list that make it known
_OLD = 200  # learned ham
# A probability. With 0.98, 0.985 and 0.995 the first day of a mailbox with lists moves 1.4, 0.6 and 0.2 instead of 0.4
# ham; the lives by Date move one ham more, one more, none more (csdmc2010, laboratory).
_SURELY_OF_LIST = 0.99
# Words, and the part of the words of two messages that both have. docs/evidence/accuracy.md: with half instead of four
# fifths, ham of csdmc2010 is near spam.
_LEAST_WORDS, _LEAST_ALIKE = 20, 0.8


@dataclass(frozen=True, slots=True)
class Destination:
    """The role of the folder for a judged message (None: it stays), and why, in words for people.

    withheld: the filter would move the message, but moving is stopped.
    """

    goal: Role | None
    why: str
    withheld: bool = False


class Opinion(NamedTuple):
    """What the filter thinks of a message.

    why_unsure: why the verdict is unsure, whatever the probability, in words; or "". is_barely: it is called spam, but
    not surely (`is_barely_spam`). is_blocked: it is spam since the person blocks its sender or list. is_near_copy: of a
    message that the person called spam, and nothing says that it is wanted.
    """

    verdict: Verdict
    why_unsure: str = ""
    is_barely: bool = False
    is_blocked: bool = False
    is_near_copy: bool = False


class ByPerson(NamedTuple):
    """What the person has done with a message.

    flags: Maildir's letters. label: what the person has called it, or None. rescued: it was once taken out of spam.
    """

    flags: str = ""
    label: Label | None = None
    rescued: bool = False


class FromWhom(NamedTuple):
    """What the person knows of a sender.

    newsletter: why the message belongs to the newsletters, in words; or "". is_newcomer: the person does not know the
    sender. are_many: too much mail of newcomers has come (`too_many_newcomers`).
    """

    newsletter: str = ""
    is_newcomer: bool = False
    are_many: bool = False


def destination_of(
    opinion: Opinion, by_person: ByPerson, sender: FromWhom, hindrance: Hindrance, goals: Collection[Role]
) -> Destination:
    """Return the destination that follows from a verdict on new mail: the first row of the table that applies.

    goals: the roles of the folders that mail may be moved to; spam is one of them.

    What a person orders needs no lessons: what the filter must still learn does not keep such mail from being moved.
    """
    verdict, why_unsure, is_barely, is_blocked, is_near_copy = opinion
    flags, label, rescued = by_person
    newsletter, is_newcomer, are_many = sender
    is_near_copy = is_near_copy and label is None
    is_ordered = label == Label.SPAM or is_near_copy or (is_blocked and verdict is Verdict.SPAM)
    verdict = Verdict.SPAM if is_ordered else verdict
    spam = "a person called this message spam" if label == Label.SPAM else NEAR_COPY if is_near_copy else "spam"
    because = f": {why_unsure}" if why_unsure and verdict is Verdict.UNSURE else ""
    newcomer, is_newcomer = f"{verdict}, {_NEWCOMER}", is_newcomer and Role.NEWCOMERS in goals
    is_spared = is_barely and is_newcomer and not are_many and label is None and not is_ordered
    wishes: tuple[tuple[bool, Role | None, str], ...] = (
        (label == Label.HAM, None, "a person called this message ham"),
        (is_spared, Role.NEWCOMERS, f"perhaps {newcomer}"),
        (verdict is Verdict.SPAM, Role.SPAM, spam),
        (bool(newsletter) and Role.NEWSLETTERS in goals, Role.NEWSLETTERS, f"{verdict}, {newsletter}{because}"),
        (is_newcomer and not are_many, Role.NEWCOMERS, f"{newcomer}{because}"),
        (verdict is Verdict.UNSURE and Role.UNSURE in goals, Role.UNSURE, f"unsure{because}"),
        (is_newcomer, None, f"{newcomer}, like more than half of the mail of the last day{because}"),
        (True, None, f"{verdict}{because}"),
    )
    goal, why = next((goal, why) for applies, goal, why in wishes if applies)
    stopped = f"{verdict}, but moving is stopped: `spamnb resume` starts it again"
    not_yet = f"{verdict}, but nothing is moved yet: {hindrance.missing}"
    table = (
        (goal is None, Destination(None, why)),
        (rescued, Destination(None, f"{verdict}, but a person rescued this message once")),
        (not MARKS.isdisjoint(flags), Destination(None, f"{verdict}, but a person has read or marked it")),
        (bool(hindrance.missing) and not is_ordered, Destination(None, not_yet)),
        (hindrance.stop is not None, Destination(None, stopped, withheld=True)),
        (True, Destination(goal, why)),
    )
    return next(destination for applies, destination in table if applies)


def is_barely_spam(verdict: Verdict, probability: float, listed: str) -> bool:
    """Tell whether a message is called spam, but not surely. listed: the pattern of `senders` that decided, or "".

    >>> is_barely_spam(Verdict.SPAM, 0.96, ""), is_barely_spam(Verdict.SPAM, 0.98, "")
    (True, False)
    """
    return verdict is Verdict.SPAM and probability < _SURELY_SPAM and not listed


def why_list_mail_stays(
    verdict: Verdict,
    probability: float,
    listed: str,
    relations: Relations,
    learned_ham: int,
    of_list: Callable[[], Learned],
) -> str:
    """Return why mail of a list is unsure and not spam, in words; "" if it is not of a list, or not spared.

    listed: the pattern of `senders` that decided, or "". of_list: returns what is learned of this list.

    The ham that a young filter moves is the first mail of discussion lists, with probabilities of 0.97 to 0.999. So a
    young filter moves no mail of a list that it does not know. A list is known if ham of it was learned, and not if
    spam came over it: spam comes over discussion lists too. So as long as the filter is young, or does not know the
    list, mail of a discussion list is surely spam or unsure. Neither holds for a list that sends spam alone.
    docs/evidence/accuracy.md has the figures, also of other numbers, and of mail that has other marks of a list.

    >>> news, talk = Relations(list_id="news.example"), Relations(list_id="talk.example", is_discussion=True)
    >>> why_list_mail_stays(Verdict.SPAM, 0.999, "", news, 199, lambda: Learned(ham=5, spam=9))
    'from a mailing list that you do not know yet'
    >>> why_list_mail_stays(Verdict.SPAM, 0.98, "", talk, 200, Learned)
    'from a mailing list that you do not know yet'
    >>> why_list_mail_stays(Verdict.SPAM, 0.98, "", talk, 199, lambda: Learned(ham=6))
    'from a discussion list, and not surely spam'
    >>> why_list_mail_stays(Verdict.SPAM, 0.98, "", talk, 200, lambda: Learned(ham=6))
    ''
    >>> [why_list_mail_stays(Verdict.SPAM, each, "", talk, 200, Learned) for each in (0.99, 0.999)]
    ['', '']
    >>> [why_list_mail_stays(Verdict.SPAM, 0.96, "", each, 20, lambda: Learned(ham=0, spam=5)) for each in (news, talk)]
    ['', '']
    """
    if verdict is not Verdict.SPAM or listed or not relations.list_id:
        return ""
    is_barely, young = relations.is_discussion and probability < _SURELY_OF_LIST, is_young(learned_ham)
    if not is_barely and not young:
        return ""
    ham, spam = of_list()
    if not ham and spam >= _SPAM_OF_LIST:
        return ""
    if ham < _HAM_OF_LIST:
        return UNKNOWN_LIST
    return DISCUSSION if is_barely and young else ""


def is_young(learned_ham: int) -> bool:
    """Tell whether a filter has learned so little ham that it moves no mail of a list that it does not know.

    With 100 instead of 200 ham, more ham is lost on other mail than csdmc2010. With 500, a point less of the spam is
    caught in week 4 (laboratory).
    """
    return learned_ham < _OLD


def is_near_copy(words: Set[str], others: Set[str]) -> bool:
    """Tell whether two messages share most of the words of their texts. A text of a few words is never a near-copy.

    >>> text = {f"word{number}" for number in range(20)}
    >>> is_near_copy(text, text | {"more"}), is_near_copy(text, {"ok"}), is_near_copy({"ok"}, {"ok"})
    (True, False, False)
    """
    least = min(len(words), len(others))
    return least >= _LEAST_WORDS and len(words & others) >= _LEAST_ALIKE * len(words | others)


def shared_by_near_copies(words: Set[str]) -> int:
    """Return how many of these words each near-copy of their message has at least; 0 if it can have none.

    >>> shared_by_near_copies({f"word{number}" for number in range(21)}), shared_by_near_copies({"ok"})
    (17, 0)
    """
    return math.ceil(_LEAST_ALIKE * len(words)) if len(words) >= _LEAST_WORDS else 0


def too_many_newcomers(newcomers: int, judged: int) -> bool:
    """Tell whether no more mail goes to the folder for newcomers, since too much of a day's mail has gone there.

    newcomers: the messages of the last day that went there. judged: all that were judged. If more than half of them are
    of newcomers, the filter does not know the person's mail: it may have lost its ledger, say.

    >>> too_many_newcomers(11, 20), too_many_newcomers(10, 20), too_many_newcomers(19, 19)
    (True, False, False)
    """
    return judged >= _FEWEST and newcomers > judged / 2
