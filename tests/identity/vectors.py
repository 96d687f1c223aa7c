"""The digests of `vectors.json`, which nothing writes again, against those of any Python: `python -m
tests.identity.vectors` from the project's root needs no other package.

`messages`: ours, as text in ISO-8859-1; `fill` is a unit that follows again and again, and the number of bytes that it
fills. `hostile`: the first bytes of those in `tests/mail/hostile.py`, with the digest of these bytes: one that is
written in another way gets another name there, and a line here. `labels`: by the digest of `labelled`, all labels that
mean one charset.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from spamnb.identity.digests import digests
from tests.mail.hostile import MESSAGES as HOSTILE

VECTORS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="ascii"))
FIRST = 300_000  # bytes of a hostile message: more than is read as a header

_LABELLED = (
    b"From: a@b.example\nMessage-ID: <1@b.example>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nMIME-Version: 1.0\n"
    b"Subject: =?%s?q?=E9?=\nContent-Type: multipart/mixed; boundary=b\n\n"
    b'--b\nContent-Type: text/plain; charset="%s"\n\n\xe9\n--b\nContent-Type: text/html; charset="%s"\n\nwords\n--b--\n'
)


def labelled(label: str) -> bytes:
    """A message that declares a charset for its Subject, for a text beyond ASCII, and for one in ASCII."""
    return _LABELLED.replace(b"%s", label.encode("ascii"))


def raw_of(vector: dict) -> bytes:
    """A message of ours."""
    unit, size = vector.get("fill", ["-", 0])
    return (vector["raw"] + unit * (size // len(unit))).encode("latin-1")


def of(raw: bytes) -> list[str | None]:
    """Return the three digests in hexadecimal, as in the file."""
    return [digest and digest.hex() for digest in digests(raw)]


def changed() -> Iterator[str]:
    """The names of all whose digests are not those of the file."""
    for name, vector in VECTORS["messages"].items():
        if of(raw_of(vector)) != vector["digests"]:
            yield name
    for name, vector in VECTORS["hostile"].items():
        raw = HOSTILE[name][0]()[:FIRST]
        if hashlib.sha256(raw).hexdigest() != vector["bytes"]:
            yield f"{name}, which is another message"
        elif of(raw) != vector["digests"]:
            yield name
    for digest, labels in VECTORS["labels"].items():
        for label in labels.split():
            if of(labelled(label))[0] != digest:
                yield label


if __name__ == "__main__":
    sys.exit("\n".join(changed()) or None)
