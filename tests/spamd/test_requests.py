"""Each command of the spamd protocol, on a real ledger: it answers, remembers, learns and forgets."""

import contextlib
import os
import re
import sqlite3
import threading
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from spamnb.acts.undo import undo
from spamnb.acts.withheld import pause, resume
from spamnb.base.label import Label, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.config import Learning, Scoring, Senders
from spamnb.delivery.spamc import ask as ask_for_pipe
from spamnb.filter.judge import Filter
from spamnb.identity.digests import identity
from spamnb.mail.reading import read
from spamnb.spamd.peers import Peer
from spamnb.spamd.protocol import Command, SpamdRequest
from spamnb.spamd.requests import Requests
from tests.filter.test_vouched import BORDER, LEAVE, SIGNED
from tests.lessons import NO_MAILBOX
from tests.patience import PATIENCE
from tests.spamd.conftest import Service, request

SPAM, HAM = message("spam", 900), message("ham", 900)
UNSURE = b"Subject: hello\n\nnothing\n"


def told(answer: bytes) -> tuple[bool, float]:
    """The verdict of an answer."""
    found = re.search(rb"\r\nSpam: (True|False) ; (-?\d+\.\d) / 5\.0\r\n", answer)
    assert found, answer
    return found[1] == b"True", float(found[2])


def body(answer: bytes) -> bytes:
    """Return the part of an answer behind its fields."""
    return answer.partition(b"\r\n\r\n")[2]


def label(service: Service, mail: bytes) -> Label | None:
    """Return the label of a message."""
    with service.ledger() as ledger:
        found = ledger.lessons.find(identity(mail))
        return None if found is None else found.label


@pytest.mark.parametrize("command", ["CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "HEADERS", "PROCESS"])
def test_verdict(service: Service, command: str) -> None:
    """Every command tells the verdict that `spamnb score` gives, and points on the same side of 5.0."""
    for mail in (SPAM, HAM, UNSURE):
        with service.ledger() as ledger:
            verdict = Filter(ledger.lessons, Scoring(), Senders()).judge(read(mail)).verdict
        is_spam, points = told(service.ask(request(command, mail)))
        assert is_spam == (verdict is Verdict.SPAM) == (points >= 5.0)


def test_symbols(service: Service) -> None:
    """SYMBOLS names the verdict."""
    answers = [body(service.ask(request("SYMBOLS", mail))) for mail in (SPAM, HAM, UNSURE)]
    assert answers == [b"SPAMNB_SPAM,", b"SPAMNB_HAM,", b"SPAMNB_UNSURE,"]


def test_report(service: Service) -> None:
    """A report is short, in ASCII, with the verdict and the strongest clues; REPORT_IFSPAM has none of ham."""
    odd = message("spam", 901).replace(b"Subject: ", "Subject: caf\u00e9 \u202e ".encode())
    for mail in (SPAM, HAM, odd):
        text = body(service.ask(request("REPORT", mail)))
        assert len(text) < 4096
        assert text.isascii()
        assert max(map(len, text.splitlines())) <= 76
    assert b"spam, 9.9 points of 5.0 required" in body(service.ask(request("REPORT_IFSPAM", SPAM)))
    answer = service.ask(request("REPORT_IFSPAM", HAM))
    assert re.search(rb"Content-length: 0\r\nSpam: False ; -\d\.\d / 5\.0\r\n\r\n\Z", answer)


@pytest.mark.parametrize("how", ["", "few points", "a name", "held"])
@pytest.mark.parametrize("mail", [SPAM, HAM, UNSURE, message("ham", 5)])
def test_report_adds_up(service: Service, mail: bytes, how: str) -> None:
    """The points in a report's table add up to the score, and the remainder has a name."""
    if how == "few points":
        service.set(most_points=6.0)
    elif how == "a name":
        service.use(replace(service.config, senders=Senders(block=("*",))))
    elif how == "held":
        service.use(replace(service.config, learning=Learning(minimum_messages=1000)))
    answer = service.ask(request("REPORT", mail))
    head, _, table = body(answer).decode().partition("description\n")
    rows = re.findall(r"^( ?-?[0-9]+\.[0-9]) (SPAMNB_\w+) +(\w+: .+)$", table, re.MULTILINE)
    assert sum(Decimal(points.strip()) for points, _, _ in rows) == Decimal(str(told(answer)[1]))
    assert f"{told(answer)[1]:.1f} points of 5.0 required" in head
    names = [name for _, name, _ in rows]
    assert names[0] == "SPAMNB_START"
    assert ("SPAMNB_HELD" in names) == (how == "held")
    assert ("SPAMNB_LISTED" in names) == (
        how == "a name" and mail not in (SPAM, UNSURE)
    )  # one is so, one has no sender
    beyond = [SPAM] if how != "few points" else [SPAM, HAM, message("ham", 5)]
    assert ("SPAMNB_LIMIT" in names) == (how != "held" and mail in beyond)


def test_report_of_a_newsletter(service: Service) -> None:
    """If the person's own server vouches for a newsletter, a row takes the points that it is spared."""
    head = "\n".join([SIGNED, BORDER, LEAVE, "From: news@shop.example", "X-Was-"]).encode()
    service.use(replace(service.config, authserv_id="mx.example.org"))
    answer = service.ask(request("REPORT", head + SPAM))
    rows = re.findall(rb"^( ?-?[0-9]+\.[0-9]) SPAMNB_(\w+)", body(answer), re.MULTILINE)
    assert (told(answer), rows[-1][1]) == ((False, 4.9), b"VOUCHED")
    assert sum(Decimal(points.decode().strip()) for points, _ in rows) == Decimal("4.9")
    assert body(service.ask(request("SYMBOLS", head + SPAM))) == b"SPAMNB_UNSURE,"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_process(service: Service, end: bytes) -> None:
    """PROCESS returns the message with the verdict in its header and without forged ones, otherwise unchanged."""
    forged = b"X-Spam-Status: No, score=-5\n\tautolearn=ham\nx-spam-LEVEL: none\nX-Spamnb: ham\n"
    mail = (b"From bob Sat Nov 21 10:00:00 2026\nReturn-Path: <a@b>\n" + forged + SPAM).replace(b"\n", end)
    got = re.sub(rb"(?<=probability=)0\.9999\d\d", b"P", body(service.ask(request("PROCESS", mail))))
    assert got == (
        b"From bob Sat Nov 21 10:00:00 2026\nReturn-Path: <a@b>\n"
        b"X-Spamnb: spam, probability=P, score=9.9, version=0.1.0\nX-Spam-Flag: YES\n"
        b"X-Spam-Status: Yes, score=9.9 required=5.0 tests=SPAMNB_SPAM version=0.1.0\n"
        b"X-Spam-Level: *********\n" + SPAM
    ).replace(b"\n", end)


@pytest.mark.parametrize(
    "mail",
    [
        SPAM,
        SPAM.replace(b"\n", b"\r\n"),
        b"no header\n\nat all\n",
        b"\nbody\n\nmore\n",
        b"Subject: x\n",
        b"a\x00b",
        b"",
    ],
)
def test_headers(service: Service, mail: bytes) -> None:
    """HEADERS with the rest of the message, which spamc appends, is what PROCESS gives; nothing is lost or doubled."""
    ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := mail.find(mark)) >= 0]
    rest = mail[min(ends, default=len(mail)) :]
    header = body(service.ask(request("HEADERS", mail, "1.4", length=False)))
    assert header + rest == body(service.ask(request("PROCESS", mail)))


