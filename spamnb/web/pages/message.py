"""One message: its verdict and the reasons, its place, its history; and the person's answer about it."""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from spamnb.acts import training
from spamnb.acts.answers import ON_A_PAGE
from spamnb.acts.current_files import CurrentFile, CurrentFiles
from spamnb.acts.not_yet import guessed_until
from spamnb.acts.ordered import moved_by_order
from spamnb.acts.who_it_is import who_it_is
from spamnb.base.errors import MaildirError
from spamnb.base.label import How, Label, counts_as
from spamnb.filter.explain import Named, kept_reading, sides
from spamnb.ledger.at_start import learned_at_start
from spamnb.ledger.history.describe import as_object
from spamnb.ledger.history.locations import Location
from spamnb.ledger.history.messages import MessageRow
from spamnb.ledger.lessons.port import Teacher
from spamnb.mail.authentication import signers
from spamnb.mail.excerpt import Excerpt, excerpt
from spamnb.mail.reading import Reading, read
from spamnb.maildir.names import parse_name
from spamnb.web.http import HttpError, Response, as_json
from spamnb.web.parts.lines import Act, acts
from spamnb.web.parts.mailbox_names import Names
from spamnb.web.parts.offers import Offer, offers
from spamnb.web.parts.text import MOST, text_of
from spamnb.web.parts.why import CLUES, judge_of, why
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_LATEST = 4e9  # seconds since the epoch, the year 2096


def message(visit: Visit) -> Response:
    """Return the page of a message, by its number in the ledger."""
    ledger, known = visit.ledger, _known(visit)
    current, raw, reading = _read(visit, known)
    names = Names(visit.config)
    actions = ledger.journal.of_message(known.id)
    lines = acts(ledger, ledger.lines.of(actions), names)
    judged_at = max((action.at for action in actions if action.verdict is not None), default=math.inf)
    subject, sender = _subject_and_sender(known.summary)
    files = list(ledger.locations.all_of_message(known.id))
    head = None if raw is None else excerpt(raw, MOST)
    reasons = None if reading is None else why(visit, reading, is_learned=known.label is not None)
    return visit.page(
        "message.html",
        title="Message",
        known=known,
        is_guess=judged_at <= guessed_until(ledger) and judged_at < math.inf,
        ordered=moved_by_order(ledger, known.digest),
        at_start=learned_at_start(ledger, known.digest),
        subject=subject,
        sender=sender,
        why=reasons,
        is_kept=raw is None,
        who=None if raw is None or reading is None else who_it_is(ledger, visit.config, raw, reading),
        places=list(dict.fromkeys(_file_place(place, names) for place in current)),
        away=_away(visit, files),
        is_in_spam=any(place.label is Label.SPAM for place in current),
        opposite=_opposite(known),
        offers=_offers(visit, known, reading),
        head=head,
        text=None if head is None else text_of(head, None if reasons is None else reasons.explanation),
        written_at=_written_at(head),
        most=10_000 if visit.request.query.text("all") else CLUES,
        lines=lines,
        moved=next((line.action.id for line in reversed(lines) if _is_open_move(line)), None),
        files=sorted(filter(_is_news, files), key=lambda file: file.since),
    )


def _offers(visit: Visit, known: MessageRow, reading: Reading | None) -> list[Offer]:
    """Return the choices about the sender of a message, and about its list if its author has that."""
    senders = visit.ledger.senders.of_message(known.id)
    authors = {one.name.rpartition("@")[2] for one in senders if not one.is_list}
    server = visit.config.authserv_id
    if reading is not None and server is not None:
        found = reading.relations
        authors |= signers(found.results, server, are_below=found.are_results_below)
    return offers(visit.config, senders, authors)


def _is_news(file: Location) -> bool:
    """Return whether the lines of the history do not have the place of a file: there are lines of moves."""
    return file.gone_at is not None or file.origin not in ("filter", "undo")


def _is_open_move(act: Act) -> bool:
    """Return whether an act is a move that is in effect and could be undone."""
    return act.action.kind == "moved" and act.action.takes_back is None and not act.why_not


def _subject_and_sender(summary: str) -> tuple[str, str]:
    """Return the two parts of a summary; the sender is "" if the summary was cut before it.

    >>> _subject_and_sender("Notes (again) (anna@friends.example)"), _subject_and_sender("Notes")
    (('Notes (again)', 'anna@friends.example'), ('Notes', ''))
    """
    subject, bracket, sender = summary.rpartition(" (")
    return (subject, sender[:-1]) if bracket and sender.endswith(")") else (summary, "")


def _written_at(head: Excerpt | None) -> float | None:
    """Return the date in the message's header, in seconds since the epoch; None if it cannot be read."""
    written = "" if head is None else dict(head.fields).get("date", "")
    try:
        at = parsedate_to_datetime(written).timestamp()
    except (ArithmeticError, OSError, TypeError, ValueError):  # a stranger may write anything there
        return None
    return at if 0 <= at < _LATEST else None


def _away(visit: Visit, files: list[Location]) -> list[str]:
    """Return the paths of mailboxes that held a file of the message, but cannot be reached now."""
    roots = {visit.ledger.locations.where(file.folder)[0] for file in files if file.gone_at is None}
    return sorted(root for root in roots if not os.path.isdir(root))


