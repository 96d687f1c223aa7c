"""`spamnb filter` as delivery agents run it: what comes out, by whatever streams, and what never does."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import syslog
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.base.label import Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from spamnb.delivery.verdict import Delivered
from spamnb.ledger.ledger import Ledger
from tests.cli.conftest import COMMAND, ledger_file, waits_for_input
from tests.delivery.server import serving, verdict_of
from tests.patience import PATIENCE, until

UNKNOWN = b"X-Spamnb: unknown, reason=ledger, version=0.1.0\n"
_BUILD = re.compile(rb"\A(X-Spamnb: .*, version=[\d.]+)\+git\S+\n")  # between releases, as in .ci/run
CONFIGURATION = "mailboxes: [{{path: /home/a/Maildir, roles: {{INBOX: inbox, Junk: spam}}}}]\nspamd: {{listen: [{}]}}\n"
FilterCall = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def through(home: Path) -> FilterCall:
    """Pass a message through the command, a process of its own; nothing may come on standard error."""

    def call(
        *arguments: str, stdin: bytes = b"", by: tuple[str, ...] = COMMAND, code: int = 0
    ) -> "subprocess.CompletedProcess[bytes]":
        done = subprocess.run(
            [*by, "filter", *arguments], input=stdin, capture_output=True, timeout=PATIENCE, check=False
        )
        assert (done.stderr, done.returncode) == (b"", code)
        done.stdout = as_released(done.stdout)
        return done

    return call


def as_released(message: bytes) -> bytes:
    """A message with the version of the release in its first field."""
    return _BUILD.sub(rb"\1\n", message)


@pytest.mark.usefixtures("taught")
@pytest.mark.parametrize(("number", "kind", "code"), [(1, "spam", 0), (2, "ham", 1)])
def test_a_verdict(through: FilterCall, number: int, kind: str, code: int) -> None:
    """The message comes out with its verdict; with an option the exit code is the verdict too."""
    raw = message(kind, 500 + number)
    out = through(stdin=raw).stdout
    assert out.startswith(b"X-Spamnb: %s, " % kind.encode())
    assert out.endswith(raw)
    assert through("--exit-code", "--format", "bogofilter", stdin=raw, code=code).stdout.endswith(raw)


@pytest.mark.thorough
def test_without_a_verdict(through: FilterCall, home: Path) -> None:
    """The message says so, or with --strict nothing comes out and the agent tries again; nothing is made."""
    raw = message("ham", 1)
    assert through(stdin=raw).stdout == UNKNOWN + raw
    assert through("--exit-code", stdin=raw, code=3).stdout == UNKNOWN + raw
    assert through("--strict", "--exit-code", stdin=raw, code=75).stdout == b""
    assert os.listdir(home) == []


def test_nothing_comes(through: FilterCall) -> None:
    """Nothing in, nothing out."""
    assert through(stdin=b"").stdout == b""


def test_the_service_answers(through: FilterCall, home: Path) -> None:
    """If the service answers, the command loads neither numpy nor the ledger, and is fast."""
    config = home / "config.yaml"
    loaded = home / "loaded"
    code = (
        "import os, sys; from spamnb.cli.main import entry_point; end = os._exit\n"
        f"def told(code): open({str(loaded)!r}, 'w').write(' '.join(sys.modules)); end(code)\n"
        "os._exit = told; entry_point()"
    )
    with serving(verdict_of(Delivered(Verdict.SPAM, 0.9987, 8.7)), home / "socket") as requests:
        config.write_text(CONFIGURATION.format(requests.address))
        by = (sys.executable, "-c", code, "--config", str(config))
        out = through("--user", "anna@home.example", stdin=message("ham", 1), by=by).stdout
    assert out.startswith(b"X-Spamnb: spam, probability=0.998700, score=8.7, version=0.1.0\nX-Spam-Flag: YES\n")
    assert b"\r\nUser: anna@home.example\r\n" in requests[0]
    assert not {"numpy", "sqlite3", "bs4", "logging"} & set(loaded.read_text().split())


@pytest.mark.thorough
@pytest.mark.usefixtures("taught")
def test_a_very_long_message(through: FilterCall) -> None:
    """A message of 100 MB passes whole. Most of it is not read, so it is not called ham."""
    raw = message("ham", 1) + b"0123456789abcde\n" * (100 << 16)
    out = through(stdin=raw).stdout
    start = out.index(b"From: ")
    assert out.startswith(b"X-Spamnb: unsure, ")
    assert hashlib.sha256(memoryview(out)[start:]).digest() == hashlib.sha256(raw).digest()


def test_a_broken_program(through: FilterCall) -> None:
    """If a part of the program is missing, as during an upgrade, the message goes on unchanged."""
    code = "import sys; sys.modules['spamnb.delivery.pipe'] = None; import spamnb.cli.main as m; m.entry_point()"
    assert through(stdin=b"X-Spamnb: spam\n\nb", by=(sys.executable, "-c", code)).stdout == b"X-Spamnb: spam\n\nb"


def test_the_fault_is_in_the_log(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's log has the fault on one line; standard error stays empty."""
    (home / "m").write_bytes(message("ham", 1))
    (home / "c\n.yaml").write_text("mailboxes: 1\n")
    said: list[str] = []
    monkeypatch.setattr(syslog, "syslog", lambda priority, text: said.append(text))
    with (home / "m").open("rb") as stdin, (home / "out").open("wb") as stdout:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(["--config", "c\n.yaml", "filter"]) == 0
    assert (home / "out").read_bytes().startswith(b"X-Spamnb: unknown, reason=configuration, ")
    (line,) = said
    assert r"c\n.yaml" in line
    assert line.isprintable()


