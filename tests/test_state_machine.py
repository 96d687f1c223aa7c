"""The sorter on a real Maildir, among the hands of a mail server, a person and death, in any order.

The model beside it knows each file: its content, where it lies, and in which folders the sorter has settled it.
It does not foretell verdicts. Of each step of the sorter it asks whether what was moved might be moved, and
whether what was learned was somebody's word.
"""

import errno
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import assume, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from spamnb.cli.sample_mail import message
from spamnb.config import Config, Mailbox, Role
from spamnb.errors import SpamnbError
from spamnb.filter import lesson
from spamnb.ledger.learned import HAM, SPAM
from spamnb.ledger.ledger import Ledger
from spamnb.mail.identity import identity
from spamnb.mail.reading import read
from spamnb.maildir.folders import Folder, create_folder
from spamnb.maildir.mailbox import Entry, scan
from spamnb.maildir.names import format_name, fresh_bases, parse_name
from spamnb.service.sorter import Sorter
from tests.dying import DeathError, Fuse, burning, dead

ROLES = {
    "INBOX": Role.INBOX,
    "Junk": Role.SPAM,
    "Junk/Old": Role.SPAM,
    "Archive": Role.HAM,
    "Trash": Role.NEUTRAL,
    "TrainSpam": Role.TRAIN_SPAM,
    "TrainHam": Role.TRAIN_HAM,
}
WORD = {  # what a person says by putting mail there
    Role.INBOX: HAM,
    Role.HAM: HAM,
    Role.TRAIN_HAM: HAM,
    Role.SPAM: SPAM,
    Role.TRAIN_SPAM: SPAM,
}
LESSONS = 30
DWELL, DAY = 5.0, 86_400.0
PERSONS_FLAGS = set("DFPRS")

FOLDERS = st.sampled_from(list(ROLES))
PLAIN_FOLDERS = st.sampled_from(["INBOX", "Junk", "Junk/Old", "Archive", "Trash"])
FLAGS = st.sampled_from(["", "", "S", "F", "RS", "T", "ST"])


@dataclass(eq=False)
class File:
    """A message file: where it lies, and the folders in which the sorter has settled it, the latest last."""

    content: bytes
    folder: str
    entry: Entry
    inode: int
    mtime_ns: int
    baseline: bool = False
    settled: list[str] = field(default_factory=list)

    @property
    def digest(self) -> bytes:
        """Which message it is."""
        return identity(self.content)

    @property
    def flags(self) -> str:
        """Its flags."""
        return parse_name(self.entry.name).flags


def trained() -> bytes:
    """A ledger that has learned enough of both kinds."""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/ledger"
        with Ledger(path) as ledger:
            ledger.learned.learn(
                lesson(read(message(kind, number)), label, "trained", 1.0)
                for label, kind in enumerate(("ham", "spam"))
                for number in range(LESSONS)
            )
        return Path(path).read_bytes()


