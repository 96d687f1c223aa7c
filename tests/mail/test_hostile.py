import pytest
from lxml.etree import LIBXML_VERSION

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import read
from spamnb.maildir.messages import read_bytes
from tests.mail.hostile import LARGE, MESSAGES, MOST, attached, write
from tests.mail.promises import check_reading
from tests.thorough import sampled

# libxml2 gives each reference as a piece of text since 2.14, which is work.
_WORK_SINCE_2_14 = {"html-entities-numeric"}
_NOTHING_BUT_BASE64 = {"attachment-zip-30MB", "encoded-word-5MB"}  # in a file, and in a field


def limits_met(tokens) -> set[str]:
    return {token for token in tokens if token.startswith("limit:")}


@pytest.mark.parametrize("name", sampled(MESSAGES, 6))
def test_the_worst_messages_yield_tokens(name):
    """The worst message of each kind is read, and what was left out or was odd has a token."""
    make, expected = MESSAGES[name]
    if name in _WORK_SINCE_2_14 and LIBXML_VERSION >= (2, 14):
        expected = expected | {"limit:work"}
    raw = make()
    reading = read(raw[:MOST])
    check_reading(reading)
    tokens = reading.tokens
    too_large = {"limit:message_bytes"} if len(raw) > DEFAULT_LIMITS.message_bytes else set()
    assert expected <= tokens.keys()
    assert limits_met(tokens) == limits_met(expected) | too_large, "each limit that is met has a token, and no other"


@pytest.mark.parametrize("name", LARGE)
def test_messages_of_any_size_are_read(name, tmp_path):
    """A message of many megabytes is read up to the limit. A token says so if text is left out, and not of a file."""
    path = str(tmp_path / "message")
    write(name, path, most=2 * MOST)
    raw, size = read_bytes(path, MOST)
    assert (len(raw), size) == (MOST, LARGE[name].size)
    reading = read(raw)
    check_reading(reading)
    assert LARGE[name].tokens <= reading.tokens.keys()
    assert reading.is_in_part == (name not in _NOTHING_BUT_BASE64)


@pytest.mark.parametrize("media_type", [b"application/zip", b"image/png"])
def test_attachments_are_never_unpacked(media_type):
    """The content of an attachment that is not a text never changes the tokens."""
    one, other = (read(attached(media_type, content)) for content in (b"PK\3\4 inside one", b"PK\3\4 within two"))
    assert one.digest != other.digest
    assert one.tokens == other.tokens