@pytest.mark.parametrize("arguments", [["--format", "mbox"], ["--user", "a b"], ["x.eml"], ["--learn"]])
def test_wrong_usage(home: Path, arguments: list[str]) -> None:
    """A wrong call says so, and no message is thrown away: exit 64."""
    done = subprocess.run([*COMMAND, "filter", *arguments], input=b"To: a\n\n", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (64, b"")
    assert done.stderr.startswith(b"spamnb: ")


# Streams


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk(home: Path) -> None:
    """If the message cannot be written, the exit code tells the agent to try again."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "filter"], input=message("ham", 1), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (75, b"")


def test_nobody_reads(home: Path) -> None:
    """The same holds if the reader goes away, before a long message or in the middle of it."""
    running = subprocess.Popen(
        [*COMMAND, "filter"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdin and running.stdout and running.stderr
    with running.stdin:
        running.stdin.write(b"To: a\n\n" + b"a" * 1_000_000)
    running.stdout.read(10)
    running.stdout.close()
    with running.stderr:
        assert (running.wait(PATIENCE), running.stderr.read()) == (75, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_killed(home: Path, number: int) -> None:
    """Killed while the message comes, it has written nothing, and its exit code is not success."""
    command = [sys.executable, "-c", "import signal as s; s.signal(s.SIGINT, s.default_int_handler)\n" + _RUN, "filter"]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdin
    running.stdin.write(message("ham", 1))
    running.stdin.flush()
    until(lambda: waits_for_input(running.pid), "the command to read")
    running.send_signal(number)
    out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out, err) == (-number if number == signal.SIGKILL else 128 + number, b"", b"")


_RUN = "from spamnb.cli.main import entry_point; entry_point()"


@pytest.mark.parametrize(("closed", "code"), [("<&-", 75), (">&-", 75), ("2>&-", 0)])
def test_closed_streams(home: Path, closed: str, code: int) -> None:
    """A stream that is closed is never taken for an empty message, nor another file for it."""
    (home / "m").write_bytes(message("ham", 1))
    script = f"exec {sys.executable} -m spamnb filter < m {closed}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (code, b"")
    assert as_released(done.stdout) == (b"" if code else UNKNOWN + message("ham", 1))


def test_streams_that_do_not_wait(home: Path) -> None:
    """A stream that says "not yet", to read or to write, is waited for: it has not come to its end."""
    ours, theirs = os.pipe()
    out, into = os.pipe()
    for descriptor in (ours, into):
        os.set_blocking(descriptor, False)
    running = subprocess.Popen([*COMMAND, "filter"], stdin=ours, stdout=into, stderr=subprocess.PIPE)
    os.close(ours)
    os.close(into)
    got: list[bytes] = []

    def read() -> None:
        with open(out, "rb") as file:
            got.append(file.read())

    reader = threading.Thread(target=read)
    with open(theirs, "wb", buffering=0) as file:
        file.write(b"To: a\n")
        until(lambda: _is_in_select(running.pid), "the command to wait")
        reader.start()
        for _ in range(20):
            file.write(b"\n" + b"a" * 50_000)
    _, err = running.communicate(timeout=PATIENCE)
    reader.join()
    assert (running.returncode, err) == (0, b"")
    assert list(map(as_released, got)) == [UNKNOWN + b"To: a\n" + (b"\n" + b"a" * 50_000) * 20]


def _is_in_select(process: int) -> bool:
    """Whether a process waits in select(2)."""
    call = Path(f"/proc/{process}/syscall").read_text().split()
    selects = {"x86_64": {"23", "270"}, "aarch64": {"72"}}[os.uname().machine]
    return call[0] in selects


def test_nothing_is_learned(through: FilterCall, taught: Path) -> None:
    """Nothing is learned or recorded in the history, and nothing is beside the ledger."""

    def known() -> tuple[int, int, dict[str, int]]:
        with Ledger(str(ledger_file(taught))) as ledger:
            return ledger.lessons.last_change(), ledger.journal.newest_id(), ledger.messages.numbers()

    before = known()
    through(stdin=message("spam", 900))
    assert known() == before
    assert os.listdir(ledger_file(taught).parent) == ["ledger.sqlite"]
