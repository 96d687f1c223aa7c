"""Check a mail host itself: its services, users, limits and disks, and the users' state in the register."""

import os
import resource
import shlex
import shutil
from collections.abc import Container, Iterator, Mapping, Sequence

from spamnb.base.wording import clock, megabytes, named, option, plural
from spamnb.checkup import inotify
from spamnb.checkup.finding import Finding, fault, name_of, network_file_system, ok, owner_of, some, warning
from spamnb.checkup.installation import Installation
from spamnb.config.template import why_no_name
from spamnb.host.find_users import FoundUsers
from spamnb.host.host import Host
from spamnb.host.register import AccountRow, FilterState, files_in, read
from spamnb.host.shares import not_running, running
from spamnb.maildir.folders import FolderUnavailableError, detect_layout, find_folders
from spamnb.maildir.not_shown import not_shown

_LOOKED_AT = 200  # users whose folders are counted
_OF_FOLDER = 3  # watches: for the folder itself, for new and for cur
_OF_ACCOUNT = 6  # files that are open for an awake account
_OF_SERVICE = 256  # files beside these: sockets, connections, files being read
_NO_ROOM = 10_000_000  # bytes
_LITTLE = 20  # one part in 20 of a disk should be free
_SHOWN = 10  # users with faults to name
# Not told as a mere fault.
_TOLD_OTHERWISE = (FilterState.BROKEN, FilterState.STOPPED, FilterState.GONE, FilterState.LEFT_OUT)
OWN_STEP = "fix that line; until then the settings of all users apply"


def of_services(host: Host, here: Installation) -> Iterator[Finding]:
    """Check that a service works for each user. here: with the commands about the missing services."""
    found, step = running(host.directory), here.next
    if not found:
        yield warning("service", "not running: nothing is judged or learned now", step, here.start)
    elif missing := not_running(found):
        means = f"{some([*map(str, missing)])} not running: nobody works for the users of that share"
        yield fault("service", means, step, here.start)
    else:
        yield ok("service", f"running: {some([*map(str, found)])}")


def of_users(host: Host) -> Iterator[Finding]:
    """Check that the paths of the configuration find the existing users, and who owns the mail."""
    found, where = host.users(), str(host.mail.fixed)
    if found.users:
        yield ok("users", f"{plural(len(found.users), 'user')} with a Maildir as {host.mail.text}")
    else:
        means = f"no Maildir as {host.mail.text} belongs to {name_of(os.geteuid())}"
        yield fault("users", means, "correct `path`, or run spamnb as the owner of the mail")
    yield from _left_out(found, where)
    if hidden := len(found.strange) - len(found.may_be_meant):
        yield ok("users", f"{_directories(hidden)} below {where} with a dot before the name: these are ignored")


def _left_out(found: FoundUsers, where: str) -> Iterator[Finding]:
    """Find users that may be intended but whose mail is not filtered."""
    if found.of_others:
        means = f"{plural(found.of_others, 'Maildir')} not owned by {name_of(os.geteuid())}: not filtered"
        yield warning("users", means, "correct the owner: chown; or give each of these users a service: spamnb@USER")
    if found.links:
        means = f"{plural(found.links, 'link')} in place of users' directories: links are not followed"
        yield warning("users", means, f"if users are meant, move their mail there; all are below {where}")
    for path in found.may_be_meant[:_SHOWN]:
        means = f"{named(path)} is not filtered: {why_no_name(os.path.basename(path))} in a name"
        yield warning("users", means, "if a user is meant, give the mailbox another name; else nothing is to be done")
    if (more := len(found.may_be_meant) - _SHOWN) > 0:
        yield warning("users", f"{_directories(more)} more with such names", f"list them: ls {shlex.quote(where)}")
    if found.twice:
        means = f"{plural(found.twice, 'user')} with two Maildirs each: neither is filtered"
        yield warning("users", means, "move one of the two away")
    if found.unreadable:
        means = f"{some(found.unreadable)} cannot be read: the users there are unknown"
        yield fault("users", means, "correct the owner or the permissions, or run spamnb as the owner of the mail")


