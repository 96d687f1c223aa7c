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
from email.utils import getaddresses, parseaddr
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
_NAMES = re.compile(r"[a-z0-9][a-z0-9.-]{3,100}")
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'()\[\]{}|\\^`]{3,2000}")
_AT_HOST = re.compile(r"@((?:[\w-]{1,63}\.){1,5}[a-z]{2,12})")
_SHOUTED = re.compile(r"[A-Z]{4,20}(?![^\W_])")
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
    yield from _subject(message.first("subject"), limits)
    for name in ("from", "reply-to", "sender", "to", "cc"):
        yield from _addresses(name, list(message.values(name)), limits)
    yield from _reply_to(message)
    yield from _received(list(message.values("received")))
    yield from _hosts("message-id", message.first("message-id").rpartition("@")[2].rstrip("> "))
    if zone := _ZONE.search(message.first("date")):
        yield f"date-zone:{zone[1]}"
    elif message.first("date"):
        yield "date-zone:none"
    yield from (f"refers:{name}" for name in ("in-reply-to", "references") if message.first(name))
    yield from _other_fields(message, limits)
    for name, value in message.inner:
        if name == "subject":
            yield from words(normalise(value)[0], limits.token_chars)


def _prefixed(prefix: str, text: str, limits: Limits) -> Iterator[str]:
    """The words of a text, typed; once each."""
    return (f"{prefix}:{word}" for word in words(normalise(text)[0], limits.token_chars))


def _subject(value: str, limits: Limits) -> Iterator[str]:
    text, notes = normalise(value)
    yield from (f"subject-{note}" for note in notes)
    yield from _prefixed("subject", text, limits)
    if not text.strip():
        yield "subject:"
    yield from (f"subject:{run[0][:3]}" for run in _PUNCTUATION.finditer(text))
    letters = [c for c in text if c.isalpha()]
    if len(letters) > 5 and all(c.isupper() for c in letters):
        yield "subject-shouts"


def _addresses(name: str, values: list[str], limits: Limits) -> Iterator[str]:
    if not values:
        yield f"{name}:none"
        return
    pairs = getaddresses([value[:2000] for value in values[:20]])[:50]
    if len(pairs) > 1:
        yield f"{name}-number:{len(pairs).bit_length()}"
    for display, written in pairs[:20]:
        address = written.lower()
        local, _, host = address.rpartition("@")
        yield f"{name}:{address[:60]}"
        yield from _hosts(name, host)
        if name == "from" and re.search(r"\d{3,}", local):
            yield "from-digits"
        if display:
            yield from _prefixed(f"{name}-name", display, limits)
            if "@" in display and address not in display.lower():
                yield f"{name}-name-is-another-address"
        else:
            yield f"{name}-name:none"


def _reply_to(message: Message) -> Iterator[str]:
    reply, sender = message.first("reply-to"), message.first("from")
    if reply:
        hosts = {parseaddr(value[:500])[1].rpartition("@")[2].lower() for value in (reply, sender)}
        yield "reply-to-elsewhere" if len(hosts) > 1 else "reply-to-same"


def _received(values: list[str]) -> Iterator[str]:
    """The topmost Received field was written by the user's own server; those below it may be forged."""
    yield f"received-number:{min(len(values), 8)}"
    for position, value in enumerate(value[:1000].lower() for value in values[:12]):
        prefix = "received" if position == 0 else "received-claimed"
        for name in dict.fromkeys(_NAMES.findall(value)):
            if "." not in name:
                continue
            if _IPV4.fullmatch(name):
                a, b, c, d = name.split(".")
                yield f"{prefix}-ip:{a}.{b}"
                yield f"{prefix}-ip:{a}.{b}.{c}"
                yield f"{prefix}-ip:{a}.{b}.{c}.{d}"
            elif name.rpartition(".")[2].isalpha():
                yield from _hosts(prefix, name)


def _hosts(prefix: str, host: str) -> Iterator[str]:
    """A host and its parent domains, at most five of them.

    >>> list(_hosts("url", "www.shop.example.com"))
    ['url:www.shop.example.com', 'url:shop.example.com', 'url:example.com', 'url:com']
    """
    parent = host.strip(".").lower()[-100:]
    for _ in range(5):
        yield f"{prefix}:{parent}"
        parent = parent.partition(".")[2]
        if not parent:
            return


def _other_fields(message: Message, limits: Limits) -> Iterator[str]:
    for name, value in dict(reversed(message.fields)).items():
        if name in _OWN_WAY or len(name) > 40 or _NEVER.match(name):
            continue
        yield f"field:{name}"
        if name in _MAILER:
            yield from _prefixed(name, value[:200], limits)


# The structure.


def _structure(message: Message) -> Iterator[str]:
    for path in dict.fromkeys(message.structure):
        yield f"mime:{'>'.join(path[-3:])}"
    yield f"mime-parts:{len(message.structure).bit_length()}"
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
        yield f"attached-extension:{'.'.join(name.split('.')[1:][-2:])[:20]}"


# The body.


def _bodies(message: Message, limits: Limits) -> Counter[str]:
    """All texts; of the alternatives of one content each token counts as often as in the one that has most."""
    total: Counter[str] = Counter()
    groups: dict[int, Counter[str]] = {}
    for text in message.texts:
        found = _html(read_html(text.text, limits), limits) if text.is_html else _plain(text.text, limits)
        if text.group:
            groups[text.group] = groups.get(text.group, Counter()) | found
        else:
            total.update(found)
    for found in groups.values():
        total.update(found)
    return total or Counter(["body-empty"])


def _plain(text: str, limits: Limits) -> Counter[str]:
    tokens: Counter[str] = Counter()
    text, notes = normalise(text)
    tokens.update(f"body-{note}" for note in notes)
    lower = text.lower()
    if "://" in lower or "www." in lower:
        tokens.update(_urls(_URL.findall(lower)[: limits.links]))
        lower = _URL.sub(" ", lower)
    if "@" in lower:
        for host in _AT_HOST.findall(lower)[: limits.links]:
            tokens.update(_hosts("mail", host))
    tokens.update(words(lower, limits.token_chars))
    tokens.update(f"shout:{word.lower()}" for word in _SHOUTED.findall(text))
    tokens.update(run[0][:3] for run in _PUNCTUATION.finditer(text))
    return tokens


def _html(read: HtmlText, limits: Limits) -> Counter[str]:
    tokens = _plain(read.visible[: limits.text_chars], limits)
    tokens.update(read.notes)
    tokens.update(f"html:{feature}" for feature in read.features)
    if read.hidden.strip():
        tokens["html:hidden-text"] += 1
        tokens.update(_prefixed("hidden", read.hidden[: limits.text_chars], limits))
    tokens.update(_prefixed("title", read.title, limits))
    tokens.update(_urls(read.links))
    tokens.update(f"image-{token}" for token in _urls(read.images))
    tokens[f"html-images:{len(read.images).bit_length()}"] += 1
    tokens[f"html-links:{len(read.links).bit_length()}"] += 1
    if read.images and len(read.visible.split()) < 20:
        tokens["html:image-instead-of-text"] += 1
    return tokens


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
