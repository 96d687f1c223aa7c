"""Mail by where it came from, and teaching what all of one sender's mail is."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spamnb.acts import choices
from spamnb.acts.answers import ON_A_PAGE
from spamnb.acts.current_files import CurrentFile, CurrentFiles
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label
from spamnb.ledger.history.choices import LABEL_OF
from spamnb.ledger.history.messages import KnownMessage
from spamnb.ledger.history.senders import Sender
from spamnb.web.http import HttpError, Response, whole_number
from spamnb.web.parts.offers import Said, offers, said_of
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_ON_A_PAGE = 50
_AT_ONCE = 50  # messages that are taught at once, and shown before
_MANY = 20  # messages of a sender from which on it is asked before they are taught
_CHOSEN = 100  # choices shown
_COLUMNS = {
    "messages": "messages",
    "judged ham": "judged_ham",
    "unsure": "judged_unsure",
    "spam": "judged_spam",
    "learned ham": "learned_ham",
    "learned spam": "learned_spam",
    "corrected": "corrected",
}


class Then(NamedTuple):
    """What teaching a message a label would do. learns: it is not learned so yet. moves: it is in another place."""

    learns: bool
    moves: bool


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A message of a sender, where a file of it lies ("" for nowhere), and what would follow from a label."""

    known: KnownMessage
    folder: str
    then: dict[str, Then]

    @property
    def is_possible(self) -> bool:
        """Whether it can be taught at all: its tokens are kept, or its file is there."""
        return bool(self.then)


def senders(visit: Visit) -> Response:
    """A page of the senders, those with the most mail first; and what is said of some, whatever the filter thinks."""
    query, config = visit.request.query, visit.config
    text, messages, last = query.text("q", 100), query.number("messages"), query.number("last")
    after = None if messages is None or last is None else (messages, last)
    page = visit.ledger.senders.page(_ON_A_PAGE, text, after)
    standing = [
        one for one in choices.standing(visit.ledger, visit.site.config(), _CHOSEN) if one.choice.kind in LABEL_OF
    ]
    written = config.senders
    return visit.page(
        "senders.html",
        title="Senders",
        senders=[(row, _said(visit, row)) for row in page],
        columns=_COLUMNS,
        q=text,
        last=page[-1] if len(page) == _ON_A_PAGE else None,
        lists=[(label, patterns) for label, patterns in (("ham", written.allow), ("spam", written.block)) if patterns],
        chosen=standing,
        number=sum(choice.kind in LABEL_OF for choice in visit.ledger.choices.newest()),
        is_open=bool(visit.did()),
    )


def _said(visit: Visit, sender: Sender) -> Said | None:
    """What is said of the mail of a sender, whatever the filter thinks."""
    return said_of(visit.config, *(("", sender.name) if sender.is_list else (sender.name, "")))


def sender(visit: Visit) -> Response:
    """One sender's newest messages, and what would follow from teaching all of them."""
    asked = _sender(visit)
    messages = _messages(visit, visit.ledger.senders.messages(asked.id, _AT_ONCE))
    foreseen = list(_foresee(visit, messages))
    return visit.page(
        "sender.html",
        title="Sender",
        sender=asked,
        said=_said(visit, asked),
        offers=offers(visit.config, [asked]),
        foreseen=foreseen,
        possible=[message.known.id for message in foreseen if message.is_possible],
        folders=_folders(foreseen),
        many=_MANY,
        failed=visit.outcome("failed"),
        previews={label.word: _sum_of(foreseen, label.word) for label in Label},
    )


def _sender(visit: Visit) -> Sender:
    known = visit.ledger.senders.get(visit.number("sender"))
    if known is None:
        raise HttpError(404, "No mail of this sender is in the history.", "It is long gone and forgotten.")
    return known


def _messages(visit: Visit, numbers: Iterable[int]) -> list[KnownMessage]:
    return [message for message in map(visit.ledger.messages.lookup, numbers) if message is not None]


def _foresee(visit: Visit, messages: Sequence[KnownMessage]) -> Iterable[Foreseen]:
    places = CurrentFiles(visit.ledger, visit.config, {message.digest for message in messages})
    for message in messages:
        files = places.of(message.digest)
        lesson = visit.ledger.lessons.find(message.digest)
        is_possible = lesson is not None or any(file.location is not None for file in files)
        then = {label.word: _then(message, files, label) for label in Label} if is_possible else {}
        folder = ""
        if files:
            folder = files[0].path if files[0].location is None else files[0].location.folder_name
        yield Foreseen(message, folder, then)


def _then(known: KnownMessage, places: Sequence[CurrentFile], label: Label) -> Then:
    is_learned = known.label is label and not known.weak
    moves = any(place.location is not None and (place.is_unsure or place.label is Label(1 - label)) for place in places)
    return Then(not is_learned, moves)


def _sum_of(foreseen: Sequence[Foreseen], word: str) -> tuple[int, int]:
    """How many messages would be learned as that, and how many would be moved."""
    effects = [message.then[word] for message in foreseen if message.is_possible]
    return sum(then.learns for then in effects), sum(then.moves for then in effects)


def _folders(foreseen: Sequence[Foreseen]) -> list[tuple[str, int]]:
    """In which folders the messages lie that can be taught, and how many in each; those with the most first."""
    return Counter(message.folder for message in foreseen if message.is_possible and message.folder).most_common()


def teach(visit: Visit) -> Response:
    """Teach the messages that the page has shown, and no others; many of them only when that is said once more."""
    asked, form = _sender(visit), visit.request.form
    label, numbers = form.label("label"), [whole_number(text) for text in form.all("id")]
    if label is None or not numbers:
        raise HttpError(400, "Nothing was chosen for the messages.", "Go back, and use the buttons.")
    theirs = set(visit.ledger.senders.messages(asked.id, asked.messages))
    if len(numbers) > _AT_ONCE or not theirs.issuperset(numbers):
        raise HttpError(400, "These are not messages of this sender.", "Go back, and load the page again.")
    all_of_them = list(_foresee(visit, _messages(visit, numbers)))
    if len(numbers) >= _MANY and not form.text("sure"):
        return visit.page(
            "teach.html",
            title="Teach all of a sender",
            sender=asked,
            word=label.word,
            ids=numbers,
            numbers=_sum_of(all_of_them, label.word),
            folders=_folders(all_of_them),
        )
    answers = visit.answers()
    actions: list[int] = []
    failed = 0
    for foreseen in all_of_them:
        if not any(foreseen.then.get(label.word, ())):
            continue
        try:
            actions += answers.call(foreseen.known.digest, label, ON_A_PAGE).actions
        except MaildirError:
            failed += 1
    return visit.done(actions, back=f"senders/{asked.id}", failed=failed)


ROUTES = (
    Route("GET", "/senders", senders),
    Route("GET", "/senders/{sender}", sender),
    Route("POST", "/senders/{sender}/teach", teach),
)
