"""A person's word about the messages of a statement: none of them is theirs, so each is spam."""

from collections.abc import Sequence
from pathlib import Path

from spamnb.acts.answers import Answers
from spamnb.acts.wanted import Answered, answer
from spamnb.base.label import Label, Role
from spamnb.config import Config
from spamnb.ledger.history.state import Told
from spamnb.ledger.ledger import Ledger


def unanswered(ledger: Ledger, shown: Sequence[bytes]) -> list[bytes]:
    """Return which of these messages, by their identities, nobody has decided on."""
    settled, found = ledger.journal.all_settled(), []
    for digest in shown:
        known = ledger.messages.find(digest)
        is_open = known is not None and known.rescued_at is None and (known.label is None or known.weak)
        if is_open and digest not in settled:
            found.append(digest)
    return found


def none_is_mine(answers: Answers, ledger: Ledger, shown: Sequence[bytes], why: str) -> Answered:
    """Learn the shown messages as spam, except those on which somebody has decided since they were shown."""
    return answer(answers, unanswered(ledger, shown), Label.SPAM, why)


def note_silence(ledger: Ledger, config: Config) -> bool:
    """Note that a person has passed by the drawn messages of the newest letter. Returns whether that is so now.

    That is an answer for the bound only, and teaches nothing: the letter was read, and somebody has looked into Junk
    since it was written.
    """
    told = ledger.state.told
    if told is None or not told.drawn:
        return False
    if not (_is_read(ledger, told) and _has_looked(ledger, config, told.at)):
        return False
    with ledger.transaction():
        passed = [digest.hex() for digest in unanswered(ledger, told.drawn)]
        ledger.state.silent = (*ledger.state.silent, *passed)
        ledger.state.told = Told(told.period, told.letter, told.at, told.shown, ())
    return bool(passed)


def _is_read(ledger: Ledger, told: Told) -> bool:
    known = ledger.messages.find(told.letter)
    places = [] if known is None else ledger.locations.of_message(known.id)
    return any(place.origin == "letter" and "S" in place.flags for place in places)


def _has_looked(ledger: Ledger, config: Config, since: float) -> bool:
    """Whether a person has looked into the spam folder of a mailbox since then."""
    mailboxes = (mailbox for mailbox in config.mailboxes if Role.SPAM in mailbox.roles.values())
    return any(ledger.locations.spam_seen_at(_id(ledger, mailbox.path)) > since for mailbox in mailboxes)


def _id(ledger: Ledger, path: Path) -> int:
    return ledger.locations.mailbox(str(path))[0]