def _known(visit: Visit) -> MessageRow:
    known = visit.ledger.messages.lookup(visit.number("id"))
    if known is None:
        raise HttpError(404, "This message is not in the history.", "The filter never saw it, or has forgotten it.")
    return known


def _read(visit: Visit, known: MessageRow) -> tuple[list[CurrentFile], bytes | None, Reading | None]:
    """Return a message's files, the bytes of the first readable one, and its reading, or the reading that is kept."""
    places = CurrentFiles(visit.ledger, visit.config, [known.digest])
    files = places.of(known.digest)
    for file in files:
        content = None if file.location is None else places.read(file.location, known.digest)
        if content is not None:
            return files, content[1], read(content[1])
    return files, None, kept_reading(visit.ledger.lessons, known.digest)


@dataclass(frozen=True, slots=True)
class FilePlace:
    """The place of a file of the message. flags: the letters of Maildir."""

    folder: str
    mailbox: str
    is_watched: bool
    flags: str


def _file_place(place: CurrentFile, names: Names) -> FilePlace:
    location = place.location
    if location is None:
        return FilePlace(place.path, "", False, "")
    mailbox = next((path for path in names.by_path if place.path.startswith(f"{path}/")), "")
    name = names.by_path.get(mailbox, "") if names.are_several else ""
    return FilePlace(location.folder_name, name, True, parse_name(place.path.rpartition("/")[2]).flags)


def _opposite(known: MessageRow) -> list[Label]:
    """Return the labels that a person may give, ham first, without the one that they have given."""
    return [Label(1 - known.label)] if known.label is not None and not known.weak else list(Label)


@dataclass(frozen=True, slots=True)
class TaughtClue:
    """A clue with the messages that taught it, each with its number in the history, or None."""

    named: Named
    teachers: list[tuple[Teacher, int | None]]


def teachers(visit: Visit) -> Response:
    """Return the messages that taught the strongest clues. A separate request, since it looks through many lessons."""
    known = _known(visit)
    _, _, reading = _read(visit, known)
    taught = [] if reading is None else list(_taught(visit, reading, known))
    if visit.request.query.text("part"):
        return visit.part("teachers.html", taught=taught, known=known, title="")
    return visit.page("teachers.html", title="Where it was learned", taught=taught, known=known)


def _taught(visit: Visit, reading: Reading, known: MessageRow) -> Iterator[TaughtClue]:
    ledger = visit.ledger
    explanation = judge_of(visit).explain(reading, strongest=0, without_itself=known.label is not None)
    strongest = [clue for side in sides(explanation).values() for clue in side[:CLUES]]
    without = known.digest if known.label is not None else None
    teachers_of = ledger.lessons.teachers([clue.clue.token for clue in strongest], without=without)
    for clue in strongest:
        yield TaughtClue(clue, [(teacher, visit.number_of(teacher.digest)) for teacher in teachers_of[clue.clue.token]])


def message_as_json(visit: Visit) -> Response:
    """Return the facts about a message, and its actions in the form of `spamnb history --json`."""
    known, ledger = _known(visit), visit.ledger
    label = None if known.label is None else known.label.word
    values: dict[str, object] = {"message": known.summary, "digest": known.digest.hex(), "verdict": known.verdict}
    values |= {"probability": known.probability, "learned_as": label, "learned_weakly": known.weak}
    values |= {"counts_as": counts_as(known.label, known.weak)}
    lines = ledger.lines.of(ledger.journal.of_message(known.id))
    return as_json({**values, "actions": [as_object(line) for line in lines]})


def say(visit: Visit) -> Response:
    """Take the person's answer: learn the message, and move it to the right folder."""
    known = _known(visit)
    label = visit.request.form.label("label")
    if label is None:
        raise HttpError(400, "The form has no answer.", "Go back, and choose ham or spam.")
    try:
        done = visit.answers().call(known.digest, label, ON_A_PAGE)
    except MaildirError as fault:
        raise HttpError(409, str(fault), "Its verdict and its history remain.") from fault
    return visit.done(done.actions, back=f"m/{known.id}", stays=int(bool(done.stays)))


def forget(visit: Visit) -> Response:
    """Forget the message's lesson."""
    known, journal = _known(visit), visit.ledger.journal
    with visit.ledger.transaction():  # so that nobody else acts on the message
        visit.ledger.record_lessons()
        last = journal.newest_id()
        if not training.forget(visit.ledger, [known.digest], ON_A_PAGE, visit.now, how=How.HAND):
            raise HttpError(409, "This message is not learned.", "There is nothing to forget.")
        actions = [action.id for action in journal.of_message(known.id) if action.id > last]
    return visit.done(actions, back=f"m/{known.id}")


ROUTES = (
    Route("GET", "/m/{id}", message),
    Route("GET", "/m/{id}/teachers", teachers),
    Route("GET", "/m/{id}.json", message_as_json),
    Route("POST", "/m/{id}/teach", say),
    Route("POST", "/m/{id}/forget", forget),
)
