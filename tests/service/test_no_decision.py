"""Changes that look like a person's moves, by the dozen, but are not: they teach nothing."""

import shutil
from pathlib import Path

import pytest

from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import deliver, scan
from spamnb.maildir.names import parse_name
from spamnb.rules.reactions import COPY_SECONDS
from tests.service.desk import DAY, DOZEN, ROLES, Desk

# Folders.

live_or_not = pytest.mark.parametrize("live", [True, False], ids=["while it runs", "while it is down"])


def rename(desk: Desk, live: bool, *renames: tuple[Path, Path]) -> None:
    """Directories get other names while the service runs, or is down."""
    if not live:
        desk.stop()
    for old, new in renames:
        old.rename(new)
    desk.work() if live else desk.start()


@live_or_not
def test_folder_drawn_into_junk(desk: Desk, live: bool) -> None:
    """A folder of letters that slips into Junk is not spam, and not filed when it is drawn out again."""
    letters = desk.put("ham", "Archive")
    desk.work()
    rename(desk, live, (desk.directory_of("Archive"), desk.directory_of("Junk/Archive")))
    assert desk.labels(letters) == {None}
    rename(desk, live, (desk.directory_of("Junk/Archive"), desk.directory_of("Archive")))
    assert desk.labels(letters) == {None}
    assert desk.number("Archive") == len(letters)


@live_or_not
@pytest.mark.parametrize("role", list(Role))
def test_junk_gets_another_name(desk: Desk, live: bool, role: Role) -> None:
    """The spam in a Junk that gets another name is learned as nothing, unless that is a training folder's name."""
    spam = desk.put("spam", "INBOX")
    desk.work()
    assert desk.number("Junk") == len(spam)
    if role is not Role.INBOX:
        desk.roles = ROLES | {"Old": role}
    desk.stop()
    desk.start()
    rename(desk, live, (desk.directory_of("Junk"), desk.directory_of("Old")))
    label = {Role.TRAIN_SPAM: 1, Role.TRAIN_HAM: 0}.get(role)
    assert desk.labels(spam) == {label}
    assert desk.number("Old") == (len(spam) if label is None else 0)
    desk.ahead += 30 * DAY
    desk.work()
    assert desk.labels(spam) == {label}


def test_what_follows_a_rename_is_heard(desk: Desk) -> None:
    """A person's move out of a renamed folder means the same as out of any folder of its role."""
    spam = desk.put("spam", "INBOX")
    desk.work()
    rename(desk, True, (desk.directory_of("Junk"), desk.directory_of("Junk/Old")))
    desk.move("Junk/Old", "INBOX", desk.fresh)
    desk.work()
    assert desk.labels(spam) == {0}
    assert desk.number("INBOX") == len(spam)


def test_all_of_a_folder_moved_by_hand(desk: Desk) -> None:
    """All mail of Junk moved to a new folder, under its old names, is a person's word: the directory is another."""
    spam = desk.put("spam", "INBOX")
    desk.work()
    desk.move("Junk", "Friends")
    desk.work()
    assert desk.labels(spam) == {0}


def test_directory_number_given_anew(desk: Desk) -> None:
    """A new folder whose directory has the number of a deleted one is a new folder."""
    spam = desk.put("spam", "INBOX")
    desk.work()
    status = Path(desk.folder("Friends").path).stat()
    letters = desk.put("ham", "Archive")
    desk.work()
    archive = next(number for number in range(1, 20) if desk.ledger.locations.where(number)[1] == "Archive")
    desk.ledger.locations.set_directories([(status.st_dev, status.st_ino, archive)])
    desk.move("Junk", "Friends")
    desk.work()
    assert desk.labels(spam) == {0}
    assert desk.labels(letters) == {None}


def test_mailboxes_swapped(tmp_path: Path, taught: Path) -> None:
    """Two mailboxes whose directories change places: nothing is learned, judged or moved."""
    shutil.copy(taught, tmp_path / "ledger")
    for name, kinds in (("one", ("ham", "spam")), ("two", ("spam", "ham"))):
        for folder, kind in zip(("INBOX", "Archive"), kinds, strict=True):
            for number in DOZEN:
                where = create_folder(str(tmp_path / name), "maildir++", folder)
                deliver(where, message(kind, number), f"{number}.{name}")
    desk = Desk(tmp_path, "one", "two")
    desk.stop()
    rename(desk, True, *((tmp_path / a, tmp_path / b) for a, b in (("one", "x"), ("two", "one"), ("x", "two"))))
    desk.stop()
    desk.start()
    everything = [message(kind, number) for kind in ("ham", "spam") for number in DOZEN]
    assert desk.labels(everything) == {None}
    assert [desk.number(folder, root) for root in (0, 1) for folder in ("INBOX", "Archive")] == [len(DOZEN)] * 4
    assert desk.ledger.messages.numbers() == {}
    desk.stop()
    desk.ledger.close()


# What was there before.


