"""Why a message is judged as it is, for a person: clues in words, what it would be today, and what would change it."""

from dataclasses import dataclass

from spamnb.base.label import Verdict
from spamnb.filter.judge import Clue, Explanation, Filter, Judgement
from spamnb.ledger.lessons.port import Lessons
from spamnb.mail.reading import Reading

_MOST_REMOVED = 12
_SAID = 3
_KINDS = {  # the prefixes of `mail.tokens`; behind each stands what was met
    "": "the word",
    "attached": "an attachment of type",
    "attached-extension": "an attachment that ends in",
    "attached-name": "an attachment named",
    "attached-size": "the size of an attachment,",
    "cc": "the recipient",
    "cc-name": "the recipient's name",
    "charset": "the character set",
    "closing": "at the end, the word",
    "date-zone": "the time zone",
    "field": "the header field",
    "from": "the sender",
    "from-name": "the sender's name",
    "html": "in the HTML,",
    "html-images": "the number of pictures,",
    "html-links": "the number of links,",
    "image-url": "a picture from",
    "image-url-path": "in a picture's address,",
    "known": "that you know its",
    "mail": "an address at",
    "message-id": "the Message-ID of",
    "message-id-shape": "the shape of the Message-ID,",
    "mime": "the structure",
    "mime-parts": "the number of parts,",
    "opening": "at the beginning, the word",
    "opening-pair": "at the beginning, the words",
    "received": "the host that brought it,",
    "received-claimed": "a host on its way,",
    "received-claimed-ip": "an address on its way,",
    "received-ip": "the address that brought it,",
    "received-number": "the number of hosts on its way,",
    "refers": "that it answers another message by",
    "reply-to": "the address for answers,",
    "reply-to-name": "the name for answers,",
    "shout": "in capital letters,",
    "subject": "in the subject,",
    "subject-pair": "in the subject, the words",
    "tag": "the HTML element",
    "to": "the recipient",
    "to-name": "the recipient's name",
    "transfer": "the transfer encoding",
    "url": "a link to",
    "url-ip": "a link to the bare address",
    "url-path": "in a link,",
    "url-scheme": "a link that begins with",
}
_FIRST = "^ "  # of a pair: the place before the first word
_FIRST_WORD = {"subject-pair": "a subject that begins with", "opening-pair": "a text that begins with"}
_WHOLE = {  # tokens that are not met but noted
    "body-empty": "that it has no text",
    "from-digits": "digits in the sender's address",
    "from-name-is-another-address": "that the sender's name is another address",
    "from-name:none": "that the sender has no name",
    "html:hidden-text": "hidden text",
    "html:image-instead-of-text": "a picture in the place of text",
    "html:link-shows-another-host": "a link that shows another host than it leads to",
    "message-id:none": "that the Message-ID names no host",
    "reply-to-elsewhere": "that answers go to another site",
    "reply-to-same": "that answers go to the sender's site",
    "subject-shouts": "a subject in capital letters",
    "subject:": "an empty subject",
    "url-user": "a link with a user's name in it",
}


@dataclass(frozen=True, slots=True)
class Named:
    """A clue in words: what kind it is, and what was met ("" where the kind says it all), which is a stranger's text.

    share: how strong it is beside the strongest, from 0 to 1.
    """

    clue: Clue
    kind: str
    text: str
    share: float


@dataclass(frozen=True, slots=True)
class Flip:
    """Without its strongest clues a message would be something else. number: how many of them."""

    number: int
    judgement: Judgement


def named(clue: Clue, strongest: float = 0.0) -> Named:
    """A clue in words; strongest: the contribution that is the longest bar.

    >>> named(Clue("subject:hello", 3, 0, -2.0, 1.0)).kind, named(Clue("hello", 3, 0, -2.0, 1.0)).text
    ('in the subject,', 'hello')
    >>> pair = named(Clue("subject-pair:^ hello", 3, 0, -2.0, 1.0)); pair.kind, pair.text
    ('a subject that begins with', 'hello')
    """
    share = abs(clue.contribution) / strongest if strongest else 0.0
    if (whole := _WHOLE.get(clue.token)) is not None:
        return Named(clue, whole, "", share)
    kind, colon, text = clue.token.partition(":")
    if not colon:
        kind, text = "", kind
    said = _KINDS.get(kind, f"the field {kind} with")
    if text.startswith(_FIRST):
        said, text = _FIRST_WORD.get(kind, said), text.removeprefix(_FIRST)
    return Named(clue, said, text, share)


def sides(explanation: Explanation) -> dict[Verdict, list[Named]]:
    """All clues, the strongest first: those for spam, and those for ham. Both sides are on one scale."""
    strongest = max((abs(clue.contribution) for clue in explanation.clues), default=0.0)
    clues: dict[Verdict, list[Named]] = {Verdict.SPAM: [], Verdict.HAM: []}
    for clue in explanation.clues:
        if clue.log_odds:
            clues[Verdict.SPAM if clue.log_odds > 0 else Verdict.HAM].append(named(clue, strongest))
    return clues


def main_reasons(explanation: Explanation) -> list[Named]:
    """The strongest clue of each of the three strongest kinds that speak for the verdict; for an unsure one, none."""
    judgement = explanation.judgement
    if judgement.verdict is Verdict.UNSURE or judgement.listed:
        return []
    strongest: dict[str, Named] = {}
    for clue in sides(explanation)[judgement.verdict]:
        strongest.setdefault(clue.kind, clue)
    return list(strongest.values())[:_SAID]


def kept_reading(lessons: Lessons, digest: bytes) -> Reading | None:
    """A learned message as it was read then: its tokens are kept, also where its file is gone; None where it is not."""
    learned = lessons.learned([digest])
    if not learned.lessons:
        return None
    ids = learned.ids[learned.columns].tolist()
    texts = lessons.texts(ids)
    pairs = zip(ids, learned.occurrences.tolist(), strict=True)
    return Reading(digest, learned.lessons[0].summary, {texts[number]: count for number, count in pairs})


def flip(judging: Filter, reading: Reading, explanation: Explanation, *, without_itself: bool) -> Flip | None:
    """How few of the clues for its verdict make the verdict, the strongest counted; None where it takes too many."""
    verdict = explanation.judgement.verdict
    if verdict is Verdict.UNSURE or explanation.judgement.listed:
        return None
    tokens = [reason.clue.token for reason in sides(explanation)[verdict] if reason.clue.token in reading.tokens]
    low, high, fewest = 1, min(_MOST_REMOVED, len(tokens)), None
    while low <= high:  # the more is left out, the less speaks for the verdict
        middle = (low + high) // 2
        left_out = set(tokens[:middle])
        less = reading._replace(tokens={text: n for text, n in reading.tokens.items() if text not in left_out})
        judgement = judging.explain(less, strongest=0, without_itself=without_itself).judgement
        if judgement.verdict is verdict:
            low = middle + 1
        else:
            fewest, high = Flip(middle, judgement), middle - 1
    return fewest
