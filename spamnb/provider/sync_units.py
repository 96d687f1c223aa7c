"""The units that keep an account and its Maildir in step: mbsync, what starts it, and goimapnotify if it is installed.

mbsync runs by a timer, and as soon as there is a file. The filter makes the file after a move, and goimapnotify makes
it when new mail comes. The unit removes the file, and then calls mbsync. So a file that comes while mbsync runs leads
to one more run. Only `PathExists=` does that: `systemctl start` does nothing while the unit starts, and `PathChanged=`
does not see what happens while the unit works.

goimapnotify notices new mail, but no moves on a phone. So the timer stays, and is slower.
"""

import json
import shlex
from pathlib import Path

from spamnb.provider.isync import CHANNEL, ImapAccount
from spamnb.setup.units import as_word

SERVICE, TIMER, MOVES, LISTENER = "mbsync.service", "mbsync.timer", "mbsync.path", "imapnotify.service"
WANTED = "mbsync-wanted"  # the name of the file
_MINUTES, _MINUTES_BESIDE_LISTENER = 2, 10

# The pause lets a burst of moves lead to few runs, and keeps a file that cannot be removed from starting many.
_SERVICE = """\
[Unit]
Description=Fetch mail, and carry moves back (mbsync)
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStartPre=rm -f {wanted}
ExecStart={mbsync} {quiet} --config {rc} {channel}
ExecStopPost=sleep 1
TimeoutStartSec=1h
"""
_MOVES = """\
[Unit]
Description=Carry moves back at once (mbsync)

[Path]
PathExists={wanted}

[Install]
WantedBy=paths.target
"""
_TIMER = """\
[Unit]
Description=Fetch mail, and carry moves back (mbsync)

[Timer]
OnStartupSec=1min
OnUnitInactiveSec={minutes}min

[Install]
WantedBy=timers.target
"""
_LISTENER = """\
[Unit]
Description=Listen for new mail (goimapnotify)

[Service]
ExecStart={goimapnotify} -conf {conf}
Restart=always
RestartSec=30

[Install]
WantedBy=default.target
"""


def of_mbsync(account: ImapAccount, mbsync: str, rc: Path, wanted: Path, *, has_listener: bool) -> dict[str, str]:
    """Return the service that calls mbsync once, and the units that start it, by their names. wanted: see above."""
    minutes = _MINUTES_BESIDE_LISTENER if has_listener else _MINUTES
    # Given twice, it leaves out warnings too: about a missing TLS at each run.
    quiet = "--quiet --quiet" if account.is_here else "--quiet"
    words = {"mbsync": as_word(mbsync), "rc": as_word(str(rc)), "wanted": as_word(str(wanted))}
    return {
        SERVICE: _SERVICE.format(channel=CHANNEL, quiet=quiet, **words),
        TIMER: _TIMER.format(minutes=minutes),
        MOVES: _MOVES.format(wanted=str(wanted).replace("%", "%%")),
    }


def of_listener(goimapnotify: str, conf: Path) -> dict[str, str]:
    """Return the service that listens, by its name."""
    return {LISTENER: _LISTENER.format(goimapnotify=as_word(goimapnotify), conf=as_word(str(conf)))}


def listener_conf(account: ImapAccount, pass_command: str, wanted: Path) -> str:
    """Return goimapnotify's configuration: new mail is fetched at once."""
    values = {
        "host": account.host,
        "port": account.port,
        "tls": not account.is_here,
        "tlsOptions": {"rejectUnauthorized": True},
        "username": account.user,
        "passwordCmd": pass_command,
        "onNewMail": shlex.join(["touch", str(wanted)]),
        "boxes": ["INBOX"],
    }
    return json.dumps(values, indent=2) + "\n"
