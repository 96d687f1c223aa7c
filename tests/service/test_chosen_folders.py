"""Folders for mail that is put apart, chosen by a command or a page instead of the configuration."""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts import choices
from spamnb.acts.choices import NoEffectError, choose
from spamnb.base.errors import MaildirError, UsageError
from spamnb.config import load
from spamnb.contacts import address_book
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import find_folders
from spamnb.rules.acquaintances import KNOWN_FIRST
from tests.patience import until
from tests.service.conftest import Site
from tests.service.test_newcomers import arrive, letter, write_book


@pytest.fixture(params=["maildir++", "fs"])
def known(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A service without such folders, and a person who knows enough people; of both layouts."""
    site = Site(tmp_path / "site", request.param)
    site.teach()
    write_book(site, KNOWN_FIRST)
    site.configure(f"authserv_id: mx.example.org\naddress_book: {site.directory / 'book.vcf'}")
    site.work()
    yield site
    site.kill()


def names(site: Site) -> set[str]:
    """The folders on disk."""
    return {folder.name for folder in find_folders(str(site.root), site.layout)}  # type: ignore[arg-type]


def standing(site: Site) -> list[tuple[str, str | float]]:
    """The choices in force."""
    with Ledger(str(site.ledger)) as ledger:
        return [(one.kind, one.value) for one in ledger.choices.newest()]


def newsletter(number: int) -> bytes:
    """Ham of a mailing list."""
    return b"List-Id: <club.example>\nList-Unsubscribe: <mailto:off@club.example>\n" + letter(number)


def test_a_folder_is_made_and_used_until_it_is_given_up(known: Site) -> None:
    """One command makes the folder, and mail goes there. Once it is given up, its mail stays, and new mail does too."""
    assert known.spamnb("choose", "newcomers_folder") == 0
    assert known.spamnb("choose", "newsletters_folder", "Lists/News") == 0
    assert {"New", "Lists/News"} <= names(known)
    for name in ("New", "Lists/News"):
        known.add_folder(name)
    stranger, issue = letter(1), newsletter(2)
    arrive(known, stranger, issue)
    assert (known.contents("New"), known.contents("Lists/News")) == ([stranger], [issue])
    known.move(stranger, "New", "INBOX")
    known.work()
    assert known.contents("INBOX") == [stranger], "the person's move counts as from a configured folder"
    assert known.spamnb("choose", "--forget", "newcomers_folder", "--forget", "newsletters_folder") == 0
    later = letter(3)
    arrive(known, later)
    assert sorted(known.contents("INBOX")) == sorted([stranger, later])
    assert known.contents("Lists/News") == [issue]
    assert known.faults() == []


def test_a_running_service_uses_it_at_once(known: Site) -> None:
    """A service that runs moves the next letter there, and after an undo leaves the next one in the inbox."""
    known.start()
    try:
        assert known.spamnb("choose", "newcomers_folder") == 0
        known.add_folder("New")
        first, second = known.deliver(letter(1)), letter(2)
        until(lambda: known.contents("New") == [first], "the first letter to be in New")
        with Ledger(str(known.ledger)) as ledger:
            (choice,) = ledger.choices.newest()
        assert known.spamnb("undo", str(choice.action)) == 0
        known.deliver(second)
        known.wait_until_judged(second)
        assert known.contents() == [second]
    finally:
        assert known.end() == 0


def test_a_deleted_folder_is_made_again(known: Site) -> None:
    """If the chosen folder is gone when mail comes, the service makes it, as it makes Junk."""
    known.spamnb("choose", "newcomers_folder")
    for folder in find_folders(str(known.root), known.layout):  # type: ignore[arg-type]
        if folder.name == "New":
            shutil.rmtree(folder.path)
    arrive(known, stranger := letter(1))
    assert "New" in names(known)
    known.add_folder("New")
    assert known.contents("New") == [stranger]


def test_an_end_between_the_two_steps_leaves_an_empty_folder(known: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it ends before the choice is recorded, nothing is chosen; the next try finds the folder."""
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("spamnb.ledger.history.choices.Choices.record", _interrupted)
        with Ledger(str(known.ledger)) as ledger:
            choose(ledger, load(known.config, {}), "newcomers_folder", ["New"], "prompt", 1.0)
    assert ("New" in names(known), standing(known)) == (True, [])
    known.add_folder("New")
    arrive(known, stranger := letter(1))
    assert known.contents() == [stranger]
    assert known.spamnb("choose", "newcomers_folder") == 0
    assert standing(known) == [("newcomers_folder", "New")]


def _interrupted(*_: object) -> int:
    raise KeyboardInterrupt


def test_an_existing_folder_is_taken_as_it_is(known: Site) -> None:
    """A folder with mail keeps it: nothing of it moves, and the command can be repeated."""
    known.add_folder("New")
    kept = known.deliver(letter(7), "New")
    known.work()
    assert known.spamnb("choose", "newcomers_folder") == 0
    arrive(known, stranger := letter(1))
    assert sorted(known.contents("New")) == sorted([kept, stranger])
    assert known.spamnb("choose", "newcomers_folder") == 0
    assert len(standing(known)) == 1


@pytest.mark.parametrize(
    ("name", "fault", "said"),
    [
        ("Junk", NoEffectError, "has the role spam"),
        ("INBOX", NoEffectError, "has the role inbox"),
        ("Lists", NoEffectError, "_folder too; name a separate"),
        ("", UsageError, "folder's name"),
        ("a//b", UsageError, "folder's name"),
        ("../x", (UsageError, MaildirError), "folder"),
        ("cur", MaildirError, "is cur, new or tmp"),
        ("\x1b[2J", UsageError, "folder's name"),
    ],
)
def test_a_name_that_no_folder_can_have(
    known: Site, name: str, fault: type[Exception] | tuple[type[Exception], ...], said: str
) -> None:
    """A name with another role, or that no folder can have, is refused; nothing is made or chosen."""
    known.spamnb("choose", "newsletters_folder", "Lists")
    before = names(known)
    with Ledger(str(known.ledger)) as ledger, pytest.raises(fault, match=said):
        choose(ledger, load(known.config, {}), "newcomers_folder", [name], "page", 1.0)
    assert (names(known), len(standing(known))) == (before, 1)


def test_without_the_right_to_write(known: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk refuses the folder, nothing is chosen, and the error says what to correct."""

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch, Ledger(str(known.ledger)) as ledger:
        patch.setattr(os, "mkdir", refused)  # root may write everywhere, so no mode of a directory stops these tests
        with pytest.raises(MaildirError, match="Permission denied; correct that, or make it yourself"):
            choose(ledger, load(known.config, {}), "newcomers_folder", ["New"], "page", 1.0)
    assert (standing(known), "New" in names(known)) == ([], False)


def test_a_file_in_the_way(known: Site) -> None:
    """If a file has the folder's place, nothing is chosen."""
    (known.root / (".New" if known.layout == "maildir++" else "New")).touch()
    with Ledger(str(known.ledger)) as ledger, pytest.raises(MaildirError, match="is in the way"):
        choose(ledger, load(known.config, {}), "newcomers_folder", ["New"], "page", 1.0)
    assert standing(known) == []


def test_without_an_inbox_nothing_is_made(known: Site) -> None:
    """A mailbox on a disk that is not mounted gets no folder, and nothing is chosen."""
    aside = known.root.rename(known.directory / "aside")
    known.root.mkdir()
    with Ledger(str(known.ledger)) as ledger, pytest.raises(MaildirError, match="mount its disk"):
        choose(ledger, load(known.config, {}), "newcomers_folder", ["New"], "page", 1.0)
    assert (list(known.root.iterdir()), standing(known)) == ([], [])
    known.root.rmdir()
    aside.rename(known.root)


def test_the_configuration_has_priority(known: Site) -> None:
    """A folder that the configuration names is refused as a choice; an older choice says that it has no effect."""
    known.spamnb("choose", "newcomers_folder")
    known.configure(newcomers_folder="Strangers")
    with Ledger(str(known.ledger)) as ledger:
        config = load(known.config, {})
        assert ledger.choices.over(config).mailboxes[0].newcomers_folder == "Strangers"
        (one,) = choices.standing(ledger, config)
        assert "the configuration names newcomers_folder" in one.without_effect
        with pytest.raises(NoEffectError, match="has priority"):
            choose(ledger, config, "newcomers_folder", ["Other"], "page", 1.0)
    known.configure()
    with Ledger(str(known.ledger)) as ledger:
        assert ledger.choices.over(load(known.config, {})).mailboxes[0].newcomers_folder == "New"
    address_book._book.cache_clear()


def test_what_lies_there_is_not_learned_by_init(known: Site) -> None:
    """`init --learn` learns nothing from the chosen folder: its mail waits for the person."""
    known.spamnb("choose", "newcomers_folder")
    known.add_folder("New")
    waiting = known.deliver(letter(9), "New")
    assert known.spamnb("init", "--learn") == 0
    assert known.label(waiting) is None