def of_not_shown(host: Host, spamnb: str) -> Iterator[Finding]:
    """Report users who have a Maildir in their Maildir that its layout does not show.

    Only the directory of each mailbox is listed: 5,000 users take 0.3 s of CPU. spamnb: how a command begins here.
    """
    names = [user.name for user in host.users().users if _has_not_shown(str(user.root), host)]
    if names:
        means = f"{plural(len(names), 'user')} with a Maildir that the layout does not show: {some(names)}"
        means += "; the mail there is not filtered"
        yield warning("users", means, f"{spamnb} {option('--user', names[0])} doctor says which it is, and what to do")


def _has_not_shown(root: str, host: Host) -> bool:
    layout = host.template.mailboxes[0].layout
    try:
        shown = detect_layout(root) if layout == "auto" else layout
    except FolderUnavailableError:  # this is a fault of that user
        return False
    return any(not_shown(root, shown, depth=1))


def of_limits(host: Host) -> Iterator[Finding]:
    """Check that this number of folders can be watched, and this number of ledgers be open."""
    found, service = host.users(), host.template.service
    if service.watch == "polling":
        yield ok("watching", f"polling, every {service.poll_seconds:g} s")
    else:
        yield from _watching(host, found)
    wanted = _OF_ACCOUNT * host.template.users.awake + _OF_SERVICE
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < wanted:
        means = f"a service may need {wanted} open files for {host.template.users.awake} users at once, and has {most}"
        yield warning("files", means, "raise LimitNOFILE= in the unit (ulimit -n in a shell), or lower users.awake")


def _watching(host: Host, found: FoundUsers) -> Iterator[Finding]:
    worse = fault if host.template.service.watch == "inotify" else warning
    if kind := network_file_system(str(host.mail.fixed)):
        means = f"{host.mail.fixed} is on {kind}, which does not report changes made elsewhere"
        yield worse("watching", means, "write `watch: polling` under `service`")
    needed, watches = len(found.directories) + _watches(host, found), inotify.limit("max_user_watches")
    if watches is not None and needed > watches:
        means = f"about {needed} directories need as many watches, and {name_of(os.geteuid())} may have {watches}"
        yield worse("watching", f"{means}: the others are only compared now and then", _sysctl("max_user_watches"))
    else:
        of = "" if watches is None else f" of {watches}"
        yield ok("watching", f"about {needed} directories need as many{of} inotify watches")
    instances, used = inotify.limit("max_user_instances"), inotify.instances_in_use()
    if instances is not None and used >= instances and not running(host.directory):
        means = f"{name_of(os.geteuid())} has {used} of {instances} inotify instances in use; each service needs one"
        yield worse("watching", means, f"{_sysctl('max_user_instances')}, or end programs that watch files")


