"""Find out the destination of a judged message: ask the ledger what a person has said of it, and apply the rules."""

from typing import NamedTuple

from spamnb.acts.may_move import Hindrance
from spamnb.acts.newcomers import knows_enough, why_known
from spamnb.acts.newsletters import sorted_to, why_newsletter
from spamnb.base.label import Role, Verdict
from spamnb.config import Config, Mailbox
from spamnb.filter.judge import Judgement
from spamnb.ledger.history.messages import MessageRow
from spamnb.ledger.ledger import Ledger
from spamnb.mail.relations import Relations
from spamnb.rules.destination import Destination, destination_of, too_many_newcomers

_DAY = 86_400.0  # seconds


class JudgedMail(NamedTuple):
    """A file of a message that was just judged. flags: Maildir's letters."""

    known: MessageRow
    relations: Relations
    judgement: Judgement
    flags: str


def destination(
    ledger: Ledger, config: Config, mailbox: Mailbox, mail: JudgedMail, hindrance: Hindrance, now: float
) -> Destination:
    """Return the destination of a message by its verdict; call it in the transaction that would move it.

    It looks up a person's decision again, since judging took time. It asks the lessons, not this host's records:
    another host may have learned the message, or this one may have stopped between learning and recording.

    config: with the person's choices. now: seconds since the epoch.
    """
    lesson = ledger.lessons.find(mail.known.digest)
    goals = {} if mail.judgement.verdict is Verdict.SPAM else mailbox.goals
    sorts = Role.NEWSLETTERS in goals
    newsletter = why_newsletter(ledger, mail.relations) if sorts else ""
    has_place = bool(newsletter) or (sorts and sorted_to(ledger, mail.relations) is Role.INBOX)
    is_newcomer = Role.NEWCOMERS in goals and not has_place and _is_newcomer(ledger, config, mail.relations)
    return destination_of(
        mail.judgement.verdict,
        mail.flags,
        None if lesson is None else lesson.decision,
        hindrance.missing,
        hindrance.stop is not None,
        mailbox.goals,
        rescued=mail.known.rescued_at is not None,
        vouched=mail.judgement.vouched,
        newsletter=newsletter,
        is_newcomer=is_newcomer,
        are_many=is_newcomer and _are_many(ledger, now),
    )


def _is_newcomer(ledger: Ledger, config: Config, relations: Relations) -> bool:
    return not why_known(ledger, config, relations) and knows_enough(ledger, config)


def _are_many(ledger: Ledger, now: float) -> bool:
    """Tell whether too much mail of the last day was put apart as that of newcomers."""
    (judged,) = ledger.figures.judged([now - _DAY, now + 1])
    return too_many_newcomers(ledger.journal.moved_to(Role.NEWCOMERS, now - _DAY), judged.messages)
