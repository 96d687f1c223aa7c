"""Read what a message claims to a person who looks at it: a name, an address for answers, and where its links lead."""

from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.limits import DEFAULT_LIMITS, Limits
from spamnb.mail.parsing.fields import address
from spamnb.mail.parsing.message import parse
from spamnb.mail.parsing.shown_addresses import shown_addresses

_NAME_CHARS = 200
_PARTS = 3  # texts of a message whose links are looked at
_ADDRESS = lazy_pattern(r"[^\s<>()\"',;:@]{1,64}@(?:[\w-]{1,63}\.){1,8}[\w-]{2,63}")


class Claims(NamedTuple):
    """A stranger's words, unchanged.

    name: before the address in From. names_address: an address in that name, in lower case; or "". answers_to: the only
    address of Reply-To, in lower case; or "". links: the host that the text of a link shows, and the host of another
    site that it leads to.
    """

    name: str = ""
    names_address: str = ""
    answers_to: str = ""
    links: tuple[tuple[str, str], ...] = ()


def claims(raw: bytes, limits: Limits = DEFAULT_LIMITS) -> Claims:
    """Return the claims of a message. Any bytes have some, or none."""
    from spamnb.mail.tokens.html import read_html  # noqa: PLC0415 - BeautifulSoup takes long to import

    message = parse(raw, limits)
    written = message.first("from")
    # QUIRK: many write an address as a name without quotation marks, which RFC 5322 forbids; mail programs show it.
    loose = written.partition("<")[0].strip() if "<" in written else ""
    name = (address(written)[0] or loose)[:_NAME_CHARS]
    found = _ADDRESS.search(name)
    answers = shown_addresses(message.by_name().get("reply-to", []))
    texts = [text.text for text in message.texts if text.is_html][:_PARTS]
    links = [link for text in texts for link in read_html(text, limits).disguised]
    return Claims(
        name,
        found[0].lower() if found else "",
        answers[0].lower() if len(answers) == 1 else "",
        tuple(dict.fromkeys(links)),
    )
