"""Find the words that decided a verdict in the text as a person sees it."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from spamnb.base.label import Verdict
from spamnb.base.patterns import lazy_pattern
from spamnb.filter.judge import Clue, Explanation
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.tokens.kinds import kind
from spamnb.mail.tokens.text import SPACED, forms, normalise, split_words
from spamnb.mail.tokens.urls import urls

_OF_WORDS = frozenset(("", "opening:", "closing:", "shout:"))  # kinds of token that are a single word of the text
_OF_LINKS = frozenset(("url:", "url-ip:", "url-path:"))
_MOST = 15  # different words for each side: with more, nothing stands out in a long text
_LEAST = 0.1  # of what the strongest clue contributes
_LINK_OR_RUN = lazy_pattern(
    r"((?:https?://|www\.)[^\s<>\"'()\[\]{}|\\^`“”‘’«»…]{3,2000})|[^\s<>\"()\[\]“”«»]+", re.IGNORECASE
)
_WORD = lazy_pattern(r"[$€£¥]?\w[^\W_]*(?:['’\-&.,][^\W_]+)*%?")


class Piece(NamedTuple):
    """A piece of a text. side: the verdict to which it points, if it helped to decide; or None.

    ham, spam: the number of learned messages with the deciding token.
    """

    text: str
    side: Verdict | None = None
    ham: int = 0
    spam: int = 0


def marked(text: str, explanation: Explanation) -> list[Piece]:
    """Return a text in pieces, which together are the text. Pieces that helped to decide name their side."""
    found = list(_units(text))
    by_token: dict[str, list[Clue]] = defaultdict(list)
    for clue in explanation.clues:
        prefix = kind(clue.token)
        if prefix in _OF_WORDS:
            by_token[clue.token.removeprefix(prefix)].append(clue)
        elif prefix in _OF_LINKS:
            by_token[clue.token].append(clue)
    clues = {tokens: [clue for token in tokens for clue in by_token.get(token, ())] for _, _, tokens in found}
    sides = _sides(clues, max((abs(clue.contribution) for clue in explanation.clues), default=0.0))
    pieces, last = [], 0
    for start, end, tokens in found:
        if (side := sides.get(tokens)) is not None:
            strongest = max(clues[tokens], key=lambda clue: abs(clue.contribution))
            pieces += [Piece(text[last:start]), Piece(text[start:end], side, strongest.ham, strongest.spam)]
            last = end
    return [piece for piece in (*pieces, Piece(text[last:])) if piece.text]


def _sides(clues: dict[tuple[str, ...], list[Clue]], strongest: float) -> dict[tuple[str, ...], Verdict]:
    """Return the side of the words that contribute most. strongest: the contribution of the strongest clue."""
    sums = {tokens: sum(clue.contribution for clue in some) for tokens, some in clues.items()}
    some = [tokens for tokens, share in sums.items() if abs(share) > 0 and abs(share) >= _LEAST * strongest]
    some.sort(key=lambda tokens: -abs(sums[tokens]))
    spam = [tokens for tokens in some if sums[tokens] > 0][:_MOST]
    ham = [tokens for tokens in some if sums[tokens] < 0][:_MOST]
    return {**dict.fromkeys(spam, Verdict.SPAM), **dict.fromkeys(ham, Verdict.HAM)}


def _units(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the words and links of a text: where each begins and ends, and the tokens made from it."""
    last = 0
    for apart in SPACED.finditer(text):
        yield from _runs(text, last, apart.start())
        last = apart.end()
        yield apart.start(), last, _tokens(apart[0])
    yield from _runs(text, last, len(text))


def _runs(text: str, first: int, last: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    for run in _LINK_OR_RUN.finditer(text, first, last):
        if run[1] is not None:
            yield run.start(), run.end(), tuple(dict.fromkeys(urls([run[0].lower()])))
            continue
        shown, _ = normalise(run[0])
        if shown != run[0]:  # disguised: taken as a whole, since its letters have other places
            yield run.start(), run.end(), _tokens(shown)
        else:
            for word in _WORD.finditer(text, *run.span()):
                yield word.start(), word.end(), _tokens(word[0])


def _tokens(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(forms(split_words(word.lower()), DEFAULT_LIMITS.token_chars)))
