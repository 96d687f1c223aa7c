"""Gather what a person should know who asks of a message: is it who it says? It moves nothing, and no verdict uses it.

Alarming facts come from the message itself, from the person's own mail server, and from the mail that the person
has kept. An ordinary letter has none of it, and then nothing is said: docs/web.md has the figures.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from spamnb.base.label import Label
from spamnb.base.wording import clock
from spamnb.config import Config
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.acquaintance import Seen
from spamnb.mail.authentication import Authentication, authentication, signers
from spamnb.mail.claims import Claims, claims
from spamnb.mail.holders import holder_of, in_the_dns
from spamnb.mail.path import site_of
from spamnb.mail.reading import Reading, printable
from spamnb.mail.relations import Relations
from spamnb.rules.lookalikes import lookalike

_MOST_KNOWN = 2000  # addresses of ham, to find sites and people that a stranger resembles
_MOST_NAMESAKES = 50  # messages per word of a name
_MOST_LINKS = 3
_LEAST_WORDS = 2  # of a name: many people are called Anna
_NAME_CHARS = 80
_DAY = 10  # characters of a clock
_MARKS = "\"'()[]<>,;:!?*"  # around a word of a name


class Fact(NamedTuple):
    """A sentence about who wrote a message. kind: a word for programs. text: with {} for each of the names.

    names: a stranger's words, as one line each, and cut. A page must keep them apart from the sentence, since they may
    be written from right to left.
    """

    kind: str
    text: str
    names: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The sentence with the names in it."""
        return self.text.format(*self.names)

    @property
    def pieces(self) -> list[tuple[str, str]]:
        """The sentence in pieces: words of ours, and the name that follows them, or ""."""
        return list(zip(self.text.split("{}"), [*self.names, ""], strict=True))


class WhoItIs(NamedTuple):
    """alarming: what speaks against it. known: what else is known of its sender; empty if nothing is alarming."""

    alarming: tuple[Fact, ...] = ()
    known: tuple[Fact, ...] = ()


def who_it_is(ledger: Ledger, config: Config, raw: bytes, reading: Reading) -> WhoItIs:
    """Return what a person should know of the sender of a message, in sentences."""
    asked = _Asked(ledger, config, claims(raw), reading)
    alarming = tuple(asked.alarming())
    return WhoItIs(alarming, tuple(asked.known()) if alarming else ())


def _fact(kind: str, text: str, *names: str) -> Fact:
    return Fact(kind, text, tuple(map(_shown, names)))


def _shown(name: str) -> str:
    """Return a stranger's words as one line; a domain that is not of plain letters also as the DNS has it."""
    line = printable(name)
    shown = f"{line[:_NAME_CHARS]}…" if len(line) > _NAME_CHARS else line
    domain = line.rpartition("@")[2]
    in_letters = in_the_dns(domain)
    is_other = " " not in domain and "." in domain and in_letters not in ("", domain.lower())
    return f"{shown} ({in_letters[:_NAME_CHARS]})" if is_other else shown


def _as_read(site: str) -> str:
    """Return a site in the letters in which mail programs show it."""
    try:
        return site.encode("ascii").decode("idna")
    except UnicodeError:
        return site


