"""The units that keep an account and its Maildir in step: a timer for mbsync, and goimapnotify if it is installed.

goimapnotify notices new mail at once, but not the filter's moves. So the timer stays, and is slower.
"""

import json
import shlex
from pathlib import Path

from spamnb.setup.isync import CHANNEL, Account
from spamnb.setup.units import as_word

SERVICE, TIMER, LISTENER = "mbsync.service", "mbsync.timer", "imapnotify.service"
_MINUTES, _MINUTES_BESIDE_LISTENER = 2, 10
_SECONDS_TO_JUDGE = 15  # after new mail arrives, before the filter's moves are carried back

_SERVICE = """\
[Unit]
Description=Fetch mail, and carry moves back (mbsync)

[Service]
Type=oneshot
ExecStart={mbsync} --quiet --config {rc} {channel}
TimeoutStartSec=1h
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


def of_timer(mbsync: str, rc: Path, *, has_listener: bool) -> dict[str, str]:
    """Return the service that calls mbsync once, and its timer, by their names."""
    minutes = _MINUTES_BESIDE_LISTENER if has_listener else _MINUTES
    service = _SERVICE.format(mbsync=as_word(mbsync), rc=as_word(str(rc)), channel=CHANNEL)
    return {SERVICE: service, TIMER: _TIMER.format(minutes=minutes)}


def of_listener(goimapnotify: str, conf: Path) -> dict[str, str]:
    """Return the service that listens, by its name."""
    return {LISTENER: _LISTENER.format(goimapnotify=as_word(goimapnotify), conf=as_word(str(conf)))}


def listener_conf(account: Account, pass_command: str) -> str:
    """Return goimapnotify's configuration: fetch new mail, and after its judgement carry the moves back."""
    fetch = shlex.join(["systemctl", "--user", "start", SERVICE])
    values = {
        "host": account.host,
        "port": account.port,
        "tls": True,
        "tlsOptions": {"rejectUnauthorized": True},
        "username": account.user,
        "passwordCmd": pass_command,
        "onNewMail": fetch,
        "onNewMailPost": f"sleep {_SECONDS_TO_JUDGE} && {fetch}",
        "boxes": ["INBOX"],
    }
    return json.dumps(values, indent=2) + "\n"
