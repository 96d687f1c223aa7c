"""Mail that a mail program marks by `$Junk` and `$NotJunk`: it goes to Junk, and back to the inbox."""

from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.acts.undo import undo
from spamnb.acts.withheld import pause
from spamnb.base.label import How, Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.maildir.folders import create_folder
from spamnb.maildir.names import format_name, parse_name
from spamnb.rules.reactions import COPY_SECONDS
from tests.lessons import NO_MAILBOX
from tests.service.desk import ROLES, Desk

HAM, SPAM, WEAK = Label.HAM, Label.SPAM, True
UNKNOWN = b"From: someone@b.example\nMessage-ID: <xyzzy@b.example>\n\nxyzzy\n"


@pytest.fixture(autouse=True)
def keywords(desk: Desk) -> None:
    """Every folder has the keywords, under letters of its own."""
    for name in desk.roles:
        write_keywords(desk, name)


def write_keywords(desk: Desk, name: str) -> None:
    """A folder's list of keywords."""
    lines = ["0 $Junk", "1 $NotJunk"] if name != "Junk" else ["0 $Forwarded", "1 $NotJunk", "2 $Junk"]
    Path(desk.folder(name).subdir("dovecot-keywords")).write_text("\n".join([*lines, ""]))


def mark(desk: Desk, content: bytes, keywords: str, folder: str = "", works: bool = True) -> Path:
    """A mail program marks a message so, and no longer otherwise."""
    folder = folder or desk.where(content)[0]
    (path, *_) = desk.paths(content, folder)
    name = parse_name(path.name)
    plain = "".join(letter for letter in name.flags if letter.isupper())
    marked = path.rename(Path(desk.folder(folder).subdir("cur")) / format_name(name.with_flags(plain + keywords)))
    if works:
        desk.work()
    return marked


def why(desk: Desk, content: bytes) -> list[str]:
    """What the history says of a message, the oldest first."""
    known = desk.known(content)
    return [] if known is None else [action.why for action in desk.ledger.journal.of_message(known.id)]


@pytest.mark.parametrize("letter", [message("ham", 901), UNKNOWN])
def test_to_junk_and_back(desk: Desk, letter: bytes) -> None:
    """`$Junk` moves a message to Junk, and `$NotJunk` back; each is in the history, and the second a decision."""
    desk.deliver(letter)
    mark(desk, letter, "a")
    assert desk.where(letter) == ["Junk"]
    assert desk.lesson(letter) == (SPAM, letter == UNKNOWN)
    assert why(desk, letter)[-2:] == ["marked by a mail client"] * 2
    mark(desk, letter, "b")
    assert (desk.where(letter), desk.lesson(letter)) == (["INBOX"], (HAM, False))
    desk.deliver(b"Received: by another.example\n" + letter)
    assert desk.where(letter) == ["INBOX"]
    assert desk.ledger.journal.intents() == []


def test_not_spam_in_junk(desk: Desk) -> None:
    """`$NotJunk` rescues what the filter has moved to Junk: it is never moved again, not even delivered again."""
    desk.deliver(spam := message("spam", 901))
    mark(desk, spam, "b")
    assert (desk.where(spam), desk.lesson(spam)) == (["INBOX"], (HAM, False))
    training.forget(desk.ledger, [identity(spam)], "by hand", desk.now(), how=How.HAND)
    desk.deliver(again := b"Received: by another.example\n" + spam)
    assert desk.where(again) == ["INBOX"]


@pytest.mark.parametrize("after", ["", "b", "ab"])
def test_a_change_of_mind(desk: Desk, after: str) -> None:
    """A mark that is taken away, or contradicted, before the dwell is over moves nothing."""
    desk.deliver(letter := message("ham", 901))
    path = mark(desk, letter, "a", works=False)
    desk.account.compare()
    assert (desk.where(letter), desk.lesson(letter)) == (["INBOX"], (None, False))
    mark(desk, letter, after)
    assert desk.where(letter) == ["INBOX"]
    assert desk.lesson(letter) == ((HAM, WEAK) if after == "b" else (None, False))
    assert path.name not in {one.name for one in desk.paths(letter, "INBOX")}


def test_both_marks(desk: Desk) -> None:
    """Both marks at once say nothing, in the inbox and in Junk; one of them left alone says something again."""
    desk.deliver(letter := message("ham", 901))
    mark(desk, letter, "ab")
    assert (desk.where(letter), desk.lesson(letter)) == (["INBOX"], (None, False))
    mark(desk, letter, "a")
    assert desk.where(letter) == ["Junk"]
    mark(desk, letter, "bc")
    assert (desk.where(letter), desk.lesson(letter)) == (["Junk"], (SPAM, False))


