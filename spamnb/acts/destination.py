"""Find out the destination of a judged message: ask the ledger what a person has said of it, and apply the rules."""

from collections.abc import Collection
from typing import NamedTuple

from spamnb.acts.newcomers import knows_enough, why_known
from spamnb.acts.newsletters import sorted_to
from spamnb.base.label import Role, Verdict
from spamnb.config import Config, Mailbox
from spamnb.filter.judge import Judgement
from spamnb.ledger.history.messages import MessageRow
from spamnb.ledger.history.senders import Learned
from spamnb.ledger.ledger import Ledger
from spamnb.mail.relations import Relations
from spamnb.rules.destination import (
    ByPerson,
    Destination,
    FromWhom,
    Opinion,
    destination_of,
    is_barely_spam,
    too_many_newcomers,
    why_list_mail_stays,
)
from spamnb.rules.moving import Hindrance
from spamnb.rules.newsletters import newsletter

_DAY = 86_400.0  # seconds
_BY_SENDER = {Role.NEWSLETTERS, Role.NEWCOMERS}


class JudgedMail(NamedTuple):
    """A file of a message that was just judged.

    flags: Maildir's letters. is_near_copy: see `acts.ordered`; asked only while the filter has not begun.
    """

    known: MessageRow
    relations: Relations
    judgement: Judgement
    flags: str
    is_near_copy: bool = False


def destination(
    ledger: Ledger, config: Config, mailbox: Mailbox, mail: JudgedMail, hindrance: Hindrance, now: float
) -> Destination:
    """Return the destination of a message by its verdict; call it in the transaction that would move it.

    It looks up a person's decision again, since judging took time. It asks the lessons, not this host's records:
    another host may have learned the message, or this one may have stopped between learning and recording.

    config: with the person's choices. now: seconds since the epoch.
    """
    lesson = ledger.lessons.find(mail.known.digest)
    judgement = spare_list_mail(ledger, mail.judgement, mail.relations)
    verdict, probability, listed = judgement.verdict, judgement.probability, judgement.listed
    is_barely, why_newsletter, is_newcomer = is_barely_spam(verdict, probability, listed), "", False
    if (verdict is not Verdict.SPAM or is_barely) and not _BY_SENDER.isdisjoint(mailbox.goals):
        goals = mailbox.goals.keys() - ({Role.NEWSLETTERS} if is_barely else set())
        why_newsletter, is_newcomer = _by_sender(ledger, config, goals, mail.relations)
    opinion = Opinion(verdict, judgement.why_unsure, is_barely, bool(listed), mail.is_near_copy and not listed)
    decision = None if lesson is None else lesson.decision
    by_person = ByPerson(mail.flags, decision, mail.known.rescued_at is not None)
    sender = FromWhom(why_newsletter, is_newcomer, is_newcomer and _are_many(ledger, now))
    return destination_of(opinion, by_person, sender, hindrance, mailbox.goals)


def spare_list_mail(ledger: Ledger, judgement: Judgement, relations: Relations) -> Judgement:
    """Return a judgement; it is unsure if the filter calls mail of a list spam, but knows too little of the list.

    Only the place of the message and the answer at delivery follow from that. The recorded verdict is spam: a filter
    that has not begun waits until its person has sorted such mail too.
    """

    def of_list() -> Learned:
        return ledger.senders.learned("", relations.list_id)[1]

    ham = int(ledger.lessons.totals()[0]) if relations.list_id and judgement.verdict is Verdict.SPAM else 0
    verdict, probability, listed = judgement.verdict, judgement.probability, judgement.listed
    why = why_list_mail_stays(verdict, probability, listed, relations, ham, of_list)
    return judgement._replace(verdict=Verdict.UNSURE, vouched=why) if why else judgement


def _by_sender(ledger: Ledger, config: Config, goals: Collection[Role], relations: Relations) -> tuple[str, bool]:
    """Return why a message belongs to the newsletters, in words or "", and whether it is one of a newcomer.

    Each counts only if its role is one of the goals. Mail that a person sorts is not from a newcomer.
    """
    (seen,) = ledger.lessons.seen([relations])
    if Role.NEWSLETTERS in goals:
        chosen = sorted_to(ledger, relations)
        why = newsletter(relations, seen, chosen)
        if why or chosen is Role.INBOX:
            return why, False
    if Role.NEWCOMERS not in goals:
        return "", False
    return "", not why_known(ledger, config, relations, seen) and knows_enough(ledger, config)


def _are_many(ledger: Ledger, now: float) -> bool:
    """Tell whether too much mail of the last day was put apart as that of newcomers."""
    (judged,) = ledger.figures.judged([now - _DAY, now + 1])
    return too_many_newcomers(ledger.journal.moved_to(Role.NEWCOMERS, now - _DAY), judged.messages)
