"""A message to typed tokens.

Body words stand bare; every other token wears a prefix that says where it was found (`subject:`, `from:`,
`url:`, `received:` …), since the same word is other evidence in another place. A token counts once or often in
a message; the event model decides what that means.

The verdict headers of any filter are never tokens, nor are fields that mail software adds after delivery: the
first would make the filter learn another filter's opinion, the second what the user's own programs did.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from email.utils import getaddresses
from urllib.parse import unquote

from spamnb.mail.html import HtmlText, read_html
from spamnb.mail.limits import DEFAULT_LIMITS, Limits
from spamnb.mail.message import Attachment, Message
from spamnb.mail.text import normalise, words

VERSION = 1  # raised when the same message yields other tokens; kept with what was learned

_NEVER = re.compile(
    r"x-spam|x-rspamd|x-bogosity|x-dspam|x-crm114|x-text-classification|x-junk|x-antispam|x-barracuda|x-virus"
    r"|x-amavis|x-scanned|x-proofpoint|x-forefront|x-microsoft-antispam|x-ms-exchange-organization|x-exchange-antispam"
    r"|x-ovh-spam|x-gmx-anti|x-ham-report|x-mozilla|x-evolution|x-gmail-labels|x-popfile|x-sa-|x-klms|x-cloudmark|x-sieve"
    r"|x-purgate|x-ironport|x-mailscanner|x-greylist|x-policyd|x-pmx|x-hmailserver-spam|x-spambayes|x-spamnb"
    r"|status\Z|x-status\Z|x-keywords\Z|x-uid|x-tuid\Z|lines\Z|content-length\Z|x-imap|x-original-to\Z|delivered-to\Z"
    r"|envelope-to\Z|x-envelope|return-path\Z|replied\Z|forwarded\Z|old-return-path\Z|x-mail-format-warning\Z|x-offlineimap"
)
# Read in their own way, so the generic tokens leave them out.
_OWN_WAY = frozenset(
    """subject from to cc reply-to sender received message-id in-reply-to references date mime-version content-type
    content-transfer-encoding content-disposition""".split()  # noqa: SIM905
)
_MAILER = frozenset(
    {
        "x-mailer",
        "user-agent",
        "x-mimeole",
        "x-originating-ip",
        "organization",
        "precedence",
        "x-priority",
        "importance",
        "x-msmail-priority",
        "auto-submitted",
        "list-id",
        "content-language",
    }
)
_HOST_IN_RECEIVED = re.compile(r"[a-z0-9][a-z0-9.-]{2,100}\.[a-z]{2,12}", re.IGNORECASE)
_IPV4 = re.compile(r"(?<![\d.])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?![\d.])")
_URL = re.compile(r"(?:https?://|(?<![\w.@/])www\.)[^\s<>\"'()\[\]{}|\\^`]{3,2000}", re.IGNORECASE)
_ADDRESS = re.compile(r"[\w.+-]{1,64}@((?:[\w-]{1,63}\.){1,5}[A-Za-z]{2,12})")
_SHOUTED = re.compile(r"\b[A-Z]{4,20}\b")
_PUNCTUATION = re.compile(r"([!?$*#=_~.,+-])\1{2,}|!\?|\?!")
_PATH_WORD = re.compile(r"[^\W_]{2,24}")
_ZONE = re.compile(r"([+-]\d{4})\s*(?:\(|\Z)")


def tokenize(message: Message, limits: Limits = DEFAULT_LIMITS) -> dict[str, int]:
    """The tokens of a message, and how often each occurs in it.

    Never empty, and at most `limits.tokens` distinct ones: the first that were met.
    """
    tokens: Counter[str] = Counter()
    tokens.update(_structure(message))
    tokens.update(_header(message, limits))
    tokens.update(_bodies(message, limits))
    if len(tokens) > limits.tokens:
        tokens = Counter(dict(list(tokens.items())[: limits.tokens - 1]))
        tokens["limit:tokens"] = 1
    return dict(tokens)


# The header.


def _header(message: Message, limits: Limits) -> Iterator[str]:
    yield from _subject(message.first("subject"), "subject", limits)
    for name in ("from", "reply-to", "sender", "to", "cc"):
        yield from _addresses(name, list(message.values(name)), limits)
    yield from _reply_to(message)
    yield from _received(list(message.values("received")))
    yield from _hosts("message-id", message.first("message-id").rpartition("@")[2].rstrip("> "))
    if zone := _ZONE.search(message.first("date")):
        yield f"date-zone:{zone[1]}"
    elif "date" in dict(message.fields):
        yield "date-zone:none"
    yield from (f"refers:{name}" for name in ("in-reply-to", "references") if message.first(name))
    yield from _other_fields(message, limits)
    for name, value in message.inner:
        if name == "subject":
            yield from words(normalise(value)[0], limits.token_chars)


def _subject(value: str, prefix: str, limits: Limits) -> Iterator[str]:
    text, notes = normalise(value)
    yield from (f"{prefix}-{note}" for note in notes)
    found = [f"{prefix}:{word}" for word in words(text, limits.token_chars)]
    yield from found or (f"{prefix}:",)
    yield from (f"{prefix}:{run[0][:3]}" for run in _PUNCTUATION.finditer(text))
    letters = [c for c in text if c.isalpha()]
    if len(letters) > 5 and all(c.isupper() for c in letters):
        yield f"{prefix}-shouts"
    if re.search(r"\s{4,}\S+\s*\Z", value[:500]):
        yield f"{prefix}-trailing-code"


def _addresses(name: str, values: list[str], limits: Limits) -> Iterator[str]:
    if not values:
        yield f"{name}:none"
        return
    pairs = getaddresses([value[:2000] for value in values[:20]])[:50]
    if len(pairs) > 1:
        yield f"{name}-number:{min(len(pairs), 50).bit_length()}"
    for display, address in pairs[:20]:
        local, _, host = address.lower().rpartition("@")
        yield f"{name}:{address.lower()[:60]}"
        yield from _hosts(name, host)
        if name == "from" and local and re.search(r"\d{3,}", local):
            yield "from-digits"
        if display:
            yield from (f"{name}-name:{word}" for word in words(normalise(display)[0], limits.token_chars))
            if "@" in display and address.lower() not in display.lower():
                yield f"{name}-name-is-another-address"
        else:
            yield f"{name}-name:none"


def _reply_to(message: Message) -> Iterator[str]:
    reply, sender = message.first("reply-to"), message.first("from")
    if reply:
        hosts = [getaddresses([value[:500]])[0][1].rpartition("@")[2].lower() for value in (reply, sender) if value]
        yield "reply-to-elsewhere" if len(set(hosts)) > 1 else "reply-to-same"


def _received(values: list[str]) -> Iterator[str]:
    """The topmost Received field was written by the user's own server; those below it may be forged."""
    yield f"received-number:{min(len(values), 8)}"
    for position, value in enumerate(value[:1000] for value in values[:12]):
        prefix = "received" if position == 0 else "received-claimed"
        for host in dict.fromkeys(_HOST_IN_RECEIVED.findall(value)):
            yield from _hosts(prefix, host.lower())
        for a, b, c, d in dict.fromkeys(_IPV4.findall(value)):
            yield f"{prefix}-ip:{a}.{b}"
            yield f"{prefix}-ip:{a}.{b}.{c}"
            yield f"{prefix}-ip:{a}.{b}.{c}.{d}"


