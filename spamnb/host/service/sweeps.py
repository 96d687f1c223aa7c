"""Whether the folders of a mail host's users have changed unseen, and which users to look after.

*Whose folders have changed* shows in the folders' times, every few minutes: no ledger is opened for it. The times of
all `new` and `cur` of a mailbox make one number, its stamp. If the stamp has changed since the last sleep, and no hint
came, an event was lost, or this disk sends none. So the folders are compared. At a start it is the same: the register
has the stamps, so only changed folders are compared. If a user's own settings have changed, the folders are compared
too, so that a fault in the settings is told before mail comes.

A stamp that is taken when an account goes to sleep may be later than an event that we have not read yet. A kill at that
moment would hide the event for a day. So the watcher is asked a moment later. The stamp counts when the watcher has
reported everything until then, and no hint was about this account. Without events, as on a network file system,
the stamp that counts is the one from before the last comparison.

Each account is *looked after* once per day, at a time of day that follows from its name: its ledger is examined, its
folders are compared, kept mail is learned, long-gone mail is forgotten, and a copy is made. Soon after the first
lessons this is done once more, since there is no copy yet.
"""

import hashlib
import math
import os
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from spamnb.base.errors import MaildirError
from spamnb.config import Config
from spamnb.host.register import AccountRow
from spamnb.host.service.host_users import HostUser
from spamnb.maildir.folders import Directory, find_directories
from spamnb.service.account import Account, ServiceTools, Want
from spamnb.service.context import DAY
from spamnb.service.scheduler import Scheduler

TICK_SECONDS = 2.0  # changes within one tick of a file system's clock may leave the same times
_SLICE = 50  # accounts whose stamps are looked at in one go: a few milliseconds
_PAUSE = 1000  # directories of one account that are looked at in one go: as long
_COPY_SECONDS = 3600.0  # until a first copy that could not be made is tried again
_Result = TypeVar("_Result")


def stamp_of(directories: Iterable[Directory]) -> Generator[None, None, tuple[int, int]]:
    """Return one number for the times of all `new` and `cur` among these directories, and the latest time in ns.

    The number is a signed 64-bit integer, as in SQLite. The generator pauses after each `_PAUSE` directories.
    """
    paths, digest, latest = list[str](), hashlib.blake2b(digest_size=8), 0
    for number, directory in enumerate(directories, 1):
        if directory.subdir:
            paths.append(directory.path)
        if number % _PAUSE == 0:
            yield
    for number, path in enumerate(sorted(paths), 1):
        try:
            changed = os.lstat(path).st_mtime_ns
        except OSError:
            changed = 0
        digest.update(f"{path}\0{changed}\0".encode(errors="surrogateescape"))
        latest = max(latest, changed)
        if number % _PAUSE == 0:
            yield
    return int.from_bytes(digest.digest(), signed=True), latest


