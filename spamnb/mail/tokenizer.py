"""A message to typed tokens.

Body words stand bare; every other token wears a prefix that says where it was found (`subject:`, `from:`,
`url:`, `received:` …), since the same word is other evidence in another place. A token counts once or often in
a message; the event model decides what that means.

The verdict headers of any filter are never tokens, nor are fields that mail software adds after delivery: the
first would make the filter learn another filter's opinion, the second what the user's own programs did.
"""

import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from spamnb.mail.addresses import address, addresses
from spamnb.mail.limits import DEFAULT_LIMITS, Limits
from spamnb.mail.message import Attachment, Message
from spamnb.mail.text import count_forms, forms, normalise, split_words, words
from spamnb.mail.urls import IPV4, hosts, urls

if TYPE_CHECKING:
    from spamnb.mail.html import HtmlText

_TOKEN_CHARS = 100  # of a whole token with its prefix
VERSION = 2  # raised when the same message yields other tokens; kept with what was learned

# Verdicts by what is in the name, whatever product writes it: X-Acme-MailScanner-SpamCheck, X-VR-SPAMSTATE …
_VERDICT = re.compile(
    r"spam|virus|antivir|malware|phish|junk|scan|score|bayes|bogo|verdict|reputation|quarantine|suspicious|infected"
    r"|threat|greylist|graylist|(?:black|white|block|allow|safe)-?list|dnsbl|filteredbulk|trusted"
    r"|^x-.*(?:filter(?!ed-by)|check(?!sum)|analysis|result|classif|disposition|rbl|spf|dmarc|sender-?id)"
    r"|^x-.*dkim(?!-signature)|^(?:x-)?(?:.*-)?(?:as|av|scl|sbrs)(?:-|$)|^(?:arc-)?authentication-results|^received-spf"
    r"|^(?:dkim|dmarc|spf)-filter|^ui-(?:in|out)boundreport|^ironport-|^domainkey-status|^x-[0-9a-f]{8}$"  # Mail.ru
)
# Verdicts by product, where the name says nothing; and what mail software, archives and corpora add after delivery.
_NEVER = re.compile(
    r"x[-_](?:asg-|crm114|barracuda|bess|amavis|proofpoint|forefront|microsoft-anti|ms-exchange|exchange|eop|ms-office365"
    r"|gmx-anti|ham-report|popfile|sa-|klms|kse-|ksmg|kaspersky|kav|drweb|cloudmark|purgate|expurgate|ironport|amp-|policyd"
    r"|pmx|perlmx|puremessage|sophos|lased|cmae|cnfs|vr-|vade|me-vs|me-(?:proxy-)?cause|proxad|lpn|authority|ct-?ch|ctasd"
    r"|cyren|ct-refid|mras|rambler|yandex-fwd|gm-(?!message-state)|eset|nod32|avast|avg|avira|bitdefender|norton"
    r"|symantec|brightmail|starscan|pstn|tm-|tmase|tmn|trend|imss|interscan|gfi|md(?!n)|nai-|wss-|watchguard|mlf"
    r"|sonicwall|smtpd-|hmail|hm-|aes-|f-?secure|fe-|feas|forti|mimecast|messagesniffer|snf|gbudb|warning"
    r"|(?:lookup|rbl|sender|helo)-warning|declude|note(?:-|$)|weight|country-chain|smartermail|kerio|aol-(?:scoll|vss|reroute|global)|ymail-?isg|toi-"
    r"|clx-|icl-|mantsh|apple-(?:action|movetofolder)|zoho-av|canit|miltered|j-chkmail|dcc-|pyzor|razor|clam|assp|tff"
    r"|mc-relay|talos|perception|avanan|inky|area1|agari|recommended-action|elnk|contentstamp|sb(?:class|note|pass"
    r"|rule)|o2-trust|sid-|message-(?:delivery|info)|dtfs|auth-?result|incoming"
    r"|mozilla|evolution|account-key|gmail-|kmail|mutt|sylpheed|claws|gnus|label|folder|filename|origin$|from$|to$|cc$"
    r"|bcc$|gmane|injected-via|mha-|trec|corpus|ifile|keywords$|uid|tuid$|imap|original-to$|delivered-to$|envelope|offlineimap"
    r"|(?:message-)?status$|sieve|mail-format-warning$|resolved-to$|spamnb|policy)"
    r"|(?:status|lines|content-length|delivered-to|envelope-to|(?:old-)?return-path|replied|forwarded|xref|delivery-date"
    r"|x-apparently-to|xstatus|xlevel|xchecker-version"
    r"|x-attached)$"
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
        "content-language",
    }
)
_NAMES = re.compile(r"[a-z0-9][a-z0-9.-]{3,100}")
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'()\[\]{}|\\^`]{3,2000}")
_ARMOUR = re.compile(r"^[A-Za-z0-9+/=]{40,100}\r?$", re.MULTILINE)  # of PGP and PEM: words that are met once
_AT_HOST = re.compile(r"@((?:[\w-]{1,63}\.){1,5}[a-z]{2,12})")
_SHOUTED = re.compile(r"[A-Z]{4,20}(?![^\W_])")
_MARKS = re.compile(r"[!?$*#=_~.,+-]{2,}")  # a quick look: where the next pattern can have anything to find
_PUNCTUATION = re.compile(r"([!?$*#=_~.,+-])\1{2,}|!\?|\?!")
_RUN = re.compile(r"(.)\1+")
_SHAPE = str.maketrans(
    dict.fromkeys(string.ascii_lowercase, "a")
    | dict.fromkeys(string.ascii_uppercase, "A")
    | dict.fromkeys(string.digits, "d")
)
# How far into a text the opening reaches, and where the closing begins, in words. The ends of a text tell more than
# its middle: pairs over all of it would add 127 new tokens a message to the ledger; these add 8 and do as much.
_OPENING, _OPENING_PAIRS, _CLOSING = 10, 20, 20
_ZONE = re.compile(r"([+-]\d{4})\s*(?:\(|\Z)")