def _hosts(prefix: str, host: str) -> Iterator[str]:
    """A host and its parent domains.

    >>> list(_hosts("url", "www.shop.example.com"))
    ['url:www.shop.example.com', 'url:shop.example.com', 'url:example.com', 'url:com']
    """
    labels = host.strip(".").lower()[:120].split(".")[-5:]
    for start in range(len(labels)):
        yield f"{prefix}:{'.'.join(labels[start:])}"


def _other_fields(message: Message, limits: Limits) -> Iterator[str]:
    seen = set()
    for name, value in message.fields:
        if name in _OWN_WAY or _NEVER.match(name) or len(name) > 40:
            continue
        if name not in seen:
            seen.add(name)
            yield f"field:{name}"
        if name in _MAILER:
            yield from (f"{name}:{word}" for word in words(normalise(value[:200])[0], limits.token_chars))


# The structure.


def _structure(message: Message) -> Iterator[str]:
    for path in dict.fromkeys(message.structure):
        yield f"mime:{'>'.join(path[-3:])}"
    yield f"mime-parts:{min(len(message.structure), 32).bit_length()}"
    yield from (f"charset:{name[:30]}" for name in dict.fromkeys(message.charsets))
    yield from (f"transfer:{value.strip().lower()[:20]}" for value in message.values("content-transfer-encoding"))
    yield from message.notes
    for attachment in message.attachments:
        yield from _attachment(attachment)


