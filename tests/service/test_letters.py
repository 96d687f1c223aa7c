"""The letter with the statement: written once per period, ours wherever it goes, and a forged copy is not."""

import email
import email.policy
import errno
import logging
import os
import re
from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.acts.answers import Answers
from spamnb.acts.none_of_these import none_is_mine
from spamnb.acts.wanted import wanted_questions
from spamnb.acts.withheld import resume
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Service
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from spamnb.maildir import messages
from spamnb.review.letter_text import harmless
from spamnb.review.period import Month, Period, Week
from spamnb.review.statement import statement
from spamnb.service.letters import Letters
from tests.service.desk import DAY, Desk, moving_desk
from tests.service.test_untouched import fill_spam

OURS = b"Auto-Submitted: auto-generated"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A mailbox in the first days of a month, a filter that moves mail, and a person who wants a letter per month."""
    with moving_desk(tmp_path) as found:
        found.service = Service(statement="monthly")
        go_to(found, Month.of(found.now()).since + 5 * DAY)
        found.restart()
        look(found)
        yield found


def go_to(desk: Desk, at: float) -> None:
    """It is later, or earlier."""
    desk.ahead += at - desk.now()


def look(desk: Desk) -> None:
    """The job is due, then the service works."""
    job = Letters(desk.account)
    while job.step_if_due(desk.now()):
        pass
    desk.work()


def next_period(desk: Desk, kind: type[Month] | type[Week] = Month) -> Period:
    """The present month or week is over. Returns it."""
    ended = kind.of(desk.now())
    go_to(desk, ended.next.since + 60)
    return ended


def letters(desk: Desk, *folders: str) -> list[bytes]:
    """Return the letters in these folders; in all, if none is named."""
    return [
        content
        for folder in folders or desk.roles
        for directory in (desk.folder(folder).subdir("new"), desk.folder(folder).subdir("cur"))
        for path in Path(directory).iterdir()
        if OURS in (content := path.read_bytes())
    ]


def with_letter(desk: Desk) -> bytes:
    """A month with spam has passed. Returns the letter."""
    fill_spam(desk, 100, 8)
    next_period(desk)
    look(desk)
    (found,) = letters(desk)
    return found


def parsed(content: bytes) -> EmailMessage:
    """Return the message as the standard library reads it."""
    found = email.message_from_bytes(content, policy=email.policy.default)
    assert isinstance(found, EmailMessage)
    assert not found.defects
    assert not any(value.defects for value in found.values())
    return found


def test_once_per_month(desk: Desk) -> None:
    """After the month's end one letter is in the inbox, at the next look too, and none for a month without a move."""
    fill_spam(desk, 100, 8)
    look(desk)
    assert letters(desk) == []
    next_period(desk)
    for _ in range(3):
        look(desk)
    assert len(letters(desk, "INBOX")) == 1
    desk.restart()
    look(desk)
    assert len(letters(desk)) == 1
    next_period(desk)
    look(desk)
    assert len(letters(desk)) == 1


def test_one_letter_for_missed_months(desk: Desk) -> None:
    """After two months without the service one letter comes, about the last month in which mail was moved."""
    fill_spam(desk, 100, 8)
    month = next_period(desk)
    next_period(desk)
    desk.restart()
    for _ in range(3):
        look(desk)
    (letter,) = letters(desk)
    assert month.words in parsed(letter)["Subject"]


def test_nothing_is_told_of_the_time_before_it_was_wanted(desk: Desk) -> None:
    """Who switches it on gets the first letter at the end of the present month."""
    fill_spam(desk, 100, 8)
    next_period(desk)
    desk.service = Service()
    desk.restart()
    look(desk)
    desk.service = Service(statement="monthly")
    desk.restart()
    look(desk)
    assert letters(desk) == []
    fill_spam(desk, 200, 4)
    next_period(desk)
    look(desk)
    assert len(letters(desk)) == 1


def test_a_clock_that_is_set_back(desk: Desk) -> None:
    """If the clock was years ahead, the letters go on with the present month."""
    desk.ledger.state.told_until = desk.now() + 1000 * DAY
    look(desk)
    assert desk.ledger.state.told_until == Month.of(desk.now()).since
    assert with_letter(desk)


