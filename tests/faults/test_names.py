"""A line of the log about a ledger's fault names the user whose ledger it is, whoever has a turn at that moment."""

import contextlib
import logging
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.schema import VERSION
from spamnb.service.log import MailboxPrefix
from tests.faults.conftest import filled, mounted
from tests.lessons import learn, sample_lessons
from tests.service.hosts.inn import DAY, Desk
from tests.service.hosts.test_isolation import damage, set_version

_log = logging.getLogger(__name__)
_LEDGER = re.compile(r"/lib/([a-z]+\.example)/(u\d\d)/")
ROUNDS = 4  # with each fault, in other orders of the users


@contextlib.contextmanager
def damaged(ledger: Path) -> Iterator[None]:
    """SQLite makes no sense of the file."""
    sound = ledger.read_bytes()
    damage(ledger)
    yield
    ledger.write_bytes(sound)


@contextlib.contextmanager
def deleted(ledger: Path) -> Iterator[None]:
    """The file is gone."""
    sound = ledger.read_bytes()
    ledger.unlink()
    yield
    ledger.write_bytes(sound)


@contextlib.contextmanager
def upgraded(ledger: Path) -> Iterator[None]:
    """A later version has written it."""
    set_version(ledger, VERSION + 1)
    yield
    set_version(ledger, VERSION)


@contextlib.contextmanager
def written(ledger: Path) -> Iterator[None]:
    """Another process writes to it."""
    with contextlib.closing(sqlite3.connect(ledger, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        yield


def held(ledger: Path) -> "contextlib.AbstractContextManager[object]":
    """Another service works with it."""
    return only_service(str(ledger))


@contextlib.contextmanager
def in_the_way(ledger: Path) -> Iterator[None]:
    """A file is in the place of its directory."""
    aside = ledger.parent.with_name(f"{ledger.parent.name}-aside")
    ledger.parent.rename(aside)
    ledger.parent.touch()
    yield
    ledger.parent.unlink()
    aside.rename(ledger.parent)


Fault = Callable[[Path], "contextlib.AbstractContextManager[object]"]
OF_ONE: list[Fault] = [damaged, deleted, upgraded, written, held, in_the_way]


@pytest.mark.parametrize("fault", [filled, *OF_ONE])
def test_whose_ledger_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: Fault) -> None:
    """Each line that names the ledger of one of three users has that user's name, and no line another user's."""
    taught = tmp_path / "taught"
    with Ledger(str(taught)) as ledger:
        learn(ledger, sample_lessons(10))
    caplog.set_level("INFO", "spamnb")
    caplog.handler.addFilter(MailboxPrefix())
    order = random.Random(1)
    with mounted(tmp_path / "lib") as disk:
        desk = Desk(tmp_path, taught, 3)
        desk.configure(users="awake: 1")
        desk.start()
        try:
            desk.pass_time(DAY)  # each has a copy of the ledger
            for number in range(ROUNDS):
                victims = order.sample(desk.names, 2)
                desk.settle()
                with contextlib.ExitStack() as faults:
                    if fault is filled:
                        desk.deliver_to_all()
                        desk.step()
                        faults.enter_context(fault(disk))
                    else:
                        for name in victims:
                            if fault is not held:  # by the service itself, as long as the user is awake
                                desk.deliver(name)
                                desk.rest()
                            faults.enter_context(fault(desk.ledger(name)))
                        desk.deliver_to_all(order.sample(desk.names, 3))
                    desk.pass_time(30.0 + number)
                desk.pass_time(3700.0 if fault in OF_ONE else 130.0)
        finally:
            desk.stop()
    lines = Counter[str]()
    for record in caplog.records:
        for domain, local in _LEDGER.findall(record.getMessage()):
            lines["right" if record.mailbox == f"{local}@{domain}" else "wrong"] += 1
    _log.info("%s: %d lines have the right name, %d a wrong one", fault.__name__, lines["right"], lines["wrong"])
    assert lines["right"] >= ROUNDS
    assert lines["wrong"] == 0