@pytest.mark.parametrize("how", ["moved", "copied"])
@pytest.mark.parametrize("seconds", [1.0, 60.0])
def test_a_client_that_moves_it_itself(desk: Desk, how: str, seconds: float) -> None:
    """If the client moves the message too, before or after the filter, it is in Junk once, and learned once."""
    desk.deliver(letter := message("ham", 901))
    path = mark(desk, letter, "a", works=False)
    desk.account.compare()
    if seconds > desk.learning.dwell_seconds:
        desk.work()
        assert desk.where(letter) == ["Junk"]
    elif how == "moved":
        path.rename(Path(desk.folder("Junk").subdir("cur")) / f"{next(desk.bases)}:2,Sc")
    else:
        desk.ahead += COPY_SECONDS
        (Path(desk.folder("Junk").subdir("cur")) / f"{next(desk.bases)}:2,c").write_bytes(letter)
        path.rename(f"{path}T")
        desk.work()
        assert desk.where(letter) == ["INBOX", "Junk"], "the filter leaves what is marked as deleted"
        Path(f"{path}T").unlink()
    desk.work()
    assert (desk.where(letter), desk.lesson(letter)) == (["Junk"], (SPAM, False))
    assert len([text for text in why(desk, letter) if text != "ham"]) <= 2


def test_mail_from_before_the_filter(desk: Desk) -> None:
    """Mail that was there before the filter's first start is learned, and stays."""
    root = desk.directory / "older"
    for name in ROLES:
        create_folder(str(root), "maildir++", name)
    desk.stop()
    desk.roots = [root]
    old = message("ham", 901)
    (root / "cur" / "1.a:2,S").write_bytes(old)
    desk.start()
    write_keywords(desk, "INBOX")
    mark(desk, old, "a")
    assert (desk.where(old), desk.lesson(old)) == (["INBOX"], (SPAM, WEAK))


def test_marks_that_only_teach(desk: Desk) -> None:
    """With `move_marked: false` a mark teaches, and moves nothing; with `keywords: false` it does neither."""
    desk.restart(move_marked=False)
    desk.deliver(letter := message("ham", 901))
    desk.deliver(spam := message("spam", 901))
    mark(desk, letter, "a")
    mark(desk, spam, "b")
    assert (desk.where(letter), desk.where(spam)) == (["INBOX"], ["Junk"])
    assert (desk.lesson(letter), desk.lesson(spam)) == ((SPAM, False), (HAM, False))
    desk.restart(move_marked=True, keywords=False)
    desk.deliver(other := message("ham", 902))
    mark(desk, other, "a")
    assert (desk.where(other), desk.lesson(other)) == (["INBOX"], (None, False))


def test_what_a_person_has_called_ham(desk: Desk) -> None:
    """A mark that software may have written does not move what a person has called ham, or has rescued."""
    desk.deliver(UNKNOWN)
    desk.take(UNKNOWN, "INBOX", "Archive")
    mark(desk, UNKNOWN, "a")
    assert (desk.where(UNKNOWN), desk.lesson(UNKNOWN)) == (["Archive"], (HAM, False))
    desk.deliver(spam := message("spam", 901))
    desk.take(spam, "Junk", "INBOX")
    mark(desk, spam, "a")
    assert (desk.where(spam), desk.lesson(spam)) == (["INBOX"], (HAM, False))


def test_folders_of_all_roles(desk: Desk) -> None:
    """The mark moves mail out of ham folders and folders apart to the first spam folder, and from no other spam folder.

    `$NotJunk` in a folder apart leaves a message there: software marks such mail by itself.
    """
    desk.roles = {**ROLES, "Spam/Old": Role.SPAM, "Notes": Role.NEUTRAL}
    desk.apart = {"unsure_folder": "Maybe", "newcomers_folder": "New", "newsletters_folder": "Lists"}
    desk.restart()
    for number, folder in enumerate(("Archive", "Maybe", "New", "Lists", "Spam/Old", "Trash", "Notes")):
        write_keywords(desk, folder)
        desk.deliver(letter := message("ham", 901 + number), folder)
        if folder in desk.apart.values():
            mark(desk, letter, "b")
            assert desk.where(letter) == [folder]
        mark(desk, letter, "a")
        stays = folder in ("Spam/Old", "Trash", "Notes")
        assert (desk.where(letter), folder) == ([folder] if stays else ["Junk"], folder)


def test_undone(desk: Desk) -> None:
    """An undo brings a marked message back, where it stays, though it is marked; a new mark moves it again."""
    desk.deliver(letter := message("ham", 901))
    mark(desk, letter, "a")
    known = desk.known(letter)
    assert known is not None
    _, lesson, move = desk.ledger.journal.of_message(known.id)
    desk.account.mailbox(str(desk.roots[0])).mover.undo_move(move)
    desk.work()
    assert (desk.where(letter), desk.lesson(letter)) == (["INBOX"], (SPAM, False))
    assert [one.fault for one in undo(desk.ledger, NO_MAILBOX, [lesson], desk.now, lambda work: None)] == [None]
    desk.work()
    assert (desk.where(letter), desk.lesson(letter)) == (["INBOX"], (None, False))
    mark(desk, letter, "")
    mark(desk, letter, "a")
    assert desk.where(letter) == ["Junk"]


def test_while_moving_is_stopped(desk: Desk) -> None:
    """A pause does not hold back what a person has marked."""
    desk.deliver(letter := message("ham", 901))
    pause(desk.ledger)
    mark(desk, letter, "a")
    assert desk.where(letter) == ["Junk"]