class _Asked:
    """One message, and what the ledger knows."""

    def __init__(self, ledger: Ledger, config: Config, claimed: Claims, reading: Reading) -> None:
        self._ledger, self._config, self._claims, self._reading = ledger, config, claimed, reading
        self._is_list = bool(reading.relations.list_id or reading.relations.is_newsletter)
        (self._seen,) = ledger.lessons.seen([reading.relations], reading.digest)
        self._earlier = ledger.senders.earlier(self._sender, reading.digest)

    @property
    def _relations(self) -> Relations:
        return self._reading.relations

    @property
    def _sender(self) -> str:
        return self._relations.sender

    @property
    def _holder(self) -> str:
        return holder_of(self._sender)

    @property
    def _is_known(self) -> bool:
        """Whether the person has ham of this address, or has written to it."""
        return self._earlier.learned_ham > 0 or self._seen.written_to

    @property
    def _came_another_way(self) -> bool:
        """Whether the person has ham of this address, but none over this path."""
        return self._earlier.learned_ham > 0 and self._relations.path != "" and not (self._seen.ham or self._seen.kept)

    def _known_sites(self) -> list[str]:
        """Return the sites from which the person has ham, without providers."""
        sites = dict.fromkeys(map(holder_of, self._ledger.senders.with_most_ham(_MOST_KNOWN)))
        return [site for site in sites if site and "@" not in site]

    def alarming(self) -> Iterator[Fact]:
        """Yield what speaks against the sender."""
        if not self._sender:
            return
        if "" in self._relations.others:
            several = list(filter(None, self._relations.senders))[:2]
            if len(several) > 1:
                yield _fact("several", "Mail programs may show {} or {} as its sender.", *several)
            return
        yield from self._denied()
        yield from self._other_address()
        yield from self._answers()
        if not self._is_known:
            yield from [*self._resembles()] or self._namesake()
        yield from self._links()

    def _denied(self) -> Iterator[Fact]:
        server = self._config.authserv_id
        results = None if server is None else self._results(server)
        if server is not None and results is not None and results.dmarc == "fail" and not self._is_list:
            domain = self._sender.rpartition("@")[2]
            yield _fact("denied", "Your mail server {} says that it does not come from {}.", server, domain)

    def _other_address(self) -> Iterator[Fact]:
        claimed = self._claims.names_address
        if claimed and holder_of(claimed) in ("", self._holder):
            return
        if claimed := claimed or self._known_site_in_name():
            yield _fact("name", "It calls itself {}, but it comes from {}.", claimed, self._sender)

    def _known_site_in_name(self) -> str:
        """Return a word of a stranger's name that is a site from which the person has ham, or ""."""
        words = [] if self._is_known else self._claims.name.lower().split()
        hosts = [host for host in (word.strip(_MARKS) for word in words) if site_of(host)]
        known = self._known_sites() if hosts else []
        return next((host for host in hosts if holder_of(f"@{host}") in known and self._holder not in known), "")

    def _answers(self) -> Iterator[Fact]:
        answers = self._claims.answers_to
        holder = holder_of(answers)
        site, own = (site_of(in_the_dns(one.rpartition("@")[2])) for one in (answers, self._sender))
        if self._is_list or holder == "" or site == own:
            return
        if lookalike(site, [own]):
            text = "Your answer would go to {}, and not to {}. The two sites look alike."
            yield _fact("answers", text, answers, self._sender)
        elif "@" in holder and (not self._is_known or self._came_another_way):
            yield _fact("answers", "Your answer would go to {}, and not to {}.", answers, self._sender)

    def _namesake(self) -> Iterator[Fact]:
        """Yield from which address a person of this name has written before."""
        words = [token for token in self._reading.tokens if token.startswith("from-name:") and token[10:].isalpha()]
        lessons = self._ledger.lessons
        if self._is_list or self._claims.names_address or len(words) < _LEAST_WORDS:
            return
        if not all(counts[0] for counts in lessons.counts(words).messages.T.tolist()):
            return
        teachers = lessons.teachers(words, _MOST_NAMESAKES, self._reading.digest).values()
        of_ham = [{one.digest: one for one in some if one.label is Label.HAM} for some in teachers]
        for digest in sorted(set.intersection(*map(set, of_ham))):
            row = self._ledger.messages.find(digest)
            senders = [] if row is None else self._ledger.senders.of_message(row.id)
            for one in senders:
                if not one.is_list and holder_of(one.name) not in ("", self._holder):
                    yield _fact(
                        "namesake", "You know {} from {}. This is {}.", self._claims.name, one.name, self._sender
                    )
                    return

    def _resembles(self) -> Iterator[Fact]:
        holder = self._holder
        if not holder or "@" in holder:
            return
        known = self._known_sites()
        if holder in known:
            return
        if other := lookalike(holder, known):
            text = "{} looks like {}, which you know. It is a different site."
            yield _fact("resembles", text, _as_read(holder), other)
        domain = f".{in_the_dns(self._sender.rpartition('@')[2])}."
        if inside := next((site for site in known if f".{site}." in domain), ""):
            yield _fact("resembles", "It comes from {}, and not from {}, whose name is in its address.", holder, inside)

    def _links(self) -> Iterator[Fact]:
        if self._is_list:  # their links lead to a host that counts the clicks
            return
        for shown, target in self._claims.links[:_MOST_LINKS]:
            if site_of(target) != site_of(self._sender.rpartition("@")[2]):
                yield _fact("link", "A link shows {}, but it leads to {}.", shown, target)

    def known(self) -> Iterator[Fact]:
        """Yield how long the sender is known, over which path, and who has signed the message."""
        if self._earlier.messages:
            day = "an earlier day" if math.isinf(self._earlier.first_at) else clock(self._earlier.first_at)[:_DAY]
            yield _fact("since", f"You have mail from {{}} since {day}.", self._sender)
            yield from self._path(self._seen)
        else:
            yield _fact("since", "This is the first mail from {} here.", self._sender)
        server = self._config.authserv_id
        results = None if server is None else self._results(server)
        if server is None or results is None:
            return
        below = self._relations.are_results_below
        domain = self._sender.rpartition("@")[2]
        if results.is_aligned:
            yield _fact("signed", "Your mail server says that {} has signed it.", self._holder)
        elif by := sorted(signers(self._relations.results, server, are_below=below)):
            yield _fact("signed", "It is signed by {}, and not by {}.", ", ".join(by), domain)
        else:
            yield _fact("signed", "Your mail server found no valid signature of {}.", domain)

    def _path(self, seen: Seen) -> Iterator[Fact]:
        path = self._relations.path
        if not path:
            return
        if seen.ham or seen.kept:
            yield _fact("path", "It came over {}, as mail of this address that you kept.", path)
        elif not seen.spam:
            yield _fact("path", "It came over {}. You have kept no mail of this address that came this way.", path)

    def _results(self, server: str) -> Authentication | None:
        found = self._relations
        return authentication(found.results, server, found.sender, are_below=found.are_results_below)
