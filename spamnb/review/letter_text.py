"""The text of a letter of the filter: one part of plain text, by RFC 5322 and RFC 3834, without links."""

import hashlib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import formatdate

from spamnb.acts.flooded import Flood
from spamnb.acts.letters import Letter
from spamnb.base.wording import clock_near, plural
from spamnb.mail.reading import printable
from spamnb.review.period import Period
from spamnb.review.statement import Statement
from spamnb.review.statement_words import question, results, title, why_shown

_WIDTH, _MOST = 72, 160  # columns of a line; letters of a stranger's text
_NO_ATOM = frozenset('()<>[]:;@\\,." ')
_NOBODY = "undisclosed-recipients:;"
_END = (
    "spamnb, your spam filter, wrote this letter into your inbox itself. It holds no links and asks for no password."
    " It teaches the filter nothing, and you can delete it."
)


@dataclass(frozen=True, slots=True)
class Correspondents:
    """From whom and to whom a letter goes: addresses of this host. They are for the eye: nothing is sent.

    has_prompt: whether the reader can call commands. Users of a mail host cannot.
    """

    sender: str
    to: str
    has_prompt: bool = True

    @classmethod
    def of(cls, user: str, host: str, *, has_prompt: bool = True) -> "Correspondents":
        """Return the addresses for a user of a host; a user may be a whole address.

        >>> Correspondents.of("anna", "mx.example.org").to, Correspondents.of("anna@example.org", "mx").sender
        ('anna@mx.example.org', 'spamnb@example.org')
        >>> Correspondents.of("anna smith", "a..b")
        Correspondents(sender='spamnb@localhost', to='undisclosed-recipients:;', has_prompt=True)
        """
        local, _, domain = user.rpartition("@") if "@" in user else (user, "@", host)
        domain = domain if all(map(_is_atom, domain.split("."))) else "localhost"
        is_address = all(map(_is_atom, local.split(".")))
        return cls(f"spamnb@{domain}", f"{local}@{domain}" if is_address else _NOBODY, has_prompt)


