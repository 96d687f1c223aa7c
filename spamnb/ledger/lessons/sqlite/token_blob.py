"""The exact tokens of one learned message, in few bytes.

The ids are sorted and written as steps from one to the next. Frequent tokens have low ids, and tokens that a message
was the first to hold have consecutive ids, so most steps are small. The numbers, first all steps and then all
occurrences, are written as in the gamma code of Elias (1975): the width of each in bits, and its bits below the leading
one. There are few different widths, so they are compressed (DEFLATE). The bits are unpredictable, so they are not. A
checksum (CRC-32) comes before both.

For the first half of csdmc2010 this is 281 bytes per message, and 289 with the old DEFLATE settings. For all of it,
those made 375; zlib made 447 of the same steps and occurrences as bytes, with equal bytes of all numbers together.

Later attempts save too little for the code that they need. With beginnings and ends of words as tokens, 159 per message
and 24,000 distinct ones of four characters (csdmc2010), a message has 425 bytes here, and 2,380 in all:

- 411 with one width for the step and the occurrences of a token together; 385 if an arithmetic coder replaced DEFLATE;
  613 with steps in Golomb's code, one parameter per message, in place of widths.
- 414 with a separate range of ids for these tokens, without their occurrences, which are 1, and one width for both.
- Ids computed from the four characters, out of 64 each, need no rows in the dictionary, which take 98 bytes per
  message. But few of the 524,288 ids occur: it is 86 bytes more here, and 77 in the counts. With 32 characters it is 11
  more in all.
- A row only for tokens that occur again saves 45. But then a token that has occurred once must be found in its
  lesson, and must still be known when that lesson is forgotten.
"""

import zlib

import numpy as np
from numpy.typing import NDArray

from spamnb.base.errors import LedgerDamagedError
from spamnb.ledger.lessons.batch import OCCURRENCES_MAX

_ID_BITS = 32
_BITS = 16  # of the occurrences, which are `OCCURRENCES_MAX` at most
_TOGETHER = 256  # messages; less than 32,768, since the sorted numbers have 64 bits
_RAW = -zlib.MAX_WBITS  # DEFLATE without a header and a checksum of its own
# Widths repeat at once or not at all. Those of csdmc2010 take 167 bytes per message and 18 µs this way; 175 and 27 µs
# if zlib looks for matches anywhere. With zlib's usual memory, 256 KB that are new each time, both take 30 µs more.
_WRITTEN, _MEMORY = -12, 5
_CHECKSUM = 4  # bytes
TOKENS_MAX = 1 << 16  # per message; the reader leaves 4,000 of it (`mail.limits`), and may leave more one day


def pack(ids: NDArray[np.int64], occurrences: NDArray[np.int64]) -> bytes:
    """Return bytes for token ids (int64 (n,), distinct, from 1) and their occurrences (int64 (n,), 1 to 65,535)."""
    return pack_all(ids, occurrences, np.array([len(ids)]))[0]


