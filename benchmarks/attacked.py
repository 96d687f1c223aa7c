"""Write mail like an attacker: spam with added words or letters of the user.

The addition is in every text of the message, below the original text, in the same charset and transfer encoding. The
rest of the message is unchanged.
"""

import base64
import html
import quopri
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from email import message_from_bytes
from email.message import Message
from email.policy import compat32
from itertools import chain

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import read
from spamnb.mail.tokens.html import read_html

_AS_IT_WAS = compat32.clone(mangle_from_=False, max_line_length=0)
_WORD = re.compile(r"[a-z]{3,15}")
_LETTER_CHARS = 20_000
_WORDS_A_LINE = 10
IN_SIGHT = b"<div>%s</div>"
HIDDEN = b'<div style="display:none">%s</div>'
HIDDEN_BY_SHEET = {
    "not displayed": b"<style>.a1 { display: none }</style><div class=a1>%s</div>",
    "of no size": b"<style>div#b2 { font-size: 0px }</style><div id=b2>%s</div>",
    "white on white": b"<style>.c3 { color: #ffffff }</style><div class=c3>%s</div>",
}


class Vocabulary:
    """An attacker's possible knowledge of a person's mail: how many messages of each kind have a word."""

    def __init__(self, ham: Iterable[bytes], spam: Iterable[bytes]) -> None:
        self._ham, self._spam = (
            Counter(chain.from_iterable(filter(_WORD.fullmatch, read(raw).tokens) for raw in messages))
            for messages in (ham, spam)
        )

    def random_words(self, number: int, chance: random.Random) -> list[str]:
        """Return random words of the language: any word in the mail may be taken."""
        words = sorted(self._ham.keys() | self._spam.keys())
        return chance.sample(words, min(number, len(words)))

    def typical_of_ham(self, number: int) -> list[str]:
        """Return the words that point most to ham: in many of its messages, and in hardly any spam."""
        return sorted(self._ham, key=lambda word: (-self._ham[word] / (self._spam[word] + 1), word))[:number]

    def common_in_ham(self, number: int) -> list[str]:
        """Return the words that are in most ham."""
        return sorted(self._ham, key=lambda word: (-self._ham[word], word))[:number]


def lines(words: Sequence[str]) -> str:
    """Return words as a text with short lines."""
    return "\n".join(" ".join(words[at : at + _WORDS_A_LINE]) for at in range(0, len(words), _WORDS_A_LINE))


def letter(raw: bytes) -> str:
    """Return the text that a person reads in a message."""
    texts = (read_html(text.text, DEFAULT_LIMITS).visible if text.is_html else text.text for text in parse(raw).texts)
    return "\n\n".join(texts)[:_LETTER_CHARS]


def with_text(raw: bytes, more: str, markup: bytes = IN_SIGHT) -> bytes:
    """Add a text below each of the message's own, in this markup. To hide it, plain texts become HTML.

    QUIRK: mail of the Enron sets has no blank line after its Subject. A filter may take all of it for header, and such
    a message with that line for another kind of mail. So the line is not added if it was missing.
    """
    if markup == IN_SIGHT and b"\n\n" not in raw.replace(b"\r\n", b"\n"):
        return raw.rstrip() + b"\n" + more.replace("\n\n", "\n").encode("ascii", "replace") + b"\n"
    message = message_from_bytes(raw, policy=_AS_IT_WAS)
    for part in message.walk():
        if part.get_content_maintype() == "text" and part.get_content_disposition() != "attachment":
            _add(part, more, markup)
    return message.as_bytes()


def with_fields_of(raw: bytes, other: bytes, names: Iterable[str]) -> bytes:
    """Replace these header fields of the message by those of `other`."""
    message, source = (message_from_bytes(one, policy=_AS_IT_WAS) for one in (raw, other))
    for name in names:
        del message[name]
        for value in source.get_all(name, []):
            message[name] = value
    return message.as_bytes()


