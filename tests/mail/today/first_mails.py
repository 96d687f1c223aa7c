"""Sixty made-up first mails of shops, banks, parcel services, clubs and newsletters, in six languages.

Each is the first that its sender writes. The person's own server has checked the signatures and written what it found.
"""

import re
from pathlib import Path
from typing import NamedTuple

from tests.mail.today.mime import Draft
from tests.mail.today.parts import button, page
from tests.mail.today.systems import System, cloud_sender, list_sender, numbered_sender, own_server

OURS = "mx.home.example"
_SIGNED = re.compile(rb"^DKIM-Signature: [^\n]*; d=([a-z0-9.-]+);", re.MULTILINE)


class FirstMail(NamedTuple):
    """A message: its language, what kind of sender wrote it, and its bytes with the server's results."""

    language: str
    kind: str
    raw: bytes


def with_results(raw: bytes) -> bytes:
    """Return a message with the field that the person's own server writes: it takes each signature for right."""
    signers = [site.decode() for site in _SIGNED.findall(raw)]
    results = [f"dkim=pass (2048-bit key) header.d={site} header.i=@{site}" for site in signers] or ["dkim=none"]
    return f"Authentication-Results: {OURS};\n\t{'; '.join(results)}\n".encode() + raw


# Two of each kind: the first of a service that offers to unsubscribe.
_SYSTEMS: dict[str, tuple[System, System]] = {
    "shop": (numbered_sender, cloud_sender),
    "bank": (list_sender, cloud_sender),
    "parcel": (numbered_sender, cloud_sender),
    "club": (list_sender, own_server),
    "newsletter": (list_sender, numbered_sender),
}
_TEXTS = Path(__file__).with_suffix(".txt")  # by blank lines: language and kind, sender, subject, button; then the text


def _made(block: str, number: int) -> FirstMail:
    first, sender, subject, words, *lines = block.splitlines()
    language, kind = first.split()
    url, text = f"https://{sender.rpartition('@')[2].rstrip('>')}/{language}", "\n".join(lines)
    html = page("", f"<h1>{subject}</h1>\n<p>{text}</p>\n{button(url, words)}")
    draft = Draft(f"first-{number}", sender, subject, f"{text}\n\n{words}: [[{url}]]\n", html)
    return FirstMail(language, kind, with_results(_SYSTEMS[kind][number % 2](draft)))


FIRST_MAILS = tuple(
    _made(block, number) for number, block in enumerate(_TEXTS.read_text(encoding="utf-8").split("\n\n"))
)
