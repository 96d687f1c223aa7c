"""Read the addresses in vCards (RFC 2426, RFC 6350).

The filter needs nothing but the EMAIL lines. vobject 0.9 builds every property of every card. 50,000 contacts take 8.6
seconds of processor time there, and 0.4 here (2026-11-28). It raises an error at the first damaged line of a file, so
all cards below that line are lost. To import it takes 0.18 s.
"""

from collections.abc import Iterable
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern

_LONGEST_LINE = 4096  # bytes of an EMAIL line, unfolded
_LONGEST = 254  # characters of an address (RFC 5321, 4.5.3.1)
_EMAIL = lazy_pattern(r"(?:[a-z0-9-]+\.)?email(?:;(?:\"[^\"]*\"|[^\":])*)?:(?:mailto:)?\s*([^\s@]+@[^\s@]+)\s*")
_ESCAPED = lazy_pattern(r"\\([,;\\])")


class Cards(NamedTuple):
    """The addresses of some vCards, in lower case. is_whole: each card that begins also ends, and there is one."""

    addresses: frozenset[str]
    is_whole: bool


def read_cards(lines: Iterable[bytes]) -> Cards:
    r"""Return the addresses in the lines of a file.

    >>> read_cards([b"BEGIN:VCARD\n", b"item1.EMAIL;TYPE=INTERNET:Ann@Exam\n", b" ple.org\n", b"END:VCARD\n"])
    Cards(addresses=frozenset({'ann@example.org'}), is_whole=True)
    """
    found: set[str] = set()
    begun = ended = 0
    email = b""  # the EMAIL line that the next line may continue

    def take() -> None:
        written = _EMAIL.fullmatch(email.decode("utf-8", "replace").lower()) if email else None
        if written and len(written[1]) <= _LONGEST:
            found.add(_ESCAPED.sub(r"\1", written[1]))

    for line in lines:
        plain = line.rstrip(b"\r\n")
        if plain[:1] in (b" ", b"\t"):
            email = (email + plain[1:])[:_LONGEST_LINE] if email else b""
            continue
        take()
        name = plain[:80].upper()
        begun += name.strip() == b"BEGIN:VCARD"
        ended += name.strip() == b"END:VCARD"
        email = plain[:_LONGEST_LINE] if b"EMAIL" in name else b""
    take()
    return Cards(frozenset(found), begun == ended > 0)
