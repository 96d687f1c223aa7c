"""An address book on the disk: a file or a directory, read again when it changes."""

import logging
import os
from pathlib import Path

import pytest

from spamnb.contacts.address_book import AddressBook, contacts_of

FIRST, SECOND = "ann@example.org", "ben@example.org"


class Clock:
    """A clock of the test's own."""

    seconds = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.seconds


def write(path: Path, *addresses: str) -> Path:
    """Write a card for each address."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cards = "".join(f"BEGIN:VCARD\nVERSION:4.0\nFN:x\nEMAIL:{address}\nEND:VCARD\n" for address in addresses)
    draft = path.with_name(".draft")
    draft.write_text(cards)
    draft.rename(path)
    return path


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


def test_a_file(tmp_path: Path, clock: Clock) -> None:
    """The addresses of a file count, and those of its next version after some seconds."""
    path = write(tmp_path / "book.vcf", FIRST)
    book = AddressBook(path, clock)
    assert (FIRST in book, SECOND in book) == (True, False)
    write(path, SECOND)
    assert (FIRST in book, SECOND in book) == (True, False)
    clock.seconds += 6
    assert (FIRST in book, SECOND in book) == (False, True)


def test_a_directory(tmp_path: Path, clock: Clock) -> None:
    """A directory is read with all below it; files that are added, changed and removed count."""
    one, other = write(tmp_path / "home/a.vcf", FIRST), tmp_path / "work/b.VCF"
    write(tmp_path / "home/notes.txt", "cleo@example.org")
    book = AddressBook(tmp_path, clock)
    assert (FIRST in book, SECOND in book, "cleo@example.org" in book) == (True, False, False)
    write(other, SECOND)
    clock.seconds += 6
    assert SECOND in book
    one.unlink()
    clock.seconds += 6
    assert (FIRST in book, SECOND in book) == (False, True)


def test_what_cannot_be_read(tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """Links, pipes and damaged files are left out, with one warning; all others count."""
    write(tmp_path / "book/a.vcf", FIRST)
    (tmp_path / "book/b.vcf").symlink_to(write(tmp_path / "elsewhere.vcf", SECOND))
    os.mkfifo(tmp_path / "book/c.vcf")
    (tmp_path / "book/d.vcf").write_bytes(b"\0\xff no card")
    (tmp_path / "book/e.vcf").symlink_to("/dev/zero")
    book = AddressBook(tmp_path / "book", clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert (FIRST in book, SECOND in book) == (True, False)
            clock.seconds += 6
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("4 files of the address book cannot be read: ")
    assert "b.vcf: it is not a regular file" in caplog.messages[0]


def test_a_book_that_goes_away(tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """If the book itself is gone, its last addresses count, with a warning; a book that was never there has none."""
    path = write(tmp_path / "book/a.vcf", FIRST)
    book = AddressBook(tmp_path / "book", clock)
    assert FIRST in book
    path.unlink()
    path.parent.rmdir()
    clock.seconds += 6
    with caplog.at_level(logging.WARNING):
        assert FIRST in book
        assert FIRST not in AddressBook(tmp_path / "none", clock)
    assert [message.rpartition(": ")[2] for message in caplog.messages] == ["No such file or directory"] * 2


def test_only_what_has_changed_is_read(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first look, only files that have changed are opened."""
    for number in range(20):
        write(tmp_path / f"{number}.vcf", f"{number}@example.org")
    book = AddressBook(tmp_path, clock)
    assert "7@example.org" in book
    opened: list[str] = []
    monkeypatch.setattr(os, "open", lambda path, flags, real=os.open: opened.append(path) or real(path, flags))
    write(tmp_path / "7.vcf", "seven@example.org")
    clock.seconds += 6
    assert "seven@example.org" in book
    assert opened == [str(tmp_path / "7.vcf")]


def test_a_slow_book_is_looked_at_seldom(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that takes a second is repeated after a hundred seconds."""
    looks: list[float] = []

    def look(_: AddressBook) -> None:
        looks.append(clock.seconds)
        clock.seconds += 1

    monkeypatch.setattr(AddressBook, "look", look)
    book = AddressBook(tmp_path, clock)
    for _ in range(30):
        assert FIRST not in book
        clock.seconds += 10
    assert looks == [0.0, 101.0, 202.0]


def test_many_contacts(tmp_path: Path) -> None:
    """50,000 contacts in one file are all found."""
    path = write(tmp_path / "book.vcf", *(f"person{number}@example.org" for number in range(50_000)))
    contacts = contacts_of(path)
    assert all(f"person{number}@example.org" in contacts for number in (0, 25_000, 49_999))
    assert "person50000@example.org" not in contacts
    assert contacts_of(path) is contacts
    assert "" not in contacts_of(None)
