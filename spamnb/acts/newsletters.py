"""Find out whether a message is a newsletter, and let a person's move decide about the next ones of its list."""

from contextlib import suppress

from spamnb.acts.choices import NoEffectError, choose
from spamnb.base.label import Role
from spamnb.config import Config
from spamnb.config.named_senders import exact_pattern, list_pattern
from spamnb.ledger.history.choices import SORTED_TO
from spamnb.ledger.ledger import Ledger
from spamnb.mail.relations import Relations
from spamnb.rules.newsletters import newsletter


def why_newsletter(ledger: Ledger, relations: Relations) -> str:
    """Return why a message belongs to the newsletters, in words; "" if it does not."""
    (seen,) = ledger.lessons.seen([relations])
    return newsletter(relations, seen, sorted_to(ledger, relations))


def sorted_to(ledger: Ledger, relations: Relations) -> Role | None:
    """Return the folder that the person has chosen for mail of this list or sender, inbox or newsletters, or None."""
    return ledger.choices.sorted_to(_only_sender(relations), relations.list_id)


def choose_by_move(ledger: Ledger, config: Config, relations: Relations, role: Role, at: float) -> None:
    """Choose that mail of this list, or else of this sender, goes to the folder to which a person has moved a message.

    role: of that folder, inbox or newsletters. config: as its file has it. at: seconds since the epoch. Chooses nothing
    if such mail already goes there, if no pattern names the list or sender, or if the person has chosen too much.
    """
    name = list_pattern(relations.list_id) or exact_pattern(_only_sender(relations))
    if name and bool(why_newsletter(ledger, relations)) is not (role is Role.NEWSLETTERS):
        kind = next(kind for kind, folder in SORTED_TO.items() if folder is role)
        with suppress(NoEffectError):
            choose(ledger, config, kind, [name], "move", at)


def _only_sender(relations: Relations) -> str:
    """Return the address in From; "" if there are several."""
    return "" if relations.others else relations.sender
