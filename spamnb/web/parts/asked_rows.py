"""The rows of Review and Audit: a message to ask about, the beginning of its text, and its clues in words."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from spamnb.acts.current_files import CurrentFiles
from spamnb.filter.explain import Named, named
from spamnb.mail.excerpt import beginning
from spamnb.mail.tokens.kinds import is_seen
from spamnb.review.misfiled import Misfiled
from spamnb.web.visit import Visit

_BEGINNING = 160  # characters


class AskedRow(NamedTuple):
    """A message as a question. number: of the message in the history. clues: in few words.

    text: the beginning of its text, or "" if its file is gone. filed: the name of its folder, or "".
    """

    number: int
    finding: Misfiled
    text: str
    clues: list[Named]
    filed: str


def asked_rows(visit: Visit, findings: Iterable[Misfiled]) -> Iterator[AskedRow]:
    """Yield the row of each finding that the history knows. The findings have their places."""
    files = CurrentFiles(visit.ledger, visit.config)
    for finding in findings:
        number = visit.number_of(finding.digest)
        if number is not None:
            text = visit.site.kept.beginning(finding.digest, partial(_beginning_of, files, finding))
            location = None if finding.place is None else finding.place.location
            filed = "" if location is None else location.folder_name
            yield AskedRow(number, finding, text, in_words(finding), filed)


def in_words(finding: Misfiled) -> list[Named]:
    """Return the clues of a finding in words.

    A text alone is enough for what a person sees in the message, unless an earlier clue has the same text.
    """
    found: list[Named] = []
    for clue in map(named, finding.clues):
        is_enough = clue.text and is_seen(clue.clue.token) and clue.text not in [one.text for one in found]
        found.append(replace(clue, kind="") if is_enough else clue)
    return found


def _beginning_of(files: CurrentFiles, finding: Misfiled) -> str:
    location = None if finding.place is None else finding.place.location
    content = None if location is None else files.read(location, finding.digest)
    return "" if content is None else beginning(content[1], _BEGINNING)
