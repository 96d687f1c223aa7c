"""An account that is awake, while its ledger is away."""

import logging
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from spamnb.acts.moves import bases_now
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Mailbox
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import Entry, deliver
from spamnb.service.awake_account import LEDGER, AwakeAccount
from spamnb.service.context import Context
from spamnb.service.jobs import ServiceJob
from spamnb.service.log import LogOnce
from tests.service.desk import ROLES, Desk


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


def test_ledger_is_busy_while_existing_mail_is_recorded(tmp_path: Path) -> None:
    """If the ledger goes away in the middle of recording the mail of a new mailbox, the rest is recorded later."""
    root, path = tmp_path / "Maildir", str(tmp_path / "ledger")
    inbox, existing = create_folder(str(root), "maildir++", "INBOX"), 60  # more than are recorded in one transaction
    for number, base in zip(range(existing), bases_now(), strict=False):
        deliver(inbox, message("spam", number), base)
    config = Config((Mailbox(root, ROLES),), Path(path))
    with Ledger(path, busy_seconds=0.0) as ledger, Ledger(path) as other, ExitStack() as held:
        folder = ledger.locations.folder(ledger.locations.mailbox(str(root))[0], "INBOX")
        context = Context(config, ledger, time.time)
        account = AwakeAccount(context, LogOnce(logging.getLogger("test")))

        def recorded() -> int:
            return len(ledger.locations.files_in(folder))

        def hold(_: str) -> None:
            if recorded():
                context.alive = lambda _: None
                held.enter_context(other.transaction())

        context.alive = hold
        account.compare()
        assert (account.is_well, 0 < recorded() < existing) == (False, True)
        held.close()
        account.compare()
        assert (account.is_well, recorded()) == (True, existing)
        assert account.due(departures=False) is None, "no file waits to be judged"
        assert list(ledger.journal.newest(existing)) == []
        account.close()
