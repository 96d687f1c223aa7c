"""Whose request is answered next, if the pages of all users of a mail host have more requests than threads.

waitress answers in the order in which requests come. So a user who sends a hundred costly requests at once keeps all
others waiting, for as long as these take. Here the users take turns, each with a part of the threads, and a user for
whom too many requests wait gets no answer to more.
"""

import threading
from collections import Counter, OrderedDict, deque

from waitress.task import ThreadedTaskDispatcher  # type: ignore[import-untyped]  # it has no types

from spamnb.web.connections import Channel

AT_ONCE = 2  # requests of one user that are answered at the same time, of four threads
MOST_WAITING = 32  # requests of one user that wait; a browser that opens ten pages has fewer


class Turns:
    """The waiting requests, in the place of waitress's own queue. lock: the dispatcher's, which holds it at each call.

    field: the name of the header field that names the user.
    """

    def __init__(self, lock: threading.Lock, field: str) -> None:
        self._lock = lock
        self._field = field.upper().replace("-", "_")
        self._waiting: OrderedDict[str, deque[Channel]] = OrderedDict()  # by user; who had a turn goes to the end
        self._answered: Counter[str] = Counter()

    def __len__(self) -> int:
        """The number of users whose requests may be answered now."""
        return sum(self._answered[user] < AT_ONCE for user in self._waiting)

    def append(self, channel: Channel) -> None:
        """Let a connection's request wait, or refuse it."""
        user = channel.requests[0].headers.get(self._field, "").lower()
        waiting = self._waiting.setdefault(user, deque())
        if len(waiting) < MOST_WAITING:
            waiting.append(channel)
        else:
            channel.is_refused = True

    def popleft(self) -> "Turn":
        """Take a request of the user who has waited for a turn longest."""
        user = next(user for user in self._waiting if self._answered[user] < AT_ONCE)
        waiting = self._waiting.pop(user)
        channel = waiting.popleft()
        if waiting:
            self._waiting[user] = waiting
        self._answered[user] += 1
        return Turn(self, user, channel)

    def end(self, user: str) -> None:
        """A request of this user was answered."""
        with self._lock:
            self._answered[user] -= 1
            self._answered += Counter()  # forgets who has none


class Turn:
    """A request whose turn it is."""

    def __init__(self, turns: Turns, user: str, channel: Channel) -> None:
        self._turns, self._user, self._channel = turns, user, channel

    def service(self) -> None:
        """Answer it."""
        try:
            self._channel.service()
        finally:
            self._turns.end(self._user)

    def cancel(self) -> None:
        """Do not answer it: the server ends."""
        self._channel.cancel()


def take_turns(dispatcher: ThreadedTaskDispatcher, field: str) -> None:
    """Let the users that this header field names take turns. Call it before the first request."""
    with dispatcher.lock:
        dispatcher.queue = Turns(dispatcher.lock, field)
