"""Whose request is answered next, if the pages of all users of a mail host have more requests than threads.

waitress answers in the order in which requests come. So a user who sends a hundred costly requests at once keeps all
others waiting, for as long as these take. Here the users take turns, each with a part of the threads, and a user for
whom too many requests wait gets no answer to more. To judge a message that a user tries may take a second, so this is
done for one message of a user at a time. The last free thread judges none, and is for users who have no other thread.
"""

import threading
from collections import Counter, OrderedDict, deque

from waitress.task import ThreadedTaskDispatcher  # type: ignore[import-untyped]  # it has no types

from spamnb.web.connections import Channel

AT_ONCE = 2  # requests of one user that are answered at the same time
MOST_WAITING = 32  # requests of one user that wait; a browser that opens ten pages has fewer


class Turns:
    """The waiting requests, in the place of waitress's own queue. lock: the dispatcher's, which holds it at each call.

    field: the name of the header field that names the user. threads: how many requests are answered at the same time.
    """

    def __init__(self, lock: threading.Lock, field: str, threads: int) -> None:
        self._lock = lock
        self._threads = threads
        self._field = field.upper().replace("-", "_")
        self._waiting: OrderedDict[str, deque[Channel]] = OrderedDict()  # by user; who had a turn goes to the end
        self._answered: Counter[str] = Counter()
        self._trying: set[str] = set()  # users for whom a message is judged

    def __len__(self) -> int:
        """The number of users of whom a request may be answered now."""
        return sum(self._next_of(user) is not None for user in self._waiting)

    def _next_of(self, user: str) -> Channel | None:
        """Return the request of a waiting user that may be answered now, or None."""
        is_last = self._answered.total() >= self._threads - 1
        if self._answered[user] >= (1 if is_last else AT_ONCE):
            return None
        may_try = user not in self._trying and not is_last
        return next((channel for channel in self._waiting[user] if may_try or not _tries(channel)), None)

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
        user, channel = next((user, channel) for user in self._waiting if (channel := self._next_of(user)) is not None)
        waiting = self._waiting.pop(user)
        waiting.remove(channel)
        if waiting:
            self._waiting[user] = waiting
        self._answered[user] += 1
        if _tries(channel):
            self._trying.add(user)
        return Turn(self, user, channel)

    def end(self, user: str, *, tried: bool) -> None:
        """A request of this user was answered."""
        with self._lock:
            self._answered[user] -= 1
            self._answered += Counter()  # forgets who has none
            if tried:
                self._trying.discard(user)


class Turn:
    """A request whose turn it is."""

    def __init__(self, turns: Turns, user: str, channel: Channel) -> None:
        self._turns, self._user, self._channel, self._tries = turns, user, channel, _tries(channel)

    def service(self) -> None:
        """Answer it."""
        try:
            self._channel.service()
        finally:
            self._turns.end(self._user, tried=self._tries)

    def cancel(self) -> None:
        """Do not answer it: the server ends."""
        self._channel.cancel()


def _tries(channel: Channel) -> bool:
    """Return whether a connection's request is a message that somebody tries (`pages.try_message`)."""
    request = channel.requests[0]
    return bool(request.command == "POST" and request.path.endswith("/try"))


def take_turns(dispatcher: ThreadedTaskDispatcher, field: str, threads: int) -> None:
    """Let the users that this header field names take turns. Call it before the first request."""
    with dispatcher.lock:
        dispatcher.queue = Turns(dispatcher.lock, field, threads)