# The kinds of token that speak of the header alone: all but Subject, which a person reads.
_HEADER_KINDS = frozenset(
    """from from-name from-number reply-to reply-to-name reply-to-number to to-name to-number cc cc-name cc-number
    message-id message-id-shape received received-number received-ip received-claimed received-claimed-ip date-zone
    refers field transfer""".split()  # noqa: SIM905
)
_HEADER_NOTES = ("from-", "reply-to-", "to-", "cc-")


def is_header(token: str) -> bool:
    """Whether a token speaks of the header alone.

    >>> is_header("received:mail.example.org"), is_header("subject:hello"), is_header("hello")
    (True, False, False)
    """
    kind, colon, _ = token.partition(":")
    return kind in _HEADER_KINDS or kind in _MAILER if colon else token.startswith(_HEADER_NOTES)


def tokenize(message: Message, limits: Limits = DEFAULT_LIMITS) -> dict[str, int]:
    """The tokens of a message, and how often each occurs in it.

    Never empty, and at most `limits.tokens` distinct ones: the first that were met.
    """
    tokens: dict[str, int] = Counter(chain(_structure(message), _header(message, limits)))
    bodies = _bodies(message, limits)
    both = {token: tokens[token] + bodies[token] for token in tokens.keys() & bodies.keys()}
    tokens = {**tokens, **bodies, **both}
    if not "".join(tokens).isprintable() or max(map(len, tokens)) > _TOKEN_CHARS:
        _make_presentable(tokens)
    if len(tokens) > limits.tokens:
        tokens = dict(list(tokens.items())[: limits.tokens - 1])
        tokens["limit:tokens"] = 1
    return tokens


def _make_presentable(tokens: dict[str, int]) -> None:
    """Make tokens fit for a database and a terminal: cut to their greatest length, and printable.

    Addresses, file names and hosts are a stranger's words as they stand; control characters, lone surrogates
    and the like in them become U+FFFD.
    """
    for token in [token for token in tokens if len(token) > _TOKEN_CHARS or not token.isprintable()]:
        number = tokens.pop(token)
        shown = "".join(c if c.isprintable() else "\ufffd" for c in token[:_TOKEN_CHARS])
        tokens[shown] = tokens.get(shown, 0) + number


