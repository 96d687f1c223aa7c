"""The first mails of shops, banks, parcel services, clubs and newsletters."""

from collections import Counter

from spamnb.base.label import How, Label, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring, Senders
from spamnb.filter.judge import Filter
from spamnb.filter.vouching import Trusted
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.authentication import authentication
from spamnb.mail.reading import read
from tests.mail.today.first_mails import FIRST_MAILS, OURS
from tests.mail.today.library import LIBRARY


def test_there_are_enough() -> None:
    """There are two mails of each kind in each of six languages, each from a sender of its own."""
    assert set(Counter((mail.language, mail.kind) for mail in FIRST_MAILS).values()) == {2}
    assert len({mail.language for mail in FIRST_MAILS}) == 6
    assert len({read(mail.raw).relations.sender for mail in FIRST_MAILS}) == len(FIRST_MAILS) == 60


def test_no_signed_newsletter_goes_to_junk() -> None:
    """A filter that knows letters and spam moves none of the signed ones that offer to unsubscribe, and says why."""
    lessons = MemoryLessons()
    for number in range(25):
        lessons.learn([read(message("ham", number))], Label.HAM, "filed", 1.0, how=How.HAND)
    spam = [read(mail.raw) for mail in LIBRARY.values() if mail.label is Label.SPAM]
    lessons.learn(spam, Label.SPAM, "filed", 1.0, how=How.HAND)
    without, judging = (Filter(lessons, Scoring(), Senders(), Trusted(name)) for name in (None, OURS))
    lost = 0
    for reading in (read(mail.raw) for mail in FIRST_MAILS):
        before, after, relations = without.judge(reading), judging.judge(reading), reading.relations
        results = authentication(relations.results, OURS, relations.sender)
        is_spared = before.verdict is Verdict.SPAM and relations.is_newsletter
        lost += is_spared
        assert results is not None
        assert results.is_aligned or not relations.is_newsletter
        assert after.vouched.startswith(OURS) is is_spared
        assert after == (before._replace(verdict=Verdict.UNSURE, vouched=after.vouched) if is_spared else before)
    assert lost > 10