def test_added_fields_are_few(service: Service) -> None:
    """The added fields are far shorter than what spamc accepts beyond the message."""
    assert len(body(service.ask(request("PROCESS", SPAM)))) - len(SPAM) < 8000


def test_pipe_is_answered(service: Service) -> None:
    """`spamnb filter` finds the verdict in the answer."""
    found = ask_for_pipe([service.path], [SPAM], SPAM.index(b"\n\n") + 2, "bob")
    assert found is not None
    assert (found.verdict, found.points) == (Verdict.SPAM, 9.9)


# What is not told


def test_untaught(service: Service) -> None:
    """A filter that has too few lessons tells no verdict, and says why; nothing is remembered."""
    service.use(replace(service.config, learning=Learning(minimum_messages=1000)))
    assert told(service.ask(request("CHECK", SPAM))) == (False, 0.0)
    assert b"No verdict is given yet: 975 more ham messages" in service.ask(request("REPORT", SPAM))
    assert b"X-Spam-Flag" not in service.ask(request("PROCESS", SPAM))
    with service.ledger() as ledger:
        assert ledger.early_verdicts.find(identity(SPAM), time.time()) is None


def test_report_cuts_no_sentence_off(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences of a report are complete, however long, in lines of limited length."""
    why = "12 of the newest 200 ham messages would be taken for spam"
    plain = service.config
    service.use(replace(plain, senders=Senders(block=("*",))))
    reports = [body(service.ask(request("REPORT", HAM)))]
    monkeypatch.setattr("spamnb.acts.may_move.missing_now", lambda *_: why)
    service.use(replace(plain, learning=Learning(minimum_messages=1000)))
    reports.append(body(service.ask(request("REPORT", HAM))))
    assert max(len(line) for text in reports for line in text.splitlines()) <= 76
    said = [" ".join(text.decode().split()) for text in reports]
    assert "List: the sender is in senders of the configuration" in said[0]
    assert f"No verdict is given yet: {why}" in said[1]


def test_moving_stopped(service: Service) -> None:
    """While moving is stopped the service gives no verdict: a rule would move the mail."""
    with service.ledger() as ledger:
        pause(ledger)
        assert told(service.ask(request("CHECK", SPAM))) == (False, 0.0)
        assert b"moving is stopped" in service.ask(request("REPORT", SPAM))
        resume(ledger, time.time())
    assert told(service.ask(request("CHECK", SPAM))) == (True, 9.9)


def test_most_points(service: Service) -> None:
    """No answer has more points than configured: recipes reject from 10 up."""
    service.set(most_points=6.0)
    assert told(service.ask(request("CHECK", SPAM))) == (True, 6.0)
    assert told(service.ask(request("CHECK", HAM))) == (False, -6.0)


# TELL


def tell(service: Service, mail: bytes, *fields: str, user: str = "bob") -> bytes:
    """Return the answer to TELL."""
    return service.ask(request("TELL", mail, "1.5", *fields, user=user))


def test_learn_and_forget(service: Service) -> None:
    """The answer reports learning, relearning and forgetting; a repetition succeeds and changes nothing."""
    spam, ham, remove = ["Message-class: spam", "Set: local"], ["Message-class: ham", "Set: local"], ["Remove: local"]
    done, undone, same = b"DidSet: local\r\n\r\n", b"DidRemove: local\r\n\r\n", b"EX_OK\r\n\r\n"
    for fields, end, expected in (
        (spam, done, Label.SPAM),
        (spam, same, Label.SPAM),
        (ham, done, Label.HAM),
        (remove, undone, None),
        (remove, same, None),
        (["Message-class: spam", "Set: local,remote"], done, Label.SPAM),
        (["Message-class: ham", "Set: local", "Remove: remote"], done, Label.HAM),
        (["Message-class: spam", "Set: remote"], same, Label.HAM),
    ):
        assert tell(service, UNSURE, *fields).endswith(end)
        assert label(service, UNSURE) == expected


def test_learned_with_other_line_ends(service: Service) -> None:
    """With the CR LF of Sieve and the mbox line of Exim, it is the same message."""
    tell(service, SPAM, "Message-class: spam", "Set: local")
    again = b"From bob Sat Nov 21 10:00:00 2026\r\n" + SPAM.replace(b"\n", b"\r\n")
    assert tell(service, again, "Message-class: spam", "Set: local").endswith(b"EX_OK\r\n\r\n")


def test_tell_is_undone(service: Service) -> None:
    """A lesson by TELL is in the history with the sent name, harmless, and can be undone."""
    with service.ledger() as ledger:
        before = ledger.lessons.totals().tolist()
        tell(service, UNSURE, "Message-class: spam", "Set: local", user="../../x\x1b[2J" + "y" * 100)
        (action,) = ledger.journal.newest(1)
        assert action.why == "spamc -L for ../../x [2J" + "y" * 53
        assert [outcome.fault for outcome in undo(ledger, NO_MAILBOX, [action])] == [None]
        assert ledger.lessons.totals().tolist()[:2] == before[:2]
        assert ledger.lessons.verify() == []


def test_users_name_no_file(service: Service) -> None:
    """Names of users that look like paths select nothing, and make no file."""
    service.ask(request("CHECK", SPAM))
    before = sorted(service.directory.iterdir()), sorted(service.directory.parent.iterdir())
    for user in ("../../x", "/etc/passwd", "a\x00b", "%h", "x" * 5000):
        assert told(service.ask(request("CHECK", SPAM, user=user))) == (True, 9.9)
    assert (sorted(service.directory.iterdir()), sorted(service.directory.parent.iterdir())) == before


def test_tell_not_allowed(service: Service) -> None:
    """If TELL is switched off it is refused, in one line that spamc does not take for success."""
    service.set(teach="nobody")
    got = tell(service, SPAM, "Message-class: spam", "Set: local")
    assert got == b"SPAMD/1.0 69 Service Unavailable: TELL is not allowed here (spamd.teach)\r\n"
    assert label(service, SPAM) is None


# The ledger


def reads() -> int:
    """System calls by which this process has read so far (proc(5), io)."""
    return int(re.findall(r"syscr: (\d+)", Path("/proc/self/io").read_text())[0])


def test_few_pages_are_read_again(service: Service) -> None:
    """A verdict that is remembered lets no page of the ledger be read again for the next message."""
    peer, mails = Peer(os.getuid()), [message(kind, number) for kind in ("ham", "spam") for number in range(40)]
    with contextlib.closing(Requests(service.config)) as requests:
        asked = [SpamdRequest(Command.CHECK, (1, 5), message=mail) for mail in mails]
        for each in asked:  # what is imported and remembered
            requests.answer(each, peer)
        before = reads()
        for each in asked:
            requests.answer(each, peer)
        assert (reads() - before) / len(asked) < 10
    with service.ledger() as ledger:
        assert all(ledger.early_verdicts.find(identity(mail), time.time()) for mail in mails)


def test_remembered(service: Service) -> None:
    """A verdict is remembered before it is sent."""
    service.ask(request("CHECK", SPAM, user="anna"))
    with service.ledger() as ledger:
        found = ledger.early_verdicts.find(identity(SPAM), time.time())
        assert found is not None
        assert (found.verdict, found.asker) == ("spam", "spamd for anna")


def test_judged_while_another_process_learns(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process holds the ledger, a verdict is still sent, and remembered afterwards."""
    monkeypatch.setattr("spamnb.spamd.requests._PATIENCE", 10 * PATIENCE)  # longer than this client waits
    service.ask(request("CHECK", HAM))
    with contextlib.closing(sqlite3.connect(service.config.ledger, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert told(service.ask(request("CHECK", SPAM))) == (True, 9.9)
        other.execute("COMMIT")
    assert tell(service, UNSURE, "Remove: local").endswith(b"EX_OK\r\n\r\n")  # is written after it
    with service.ledger() as ledger:
        assert ledger.early_verdicts.find(identity(SPAM), time.time()) is not None


def test_told_to_learn_behind_verdicts_that_wait(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A TELL during another process's work is answered in time, even if verdicts wait to be written."""
    patience, waiting = 1.0, 60
    monkeypatch.setattr("spamnb.spamd.requests._PATIENCE", patience)
    monkeypatch.setattr("spamnb.spamd.requests.REMEMBERED_WITHIN", 0.0)
    with contextlib.closing(sqlite3.connect(service.config.ledger, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(waiting):
            assert told(service.ask(request("CHECK", SPAM))) == (True, 9.9)
        began = time.monotonic()
        assert tell(service, UNSURE, "Remove: local").startswith(b"SPAMD/1.0 69 ")
        assert time.monotonic() - began < waiting * patience / 2  # it takes all of that if each waits for itself
        other.execute("COMMIT")


def test_told_to_learn_while_another_process_learns(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A TELL waits until the ledger is free without occupying a worker: others are answered."""
    monkeypatch.setattr("spamnb.spamd.requests._PATIENCE", 10 * PATIENCE)  # longer than the clients wait
    sent = [
        request("TELL", message("ham", 3000 + number), "1.5", "Message-class: ham", "Set: local") for number in range(5)
    ]
    with contextlib.closing(sqlite3.connect(service.config.ledger, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(service.connect()) for _ in sent]
            for client, each in zip(clients, sent, strict=True):
                client.sendall(each)
            assert told(service.ask(request("CHECK", SPAM))) == (True, 9.9)
            other.execute("COMMIT")
            assert all(client.recv(1000).endswith(b"DidSet: local\r\n\r\n") for client in clients)


def test_new_lessons_count_at_once(service: Service) -> None:
    """A lesson changes the next verdict."""
    mail = b"Subject: zyzzyva quokka\n\nwombat numbat bilby potoroo\n"
    before = told(service.ask(request("CHECK", mail)))
    tell(service, mail, "Message-class: spam", "Set: local")
    assert told(service.ask(request("CHECK", mail))) > before


def test_ledger_gone(service: Service) -> None:
    """Without a ledger the answer is one line without its path; when the ledger is back, verdicts are too."""
    path = service.config.ledger
    aside = path.with_name("aside")
    path.rename(aside)
    assert service.ask(request("CHECK", SPAM)) == (
        b"SPAMD/1.0 69 Service Unavailable: the ledger cannot be used now\r\n"
    )
    aside.rename(path)
    assert told(service.ask(request("CHECK", SPAM))) == (True, 9.9)


@pytest.mark.thorough
def test_many_at_once(service: Service) -> None:
    """Requests of all kinds at once, from many clients, leave a ledger that is the sum of its lessons."""
    failed: list[bytes] = []

    def ask(number: int) -> None:
        for step in range(8):
            mail = message("spam" if step % 2 else "ham", 2000 + number * 10 + step)
            kind = "spam" if step % 2 else "ham"
            for sent in (
                request("CHECK", mail),
                request("TELL", mail, "1.5", f"Message-class: {kind}", "Set: local"),
                request("REPORT", mail),
            ):
                if b" 0 EX_OK" not in (got := service.ask(sent)):
                    failed.append(got)

    threads = [threading.Thread(target=ask, args=[number]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    with service.ledger() as ledger:
        assert ledger.lessons.verify() == []
        assert ledger.lessons.totals().tolist()[:2] == [25 + 24, 25 + 24]
