"""The tokens of a message as bytes."""

import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.ledger.lessons.sqlite.token_blob import TOKENS_MAX, pack, pack_all, unpack

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


@given(TOKENS.filter(bool), st.data())
def test_a_changed_bit_is_noticed(tokens: dict[int, int], data: st.DataObject) -> None:
    """A bit that has turned is an error, never another token or another number of occurrences."""
    blob = bytearray(pack(np.array(list(tokens), np.int64), np.array(list(tokens.values()), np.int64)))
    blob[data.draw(st.integers(0, len(blob) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises((ValueError, zlib.error)):
        unpack(bytes(blob))


@pytest.mark.parametrize(
    ("widths", "bits"),
    [([1], b""), ([1, 2], b""), ([1, 1], b"x"), ([0, 1], b""), ([33, 1], b"1234"), ([255, 1], b"1" * 32)],
    ids=["no occurrences", "bits missing", "bits left over", "no width", "too wide", "much too wide"],
)
def test_what_pack_never_writes_is_noticed(widths: list[int], bits: bytes) -> None:
    """Bytes with a right checksum that are not tokens and occurrences are an error."""
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    body = deflate.compress(bytes(widths)) + deflate.flush() + bits
    with pytest.raises(ValueError, match="damaged"):
        unpack(zlib.crc32(body).to_bytes(4) + body)


def bomb(tokens: int) -> bytes:
    """Return the bytes of many tokens, each met once, with consecutive ids: one byte stands for five hundred."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(b"\1" * (2 * tokens)) + deflate.flush()
    return zlib.crc32(body).to_bytes(4) + body


def test_no_more_is_unpacked_than_a_message_may_have() -> None:
    """Bytes of more tokens than a message may have are an error, and only so many are unpacked to find that."""
    assert len(unpack(bomb(TOKENS_MAX))[0]) == TOKENS_MAX
    with pytest.raises(ValueError, match="too many"):
        unpack(bomb(TOKENS_MAX + 1))
    large = bomb(16_000_000)
    tracemalloc.start()
    with pytest.raises(ValueError, match="too many"):
        unpack(large)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000


def test_no_more_is_packed_than_a_message_may_have() -> None:
    """More tokens than could be unpacked again are not packed."""
    with pytest.raises(ValueError, match="more than"):
        pack(np.arange(1, TOKENS_MAX + 2), np.ones(TOKENS_MAX + 1, dtype=np.int64))


def test_several_messages() -> None:
    """Messages that are packed together have the bytes that each has by itself; one may hold no token."""
    messages = [{3: 1, 900: 70_000}, {}, {1: 1, 2: 1, 4_000_000_000: 3}]
    together = pack_all(
        np.array([token for tokens in messages for token in tokens], np.int64),
        np.array([number for tokens in messages for number in tokens.values()], np.int64),
        np.array([len(tokens) for tokens in messages], np.int64),
    )
    each = [pack(np.array(list(of), np.int64), np.array(list(of.values()), np.int64)) for of in messages]
    assert together == each
    assert [unpack(blob)[0].tolist() for blob in together] == [list(tokens) for tokens in messages]
