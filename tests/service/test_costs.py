"""The work of the service per message, in steps, not seconds: it does not grow with the number of known messages."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from spamnb.mail import reading
from spamnb.mail.reading import LazyReading, read
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.messages import Entry, deliver, locate, scan
from spamnb.service.mailbox import arrivals, facts
from tests.service.desk import Desk


@contextmanager
def counted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Counts the steps of SQLite's machine, in tens, and the files that are looked for."""
    counts = {"steps": 0, "located": 0}
    sqlite = desk.ledger.locations._db._sqlite

    def step() -> int:
        counts["steps"] += 1
        return 0

    def looked_for(*arguments: object) -> object:
        counts["located"] += 1
        return locate(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(facts, "locate", looked_for)
        sqlite.set_progress_handler(step, 10)
        yield counts
        sqlite.set_progress_handler(None, 0)


def remember(desk: Desk, content: bytes, number: int, how: str) -> None:
    """So many more messages in the ledger, each judged and left in the inbox."""
    inbox = desk.ledger.locations.folder(1, "INBOX")
    with desk.ledger.transaction():
        for _ in range(number):
            base = next(desk.bases)
            one = LazyReading(content if how == "other deliveries" else content + base.encode())
            known = desk.ledger.messages.ensure(one.digest, "a message", one.header_digest)
            desk.ledger.locations.put(inbox, base, known.id, "appeared", base.encode(), "", desk.now())
            desk.ledger.messages.judged(known.id, "ham", 0.01, desk.now())
            desk.ledger.journal.judged(known.id, (inbox, base), "ham", 0.01, "ham", desk.now(), how=How.MAILDIR)
            desk.ahead += 1.0


@pytest.mark.parametrize("folder", ["INBOX", "Junk", "Archive", "Trash"])
@pytest.mark.parametrize("how", ["other deliveries", "forged heads"])
def test_each_copy_costs_the_same(desk: Desk, monkeypatch: pytest.MonkeyPatch, folder: str, how: str) -> None:
    """One more copy of a message, or message under its head, costs the same after a thousand as after a hundred."""
    original, costs = message("ham", 901), []
    for number in (100, 900):
        remember(desk, original, number, how)
        path = deliver(desk.folder(folder), b"Received: by host; %d\n" % number + original, next(desk.bases))
        with counted(desk, monkeypatch) as counts:
            desk.meet(Path(path))
        costs.append(counts)
    few, many = costs
    assert many["located"] <= 2 * 20
    assert 0 < many["steps"] < 1.2 * few["steps"]


@pytest.mark.slow
def test_four_thousand_copies(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with spam that is really delivered, judged and moved, four thousand times."""
    original, costs = message("spam", 901), []
    for number in range(4001):
        path = deliver(desk.folder("INBOX"), b"Received: by host; %d\n" % number + original, next(desk.bases))
        if number in (100, 4000):
            with counted(desk, monkeypatch) as counts:
                desk.meet(Path(path))
            costs.append(counts)
        else:
            desk.meet(Path(path))
    few, many = costs
    assert desk.number("Junk") == 4001
    assert many["located"] <= 2 * 20
    assert 0 < many["steps"] < 1.2 * few["steps"]


def test_what_is_dragged_to_the_trash_is_not_tokenised(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mail that a person deletes, or moves back to the inbox, is recognised without its tokens."""
    letters = desk.put("ham", "INBOX")
    desk.work()
    monkeypatch.setattr(reading, "tokenize", lambda *_: pytest.fail("tokenised"))
    desk.move("INBOX", "Trash", desk.fresh)
    desk.work()
    desk.move("Trash", "INBOX", desk.fresh)
    desk.work()
    assert desk.number("INBOX") == len(letters)
    assert len(desk.ledger.locations.files_in(desk.ledger.locations.folder(1, "INBOX"))) == len(letters)


def test_what_is_asked_of_a_message_is_what_was_read() -> None:
    """A message that is read piece by piece is the one that is read as a whole."""
    for kind in ("ham", "spam"):
        raw = message(kind, 901)
        assert LazyReading(raw).reading == read(raw)


def test_only_folders_that_speak_by_what_stays_are_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the inbox, ham folders and the newsletters are searched for kept mail, and New for answered letters."""
    desk.put("ham", "Trash", flags="S")
    desk.put("spam", "Junk", flags="S")
    desk.apart = {"newcomers_folder": "New", "newsletters_folder": "Lists"}
    for name in desk.apart.values():
        desk.put("ham", name, flags="S")
    desk.restart()
    asked = []
    unlearned = desk.ledger.locations.unlearned
    monkeypatch.setattr(
        desk.ledger.locations, "unlearned", lambda folder, origins: asked.append(folder) or unlearned(folder, origins)
    )
    desk.work()
    assert {desk.ledger.locations.where(folder)[1] for folder in asked} == {"INBOX", "Archive", "Lists", "New"}


def test_no_dwell_and_a_folder_that_cannot_be_listed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a folder cannot be listed, its files are tried again after a second, even with a dwell of 0."""
    letter = message("ham", 901)
    desk.deliver(letter)
    desk.restart(dwell_seconds=0.0)
    mailbox = desk.account.mailbox(str(desk.roots[0]))
    target = Path(desk.folder("Archive").subdir("cur")) / f"{next(desk.bases)}:2,S"
    desk.paths(letter, "INBOX")[0].rename(target)
    looked = []

    def unlistable(*_: object) -> None:
        looked.append(1)
        raise FolderUnavailableError("cannot list it")

    with monkeypatch.context() as patch:
        patch.setattr(arrivals, "locate", unlistable)
        watched = mailbox.folders.by_path[desk.folder("Archive").path]
        mailbox.look(watched, Entry("cur", target.name))
        clock = desk.now()
        patch.setattr(mailbox._arrivals, "_now", lambda: clock)
        for _ in range(5):
            mailbox.act_on_due()
        assert len(looked) == 1
        due = mailbox.due()
        assert due is not None
        assert due - clock == pytest.approx(1.0)
    desk.work()
    assert desk.lesson(letter) == (0, False)


def test_a_renamed_folder_holds_the_ledger_for_few_statements(tmp_path: Path) -> None:
    """Carrying over a renamed folder takes as many calls for a thousand files as for ten."""
    calls = []
    for number in (10, 1000):
        with Ledger(str(tmp_path / f"ledger{number}")) as ledger:
            mailbox, _ = ledger.locations.mailbox("/mail")
            old, new = ledger.locations.folder(mailbox, "Old"), ledger.locations.folder(mailbox, "New")
            message_ = ledger.messages.ensure(b"digest", "").id
            with ledger.transaction():
                for each in range(number):
                    ledger.locations.put(old, f"{each}.host", message_, "appeared", b"", "S", 1.0)
            asked: list[str] = []
            sqlite = ledger.locations._db._sqlite
            names = [f"{each}.host" for each in range(0, number, 2)] + ["unknown"]
            sqlite.set_trace_callback(lambda statement, asked=asked: asked.append(statement))
            assert ledger.locations.carry(old, new, names, 2.0) == number // 2
            sqlite.set_trace_callback(None)
            calls.append(len([statement for statement in asked if statement.lstrip().startswith("SELECT")]))
            assert len(ledger.locations.files_in(new)) == len(ledger.locations.files_in(old)) == number // 2
    assert calls[0] == calls[1]


def test_logged_where_it_stays(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """The log says nothing about mail that a person deletes."""
    caplog.set_level(logging.INFO)
    letter = message("ham", 901)
    desk.deliver(letter)
    caplog.clear()
    desk.take(letter, "INBOX", "Trash")
    assert "stays" not in caplog.text
    assert scan(desk.folder("Trash"))


def test_few_statements(desk: Desk) -> None:
    """To judge and move new spam takes three transactions, to learn from its rescue one, and few questions."""
    desk.deliver(message("spam", 900))  # that moving has begun is recorded once
    spam, sqlite = message("spam", 901), desk.ledger.locations._db._sqlite
    path = deliver(desk.folder("INBOX"), spam, next(desk.bases))
    statements: list[str] = []
    sqlite.set_trace_callback(statements.append)
    desk.meet(Path(path))
    assert desk.where(spam) == ["Junk"]
    assert (begun(statements, "BEGIN"), begun(statements, "SELECT") <= 17) == (3, True)
    rescued = Path(desk.folder("INBOX").subdir("cur")) / f"{next(desk.bases)}:2,S"
    desk.paths(spam, "Junk")[0].rename(rescued)
    statements.clear()
    desk.meet(rescued)
    sqlite.set_trace_callback(None)
    assert desk.lesson(spam) == (Label.HAM, False)
    # Two of them: was it in spam by the filter, and which lessons does a first rescue forget?
    assert (begun(statements, "BEGIN"), begun(statements, "SELECT") <= 16) == (1, True)


def begun(statements: list[str], word: str) -> int:
    """How many of the statements begin with that word."""
    return len([statement for statement in statements if statement.startswith(word)])
