"""The outcome of an act in numbers, sealed in the address of the next page, which shows them.

The page after an act is another request, and a person may load it again, so the numbers must be in its address. Anybody
can write an address as a link: without the seal, a link could make the page say something untrue. Each start of the
server has a new seal, so an older address shows nothing. Each user has a different seal too.
"""

import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Final

FIELD: Final = "outcome"
_SEALED = re.compile(r"((?:[a-z]+-[0-9]{1,9}\.)+)([0-9a-f]{32})")


class Seal:
    """Writes such numbers with their names, and reads those that it has written."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = secrets.token_bytes(32) if key is None else key

    def of(self, user: str) -> "Seal":
        """Return the seal of one of several users."""
        return Seal(hmac.digest(self._key, user.encode("utf-8"), "sha256"))

    def written(self, numbers: Mapping[str, int]) -> str:
        """Return the numbers above 0 as text for an address; "" for none."""
        text = "".join(f"{name}-{number}." for name, number in numbers.items() if number)
        return text and text + self._mac(text)

    def read(self, sent: str) -> dict[str, int]:
        """Return the numbers of such a text; none if this seal has not written it."""
        match = _SEALED.fullmatch(sent)
        if match is None or not hmac.compare_digest(match[2], self._mac(match[1])):
            return {}
        pairs = (part.split("-") for part in match[1].split(".")[:-1])
        return {name: int(number) for name, number in pairs}

    def _mac(self, text: str) -> str:
        return hmac.digest(self._key, text.encode("ascii"), "sha256")[:16].hex()
