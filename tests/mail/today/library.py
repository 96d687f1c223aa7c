"""The library: twenty honest messages of today and twenty spam, each in the form of its sending system."""

from typing import NamedTuple

from spamnb.base.label import Label
from tests.mail.today.honest import HONEST
from tests.mail.today.spam import SPAM


class Mail(NamedTuple):
    """A message: what it is called here, by what system it was sent, what it is, and its bytes."""

    name: str
    system: str
    label: Label
    raw: bytes


LIBRARY = {
    draft.name: Mail(draft.name, system.__name__, label, system(draft))
    for label, drafts in ((Label.HAM, HONEST), (Label.SPAM, SPAM))
    for system, draft in drafts
}
