"""Learned mail that may be in the wrong folder, and the person's answers about it."""

from collections import Counter
from typing import NamedTuple

from spamnb.acts.answers import ON_A_PAGE, Answer, Question
from spamnb.acts.not_yet import only_guesses
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label
from spamnb.filter.judge import UNTAUGHT
from spamnb.review.misfiled import Doubts, Misfiled, still_asked, with_places
from spamnb.review.near_copies import shape
from spamnb.web.http import HttpError, Response, label_of
from spamnb.web.parts.answered import answers_in
from spamnb.web.parts.asked_rows import AskedRow, asked_rows
from spamnb.web.parts.first_group import first_group
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_ON_A_PAGE = 20
_MANY = 3  # findings of one sender: from this number on, the page says how many there are
_OTHERS = {"forget": Answer.FORGET, "never": Answer.NEVER}  # beside what the message is


class AskedFinding(NamedTuple):
    """A finding as a question, and the number of findings of the same sender, or 0 if they are few."""

    row: AskedRow
    alike: int


def audit(visit: Visit) -> Response:
    """Return a page of the findings, the clearest first."""
    snapshot = visit.site.kept.own_mail(visit.ledger, visit.config.scoring, visit.after_answer)
    findings = [] if snapshot.value is None else still_asked(visit.ledger, snapshot.value.findings)
    doubts = Doubts.of(findings)
    start = visit.request.query.number("from") or 0
    is_guess = only_guesses(visit.ledger, visit.config.learning)
    shown = findings[start : start + _ON_A_PAGE]
    return visit.page(
        "audit.html",
        title=doubts.heading if doubts.clear and not is_guess else "Wrong folder?",
        snapshot=snapshot,
        questions=_questions(visit, findings, shown),
        is_guess=is_guess,
        start=start,
        number=len(findings),
        failed=visit.outcome("failed"),
        first=None if start else first_group(visit),
        next=start + _ON_A_PAGE if start + _ON_A_PAGE < len(findings) else None,
    )


def _questions(visit: Visit, findings: list[Misfiled], shown: list[Misfiled]) -> list[AskedFinding]:
    senders = Counter(shape(finding.summary)[0] for finding in findings)
    questions = []
    for row in asked_rows(visit, with_places(visit.ledger, visit.config, shown)):
        alike = senders[shape(row.finding.summary)[0]]
        questions.append(AskedFinding(row, alike if alike >= _MANY else 0))
    return questions


def answer(visit: Visit) -> Response:
    """Carry out the person's answers. Messages left for later do not change."""
    form = visit.request.form
    answered = [
        (number, *_read(value, form.label(f"was.{number}"))) for number, value in answers_in(form) if value != "later"
    ]
    answers, actions, failed, stays = visit.answers(), list[int](), 0, 0
    for number, label, said in answered:
        try:
            done = answers.give(_question(visit, number, label), said, ON_A_PAGE)
        except MaildirError:
            failed += 1
        else:
            actions += done.actions
            stays += bool(done.stays)
    return visit.done(actions, back="audit", failed=failed, stays=stays)


def _read(value: str, label: Label | None) -> tuple[Label, Answer]:
    """Return the message's old label, and the answer. Raises HttpError."""
    said = label_of(value)
    if label is None or (said is None and value not in _OTHERS):
        raise HttpError(400, "The answer cannot be read.", "Go back, and answer with the buttons.")
    if said is None:
        return label, _OTHERS[value]
    return label, Answer.RIGHT if said is label else Answer.OTHERWISE


def _question(visit: Visit, number: int, label: Label) -> Question:
    message = visit.ledger.messages.lookup(number)
    if message is None or visit.ledger.lessons.find(message.digest) is None:
        raise MaildirError("the message is no longer learned")
    return Misfiled(message.digest, message.summary, label, False, UNTAUGHT).question


ROUTES = (Route("GET", "/audit", audit), Route("POST", "/audit", answer))
