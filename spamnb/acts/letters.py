"""A letter of the filter itself, in a person's inbox: whatever happens, it is there once, or not at all.

1. The draft is written into the inbox's `tmp/`, durably, under the name that the letter will have. The name follows
   from what the letter is about.
2. One transaction records that the letter is under way, what the caller says it has told, and where its file will be.
3. The draft is renamed into `new/`, durably.
4. The ledger records that nothing is under way.

If the process is killed before 2, the next try writes the draft again. After that the draft tells what was done: if it
is there, `finish` renames it; if not, the letter was delivered, wherever a person may have moved it since.

The ledger makes a file a letter of ours, and nothing in the message does: the origin of its place. It follows the file
to other places (`rules.reactions`). A copy of its bytes from outside is a message like any other.
"""

from collections.abc import Callable
from dataclasses import dataclass

from spamnb.acts.moves import FolderWithId
from spamnb.identity.digests import digests
from spamnb.ledger.history.state import UnderWay
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.messages import deliver_draft, drop_draft, has_draft, locate, write_draft


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter that is to be written. base: of its file, the same for the same news. summary: for the history."""

    base: str
    content: bytes
    summary: str


def write(ledger: Ledger, inbox: FolderWithId, letter: Letter, at: float, record: Callable[[bytes], object]) -> None:
    """Write a letter into the inbox.

    at: the time, in seconds since the epoch. record: notes in the ledger what the letter has told, in one transaction
    with it; it gets the letter's identity. Raises OSError if the inbox cannot take it: then either nothing is noted,
    or the letter is under way, and `finish` delivers it later.
    """
    write_draft(inbox, letter.content, letter.base)
    found = digests(letter.content)
    with ledger.transaction():
        ledger.messages.ensure(found.identity, letter.summary, found.header)
        ledger.state.letter = UnderWay(inbox.id, letter.base, found.identity, found.delivery)
        _place(ledger, at)
        record(found.identity)
    finish(ledger, inbox, at)


def finish(ledger: Ledger, inbox: FolderWithId, at: float) -> bool:
    """Deliver the letter that is under way, if it is not there yet. Returns whether it did. Raises OSError as `write`.

    A letter for a folder that is no longer the inbox is given up.
    """
    letter = ledger.state.letter
    if letter is None:
        return False
    is_waiting = letter.folder == inbox.id and has_draft(inbox, letter.base)
    if is_waiting and locate(inbox, letter.base) is not None:  # told before; then a copy of the ledger was restored
        drop_draft(inbox, letter.base)
        is_waiting = False
    if is_waiting:
        _place(ledger, at)  # a comparison of the folders may have recorded since that the file is not there
        deliver_draft(inbox, letter.base)
    ledger.state.letter = None
    return is_waiting


def _place(ledger: Ledger, at: float) -> None:
    """Record where the letter under way will be: before the file is there, so that it never seems to be new mail."""
    letter = ledger.state.letter
    known = None if letter is None else ledger.messages.find(letter.digest)
    if letter is not None and known is not None and ledger.locations.get(letter.folder, letter.base) is None:
        ledger.locations.put(letter.folder, letter.base, known.id, "letter", letter.delivery, "", at)
