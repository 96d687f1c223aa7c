"""The words and marks that the filter goes by: those that tell most, and one that is looked up."""

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from spamnb.filter.explain import Named, named
from spamnb.filter.judge import Clue
from spamnb.filter.telling_words import TellingWords, Word
from spamnb.mail.tokens.kinds import KINDS
from spamnb.web.http import Response
from spamnb.web.parts.charts import small_bar
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SIDE = 40  # words a side
_SUGGESTED = 20
_TEACHERS = 5
_LONGEST = 100  # characters of a token
_CLEAREST = 10.0  # log-odds of the longest bar
_KINDS = {"": "All", "text": "Words", "subject": "Subject", "sender": "Sender", "host": "Hosts", "link": "Links"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A token in words, with its figures. bar: how clearly it speaks for spam or ham: its log-odds."""

    word: Word
    named: Named
    bar: Markup


def words(visit: Visit) -> Response:
    """The telling words, and what is known of the word that is asked for."""
    kind = visit.request.query.one_of("kind", _KINDS)
    asked = _asked(visit)
    telling = TellingWords(visit.ledger, visit.config.scoring)
    prefixes = [f"{of.prefix}:" for of in KINDS.values() if of.prefix and of.page == kind] if kind else []
    sides = {} if asked else telling.most(_SIDE, prefixes or None, bare=kind == "text")
    return visit.page(
        "words.html",
        title="Words",
        kinds=_KINDS.items(),
        chosen=kind,
        q=asked,
        sides={label.word: list(map(_shown, side)) for label, side in sides.items()},
        found=list(map(_shown, telling.looked_up(asked))) if asked else [],
        suggested=telling.beginning_with(asked, _SUGGESTED) if asked else [],
    )


def _asked(visit: Visit) -> str:
    """The token that is asked for: with the blanks at its ends where it is a token so, which a link has, or without."""
    typed = visit.request.query.text("q", _LONGEST).lower()
    exact = "".join(visit.request.query.all("q")[:1])[:_LONGEST].lower()
    return exact if exact != typed and visit.ledger.lessons.evidence([exact]).counts else typed


def _shown(word: Word) -> Shown:
    bar = small_bar(abs(word.log_odds) / _CLEAREST, "spam" if word.log_odds > 0 else "ham")
    return Shown(word, named(Clue(word.token, word.ham, word.spam, word.log_odds, 1.0)), bar)


def teachers(visit: Visit) -> Response:
    """The messages that taught a word; apart, since all newest lessons are looked through for them."""
    token = _asked(visit)
    taught = visit.ledger.lessons.teachers([token], _TEACHERS)[token] if token else []
    values: dict[str, Any] = {"token": token, "taught": [(lesson, visit.number_of(lesson.digest)) for lesson in taught]}
    if visit.request.query.text("part"):
        return visit.part("word.html", title="", **values)
    return visit.page("word.html", title="Where a word was learned", **values)


ROUTES = (Route("GET", "/words", words), Route("GET", "/words/teachers", teachers))