class Sorting(RuleBasedStateMachine):
    """A Maildir, its sorter, and the model."""

    template: bytes | None = None

    def __init__(self) -> None:
        super().__init__()
        if Sorting.template is None:
            Sorting.template = trained()
        self.directory = tempfile.TemporaryDirectory()
        self.root = f"{self.directory.name}/Maildir"
        self.path = f"{self.directory.name}/ledger"
        Path(self.path).write_bytes(Sorting.template)
        self.folders: dict[str, Folder] = {name: create_folder(self.root, "maildir++", name) for name in ROLES}
        mailbox = Mailbox(Path(self.root), ROLES)
        self.config = Config((mailbox,), Path(self.path))
        self.ahead = 0.0
        self.bases: Iterator[str] = fresh_bases(time.time_ns, os.getpid(), "host")
        self.number = LESSONS
        self.files: list[File] = []
        self.labels: dict[bytes, int | None] = {}
        self.said: dict[bytes, set[int]] = {}  # what was said by moving mail, since all was settled
        self.unforeseen: set[bytes] = set()  # messages with copies, or undone: what they are learned as is not foretold
        self.ledger = Ledger(self.path)

    def teardown(self) -> None:
        self.ledger.close()
        self.directory.cleanup()

    # The world.

    def now(self) -> float:
        """A clock that can be put forward. The times of files are the kernel's, so it runs from the true time."""
        return time.time() + self.ahead

    def begin(self) -> None:
        """A new sorter over the ledger, as after a start of the service."""
        self.sorter = Sorter(
            self.config.mailboxes[0],
            self.config,
            self.ledger,
            now=self.now,
            bases=self.bases,
            role_of=lambda mailbox, folder: (ROLES[folder], False),
        )
        self.sorter.start()

    def path_of(self, file: File) -> Path:
        """Where a file lies."""
        return Path(file.entry.path(self.folders[file.folder]))

    def changed(self, *folders: str) -> None:
        """Make each change of a directory visible: the kernel's clock for that ticks too slowly for a test."""
        for folder in folders:
            for subdir in ("new", "cur"):
                stamp = time.time_ns()
                os.utime(self.folders[folder].subdir(subdir), ns=(stamp, stamp))

    def write(self, content: bytes, folder: str, entry: Entry, mtime_ns: int | None = None) -> File:
        """A new file on disk and in the model."""
        path = Path(entry.path(self.folders[folder]))
        path.write_bytes(content)
        if mtime_ns is not None:
            os.utime(path, ns=(mtime_ns, mtime_ns))
        status = path.stat()
        file = File(content, folder, entry, status.st_ino, status.st_mtime_ns)
        self.files.append(file)
        self.changed(folder)
        return file

    def say(self, file: File, folder: str) -> None:
        """A person puts a file into a folder."""
        if (word := WORD.get(ROLES[folder])) is not None:
            self.said.setdefault(file.digest, set()).add(word)

    def pick(self, index: int) -> File:
        """One of the files."""
        assume(self.files)
        return self.files[index % len(self.files)]

    def new_mail(self, kind: str) -> bytes:
        """A message that was never seen."""
        self.number += 1
        return b"Received: by host; %d\n" % self.number + message(kind, self.number)

    # What the sorter does, looked at.

    def watch(self, work: Callable[[], object]) -> None:
        """Let the sorter work, and see whether what it did was right."""
        before = dict(self.labels)
        work()
        self.follow()
        labels = self.read_labels()
        for digest in labels.keys() | before.keys():
            old, new = before.get(digest), labels.get(digest)
            if old != new:
                self.justify(digest, old, new)
        self.labels = labels

    def read_labels(self) -> dict[bytes, int | None]:
        """What the messages of the model are learned as."""
        return {file.digest: self.ledger.learned.label(file.digest) for file in self.files} | {
            digest: self.ledger.learned.label(digest) for digest in self.labels
        }

    def justify(self, digest: bytes, old: int | None, new: int | None) -> None:
        """A message is learned anew only upon somebody's word, or the first time because it was kept."""
        assert new is not None, "forgotten without a word"
        kept = any(
            file.digest == digest and ROLES[file.folder] in (Role.INBOX, Role.HAM) and set(file.flags) & {"R", "S"}
            for file in self.files
        )
        never_learned = len([one for one in self.learnings(digest) if one.before is None]) == 1
        may = self.said.get(digest, set()) | ({HAM} if kept and old is None and never_learned else set())
        assert new in may, f"learned {digest.hex()} as {new}, it was {old}: nobody said so"

    def learnings(self, digest: bytes) -> list:  # type: ignore[type-arg]  # of Action
        """The learnings of a message, the oldest first."""
        known = self.ledger.messages.find(digest)
        return [] if known is None else [a for a in self.ledger.journal.of_message(known.id) if a.kind == "learned"]

    def follow(self) -> None:
        """Find each file again, and see whether it might be moved to where it lies now."""
        lying = {(name, entry) for name, folder in self.folders.items() for entry in scan(folder)}
        moved = [file for file in self.files if (file.folder, file.entry) not in lying]
        arrived = lying - {(file.folder, file.entry) for file in self.files}
        assert len(arrived) == len(moved), f"{len(moved)} files are gone, {len(arrived)} have come"
        for folder, entry in arrived:
            status = os.stat(entry.path(self.folders[folder]))
            found = [file for file in moved if file.inode == status.st_ino]
            assert found, f"nobody knows {entry} in {folder}"
            moved.remove(found[0])
            self.judge_move(found[0], folder, entry)
            found[0].folder, found[0].entry = folder, entry
            found[0].settled.append(folder)

    def judge_move(self, file: File, folder: str, entry: Entry) -> None:
        """Whether the filter might move that file there."""
        note(f"the filter moved {file.entry} from {file.folder} to {folder}")
        assert entry.subdir == file.entry.subdir
        assert parse_name(entry.name).flags == file.flags
        assert not file.baseline or ROLES[file.folder] in (Role.TRAIN_SPAM, Role.TRAIN_HAM), "baseline mail was moved"
        if file.folder == "INBOX":
            assert folder == "Junk"
            assert not file.settled, "moved again what had been settled, by a person or by a verdict"
            assert not set(file.flags) & PERSONS_FLAGS, "moved what a person had read or marked"
            assert self.labels.get(file.digest) != HAM, "moved what a person had called ham"
        else:
            assert (file.folder, folder) in {("TrainSpam", "Junk"), ("TrainHam", "INBOX")}

    # Rules: mail comes.

    @initialize(kinds=st.lists(st.tuples(st.sampled_from(["ham", "spam"]), PLAIN_FOLDERS, FLAGS), max_size=3))
    def start(self, kinds: list[tuple[str, str, str]]) -> None:
        for kind, folder, flags in kinds:
            file = self.write(self.new_mail(kind), folder, Entry("cur", f"{next(self.bases)}:2,{flags}"))
            file.baseline = True
            file.settled.append(folder)
        self.begin()

    @rule(kind=st.sampled_from(["ham", "spam", "spam"]), folder=st.sampled_from(["INBOX", "INBOX", "Archive"]))
    def deliver(self, kind: str, folder: str) -> None:
        self.write(self.new_mail(kind), folder, Entry("new", next(self.bases)))

    @rule()
    def deliver_into_junk(self) -> None:
        file = self.write(self.new_mail("spam"), "Junk", Entry("new", next(self.bases)))
        self.say(file, "Junk")

    @rule(kind=st.sampled_from(["ham", "spam"]))
    def deliver_two_copies(self, kind: str) -> None:
        """A server-side rule files a copy."""
        content = self.new_mail(kind)
        for folder in ("INBOX", "Archive"):
            self.unforeseen.add(self.write(content, folder, Entry("new", next(self.bases))).digest)

    @rule(index=st.integers(0, 99), folder=st.sampled_from(["INBOX", "Archive"]))
    def deliver_again(self, index: int, folder: str) -> None:
        """A second delivery of a known message."""
        file = self.pick(index)
        self.number += 1
        content = b"Received: by another host; %d\n" % self.number + file.content
        self.unforeseen.add(file.digest)
        assert self.write(content, folder, Entry("new", next(self.bases))).digest == file.digest

    # Rules: a person and a mail server.

    def put(self, file: File, folder: str, entry: Entry) -> None:
        """The file lies elsewhere now."""
        before = file.folder
        file.folder, file.entry = folder, entry
        file.inode = self.path_of(file).stat().st_ino
        self.changed(before, folder)

    @rule(index=st.integers(0, 99), flags=FLAGS)
    def flag(self, index: int, flags: str) -> None:
        file = self.pick(index)
        entry = Entry("cur", format_name(parse_name(file.entry.name).with_flags(flags)))
        os.rename(self.path_of(file), entry.path(self.folders[file.folder]))
        self.put(file, file.folder, entry)

    @rule(index=st.integers(0, 99), uid=st.integers(1, 9))
    def synchronise(self, index: int, uid: int) -> None:
        """A synchroniser writes its UID into the name."""
        file = self.pick(index)
        name = parse_name(file.entry.name)
        entry = Entry("cur", f"{name.key},U={uid}:2,{name.flags}")
        os.rename(self.path_of(file), entry.path(self.folders[file.folder]))
        self.put(file, file.folder, entry)

    @rule(index=st.integers(0, 99), folder=FOLDERS, how=st.sampled_from(["same name", "new name", "link", "copy"]))
    def move(self, index: int, folder: str, how: str) -> None:
        self.move_file(self.pick(index), folder, how)

    def move_file(self, file: File, folder: str, how: str) -> None:
        """Move as a person's programs do."""
        name = parse_name(file.entry.name)
        base = name.key if how == "same name" else next(self.bases)
        entry = Entry("cur", f"{base}:2,{name.flags}")
        source, target = self.path_of(file), entry.path(self.folders[folder])
        assume(str(source) != target)
        assume(base not in {parse_name(e.name).key for e in scan(self.folders[folder])} or folder == file.folder)
        if how == "link":
            os.link(source, target)
            source.unlink()
        elif how == "copy":
            shutil.copy2(source, target)
            source.unlink()
        else:
            os.rename(source, target)
        self.say(file, folder)
        self.put(file, folder, entry)

    @precondition(lambda self: any(ROLES[file.folder] is Role.SPAM for file in self.files))
    @rule(index=st.integers(0, 99), folder=st.sampled_from(["INBOX", "Archive"]))
    def correct(self, index: int, folder: str) -> None:
        """A person takes mail out of spam."""
        spam = [file for file in self.files if ROLES[file.folder] is Role.SPAM]
        self.move_file(spam[index % len(spam)], folder, "new name")

    @rule(index=st.integers(0, 99), folder=FOLDERS, hard=st.booleans())
    def copy(self, index: int, folder: str, hard: bool) -> None:
        """A client copies a message."""
        self.copy_file(self.pick(index), folder, hard)

    def copy_file(self, file: File, folder: str, hard: bool) -> File:
        """A copy, which may be the same file."""
        entry = Entry("cur", f"{next(self.bases)}:2,{file.flags}")
        target = Path(entry.path(self.folders[folder]))
        if hard:
            os.link(self.path_of(file), target)
        else:
            shutil.copy2(self.path_of(file), target)
        status = target.stat()
        made = File(file.content, folder, entry, status.st_ino, status.st_mtime_ns)
        if hard:
            made.settled = list(file.settled)
        self.files.append(made)
        self.unforeseen.add(file.digest)
        self.say(file, folder)
        self.changed(folder)
        return made

    @rule(index=st.integers(0, 99), folder=FOLDERS)
    def copy_and_mark_deleted(self, index: int, folder: str) -> None:
        """A client moves as IMAP had to before MOVE, and does not expunge."""
        file = self.pick(index)
        made = self.copy_file(file, folder, False)
        made.settled = list(file.settled)
        entry = Entry("cur", format_name(parse_name(file.entry.name).with_flags(file.flags + "T")))
        os.rename(self.path_of(file), entry.path(self.folders[file.folder]))
        self.put(file, file.folder, entry)

    @rule(index=st.integers(0, 99))
    def delete(self, index: int) -> None:
        file = self.pick(index)
        self.path_of(file).unlink()
        self.files.remove(file)
        self.unforeseen.add(file.digest)
        self.changed(file.folder)

    @rule(index=st.integers(0, 99), label=st.sampled_from([HAM, SPAM, None]))
    def teach(self, index: int, label: int | None) -> None:
        """`train` and `untrain`, by another process."""
        file = self.pick(index)
        with Ledger(self.path) as other:
            known = other.messages.find(file.digest)
            if label is not None:
                other.learned.learn([lesson(read(file.content), label, "by hand", self.now())])
            elif known is not None and known.label is not None:
                other.learned.set_label(known.id, None, self.now(), "by hand")
            else:
                return
        self.labels[file.digest] = label
        self.unforeseen.add(file.digest)

    @rule(back=st.integers(0, 2))
    def undo(self, back: int) -> None:
        """`undo`, of one of the newest actions."""
        actions = self.ledger.journal.since(0.0)[back:]
        assume(actions)
        action = actions[0]
        self.unforeseen.add(action.digest)
        taken = [file for file in self.files if file.digest == action.digest]
        with suppress(SpamnbError):
            if action.kind == "moved":
                places = [(file, file.folder) for file in taken]
                self.sorter.mover.take_back(action)
                self.find_undone(places)
            elif self.ledger.learned.label(action.digest) == action.after:
                self.ledger.learned.set_label(action.message, action.before, self.now(), f"undo of {action.id}")
                self.ledger.journal.settle(action.id, "undone")
                if action.digest in self.labels:
                    self.labels[action.digest] = action.before

    def find_undone(self, places: list[tuple[File, str]]) -> None:
        """The one file that an undo has brought back."""
        gone = [file for file, _ in places if not self.path_of(file).exists()]
        assert len(gone) == 1
        known = {(file.folder, file.entry) for file in self.files}
        arrived = [
            (name, entry)
            for name, folder in self.folders.items()
            for entry in scan(folder)
            if (name, entry) not in known
        ]
        assert len(arrived) == 1
        self.put(gone[0], *arrived[0])
        gone[0].settled.append(gone[0].folder)

    # Rules: time passes, and the sorter works.

    @rule(seconds=st.sampled_from([1.0, DWELL + 1, 4 * DAY]))
    def wait(self, seconds: float) -> None:
        self.ahead += seconds

    @rule()
    def reconcile(self) -> None:
        self.watch(self.sorter.reconcile)

    @rule()
    def settle(self) -> None:
        self.watch(self.sorter.settle)

    @rule(index=st.integers(0, 99))
    def hint(self, index: int) -> None:
        file = self.pick(index)
        self.watch(lambda: self.sorter.hint(self.folders[file.folder].path, file.entry))

    @rule()
    def restart(self) -> None:
        self.watch(self.reopen)

    def reopen(self) -> None:
        """The service ends and starts again."""
        self.ledger.close()
        self.ledger = Ledger(self.path)
        self.begin()
        self.sorter.reconcile()

    @rule(at=st.integers(1, 40), starting=st.booleans())
    def crash(self, at: int, starting: bool) -> None:
        """Death at a call that changes something, and a start after it."""

        def work() -> None:
            with suppress(DeathError), burning(self.ledger, Fuse(at, dead)):
                if starting:
                    self.begin()
                self.sorter.reconcile()
                self.sorter.settle()
            contents = Counter(Path(entry.path(folder)).read_bytes() for folder in self.folders.values() for entry in scan(folder))
            assert contents == Counter(file.content for file in self.files)
            self.reopen()

        self.watch(work)

    @rule()
    def calm(self) -> None:
        """Nobody moves anything until the sorter has seen it all."""
        for _ in range(3):
            self.ahead += DWELL + 1
            self.watch(self.sorter.reconcile)
            self.watch(self.sorter.settle)
        for name, folder in self.folders.items():
            known = self.ledger.files.lying_in(self.ledger.files.folder(self.sorter.id, name))
            assert known.keys() == {parse_name(entry.name).key for entry in scan(folder)}, name
        for file in self.files:
            if file.digest not in self.unforeseen and file.digest in self.said:
                foretold = foretell(file)
                assert foretold is None or self.labels.get(file.digest) == foretold, f"{file.settled} {file.folder}"
        for file in self.files:
            if file.settled[-1:] != [file.folder]:
                file.settled.append(file.folder)
        self.said.clear()
        self.unforeseen = {
            digest for digest, number in Counter(file.digest for file in self.files).items() if number > 1
        } | {digest for digest in self.unforeseen if sum(file.digest == digest for file in self.files) != 1}

    # What holds at any time.

    @invariant()
    def no_message_is_lost_or_doubled(self) -> None:
        lying = Counter((name, entry) for name, folder in self.folders.items() for entry in scan(folder))
        assert lying == Counter((file.folder, file.entry) for file in self.files)
        for file in self.files:
            assert self.path_of(file).read_bytes() == file.content
            assert self.path_of(file).stat().st_mtime_ns == file.mtime_ns

    @invariant()
    def the_counts_are_the_sum_of_the_learned(self) -> None:
        assert self.ledger.learned.verify() == []

    @invariant()
    def the_journal_leads_to_the_labels(self) -> None:
        for digest in self.labels:
            label = None
            for action in self.learnings(digest):
                assert action.before == label
                assert action.after != label
                label = action.after
            assert self.ledger.learned.label(digest) == label

    @invariant()
    def no_move_is_open(self) -> None:
        assert self.ledger.journal.intents() == []


def foretell(file: File) -> int | None:
    """What a file that was moved by a person, and has no copies, is learned as by that; None where by nothing."""
    role = ROLES[file.folder]
    meant = [name for name in file.settled if ROLES[name] is not Role.NEUTRAL] or file.settled
    before = ROLES[meant[-1]] if meant else None
    if role is Role.SPAM:
        return None if before is Role.SPAM else SPAM
    if role in (Role.INBOX, Role.HAM) and before is Role.SPAM:
        return HAM
    if role is Role.HAM and before is not None and meant[-1] != file.folder:
        return HAM
    return None


Sorting.TestCase.settings = settings(max_examples=25, stateful_step_count=30)
TestSorting = Sorting.TestCase