def _watches(host: Host, found: FoundUsers) -> int:
    """Estimate the watches for the folders of all users, by a sample of users."""
    folders, looked_at = 0, found.users[:: len(found.users) // _LOOKED_AT + 1]
    for user in looked_at:
        try:
            folders += len(find_folders(str(user.root), host.template.mailboxes[0].layout))
        except FolderUnavailableError:  # this is a fault of that user
            continue
    return round(_OF_FOLDER * folders * len(found.users) / max(1, len(looked_at)))


def _sysctl(name: str) -> str:
    return f"raise the sysctl fs.inotify.{name}"


def of_disks(host: Host) -> Iterator[Finding]:
    """Check that there is room for ledgers and mail, and that others cannot read what was learned."""
    ledgers, mail = str(host.directory), str(host.mail.fixed)
    places = {path: what for what, path in (("ledgers", ledgers), ("mail", mail)) if os.path.isdir(path)}
    for path, what in places.items():
        disk = shutil.disk_usage(path)
        means = f"{path}: {megabytes(disk.free)} of {megabytes(disk.total)} free on its disk"
        if disk.free < _NO_ROOM:
            yield fault(what, f"{means}: nothing more can be learned or moved", "free some space; nothing was lost")
        elif disk.free * _LITTLE < disk.total:
            yield warning(what, f"{means}, which is little", "free some space; fewer copies take less: service.copies")
        else:
            yield ok(what, means)
    if ledgers not in places:
        return
    if kind := network_file_system(ledgers):
        means = f"{ledgers} is on {kind}, where two processes can damage a ledger"
        yield fault("ledgers", means, "set `ledger` in the configuration to a local disk, and move all ledgers there")
    if owner_of(ledgers) != os.geteuid():
        means = f"{ledgers} belongs to {name_of(owner_of(ledgers))}, but spamnb runs as {name_of(os.geteuid())}"
        yield fault("ledgers", means, "run spamnb, and its services, as the owner; or correct the owner: chown -R")
    if os.stat(ledgers).st_mode & 0o007:
        yield warning("ledgers", f"other users may look into {ledgers}", f"chmod o-rwx {shlex.quote(ledgers)}")


def of_own_settings(faulty: Mapping[str, str], spamnb: str) -> Iterator[Finding]:
    """Report the users whose own settings are faulty.

    faulty: the faults by the users' names, one per line. spamnb: how a command begins here.
    """
    for name, lines in [*faulty.items()][:_SHOWN]:
        for line in lines.splitlines():
            yield fault(f"user {name}", line, OWN_STEP)
    if (more := len(faulty) - _SHOWN) > 0:
        yield fault("users", f"{plural(more, 'more user')} with faulty own settings", f"{spamnb} config --check")


def of_register(host: Host, here: Installation, told: Container[str] = ()) -> Iterator[Finding]:
    """Check that the register exists, and report the users' state from it.

    told: users whose fault is reported elsewhere, unless their filters are broken or have stopped.
    """
    rows = read(host.directory)
    if not rows and not files_in(host.directory):
        yield warning("register", f"there is none yet in {host.directory}", "start the service, which makes it")
        return
    yield ok("register", f"{host.directory}, {plural(len(rows), 'user')}")
    known = {row.name for row in rows}
    if new := sum(user.name not in known for user in host.users().users):
        means = f"nothing is known yet of {plural(new, 'user')}"
        yield warning("users", means, "wait until the service has looked at them; see that it runs")
    if unseen := sum(row.state is FilterState.WAITING for row in rows):
        means = f"the service has not looked at the mailbox of {plural(unseen, 'user')} yet"
        yield warning("users", means, "wait: it judges their new mail as soon as it comes; see that it runs")
    yield from _in_need(rows, here.spamnb, told)


def _in_need(rows: Sequence[AccountRow], spamnb: str, told: Container[str]) -> Iterator[Finding]:
    """Report users that need attention. spamnb: how a command begins here. told: as in `of_register`."""
    if gone := sum(row.state is FilterState.GONE for row in rows):
        means = f"the mailbox of {plural(gone, 'user')} is gone, but the ledger stays"
        yield warning("users", means, f"for those who do not come back: {spamnb} users forget NAME")
    worst = [row for row in rows if row.state in (FilterState.BROKEN, FilterState.STOPPED)]
    others = [row for row in rows if row.fault and row.name not in told and row.state not in _TOLD_OTHERWISE]
    for state, row in [*((fault, row) for row in worst), *((warning, row) for row in others)][:_SHOWN]:
        since = "" if row.fault_since is None else f", since {clock(row.fault_since)}"
        means = f"{row.fault}{since}" if row.fault else "moving has stopped: too much mail looked like spam"
        yield state(f"user {row.name}", means, f"{spamnb} {option('--user', row.name)} doctor")
    if (more := len(worst) + len(others) - _SHOWN) > 0:
        yield warning("users", f"{plural(more, 'more user')} with a problem", f"{spamnb} users --all")


def _directories(number: int) -> str:
    return "1 directory" if number == 1 else f"{number} directories"
