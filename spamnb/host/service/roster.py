"""The users of a mail host: who comes and goes.

*Who is there* is listed at the start and every few minutes. It is also listed half a second after a change in a
directory that may hold users. A new Maildir is recorded, and its mail is never moved. If a Maildir goes, its ledger
stays. If a directory cannot be listed, nobody below it counts as gone. A Maildir that is being filled, for example by
`doveadm sync`, is recorded after ten seconds of silence: mail copied into it is not new mail.

A command may ask the service to *let go* of a user's ledger, since it deletes the ledger (`host.forgetting`).

`sweeps` finds out *whose folders have changed unseen*, and for whom the daily look is due. `host_users`
keeps the state of each user, and writes it into the register.
"""

import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path

from spamnb.base.errors import LedgerError, MaildirError, RegisterError, SpamnbError
from spamnb.base.wording import plural
from spamnb.config import Config
from spamnb.host.find_users import FoundUsers, User
from spamnb.host.host import Host
from spamnb.host.own_settings import changed_at, in_one_line
from spamnb.host.register import AccountRow, FilterState, remove_of_other_shares
from spamnb.host.service.host_users import HostUser, HostUsers, metrics_of_share
from spamnb.host.service.sweeps import TICK_SECONDS, Sweeps
from spamnb.host.shares import Share
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.locks import last_claimed
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Directory
from spamnb.service.account import Account, ServiceTools, SharingUser, Wait
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.inotify import CannotWatchError
from spamnb.service.jobs import DailyCopies, Forgetting, OutdatedLessons, ServiceJob
from spamnb.service.letters import Letters
from spamnb.service.log import LogOnce, about
from spamnb.service.reading_now import Interrupted, remember
from spamnb.service.scheduler import Scheduler
from spamnb.service.served import Due
from spamnb.service.watcher import Hint

_log = logging.getLogger(__name__)
_NOT_HERE = (FilterState.GONE, FilterState.LEFT_OUT)
_PLACES = ""  # the root of hints that somebody may have come or gone
_BUSY_SECONDS = 0.2  # to wait if another process holds a ledger or the register: all accounts wait
_CACHE = 1_000  # KB of a ledger's pages; a host has many open at once
_IDLE_SECONDS = 60.0  # without work, after which an account sleeps
_NOTED_SECONDS = 30.0  # after which the state of those who are awake is noted again: 64 of them take 30 ms
_SOON_SECONDS = 0.5
_RETRY_SECONDS = 10.0
_LONGEST_RETRY = 600.0


