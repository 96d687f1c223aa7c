"""What takes too long for a request: worked out beside the pages, one at a time, and kept between requests.

What was found last is shown meanwhile:

    own_mail = Worked(work, run)                # once for each kind of value
    looked = own_mail.ensure(key, visit.after)  # the work is begun where the value is of another key
    looked.value, looked.is_current

Where there are many users there is not always a place to work something out; then a later page begins it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from spamnb.web.background import NoPlaceError, Run, Tell, here

After = list[Callable[[], object]]  # what is done once the answer is on its way
K = TypeVar("K", bound=tuple[Any, ...])
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Looked(Generic[V]):
    """What is known: the value that was found last, or None. is_current: it is of what is there now.

    has_failed: the last time it could not be worked out, as the log says; a page that loads itself again until there is
    something new would begin it for ever. done, of: how much is done now, of how much; 0 where nothing is told.
    """

    value: V | None
    is_current: bool
    has_failed: bool = False
    done: int = 0
    of: int = 0


class Worked(Generic[K, V]):
    """A value of one kind. work: finds it by its key, can be pickled, and so can what it returns; run: where.

    A key says of what the value is, first of which file.
    """

    def __init__(self, work: Callable[[K, Tell], V], run: Run = here) -> None:
        self._work, self._run = work, run
        self._running = threading.Lock()
        self._found: tuple[object, K | None, V] | None = None  # of which file, of which key, and the value
        self._failed: K | None = None  # the key that could not be worked out the last time
        self._progress = 0, 0
        self._expired = 0  # how often what was found was said to be old

    def look(self, key: K) -> Looked[V]:
        """What is known now; begins nothing."""
        file, known, value = self._found or (None, None, None)
        if file != key[0]:
            return Looked(None, False, self._failed is not None, *self._progress)
        return Looked(value, known == key, self._failed is not None, *self._progress)

    def ensure(self, key: K, after: After, end: Callable[[], K] | None = None) -> Looked[V]:
        """What is known now; where that is not current, it is worked out after the answer.

        end: the key at the end of the work, of a value that is of the moment at which it is found.
        """
        looked = self.look(key)
        if not looked.is_current:
            after.append(lambda: self.find(key, end))
        return looked

    def ensure_once(self, key: K, after: After) -> None:
        """As `ensure`, but what has failed is not begun again for the same key."""
        if self._failed != key:
            self.ensure(key, after)

    def find(self, key: K, end: Callable[[], K] | None = None) -> None:
        """Work it out, unless that is done, or being done, or there is no place for it. Raises what the work raises."""
        if not self._running.acquire(blocking=False):
            return
        try:
            if self.look(key).is_current:  # it was begun by two pages
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
        """From now on, what was found before is old, also what is being found."""
        self._expired += 1
        if self._found is not None:
            self._found = self._found[0], None, self._found[2]

    def _tell(self, done: int, of: int) -> None:
        self._progress = done, of


class Recent(Generic[V]):
    """Something for each of many, made when it is first asked for. Only of so many is it kept: those asked for last."""

    def __init__(self, make: Callable[[str], V], most: int) -> None:
        self._make, self._most = make, most
        self._lock = threading.Lock()
        self._made: OrderedDict[str, V] = OrderedDict()

    def of(self, name: str) -> V:
        """What is kept of that one."""
        with self._lock:
            if name not in self._made:
                self._made[name] = self._make(name)
                if len(self._made) > self._most:
                    self._made.popitem(last=False)
            self._made.move_to_end(name)
            return self._made[name]
