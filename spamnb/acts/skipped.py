"""Files and requests that the service does not read because a process died while reading them."""

from spamnb.ledger.ledger import Ledger


def retry(ledger: Ledger) -> tuple[str, ...]:
    """Let the service read the skipped items again when it next compares the folders. Returns these items."""
    with ledger.transaction():
        skipped = ledger.state.skipped
        ledger.state.skipped = ledger.state.suspected = ()
    return skipped


def clear(ledger: Ledger, *read: str) -> None:
    """Stop suspecting items that were read to their end."""
    with ledger.transaction():
        ledger.state.suspected = tuple(one for one in ledger.state.suspected if one not in read)
