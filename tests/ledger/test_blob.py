"""The tokens of a message as bytes."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.ledger.lessons.token_blob import pack, unpack

TOKENS = st.dictionaries(st.integers(1, 2**32 - 1), st.integers(1, 0xFFFF))


@given(TOKENS, st.randoms())
def test_round_trip(tokens: dict[int, int], order: object) -> None:
    """Ids come back sorted, each with its own occurrences, in whatever order they were given."""
    ids = list(tokens)
    order.shuffle(ids)  # type: ignore[attr-defined]
    blob = pack(np.array(ids, np.int64), np.array([tokens[i] for i in ids], np.int64))
    found, occurrences = unpack(blob)
    assert found.tolist() == sorted(tokens)
    assert dict(zip(found.tolist(), occurrences.tolist(), strict=True)) == tokens


def test_occurrences_end_at_a_limit() -> None:
    """More occurrences of a token than 65,535 in one message count as 65,535."""
    assert unpack(pack(np.array([7]), np.array([1_000_000])))[1].tolist() == [0xFFFF]


@given(TOKENS.filter(bool), st.data())
def test_a_cut_is_noticed(tokens: dict[int, int], data: st.DataObject) -> None:
    """Bytes that were cut short are an error, never other tokens."""
    blob = pack(np.array(list(tokens), np.int64), np.array(list(tokens.values()), np.int64))
    with pytest.raises((ValueError, zlib.error)):
        unpack(blob[: data.draw(st.integers(0, len(blob) - 1))])


def test_a_wrong_length_is_noticed() -> None:
    """Bytes that are whole, but no whole number of tokens, are an error."""
    with pytest.raises(ValueError, match="damaged"):
        unpack(zlib.compress(b"12345"))
