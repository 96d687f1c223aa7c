"""A verdict given at delivery, before the message comes: a rule that files by it is not a person."""

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from spamnb.acts.may_move import stop_of
from spamnb.base.label import How
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring, Senders
from spamnb.filter.judge import Filter
from spamnb.identity.digests import identity
from spamnb.ledger.history.early_verdicts import LASTING, EarlyVerdict
from spamnb.mail.reading import read
from spamnb.maildir.messages import deliver
from tests.service.desk import Desk

SPAM, HAM = message("spam", 950), message("ham", 950)


def tell(desk: Desk, mail: bytes, **other: object) -> EarlyVerdict:
    """A mail server has asked for the verdict on this message."""
    reading = read(mail)
    judged = Filter(desk.ledger.lessons, Scoring(), Senders()).judge(reading)
    told = EarlyVerdict(judged.verdict, judged.probability, judged.log_odds, "spamd for bob", How.SPAMD, desk.now())
    told = replace(told, **other)  # type: ignore[arg-type]
    desk.ledger.early_verdicts.remember(reading.digest, told)
    return told


def history(desk: Desk, mail: bytes) -> list[tuple[str, str | None]]:
    """Return the kind and the verdict of each action on a message."""
    known = desk.ledger.messages.find(identity(mail))
    assert known is not None
    return [(action.kind, action.verdict) for action in desk.ledger.journal.of_message(known.id)]


@pytest.mark.parametrize(
    "changed",
    [
        lambda mail: mail,
        lambda mail: b"Received: from a by b; Sat, 21 Nov 2026 10:00:00 +0000\nDelivered-To: bob@b\n" + mail,
        lambda mail: mail.replace(b"\n", b"\r\n"),
        lambda mail: b"Return-Path: <a@b>\nX-Spamnb: spam\nX-Spam-Flag: YES\nX-Spam-Level: ****\n" + mail,
        lambda mail: b"From bob Sat Nov 21 10:00:00 2026\n" + mail,
    ],
    ids=["as it was", "received", "CR LF", "with the verdict", "mbox"],
)
def test_filed_by_a_rule(desk: Desk, changed: Callable[[bytes], bytes]) -> None:
    """Mail that a rule files into Junk by the verdict counts as the filter's move, however the mail was changed."""
    told = tell(desk, SPAM)
    mail = changed(SPAM)
    desk.deliver(mail, "Junk")
    assert desk.lesson(mail) == (None, False)
    assert history(desk, mail) == [("judged", "spam")]
    known = desk.known(mail)
    assert known is not None
    assert (known.verdict, known.probability) == ("spam", told.probability)
    desk.take(mail, "Junk", "INBOX")
    assert desk.lesson(mail) == (0, False), "out of Junk is a decision: ham"


def test_asked_with_other_line_ends(desk: Desk) -> None:
    """The verdict was asked with CR LF and an mbox line, and the message is delivered without."""
    tell(desk, b"From bob Sat Nov 21 10:00:00 2026\r\nX-Envelope-To: bob@b\r\n" + SPAM.replace(b"\n", b"\r\n"))
    desk.deliver(SPAM, "Junk")
    assert desk.lesson(SPAM) == (None, False)


def test_field_alone_proves_nothing(desk: Desk) -> None:
    """A field in a message does not prove a verdict: a stranger filed that mail, so it is learned weakly."""
    mail = b"X-Spamnb: spam, probability=0.999998, score=9.9, version=0.1.0\nX-Spam-Flag: YES\n" + SPAM
    desk.deliver(mail, "Junk")
    assert desk.lesson(mail) == (1, True)


def test_other_verdict(desk: Desk) -> None:
    """Mail that the filter called ham, and that a rule files into Junk, was not filed by the filter."""
    tell(desk, SPAM, verdict="ham", probability=0.01, log_odds=-2.0)
    desk.deliver(SPAM, "Junk")
    assert desk.lesson(SPAM) == (1, True)


def test_expired(desk: Desk) -> None:
    """A verdict of more than a day ago says nothing of what appears now."""
    tell(desk, SPAM, at=desk.now() - LASTING - 60)
    desk.deliver(SPAM, "Junk")
    assert desk.lesson(SPAM) == (1, True)


def test_moved_by_a_person(desk: Desk) -> None:
    """A person's move into Junk is a decision, whatever verdict was given before."""
    tell(desk, SPAM, verdict="ham", probability=0.01, log_odds=-2.0)
    desk.deliver(SPAM)
    tell(desk, SPAM)
    desk.take(SPAM, "INBOX", "Junk")
    assert desk.lesson(SPAM) == (1, False)


def test_in_the_inbox(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the inbox the verdict is not made again, its consequence is carried out, and history shows one judgement."""
    told = tell(desk, SPAM)
    tell(desk, HAM)
    monkeypatch.setattr(Filter, "judge", lambda *_: pytest.fail("judged twice"))
    desk.deliver(SPAM)
    desk.deliver(HAM)
    assert (desk.where(SPAM), desk.where(HAM)) == (["Junk"], ["INBOX"])
    assert (history(desk, SPAM), history(desk, HAM)) == ([("moved", "spam")], [("judged", "ham")])
    (action, *_) = desk.ledger.journal.newest(2)
    assert "judged at delivery (spamd for bob)" in action.why
    known = desk.known(SPAM)
    assert known is not None
    assert known.probability == told.probability
    assert (desk.lesson(SPAM), desk.lesson(HAM)) == ((None, False), (None, False))


def test_not_enough_learned(desk: Desk) -> None:
    """A verdict given at delivery moves nothing if a verdict of now would not."""
    tell(desk, SPAM)
    desk.restart(minimum_messages=1000)
    desk.deliver(SPAM)
    assert desk.where(SPAM) == ["INBOX"]


def test_counts_for_the_breaker(desk: Desk) -> None:
    """Mail that rules file by the filter's verdicts opens the circuit breaker, as mail that the filter moves does."""
    for number in range(100):
        mail = message("spam", 5000 + number)
        tell(desk, mail, verdict="spam")
        deliver(desk.folder("Junk"), mail, next(desk.bases))
    desk.work()
    assert stop_of(desk.ledger, time.time()) is not None


def test_to_several_people(tmp_path: Path, taught: Path) -> None:
    """One message to two mailboxes of one ledger, filed into Junk in both by rules, is learned from neither."""
    shutil.copy(taught, tmp_path / "ledger")
    desk = Desk(tmp_path, "one", "other")
    try:
        tell(desk, SPAM)
        for root, name in enumerate(("one", "other")):
            mail = b"Delivered-To: %s@example.org\n" % name.encode() + SPAM
            deliver(desk.folder("Junk", root), mail, next(desk.bases))
            desk.work()
            desk.ahead += 3600
            assert desk.lesson(mail) == (None, False)
    finally:
        desk.stop()
        desk.ledger.close()
