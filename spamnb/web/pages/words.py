"""The words and marks by which the filter decides: the strongest ones, and a word that a person looks up."""

import itertools
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from spamnb.filter.explain import Named, named
from spamnb.filter.judge import Clue
from spamnb.filter.telling_words import TellingWords, Word
from spamnb.mail.tokens.kinds import KINDS, is_seen
from spamnb.web.http import Response
from spamnb.web.parts.charts import small_bar
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SIDE = 40  # words per side
_SUGGESTED = 20
_TEACHERS = 5
_LONGEST = 100  # characters of a token
_KINDS = {"": "All", "text": "Words", "subject": "Subject", "sender": "Sender", "host": "Hosts", "link": "Links"}


@dataclass(frozen=True, slots=True)
class WordRow:
    """A token in words, with its figures. bar: how strongly it guides the filter, beside the strongest word."""

    word: Word
    named: Named
    bar: Markup


def words(visit: Visit) -> Response:
    """Return the telling words, or the facts about the word of the request."""
    kind = visit.request.query.one_of("kind", _KINDS)
    asked = _asked(visit)
    telling = TellingWords(visit.ledger, visit.config.scoring)
    prefixes = [f"{of.prefix}:" for of in KINDS.values() if of.prefix and of.page == kind] if kind else []
    sides = telling.most(_SIDE, prefixes or None, bare=kind == "text")
    shown = [*itertools.chain(*sides.values())]
    strongest = max((word.strength for word in shown if is_seen(word.token)), default=1.0)
    return visit.page(
        "words.html",
        title="Words",
        kinds=_KINDS.items(),
        chosen=kind,
        q=asked,
        sides={label.word: [_row(word, strongest) for word in side] for label, side in sides.items()},
        found=[_row(word, strongest) for word in telling.looked_up(asked)] if asked else [],
        suggested=telling.beginning_with(asked, _SUGGESTED) if asked else [],
    )


def _asked(visit: Visit) -> str:
    """Return the token of the request. It keeps the blanks at its ends only if there is a token with them."""
    typed = visit.request.query.text("q", _LONGEST).lower()
    exact = "".join(visit.request.query.all("q")[:1])[:_LONGEST].lower()
    return exact if exact != typed and visit.ledger.lessons.evidence([exact]).counts else typed


def _row(word: Word, strongest: float) -> WordRow:
    bar = small_bar(word.strength / strongest, "spam" if word.log_odds > 0 else "ham")
    return WordRow(word, named(Clue(word.token, word.ham, word.spam, word.log_odds, 1.0)), bar)


def teachers(visit: Visit) -> Response:
    """Return the messages that taught a word. A separate request, since it looks through many lessons."""
    token = _asked(visit)
    taught = visit.ledger.lessons.teachers([token], _TEACHERS)[token] if token else []
    values: dict[str, Any] = {"token": token, "taught": [(lesson, visit.number_of(lesson.digest)) for lesson in taught]}
    if visit.request.query.text("part"):
        return visit.part("word.html", title="", **values)
    return visit.page("word.html", title="Where a word was learned", **values)


ROUTES = (Route("GET", "/words", words), Route("GET", "/words/teachers", teachers))
