"""What the service costs by the number of its mailboxes: start, memory, threads, descriptors, idling, bytes written.

For each number an empty Maildir tree of so many mailboxes is made, all in one configuration over one ledger, which
knows a few hundred messages. The service is started; once it watches, the kernel is asked what it takes. It then idles
for some seconds, and gets mail, by turns in the mailboxes.

load: processor time to read the configuration. start: from the start of the process until it watches. idle: processor
time a minute without mail. written: bytes that reach the disk for each judged message (proc(5), io, write_bytes).

    python benchmarks/mailboxes.py [--mailboxes 1 64 1000] [--idle 20] [--json]
"""

import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import common

from spamnb.acts.moves import bases_now
from spamnb.acts.training import learn_message
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import load
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Folder, create_folder
from spamnb.maildir.messages import deliver

_FOLDERS = ("INBOX", "Junk", "Archive")
_LEARNED, _DELIVERED = 200, 50
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure each number of mailboxes, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("--mailboxes", type=int, nargs="+", default=[1, 64, 1000])
    parser.add_argument("--idle", type=float, default=20.0, metavar="SECONDS")
    options = parser.parse_args()
    figures = [_measured(number, options.idle) for number in options.mailboxes]
    if not options.json:
        print(f"{platform.python_implementation()} {platform.python_version()}, {platform.python_compiler()}")
    common.report(figures, options.json)


def _measured(number: int, idle: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        boxes = [directory / "mail" / f"user{each}" for each in range(number)]
        made = [[create_folder(str(box), "maildir++", folder) for folder in _FOLDERS] for box in boxes]
        ledger, config, log = directory / "ledger.sqlite", directory / "config.yaml", directory / "log"
        lines = [f"  - {{path: {box}, layout: maildir++, roles: {{INBOX: inbox, Junk: spam}}}}" for box in boxes]
        config.write_text("\n".join(["mailboxes:", *lines, f"ledger: {ledger}", "breaker: {share: 1.0}"]))
        _teach(ledger)
        before = time.process_time()
        load(config, os.environ)
        loaded = time.process_time() - before
        with log.open("wb") as output:
            begin = time.perf_counter()
            process = subprocess.Popen(
                [sys.executable, "-m", "spamnb", "--config", str(config), "run"], stderr=output, stdout=output
            )
        try:
            common.until(lambda: b"watching" in log.read_bytes() or b"polling" in log.read_bytes(), "the service")
            started = time.perf_counter() - begin
            at_rest = _cpu_seconds(process.pid)
            time.sleep(idle)
            at_rest = _cpu_seconds(process.pid) - at_rest
            status = _fields(process.pid, "status")
            descriptors = len(os.listdir(f"/proc/{process.pid}/fd"))
            written = _written(process.pid, [folders[0] for folders in made], ledger)
            after = _fields(process.pid, "status")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(common.PATIENCE)
        return {
            "mailboxes": number,
            "events": b"polling" not in log.read_bytes(),
            "load CPU s": loaded,
            "start s": started,
            "MB": status["VmRSS"] / 1000,
            "MB at work": after["VmRSS"] / 1000,
            "threads": status["Threads"],
            "descriptors": descriptors,
            "idle CPU s/min": 60 * at_rest / idle,
            "written KB/message": written / 1000,
        }


def _teach(path: Path) -> None:
    with Ledger(str(path)) as ledger:
        for number in range(_LEARNED):
            label = Label(number % 2)
            learn_message(ledger, message(label.word, number), label, "trained by hand", time.time(), how=How.HAND)


def _written(pid: int, inboxes: Sequence[Folder], ledger: Path) -> float:
    """Bytes that a judged message makes the service write."""
    before = _fields(pid, "io")["write_bytes"]
    bases = bases_now()
    for number in range(_DELIVERED):
        deliver(inboxes[number % len(inboxes)], message(Label(number % 2).word, 1000 + number), next(bases))
    with Ledger(str(ledger), only_read=True) as known:
        common.until(lambda: sum(known.messages.numbers().values()) >= _DELIVERED, "the mail to be judged")
    return (_fields(pid, "io")["write_bytes"] - before) / _DELIVERED


def _fields(pid: int, account: str) -> dict[str, int]:
    """The numbers of a file below /proc, by their names."""
    lines = (line.split() for line in Path(f"/proc/{pid}/{account}").read_text().splitlines())
    return {line[0].rstrip(":"): int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


if __name__ == "__main__":
    main()
