"""Mail by sender, and lessons from all mail of one sender."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from spamnb.acts import choices
from spamnb.acts.answers import ON_A_PAGE
from spamnb.acts.current_files import CurrentFile, CurrentFiles
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label, Role
from spamnb.config.named_senders import exact_pattern, is_of_list
from spamnb.ledger.history.choices import Choice
from spamnb.ledger.history.messages import MessageRow
from spamnb.ledger.history.senders import Came, Sender
from spamnb.mail.unsubscribe import unsubscribe_addresses
from spamnb.rules.never_opened import SPAN, never_opened
from spamnb.web.http import HttpError, Response, whole_number
from spamnb.web.parts.offers import FixedLabel, Offer, fixed_label_of, offers
from spamnb.web.parts.split_bar import split_bar
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_ON_A_PAGE = 50
_AT_ONCE = 50  # messages that the page shows, and teaches in one go
_MANY = 20  # messages: from this number on, the page asks before it teaches them
_CHOSEN = 100  # choices shown
_MOST_LOOKED_AT = 5_000  # messages among which mail that is never opened is looked for
_MOST_UNOPENED = 10  # senders shown
_MOST_READ = 5  # messages of a sender in which an address to unsubscribe is looked for


class SenderRow(NamedTuple):
    """A sender with the present choice about it, and the offer to choose, or None. bar, words: its verdicts."""

    sender: Sender
    said: FixedLabel | None
    offer: Offer | None
    bar: Markup
    words: str


class UnopenedRow(NamedTuple):
    """A sender whose mail comes and is never opened, and the offer to choose."""

    sender: Sender
    came: Came
    offer: Offer


class LabelEffect(NamedTuple):
    """The effect of a label. learns: the message is not learned with it yet. moves: it is in the wrong folder."""

    learns: bool
    moves: bool


@dataclass(frozen=True, slots=True)
class SenderMessage:
    """A message of a sender, the folder of one of its files, or "", and the effect of each label."""

    known: MessageRow
    folder: str
    effects: dict[str, LabelEffect]

    @property
    def is_possible(self) -> bool:
        """Whether it can be taught: its tokens are kept, or its file exists."""
        return bool(self.effects)


def senders(visit: Visit) -> Response:
    """Return a page of senders, those with the most mail first, and the choices about some of them."""
    query, config = visit.request.query, visit.config
    text, messages, last = query.text("q", 100), query.number("messages"), query.number("last")
    after = None if messages is None or last is None else (messages, last)
    page = visit.ledger.senders.page(_ON_A_PAGE, text, after)
    found = choices.standing(visit.ledger, visit.site.config(), _CHOSEN)
    standing = [one for one in found if one.choice.is_of_senders]
    written = config.senders
    is_first = not text and after is None
    return visit.page(
        "senders.html",
        unopened=_never_opened(visit) if is_first else [],
        came_since={one.choice.action: _come_since(visit, one.choice) for one in standing},
        title="Senders",
        senders=[_row(visit, one) for one in page],
        q=text,
        last=page[-1] if len(page) == _ON_A_PAGE else None,
        lists=[(label, patterns) for label, patterns in (("ham", written.allow), ("spam", written.block)) if patterns],
        chosen=standing,
        number=sum(choice.is_of_senders for choice in visit.ledger.choices.newest()),
        sorts=config.has_folder(Role.NEWSLETTERS),
        is_open=bool(visit.did()),
    )


def _row(visit: Visit, sender: Sender) -> SenderRow:
    offer = next((one for one in _offers(visit, sender) if one.kind != "domain"), None)
    verdicts = {"ham": sender.judged_ham, "unsure": sender.judged_unsure, "spam": sender.judged_spam}
    words = [f"{number:,} {word}" for word, number in verdicts.items() if number] or ["none judged"]
    corrected = f", {sender.corrected:,} corrected" if sender.corrected else ""
    return SenderRow(sender, _said(visit, sender), offer, split_bar(verdicts), f"{', '.join(words)}{corrected}")


def _never_opened(visit: Visit) -> list[UnopenedRow]:
    """Return the senders whose mail is never opened, and about whom nothing is said yet, those with most mail first."""
    records, rows = visit.ledger.senders, list[UnopenedRow]()
    of_senders = records.came(visit.now - SPAN, _MOST_LOOKED_AT)
    for found in filter(None, map(records.get, never_opened(of_senders, visit.now))):
        offer = next((one for one in _offers(visit, found) if one.kind != "domain"), None)
        address, list_id = ("", found.name) if found.is_list else (found.name, "")
        is_said = _said(visit, found) is not None or visit.ledger.choices.sorted_to(address, list_id) is not None
        if offer is not None and not is_said:
            rows.append(UnopenedRow(found, of_senders[found.id], offer))
    return rows[:_MOST_UNOPENED]


def _come_since(visit: Visit, choice: Choice) -> int | None:
    """Return how much mail has come since a choice about one address or list; None if it is about others too."""
    name = str(choice.value)
    is_list = is_of_list(name)
    is_one = is_list or (exact_pattern(name) == name and "@" in name)
    name = name.partition(":")[2] if is_list else name
    return visit.ledger.senders.come_since(name, choice.at, is_list=is_list) if is_one else None


def _offers(visit: Visit, sender: Sender) -> list[Offer]:
    """Return the choices about a sender. Whether a list is its author's, the newest message tells."""
    author = visit.ledger.senders.newest_author(sender.id) if sender.is_list else ""
    return offers(visit.config, [sender], [author.rpartition("@")[2]] if author else [])