@pytest.mark.parametrize("folder", ["INBOX", "Archive"])
@pytest.mark.parametrize("doubled", [True, False])
def test_mail_from_before_under_new_names(tmp_path: Path, taught: Path, folder: str, doubled: bool) -> None:
    """Read mail that lay there before the first start is not learned as kept, however often it gets other names."""
    shutil.copy(taught, tmp_path / "ledger")
    letters = [message("ham", number) for number in DOZEN]
    where = create_folder(str(tmp_path / "Maildir"), "maildir++", folder)
    for number, content in enumerate(letters):
        (Path(where.subdir("cur")) / f"{number}.host:2,S").write_bytes(content)
    desk = Desk(tmp_path, "Maildir")
    for turn in range(2):
        desk.ahead += 5 * COPY_SECONDS
        for number, entry in enumerate(scan(where)[: len(letters)]):
            new = Path(where.subdir("cur")) / f"{number}.{turn}.host:2,S"
            shutil.copy2(entry.path(where), new) if doubled else Path(entry.path(where)).rename(new)
        desk.work()
        desk.ahead += 30 * DAY
        desk.work()
    assert desk.labels(letters) == {None}
    desk.stop()
    desk.ledger.close()


def test_another_role_for_the_spam_that_is_there(desk: Desk) -> None:
    """Mail that the filter put into Junk is not learned as kept if the folder gets an ordinary role."""
    spam = desk.put("spam", "INBOX")
    desk.work()
    junk = desk.folder("Junk")
    for entry in scan(junk):
        Path(entry.path(junk)).rename(Path(junk.subdir("cur")) / f"{parse_name(entry.name).base}:2,S")
    desk.roles = {**ROLES, "Spam": Role.SPAM, "Junk": Role.HAM}
    desk.stop()
    desk.start()
    desk.ahead += 30 * DAY
    desk.work()
    assert desk.labels(spam) == {None}


# Backups, and synchronisers that begin anew.


def test_backup_put_back(desk: Desk) -> None:
    """Spam that a backup puts back into the inbox, while it is in Junk, is not ham."""
    spam = desk.put("spam", "INBOX")
    backup = desk.directory / "backup"
    shutil.copytree(desk.roots[0], backup)
    desk.work()
    assert desk.number("Junk") == len(spam)
    desk.ahead = 0.0
    shutil.copytree(backup, desk.roots[0], dirs_exist_ok=True)
    desk.work()
    assert desk.labels(spam) == {None}
    assert desk.number("INBOX") == desk.number("Junk") == len(spam)


def test_backup_of_junk_put_back(desk: Desk) -> None:
    """Mail that a person took out of Junk and filed does not become spam by a backup of Junk."""
    letters = desk.put("spam", "INBOX")
    desk.work()
    backup = desk.directory / "backup"
    shutil.copytree(desk.directory_of("Junk"), backup)
    desk.rescue_and_file()
    assert desk.labels(letters) == {0}
    desk.ahead = 0.0
    shutil.copytree(backup, desk.directory_of("Junk"), dirs_exist_ok=True)
    desk.work()
    assert desk.labels(letters) == {0}


@pytest.mark.parametrize("emptied", [True, False])
def test_inbox_fetched_anew(desk: Desk, emptied: bool) -> None:
    """A synchroniser that has lost its state brings all spam to the inbox again: it does not become ham."""
    spam = desk.put("spam", "INBOX")
    desk.work()
    desk.put("ham", "Archive")
    if emptied:
        for entry in scan(junk := desk.folder("Junk")):
            Path(entry.path(junk)).unlink()
    desk.work()
    desk.ahead = 0.0
    desk.put("spam", "INBOX")
    desk.work()
    assert desk.labels(spam) == {None}
    assert desk.number("INBOX") == len(spam)


def test_junk_fetched_anew(desk: Desk) -> None:
    """Mail that a person took out of Junk does not become spam when a synchroniser fetches all of Junk again."""
    letters = desk.put("spam", "INBOX")
    desk.work()
    desk.rescue_and_file()
    desk.ahead = 0.0
    desk.put("spam", "Junk")
    desk.work()
    assert desk.labels(letters) == {0}


@pytest.mark.parametrize("new_names", [True, False])
def test_dozens_taken_out_of_junk(desk: Desk, new_names: bool) -> None:
    """Dozens of messages that a person takes out of Junk at once are ham, under new names as under the old ones."""
    spam = desk.put("spam", "INBOX")
    desk.work()
    desk.move("Junk", "INBOX", desk.fresh if new_names else lambda name: name)
    desk.work()
    assert desk.labels(spam) == {0}
    assert desk.number("INBOX") == len(spam)


@pytest.mark.parametrize("name", ["Deleted Messages", "Papierkorb", "Spam", "TrainHam", "[Gmail]/Trash"])
def test_folder_that_another_mail_program_makes(desk: Desk, name: str) -> None:
    """Spam that is thrown into a trash or a spam folder that the configuration does not know is not ham."""
    spam = desk.put("spam", "INBOX")
    desk.work()
    desk.move("Junk", name, desk.fresh)
    desk.work()
    assert desk.labels(spam) == {None}
    assert desk.number(name) == len(spam)


def test_filed_letters_that_come_to_junk_under_new_names(desk: Desk) -> None:
    """A synchroniser that carries a folder's new place, within Junk, does not make its letters spam."""
    letters = desk.put("ham", "Archive")
    desk.work()
    desk.move("Archive", "Junk/Archive", desk.fresh)
    desk.work()
    assert desk.labels(letters) == {None}
    assert desk.number("Junk/Archive") == len(letters)


def test_many_filed_letters_that_a_person_moves_to_junk(desk: Desk) -> None:
    """Mail that a rule had filed, and that a person moves to Junk by the dozen, is spam."""
    letters = desk.put("ham", "Archive")
    desk.work()
    desk.move("Archive", "Junk", desk.fresh)
    desk.work()
    assert desk.labels(letters) == {1}
