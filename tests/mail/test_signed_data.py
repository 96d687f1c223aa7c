import base64
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.mail.limits import DEFAULT_LIMITS, Work
from spamnb.mail.parsing.signed_data import signed_content
from spamnb.mail.reading import read
from tests.table import over_rows

_OID = bytes.fromhex("2a864886f70d0107")
_LETTER = b"Content-Type: text/html\n\n<p>plums"


def der(tag: int, *contents: bytes) -> bytes:
    """An element of a definite length."""
    content = b"".join(contents)
    size = len(content)
    length = bytes([size]) if size < 128 else b"\x84" + size.to_bytes(4)
    return bytes([tag]) + length + content


def ber(tag: int, *contents: bytes) -> bytes:
    """An element of an indefinite length."""
    return bytes([tag, 0x80]) + b"".join(contents) + b"\0\0"


def signed(octets: bytes, wrap: Callable[..., bytes] = der, kind: bytes = b"\x02") -> bytes:
    """Signed-data whose content is in this octet string."""
    data = der(0x30, der(0x30, der(6, b"\x2a"), der(5)))
    inner = wrap(0x30, der(6, _OID + b"\x01"), wrap(0xA0, octets))
    return wrap(0x30, der(6, _OID + kind), wrap(0xA0, wrap(0x30, der(2, b"\1"), wrap(0x31, data), inner, der(0x31))))


def message(content: bytes, kind: bytes = b"application/pkcs7-mime; smime-type=signed-data; name=smime.p7m") -> bytes:
    """A message that is this file."""
    return b"Content-Type: %s\nContent-Transfer-Encoding: base64\n\n" % kind + base64.encodebytes(content)


@over_rows("wrap", [der, ber])
@over_rows(
    "octets",
    [
        der(4, _LETTER),
        der(0x24, der(4, _LETTER[:9]), der(4, _LETTER[9:])),
        ber(0x24, der(4, _LETTER[:9]), der(4, _LETTER[9:])),
        ber(0x24, der(0x24, der(4, _LETTER[:9])), ber(0x24, der(4, _LETTER[9:]))),
    ],
)
def test_the_content_of_signed_data_is_read(octets, wrap):
    """A text within its signature is read, however the lengths are written; the file is an attachment too."""
    content = signed(octets, wrap)
    assert signed_content(content, Work(1000)) == _LETTER
    tokens = read(message(content)).tokens
    assert {"plums", "tag:p", "attached-name:smime.p7m", "mime:application/pkcs7-mime>text/html"} <= tokens.keys()


def test_a_file_with_the_name_of_signed_data_is_read():
    """Mail programs go by the name of the file, too."""
    kind = b"application/octet-stream; name=smime.p7m"
    assert "plums" in read(message(signed(der(4, _LETTER)), kind)).tokens


@pytest.mark.parametrize("options", [["-outform", "DER"], ["-outform", "DER", "-stream"], ["-outform", "SMIME"]])
def test_what_openssl_signs_is_read(tmp_path: Path, options: list[str]):
    """The files that OpenSSL writes are read."""
    if not shutil.which("openssl"):
        pytest.skip("OpenSSL is not installed")
    run = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key", "-out", "cert"]
    subprocess.run(["openssl", "req", "-x509", *run, "-subj", "/CN=a"], cwd=tmp_path, check=True, capture_output=True)
    how = ["cms", "-sign", "-nodetach", "-binary", "-signer", "cert", "-inkey", "key", *options]
    made = subprocess.run(["openssl", *how], cwd=tmp_path, check=True, capture_output=True, input=_LETTER * 100).stdout
    raw = made if "SMIME" in options else message(made)
    assert {"plums", "tag:p"} <= read(raw).tokens.keys()


@over_rows(
    "content", [signed(der(4, _LETTER))[:end] for end in range(0, 120, 7)] + [b"\x30\x80" * 99, b"\x30\xff", b"0"]
)
def test_truncated_signed_data_is_no_fault(content):
    """The part of a truncated file that is there is read."""
    assert _LETTER.startswith(signed_content(content, Work(1000)))
    read(message(content))


@over_rows(
    "content",
    [
        signed(der(4, _LETTER), kind=b"\x03"),
        signed(der(5, _LETTER)),
        der(0x30, der(2, b"\1")),
        signed(b"").replace(b"\xa0", b"\xa1"),
        signed(b"\x24\x80" * 50 + der(4, _LETTER)),
    ],
)
def test_other_values_have_no_content(content):
    """Enveloped data, and what is not as it should be, have no content."""
    assert signed_content(content, Work(100_000)) == b""


def test_signed_data_in_signed_data_is_read_within_the_limit_of_levels():
    """Each signature counts as a level of nesting."""
    content = _LETTER
    for _ in range(DEFAULT_LIMITS.nesting):
        content = message(signed(der(4, content)))
    assert "plums" in read(content).tokens
    tokens = read(message(signed(der(4, content)))).tokens
    assert "limit:nesting" in tokens
    assert "plums" not in tokens


def test_an_octet_string_in_very_many_pieces_is_read_to_the_limit():
    """Pieces of one letter are read until there are more than any program writes."""
    octets = signed(ber(0x24, *[der(4, b"x")] * 50_000), ber)
    work = Work(4_000)
    assert 900 < len(signed_content(octets, work)) < 1_000
    assert work.is_spent
    assert "limit:work" in read(message(octets)).tokens
