"""A ledger whose lessons were read with a former tokenizer. It was kept before its successor was written, once for all.

It is of the same form as the present one's. Until the release a change of the form changes the files in `tokens-4` too.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spamnb.base.label import Label
from spamnb.bulk import learning
from spamnb.config import Config
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.mail.tokens.tokenizer import VERSION
from tests.documents import block
from tests.upgrade import kept

_FORMER = 4
_GONE = 5  # of the messages that were learned, no file was kept


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with mail and lessons, as the program left it that had the former tokenizer."""
    kept.restore(kept.HERE / f"tokens-{_FORMER}", tmp_path)
    return tmp_path


@contextmanager
def ledger_of(home: Path) -> Iterator[Ledger]:
    """Its ledger."""
    with Ledger(str(home / kept.LEDGER)) as ledger:
        yield ledger


def verdicts(home: Path) -> dict[str, str]:
    """Return the verdicts on unlearned mail by file name."""
    lines = kept.spamnb(home, "score", "--json", *kept.unseen(home)).splitlines()
    return {Path(scored["path"]).name: scored["verdict"] for scored in map(json.loads, lines)}


def files(home: Path) -> list[Path]:
    """All files of messages in its Maildir."""
    return [path for path in home.glob("Maildir/**/*") if path.parent.name in ("new", "cur")]


def contents(home: Path) -> dict[bytes, bytes]:
    """All mail that is there, by its identity."""
    mail = [path.read_bytes() for path in files(home)]
    return {identity(raw): raw for raw in mail}


def exported(ledger: Ledger) -> str:
    """Return the export of a ledger, which is sound."""
    assert ledger.verify() == []
    return "".join(ledger.lessons.export())


def test_its_lessons_still_judge(home: Path) -> None:
    """Mail read by this tokenizer gets the right verdict from lessons of the earlier one."""
    with ledger_of(home) as ledger:
        assert ledger.lessons.stats().tokenizers == {_FORMER} != {VERSION}
    assert all(verdict == name.partition("-")[0] for name, verdict in verdicts(home).items())


def test_what_to_do_is_told_until_it_is_done(home: Path) -> None:
    """`doctor` names the command. After it has run, it no longer warns about mail without a file."""
    told = kept.spamnb(home, "doctor")
    assert f"another tokenizer ({_FORMER}, this one is {VERSION})" in " ".join(told.split())
    assert "spamnb train --again" in told
    command = block("docs/set-up.md", "train-again").split()
    said = kept.spamnb(home, *command[1:])
    assert said.endswith("again; mail without a readable file keeps its old tokens\n")
    told = kept.spamnb(home, "doctor")
    assert "which helps less" not in told
    assert "their files are gone; if a file comes back: spamnb train --again" in " ".join(told.split())
    assert kept.spamnb(home, "train", "--again").startswith("read 0 messages again")


def test_a_file_that_cannot_be_read(home: Path) -> None:
    """An unreadable file is named and left out, and `doctor` still says what to do."""
    with ledger_of(home) as ledger:
        to_read = set(ledger.lessons.learned_with_other_tokenizer())
    next(path for path in files(home) if identity(path.read_bytes()) in to_read).write_bytes(b"")
    assert "it is empty" in kept.spamnb(home, "train", "--again", code=3)
    assert "spamnb train --again" in kept.spamnb(home, "doctor")
    kept.spamnb(home, "verify")


