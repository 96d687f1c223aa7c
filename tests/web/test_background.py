"""Work that no request waits for: in threads, and in processes of their own."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from subprocess import PIPE

import pytest

from spamnb.web.background import Background, EndingError, NoPlaceError, Tell, WorkerProcesses, here
from tests.patience import PATIENCE, until


def counted(number: int, tell: Tell) -> tuple[int, int]:
    """Return the process of this work, and a sum."""
    tell(0, number)
    tell(1, number)
    os.write(1, b"this is no answer")
    return os.getpid(), sum(range(number))


def failing(tell: Tell) -> None:
    """A fault."""
    raise ValueError("a fault")


def killed(secret: str, tell: Tell) -> None:
    """Work whose process is killed, as by the kernel when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def endless(tell: Tell) -> None:
    """Work that does not end."""
    tell(os.getpid(), 0)
    while True:
        time.sleep(60)


def test_apart() -> None:
    """The work is done in another process, which tells how far it is, and ends."""
    told: list[tuple[int, int]] = []
    process, total = WorkerProcesses()(partial(counted, 3), lambda *progress: told.append(progress))
    assert (total, told) == (3, [(0, 3), (1, 3)])
    assert process != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_here() -> None:
    """With `here` the same work is done in this process."""
    assert here(partial(counted, 2), lambda *_: None) == (os.getpid(), 1)


def test_fault(capfd: pytest.CaptureFixture[str]) -> None:
    """A work that fails is a fault here, and its traceback is in the log."""
    with pytest.raises(RuntimeError, match="has ended with 1"):
        WorkerProcesses()(failing, lambda *_: None)
    assert "ValueError: a fault" in capfd.readouterr().err


def test_the_log_names_no_argument(caplog: pytest.LogCaptureFixture) -> None:
    """If such a process dies, the log names the work and its end, and none of its arguments."""
    background, work = Background(), partial(killed, "a password in the environment")
    background(lambda: background.processes(work, lambda *_: None))
    until(lambda: bool(caplog.records), "the log")
    background.wait()
    assert "tests.web.test_background.killed has ended with -9" in caplog.text
    assert "password" not in caplog.text


def test_killed_meanwhile() -> None:
    """If the server is killed, such work ends without a message."""
    command = [sys.executable, "-c", "from spamnb.web.background import work_for_server; work_for_server()"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdout.close()
        process.stdin.write(pickle.dumps(partial(counted, 3)))
        process.stdin.close()
        said = process.stderr.read()
    assert (process.returncode, said.count(b"Traceback")) == (0, 0)


def test_end() -> None:
    """The program's end does not wait for such work: it is ended, even if it ignores SIGTERM, and none is begun."""
    background, begun = Background(), []
    background(lambda: background.processes(endless, lambda process, _: begun.append(process)))
    until(lambda: bool(begun), "the work to begin")
    os.kill(begun[0], signal.SIGTERM)
    background.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(begun[0], 0)
    with pytest.raises(EndingError):
        background.processes(failing, lambda *_: None)
    assert "spamnb-web-background" not in [thread.name for thread in threading.enumerate()]


def test_few_at_once_for_many() -> None:
    """Each of many users has one work at a time, and all together have two; more work is refused at once."""
    background, begun = Background(), []
    runs = [background.processes.for_one_of_many() for _ in range(3)]
    for run in runs[:2]:
        background(lambda run=run: run(endless, lambda process, _: begun.append(process)))
    until(lambda: len(begun) == 2, "two works to begin")
    for run in runs:
        with pytest.raises(NoPlaceError):
            run(partial(counted, 2), lambda *_: None)
    background.wait()
    for run in runs:
        with pytest.raises(EndingError):
            run(partial(counted, 2), lambda *_: None)


def test_one_at_a_time_for_a_user() -> None:
    """A user with a work in progress gets no second one, even if there is a place; a different user does."""
    background, begun = Background(), []
    one, other = background.processes.for_one_of_many(), background.processes.for_one_of_many()
    background(lambda: one(endless, lambda process, _: begun.append(process)))
    until(lambda: bool(begun), "the work to begin")
    with pytest.raises(NoPlaceError):
        one(partial(counted, 2), lambda *_: None)
    assert other(partial(counted, 2), lambda *_: None)[1] == 1
    background.wait()


def test_a_few_threads() -> None:
    """A few threads do any amount of later work, and all of it, even at the end."""
    background, go, done, most = Background(), threading.Event(), [], []

    def work(number: int) -> None:
        assert go.wait(PATIENCE)
        most.append(sum(thread.name == "spamnb-web-background" for thread in threading.enumerate()))
        done.append(number)

    for number in range(200):
        background(partial(work, number))
    go.set()
    background.wait()
    assert sorted(done) == list(range(200))
    assert max(most) <= 8
    background(partial(done.append, 200))
    background.wait()
    assert 200 in done
