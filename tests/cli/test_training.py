"""`train` and `untrain`."""

import json
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from tests.cli.conftest import Run, mail, maildir, mbox


def learned(run: Run) -> dict[str, int]:
    """How many messages of each kind are learned."""
    return dict(json.loads(run("status", "--json").out)["learned"])


def test_everything_that_holds_mail_can_be_learned(home: Path, run: Run) -> None:
    """A message file, a directory of them, a Maildir and an mbox are learned in one call."""
    (home / "one.eml").write_bytes(message("ham", 1))
    mail(home / "some", "ham", 3, first=10)
    maildir(home / "Maildir", INBOX=[message("ham", 20), message("ham", 21)])
    (home / "box").write_bytes(mbox("ham", range(30, 34)))
    assert run("train", "--ham", "one.eml", "some", "Maildir", "box").out == "learned 10 messages as ham\n"
    assert learned(run) == {"ham": 10, "spam": 0}


def test_a_message_is_learned_once(home: Path, run: Run) -> None:
    """A path given twice, a copy, and the same message in an mbox count once."""
    mail(home / "a", "spam", 2)
    mail(home / "b", "spam", 2)
    (home / "box").write_bytes(mbox("spam", range(2)))
    assert run("train", "--spam", "a", "a", "b").out == "learned 2 messages as spam, 4 copies\n"
    assert run("train", "--spam", "box").out == "learned 0 messages as spam, 2 known already\n"
    assert learned(run) == {"ham": 0, "spam": 2}


def test_correction(home: Path, run: Run) -> None:
    """A message learned as ham and then called spam is spam from then on, and no longer ham."""
    mail(home / "a", "spam", 3)
    run("train", "--ham", "a")
    assert run("train", "--spam", "a").out == "learned 3 messages as spam, 3 of them corrected\n"
    assert learned(run) == {"ham": 0, "spam": 3}
    assert run("verify").code == 0


def test_training_begins_the_moving(home: Path, run: Run) -> None:
    """After enough training the filter may move mail, and keeps that right, even if no service has run yet."""
    run("train", "--ham", mail(home / "ham", "ham", 30))
    assert json.loads(run("status", "--json").out)["missing"] == "5 more spam messages to learn"
    run("train", "--spam", mail(home / "spam", "spam", 60))
    assert json.loads(run("status", "--json").out)["missing"] == ""
    run("train", "--ham", mail(home / "wrong", "spam", 10, first=100))
    assert json.loads(run("status", "--json").out)["missing"] == ""


def test_untrain_forgets(home: Path, run: Run) -> None:
    """`untrain` takes a message back, exactly; of what was never learned it says so."""
    mail(home / "a", "spam", 3)
    run("train", "--spam", "a")
    assert run("untrain", "a/1.eml", "a/1.eml").out == "forgot 1 message, 1 not learned\n"
    assert learned(run) == {"ham": 0, "spam": 2}
    assert run("untrain", "a").out == "forgot 2 messages, 1 not learned\n"
    assert json.loads(run("status", "--json").out)["tokens"] == 0
    assert run("verify").code == 0


def test_quiet(home: Path, run: Run) -> None:
    """-q prints nothing if nothing is wrong."""
    mail(home / "a", "spam", 2)
    for arguments in (("train", "--spam", "a"), ("untrain", "a"), ("verify",)):
        result = run("-q", *arguments)
        assert (result.code, result.out, result.err) == (0, "", "")


def test_unreadable_messages_are_left_out_and_named(home: Path, run: Run) -> None:
    """A message that cannot be read is named and left out, the others are learned, and the exit code is 3."""
    mail(home / "a", "ham", 2)
    (home / "a" / "empty.eml").write_bytes(b"")
    result = run("train", "--ham", "a")
    assert (result.code, result.out) == (3, "learned 2 messages as ham\n")
    assert result.err == "spamnb: left out a/empty.eml: it is empty\n"


_NO_MESSAGES = {
    "program": b"\x7fELF\x02\x01\x01\0\0\0:\n",
    "picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "text": b"Dear reader: this is no message.\n\nSubject: nor is this\n",
    "index": b"ham 1.eml\nspam 2.eml\n",
    "zeros": b"\0" * 5000,
}


@pytest.mark.parametrize("given", ["a", *(f"a/{name}" for name in _NO_MESSAGES), "-"])
def test_what_does_not_begin_as_a_message_is_not_learned(home: Path, run: Run, given: str) -> None:
    """A file that begins with neither a field nor a `From ` line is named and left out; exit code 3."""
    mail(home / "a", "ham", 2)
    for name, content in _NO_MESSAGES.items():
        (home / "a" / name).write_bytes(content)
    result = run("train", "--ham", given, stdin=_NO_MESSAGES["text"])
    count = 2 if given == "a" else 0
    assert (result.code, result.out) == (3, f"learned {count} messages as ham\n")
    why = "it is not a message: its first line is neither a header field nor a `From ` line"
    named = [f"a/{name}" for name in sorted(_NO_MESSAGES)] if given == "a" else [given]
    assert result.err.splitlines() == [f"spamnb: left out {name}: {why}" for name in named]


@pytest.mark.parametrize(
    "start", [b"", b"\r\n \n", b"From a@b Mon Jan  1 00:00:00 2024\n", b"\xef\xbb\xbf", b">From a\n"]
)
def test_what_may_stand_before_the_first_field(home: Path, run: Run, start: bytes) -> None:
    """Empty lines, lines of an mbox and a byte order mark may come before the first field."""
    (home / "one").write_bytes(start + message("ham", 1))
    result = run("train", "--ham", "one")
    assert (result.code, result.out, result.err) == (0, "learned 1 message as ham\n", "")


@pytest.mark.parametrize(
    "arguments", [("--spam", "a", "nope"), ("--spam", "nope", "a"), ("a",), ("--spam", "--ham", "a")]
)
def test_wrong_call_learns_nothing(home: Path, run: Run, arguments: tuple[str, ...]) -> None:
    """A mistyped path, or no label, or two, is found before anything is learned."""
    mail(home / "a", "spam", 2)
    assert run("train", *arguments).code in (3, 64)
    assert learned(run) == {"ham": 0, "spam": 0}


def test_an_empty_maildir_is_nothing_wrong(home: Path, run: Run) -> None:
    """An empty Junk folder teaches nothing and is not an error: a nightly job may train on it."""
    maildir(home / "Maildir", Junk=[])
    result = run("train", "--spam", "Maildir/.Junk")
    assert (result.code, result.out) == (0, "learned 0 messages as spam\n")
