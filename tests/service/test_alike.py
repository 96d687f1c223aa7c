"""Messages that agree in Message-ID, Date and From, and in nothing that a reader sees."""

import logging
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import header_digest, identity
from tests.service.desk import DAY, Desk

HAM, SPAM = 0, 1
ALIKE = "judged on its own, although a known message has its Message-ID, Date and From"


def body_of(content: bytes) -> bytes:
    """The text of a message."""
    return content.partition(b"\n\n")[2]


def as_if(content: bytes, original: bytes) -> bytes:
    """Return the message with the Message-ID, Date and From of a different one, and its own Subject."""
    forged = content
    for name in (b"From", b"Date", b"Message-ID"):
        mine, its = (
            next(line for line in raw.split(b"\n") if line.startswith(name + b":")) for raw in (forged, original)
        )
        forged = forged.replace(mine, its)
    assert header_digest(forged) == header_digest(original)
    return forged


def in_two_ways(ham: bytes, spam: bytes) -> tuple[bytes, bytes]:
    """One body that is a letter under one boundary, and spam under another; both with the head of the letter."""
    body = b"".join(
        b"--%s\nContent-Type: text/plain\n\n%s\n--%s--\n" % (boundary, body_of(content), boundary)
        for boundary, content in ((b"one", ham), (b"two", spam))
    )
    letter, disguised = (
        as_if(content, ham)
        .partition(b"\n\n")[0]
        .replace(b'text/plain; charset="utf-8"', b'multipart/mixed; boundary="%s"' % boundary)
        for boundary, content in ((b"one", ham), (b"two", spam))
    )
    assert b"multipart" in letter
    return letter + b"\n\n" + body, disguised + b"\n\n" + body


def answer(desk: Desk, letter: bytes) -> None:
    """The person answers, and files the letter."""
    (path,) = desk.paths(letter, "INBOX")
    path.rename(Path(desk.folder("INBOX").subdir("cur")) / f"{path.name}:2,RS")
    desk.work()
    assert desk.lesson(letter) == (HAM, False)