def with_body(raw: bytes, written: bytes, names: Sequence[str] = ()) -> bytes:
    """Give the message another body, after its Content-… fields. Its own fields stay: these names, or all."""
    kept = [(name, value) for name, value in _own_fields(raw) if not names or name.lower() in names]
    return b"".join(f"{name}: {value}\n".encode("utf-8", "surrogateescape") for name, value in kept) + written


def _own_fields(raw: bytes) -> list[tuple[str, str]]:
    message = message_from_bytes(raw, policy=_AS_IT_WAS)
    return [(name, value) for name, value in message.items() if not name.lower().startswith(("content-", "mime-"))]


def as_one_part(raw: bytes, behind_from: bytes = b"") -> bytes:
    """Write the message's texts as one HTML part in base64; its header has From at the top, then these lines."""
    texts = [text.text if text.is_html else f"<pre>{html.escape(text.text)}</pre>" for text in parse(raw).texts]
    fields = _own_fields(raw)
    fields.sort(key=lambda field: field[0].lower() != "from")
    lines = [f"{name}: {value}\n".encode("utf-8", "surrogateescape") for name, value in fields]
    place = sum(name.lower() == "from" for name, _ in fields)
    declared = b"MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    body = base64.encodebytes("\n".join(texts).encode("utf-8", "replace"))
    return b"".join([*lines[:place], behind_from, *lines[place:], declared, body])


def as_signed_newsletter(raw: bytes, server: str, sender: str, address: str) -> bytes:
    """Send the message from an address that signs it, over a machine with an IP address, with List-Unsubscribe.

    server: of the person, which writes that the signature is valid.
    """
    message = message_from_bytes(raw, policy=_AS_IT_WAS)
    domain = sender.rpartition("@")[2]
    own = {
        "Authentication-Results": f"{server}; dkim=pass header.d={domain}",
        "Received": f"from {domain} (unknown [{address}]) by {server} with ESMTPS; Mon, 1 Jun 2026 10:00:00 +0000",
        "List-Unsubscribe": f"<https://{domain}/bye>",
        "From": sender,
    }
    for name in own:
        del message[name]
    return "".join(f"{name}: {value}\n" for name, value in own.items()).encode() + message.as_bytes()


def as_answer(raw: bytes, other: bytes) -> bytes:
    """Return the message with the other message's Message-ID in In-Reply-To and References."""
    message, source = (message_from_bytes(one, policy=_AS_IT_WAS) for one in (raw, other))
    for name in ("In-Reply-To", "References"):
        del message[name]
        message[name] = source["message-id"]
    return message.as_bytes()


def _add(part: Message, more: str, markup: bytes) -> None:
    content = part.get_payload(decode=True) or b""
    assert isinstance(content, bytes)
    written = more.encode(_charset(part), "replace")
    is_html = part.get_content_subtype() == "html"
    if is_html or markup != IN_SIGHT:
        if not is_html:
            content = b"<pre>%s</pre>" % html.escape(content.decode("latin-1")).encode("latin-1")
            if "content-type" in part:
                part.set_type("text/html")
            else:
                part["Content-Type"] = "text/html"
        addition = markup % html.escape(written.decode("latin-1")).encode("latin-1")
        before, end, after = _parted(content)
        content = before + addition + end + after
    else:
        content = content.rstrip() + b"\n\n" + written + b"\n"
    encoding = str(part.get("content-transfer-encoding", "")).strip().lower()
    if encoding == "base64":
        content = base64.encodebytes(content)
    elif encoding == "quoted-printable":
        content = quopri.encodestring(content)
    part.set_payload(content.decode("ascii", "surrogateescape"))


def _charset(part: Message) -> str:
    try:
        "".encode(named := part.get_content_charset() or "ascii")
    except LookupError:
        return "ascii"
    return named


def _parted(content: bytes) -> tuple[bytes, bytes, bytes]:
    """Split a page into the part before its last </body>, that, and the rest."""
    at = content.lower().rfind(b"</body>")
    return (content, b"", b"") if at < 0 else (content[:at], content[at : at + 7], content[at + 7 :])
