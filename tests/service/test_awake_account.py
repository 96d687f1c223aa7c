"""An account that is awake, while its ledger is away."""

from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.maildir.messages import Entry, deliver
from spamnb.service.awake_account import LEDGER
from spamnb.service.jobs import ServiceJob
from tests.service.desk import Desk


class _Unwanted(ServiceJob):
    """A job that must not be stepped."""

    def _step(self, now: float) -> None:
        pytest.fail("stepped")


def test_ledger_is_away(desk: Desk) -> None:
    """Until the ledger is back nothing is looked at, nothing is due, and no job is stepped; then all is found."""
    account, letter, inbox = desk.account, message("ham", 901), desk.folder("INBOX")
    name = Path(deliver(inbox, letter, next(desk.bases))).name
    account._faults.log(LEDGER, "it is on a disk that is not mounted")
    account.take_jobs([_Unwanted(1.0)])
    account.look(str(desk.roots[0]), inbox.path, Entry("new", name))
    account.act_on_due()
    assert not account.step_jobs()
    assert (account.has_ledger, account.is_well, account.due(departures=False)) == (False, False, None)
    assert desk.known(letter) is None
    account.take_jobs([])
    desk.work()
    assert account.is_well
    assert desk.known(letter) is not None
