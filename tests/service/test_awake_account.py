"""An account whose ledger goes away while it is awake."""

import logging
import math
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from spamnb.acts.moves import bases_now
from spamnb.base.errors import LedgerBusyError
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Mailbox
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import deliver
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.context import Context
from spamnb.service.log import LogOnce
from tests.service.desk import ROLES


def test_ledger_is_busy_while_existing_mail_is_recorded(tmp_path: Path) -> None:
    """If the ledger goes away in the middle of recording the mail of a new mailbox, the rest is recorded later."""
    root, path = tmp_path / "Maildir", str(tmp_path / "ledger")
    inbox, existing = create_folder(str(root), "maildir++", "INBOX"), 60  # more than are recorded in one transaction
    for number, base in zip(range(existing), bases_now(), strict=False):
        deliver(inbox, message("spam", number), base)
    config, faults = Config((Mailbox(root, ROLES),), Path(path)), LogOnce(logging.getLogger("test"))
    with Ledger(path, busy_seconds=0.0) as ledger, Ledger(path) as other, ExitStack() as held:
        folder = ledger.locations.folder(ledger.locations.mailbox(str(root))[0], "INBOX")

        def recorded() -> int:
            return len(ledger.locations.files_in(folder))

        def hold(_: str) -> None:
            if recorded():
                held.enter_context(other.transaction())

        account = AwakeAccount(Context(config, ledger, time.time, hold), faults)
        with pytest.raises(LedgerBusyError):  # then the account rests
            account.compare()
        account.close()
        assert 0 < recorded() < existing
        held.close()
        account = AwakeAccount(Context(config, ledger, time.time), faults)
        account.compare()
        assert (account.is_well, recorded()) == (True, existing)
        assert account.due() == math.inf, "no file waits to be judged"
        assert list(ledger.journal.newest(existing)) == []
        account.close()
