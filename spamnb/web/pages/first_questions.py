"""The answers to the questions about mail from before the filter, and the move of what is spam."""

from spamnb.acts.answers import ON_A_PAGE
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label
from spamnb.review.first_questions import answer, may_ask
from spamnb.web import action_ids
from spamnb.web.http import HttpError, Response
from spamnb.web.parts.first_group import outside_of_junk
from spamnb.web.routes import Route
from spamnb.web.visit import Visit


def say(visit: Visit) -> Response:
    """Learn the ticked messages as spam, or those without a tick as ham. Nothing is moved."""
    form = visit.request.form
    label, ticked = form.label("label"), set(form.all("spam"))
    if label is None:
        raise HttpError(400, "The form has no answer.", "Go back, and use the buttons.")
    asked = [numbers for numbers in form.all("asked") if (numbers in ticked) is (label is Label.SPAM)]
    messages = [visit.ledger.messages.lookup(number) for numbers in asked for number in action_ids.read(numbers)]
    settled = visit.ledger.journal.all_settled()
    digests = [one.digest for one in messages if one is not None and may_ask(visit.ledger, one.digest, settled)]
    done = answer(visit.answers(), digests, label, ON_A_PAGE)
    return visit.done([action for each in done for action in each.actions])


def move(visit: Visit) -> Response:
    """Move the messages that the person has called spam to Junk."""
    answers, actions, failed = visit.answers(), list[int](), 0
    for digest in outside_of_junk(visit):
        try:
            actions += answers.call(digest, Label.SPAM, ON_A_PAGE).actions
        except MaildirError:
            failed += 1
    return visit.done(actions, stays=failed)


ROUTES = (Route("POST", "/first", say), Route("POST", "/first/move", move))