def test_mail_that_moves_meanwhile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message whose file is renamed during the reading is looked for again, and read."""
    find, moved = learning.files_to_read_again, []

    def find_and_move(ledger: Ledger, config: Config) -> list[str]:
        found = find(ledger, config)
        if not moved:
            for path in map(Path, found[:3]):
                moved.append(path.rename(path.parent.parent / "cur" / f"{path.name.partition(':')[0]}:2,RS"))
        return found

    monkeypatch.setattr(learning, "files_to_read_again", find_and_move)
    said = kept.spamnb(home, "train", "--again")
    assert len(moved) == 3
    assert "left out" not in said
    with ledger_of(home) as ledger:
        assert len(ledger.lessons.learned_with_other_tokenizer()) == _GONE
        assert ledger.state.read_again == VERSION


def test_all_mail_that_is_there_is_read_again(home: Path) -> None:
    """One command gives all mail the tokens of this tokenizer, in any folder, and decides nothing."""
    before = kept.spamnb(home, "history", "--json")
    kept.spamnb(home, "train", "--again")
    assert kept.spamnb(home, "history", "--json") == before
    mail = contents(home)
    with ledger_of(home) as ledger, Ledger(str(home / "fresh.sqlite")) as fresh:
        gone = ledger.lessons.learned_with_other_tokenizer()
        assert len(gone) == _GONE
        assert mail.keys().isdisjoint(gone)
        ledger.lessons.forget(gone, "a test", 1.0, how=ledger.lessons.changes(0)[0].how)
        for lesson in ledger.lessons.changes(0):
            if lesson.label is not None:
                reading = read(mail[lesson.digest])
                fresh.lessons.learn([reading], lesson.label, "a test", 1.0, how=lesson.how, weak=lesson.weak)
        assert exported(ledger) == exported(fresh)
    assert all(verdict == name.partition("-")[0] for name, verdict in verdicts(home).items())


def test_training_reads_again(home: Path) -> None:
    """`train` of its folder reads it again too, both for the same label and for a correction."""
    junk = str(home / "Maildir" / ".Junk")
    said = kept.spamnb(home, "train", "--spam", junk)
    with ledger_of(home) as ledger:
        spam = ledger.lessons.newest(Label.SPAM, 1000)
        waiting = [ledger.lessons.find(digest) for digest in ledger.lessons.learned_with_other_tokenizer()]
        assert {lesson.label for lesson in waiting if lesson is not None} == {Label.HAM}
        assert {lesson.digest for lesson in spam}.isdisjoint(ledger.lessons.learned_with_other_tokenizer())
        assert ledger.verify() == []
    assert f"; {len(spam)} of them read again" in said or f"{len(spam) - 1} of them read again" in said
    assert "read again" not in kept.spamnb(home, "train", "--spam", junk)
    said = kept.spamnb(home, "train", "--spam", str(home / "Maildir"))
    assert "of them corrected" in said and "of them read again" in said
    kept.spamnb(home, "verify")


def test_what_is_not_read_again_is_forgotten_exactly(home: Path) -> None:
    """Lessons of before and lessons of today are taken back in one, and nothing of either is left."""
    kept.spamnb(home, "train", "--spam", str(home / "Maildir" / ".Junk"))
    kept.spamnb(home, "undo", "--yes", "--only", "lessons", "--since", "2000-01-01")
    assert "The counts of 0 tokens are the sum of 0 ham and 0 spam messages." in kept.spamnb(home, "verify")


def test_mail_that_was_learned_elsewhere_is_found(home: Path) -> None:
    """A file outside all mailboxes, and an mbox, are read again from the place of their learning."""
    raw = (home / "unseen" / "spam-200.eml").read_bytes()
    mbox = b"".join(b"From you@home Mon Nov 23 07:00:00 2026\n" + part + b"\n\n" for part in contents(home).values())
    (home / "box").write_bytes(mbox)
    (home / "file.eml").write_bytes(raw)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("store", "read_again"):
            patch.setattr(f"spamnb.ledger.lessons.sqlite.{module}.VERSION", _FORMER)
        kept.spamnb(home, "undo", "--yes", "--only", "lessons", "--since", "2000-01-01")
        kept.spamnb(home, "train", "--spam", str(home / "file.eml"), str(home / "box"))
    for path in files(home):
        path.unlink()
    said = kept.spamnb(home, "train", "--again")
    assert "read 0" not in said and "readable file" not in said
    with ledger_of(home) as ledger:
        assert ledger.lessons.stats().tokenizers == {VERSION}
        assert ledger.verify() == []


def test_paths_belong_to_a_label(home: Path) -> None:
    """`train --again` finds its mail by itself; `train --ham` needs a path."""
    assert "takes no PATH" in kept.spamnb(home, "train", "--again", str(home / "Maildir"), code=64)
    assert "train needs a PATH" in kept.spamnb(home, "train", "--ham", code=64)


def test_what_was_away_is_read_again_when_it_is_back(home: Path) -> None:
    """A missing folder does not mean that its mail is gone for good."""
    (home / "Maildir" / ".Junk").rename(home / "away")
    kept.spamnb(home, "train", "--again")
    with ledger_of(home) as ledger:
        assert len(ledger.lessons.learned_with_other_tokenizer()) > _GONE
    (home / "away").rename(home / "Maildir" / ".Junk")
    kept.spamnb(home, "train", "--again")
    with ledger_of(home) as ledger:
        assert len(ledger.lessons.learned_with_other_tokenizer()) == _GONE


def test_a_copy_is_read_where_another_one_has_changed(home: Path) -> None:
    """If two files were learned as one message and the first has changed, the second is read."""
    raw = (home / "unseen" / "spam-200.eml").read_bytes()
    for name in ("one.eml", "two.eml"):
        (home / name).write_bytes(raw)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("store", "read_again"):
            patch.setattr(f"spamnb.ledger.lessons.sqlite.{module}.VERSION", _FORMER)
        kept.spamnb(home, "train", "--spam", str(home / "one.eml"))
        kept.spamnb(home, "train", "--spam", str(home / "two.eml"))
    (home / "one.eml").write_bytes((home / "unseen" / "ham-200.eml").read_bytes())
    kept.spamnb(home, "train", "--again")
    with ledger_of(home) as ledger:
        assert read(raw).digest not in ledger.lessons.learned_with_other_tokenizer()
