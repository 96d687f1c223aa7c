"""The addresses at which one can unsubscribe, as a message says (RFC 2369, section 3.2). Nothing here calls them."""

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.parsing.message import parse

_MOST, _CHARS = 3, 300  # addresses of a message, and letters of one: they are shown
_ADDRESS = lazy_pattern(r"<\s*((?:mailto|https?):[^<>\s]{1,1000})\s*>")


def unsubscribe_addresses(raw: bytes) -> list[str]:
    """Return the addresses in List-Unsubscribe, mail and web, as text that a stranger wrote.

    >>> unsubscribe_addresses(b"List-Unsubscribe: <mailto:off@shop.example>,\\n <https://shop.example/off?you>\\n\\n")
    ['mailto:off@shop.example', 'https://shop.example/off?you']
    >>> unsubscribe_addresses(b"List-Unsubscribe: NO\\n\\n"), unsubscribe_addresses(b"List-Unsubscribe: <file:x>\\n\\n")
    ([], [])
    """
    fields = parse(raw).by_name().get("list-unsubscribe", [])
    return [address for field in fields for address in _ADDRESS.findall(str(field)) if len(address) <= _CHARS][:_MOST]