def test_weekly(desk: Desk) -> None:
    """A letter may tell of a week."""
    desk.service = Service(statement="weekly")
    desk.restart()
    look(desk)
    fill_spam(desk, 100, 4)
    week = next_period(desk, Week)
    look(desk)
    (letter,) = letters(desk, "INBOX")
    assert f"4 messages moved to Junk in {week.words}" in parsed(letter)["Subject"]


def test_the_letter_is_correct_mail(desk: Desk) -> None:
    """It has the fields of RFC 5322 and RFC 3834, plain text in UTF-8 of short lines, the five messages, no link."""
    content = with_letter(desk)
    found = parsed(content)
    assert {"From", "To", "Subject", "Date", "Message-ID"} <= set(found.keys())
    assert found["Auto-Submitted"] == "auto-generated"
    assert re.fullmatch(r"<[0-9a-f]{24}@[^@<>\s]+>", found["Message-ID"])
    assert abs(parsedate_to_datetime(found["Date"]).timestamp() - desk.now()) < 60
    assert (found.get_content_type(), found.get_content_charset()) == ("text/plain", "utf-8")
    text = found.get_content()
    assert max(map(len, content.decode().splitlines())) <= 100
    assert text.count("\n- ") == 5
    assert not re.search(r"https?:|www\.|mailto:|<|>", text)


@pytest.mark.parametrize(
    ("subject", "shown"),
    [
        ("\u202egnp.exe \x1b[2J\r\nTo: you", "gnp. exe [2J To: you"),
        ("see https://evil.example/x", "see https: //evil. example/x"),
        ("see www.evil.example", "see www. evil. example"),
        ("pay 1.50 at 9 a.m.", "pay 1.50 at 9 a. m."),
        ("x" * 500, "x" * 159 + "…"),
    ],
)
def test_a_subject_is_made_harmless(subject: str, shown: str) -> None:
    """A stranger's subject is one short line without control characters, marks of direction and links."""
    assert harmless(subject) == shown


def test_it_is_never_judged_learned_or_moved(desk: Desk) -> None:
    """In its place, read, answered, marked and kept for weeks, the letter teaches nothing, and has no verdict."""
    content = with_letter(desk)
    before = desk.ledger.lessons.totals().tolist()
    path = desk.paths(content, "INBOX")[0]
    keywords = Path(desk.folder("INBOX").subdir(messages.KEYWORDS_FILE))
    keywords.write_text("0 $Junk\n1 $NotJunk\n")
    here = path
    for flags in ("S", "RS", "RSa", "RSb"):
        here = here.rename(path.parent.parent / "cur" / f"{path.name}:2,{flags}")
        desk.work()
    for _ in range(3):
        desk.ahead += 30 * DAY
        desk.work()
    known = desk.known(content)
    assert known is not None
    assert (known.verdict, known.label) == (None, None)
    assert desk.ledger.journal.of_message(known.id) == []
    assert desk.ledger.lessons.totals().tolist() == before
    assert desk.where(content) == ["INBOX"]
    assert known.digest not in {one.digest for one in wanted_questions(desk.ledger, desk.config, 20)}


@pytest.mark.parametrize("way", [("Junk", "INBOX"), ("Archive", "Junk", "INBOX"), ("Trash", "INBOX"), ("TrainSpam",)])
@pytest.mark.parametrize("how", ["rename", "new name", "copied, then deleted"])
def test_it_may_be_moved_anywhere(desk: Desk, way: tuple[str, ...], how: str) -> None:
    """A person moves the letter from folder to folder, by any program: that teaches nothing, and it stays there."""
    content, source = with_letter(desk), "INBOX"
    before = desk.ledger.lessons.totals().tolist()
    for folder in way:
        path = desk.paths(content, source)[0]
        name = f"{path.name.partition(':')[0]}:2,S" if how == "rename" else f"{next(desk.bases)}:2,S"
        target = Path(desk.folder(folder).subdir("cur")) / name
        if how == "copied, then deleted":
            target.write_bytes(b"X-TUID: abcdefghijkl\n" + content)
            desk.work()
            path.unlink()
            content = target.read_bytes()
        else:
            path.rename(target)
        desk.work()
        assert desk.where(content) == [folder]
        source = folder
    known = desk.known(content)
    assert known is not None
    assert (known.verdict, known.label, known.rescued_at) == (None, None, None)
    assert desk.ledger.journal.of_message(known.id) == []
    assert desk.ledger.lessons.totals().tolist() == before


