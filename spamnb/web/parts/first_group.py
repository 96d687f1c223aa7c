"""The group of questions about mail from before the filter, with a box for each, on the first page and on Audit."""

from typing import NamedTuple

from spamnb.acts.current_files import CurrentFiles
from spamnb.review.first_questions import ROWS, FirstQuestion, outside_junk
from spamnb.web import action_ids
from spamnb.web.visit import Visit

_OFFERED = 3600.0  # seconds after an answer in which a page offers to move the message


class BoxedQuestion(NamedTuple):
    """A question with a box. numbers: of the message and its near-copies in the history, as text; number: its own.

    folder: the name of a folder that holds it, or "".
    """

    numbers: str
    number: int
    question: FirstQuestion
    folder: str


class FirstGroup(NamedTuple):
    """The next questions, and the reason to ask them. outside: how many messages called spam are not in Junk yet."""

    introduction: str
    boxes: list[BoxedQuestion]
    outside: int


def first_group(visit: Visit) -> FirstGroup | None:
    """Return the group for a page; None if there is nothing to ask or to move."""
    open_ = visit.site.kept.first_questions(visit.ledger)
    outside = len(outside_of_junk(visit))
    if not open_.asked and not outside:
        return None
    return FirstGroup(open_.introduction if open_.asked else "", _boxes(visit, open_.asked[:ROWS]), outside)


def outside_of_junk(visit: Visit) -> list[bytes]:
    """Return the messages that the person has lately called spam, and that are in a ham folder."""
    return outside_junk(visit.ledger, visit.config, visit.now - _OFFERED)


def _boxes(visit: Visit, asked: tuple[FirstQuestion, ...]) -> list[BoxedQuestion]:
    files = CurrentFiles(visit.ledger, visit.config)
    boxes = []
    for question in asked:
        numbers = [number for number in map(visit.number_of, question.copies) if number is not None]
        if numbers:
            file = next(iter(files.of(question.copies[0])), None)
            folder = "" if file is None or file.location is None else file.location.folder_name
            boxes.append(BoxedQuestion(action_ids.written(numbers)[0], numbers[0], question, folder))
    return boxes