def _attachment(attachment: Attachment) -> Iterator[str]:
    yield f"attached:{attachment.media_type}"
    yield f"attached-size:{attachment.size.bit_length()}"
    if attachment.filename:
        name = normalise(attachment.filename.lower())[0]
        yield f"attached-name:{name[:40]}"
        extensions = name.split(".")[1:]
        yield f"attached-extension:{'.'.join(extensions[-2:])[:20]}"


# The body.


def _bodies(message: Message, limits: Limits) -> Counter[str]:
    """All texts; of the alternatives of one content each token counts as often as in the one that has most."""
    total: Counter[str] = Counter()
    groups: dict[int, Counter[str]] = {}
    for text in message.texts:
        found: Counter[str] = Counter()
        if text.is_html:
            found.update(_html(read_html(text.text, limits), limits))
        else:
            found.update(_plain(text.text, limits))
        if text.group:
            groups[text.group] = groups.get(text.group, Counter()) | found
        else:
            total.update(found)
    for found in groups.values():
        total.update(found)
    if not total:
        total["body-empty"] = 1
    return total


def _plain(text: str, limits: Limits) -> Iterator[str]:
    text, notes = normalise(text)
    yield from (f"body-{note}" for note in notes)
    yield from _urls(_URL.findall(text)[: limits.links])
    text = _URL.sub(" ", text)
    for host in _ADDRESS.findall(text)[: limits.links]:
        yield from _hosts("mail", host)
    yield from words(text, limits.token_chars)
    yield from (f"shout:{word.lower()}" for word in _SHOUTED.findall(text))
    yield from (run.group()[:3] for run in _PUNCTUATION.finditer(text))


def _html(read: HtmlText, limits: Limits) -> Iterator[str]:
    yield from read.notes
    yield from (f"html:{feature}" for feature in sorted(read.features))
    yield from _plain(read.visible[: limits.text_chars], limits)
    if read.hidden.strip():
        yield "html:hidden-text"
        hidden = normalise(read.hidden[: limits.text_chars])[0]
        yield from (f"hidden:{word}" for word in words(hidden, limits.token_chars))
    yield from (f"title:{word}" for word in words(normalise(read.title)[0], limits.token_chars))
    yield from _urls(read.links)
    yield from (f"image-{token}" for token in _urls(read.images))
    yield f"html-images:{min(len(read.images), 64).bit_length()}"
    yield f"html-links:{min(len(read.links), 64).bit_length()}"
    if read.images and len(read.visible.split()) < 20:
        yield "html:image-instead-of-text"


def _urls(urls: Iterable[str]) -> Iterator[str]:
    for url in dict.fromkeys(urls):
        scheme, found, rest = url.partition("://")
        if not found:
            scheme, rest = ("http", url) if url.lower().startswith("www.") else (url.partition(":")[0], "")
        if scheme.lower() not in {"http", "https"}:
            yield f"url-scheme:{scheme.lower()[:10]}"
            if scheme.lower() == "mailto":
                yield from _hosts("mail", url.partition("@")[2].partition("?")[0][:100])
            continue
        authority, _, path = rest.partition("/")
        user, _, host = authority.rpartition("@")
        if user:
            yield "url-user"
        if "%" in host:
            yield "url-host-escaped"
        host, _, port = unquote(host[:255]).partition(":")
        if port not in {"", "80", "443"}:
            yield "url-port"
        if _IPV4.fullmatch(host):
            yield "url-ip"
        yield from _hosts("url", host)
        yield from (f"url-path:{word}" for word in _PATH_WORD.findall(path[:200].lower())[:8])