def _said(visit: Visit, sender: Sender) -> FixedLabel | None:
    """Return the fixed label of a sender's mail, or None."""
    return fixed_label_of(visit.config, *((("",), sender.name) if sender.is_list else ((sender.name,), "")))


def sender(visit: Visit) -> Response:
    """Return one sender's newest messages, and the effect of teaching all of them."""
    asked = _sender(visit)
    messages = _messages(visit, visit.ledger.senders.messages(asked.id, _AT_ONCE))
    listed = list(_with_effects(visit, messages))
    return visit.page(
        "sender.html",
        title="Sender",
        sender=asked,
        said=_said(visit, asked),
        offers=_offers(visit, asked),
        listed=listed,
        possible=[message.known.id for message in listed if message.is_possible],
        folders=_folders(listed),
        many=_MANY,
        failed=visit.outcome("failed"),
        previews={label.word: _sum_of(listed, label.word) for label in Label},
        unsubscribe=_unsubscribe(visit, messages),
    )


def _unsubscribe(visit: Visit, messages: Sequence[MessageRow]) -> list[str]:
    """Return the addresses at which one can unsubscribe, by the newest message that is there."""
    places = CurrentFiles(visit.ledger, visit.config)
    for message in messages[:_MOST_READ]:
        for file in places.of(message.digest):
            content = None if file.location is None else places.read(file.location, message.digest)
            if content is not None:
                return unsubscribe_addresses(content[1])
    return []


def _sender(visit: Visit) -> Sender:
    known = visit.ledger.senders.get(visit.number("sender"))
    if known is None:
        raise HttpError(404, "The history has no mail of this sender.", "The filter has forgotten it.")
    return known


def _messages(visit: Visit, numbers: Iterable[int]) -> list[MessageRow]:
    return [message for message in map(visit.ledger.messages.lookup, numbers) if message is not None]


def _with_effects(visit: Visit, messages: Sequence[MessageRow]) -> Iterable[SenderMessage]:
    places = CurrentFiles(visit.ledger, visit.config, {message.digest for message in messages})
    for message in messages:
        files = places.of(message.digest)
        lesson = visit.ledger.lessons.find(message.digest)
        is_possible = lesson is not None or any(file.location is not None for file in files)
        effects = {label.word: _effect(message, files, label) for label in Label} if is_possible else {}
        folder = ""
        if files:
            folder = files[0].path if files[0].location is None else files[0].location.folder_name
        yield SenderMessage(message, folder, effects)


def _effect(known: MessageRow, places: Sequence[CurrentFile], label: Label) -> LabelEffect:
    is_learned = known.label is label and not known.weak
    moves = any(
        place.leaves(label) or (place.location is not None and place.label is Label(1 - label)) for place in places
    )
    return LabelEffect(not is_learned, moves)


def _sum_of(listed: Sequence[SenderMessage], word: str) -> tuple[int, int]:
    """Return how many messages would be learned with this label, and how many would be moved."""
    effects = [message.effects[word] for message in listed if message.is_possible]
    return sum(effect.learns for effect in effects), sum(effect.moves for effect in effects)


def _folders(listed: Sequence[SenderMessage]) -> list[tuple[str, int]]:
    """Return the folders of the messages that can be taught, each with their number, the largest first."""
    return Counter(message.folder for message in listed if message.is_possible and message.folder).most_common()


def teach(visit: Visit) -> Response:
    """Teach exactly the messages that the page has shown. If they are many, ask once more first."""
    asked, form = _sender(visit), visit.request.form
    label, numbers = form.label("label"), [whole_number(text) for text in form.all("id")]
    if label is None or not numbers:
        raise HttpError(400, "The form has no answer.", "Go back, and use the buttons.")
    theirs = set(visit.ledger.senders.messages(asked.id, asked.messages))
    if len(numbers) > _AT_ONCE or not theirs.issuperset(numbers):
        raise HttpError(400, "These are not messages of this sender.", "Go back, and load the page again.")
    all_of_them = list(_with_effects(visit, _messages(visit, numbers)))
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
    for message in all_of_them:
        if not any(message.effects.get(label.word, ())):
            continue
        try:
            actions += answers.call(message.known.digest, label, ON_A_PAGE).actions
        except MaildirError:
            failed += 1
    return visit.done(actions, back=f"senders/{asked.id}", failed=failed)


ROUTES = (
    Route("GET", "/senders", senders),
    Route("GET", "/senders/{sender}", sender),
    Route("POST", "/senders/{sender}/teach", teach),
)
