"""Values that take too long for a request: computed beside the pages, one at a time, and kept between requests.

In the meantime a page shows the last value:

    own_mail = BackgroundValue(work, run)         # once for each kind of value
    snapshot = own_mail.ensure(key, visit.after_answer)  # starts the work if the value has a different key
    snapshot.value, snapshot.is_current

With many users there is not always a place for the work. Then a later page starts it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from spamnb.web.background import NoPlaceError, Run, Tell, here

AfterAnswer = list[Callable[[], object]]  # work that begins when the answer is on its way
K = TypeVar("K", bound=tuple[Any, ...])
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[V]):
    """The last value, or None. is_current: it belongs to the present key.

    has_failed: the last work has failed, and the log says why; a page that reloads itself until there is a new value
    would start it for ever. done, of: the progress of the present work; 0 if it is not known.
    """

    value: V | None
    is_current: bool
    has_failed: bool = False
    done: int = 0
    of: int = 0


class BackgroundValue(Generic[K, V]):
    """A value of one kind. work: finds it by its key; work and result can be pickled. run: the place of the work.

    A key identifies the source of the value; its first part is the file.
    """

    def __init__(self, work: Callable[[K, Tell], V], run: Run = here) -> None:
        self._work, self._run = work, run
        self._running = threading.Lock()
        self._found: tuple[object, K | None, V] | None = None  # the file, the key, and the value
        self._failed: K | None = None  # the key of the last work, if that has failed
        self._progress = 0, 0
        self._expired = 0  # the number of calls of `expire`

    def last(self, file: object) -> V | None:
        """Return the last value of a file, or None."""
        known, _, value = self._found or (None, None, None)
        return value if known == file else None

    def look(self, key: K) -> Snapshot[V]:
        """Return the last value, and start nothing."""
        file, known, value = self._found or (None, None, None)
        if file != key[0]:
            return Snapshot(None, False, self._failed is not None, *self._progress)
        return Snapshot(value, known == key, self._failed is not None, *self._progress)

    def ensure(self, key: K, after_answer: AfterAnswer, end: Callable[[], K] | None = None) -> Snapshot[V]:
        """Return the last value. If that is not current, work out a new one after the answer.

        end: returns the key at the end of the work, for a value that belongs to that moment.
        """
        snapshot = self.look(key)
        if not snapshot.is_current:
            after_answer.append(lambda: self.find(key, end))
        return snapshot

    def ensure_once(self, key: K, after_answer: AfterAnswer) -> None:
        """Do the same as `ensure`, but do not repeat failed work for the same key."""
        if self._failed != key:
            self.ensure(key, after_answer)

    def find(self, key: K, end: Callable[[], K] | None = None) -> None:
        """Work it out, unless it is current, or somebody works on it, or all places are taken. Raises like the work."""
        if not self._running.acquire(blocking=False):
            return
        try:
            if self.look(key).is_current:  # two pages have started it
                return
            expired = self._expired
            value = self._run(partial(self._work, key), self._tell)
            known = key if end is None else end()
            self._found = key[0], known if expired == self._expired else None, value
            self._failed = None
        except NoPlaceError:
            pass
        except Exception:
            self._failed = key
            raise
        finally:
            self._progress = 0, 0
            self._running.release()

    def expire(self) -> None:
        """Make all values old that were found before, also one that is being found."""
        self._expired += 1
        if self._found is not None:
            self._found = self._found[0], None, self._found[2]

    def _tell(self, done: int, of: int) -> None:
        self._progress = done, of


class Recent(Generic[V]):
    """Makes a value for a name at its first use, and keeps the values of the `most` names that were used last."""

    def __init__(self, make: Callable[[str], V], most: int) -> None:
        self._make, self._most = make, most
        self._lock = threading.Lock()
        self._made: OrderedDict[str, V] = OrderedDict()

    def of(self, name: str) -> V:
        """Return the value of a name."""
        with self._lock:
            if name not in self._made:
                self._made[name] = self._make(name)
                if len(self._made) > self._most:
                    self._made.popitem(last=False)
            self._made.move_to_end(name)
            return self._made[name]
