"""Explain a judgement to a person: its clues in words, the judgement of today, and what would change it."""

from collections.abc import Iterable
from dataclasses import dataclass

from spamnb.base.label import Verdict
from spamnb.bayes.score_plain import GRAMS
from spamnb.filter.first_clues import first_clues
from spamnb.filter.judge import Clue, Explanation, Filter, Judgement
from spamnb.ledger.lessons.port import Lessons
from spamnb.mail.reading import Reading
from spamnb.mail.tokens.kinds import Note, gram_in_words, number_in_words, row_of
from spamnb.mail.tokens.shape_words import SHAPES, date_like, shape_in_words, with_examples

_MOST_REMOVED = 12
_SAID = 3
_FIRST, _LAST = "^ ", " $"  # in a pair: the place before the first word, and after the last
_OF_SITES = frozenset(("url", "image-url", "attached-url", "from", "reply-to"))
_NO_SITE = frozenset(("none", "localhost"))


@dataclass(frozen=True, slots=True)
class Named:
    """A clue in words: its kind, and the text that was found, which a stranger wrote ("" if the kind says it all).

    share: its strength relative to the strongest clue, from 0 to 1.
    """

    clue: Clue
    kind: str
    text: str
    share: float


@dataclass(frozen=True, slots=True)
class Flip:
    """The change to another verdict if the strongest clues were missing. number: how many clues."""

    number: int
    judgement: Judgement


def named(clue: Clue, strongest: float = 0.0) -> Named:
    """Return a clue in words. strongest: the contribution of the clue with the longest bar.

    >>> named(Clue("subject:hello", 3, 0, -2.0, 1.0)).kind, named(Clue("hello", 3, 0, -2.0, 1.0)).text
    ('in the subject,', 'hello')
    >>> pair = named(Clue("subject-pair:^ hello", 3, 0, -2.0, 1.0)); pair.kind, pair.text
    ('a subject that begins with', 'hello')
    >>> date = named(Clue("date-shape:aaa, d aaa dddd", 3, 0, -2.0, 1.0)); date.kind, date.text
    ('a date that is written like', 'Mon, 5 Jan 2026')
    >>> named(Clue("charset-wrong:", 3, 0, -2.0, 1.0)).kind
    'a text in another character set than it names'
    >>> named(Clue("4:ing ", 3, 0, -2.0, 1.0)).kind
    'words that end in'
    >>> amount = named(Clue("closing:$dd,ddd", 3, 0, -2.0, 1.0)); amount.kind, amount.text
    ('at the end, an amount like', '$54,000')
    >>> site = named(Clue("url:cn", 3, 0, -2.0, 1.0)); site.kind, site.text
    ('a link to', '.cn')
    """
    share = abs(clue.contribution) / strongest if strongest else 0.0
    row = row_of(clue.token)
    if row is None:
        return Named(clue, "the mark", clue.token, share)
    if isinstance(row, Note):
        return Named(clue, row.words, "", share)
    if clue.token.startswith(GRAMS):
        return Named(clue, *gram_in_words(clue.token), share)
    if (number := number_in_words(clue.token)) is not None:
        return Named(clue, *number, share)
    words, place, text = row.words, row.place, clue.token.removeprefix(f"{row.prefix}:")
    if row.first and text.startswith(_FIRST):
        words = place = row.first
        text = text.removeprefix(_FIRST)
    elif row.last and text.endswith(_LAST):
        words = place = row.last
        text = text.removesuffix(_LAST)
    if place is not None and (example := with_examples(place, text)) is not None:
        return Named(clue, *example, share)
    if row.prefix in SHAPES:
        text = shape_in_words(text)
    elif row.prefix == "date-shape":
        text = date_like(text)
    elif row.prefix in _OF_SITES and text.isalpha() and text not in _NO_SITE:
        text = f".{text}"  # the last part of a host alone: a person takes “com” for a word, and “.com” for a site's end
    return Named(clue, words, text, share)


def sides(explanation: Explanation) -> dict[Verdict, list[Named]]:
    """Return all clues, the strongest first: those for spam, and those for ham. Both sides have one scale."""
    strongest = max((abs(clue.contribution) for clue in explanation.clues), default=0.0)
    clues: dict[Verdict, list[Named]] = {Verdict.SPAM: [], Verdict.HAM: []}
    for clue in explanation.clues:
        if clue.contribution:
            clues[Verdict.SPAM if clue.contribution > 0 else Verdict.HAM].append(named(clue, strongest))
    return clues


def main_reasons(explanation: Explanation) -> list[Named]:
    """Return the first clue of each of the first three kinds that support the verdict; none for an unsure verdict."""
    judgement = explanation.judgement
    if judgement.verdict is Verdict.UNSURE or judgement.listed:
        return []
    strongest: dict[str, Named] = {}
    for clue in sides(explanation)[judgement.verdict]:
        strongest.setdefault(clue.kind, clue)
    return first_named(strongest.values(), _SAID)


def first_named(side: Iterable[Named], most: int) -> list[Named]:
    """Do what `first_clues` does, for clues that have words."""
    by_clue = {one.clue: one for one in side}
    return [by_clue[clue] for clue in first_clues(by_clue, most)]


def kept_reading(lessons: Lessons, digest: bytes) -> Reading | None:
    """Return a learned message with the tokens of that reading, even if its file is gone; None if it is not learned."""
    learned = lessons.learned([digest])
    if not learned.lessons:
        return None
    ids = learned.ids[learned.columns].tolist()
    texts = lessons.texts(ids)
    pairs = zip(ids, learned.occurrences.tolist(), strict=True)
    return Reading(digest, learned.lessons[0].summary, {texts[number]: count for number, count in pairs})


def flip(judging: Filter, reading: Reading, explanation: Explanation, *, without_itself: bool) -> Flip | None:
    """Return how few of the strongest clues decide the verdict; None if it takes too many."""
    verdict = explanation.judgement.verdict
    if verdict is Verdict.UNSURE or explanation.judgement.listed:
        return None
    tokens = [reason.clue.token for reason in sides(explanation)[verdict] if reason.clue.token in reading.tokens]
    left = dict(reading.tokens)
    # One at a time, not by bisection: without a gram the mean of all grams changes, so the verdict may become clearer.
    for number, token in enumerate(tokens[:_MOST_REMOVED], 1):
        del left[token]
        less = reading._replace(tokens=left)
        judgement = judging.explain(less, strongest=0, without_itself=without_itself).judgement
        if judgement.verdict is not verdict:
            return Flip(number, judgement)
    return None
