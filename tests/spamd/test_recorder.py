"""The threads that write to ledgers: each user's writes in order, tried again if a ledger is held; no user waits."""

import threading
from collections.abc import Iterator

import pytest

from spamnb.base.errors import LedgerBusyError, LedgerError
from spamnb.spamd.recorder import Recorder

_LIMIT = 20.0  # seconds


class Held:
    """A ledger that another process holds until it is let go, and what was written to it."""

    def __init__(self) -> None:
        self.is_free = threading.Event()
        self.attempts = 0
        self.written: list[int] = []

    def write(self, number: int) -> int:
        """Write a number. Raises LedgerBusyError while it is held."""
        self.attempts += 1
        if not self.is_free.is_set():
            raise LedgerBusyError("held")
        self.written.append(number)
        return number


@pytest.fixture(params=[1, 4])
def recorder(request: pytest.FixtureRequest) -> Iterator[Recorder]:
    """A recorder with one thread, and with four."""
    made = Recorder(request.param)
    yield made
    made.close()


def test_done_again(recorder: Recorder) -> None:
    """Work that a held ledger prevents is tried until it is done, in the order of its coming."""
    ledger = Held()
    done = [recorder.submit("anna", lambda number=number: ledger.write(number)) for number in range(20)]  # type: ignore[misc]
    while ledger.attempts < 3:
        threading.Event().wait(0.001)
    assert not any(one.done() for one in done)
    ledger.is_free.set()
    assert [one.result(_LIMIT) for one in done] == ledger.written == [*range(20)]


def test_nobody_waits_for_another(recorder: Recorder) -> None:
    """However many ledgers are held, writes to the others are done."""
    held = [Held() for _ in range(30)]
    for user, ledger in enumerate(held):
        for number in range(5):
            recorder.submit(f"held {user}", lambda ledger=ledger, number=number: ledger.write(number))  # type: ignore[misc]
    try:
        for number in range(3):
            assert recorder.submit("anna", lambda number=number: number).result(_LIMIT) == number  # type: ignore[misc]
        assert not any(ledger.written for ledger in held)
    finally:
        for ledger in held:
            ledger.is_free.set()


def test_failure(recorder: Recorder) -> None:
    """Work that fails for a different reason is not tried again, and later work is done."""

    def fail() -> None:
        raise LedgerError("damaged")

    failed, done = recorder.submit("anna", fail), recorder.submit("anna", lambda: 1)
    with pytest.raises(LedgerError, match="damaged"):
        failed.result(_LIMIT)
    assert done.result(_LIMIT) == 1


def test_asker_has_gone(recorder: Recorder) -> None:
    """Work is done even if nobody waits for it any longer."""
    ledger = Held()
    done = recorder.submit("anna", lambda: ledger.write(1))
    assert not done.cancel()
    ledger.is_free.set()
    assert done.result(_LIMIT) == 1


def test_end() -> None:
    """At the end all is done that was to be done, and what came of it."""
    ledger, recorder = Held(), Recorder(1)

    def first() -> None:
        ledger.write(1)
        recorder.submit("anna", lambda: ledger.write(2))

    recorder.submit("anna", first)
    closing = threading.Thread(target=recorder.close)
    closing.start()
    ledger.is_free.set()
    closing.join(_LIMIT)
    assert ledger.written == [1, 2]
