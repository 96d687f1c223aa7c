"""Measure how long spam of an account at a provider stays in the provider's inbox, in all and by its two legs.

A Debian is booted, with a provider (Dovecot, over TLS) and a person who has called `spamnb init --imap`: so mbsync, the
units of systemd and the sandbox are those of a user. Spam is delivered at the provider, one message after the other.
goimapnotify is no package of Debian 12: a session with IDLE takes its place, and makes the same file when it hears of
mail. Without a listener, new mail waits for the timer: two minutes at most, and one on average.

    fetched       from the delivery at the provider until the message was fetched, judged and moved to Junk here
    carried back  from then on until it is in Junk at the provider

--delay: all takes this number of milliseconds on its way, so an answer of the provider takes twice as long.
--folders: the account has this number of further folders, which mbsync asks for at each run.

    python benchmarks/provider.py [--messages 100] [--pause 3] [--delay 25] [--folders 20] [--json]    (as root)
"""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import common
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the provider belongs to the tests

from spamnb.cli.common.sample_mail import message
from tests.patience import until
from tests.systemd import tree
from tests.systemd.machine import Machine, booted
from tests.systemd.provider import IMAPS, Provider, answers

_PERSON, _LINE = "carla", 2993
_SPAM = "/srv/spam"
_LEGS = {"fetched": (None, "here"), "carried back": ("here", "provider"), "both": (None, "provider")}
_CONFIG = "\nbreaker: false  # all mail here is spam\n"


def main() -> None:
    """Boot, deliver, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("--messages", type=int, default=100)
    parser.add_argument("--pause", type=float, default=3.0, help="seconds between two messages")
    parser.add_argument("--delay", type=float, default=0.0, help="milliseconds on the way, one way")
    parser.add_argument("--folders", type=int, default=0, help="of the account, beside INBOX and Junk")
    options = parser.parse_args()
    with booted(tree.debian) as machine:
        _install(machine)
        machine.add_user(_PERSON)
        provider = Provider(machine, _PERSON)
        provider.probe("folders", str(options.folders))
        if options.delay:
            provider.port = _delayed(machine, options.delay / 1000)
        provider.set_up(_CONFIG)
        for number in range(options.messages):
            machine.write(f"{_SPAM}/{number:05}.eml", message("spam", 1000 + number).decode())
        watch = "watch", f"{provider.home}/Mail", _SPAM, str(options.pause), provider.wanted
        times = provider.probe(*watch, timeout=600 + options.messages * (options.pause + 10))
    rows = [_row(what, times, *ends) for what, ends in _LEGS.items()]
    common.report(rows, options.json)


def _install(machine: Machine) -> None:
    shutil.copytree(tree.wheels(), machine.path("/srv/wheels"))
    tree.sources(machine.path("/srv/spamnb"))
    pip = "/opt/spamnb/bin/pip install --quiet --no-index --find-links=/srv/wheels /srv/spamnb"
    link = "ln -s /opt/spamnb/bin/spamnb /usr/local/bin/"
    machine.run("sh", "-euc", f"python3 -m venv /opt/spamnb && {pip} && {link}", timeout=600)


def _delayed(machine: Machine, seconds: float) -> int:
    """Put a slow line before the provider. Returns its port."""
    machine.write("/srv/slow_line.py", Path(__file__).with_name("slow_line.py").read_text())
    line = "python3", "/srv/slow_line.py", str(_LINE), str(IMAPS), str(seconds)
    machine.run("systemd-run", "--quiet", "--unit=slow-line", *line)
    until(lambda: answers(machine, _LINE), "the slow line to answer")
    return _LINE


def _row(what: str, times: Sequence[dict[str, float]], begin: str | None, end: str) -> dict[str, object]:
    """Return the figures of a leg; a message that never came to its end counts in `of` alone."""
    whole = [each for each in times if end in each and (begin is None or begin in each)]
    seconds = np.array([each[end] - (0.0 if begin is None else each[begin]) for each in whole] or [np.nan])
    shares = {f"p{share} s": float(np.percentile(seconds, share)) for share in (50, 90, 99)}
    return {"what": what, "count": len(whole), "of": len(times), **shares, "max s": float(seconds.max())}


if __name__ == "__main__":
    main()