class Roster:
    """The users of a mail host in the share of this service. scheduler: gives their accounts turns.

    faults: makes the LogOnce of one account. Raises RegisterError if the register may not be read.
    """

    def __init__(self, host: Host, tools: ServiceTools, faults: Callable[[], LogOnce]) -> None:
        self._host = host
        self._share = host.share or Share()
        self._requests = str(host.requests)
        self._faults_of = faults
        self._faults = LogOnce(_log, logging.ERROR)
        self._list_at = math.inf
        self._awake_at = -math.inf
        self._places: list[str] = []
        self._tools = replace(
            tools,
            alive=lambda status: self._alive(tools, status),
            open_ledger=partial(Ledger, busy_seconds=_BUSY_SECONDS, cache=_CACHE),
            longest_retry=_LONGEST_RETRY,
            is_strict=True,  # then the account rests
            most_awake=host.template.users.awake,
            idle_seconds=_IDLE_SECONDS,
            has_others=True,
        )
        self.scheduler = Scheduler(
            self._tools,
            self._strange,
            lambda account: self._has_new_settings(self._users[account.name]),
            self._changed,
            lambda account: self._users.note_daily_look(self._users[account.name]),
        )
        self._users = HostUsers(host.directory, self._share, self._tools)
        self._sweeps = Sweeps(
            self._tools, self.scheduler, self._users, host.template, self._list_soon, self._has_new_settings
        )
        self._metrics = metrics_of_share(
            host.template,
            self._users.rows,
            lambda: self._users.measured(self.scheduler.awake()),
            "" if self._share.of == 1 else str(self._share),
            tools.measurements,
        )

    def open(self, _: Wait) -> None:
        """Find out what the last process was reading when it ended."""
        reading = self._tools.reading
        reading.open(str(self._share.claim(self._host.directory)))
        for name in [name for name in reading.left if not self._share.owns(name)]:
            self._remember_for_another(name, reading.left.pop(name))

    def _alive(self, tools: ServiceTools, status: str) -> None:
        tools.alive(status)
        self.scheduler.give_turns()

    def _remember_for_another(self, name: str, interrupted: list[Interrupted]) -> None:
        """Record messages that were read for a user of another share, whose mail server asked us."""
        if self._host.find(name) is None:
            return
        try:
            with Ledger(str(self._host.ledger_of(name)), busy_seconds=_BUSY_SECONDS) as ledger:
                remember(ledger, interrupted)
        except LedgerError as fault:
            with about(name):
                _log.warning("the message that ended the service is not recorded: %s", fault)

    def _config_of(self, seen: User) -> Config:
        """Return the current configuration of a user."""
        user = self._users[seen.name]
        user.own_read_at = self._tools.now()
        user.config, fault = self._host.config_of(seen, user.config)
        self._users.note_own_fault(user, in_one_line(fault) if fault else "")
        return user.config

    def _has_new_settings(self, user: HostUser) -> bool:
        """Whether a user's own settings have changed since they were read, or faulty ones were removed."""
        changed = changed_at(self._host, user.account.name)
        return changed > user.own_read_at - TICK_SECONDS or (not changed and user.own_fault != "")

    def _jobs(self, awake: AwakeAccount, record: EndRecord) -> Sequence[ServiceJob]:
        """Return the jobs for looking after an account; made at each waking."""
        context = awake.context
        user = self._users[context.config.user]
        user.counted = user.counted or context.ledger.tallies.counted_up_to(self._tools.now())
        return (
            DailyCopies(context, lambda: self._tools.alive("copying a ledger"), record, only_changed=True),
            Forgetting(context.ledger, context.config.retention_days, awake.present),
            OutdatedLessons(context),
            Letters(awake),
        )

    # --- who is there

    def watch(self) -> str:
        """Watch all users, and compare those whose folders have changed, the one who waits longest first."""
        self._sweeps.plan()
        if (found := self._find_users()) is not None:
            self._come(self._ours(found))
            self._miss([*self._users.absent.values()], found)
            self._watch_places(found)
        self._write_rows()  # so that all users are known at once
        with suppress(RegisterError):  # the next start tries it again
            remove_of_other_shares(self._host.directory, self._share)
        self._watch_requests()
        share = "" if self._share.of == 1 else f" of the share {self._share}"
        return f"{plural(len(self._users), 'user')}{share}"

    def _find_users(self) -> FoundUsers | None:
        """Return who is there; None if that is unknown for now. Plans when to ask again."""
        service = self._host.template.service
        try:
            found = self._host.users()
        except MaildirError as fault:
            self._faults.log("users", str(fault))
            self._list_at = self._tools.running() + min(_RETRY_SECONDS, service.reconcile_seconds)
            return None
        if self._faults.clear("users"):
            _log.info("the users can be found again")
        self._list_at = self._tools.running() + service.reconcile_seconds
        return found

    def _come(self, users: Iterable[User]) -> None:
        """Add users, and compare those whose folders have changed since the last time, the one who waits longest first.

        A service that is killed again and again reaches only a few users each time. So whoever was awake since the
        change waits behind the others: the same few would be the first at each start.
        """
        changed = []
        for seen in users:
            user = self._add(seen)
            # A polled user may have very many folders; the sweep looks at them some seconds later, and gives turns.
            has_changed, latest = (False, 0) if self._users.is_polled(user) else self._sweeps.has_changed(user)
            if has_changed or seen.name in self._tools.reading.left:
                claimed_at = last_claimed(str(self._host.ledger_of(seen.name)))
                changed.append((claimed_at > latest, latest, user.account))
        for *_, account in sorted(changed, key=itemgetter(0, 1)):
            self.scheduler.compare(account)

    def _miss(self, rows: Sequence[AccountRow], found: FoundUsers) -> None:
        """Record which users of the register are gone; if something of a user is left, find out what is wrong."""
        if rows and not found.users:
            step = "mount its disk if it is not mounted"
            self._faults.log("users", f"no users are left in {found.directories[0]}: {step}")
            return
        left = []
        for row in rows:
            if self._is_gone(row, found):
                self._put_gone(row)
            elif row.state not in _NOT_HERE:
                left.append(User(row.name, Path(row.root)))
        self._come(left)
        for seen in left:
            self.scheduler.compare(self._users[seen.name].account)

    def _ours(self, found: FoundUsers) -> Iterator[User]:
        return (seen for seen in found.users if self._share.owns(seen.name))

    def _add(self, seen: User) -> HostUser:
        """Add a user who is there: watched, and asleep."""
        row = self._users.absent.pop(seen.name, None)
        now = self._tools.now()
        row = row or AccountRow(seen.name, str(seen.root), FilterState.WAITING, new_since=now, looked_after_at=now)
        if row.state in _NOT_HERE:
            row = replace(row, state=FilterState.WAITING, new_since=now, gone_at=None)
        read = partial(self._config_of, seen)
        check = partial(self._host.check_root, seen)
        account = Account(seen.name, [str(seen.root)], read, self._jobs, self._faults_of(), check)
        self._users[seen.name] = user = HostUser(account, row, _device(seen.root))
        user.new_since = row.new_since
        user.own_read_at = row.looked_after_at or 0.0
        self.scheduler.add(account)
        with suppress(SpamnbError):  # such as too many open files: the next comparison meets and reports the same
            check()
            self._tools.watcher.watch(str(seen.root), self._sweeps.find_directories(account))
        user.row = replace(row, polled=self._users.is_polled(user))
        self._users.plan_to_write()
        return user

    def _watch_places(self, found: FoundUsers) -> None:
        """Watch the directories where users may come or go. Links above all users are the administrator's."""
        fixed, *others = found.directories
        watched = [os.path.realpath(fixed), *others]
        if watched != self._places:  # nobody has reported the users who came before a directory was watched
            self._places = watched
            self._list_soon()
        try:
            self._tools.watcher.watch(_PLACES, map(Directory, watched), is_limited=False)
        except CannotWatchError as fault:
            self._faults.log(_PLACES, str(fault))

    def _watch_requests(self) -> None:
        """Watch the directory of the commands' requests, and see to those that are there already."""
        with suppress(OSError):  # then a command waits until the account sleeps
            os.makedirs(self._requests, mode=0o700, exist_ok=True)
        with suppress(CannotWatchError):  # the mailboxes tell it
            self._tools.watcher.watch(self._requests, [Directory(self._requests)])
        self._see_to_requests()

    def _see_to_requests(self) -> None:
        """Let go of the ledgers that commands ask for, and look at those that commands have changed."""
        with suppress(OSError):
            for request in [*os.scandir(self._requests)]:
                name = request.name.removesuffix(".")
                if not self._share.owns(name):
                    continue
                user = self._users.get(name)
                if name != request.name:
                    if user is not None:
                        self._compare_unless_put_off(user.account)
                else:
                    if user is not None:
                        self.scheduler.let_go(user.account)
                        self._users.begin_anew(user)
                    self._users.absent.pop(name, None)
                    self._write_rows()
                os.rmdir(request)

    def _strange(self, hint: Hint) -> None:
        """Take a hint that belongs to no mailbox."""
        if hint.root == _PLACES:
            self._list_soon()
        elif hint.root == self._requests:
            self._see_to_requests()

    def _list_soon(self) -> None:
        self._list_at = min(self._list_at, self._tools.running() + _SOON_SECONDS)

    def _list(self) -> None:
        """Find out who has come and who has gone."""
        if (found := self._find_users()) is None:
            return
        there = {seen.name: seen for seen in self._ours(found)}
        before = {*self._users}
        for name, user in [*self._users.items()]:
            if name not in there and not self._is_gone(user.row, found, user.device):
                user.is_away = True
                self._compare_unless_put_off(user.account)
            elif name not in there or str(there[name].root) != user.root:
                self._remove(name)
            elif user.is_away:  # its next try may be minutes away
                user.is_away = False
                self.scheduler.compare(user.account)
        new = [there[name] for name in sorted(there.keys() - self._users.keys())]
        self._come(new)
        for seen in new:
            if (user := self._users[seen.name]).stamp is None:  # else a disk was mounted late
                with about(seen.name):
                    _log.info("watching %s", seen.root)
                user.new_since = None
                self.scheduler.wait_until_filled(user.account)
        if before != self._users.keys():
            self._write_rows()  # who has come or gone is known at once
        self._watch_places(found)

    def _is_gone(self, row: AccountRow, found: FoundUsers, device: int | None = None) -> bool:
        """Whether a user who was not found is really gone.

        This is unknown below a directory that cannot be listed, or if the disk of the Maildir is not mounted. A Maildir
        that is incomplete, or behind a link, is there. device: of the Maildir; None if unknown.
        """
        if not self._host.may_have(User(row.name, Path(row.root))):
            return True
        if os.path.lexists(row.root) or any(row.root.startswith(f"{each}/") for each in found.unreadable):
            return False
        above = filter(None, map(_device, Path(row.root).parents))  # of the nearest directory that exists
        return device in (None, next(above))

    def _remove(self, name: str) -> None:
        user = self._users[name]
        self.scheduler.remove(user.account)
        self._tools.watcher.unwatch(user.root)
        del self._users[name]
        with about(name):
            _log.info("%s is gone; the ledger stays", user.root)
        self._put_gone(user.row)

    def _compare_unless_put_off(self, account: Account) -> None:
        if not account.is_put_off:  # else it is tried again at its time
            self.scheduler.compare(account)

    def _put_gone(self, row: AccountRow) -> None:
        """Record that a user is gone, or left out. Forget a user without a ledger's directory, as after a renaming."""
        is_left_out = self._host.template.users.leaves_out(row.name)
        state = FilterState.LEFT_OUT if is_left_out else FilterState.GONE
        if not os.path.lexists(self._host.ledger_of(row.name).parent):
            self._users.absent.pop(row.name, None)
        elif row.state is not state:
            self._users.absent[row.name] = replace(
                row,
                state=state,
                gone_at=None if is_left_out else self._tools.now(),
                fault="",
                fault_since=None,
                stamp=None,
                polled=False,
            )
        self._users.plan_to_write()

    # --- the loop

    @property
    def loop(self) -> Sequence[Due]:
        """First who is there, then their accounts."""
        return self, self.scheduler

    def work(self) -> None:
        """Do the due work beside the accounts."""
        running = self._tools.running()
        if running >= self._list_at:
            self._list()
        if not self._tools.watcher.is_watched(self._requests):
            self._see_to_requests()
        self._sweeps.go_on()
        if running >= self._awake_at:
            self._note_awake()
        if running >= self._users.due_at:
            self._write_rows()
        self._metrics.step_if_due(self._tools.now())

    def due_in(self) -> float:
        """Return the seconds until `work` has something to do, if nothing is told before."""
        awake_at = self._awake_at if self.scheduler.awake() else math.inf
        ours = min(self._list_at, self._users.due_at, awake_at) - self._tools.running()
        return max(0.0, min(ours, self._sweeps.due_in(), self._metrics.due_in(self._tools.now())))

    def _note_awake(self) -> None:
        """Note the state of those who are awake: in a flood nobody sleeps for minutes."""
        self._awake_at = self._tools.running() + _NOTED_SECONDS
        for account in self.scheduler.awake():
            with suppress(LedgerError):  # its next work meets and reports the same
                self._users.note_change(self._users[account.name])

    def sharing(self) -> Sequence[SharingUser]:
        """All users of the share."""
        return [self._sharing(user) for user in [*self._users.values()]]

    def _sharing(self, user: HostUser) -> SharingUser:
        name = user.account.name
        user.sharing = user.sharing or SharingUser(name, str(self._host.ledger_of(name)), name)
        return user.sharing

    def forget(self, user: SharingUser) -> None:
        """Remove the ledger of a user, if the user is still ours, and begin a new one."""
        if (ours := self._users.get(user.name)) is not None:
            self.scheduler.forget(ours.account, user.ledger)
            self._users.begin_anew(ours)

    def once(self, wait: Wait) -> None:
        """Do everything that is due now, for one user after the other. Raises SpamnbError if a part of it fails."""
        self.open(wait)
        failed = 0
        for seen in self._ours(self._host.users()):
            user = self._add(seen)
            with about(seen.name):
                try:
                    user.account.once(self._tools, wait)
                    self._changed(user.account)
                    fault = user.account.sleep()
                except SpamnbError as reason:
                    fault = user.account.sleep(reason)
                if fault is not None:
                    failed += 1
                    _log.error("%s", fault)
        self._write_rows()
        if failed:
            raise SpamnbError(f"{plural(failed, 'user')} failed: the lines above say why")

    def close(self) -> None:
        """Release all accounts."""
        self.scheduler.close()
        self._write_rows()

    # --- the state of an account

    def _changed(self, account: Account) -> None:
        """Note that an account is about to sleep, or has a fault."""
        user = self._users[account.name]
        if account.is_awake:
            self._sweeps.take_stamp(user)
        else:
            user.stamp = user.slept = user.looked = None
        self._users.note_change(user)

    def _write_rows(self) -> None:
        """Write the register, and once more later if a stamp does not count yet."""
        is_confirmed = self._sweeps.confirm_stamps()
        self._users.write()
        if not is_confirmed:
            self._users.plan_to_write()


def _device(path: str | Path) -> int | None:
    """Return the disk that a directory is on; None if it does not exist."""
    try:
        return os.lstat(path).st_dev
    except OSError:
        return None
