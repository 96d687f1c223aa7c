"""From a small input to a large message: only large inputs show what is slow.

An input is cut at its marks: what is between the first two is repeated until the message has its size. Where there
are none, all behind the first line end is.
"""

MARK = b"\xfe\xff"
SIZES = (60_000, 1_000_000)  # bytes: what a header block may have, and what a message may have


def grown(raw: bytes) -> bytes:
    """The message that an input becomes. Its first byte tells the size."""
    size, raw = SIZES[raw[0] % len(SIZES) if raw else 0], raw[1:]
    before, _, rest = raw.partition(MARK)
    unit, _, after = rest.partition(MARK)
    if not unit:
        before, _, unit = raw.partition(b"\n")
        before += b"\n"
    unit = unit or b"a"
    return before + unit * max(1, (size - len(before) - len(after)) // len(unit)) + after