# The header.


def _header(message: Message, limits: Limits) -> Iterator[str]:
    fields = message.by_name()
    first = {name: values[0] for name, values in fields.items()}
    yield from _subject(first.get("subject", ""), limits)
    for name in ("from", "reply-to", "to", "cc"):
        yield from _addresses(name, fields.get(name, []), limits)
    yield from _reply_to(first.get("reply-to", ""), first.get("from", ""))
    yield from _received(fields.get("received", []))
    yield from _message_id(first.get("message-id", "").strip("<> "))
    if date := first.get("date"):
        zone = _ZONE.search(date)
        yield f"date-zone:{zone[1] if zone else 'none'}"
    yield from (f"refers:{name}" for name in ("in-reply-to", "references") if first.get(name))
    yield from _other_fields(first, limits)
    for name, value in message.inner:
        if name == "subject":
            yield from words(normalise(value)[0], limits.token_chars)


def _prefixed(prefix: str, text: str, limits: Limits) -> Iterator[str]:
    """The words of a text, typed; once each."""
    return (f"{prefix}:{word}" for word in words(normalise(text)[0], limits.token_chars))


def _subject(value: str, limits: Limits) -> Iterator[str]:
    text, notes = normalise(value)
    yield from (f"subject-{note}" for note in notes)
    found = split_words(text)
    yield from (f"subject:{word}" for word in count_forms(found, limits.token_chars))
    yield from _pairs("subject-pair", ["^", *forms(found, limits.token_chars), "$"])
    if not text.strip():
        yield "subject:"
    yield from (f"subject:{run[0][:3]}" for run in _PUNCTUATION.finditer(text))
    letters = [c for c in text if c.isalpha()]
    if len(letters) > 5 and all(c.isupper() for c in letters):
        yield "subject-shouts"


def _message_id(value: str) -> Iterator[str]:
    """The host, and the shape of what stands before it, which tells the program that made it."""
    local, _, host = value.rpartition("@")
    yield from hosts("message-id", host)
    shape = _RUN.sub(r"\1", local[:200].translate(_SHAPE))
    yield f"message-id-shape:{shape[:30]}"


def _addresses(name: str, values: list[str], limits: Limits) -> Iterator[str]:
    if not values:
        yield f"{name}:none"
        return
    pairs = addresses([value[:2000] for value in values[:20]])[:50]
    if len(pairs) > 1:
        yield f"{name}-number:{len(pairs).bit_length()}"
    for display, written in pairs[:20]:
        lower = written.lower()
        local, _, host = lower.rpartition("@")
        yield f"{name}:{lower[:60]}"
        yield from hosts(name, host)
        if name == "from" and re.search(r"\d{3,}", local):
            yield "from-digits"
        if display:
            yield from _prefixed(f"{name}-name", display, limits)
            if "@" in display and lower not in display.lower():
                yield f"{name}-name-is-another-address"
        else:
            yield f"{name}-name:none"


def _reply_to(reply: str, sender: str) -> Iterator[str]:
    if reply:
        sites = {address(value[:500])[1].rpartition("@")[2].lower() for value in (reply, sender)}
        yield "reply-to-elsewhere" if len(sites) > 1 else "reply-to-same"


def _received(values: list[str]) -> Iterator[str]:
    """The topmost Received field was written by the user's own server; those below it may be forged."""
    yield f"received-number:{min(len(values), 8)}"
    for position, value in enumerate(value[:1000].lower() for value in values[:12]):
        prefix = "received" if position == 0 else "received-claimed"
        for name in dict.fromkeys(_NAMES.findall(value)):
            if "." not in name:
                continue
            if IPV4.fullmatch(name):
                a, b, c, d = name.split(".")
                yield f"{prefix}-ip:{a}.{b}"
                yield f"{prefix}-ip:{a}.{b}.{c}"
                yield f"{prefix}-ip:{a}.{b}.{c}.{d}"
            elif name.rpartition(".")[2].isalpha():
                yield from hosts(prefix, name)


