"""Short names that tell one person's mailboxes apart on a page."""

import functools
from pathlib import Path

from spamnb.config import Config
from spamnb.ledger.history.actions import Action
from spamnb.ledger.ledger import Ledger


class Names:
    """The names of the configured mailboxes by their paths, for one request."""

    def __init__(self, config: Config) -> None:
        self.by_path = short_names([mailbox.path for mailbox in config.mailboxes])
        self._mailbox_of = functools.cache(lambda ledger, folder: ledger.locations.where(folder)[0])

    @property
    def are_several(self) -> bool:
        """Whether there are several mailboxes."""
        return len(self.by_path) > 1

    def of_action(self, ledger: Ledger, action: Action) -> str:
        """Return the name of an action's mailbox; "" if there is only one mailbox, or it is not known."""
        if not self.are_several:
            return ""
        folder = action.source if action.source is not None else action.destination
        if folder is None:
            places = ledger.locations.of_message(action.message)
            folder = places[-1].folder if places else None
        return "" if folder is None else self.by_path.get(self._mailbox_of(ledger, folder), "")

    def path_of(self, name: str) -> str | None:
        """Return the path of the mailbox with that name, or None."""
        return next((path for path, short in self.by_path.items() if short == name), None)


def short_names(paths: list[Path]) -> dict[str, str]:
    """Return for each path the fewest last parts that tell it from the others.

    >>> list(short_names([Path("/home/anna/Maildir"), Path("/home/anna/work"), Path("/home/ben/Maildir")]).values())
    ['anna/Maildir', 'work', 'ben/Maildir']
    """
    names = {}
    for path in paths:
        number = 1
        others = [other.parts for other in paths if other != path]
        while number < len(path.parts) and any(parts[-number:] == path.parts[-number:] for parts in others):
            number += 1
        names[str(path)] = "/".join(path.parts[-number:])
    return names
