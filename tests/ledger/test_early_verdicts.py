"""Verdicts that were given before their message came: kept by identity, for a day."""

from dataclasses import replace

import pytest

from spamnb.base.label import How
from spamnb.ledger.history.early_verdicts import LASTING, EarlyVerdict
from spamnb.ledger.ledger import Ledger

TOLD = EarlyVerdict("spam", 0.99, 2.5, "spamd for bob", How.SPAMD, 1000.0)


def test_found_by_identity(path: str) -> None:
    """A verdict is found by its message's identity, the latest of several, also after a restart."""
    later = replace(TOLD, verdict="ham", probability=0.01, log_odds=-2.0, at=1001.0)
    with Ledger(path) as ledger:
        ledger.early_verdicts.remember(b"a", TOLD)
        ledger.early_verdicts.remember(b"b", TOLD)
        ledger.early_verdicts.remember(b"b", later)
    with Ledger(path, only_read=True) as ledger:
        assert ledger.early_verdicts.find(b"a", 1002.0) == TOLD
        assert ledger.early_verdicts.find(b"b", 1002.0) == later
        assert ledger.early_verdicts.find(b"c", 1002.0) is None


def test_expires(path: str) -> None:
    """A verdict on mail that never came is not found after a day, and is removed with the next verdict."""
    with Ledger(path) as ledger:
        ledger.early_verdicts.remember(b"a", TOLD)
        assert ledger.early_verdicts.find(b"a", TOLD.at + LASTING) == TOLD
        assert ledger.early_verdicts.find(b"a", TOLD.at + LASTING + 1) is None
        ledger.early_verdicts.remember(b"b", replace(TOLD, at=TOLD.at + LASTING + 1))
        assert ledger.early_verdicts.find(b"a", TOLD.at) is None


def test_whole_without_fsync(path: str) -> None:
    """Rows written without fsync are visible to others at once; a fault inside leaves nothing of its transaction."""
    with Ledger(path) as ledger, Ledger(path) as other:
        with ledger.without_fsync():
            ledger.early_verdicts.remember(b"a", TOLD)
        with pytest.raises(ZeroDivisionError), ledger.without_fsync(), ledger.transaction():
            ledger.early_verdicts.remember(b"b", TOLD)
            raise ZeroDivisionError
        assert other.early_verdicts.find(b"a", TOLD.at) == TOLD
        assert other.early_verdicts.find(b"b", TOLD.at) is None