@pytest.mark.parametrize("preamble", [0, 270_000])
def test_one_body_under_two_boundaries(desk: Desk, preamble: int, caplog: pytest.LogCaptureFixture) -> None:
    """Spam with the bytes of an answered letter, under another boundary and Subject, is judged by itself, and logged.

    Also where what they differ in stands behind a long preamble.
    """
    caplog.set_level(logging.INFO)
    letter, disguised = in_two_ways(message("ham", 901), message("spam", 901))
    filler = b"x" * 99 + b"\n"
    letter, disguised = (raw.replace(b"\n\n", b"\n\n" + filler * (preamble // 100), 1) for raw in (letter, disguised))
    desk.deliver(letter)
    answer(desk, letter)
    caplog.clear()
    desk.deliver(disguised)
    assert desk.where(disguised) == ["Junk"]
    assert ALIKE in caplog.text
    assert desk.lesson(letter) == (HAM, False)


def test_a_list_post_sent_again_with_a_spam_subject(desk: Desk) -> None:
    """The honest post stays in the inbox, though a person put the same text under a spam Subject into Junk."""
    post = message("ham", 901)
    again = post.replace(b"Subject: ", b"Subject: CHEAP Viagra 80% OFF!!! ", 1)
    desk.deliver(again)
    desk.take(again, *desk.where(again), "Junk")
    assert desk.lesson(again) == (SPAM, False)
    desk.deliver(post)
    assert desk.where(post) == ["INBOX"]
    assert desk.lesson(post) == (None, False)


def test_forged_head_of_a_known_letter(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Spam with the Message-ID, Date and From of an answered letter inherits nothing: it is judged, moved and logged.

    Also when that letter has just left the inbox.
    """
    caplog.set_level(logging.INFO)
    letter = message("ham", 901)
    desk.deliver(letter)
    answer(desk, letter)
    for number in (901, 902):
        forged = as_if(message("spam", number), letter)
        caplog.clear()
        desk.deliver(forged)
        assert desk.where(forged) == ["Junk"]
        assert ALIKE in caplog.text
        known = desk.known(forged)
        assert known is not None
        (moved,) = desk.ledger.journal.of_message(known.id)
        assert ALIKE in moved.why
        for path in desk.paths(letter, "INBOX"):
            path.unlink()


def test_new_mail_with_a_head_of_its_own(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """About other mail the log says nothing of the kind."""
    caplog.set_level(logging.INFO)
    for number in (901, 902):
        desk.deliver(message("ham", number))
    assert "stays in INBOX, ham" in caplog.text
    assert ALIKE not in caplog.text


def test_forgery_of_rescued_mail(desk: Desk) -> None:
    """That a person rescued a message saves no other one with its Message-ID."""
    spam = message("spam", 901)
    desk.deliver(spam)
    desk.take(spam, "Junk", "INBOX")
    forged = as_if(message("spam", 902), spam)
    desk.deliver(forged)
    assert desk.where(forged) == ["Junk"]


def test_forgery_of_what_a_person_called_spam(desk: Desk) -> None:
    """A letter with the Message-ID of learned spam is judged by itself, and stays."""
    spam = message("spam", 901)
    desk.deliver(spam, "Trash")
    desk.take(spam, "Trash", "Junk")
    letter = as_if(message("ham", 901), spam)
    desk.deliver(letter)
    assert (desk.lesson(letter), desk.where(letter)) == ((None, False), ["INBOX"])


def changed_on_its_way(content: bytes) -> bytes:
    """As a server changes a message when it is moved: a mark in the Subject, and a footer."""
    changed = content.replace(b"Subject: ", b"Subject: ***SPAM*** ", 1) + b"\n-- \nchecked by the provider\n"
    assert identity(changed) != identity(content)
    return changed


def move_changed(desk: Desk, content: bytes, source: str, destination: str) -> bytes:
    """A message leaves a folder and comes to a different one, changed."""
    changed = changed_on_its_way(content)
    desk.paths(content, source)[0].unlink()
    desk.deliver(changed, destination, "S")
    return changed


@pytest.mark.parametrize(
    ("source", "destination", "lesson"),
    [
        ("INBOX", "Junk", (SPAM, False)),
        ("Archive", "Junk", (SPAM, False)),
        ("INBOX", "Archive", (HAM, False)),
        ("INBOX", "Trash", (None, False)),
    ],
)
def test_changed_on_its_way(desk: Desk, source: str, destination: str, lesson: tuple[int | None, bool]) -> None:
    """A message that has just left a folder and comes to Junk or a ham folder, changed, was moved: a decision."""
    desk.deliver(letter := message("ham", 901), source)
    assert desk.lesson(move_changed(desk, letter, source, destination)) == lesson
    assert desk.lesson(letter) == (None, False), "the lesson is of what lies there"


@pytest.mark.parametrize("destination", ["Junk", "Archive"])
@pytest.mark.parametrize("left", ["not at all", "long ago", "for the trash"])
def test_changed_copies(desk: Desk, destination: str, left: str) -> None:
    """Mail with the Message-ID of a known message that is still there, moved elsewhere or long gone was not moved."""
    desk.deliver(message("ham", 902))  # a mailbox without one message is taken for one that is not there
    desk.deliver(letter := message("ham", 901))
    if left == "long ago":
        desk.paths(letter, "INBOX")[0].unlink()
        desk.work()
        desk.ahead += DAY
    elif left == "for the trash":
        desk.take(letter, "INBOX", "Trash")
    copy = changed_on_its_way(letter)
    desk.deliver(copy, destination)
    assert desk.lesson(copy) == ((SPAM, True) if destination == "Junk" else (None, False))


def test_one_try_for_a_forger(desk: Desk) -> None:
    """Mail under the head of a message, sent to a ham folder again and again until that is deleted, is not learned."""
    spam = message("spam", 901)
    desk.deliver(message("ham", 902))
    desk.deliver(spam)
    sprayed = [as_if(message("spam", number), spam) for number in (902, 903, 904)]
    desk.deliver(sprayed[0], "Archive")
    desk.paths(spam, "Junk")[0].unlink()
    for content in sprayed[1:]:
        desk.deliver(content, "Archive")
    assert {desk.lesson(content) for content in sprayed} == {(None, False)}


def test_a_head_opens_no_training_folder(desk: Desk) -> None:
    """Without trust in deliveries the head of a message that was just deleted teaches nothing in a training folder."""
    desk.restart(trust_delivery=False)
    desk.deliver(message("ham", 902))
    desk.deliver(letter := message("ham", 901))
    assert desk.lesson(move_changed(desk, letter, "INBOX", "TrainSpam")) == (None, False)


def test_changed_while_the_service_was_down(desk: Desk) -> None:
    """A message found gone long after the other one appeared proves nothing."""
    desk.ahead = 0.0
    desk.deliver(letter := message("ham", 901))
    desk.stop()
    desk.paths(letter, "INBOX")[0].unlink()
    desk.ahead += DAY
    copy = changed_on_its_way(letter)
    Path(desk.folder("Archive").subdir("new"), next(desk.bases)).write_bytes(copy)
    desk.ahead += DAY
    desk.start()
    assert desk.lesson(copy) == (None, False)


def test_changed_spam_in_the_inbox(desk: Desk) -> None:
    """In the inbox a changed copy of what has just left Junk is judged, and learned by nothing."""
    spam = message("spam", 901)
    desk.deliver(spam)
    changed = move_changed(desk, spam, "Junk", "INBOX")
    assert desk.lesson(changed) == (None, False)
    known = desk.known(changed)
    assert known is not None
    assert known.verdict == "spam"
