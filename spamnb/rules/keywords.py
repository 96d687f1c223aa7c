"""What a mail client's keywords mean."""

from collections.abc import Iterable

from spamnb.base.label import Label

_SPAM_KEYWORDS = frozenset({"$junk", "junk"})  # RFC 9051, 2.3.2, and Thunderbird's spelling
_HAM_KEYWORDS = frozenset({"$notjunk", "notjunk", "nonjunk"})


def label_of_keywords(keywords: Iterable[str]) -> Label | None:
    """What a client's keywords call the message; None where they call it nothing, or both."""
    written = {keyword.lower() for keyword in keywords}
    spam, ham = bool(written & _SPAM_KEYWORDS), bool(written & _HAM_KEYWORDS)
    return None if spam == ham else Label.SPAM if spam else Label.HAM
