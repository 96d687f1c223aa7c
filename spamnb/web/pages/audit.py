"""Learned mail that may be filed wrongly, and what a person answers about it."""

from collections import Counter
from dataclasses import dataclass

from spamnb.acts.answers import ON_A_PAGE, Answer, Answers
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label
from spamnb.filter.explain import Named, named
from spamnb.filter.judge import UNTAUGHT
from spamnb.ledger.ledger import Ledger
from spamnb.review.misfiled import Misfiled, with_places
from spamnb.review.near_copies import shape
from spamnb.web.http import HttpError, Response
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_ON_A_PAGE = 20
_MANY = 3  # findings of one sender, from which on it is said how many there are
_ANSWERS = {"right": Answer.RIGHT, "otherwise": Answer.OTHERWISE, "forget": Answer.FORGET, "never": Answer.NEVER}
_LABELS = {label.word: label for label in Label}


@dataclass(frozen=True, slots=True)
class Question:
    """A finding as it is asked about: the message's number, the clues in words, and how many of its sender there are.

    filed: the name of its folder, or "".
    """

    number: int
    finding: Misfiled
    clues: list[Named]
    alike: int
    filed: str


def audit(visit: Visit) -> Response:
    """The strongest contradictions first."""
    ledger, scoring = visit.ledger, visit.config.scoring
    looked = visit.site.own_mail.look(ledger, scoring)
    if not looked.is_current:
        visit.after.append(lambda: visit.site.own_mail.judge(ledger.path, scoring))
    found = [] if looked.mail is None else _open(ledger, looked.mail.findings)
    clear = [one for one in found if one.is_clear]
    if looked.mail is not None:
        visit.site.badges.tell("audit", len(clear))
    start = visit.request.query.number("from") or 0
    shown = found[start : start + _ON_A_PAGE]
    return visit.page(
        "audit.html",
        title=f"{len(clear)} probably misfiled" if clear else "Audit",
        looked=looked,
        questions=_questions(visit, found, shown),
        start=start,
        number=len(found),
        clear=len(clear),
        next=start + _ON_A_PAGE if start + _ON_A_PAGE < len(found) else None,
    )


def _open(ledger: Ledger, findings: tuple[Misfiled, ...]) -> list[Misfiled]:
    """The findings that still stand: not answered since, and still learned as the same."""
    settled = ledger.journal.all_settled()
    found = []
    for one in findings:
        lesson = None if one.digest in settled else ledger.lessons.find(one.digest)
        if lesson is not None and (lesson.label is one.label or one.place is not None):
            found.append(one)
    return found


def _questions(visit: Visit, found: list[Misfiled], shown: list[Misfiled]) -> list[Question]:
    senders = Counter(shape(one.summary)[0] for one in found)
    questions = []
    for one in with_places(visit.ledger, visit.config, shown):
        known = visit.ledger.messages.find(one.digest)
        if known is not None:
            alike = senders[shape(one.summary)[0]]
            location = None if one.place is None else one.place.location
            filed = "" if location is None else location.folder_name
            clues = [named(clue) for clue in one.clues]
            questions.append(Question(known.id, one, clues, alike if alike >= _MANY else 0, filed))
    return questions


def answer(visit: Visit) -> Response:
    """Do what a person has answered about one message."""
    form = visit.request.form
    known = visit.ledger.messages.lookup(visit.number("id"))
    said, label = _ANSWERS.get(form.text("answer")), _LABELS.get(form.text("label"))
    if known is None or said is None or label is None:
        raise HttpError(400, "The answer cannot be read.", "Go back, and answer with the buttons.")
    if visit.ledger.lessons.find(known.digest) is None:
        raise HttpError(409, "This message is not learned any more.", "There is nothing to answer.")
    answers = Answers(visit.ledger, visit.config, visit.site.now)
    visit.after.append(answers.end)
    finding = Misfiled(known.digest, known.summary, label, False, UNTAUGHT)
    try:
        done = answers.give(finding, said, ON_A_PAGE)
    except MaildirError as fault:
        raise HttpError(409, str(fault), "What was learned is kept.") from fault
    return visit.done(done.actions, back="audit", stays=int(bool(done.stays)))


ROUTES = (Route("GET", "/audit", audit), Route("POST", "/audit/{id}", answer))