@lru_cache(maxsize=1024)
def _is_never_read(name: str) -> bool:
    return _NEVER.match(name) is not None or _VERDICT.search(name) is not None


def _other_fields(first: Mapping[str, str], limits: Limits) -> Iterator[str]:
    for name, value in first.items():
        if name in _OWN_WAY or len(name) > 40 or _is_never_read(name):
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


def _pairs(prefix: str, found: Sequence[str]) -> Iterator[str]:
    """Neighbouring words, each pair once."""
    return (f"{prefix}:{one} {other}" for one, other in dict.fromkeys(pairwise(found)))


def _bodies(message: Message, limits: Limits) -> Counter[str]:
    """All texts; of the alternatives of one content each token counts as often as in the one that has most."""
    total: Counter[str] = Counter()
    groups: dict[int, Counter[str]] = {}
    for text in message.texts:
        found = _html(text.text, limits) if text.is_html else _plain(text.text, limits)
        if text.group:
            groups[text.group] = groups[text.group] | found if text.group in groups else found
        else:
            total.update(found)
    for found in groups.values():
        total.update(found)
    return total or Counter(["body-empty"])


def _plain(text: str, limits: Limits) -> Counter[str]:
    if "-----BEGIN " in text:
        text = _ARMOUR.sub("", text)
    shown, notes = normalise(text)
    if len(shown) > limits.text_chars:  # a ligature can stand for eighteen letters
        shown = shown[: limits.text_chars]
        notes.append("limit:text_chars")
    more: list[str] = [note if ":" in note else f"body-{note}" for note in notes]
    lower = shown.lower()
    if "://" in lower or "www." in lower:
        found = _URL.findall(lower)
        if len(found) > limits.links:
            more.append("limit:links")
        more.extend(urls(found[: limits.links]))
        lower = _URL.sub(" ", lower)
    if "@" in lower:
        for host in _AT_HOST.findall(lower)[: limits.links]:
            more.extend(hosts("mail", host))
    more.extend([f"shout:{word.lower()}" for word in _SHOUTED.findall(shown)])
    for marks in _MARKS.findall(shown):
        more.extend([run[0][:3] for run in _PUNCTUATION.finditer(marks)])
    found = split_words(lower)
    first = forms(found[:_OPENING_PAIRS], limits.token_chars)
    more.extend(f"opening:{word}" for word in dict.fromkeys(first[:_OPENING]))
    more.extend(_pairs("opening-pair", ["^", *first[:_OPENING_PAIRS]]))
    more.extend(f"closing:{word}" for word in dict.fromkeys(forms(found[-_CLOSING:], limits.token_chars)))
    tokens = Counter(count_forms(found, limits.token_chars))
    tokens.update(more)  # once for all: each call costs as much as thirty words
    return tokens


def _html(markup: str, limits: Limits) -> Counter[str]:
    from spamnb.mail.html import read_html  # noqa: PLC0415 - BeautifulSoup takes 0.2 s to import

    read: HtmlText = read_html(markup, limits)
    tokens = _plain(read.visible[: limits.text_chars], limits)
    if max(len(read.visible), len(read.hidden)) > limits.text_chars:
        tokens["limit:text_chars"] = 1
    more = [*read.notes, *(f"html:{feature}" for feature in sorted(read.features))]
    if read.hidden.strip():
        more.append("html:hidden-text")
    more.extend(f"tag:{name}" for name in sorted(read.elements))
    more.extend(urls(read.links))
    more.extend(f"image-{token}" for token in urls(read.images))
    more.append(f"html-images:{len(read.images).bit_length()}")
    more.append(f"html-links:{len(read.links).bit_length()}")
    if read.images and len(read.visible.split()) < 20:
        more.append("html:image-instead-of-text")
    tokens.update(more)
    return tokens
