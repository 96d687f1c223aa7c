"""The command as a process: pipes, signals, workers, streams that are closed or full."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from multiprocessing import active_children
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from spamnb.base.errors import MailError, SpamnbError
from spamnb.bulk.executors import Processes, in_order
from spamnb.bulk.mapping import each, one_by_one
from spamnb.bulk.sources import Source
from spamnb.cli.common.sample_mail import message
from tests.cli.conftest import COMMAND, Run, costs, mail
from tests.patience import PATIENCE, until

COMMANDS = [("score x", 2), ("status", 78), ("train --ham x", 0), ("score -", 3), ("bogus", 64)]  # and their codes
pytestmark = [
    pytest.mark.usefixtures("home"),
    pytest.mark.thorough,
]  # sixty processes, some with workers: 10 s of processor time
several_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core has no workers")


def children(process: int) -> list[int]:
    """The processes that a process has started and that still run."""
    try:
        listed = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(number) for number in listed.split()]


def gone(process: int) -> bool:
    """Whether a process has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def ignores_interrupt(process: int) -> bool:
    """Whether a process ignores SIGINT."""
    mask = Path(f"/proc/{process}/status").read_text().partition("SigIgn:")[2].split()[0]
    return bool(int(mask, 16) & 1 << (signal.SIGINT - 1))


def start_training(messages: int = 3000) -> "subprocess.Popen[bytes]":
    """A bulk training with its workers at work."""
    one = b"From a@b Mon Jan  1 10:00:00 2024\n" + message("ham", 1) + b"\n"
    filler = b" ".join(b"word%d" % n for n in range(2000))
    with open("box", "wb") as file:
        for number in range(messages):
            file.write(one.replace(b"ham.1@", b"ham.%d@" % number) + filler + b"\n\n")
    running = subprocess.Popen([*COMMAND, "train", "--ham", "box"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: children(running.pid), "the workers")
    return running


@several_cores
def test_bulk_work_uses_all_cores(process: Run) -> None:
    """Many messages are read by one worker a core, and come back in order."""
    running = start_training()
    until(lambda: len(children(running.pid)) == len(os.sched_getaffinity(0)), "a worker a core")
    running.kill()
    running.communicate(timeout=PATIENCE)
    mail(Path("a"), "ham", 200)
    lines = process("score", "a").out.splitlines()
    assert [line.split()[2] for line in lines] == sorted(f"a/{n}.eml" for n in range(200))


@several_cores
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_ended_by_a_signal(process: Run, number: int, code: int) -> None:
    """After a signal during a bulk training no worker is left, and the ledger is sound."""
    running = start_training()
    workers = children(running.pid)
    running.send_signal(number)
    _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == code
    assert b"Traceback" not in err
    assert (b"interrupted" in err) == (number == signal.SIGINT)
    until(lambda: all(map(gone, workers)), "the workers' end")
    assert process("verify").code == 0


@several_cores
def test_ctrl_c_reaches_the_whole_group(process: Run) -> None:
    """Ctrl-C, which the terminal sends to the workers too, is answered by one line."""
    one = b"From a@b Mon Jan  1 10:00:00 2024\n" + message("ham", 1) + b"\n"
    Path("box").write_bytes(b"".join(one.replace(b"ham.1@", b"ham.%d@" % n) for n in range(20_000)))
    running = subprocess.Popen(
        [*COMMAND, "train", "--ham", "box"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    until(lambda: children(running.pid), "the workers")
    workers = children(running.pid)
    until(lambda: all(map(ignores_interrupt, workers)), "workers that are ready")
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out) == (130, b"")
    assert re.fullmatch(
        rb"spamnb: interrupted: (no message was learned|learned \d+ messages as ham, which is kept)\n", err
    )
    until(lambda: all(map(gone, workers)), "the workers' end")


@several_cores
def test_killed_worker(process: Run) -> None:
    """A worker that is killed, by the kernel for want of memory say, ends the command with a line that says so."""
    running = start_training()
    os.kill(children(running.pid)[0], signal.SIGKILL)
    _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 3
    assert b"a reading process was killed" in err
    assert len(err.splitlines()) == 1
    assert process("verify").code == 0


def dies_in_the_midst(chunk: list[int]) -> list[int]:
    """Work of a worker that is killed when it has sent one byte of its result."""

    def send(connection: Connection, content: bytes) -> None:
        os.write(connection.fileno(), bytes(content[:1]))
        os.kill(os.getpid(), signal.SIGKILL)

    Connection._send = send  # type: ignore[attr-defined]  # in the worker, which has its own memory
    return chunk


@several_cores
def test_killed_while_it_sends_a_result() -> None:
    """A worker killed while it sends a result ends the work too, with the same line."""
    with (
        pytest.raises(SpamnbError, match="a reading process was killed"),
        Processes(2) as processes,
        in_order(dies_in_the_midst, ([n] for n in range(40)), processes) as done,
    ):
        list(done)
    until(lambda: not active_children(), "the workers' end")


@several_cores
def test_killed_while_it_is_shut_down() -> None:
    """A worker that is killed while the work is being ended does not keep it from ending."""
    with Processes(2) as processes:
        processes.submit(dies_in_the_midst, [0])
        processes.submit(time.sleep, 2 * PATIENCE)
    until(lambda: not active_children(), "the workers' end")


def test_a_mistake_of_the_reader_costs_one_message() -> None:
    """A message on which the reader fails is named, and the others are read."""

    def fail(source: Source) -> str:
        if source.where == "2":
            raise RecursionError("too deep")
        return source.where

    with each(partial(one_by_one, fail), [Source(str(n)) for n in range(4)]) as found:
        done = list(found)
    assert [result for _, result in done if not isinstance(result, MailError)] == ["0", "1", "3"]
    assert "RecursionError: too deep" in str(done[2][1])


@pytest.mark.parametrize(
    "command", ["history --json --limit 300", "-q score a", "--help", "help score", "config --example"]
)
def test_closed_pipe(process: Run, command: str) -> None:
    """`spamnb history | head -1` says nothing on standard error, and ends as if by SIGPIPE: 141."""
    process("train", "--ham", mail(Path("a"), "ham", 70))
    script = f"{sys.executable} -m spamnb {command} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=PATIENCE, check=False)
    assert (len(done.stdout.splitlines()), done.stderr) == (1, b"")
    assert done.returncode in (0, 141), "0: all was written before `head` ended"
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        done = subprocess.run(
            [*COMMAND, *command.split()], stdout=pipe, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("command", "code", "stream"),
    [(*command, "0<&- 1>&- 2>&-") for command in COMMANDS]
    + [(*command, stream) for command, stream in zip(COMMANDS, ["1>&-", "2>&-", "2>&-", "0<&-", "1>&-"], strict=True)],
)
def test_closed_streams(command: str, code: int, stream: str) -> None:
    """A command whose standard streams are closed does its work and ends with its own exit code."""
    Path("x").write_bytes(message("ham", 1))
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m spamnb -q {command} {stream}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("command", ["score nope", "bogus", "--config nope status"])
def test_closed_standard_error(command: str) -> None:
    """Errors never go to standard output, where a program reads results, even if nothing else is open."""
    script = f"{sys.executable} -m spamnb {command} 2>&-"
    assert subprocess.run(["sh", "-c", script], capture_output=True, timeout=PATIENCE, check=False).stdout == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("command", ["score a", "--help", "train --help"])
def test_full_disk_for_output(process: Run, command: str) -> None:
    """Output that finds no space is an error in one line."""
    process("train", "--ham", mail(Path("a"), "ham", 30))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *command.split()], stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
        )
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == b"spamnb: No space left on device: free some space; nothing was lost"
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("command", ["export", "backup -"])
def test_full_disk_for_results(process: Run, command: str) -> None:
    """The error for a full disk names the file as the person knows it, and gives advice that helps."""
    process("train", "--ham", mail(Path("a"), "ham", 30))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *command.split()], stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
        )
    assert done.returncode == 3
    assert done.stderr == b"spamnb: cannot write standard output: No space left on device; free some space\n"


