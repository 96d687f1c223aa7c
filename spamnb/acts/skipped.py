"""What the service does not read, since a process has died while it read it: files, and requests for a verdict."""

from spamnb.ledger.ledger import Ledger


def retry(ledger: Ledger) -> tuple[str, ...]:
    """Let the service read again what it skips, when it next compares the folders. Returns what that was."""
    with ledger.transaction():
        skipped = ledger.state.skipped
        ledger.state.skipped = ledger.state.suspected = ()
    return skipped


def clear(ledger: Ledger, *read: str) -> None:
    """Suspect no longer what was read to its end."""
    with ledger.transaction():
        ledger.state.suspected = tuple(one for one in ledger.state.suspected if one not in read)