def pack_all(ids: NDArray[np.int64], occurrences: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[bytes]:
    """Return bytes for each of several messages, whose tokens are concatenated.

    lengths: the number of tokens of each, int64 (n_messages,).

    Raises ValueError if a message has more than `TOKENS_MAX`.
    """
    if lengths.max(initial=0) > TOKENS_MAX:
        raise ValueError(f"a message has more than {TOKENS_MAX} tokens")
    ends = np.concatenate([[0], np.cumsum(lengths)])
    blobs = []
    for start in range(0, len(lengths), _TOGETHER):  # each of their bits takes some bytes here
        some = slice(start, start + _TOGETHER)
        begin, *_, end = ends[start : start + _TOGETHER + 1].tolist()
        blobs += _pack_some(ids[begin:end], occurrences[begin:end], lengths[some])
    return blobs


def _pack_some(ids: NDArray[np.int64], occurrences: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[bytes]:
    numbers = _numbers(ids, occurrences, lengths)
    widths = np.frexp(numbers)[1].astype(np.uint8)
    lower = widths - 1
    bit_ends = np.concatenate([[0], np.cumsum(lower, dtype=np.int64)])
    places = np.arange(bit_ends[-1], dtype=np.uint32) - np.repeat(bit_ends[:-1].astype(np.uint32), lower)
    bits = (np.repeat(numbers, lower) >> places & 1).astype(np.uint8)  # in each number, the lowest bit first
    ends = 2 * np.cumsum(lengths)
    begins = ends - 2 * lengths
    of_messages = zip(begins.tolist(), ends.tolist(), bit_ends[begins].tolist(), bit_ends[ends].tolist(), strict=True)
    return [_blob(widths[begin:end], bits[first:last]) for begin, end, first, last in of_messages]


def _numbers(ids: NDArray[np.int64], occurrences: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the numbers written for each message, joined, uint32 (2 n,): all steps, and then all occurrences."""
    message = np.repeat(np.arange(len(lengths)), lengths)
    # One number for each token: sorting these takes a quarter of the time of an order and two lists.
    keys = np.sort(message << _ID_BITS + _BITS | ids << _BITS | np.minimum(occurrences, OCCURRENCES_MAX))
    steps = np.diff(keys >> _BITS & (1 << _ID_BITS) - 1, prepend=0)
    first = (np.cumsum(lengths) - lengths)[lengths > 0]
    steps[first] = keys[first] >> _BITS & (1 << _ID_BITS) - 1
    places = np.arange(len(keys)) + np.repeat(np.cumsum(lengths) - lengths, lengths)
    numbers = np.empty(2 * len(keys), dtype=np.uint32)
    numbers[places] = steps
    numbers[places + np.repeat(lengths, lengths)] = keys & OCCURRENCES_MAX
    return numbers


def _blob(widths: NDArray[np.uint8], bits: NDArray[np.uint8]) -> bytes:
    deflate = zlib.compressobj(method=zlib.DEFLATED, wbits=_WRITTEN, memLevel=_MEMORY, strategy=zlib.Z_RLE)
    body = deflate.compress(widths.tobytes()) + deflate.flush() + np.packbits(bits).tobytes()
    return zlib.crc32(body).to_bytes(_CHECKSUM) + body


def unpack(blob: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids, sorted, and the occurrences. Raises ValueError or zlib.error for damaged bytes.

    One compressed byte may mean a thousand bytes: it unpacks no more than a message may have.
    """
    body = blob[_CHECKSUM:]
    if zlib.crc32(body).to_bytes(_CHECKSUM) != blob[:_CHECKSUM]:
        raise ValueError("the tokens of a message are damaged")
    inflate = zlib.decompressobj(_RAW)
    widths = inflate.decompress(body, 2 * TOKENS_MAX + 1)
    if len(widths) > 2 * TOKENS_MAX or not inflate.eof:
        raise ValueError("the tokens of a message are damaged, or too many")
    lower = np.frombuffer(widths, np.uint8).astype(np.int64) - 1
    ends = np.concatenate([[0], np.cumsum(lower)])
    written = np.frombuffer(inflate.unused_data, np.uint8)
    are_widths = not len(lower) % 2 and lower.min(initial=0) >= 0 and lower.max(initial=0) < _ID_BITS
    if not are_widths or len(written) != -(-ends[-1] // 8):
        raise ValueError("the tokens of a message are damaged")
    places = np.arange(ends[-1]) - np.repeat(ends[:-1], lower)
    sums = np.concatenate([[0], np.cumsum(np.unpackbits(written, count=int(ends[-1])).astype(np.int64) << places)])
    numbers = (1 << lower) + sums[ends[1:]] - sums[ends[:-1]]
    tokens = len(numbers) // 2
    return np.cumsum(numbers[:tokens]), numbers[tokens:]


def unpacked(message: int, blob: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids of a message's tokens, sorted, and the occurrences. Raises LedgerError for damaged bytes."""
    try:
        return unpack(blob)
    except (ValueError, zlib.error) as fault:
        raise LedgerDamagedError(
            f"the tokens of message {message} in the ledger are damaged: see `spamnb verify`, and restore a copy of it"
        ) from fault