@several_cores
@pytest.mark.parametrize("command", [("train", "--ham"), ("untrain",), ("score",)])
def test_no_ledger_to_work_with(process: Run, command: tuple[str, ...]) -> None:
    """If the ledger cannot be opened, workers that read already end; one line gives the reason."""
    many = mail(Path("a"), "ham", 400)
    Path(".local/share/spamnb/ledger.sqlite").mkdir(parents=True)
    for _ in range(2):  # what a worker does at that moment is chance
        done = process(*command, many)
        assert done.code == 3
        (line,) = done.err.splitlines()
        assert "ledger" in line


def test_full_disk_for_the_ledger(process: Run) -> None:
    """A ledger that finds no space keeps what it had, and the error says so in one line."""
    process("train", "--ham", mail(Path("a"), "ham", 30))
    more = mail(Path("b"), "spam", 60)
    script = f"trap '' XFSZ; ulimit -f 64; exec {sys.executable} -m spamnb train --spam {more}"
    # Python would cut off the bytecode of its own modules there, for all processes that come after.
    environ = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(["sh", "-c", script], env=environ, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 3, done
    (line,) = done.stderr.splitlines()
    assert b"ledger" in line
    assert json.loads(process("status", "--json").out)["learned"] == {"ham": 30, "spam": 0}
    assert process("verify").code == 0


@pytest.mark.parametrize(
    "environ",
    [
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "latin-1"},
    ],
)
def test_any_locale(process: Run, environ: dict[str, str]) -> None:
    """A locale that lacks a letter gets an escape in its place."""
    Path("x").write_bytes(message("spam", 1).replace(b"Subject: ", b"Subject: =?utf-8?b?0YHQv9Cw0Lw=?= \n ", 1))
    assert process("train", "--spam", "x", **environ).code == 0
    for command in (("history",), ("explain", "x"), ("status",)):
        result = process(*command, **environ)
        assert (result.code, "Error" in result.err) == (78 if command == ("status",) else 0, False)


def test_two_trainings_at_once(process: Run) -> None:
    """Two commands that learn at once both succeed, and their counts add up."""
    mail(Path("a"), "ham", 40)
    mail(Path("b"), "spam", 40)
    running = [
        subprocess.Popen([*COMMAND, "-q", "train", f"--{kind}", directory], stderr=subprocess.PIPE)
        for kind, directory in (("ham", "a"), ("spam", "b"), ("ham", "a"))
    ]
    for one in running:
        assert (one.communicate(timeout=PATIENCE)[1], one.returncode) == (b"", 0)
    assert json.loads(process("status", "--json").out)["learned"] == {"ham": 40, "spam": 40}
    assert process("verify").code == 0


def test_score_is_quick(process: Run) -> None:
    """`spamnb score FILE` takes less than 30 times what a Python takes that does nothing; it takes 13 times as much.

    benchmarks/prompt.py measures the seconds.
    """
    Path("x").write_bytes(message("ham", 1))
    assert costs(process, "-q", "score", "x") < 30