def test_a_forged_copy_is_judged(desk: Desk) -> None:
    """The same bytes delivered again, and other text under its From and Message-ID, are messages like any other."""
    content = with_letter(desk)
    desk.deliver(content)
    known = desk.known(content)
    assert known is not None
    assert [action.kind for action in desk.ledger.journal.of_message(known.id)] == ["judged"]
    forged = content.partition(b"\n\n")[0] + b"\n\n" + message("spam", 990).partition(b"\n\n")[2]
    desk.deliver(forged)
    known = desk.known(forged)
    assert known is not None
    assert known.verdict is not None


def test_a_letter_from_a_backup(desk: Desk) -> None:
    """A letter that was deleted and is restored from a backup, under any name, is still the filter's."""
    content = with_letter(desk)
    desk.paths(content, "INBOX")[0].unlink()
    desk.work()
    desk.ahead += 40 * DAY
    desk.deliver(content)
    known = desk.known(content)
    assert known is not None
    assert known.verdict is None
    assert {place.origin for place in desk.ledger.locations.of_message(known.id)} == {"letter"}


def test_a_person_cannot_teach_it(desk: Desk) -> None:
    """Training by hand leaves the letter out, one by one and among others."""
    content = with_letter(desk)
    before = desk.ledger.lessons.totals().tolist()
    for how in (How.HAND, How.TELL):
        assert training.learn_message(desk.ledger, content, Label.SPAM, "a test", desk.now(), how=how) is None
    batch = Batch.of([read(content), read(message("ham", 500))], ["/a", "/b"])
    (change,) = training.learn_batches(desk.ledger, [batch], Label.HAM, "a test", desk.now(), how=How.HAND)
    assert change.digest == identity(message("ham", 500))
    assert desk.ledger.lessons.totals().tolist()[0] == before[0] + 1


def trip(desk: Desk, number: int = 700) -> None:
    """The circuit breaker has just stopped moving, and a message stays for it."""
    desk.ledger.state.stopped_at = desk.now()
    desk.deliver(message("spam", number))
    assert desk.where(message("spam", number)) == ["INBOX"]


def test_a_stop_is_told_once(desk: Desk) -> None:
    """When the circuit breaker stops moving, one letter says so and what to do; the next stop is told again."""
    trip(desk)
    for _ in range(3):
        look(desk)
        go_to(desk, desk.now() + 3600)
    desk.restart()
    look(desk)
    (letter,) = letters(desk, "INBOX")
    found = parsed(letter)
    assert found["Subject"] == "spamnb: the filter has stopped moving mail"
    assert "1 message that it calls spam stays in your inbox" in found.get_content().replace("\n", " ")
    assert "spamnb resume" in found.get_content()
    resume(desk.ledger, desk.now())
    look(desk)
    assert len(letters(desk)) == 1
    go_to(desk, desk.now() + DAY)
    trip(desk, 701)
    look(desk)
    assert len(letters(desk, "INBOX")) == 2


def test_mail_that_cannot_be_moved_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Junk takes no mail for an hour, one letter says why, however often that happens in a week."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for number in range(3):
        with monkeypatch.context() as patch:
            patch.setattr("spamnb.acts.moves.move", full)
            desk.deliver(message("spam", 700 + number))
            job = Letters(desk.account)
            for hour in range(3):
                go_to(desk, desk.now() + 3600)
                desk.work()
                job.step_if_due(desk.now())
                assert len(letters(desk, "INBOX")) == (number > 0 or hour > 0)
        desk.work()
        job.step_if_due(desk.now())
    (letter,) = letters(desk)
    assert "No space left on device." in parsed(letter).get_content().replace("\n", " ")


def test_nobody_is_told_who_wants_no_letters(desk: Desk) -> None:
    """Without `service.statement` no letter tells of a stop."""
    desk.service = Service()
    desk.restart()
    trip(desk)
    look(desk)
    assert letters(desk) == []


