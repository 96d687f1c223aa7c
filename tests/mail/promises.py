"""The reader's promises for any bytes; every test of strange messages checks them."""

import time

from spamnb.identity.digests import delivery, identity
from spamnb.mail.limits import DEFAULT_LIMITS, Limits
from spamnb.mail.reading import Reading, read
from spamnb.mail.tokens.kinds import row_of
from tests.patience import PATIENCE

TOKEN_CHARS = 100  # of a whole token with its prefix
SECONDS = PATIENCE / 60  # one, of processor time: for the worst message that we know it is a fifth of a second

# Limits that a message of a few lines meets, so that small inputs come to every place where something is left out.
SMALL = Limits(
    message_bytes=3000,
    header_bytes=600,
    header_fields=12,
    field_chars=60,
    parts=4,
    nesting=2,
    text_chars=300,
    unspaced_chars=60,
    html_chars=900,
    html_tags=40,
    html_depth=9,
    links=3,
    work=2000,
    tokens=120,
    token_chars=8,
)


def check(raw: bytes) -> Reading:
    """Read a message with ordinary limits and with small ones; AssertionError if a promise is broken."""
    start = time.process_time()
    reading = read(raw)
    seconds = time.process_time() - start
    assert seconds < SECONDS, f"{len(raw)} bytes took {seconds:.2f} s"
    check_reading(reading)
    again = read(raw)
    assert again == reading, "the same bytes were read in two ways"
    assert list(again.tokens) == list(reading.tokens), "the tokens came in another order"
    check_reading(read(raw, SMALL), SMALL)
    unix = raw.replace(b"\r", b"")
    internet = unix.replace(b"\n", b"\r\n")
    assert len(delivery(raw)) == 16
    assert identity(unix) == identity(internet), "line ends changed the identity"
    assert delivery(unix) == delivery(internet), "line ends changed the delivery"
    return reading


def check_reading(reading: Reading, limits: Limits = DEFAULT_LIMITS) -> None:
    """Check that tokens and summary are printable and within the limits; else AssertionError."""
    assert len(reading.digest) == 16
    assert reading.summary.isprintable()
    assert len(reading.summary) <= 100
    assert 0 < len(reading.tokens) <= limits.tokens
    assert all(0 < len(token) <= TOKEN_CHARS and number > 0 for token, number in reading.tokens.items())
    assert "".join(reading.tokens).isprintable()
    assert "\n".join(reading.tokens).encode()
    assert not [token for token in reading.tokens if token.startswith("known:")], "that is the ledger's to say"
    assert not [token for token in reading.tokens if row_of(token) is None], "each kind of token has words"
    assert not [token for token in reading.tokens if "@" <= token[0] <= "^"], "the ledger has these for its codes"
