"""The mailboxes that a service works with: a fault of one is said once, and is no fault of the others."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from spamnb.config import Config, Role
from spamnb.errors import LedgerError, LedgerUnavailableError, SpamnbError
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Folder, FolderNameError
from spamnb.maildir.mailbox import Entry
from spamnb.moves import bases_now
from spamnb.service.about import about
from spamnb.service.claim import Claim, ClaimedError
from spamnb.service.once import Once
from spamnb.service.sorter import Sorter

_log = logging.getLogger(__name__)
LEDGER = "the ledger"  # of which a fault is said, as of a mailbox


class Mailboxes:
    """All mailboxes of a configuration, over one ledger.

    `now` gives seconds since the epoch, `alive` is called in long work, `faults` knows what was said of which
    mailbox, and of the ledger.
    """

    def __init__(
        self,
        config: Config,
        ledger: Ledger,
        faults: Once,
        *,
        now: Callable[[], float],
        alive: Callable[[str], None],
    ) -> None:
        self._ledger = ledger
        self._faults = faults
        self._sorters = _sorters(config, ledger, now, alive)
        self._claims = {root: Claim() for root in self._sorters}
        self._begun: set[str] = set()  # the mailboxes that were there since the start, or came later
        self._ledger_failed = False

    @property
    def roots(self) -> list[str]:
        """Where the mailboxes lie."""
        return list(self._sorters)

    @property
    def folders(self) -> list[Folder]:
        """All folders, as they were when last looked at."""
        return [folder for sorter in self._sorters.values() for folder in sorter.folders]

    def present(self) -> dict[int, set[str]]:
        """The names of the folders of each mailbox that can be looked at, by its id in the ledger."""
        there = [sorter for root, sorter in self._sorters.items() if root in self._begun and root not in self._faults]
        return {sorter.id: names for sorter in there if (names := sorter.present()) is not None}

    def meet(self) -> None:
        """Raise SpamnbError for a mailbox that was never seen before and is not there: its path is rather mistyped."""
        for root, sorter in self._sorters.items():
            if not sorter.is_started:
                with self._about(root):
                    sorter.refresh()
                    self._claim(root)

    def take_note(self) -> None:
        """Take note of the mail that lies in mailboxes never seen before: it is never moved."""
        for root, sorter in self._sorters.items():
            with self._about(root):
                sorter.start()

    def start(self) -> None:
        """Begin with all mailboxes, and compare them. Raises SpamnbError where one cannot be worked with."""
        for root in self._sorters:
            with self._about(root):
                self._start(root)
                self._sorters[root].reconcile()

    def compare(self) -> bool:
        """Compare the folders with the ledger; False where something could not be done for now."""
        self._ledger_failed = False
        done = [self._try(root, lambda root=root: self._compare_one(root)) for root in self._sorters]  # type: ignore[misc]
        if not self._ledger_failed and self._faults.over(LEDGER):
            _log.info("the ledger can be used again")
        return all(done)

    def hint(self, root: str, folder: str, entry: Entry) -> bool:
        """A file may have appeared in the folder of that path; False where nothing could be done for now."""
        return root not in self._begun or self._try(root, lambda: self._sorters[root].hint(folder, entry))

    def settle(self) -> bool:
        """Act on the files that have dwelt long enough; False where something could not be done for now."""
        done = [self._try(root, self._sorters[root].settle) for root in self._sorters if root in self._begun]
        return all(done)

    def settle_or_raise(self) -> None:
        """Act on the files that have dwelt long enough. Raises SpamnbError where something cannot be done."""
        for root, sorter in self._sorters.items():
            with self._about(root):
                sorter.settle()

    def due(self) -> float | None:
        """When the next file has dwelt long enough, or None."""
        waiting = [sorter.due() for root, sorter in self._sorters.items() if root not in self._faults]
        return min((due for due in waiting if due is not None), default=None)

    def empty_log(self) -> None:
        """Give back what the ledger's log takes on the disk, if that is much: commands may have learned a lot."""
        self._ledger.empty_log()

    def let_go(self) -> None:
        """Leave the mailboxes to other services."""
        for claim in self._claims.values():
            claim.release()

    def _start(self, root: str) -> None:
        self._sorters[root].refresh()
        self._claim(root)
        self._sorters[root].start()
        self._begun.add(root)

    def _claim(self, root: str) -> None:
        self._claims[root].take(self._sorters[root].inbox)

    def _compare_one(self, root: str) -> None:
        sorter = self._sorters[root]
        with self._ledger.transaction():
            pass  # is it still in its place, and can it be written?
        if root in self._begun:
            sorter.refresh()
            self._claim(root)  # another directory may have come in its place
        else:
            self._start(root)
        sorter.reconcile()
        sorter.settle()
        if self._faults.over(root):
            _log.info("%s can be used again", root)

    def _try(self, root: str, work: Callable[[], object]) -> bool:
        """Do something for a mailbox; False where it could not be done for now. Raises what will not pass."""
        try:
            with self._about(root):
                work()
        except LedgerUnavailableError as fault:
            self._ledger_failed = True
            self._faults.say(LEDGER, f"{fault}. Mail stays where it is until then")
        except (LedgerError, ClaimedError, FolderNameError):
            raise
        except SpamnbError as fault:
            with self._about(root):
                self._faults.say(root, str(fault))
        else:
            return True
        return False

    def _about(self, root: str) -> AbstractContextManager[None]:
        """What is logged within names the mailbox, where there are several."""
        return about(root if len(self._sorters) > 1 else "")


def _sorters(
    config: Config, ledger: Ledger, now: Callable[[], float], alive: Callable[[str], None]
) -> dict[str, Sorter]:
    bases = bases_now()
    mailboxes = {ledger.files.mailbox(str(mailbox.path))[0]: mailbox for mailbox in config.mailboxes}

    def role_of(mailbox: int, folder: str) -> tuple[Role, bool]:
        of = mailboxes.get(mailbox)
        if of is None:
            return Role.NEUTRAL, False
        return of.role_of(folder), folder == of.unsure_folder

    return {
        str(mailbox.path): Sorter(mailbox, config, ledger, now=now, bases=bases, role_of=role_of, alive=alive)
        for mailbox in config.mailboxes
    }