def _is_atom(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and not _NO_ATOM & set(text)


def statement_letter(found: Statement, mark: str, at: float, who: Correspondents) -> Letter:
    """Return the letter with a statement. mark: of the ledger, which no stranger knows. at: when it is written."""
    paragraphs = [f"{title(found)}."]
    if found.shown:
        paragraphs.append(question(found))
        for one in found.shown:
            day = f"{datetime.fromtimestamp(one.moved.at):%-d %b}"
            paragraphs.append(f"- {day}: {harmless(one.moved.summary)}\n  {why_shown(one)}")
    if found.shown and who.has_prompt:
        paragraphs.append("If none of these is yours, say so, and they teach the filter: spamnb statement --none")
    paragraphs += results(found)
    name = f"statement {found.period}"
    return letter(name, f"spamnb: {title(found)}", paragraphs, mark, at, who, int(found.period.next.since))


def stopped_letter(since: float, withheld: int, mark: str, at: float, who: Correspondents) -> Letter:
    """Return the letter that tells that the circuit breaker has stopped moving. withheld: messages that stay for it."""
    paragraphs = [
        f"Since {clock_near(since, at)} too much of your mail has looked like spam. So the filter moves none of it, and"
        f" {plural(withheld, 'message')} that it calls spam {'stays' if withheld == 1 else 'stay'} in your inbox.",
        "Look at what it calls spam: spamnb history --verdict spam. Then let it go on: spamnb resume"
        if who.has_prompt
        else "Whoever looks after your mail host sees this too, and lets it go on.",
    ]
    subject = "spamnb: the filter has stopped moving mail"
    return letter(f"stopped at {since}", subject, paragraphs, mark, at, who, int(since))


def cannot_move_letter(why: str, week: Period, mark: str, at: float, who: Correspondents) -> Letter:
    """Return the letter of a week that tells that mail cannot be moved. why: in words."""
    paragraphs = [
        f"Your mail cannot be moved for now. The last try said: {_without_links(printable(why))}.",
        "Mail that it would move stays where it is. Nothing is lost. Once you have repaired that, it goes on.",
        "This says what is wrong, and what to do: spamnb doctor"
        if who.has_prompt
        else "Whoever looks after your mail host sees this too.",
    ]
    return letter(f"cannot move {week}", "spamnb: mail cannot be moved", paragraphs, mark, at, who, int(week.since))


def flood_letter(found: Flood, known: Sequence[tuple[float, str]], mark: str, at: float, who: Correspondents) -> Letter:
    """Return the letter that tells of a flood of first letters. known: time and summary of what it may hide."""
    began, ended = (clock_near(time, at) for time in (found.since, found.until))
    paragraphs = [
        f"{plural(found.first, 'first letter')} of strangers came between {began} and {ended}. Somebody may want to"
        " hide one letter among them: of your bank, say, or of a shop.",
        "In that time these came from writers who had written to you before:"
        if known
        else "In that time nothing came from a writer who had written to you before.",
        *(f"- {clock_near(came, at)}: {harmless(summary)}" for came, summary in known),
    ]
    subject = "spamnb: a flood of first letters"
    return letter(f"flood {found.since}", subject, paragraphs, mark, at, who, int(found.since))


def letter(
    name: str, subject: str, paragraphs: Sequence[str], mark: str, at: float, who: Correspondents, since: int
) -> Letter:
    """Return a letter. name: what it is about, the same for the same news. since: the time in its file's name.

    subject: ASCII text of ours. mark: as for `statement_letter`.
    """
    unique = hashlib.sha256(f"{mark} {name}".encode()).hexdigest()[:24]
    head = [
        f"From: spamnb <{who.sender}>",
        f"To: {who.to}",
        f"Subject: {subject}",
        f"Date: {formatdate(at, localtime=True)}",
        f"Message-ID: <{unique}@{who.sender.partition('@')[2]}>",
        "Auto-Submitted: auto-generated",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: 8bit",
    ]
    body = "\n\n".join(_filled(paragraph) for paragraph in (*paragraphs, _END))
    content = "\n".join([*head, "", body, ""]).encode("utf-8", "replace")
    return Letter(f"{since}.L{unique}.spamnb", content, f"{subject} ({who.sender})")


def _filled(paragraph: str) -> str:
    """Break lines at words. Lines after the first of an item are indented."""
    lines = []
    for line in paragraph.split("\n"):
        indent = "  " if line.startswith(("- ", "  ")) else ""
        wrapped = textwrap.wrap(line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        lines += wrapped
    return "\n".join(lines)


def harmless(summary: str) -> str:
    """Return a stranger's subject and sender as one line in which no mail program finds the link to a page.

    The sender's address stays as it is, so that a person recognises it.

    >>> harmless("Pay at www.bank.example/now \u202e! https://x.example (hotel@example.org)")
    'Pay at www. bank. example/now ! https: //x. example (hotel@example.org)'
    >>> harmless("v1.2 is out ([evil.example](https://evil.example))")
    'v1.2 is out ([evil. example](https: //evil. example))'
    """
    text = printable(summary)
    if len(text) > _MOST:
        text = f"{text[: _MOST - 1]}…"
    subject, bracket, sender = text.rpartition(" (")
    address = sender.removesuffix(")")
    if not bracket or not _is_plain_address(address):
        return _without_links(text)
    return f"{_without_links(subject)} ({sender}"


def _is_plain_address(text: str) -> bool:
    local, at, domain = text.partition("@")
    return bool(at) and all(map(_is_atom, (*local.split("."), *domain.split("."))))


def _without_links(text: str) -> str:
    """Part what a mail program would read as the name of a host, or as the beginning of an address on the web."""
    parted = "".join(f"{each} " if _is_inner_dot(text, place) else each for place, each in enumerate(text))
    return parted.replace(":/", ": /")


def _is_inner_dot(text: str, place: int) -> bool:
    return text[place] == "." and text[max(place - 1, 0)].isalnum() and text[place + 1 : place + 2].isalpha()