def test_an_inbox_that_takes_nothing(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the letter cannot be written, the log and the ledger say so once; then it is written, once."""
    fill_spam(desk, 100, 8)
    next_period(desk)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr("spamnb.acts.letters.write_draft", full)
        job = Letters(desk.account)
        for _ in range(3):
            job.step_if_due(desk.now())
            go_to(desk, desk.now() + 3600)
    assert caplog.text.count("No space left on device; free some space there") == 1
    assert desk.ledger.state.letter_fault == "No space left on device; free some space there"
    assert letters(desk) == []
    look(desk)
    assert desk.ledger.state.letter_fault == ""
    assert len(letters(desk)) == 1


def test_a_draft_that_could_not_be_delivered(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A letter whose last step fails is under way, also if letters are no longer wanted, and comes once."""
    fill_spam(desk, 100, 8)
    next_period(desk)

    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("spamnb.acts.letters.deliver_draft", broken)
        look(desk)
    assert letters(desk) == []
    desk.service = Service()
    desk.restart()
    look(desk)
    assert len(letters(desk, "INBOX")) == 1
    assert desk.ledger.state.letter is None


def test_without_junk(desk: Desk) -> None:
    """If Junk is gone with its mail, the letter still says how much was moved, and shows no message."""
    fill_spam(desk, 100, 8)
    month = next_period(desk)
    for directory in ("new", "cur", "tmp"):
        for path in Path(desk.folder("Junk").subdir(directory)).iterdir():
            path.unlink()
        os.rmdir(desk.folder("Junk").subdir(directory))
    look(desk)
    (letter,) = letters(desk, "INBOX")
    assert f"8 messages moved to Junk in {month.words}" in parsed(letter)["Subject"]
    assert "\n- " not in parsed(letter).get_content()


def test_a_restored_ledger_does_not_write_it_again(desk: Desk, tmp_path: Path) -> None:
    """A ledger of before the letter finds the letter in the inbox, by the name that follows from what it tells."""
    fill_spam(desk, 100, 8)
    next_period(desk)
    with Ledger(str(tmp_path / "copy")) as copy:
        desk.ledger._connection._sqlite.backup(copy._connection._sqlite)
    look(desk)
    (content,) = letters(desk)
    path = desk.paths(content, "INBOX")[0]
    path.rename(path.parent.parent / "cur" / f"{path.name}:2,S")
    desk.stop()
    desk.ledger.close()
    desk.ledger = Ledger(str(tmp_path / "copy"))
    desk.start()
    look(desk)
    assert len(letters(desk)) == 1
    assert desk.ledger.state.letter is None


def test_silence(desk: Desk) -> None:
    """Silence about the drawn messages is an answer if the letter was read, and somebody has looked into Junk since."""
    content = with_letter(desk)
    told = desk.ledger.state.told
    assert told is not None
    assert 1 <= len(told.drawn) <= 2
    assert set(told.drawn) < set(told.shown)
    month = Month.of(told.at).before

    def answered() -> int:
        look(desk)
        return len(statement(desk.ledger, desk.config, month).answered)

    assert answered() == 0
    path = desk.paths(content, "INBOX")[0]
    path.rename(path.parent.parent / "cur" / f"{path.name}:2,S")
    assert answered() == 0
    desk.ahead += DAY
    desk.ledger.locations.set_spam_seen_at(1, desk.now())
    before = desk.ledger.lessons.totals().tolist()
    assert answered() == len(told.drawn)
    assert answered() == len(told.drawn)
    assert desk.ledger.lessons.totals().tolist() == before
    assert statement(desk.ledger, desk.config, month).at_most is not None


def test_the_statement_shows_what_the_letter_shows(desk: Desk) -> None:
    """After an answer about one of the five, no other message comes in its place: nobody was asked about that."""
    fill_spam(desk, 100, 8)
    month = next_period(desk)
    look(desk)
    told = desk.ledger.state.told
    assert told is not None
    assert {one.moved.digest for one in statement(desk.ledger, desk.config, month).shown} == set(told.shown)
    answers = Answers(desk.ledger, desk.config)
    answers.call(told.shown[0], Label.HAM)
    assert {one.moved.digest for one in statement(desk.ledger, desk.config, month).shown} == set(told.shown[1:])
    done = none_is_mine(answers, desk.ledger, told.shown, "a test")
    assert len(done.answers) == 4
    labels = [desk.ledger.lessons.find(digest) for digest in told.shown]
    assert [lesson and lesson.decision for lesson in labels] == [Label.HAM, *[Label.SPAM] * 4]
    assert statement(desk.ledger, desk.config, month).shown == ()
