"""Learned mail that may be filed wrongly, and what a person answers about it."""

from collections import Counter
from dataclasses import dataclass

from spamnb.acts.answers import ON_A_PAGE, Answer
from spamnb.base.errors import MaildirError
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


@dataclass(frozen=True, slots=True)
class AskedFinding:
    """A finding as it is asked about: the message's number, the clues in words, and how many of its sender there are.

    filed: the name of its folder, or "".
    """

    number: int
    finding: Misfiled
    clues: list[Named]
    alike: int
    filed: str


def audit(visit: Visit) -> Response:
    """A page of the findings, the clearest first."""
    looked = visit.site.kept.own_mail(visit.ledger, visit.config.scoring, visit.after)
    findings = [] if looked.value is None else _open(visit.ledger, looked.value.findings)
    clear = [finding for finding in findings if finding.is_clear]
    if looked.value is not None:
        visit.site.kept.badges["audit"] = len(clear)
    start = visit.request.query.number("from") or 0
    shown = findings[start : start + _ON_A_PAGE]
    return visit.page(
        "audit.html",
        title=f"{len(clear)} probably misfiled" if clear else "Audit",
        looked=looked,
        questions=_questions(visit, findings, shown),
        start=start,
        number=len(findings),
        clear=len(clear),
        next=start + _ON_A_PAGE if start + _ON_A_PAGE < len(findings) else None,
    )


def _open(ledger: Ledger, findings: tuple[Misfiled, ...]) -> list[Misfiled]:
    """The findings that still stand: not answered since, and still learned as the same."""
    settled = ledger.journal.all_settled()
    standing = []
    for finding in findings:
        lesson = None if finding.digest in settled else ledger.lessons.find(finding.digest)
        if lesson is not None and (lesson.label is finding.label or finding.place is not None):
            standing.append(finding)
    return standing


def _questions(visit: Visit, findings: list[Misfiled], shown: list[Misfiled]) -> list[AskedFinding]:
    senders = Counter(shape(finding.summary)[0] for finding in findings)
    questions = []
    for finding in with_places(visit.ledger, visit.config, shown):
        number = visit.number_of(finding.digest)
        if number is not None:
            alike = senders[shape(finding.summary)[0]]
            location = None if finding.place is None else finding.place.location
            filed = "" if location is None else location.folder_name
            clues = [named(clue) for clue in finding.clues]
            questions.append(AskedFinding(number, finding, clues, alike if alike >= _MANY else 0, filed))
    return questions


def answer(visit: Visit) -> Response:
    """Do what a person has answered about one message."""
    form = visit.request.form
    message = visit.ledger.messages.lookup(visit.number("id"))
    chosen, label = _ANSWERS.get(form.text("answer")), form.label("label")
    if message is None or chosen is None or label is None:
        raise HttpError(400, "The answer cannot be read.", "Go back, and answer with the buttons.")
    if visit.ledger.lessons.find(message.digest) is None:
        raise HttpError(409, "This message is not learned any more.", "There is nothing to answer.")
    finding = Misfiled(message.digest, message.summary, label, False, UNTAUGHT)
    try:
        done = visit.answers().give(finding.question, chosen, ON_A_PAGE)
    except MaildirError as fault:
        raise HttpError(409, str(fault), "What was learned is kept.") from fault
    return visit.done(done.actions, back="audit", stays=int(bool(done.stays)))


ROUTES = (Route("GET", "/audit", audit), Route("POST", "/audit/{id}", answer))
