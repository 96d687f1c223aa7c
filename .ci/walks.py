"""Count what a new message passes on its way to Junk: `.venv/bin/python .ci/walks.py [-v]`.

It runs the service, delivers a spam message, and notes the functions that are called until the message is in Junk: for
one person, and for a user of a mail host whose account is asleep. Only `service`, `host/service`, `rules` and `acts`
are counted, since they decide what happens; the loop is all of a service but `service/mailbox`. Lines are all lines of
a function, with its docstring. A function that CONTRIBUTING.md names in this way, and that the message does not pass,
is an error.

-v lists the functions.
"""

import ast
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

sys.path.insert(0, str(Path(__file__).parent.parent))

from spamnb.cli.common.sample_mail import message
from spamnb.config import load
from spamnb.host.service.served import ServedHost
from spamnb.maildir.messages import deliver, scan
from spamnb.service.daemon import Daemon
from spamnb.service.notify import Notifier
from spamnb.service.one_person import Person
from spamnb.service.served import Served
from tests.mail_under_service import Mail
from tests.service.conftest import Site
from tests.service.hosts.inn import Disk

ROOT = Path(__file__).parent.parent
_COUNTED = re.compile(r"spamnb/(?:(?:host/)?service|rules|acts)/")
_OF_LOOP = re.compile(r"spamnb/(?:host/)?service/(?!mailbox/)")
_WAY = re.compile(r"^## The way of a message.*?(?=^## )", re.MULTILINE | re.DOTALL)
_STEP = re.compile(r"`(spamnb/[a-z_/]+\.py)`\s+`([A-Za-z_.]+)`")
_QUIET = 0.5  # seconds without a step of the loop, after which it has nothing to do
_ASLEEP_AFTER = 70.0  # seconds
_PATIENCE = 240  # times _QUIET


class _Passed(Notifier):
    """Notes the functions that a message passes. `deliver_when_idle` delivers it; then the service is stopped."""

    def __init__(self, mail: Mail) -> None:
        super().__init__({})
        self.codes: set[CodeType] = set()
        self.ahead = 0.0
        self.daemon: Daemon
        self._mail = mail
        self._is_delivered = False
        self._steps = 0

    def running(self) -> float:
        """A clock that the delivery sets forward."""
        return time.monotonic() + self.ahead

    def alive(self) -> None:
        """Forget what was before the message; stop when the message is in Junk."""
        self._steps += 1
        if not self._is_delivered:
            sys.setprofile(self._note)
            self.codes.clear()
        elif scan(self._mail.folders["Junk"]):
            sys.setprofile(None)
            self.daemon.stop()

    def deliver_when_idle(self) -> None:
        """Deliver the message when the start is over and the account of a host's user is asleep."""
        self._wait_until_idle()
        self.ahead += _ASLEEP_AFTER
        self.daemon._wake()
        self._wait_until_idle()
        self._is_delivered = True
        deliver(self._mail.folders["INBOX"], message("spam", 900), next(self._mail.bases))
        for _ in range(_PATIENCE):
            time.sleep(_QUIET)
        self.daemon.stop()

    def _wait_until_idle(self) -> None:
        before = -1
        while not self._steps or before != self._steps:
            before = self._steps
            time.sleep(_QUIET)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self.codes.add(frame.f_code)


@cache
def _functions(path: Path) -> dict[int, tuple[str, int]]:
    """Return the name and the number of lines of each function of a file, by its first line."""
    found: dict[int, tuple[str, int]] = {}

    def walk(node: ast.AST, outer: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = f"{outer}.{getattr(child, 'name', '')}".lstrip(".")
            if isinstance(child, ast.FunctionDef):
                first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                found[first] = name, (child.end_lineno or first) - first + 1
            walk(child, name if isinstance(child, ast.FunctionDef | ast.ClassDef) else outer)

    walk(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


def passed(load_: Callable[[], Served], mail: Mail) -> dict[tuple[str, str], int]:
    """Return the lines of each function that a new message passes, by its file and its name."""
    notifier = _Passed(mail)
    notifier.daemon = Daemon(load_, notifier, running=notifier.running)
    threading.Thread(target=notifier.deliver_when_idle, daemon=True).start()
    notifier.daemon.run()
    if not scan(mail.folders["Junk"]):
        sys.exit("the message was not moved")
    lines: dict[tuple[str, str], int] = {}
    for code in notifier.codes:
        path = Path(code.co_filename)
        if path.is_relative_to(ROOT / "spamnb") and (of := _functions(path).get(code.co_firstlineno)) is not None:
            lines[str(path.relative_to(ROOT)), of[0]] = of[1]
    return lines


def _report(who: str, lines: dict[tuple[str, str], int], *, is_verbose: bool) -> None:
    by_file: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for (path, name), number in sorted(lines.items()):
        if _COUNTED.match(path):
            by_file[path].append((name, number))
    of_loop = {path for path in by_file if _OF_LOOP.match(path)}
    for what, paths in (("all", by_file.keys()), ("the loop", of_loop)):
        functions = [number for path in paths for _, number in by_file[path]]
        print(f"{who}, {what}: {len(paths)} files, {len(functions)} functions, {sum(functions)} lines")
    if is_verbose:
        for path, functions in by_file.items():
            print(f"  {path}: {', '.join(f'{name} {number}' for name, number in functions)}")


def main() -> None:
    """Count for one person and for a user of a host, and compare with CONTRIBUTING.md."""
    is_verbose = "-v" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        of_person, of_host = Path(scratch) / "person", Path(scratch) / "host"
        of_person.mkdir()
        of_host.mkdir()
        site = Site(of_person)
        site.teach()
        for_one = passed(lambda: Person(load(site.config, {})), site)
        disk = Disk(of_host, of_person / "taught", 0)
        shutil.copy(site.ledger, of_person / "taught")
        disk.add("u@one.example")
        for_user = passed(lambda: ServedHost(disk.host()), disk.mail("u@one.example"))
    _report("one person", for_one, is_verbose=is_verbose)
    _report("a user of a host", for_user, is_verbose=is_verbose)
    way = _WAY.search((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    steps = _STEP.findall(way[0] if way else "")
    if missed := [f"{path} {name}" for path, name in steps if (path, name) not in for_one]:
        sys.exit(f"CONTRIBUTING.md names what the message does not pass: {', '.join(missed)}")


main()
