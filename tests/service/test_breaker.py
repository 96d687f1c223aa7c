"""What keeps the filter from following its own mistakes: the circuit breaker, and that it never teaches itself."""

import pytest

from spamnb.cli.sample_mail import message
from spamnb.ledger.ledger import Ledger
from tests.service.conftest import LESSONS, Site, until


def judged(site: Site) -> int:
    return site.log().count(": stays in INBOX") + site.log().count(": moved from INBOX to Junk")


def test_an_abnormal_share_of_spam_stops_the_moving(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """When nearly all new mail looks like spam, the service says so and only records, until `spamnb resume`."""
    site.configure("breaker:\n  window: 10\n  share: 0.8\n")
    site.teach()
    site.start()
    first = [site.deliver(message("spam", 1000 + number)) for number in range(10)]
    until(lambda: judged(site) == 10, "ten judged")
    until(lambda: "nothing is moved until `spamnb resume`" in site.log(), "the stop said")
    assert len(site.contents("Junk")) == 9, "the tenth opened the breaker"
    second = [site.deliver(message("spam", 1100 + number)) for number in range(5)]
    until(lambda: judged(site) == 15, "five more judged")
    assert len(site.contents("Junk")) == 9
    assert set(second) <= set(site.contents("INBOX"))
    assert site.log().count("moving is stopped") == 6
    with Ledger(str(site.ledger)) as ledger:
        assert ledger.messages.numbers()["spam"] == 15, "what is not moved is recorded"

    site.end()
    site.start()
    third = site.deliver(message("spam", 1200))
    until(lambda: site.log().count("moving is stopped") == 7, "a restart does not start it again")
    assert site.spamnb("status") == 0
    assert "spamnb resume" in capsys.readouterr().out
    assert site.spamnb("resume") == 0
    fourth = site.deliver(message("spam", 1201))
    until(lambda: fourth in site.contents("Junk"), "spam moved again")
    assert third in site.contents("INBOX")
    assert site.everything() == sorted([*first, *second, third, fourth])


def test_the_filter_never_learns_from_its_own_verdict_alone(site: Site) -> None:
    """However much it judges and moves, through restarts and comparisons, it has learned what a person taught."""
    site.configure("learning:\n  dwell_seconds: 0\n  kept_days: 0\nservice:\n  reconcile_seconds: 1\n")
    site.teach()
    site.start()
    for number in range(20):
        site.deliver(message("spam", 1300 + number))
        site.deliver(message("ham", 1300 + number))
    until(lambda: judged(site) == 40, "all judged")
    site.end()
    for _ in range(2):
        assert site.once() == 0
    assert len(site.contents("Junk")) == 20
    with Ledger(str(site.ledger)) as ledger:
        assert ledger.learned.totals()[:2].tolist() == [LESSONS, LESSONS]
    assert site.faults() == []
