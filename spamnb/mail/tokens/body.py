"""Turn the texts into tokens: words, links, capital words, the beginning and end of a text, and what HTML adds."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.limits import Limits, Work
from spamnb.mail.parsing.calendar import Calendar
from spamnb.mail.parsing.message import Message, Text
from spamnb.mail.shares import shortened, without_blanks
from spamnb.mail.tokens.text import (
    CUT,
    count_forms,
    forms,
    grams,
    limit_unspaced,
    normalise,
    number_unspaced,
    pairs,
    runs_of_marks,
    split_words,
)
from spamnb.mail.tokens.urls import hosts, urls

if TYPE_CHECKING:
    from spamnb.mail.tokens.links import HtmlText

# Texts without spaces, and Korean, continue after a URL without a space.
_URL = lazy_pattern(
    r"((?:https?://|www\.)[^\s<>\"'()\[\]{}|\\^`“”‘’«»…\u0e00-\u0eff\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]{3,2000})"
)
_ARMOUR = lazy_pattern(r"^[A-Za-z0-9+/=]{40,100}\r?$", re.MULTILINE)  # of PGP and PEM: words that occur only once
_TAG = lazy_pattern(r"<[^<>]{0,2000}>")
_AT_HOST = lazy_pattern(r"@((?:[\w-]{1,63}\.){1,5}[a-z]{2,12})")
_SHOUTED = lazy_pattern(r"[A-Z][A-Z]{3,19}(?![^\W_])")  # `re` finds a set faster than a repeated one
# How far into a text the opening reaches, and where the closing begins, in words. Pairs of the first 300 words would
# rank better by a seventh, but take too much of the ledger: docs/evidence/accuracy.md, by benchmarks/pairs.py.
_OPENING, _OPENING_PAIRS, _CLOSING = 10, 20, 20
_UNITS_ASCII, _UNITS_BEYOND, _UNITS_MARKUP = 50, 130, 15  # of work, per hundred characters
_UNITS_A_TAG = 6
_MOST_UNITS = 8  # of work, for a character: each is a tag, or of a word, or both
_MOST_GRAMS = 1000  # at this number, those of further texts are left out: words need room, too


@dataclass(slots=True)
class _Shared:
    """What the texts of one message share.

    work: what is left of it. unspaced: how many letters of scripts without spaces are still read. edges: the grams.
    """

    work: Work
    unspaced: int
    edges: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def without_needs(self, texts: "_Texts", place: int) -> Iterator[None]:
        """Hold back what the texts behind a long one need, at most half of what is left: it could use up all."""
        work, unspaced, held_back = self.work, self.unspaced, 0
        size = len(texts.texts[place].text)
        if place + 1 < len(texts.texts) and (_MOST_UNITS * size > work.left // 2 or size > unspaced // 2):
            units, letters = texts.needs[place + 1]
            self.work = work.without(min(work.left // 2, units))
            held_back = min(unspaced // 2, letters)
            self.unspaced -= held_back
        yield
        self.unspaced += held_back
        if self.work is not work:
            work.rejoin(self.work)
            self.work = work


class _Texts:
    """Texts in the order in which they are read."""

    def __init__(self, texts: Sequence[Text | Calendar]) -> None:
        self.texts = texts

    @cached_property
    def needs(self) -> list[tuple[int, int]]:
        """The work for each text with all behind it, and their letters of scripts without spaces."""
        behind = accumulate(
            ((_need(each), number_unspaced(each.text)) for each in reversed(self.texts)),
            lambda one, other: (one[0] + other[0], one[1] + other[1]),
        )
        return [*behind][::-1]


_Read = Callable[[str, Limits, _Shared], Counter[str]]


def body_tokens(message: Message, limits: Limits, work: Work) -> dict[str, int]:
    """Return the tokens of all texts. If a content has alternatives, a token counts as often as in the one with most.

    Grams count once, and come first. There are fewer than two thousand, which leaves room for words.
    """
    total: Counter[str] = Counter()
    groups: dict[int, Counter[str]] = {}
    shared = _Shared(work, limits.unspaced_chars)

    def add(texts: _Texts, place: int, read_markup: _Read) -> None:
        text = texts.texts[place]
        with shared.without_needs(texts, place):
            found = (read_markup if text.is_html else _plain)(text.text, limits, shared)
        if not text.group:
            total.update(found)
        elif text.group not in groups:
            groups[text.group] = found
        else:
            _raise_to(groups[text.group], found)

    shown = _Texts((*message.texts, *message.calendars))
    for place in range(len(shown.texts)):
        add(shown, place, _html if place < len(message.texts) else _html_of_calendar)
    for_pages = work.quarter()
    attached = _Texts(message.attached_texts)
    for place in range(len(attached.texts)):
        add(attached, place, _html_of_page)
    work.rejoin(for_pages)
    for found in groups.values():
        total.update(found)
    total = total or Counter(["body-empty:"])
    for markup in message.pages:
        total.update(_page(markup, limits, work))
    if work.is_spent:
        total["limit:work"] = 1
    return shared.edges | total


def _raise_to(counts: Counter[str], found: Counter[str]) -> None:
    """Raise each count to the number that was found, if that is greater.

    `counts | found` returns the same in a copy. A long text with a hundred short alternatives took 19 s by it.
    """
    for token, number in found.items():
        if number > counts.get(token, 0):
            counts[token] = number


def _plain(text: str, limits: Limits, shared: _Shared) -> Counter[str]:
    text = shortened(text, shared.work.share(len(text), _units(text)))
    if "-----BEGIN " in text:
        text = _ARMOUR.sub("", text)
    shown, notes = normalise(text, limits.text_chars)
    if len(shown) > limits.text_chars:  # a ligature can stand for eighteen letters
        shown = shortened(shown, limits.text_chars)
        notes = [*dict.fromkeys([*notes, CUT])]
    if (more_letters := len(shown) - len(text)) > 0:  # and the parts of a message can hold many such texts
        shown = shortened(shown, len(text) + shared.work.share(more_letters, _UNITS_BEYOND))
    if not shown.isascii():
        shown, unspaced = limit_unspaced(shown, shared.unspaced)
        if unspaced > shared.unspaced:
            notes.append("limit:unspaced_chars")
        shared.unspaced = max(0, shared.unspaced - unspaced)
    more: list[str] = [note if ":" in note else f"body-{note}:" for note in notes]
    lower = shown.lower()
    if "://" in lower or "www." in lower:
        pieces = _URL.split(lower)
        found, lower = pieces[1::2], " ".join(pieces[::2])
        if len(found) > limits.links:
            more.append("limit:links")
        more.extend(urls(found[: limits.links]))
    if "@" in lower:
        for host in _AT_HOST.findall(lower)[: limits.links]:
            more.extend(hosts("mail", host))
    more.extend([f"shout:{word.lower()}" for word in _SHOUTED.findall(shown)])
    more.extend(runs_of_marks(shown))
    found = split_words(lower)
    first = forms(found[:_OPENING_PAIRS], limits.token_chars)
    more.extend(f"opening:{word}" for word in dict.fromkeys(first[:_OPENING]))
    more.extend(pairs("opening-pair", ["^", *first[:_OPENING_PAIRS]]))
    more.extend(f"closing:{word}" for word in dict.fromkeys(forms(found[-_CLOSING:], limits.token_chars)))
    if len(shared.edges) < _MOST_GRAMS:
        shared.edges.update(grams("4:", lower))
    tokens = Counter(count_forms(found, limits.token_chars))
    tokens.update(more)  # one call for all: a call costs much more than a word
    return tokens


def _need(text: Text | Calendar) -> int:
    """Return about how much work a text takes."""
    units = len(text.text) * _units(text.text) // 100
    return (
        units + _UNITS_MARKUP * len(text.text) // 100 + _UNITS_A_TAG * text.text.count("<") if text.is_html else units
    )


def _units(text: str) -> int:
    """Return the work for a hundred characters of a text."""
    if text.isascii():
        return _UNITS_ASCII
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return _UNITS_ASCII + (_UNITS_BEYOND - _UNITS_ASCII) * beyond // len(text)


def _html(markup: str, limits: Limits, shared: _Shared) -> Counter[str]:
    from spamnb.mail.tokens.html import read_html  # noqa: PLC0415 - BeautifulSoup takes long to import

    read: HtmlText = read_html(_affordable(markup, shared.work), limits, shared.work)
    tokens = _shown(read.visible, limits, shared)
    if read.certain != read.visible:  # both readings count: neither a stranger's words nor a disguise may hide
        tokens |= _shown(read.certain, limits, shared)
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


def _shown(text: str, limits: Limits, shared: _Shared) -> Counter[str]:
    """Return the tokens of the text of a page."""
    if len(text) > limits.text_chars:
        text = without_blanks(text)
    tokens = _plain(shortened(text, limits.text_chars), limits, shared)
    if len(text) > limits.text_chars:
        tokens["limit:text_chars"] = 1
    return tokens


def _html_of_calendar(markup: str, limits: Limits, shared: _Shared) -> Counter[str]:
    found = _html(markup, limits, shared)
    return found | _plain(_TAG.sub(" ", markup), limits, shared)  # most programs show it unchanged: nothing is hidden


def _html_of_page(markup: str, limits: Limits, shared: _Shared) -> Counter[str]:
    """Return the tokens of an attached page's text alone: what the page does has tokens of another kind."""
    from spamnb.mail.tokens.html import read_html  # noqa: PLC0415 - as above

    return _shown(read_html(_affordable(markup, shared.work), limits, shared.work).visible, limits, shared)


def _page(markup: str, limits: Limits, work: Work) -> Iterator[str]:
    from spamnb.mail.tokens.page import page_tokens  # noqa: PLC0415 - as above

    return page_tokens(_affordable(markup, work), limits)


def _affordable(markup: str, work: Work) -> str:
    """Return as much of some markup as there is work left for."""
    units = _UNITS_MARKUP + 100 * _UNITS_A_TAG * markup.count("<") // (len(markup) or 1)
    return markup[: work.share(len(markup), units)]
