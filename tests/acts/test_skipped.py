"""Files that are skipped, since a process died while it read them."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.acts.skipped import retry
from spamnb.base.errors import LedgerDamagedError
from spamnb.ledger.ledger import Ledger

names = st.lists(st.binary(min_size=1, max_size=20).map(os.fsdecode), max_size=4).map(tuple)


@given(names)
def test_retry(tmp_path_factory: pytest.TempPathFactory, skipped: tuple[str, ...]) -> None:
    """Files of any name are skipped until a retry is asked for, which is reported once."""
    with Ledger(str(tmp_path_factory.mktemp("l") / "ledger")) as ledger:
        ledger.state.skipped = skipped
        assert ledger.state.skipped == skipped
        assert retry(ledger) == skipped
        assert ledger.state.skipped == retry(ledger) == ()


@pytest.mark.parametrize("value", ["odd", "{}", "[1]", json.dumps([["a"]]), "[" * 100_000])
def test_damaged(tmp_path: Path, value: str) -> None:
    """A list that spamnb never writes is damage, and `verify` finds it."""
    with Ledger(str(tmp_path / "ledger")) as ledger:
        ledger._connection.execute("INSERT INTO state VALUES ('skipped', ?)", (value,))
        with pytest.raises(LedgerDamagedError, match="its value 'skipped' is"):
            retry(ledger)
        assert len(ledger.verify()) == 1