class Sweeps:
    """Looks at the stamps of users, one slice at a time; requests comparisons, and looking after, for those in need.

    lost: called when hints were lost, and users may have come or gone unseen. has_new_settings: whether to read a
    user's own settings again.
    """

    def __init__(
        self,
        tools: ServiceTools,
        scheduler: Scheduler,
        users: Mapping[str, HostUser],
        template: Config,
        lost: Callable[[], None],
        has_new_settings: Callable[[HostUser], bool],
    ) -> None:
        self._tools, self._scheduler, self._users, self._template, self._lost = tools, scheduler, users, template, lost
        self._has_new_settings = has_new_settings
        self._sweep: Iterator[None] | None = None
        self._is_lost = False  # hints were lost, and not all accounts have been looked at since
        self._at = self._poll_at = math.inf

    def plan(self) -> None:
        """Look at all users when the configured time has passed, and at polled users when theirs has."""
        running, service = self._tools.running(), self._template.service
        self._at, self._poll_at = running + service.reconcile_seconds, running + service.poll_seconds

    def due_in(self) -> float:
        """Return the seconds until there is something to look at."""
        if self._sweep is not None or (self._tools.watcher.overflowed and not self._is_lost):
            return 0.0
        polls = [self._poll_at] if self._tools.watcher.polling else []
        return max(0.0, min([self._at, *polls]) - self._tools.running())

    def go_on(self) -> None:
        """Look at the stamps of some accounts, if that is due: of all accounts, or of the polled ones."""
        running, watcher = self._tools.running(), self._tools.watcher
        if watcher.overflowed and not self._is_lost:  # else all are looked at once more after this time
            watcher.overflowed, self._is_lost = False, True
            self._lost()
            self._sweep = self._looks([*self._users.values()], is_lost=True)
        elif self._sweep is None and running >= self._at:
            self._sweep = self._looks([*self._users.values()])
            self.plan()
        elif self._sweep is None and running >= self._poll_at:
            polled = [each for each in self._users.values() if not watcher.is_watched(each.account.roots[0])]
            self._sweep = self._looks(polled)
            self._poll_at = running + self._template.service.poll_seconds
        if self._sweep is not None and next(self._sweep, self) is self:
            self._sweep, self._is_lost = None, False

    def _looks(self, some: Sequence[HostUser], *, is_lost: bool = False) -> Iterator[None]:
        """Look at accounts, with a pause after each slice. is_lost: hints were lost, also of awake accounts."""
        for start in range(0, len(some), _SLICE):
            for user in some[start : start + _SLICE]:
                if self._users.get(user.account.name) is user:
                    yield from self._look(user, is_lost=is_lost)
            yield

    def _look(self, user: HostUser, *, is_lost: bool) -> Iterator[None]:
        account = user.account
        if account.is_put_off:
            return
        if account.is_awake or Want.TURN in account.wants or user.slept is not None:
            has_changed = is_lost
        else:
            has_changed, _ = yield from self._look_for_changes(user, is_lost=is_lost)
            if self._users.get(account.name) is not user or account.is_put_off:  # since a pause
                return
        if has_changed:
            self._scheduler.compare(account)
        if self._is_daily_look_due(user):
            self._scheduler.daily_look(account)

    def _is_daily_look_due(self, user: HostUser) -> bool:
        """Whether the account's daily time, which follows from its name, has passed since it was last looked after.

        It is also due soon after the first lessons, as there is no copy yet.
        """
        if self._is_first_copy_due(user.row):
            return True
        now, of_day = self._tools.now(), zlib.crc32(user.account.name.encode()) % DAY
        last = now - (now - of_day) % DAY
        return not last <= (user.row.looked_after_at or 0.0) <= now  # the clock may have been set back

    def _is_first_copy_due(self, row: AccountRow) -> bool:
        """Whether a user has learned something, and there is no copy at all."""
        looked_at, now = row.looked_after_at or 0.0, self._tools.now()
        if not self._template.service.copies or row.copied_at is not None or not (row.ham or row.spam):
            return False
        return row.uncopied_since is not None and (looked_at < row.uncopied_since or now - looked_at > _COPY_SECONDS)

    def has_changed(self, user: HostUser) -> tuple[bool, int]:
        """Whether folders or own settings may have changed since they were looked at, and the folders' latest time."""
        return _at_once(self._look_for_changes(user))

    def _look_for_changes(self, user: HostUser, *, is_lost: bool = False) -> Generator[None, None, tuple[bool, int]]:
        """See `has_changed`. is_lost: the lost hints may have reported a new directory."""
        began = self._tools.now()  # a change in a pause may have been compared in it, or not
        stamp, latest = yield from self._stamp_of(user.account, is_lost=is_lost)
        is_lasting = began - latest / 1e9 > TICK_SECONDS  # any later change makes a new stamp
        user.looked = stamp if is_lasting else None
        return stamp is None or stamp != user.stamp or self._has_new_settings(user), latest

    def _stamp_of(self, account: Account, *, is_lost: bool = False) -> Generator[None, None, tuple[int | None, int]]:
        """Return the stamp of the watched directories, or else of those on the disk, and the latest time.

        The stamp is None if it is unknown.
        """
        watched = [] if is_lost else self._tools.watcher.directories(account.roots[0])
        try:
            return (yield from stamp_of(watched or self.find_directories(account)))
        except MaildirError:  # too many open files
            return None, 0

    def find_directories(self, account: Account) -> Iterator[Directory]:
        """Return the directories of an account on the disk."""
        return find_directories(account.roots[0], self._template.mailboxes[0].layout)

    def take_stamp(self, user: HostUser) -> None:
        """Take the stamp of an account that is about to sleep."""
        user.slept = user.asked = None
        if Want.COMPARE in user.account.wants:
            return  # the old stamp stays
        if user.account.is_kept_from_mail:
            user.stamp = user.looked = None  # then the next sweep compares its folders again
            return
        if self._tools.watcher.is_watched(user.root):
            stamp, _ = _at_once(self._stamp_of(user.account))
            user.slept = None if stamp is None else (stamp, self._tools.running())
        elif user.looked is not None:
            user.stamp = user.looked

    def confirm_stamps(self) -> bool:
        """Make the stamps of sleeping accounts count for which it is time. Returns False to be called again later."""
        waiting = [user for user in self._users.values() if user.slept is not None and not self._confirm(user)]
        return not waiting

    def _confirm(self, user: HostUser) -> bool:
        account, watcher = user.account, self._tools.watcher
        if user.slept is None or account.is_awake or account.wants & {Want.TURN, Want.COMPARE}:
            return True
        stamp, at = user.slept
        is_told = user.asked is not None and watcher.told >= user.asked
        if is_told and not (self._is_lost or watcher.overflowed):
            user.stamp, user.slept = stamp, None
            return True
        if user.asked is None and self._tools.running() - at >= TICK_SECONDS:
            user.asked = watcher.ask()
        return False


def _at_once(steps: Generator[None, None, _Result]) -> _Result:
    """What comes of some steps, without a pause between them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result
