"""The service on a real Maildir, among the hands of a mail server, a person and death, in any order.

The model beside it knows each file: its content, where it lies, and in which folders the service has settled it.
It holds what is safe: no mail is lost, none is moved unasked, no decision is forgotten, and nothing is learned that
nobody said or left. What a place means, and what silence may teach, `rules.reactions` says; no rule stands here again.
"""

import math
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from spamnb.acts import moves, training
from spamnb.acts.ordered import is_near_order
from spamnb.acts.undo import UndoOutcome, undo
from spamnb.base.errors import LedgerBusyError, SpamnbError
from spamnb.base.label import How, Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Learning, Mailbox
from spamnb.config.settings import APART
from spamnb.filter.judge import Filter
from spamnb.identity.digests import header_digest, identity
from spamnb.ledger.history.actions import Action
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading, read
from spamnb.mail.relations import Relations
from spamnb.maildir.folders import Folder, create_folder
from spamnb.maildir.messages import Entry, Links, scan
from spamnb.maildir.names import format_name, fresh_bases, parse_name
from spamnb.rules.acquaintances import KNOWN_FIRST
from spamnb.rules.destination import MARKS
from spamnb.rules.reactions import TRAINING, Facts, PastPlace, Step, reaction_to, reaction_to_kept, taught_by
from spamnb.rules.weak_lessons import SILENT_MESSAGES
from spamnb.service.context import Context
from spamnb.service.jobs import OutdatedLessons
from spamnb.service.mailbox import arrivals, performer
from spamnb.service.mailbox.watched import WatchedMailbox
from tests.dying import DeathError, Fuse, burning, dead
from tests.lessons import NO_MAILBOX, Taught, label_of, learn, sample_lessons
from tests.patience import until_files_are_later
from tests.profiles import daily
from tests.thorough import sampled

ROLES = {
    "INBOX": Role.INBOX,
    "Junk": Role.SPAM,
    "Junk/Old": Role.SPAM,
    "Archive": Role.HAM,
    "Trash": Role.NEUTRAL,
    "Sent": Role.SENT,
    "TrainSpam": Role.TRAIN_SPAM,
    "TrainHam": Role.TRAIN_HAM,
    "Maybe": Role.UNSURE,
    "New": Role.NEWCOMERS,
    "Lists": Role.NEWSLETTERS,
}
# Where the filter moves mail to.
GOALS = {
    "INBOX": {"Junk", "Maybe", "New", "Lists"},
    "TrainSpam": {"Junk"},
    "TrainHam": {"INBOX"},
    "New": {"INBOX"},  # a letter that the person has answered
}
LESSONS = 20
CALLS = 40  # that change something when one message is judged and moved, and a few more
WAYS_OUT: list[tuple[str, ...]] = [(), ("INBOX",), ("Trash", "INBOX")]  # of Junk
DWELL, DAY = 5.0, 86_400.0
TEACHES = {Step.LEARN_HAM: Label.HAM, Step.LEARN_SPAM: Label.SPAM, Step.LEARN_HAM_AND_FILE: Label.HAM}

_FORGED = (b"Message-ID:", b"Date:", b"From:")
FOLDERS = st.sampled_from(list(ROLES))
PLAIN_FOLDERS = st.sampled_from(["INBOX", "Junk", "Junk/Old", "Archive", "Trash", "Sent", "New", "Lists"])
NEWEST = st.sampled_from([1, 1, 1, 1, 2, 2, 3, 4, 5, 6])
FLAGS = st.sampled_from(["", "", "S", "F", "RS", "T", "ST"])


@dataclass(eq=False)
class File:
    """A message file: its place, and the folders in which the service has settled it, the latest last.

    moved_on: the filter has learned it in a training folder, and moved it on from there.
    """

    content: bytes
    folder: str
    entry: Entry
    inode: int
    mtime_ns: int
    baseline: bool = False
    settled: list[str] = field(default_factory=list)
    moved_on: bool = False

    @property
    def digest(self) -> bytes:
        """Which message it is."""
        return identity(self.content)

    @property
    def flags(self) -> str:
        """Its flags."""
        return parse_name(self.entry.name).flags


def trained() -> bytes:
    """A ledger that has learned enough of both kinds, and of enough people."""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/ledger"
        with Ledger(path) as ledger:
            learn(ledger, sample_lessons(LESSONS))
            for number in range(KNOWN_FIRST):
                letter = Reading(bytes([number]), "hello", {"hello": 1}, Relations(f"friend{number}@b.example"))
                learn(ledger, [Taught(letter, Label.HAM)])
        return Path(path).read_bytes()


def has_mail(machine: "Sorting") -> bool:
    """Whether there is any mail to handle."""
    return bool(machine.files)


class Sorting(RuleBasedStateMachine):
    """A Maildir, its watched mailbox, and the model."""

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
        for folder in self.folders.values():
            Path(folder.subdir("dovecot-keywords")).write_text("0 $Junk\n1 $NotJunk\n")
        self.configure(trust=True)
        self.ahead = 0.0
        self.stamps: dict[tuple[int, int], float] = {}  # when a file's status was set, by inode and the kernel's time
        self.patches = ExitStack()
        for module in (arrivals, moves, performer):
            self.patches.enter_context(mock.patch.object(module, "links_of", self.links_of))
        self.bases: Iterator[str] = fresh_bases(lambda: 10**18, 7, "host")  # the same at each run
        self.number = LESSONS
        self.files: list[File] = []
        self.labels: dict[bytes, int | None] = {}
        self.said: dict[bytes, set[int]] = {}  # what was said by moving mail, since all was settled
        self.unforeseen: set[bytes] = set()  # messages with copies, or undone: what they are learned as is not foretold
        self.twins: set[bytes] = set()  # messages of which two files hold the same bytes, or did
        self.touched: set[bytes] = set()  # messages that a person had in hand
        self.alike: dict[bytes, set[bytes]] = {}  # messages with the same header digest
        self.forged: set[bytes] = set()  # all of these
        self.stumbled = False
        self.rescued: list[File] = []  # while the service was dead
        self.answered: set[bytes] = set()  # messages that a letter in the folder of sent mail answers
        self.letters: set[bytes] = set()  # messages that were ever in the folder of sent mail
        self.ledger = Ledger(self.path)

    def configure(self, trust: bool) -> None:
        """Choose whether mail first seen in Junk and in training folders is learned, from the next start on."""
        roles = {name: role for name, role in ROLES.items() if not role.is_apart}
        apart = {APART[role]: name for name, role in ROLES.items() if role.is_apart}
        mailbox = Mailbox(Path(self.root), roles, **apart)
        self.config = Config((mailbox,), Path(self.path), learning=Learning(trust_delivery=trust))

    def teardown(self) -> None:
        self.patches.close()
        self.ledger.close()
        self.directory.cleanup()

    # The world.

    @property
    def trusting(self) -> bool:
        """Whether a rule's delivery teaches."""
        return self.config.learning.trust_delivery

    def now(self) -> float:
        """A clock that can be put forward."""
        return time.time() + self.ahead

    def stamp(self, path: Path) -> None:
        """A file has got its name now, by this clock: the kernel's, which sets the times of files, stays behind it."""
        status = path.stat()
        self.stamps[status.st_ino, status.st_ctime_ns] = status.st_ctime + self.ahead

    def links_of(self, path: str) -> Links:
        """How many names a file has, and since when by this clock."""
        try:
            status = os.lstat(path)
        except OSError:
            return Links(0, 0.0)
        since = self.stamps.setdefault((status.st_ino, status.st_ctime_ns), status.st_ctime + self.ahead)
        return Links(status.st_nlink, since)

    def begin(self) -> None:
        """A new watched mailbox over the ledger, as after a start of the service."""
        if hasattr(self, "mailbox"):
            self.mailbox.lock.release()
        context = Context(self.config, self.ledger, self.now)
        context.bases = self.bases
        self.mailbox = WatchedMailbox(self.config.mailboxes[0], context)
        self.outdated = OutdatedLessons(context)
        self.mailbox.make_ready()

    def path_of(self, file: File) -> Path:
        """Return the path of a file."""
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
        self.stamp(path)
        status = path.stat()
        file = File(content, folder, entry, status.st_ino, status.st_mtime_ns)
        self.files.append(file)
        self.changed(folder)
        self.note_letter(file)
        return file

    def note_letter(self, file: File) -> None:
        """Record the recipients of mail in the folder of sent mail."""
        if ROLES[file.folder] is Role.SENT:
            self.letters.add(file.digest)

    def say(self, file: File, folder: str) -> None:
        """A person puts a file into a folder."""
        self.touched.add(file.digest)
        # Among the newsletters it is ham, if it comes from spam.
        label = Label.HAM if ROLES[folder] is Role.NEWSLETTERS else taught_by(ROLES[folder])
        if label is not None:
            self.said.setdefault(file.digest, set()).add(label)

    def pick(self, index: int) -> File:
        """One of the files, counted from the one that was last in hand: short stories of few files tell the most."""
        file = self.files[-index % len(self.files)]
        self.files.remove(file)
        self.files.append(file)
        return file

    def new_mail(self, kind: str) -> bytes:
        """A message that was never seen. stranger: ham of somebody new. unknown: a word that nobody has learned. list:
        ham of a mailing list.
        """
        self.number += 1
        content = message("spam" if kind == "spam" else "ham", self.number)
        if kind == "stranger":
            content = re.sub(rb"(?m)^From: .*", b"From: someone%d@else.example" % self.number, content, count=1)
        elif kind == "unknown":
            content = b"From: friend1@b.example\nMessage-ID: <ham.%d@friends.example>\n\nxyzzy\n" % self.number
        elif kind == "list":
            content = b"List-Id: <talk%d.club.example>\n" % (self.number % 3) + content
        return b"Received: by host; %d\n" % self.number + content

    # What the service does, looked at.

    def watch(self, work: Callable[[], object]) -> None:
        """Let the service work, and see whether what it did was right."""
        before = dict(self.labels)
        work()
        self.follow()
        self.labels = self.read_labels()
        for digest, label in self.labels.items():
            if before.get(digest) != label:
                self.justify(digest, before.get(digest), label)
        leaving = {(intent.source, intent.source_base) for intent in self.ledger.journal.intents()}
        for name in ROLES:
            folder = self.ledger.locations.folder(self.mailbox.folders.id, name)
            known = self.ledger.locations.files_in(folder)
            for file in self.files:
                key = parse_name(file.entry.name).key
                if file.folder == name and key in known and (folder, key) not in leaving:
                    self.settle_in(file, before.get(file.digest))

    def settle_in(self, file: File, before: int | None) -> None:
        """Record that the service has settled a file in its place: its lesson is the meaning of the move."""
        label = self.labels.get(file.digest)
        if file.digest not in self.unforeseen and not self.may_be_taken_for_moved(file.digest):
            meant, weak = foretell(file, self.trusting)
            if meant is not None:
                known = self.ledger.messages.find(file.digest)
                assert known is not None
                assert (label, known.weak) == (meant, weak), f"{file.settled} {file.folder}"
            elif label != before:
                assert None in (before, label), f"{file.settled} {file.folder}: by silence, which replaces nothing"
        if file.settled[-1:] != [file.folder]:
            file.settled.append(file.folder)

    def read_labels(self) -> dict[bytes, int | None]:
        """Return the labels of the messages of the model."""
        return {file.digest: label_of(self.ledger, file.digest) for file in self.files} | {
            digest: label_of(self.ledger, digest) for digest in self.labels
        }

    def justify(self, digest: bytes, old: int | None, new: int | None) -> None:
        """Check that each decision has a person behind it; a weak lesson may give way."""
        made = self.learnings(digest)
        if made[-1].takes_back is not None:
            return  # a person has undone it
        if new is None:
            assert made[-1].before_weak, "a decision was forgotten without a word"
            return
        if digest in self.twins and digest in self.touched:
            return  # of two files with the same bytes nobody can say which one it was that came from somewhere
        places = [file for file in self.files if file.digest == digest]
        if self.may_be_taken_for_moved(digest) and any(ROLES[file.folder] in (Role.HAM, Role.SPAM) for file in places):
            return
        # Forgotten by a person it is not learned by silence again; what the filter has forgotten may be.
        by_silence = old is None and len([one for one in made if one.before is None and not one.before_weak]) == 1
        silent = {lesson for file in places for lesson in left_lying(file)} if by_silence else set()
        said = new in self.said.get(digest, set()) or (new, bool(made[-1].after_weak)) in silent
        assert said, f"learned {digest.hex()} as {new}, it was {old}: nobody said so"

    def may_be_taken_for_moved(self, digest: bytes) -> bool:
        """Whether a person handled a message that this one may be, changed on its way."""
        return digest in self.forged and any(
            one in self.touched for alike in self.alike.values() if digest in alike for one in alike - {digest}
        )

    def learnings(self, digest: bytes) -> list[Action]:
        """The learnings of a message, the oldest first."""
        known = self.ledger.messages.find(digest)
        return [] if known is None else [a for a in self.ledger.journal.of_message(known.id) if a.kind == "learned"]

    def follow(self) -> None:
        """Find each file again, and check that it was allowed to move there."""
        lying = {(name, entry) for name, folder in self.folders.items() for entry in scan(folder)}
        moved = [file for file in self.files if (file.folder, file.entry) not in lying]
        arrived = lying - {(file.folder, file.entry) for file in self.files}
        assert len(arrived) == len(moved), f"{len(moved)} files are gone, {len(arrived)} have come"
        for folder, entry in arrived:
            status = os.stat(entry.path(self.folders[folder]))
            found = [file for file in moved if file.inode == status.st_ino]
            like = parse_name(entry.name).flags, entry.subdir  # two names of one file may both have moved
            found.sort(key=lambda one: (folder not in GOALS.get(one.folder, ()), (one.flags, one.entry.subdir) != like))
            assert found, f"nobody knows {entry} in {folder}"
            moved.remove(found[0])
            self.judge_move(found[0], folder, entry)
            found[0].settled.append(found[0].folder)
            found[0].moved_on = ROLES[found[0].folder] in TRAINING
            if found[0].folder == "INBOX":
                found[0].settled.append(folder)  # and nothing is learned from that
            found[0].folder, found[0].entry = folder, entry

    def judge_move(self, file: File, folder: str, entry: Entry) -> None:
        """Whether the filter was allowed to move that file there."""
        assert entry.subdir == file.entry.subdir
        assert parse_name(entry.name).flags == file.flags
        assert not file.baseline or ROLES[file.folder] in TRAINING, "baseline mail was moved"
        known_before = file.settled or file.folder == "INBOX" or file.digest in self.unforeseen
        assert self.trusting or known_before, "learned and moved what nobody knew"
        is_answered = file.folder == "New" and ("R" in file.flags or file.digest in self.answered)
        is_judged = bool(file.settled) or folder != "New"  # else a client marked it before: it is new mail all the same
        if file.flags.strip("DFPRST") == ("a" if folder == "Junk" else "b") and not is_answered and is_judged:
            self.judge_move_of_marked(file, folder)
            return
        assert folder in GOALS.get(file.folder, ())
        assert file.folder != "New" or is_answered, "nobody has answered it"
        if file.folder == "INBOX":
            assert self.ledger.state.begun_with is not None or self.is_ordered(file), "moved, and it may not yet"
            assert not file.settled, "moved again what had been settled, by a person or by a verdict"
            assert not set(file.flags) & MARKS, "moved what a person had read or marked"
            spam = self.labels.get(file.digest) != Label.HAM or Label.SPAM in self.said.get(file.digest, ())
            known = self.ledger.messages.find(file.digest)
            assert known is not None
            assert spam or known.weak, "moved what a person had called ham"
            (move, *_) = [
                action
                for action in reversed(self.ledger.journal.of_message(known.id))
                if action.kind == "moved" and action.destination_base == parse_name(entry.name).key
            ]  # another file of the message may have been rescued later in the same comparison
            assert known.rescued_at is None or move.at < known.rescued_at, "moved again what a person had rescued"

    def judge_move_of_marked(self, file: File, folder: str) -> None:
        """Whether the filter was allowed to move a file since a client had marked it."""
        role = ROLES[file.folder]
        assert not role.is_neutral
        assert "T" not in file.flags, "moved what a client has copied"
        if folder == "Junk":
            assert role is not Role.SPAM
        else:
            assert (role, folder) == (Role.SPAM, "INBOX")

    def is_ordered(self, file: File) -> bool:
        """Whether a person has called the message spam, or one that is almost the same: that needs no lessons."""
        called = {self.labels.get(file.digest), label_of(self.ledger, file.digest)}
        reading = read(file.content)
        verdict = Filter.of(self.ledger.lessons, self.config).judge(reading).verdict
        return Label.SPAM in called or is_near_order(self.ledger, self.config, reading, verdict)

    # Rules: mail comes.

    @initialize(
        kinds=st.lists(st.tuples(st.sampled_from(["ham", "spam"]), PLAIN_FOLDERS, FLAGS), max_size=3),
    )
    def start(self, kinds: list[tuple[str, str, str]]) -> None:
        for kind, folder, flags in kinds:
            file = self.write(self.new_mail(kind), folder, Entry("cur", f"{next(self.bases)}:2,{flags}"))
            file.baseline = True
            if "T" in flags:
                self.touched.add(file.digest)  # the same in another folder may be where it was moved to
            file.settled.append(folder)
        self.begin()

    @rule(
        kind=st.sampled_from(["ham", "stranger", "unknown", "list", "spam", "spam"]),
        folder=st.sampled_from(["INBOX", "INBOX", "Archive"]),
    )
    def deliver(self, kind: str, folder: str) -> None:
        self.write(self.new_mail(kind), folder, Entry("new", next(self.bases)))

    @rule(folder=st.sampled_from(["Junk", "Junk", "TrainSpam", "TrainHam"]), flags=st.sampled_from([None, "", "S"]))
    def deliver_by_a_rule(self, folder: str, flags: str | None) -> None:
        """A server-side rule files what nobody has seen, and may mark it as read."""
        base = next(self.bases)
        entry = Entry("new", base) if flags is None else Entry("cur", f"{base}:2,{flags}")
        file = self.write(self.new_mail("spam"), folder, entry)
        if self.trusting:
            self.say(file, folder)

    @rule(number=st.integers(1, 3))
    def send(self, number: int) -> None:
        """A person writes a letter; a mail program puts it into the folder of sent mail."""
        letter = f"From: you@home.example\nTo: ann@b.example\nMessage-ID: <{number}@home.example>\n"
        content = f"{letter}Subject: Letter {number}\n\nDear Ann, shall we meet on Sunday?\n".encode()
        self.unforeseen.add(identity(content))  # the same letter may be there before
        self.twins.add(identity(content))
        self.write(content, "Sent", Entry("cur", f"{next(self.bases)}:2,S"))

    @precondition(lambda self: any(file.folder == "New" for file in self.files))
    @rule(index=NEWEST, sign=st.sampled_from(["mark", "letter", "both"]))
    def answer(self, index: int, sign: str) -> None:
        """Answer mail of a newcomer: a mail program marks it, or puts a letter among the sent mail, or does both."""
        there = [file for file in self.files if file.folder == "New"]
        file = there[-index % len(there)]
        self.touched.add(file.digest)
        self.unforeseen.add(file.digest)  # the person may have put it there, or there is another one
        self.said.setdefault(file.digest, set()).add(Label.HAM)
        if sign != "letter":
            entry = Entry("cur", format_name(parse_name(file.entry.name).with_flags(file.flags + "R")))
            os.rename(self.path_of(file), entry.path(self.folders[file.folder]))
            self.put(file, file.folder, entry)
        if sign != "mark":
            self.number += 1
            fields = dict(re.findall(rb"(?m)^(From|Message-ID): (.*)", file.content.partition(b"\n\n")[0]))
            letter = b"From: you@home.example\nMessage-ID: <%d@home.example>\n" % self.number
            letter += b"To: %s\nIn-Reply-To: %s\n\nThank you!\n" % (fields[b"From"], fields[b"Message-ID"])
            self.answered |= {file.digest, *(one.digest for one in self.files if fields[b"Message-ID"] in one.content)}
            self.write(letter, "Sent", Entry("cur", f"{next(self.bases)}:2,S"))

    @rule(number=st.integers(1, 3), kind=st.sampled_from(["ham", "spam"]))
    def deliver_an_answer(self, number: int, kind: str) -> None:
        """Deliver mail that names a letter of this person, and comes from its recipient as far as one can tell."""
        self.deliver_answering(number, kind)

    def deliver_answering(self, number: int, kind: str) -> None:
        """An answer to a letter of `send`."""
        header, _, body = self.new_mail(kind).partition(b"\n\n")
        fields = [line for line in header.split(b"\n") if not line.startswith(b"From:")]
        fields += [b"From: ann@b.example", b"In-Reply-To: <%d@home.example>" % number]
        self.write(b"\n".join(fields) + b"\n\n" + body, "INBOX", Entry("new", next(self.bases)))

    @precondition(has_mail)
    @rule(index=NEWEST, seconds=st.sampled_from([0.0, 42.0]))
    def deliver_the_same(self, index: int, seconds: float) -> None:
        """A second delivery, which is the same to the last byte."""
        file = self.pick(index)
        self.ahead += seconds
        self.unforeseen.add(file.digest)
        self.twins.add(file.digest)
        self.write(file.content, "INBOX", Entry("new", next(self.bases)))

    @precondition(has_mail)
    @rule(index=NEWEST, kind=st.sampled_from(["ham", "spam"]), folder=st.sampled_from(["INBOX", "INBOX", "Archive"]))
    def forge(self, index: int, kind: str, folder: str) -> None:
        """Another message, with the Message-ID, Date and From of a known one."""
        known = self.pick(index)
        fields = [line for line in known.content.split(b"\n\n")[0].split(b"\n") if line.startswith(_FORGED)]
        rest = [line for line in self.new_mail(kind).split(b"\n") if not line.startswith(_FORGED)]
        file = self.write(b"\n".join(fields + rest), folder, Entry("new", next(self.bases)))
        assert header_digest(file.content) == header_digest(known.content)
        assert file.digest != known.digest
        alike = self.alike.setdefault(header_digest(file.content) or b"", set())
        alike |= {known.digest, file.digest}
        self.forged |= alike

    @rule(kind=st.sampled_from(["ham", "spam"]))
    def deliver_two_copies(self, kind: str) -> None:
        """A server-side rule files a copy."""
        content = self.new_mail(kind)
        for folder in ("INBOX", "Archive"):
            self.write(content, folder, Entry("new", next(self.bases)))
        self.unforeseen.add(identity(content))
        self.twins.add(identity(content))

    @rule(
        kind=st.sampled_from(["ham", "spam", "spam"]),
        folders=st.sampled_from([("INBOX", "Archive"), ("Archive", "INBOX"), ("INBOX", "Junk"), ("Archive", "Junk")]),
    )
    def deliver_linked(self, kind: str, folders: tuple[str, str]) -> None:
        """A delivery agent gives one file names in two folders."""
        first = self.write(self.new_mail(kind), folders[0], Entry("new", next(self.bases)))
        self.unforeseen.add(first.digest)
        self.twins.add(first.digest)
        second = self.link(first, folders[1], Entry("new", next(self.bases)))
        if ROLES[second.folder] is Role.SPAM and self.trusting:
            self.say(second, second.folder)

    def link(self, file: File, folder: str, entry: Entry) -> File:
        """Another name of a file, in the disk's and the model's eyes."""
        target = Path(entry.path(self.folders[folder]))
        os.link(self.path_of(file), target)
        self.stamp(target)
        made = File(file.content, folder, entry, file.inode, file.mtime_ns)
        self.files.append(made)
        self.changed(folder)
        return made

    @rule()
    def save_space(self) -> None:
        """A program makes one file of those with the same bytes; long after they came, so the service knows them."""
        self.calm()
        first: dict[bytes, File] = {}
        for file in self.files:
            one = first.setdefault(file.content, file)
            if one.inode != file.inode:
                path = self.path_of(file)
                os.link(self.path_of(one), f"{path}.part")
                os.rename(f"{path}.part", path)
                file.inode, file.mtime_ns = one.inode, one.mtime_ns
                self.stamp(path)
                self.changed(file.folder)

    @precondition(has_mail)
    @rule(index=NEWEST, folder=st.sampled_from(["INBOX", "Archive"]))
    def deliver_again(self, index: int, folder: str) -> None:
        """A second delivery of a known message."""
        file = self.pick(index)
        self.number += 1
        content = b"Received: by another host; %d\n" % self.number + file.content
        self.unforeseen.add(file.digest)
        assert self.write(content, folder, Entry("new", next(self.bases))).digest == file.digest

    # Rules: a person and a mail server.

    def put(self, file: File, folder: str, entry: Entry) -> None:
        """Record the new place of a file."""
        before = file.folder
        if file.digest in {action.digest for action in self.ledger.journal.intents()}:
            # The filter has not yet written down that it moved it: a person who is quicker is not understood.
            self.unforeseen.add(file.digest)
        file.folder, file.entry = folder, entry
        file.inode = self.path_of(file).stat().st_ino
        self.stamp(self.path_of(file))
        self.changed(before, folder)
        self.note_letter(file)

    @precondition(has_mail)
    @rule(index=NEWEST, flags=FLAGS)
    def flag(self, index: int, flags: str) -> None:
        file = self.pick(index)
        self.touched.add(file.digest)
        name = parse_name(file.entry.name)
        if name.trashed and "T" not in flags:
            self.keep_after_all(file)
        entry = Entry("cur", format_name(name.with_flags(flags + name.keywords)))
        os.rename(self.path_of(file), entry.path(self.folders[file.folder]))
        self.put(file, file.folder, entry)

    def keep_after_all(self, file: File) -> None:
        """A file that is not deleted after all was copied, not moved: a copy not yet seen is a second delivery."""
        for other in self.files:
            known = self.ledger.locations.files_in(self.ledger.locations.folder(self.mailbox.folders.id, other.folder))
            if other.content == file.content and parse_name(other.entry.name).key not in known:
                other.settled.clear()

    @precondition(has_mail)
    @rule(index=NEWEST, uid=st.integers(1, 9))
    def synchronise(self, index: int, uid: int) -> None:
        """A synchroniser writes its UID into the name."""
        file = self.pick(index)
        name = parse_name(file.entry.name)
        entry = Entry("cur", f"{name.key},U={uid}:2,{name.flags}")
        os.rename(self.path_of(file), entry.path(self.folders[file.folder]))
        self.put(file, file.folder, entry)

    @precondition(has_mail)
    @rule(index=NEWEST, keyword=st.sampled_from(["", "a", "b"]))
    def mark(self, index: int, keyword: str) -> None:
        """A client's button for junk, or for no junk."""
        file = self.pick(index)
        name = parse_name(file.entry.name)
        if keyword == name.keywords:
            return
        self.touched.add(file.digest)
        self.unforeseen.add(file.digest)
        if keyword:
            self.said.setdefault(file.digest, set()).add(Label.SPAM if keyword == "a" else Label.HAM)
        entry = Entry("cur", format_name(name.with_flags(name.flags.strip("ab") + keyword)))
        os.rename(self.path_of(file), entry.path(self.folders[file.folder]))
        self.put(file, file.folder, entry)

    @precondition(has_mail)
    @rule(index=NEWEST, folder=FOLDERS, how=st.sampled_from(["same name", "new name", "link", "copy"]))
    def move(self, index: int, folder: str, how: str) -> None:
        self.move_file(self.pick(index), folder, how)

    def move_file(self, file: File, folder: str, how: str) -> None:
        """Move as a person's programs do."""
        name = parse_name(file.entry.name)
        base = name.key if how == "same name" else next(self.bases)
        entry = Entry("cur", f"{base}:2,{name.flags}")
        source, target = self.path_of(file), entry.path(self.folders[folder])
        if base in {parse_name(other.name).key for other in scan(self.folders[folder])}:
            return
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
        file.moved_on = False

    @precondition(lambda self: any(ROLES[file.folder].is_goal for file in self.files))
    @rule(index=NEWEST, folder=st.sampled_from(["INBOX", "Archive"]))
    def correct(self, index: int, folder: str) -> None:
        """A person takes mail out of spam, or out of a folder for mail that was put apart."""
        there = [file for file in self.files if ROLES[file.folder].is_goal]
        self.move_file(there[index % len(there)], folder, "new name")

    @precondition(has_mail)
    @rule(index=NEWEST, folder=FOLDERS, hard=st.booleans())
    def copy(self, index: int, folder: str, hard: bool) -> None:
        """A client copies a message."""
        self.copy_file(self.pick(index), folder, hard)

    def copy_file(self, file: File, folder: str, hard: bool) -> File:
        """A copy, which may be the same file."""
        entry = Entry("cur", f"{next(self.bases)}:2,{file.flags}")
        if hard:
            made = self.link(file, folder, entry)
            made.settled = list(file.settled)
        else:
            made = self.write(file.content, folder, entry, file.mtime_ns)
        self.note_letter(made)
        self.unforeseen.add(file.digest)
        self.twins.add(file.digest)
        self.say(file, folder)
        return made

    @precondition(has_mail)
    @rule(index=NEWEST, folder=FOLDERS)
    def copy_and_mark_deleted(self, index: int, folder: str) -> None:
        """A client moves as IMAP had to before MOVE, and does not expunge."""
        file = self.pick(index)
        made = self.copy_file(file, folder, False)
        made.settled = list(file.settled)
        entry = Entry("cur", format_name(parse_name(file.entry.name).with_flags(file.flags + "T")))
        os.rename(self.path_of(file), entry.path(self.folders[file.folder]))
        self.put(file, file.folder, entry)

    @precondition(has_mail)
    @rule(index=NEWEST)
    def delete(self, index: int) -> None:
        file = self.pick(index)
        self.path_of(file).unlink()
        self.files.remove(file)
        self.touched.add(file.digest)
        self.unforeseen.add(file.digest)
        self.changed(file.folder)

    @precondition(has_mail)
    @rule(index=NEWEST, label=st.sampled_from([Label.HAM, Label.SPAM, None]))
    def teach(self, index: int, label: int | None) -> None:
        """`train` and `untrain`, by another process."""
        file = self.pick(index)
        with Ledger(self.path) as other:
            if label is not None:
                training.learn(other, read(file.content), Label(label), "by hand", self.now(), how=How.HAND)
            elif not training.forget(other, [identity(file.content)], "by hand", self.now(), how=How.HAND):
                return
        self.labels[file.digest] = label
        self.unforeseen.add(file.digest)

    @rule(back=st.integers(0, 2))
    def take_back(self, back: int) -> None:
        """Undo one of the newest actions."""
        actions = self.ledger.journal.since(0.0)
        if len(actions) <= back:
            return
        action = actions[back]
        self.unforeseen.add(action.digest)
        if action.kind == "moved":
            places = [file for file in self.files if file.digest == action.digest]
            with suppress(SpamnbError):
                self.mailbox.mover.undo_move(action)
                self.find_undone(action, places)
            return
        outcomes: list[UndoOutcome] = []
        self.watch(lambda: outcomes.extend(undo(self.ledger, NO_MAILBOX, [action], self.now, lambda work: None)))
        lesson = self.ledger.lessons.find(action.digest)
        if outcomes[0].fault is None:
            assert lesson is not None
            assert (lesson.label, lesson.weak) == (action.before, bool(action.before_weak)), "not as it was"

    def find_undone(self, action: Action, places: list[File]) -> None:
        """Return the one file that an undo has brought back to its old place, with its flags."""
        (gone,) = [file for file in places if not self.path_of(file).exists()]
        known = {(file.folder, file.entry) for file in self.files}
        lying = {(name, entry) for name, folder in self.folders.items() for entry in scan(folder)}
        ((name, entry),) = lying - known
        assert action.source is not None
        assert (name, parse_name(entry.name).flags) == (self.ledger.locations.where(action.source)[1], gone.flags)
        self.put(gone, name, entry)
        gone.settled.append(name)

    # Rules: time passes, and the service works.

    @rule(seconds=st.sampled_from([1.0, DWELL + 1, 4 * DAY, 15 * DAY]))
    def wait(self, seconds: float) -> None:
        self.ahead += seconds

    @rule(look=st.booleans(), index=NEWEST)
    def weeks(self, look: bool, index: int) -> None:
        """Let weeks go by; at their beginning a person may open a message in Junk."""
        self.ahead += DAY
        spam = [file for file in self.files if ROLES[file.folder] is Role.SPAM]
        if look and spam:
            file = spam[-index % len(spam)]
            entry = Entry("cur", format_name(parse_name(file.entry.name).with_flags(file.flags + "S")))
            self.touched.add(file.digest)
            os.rename(self.path_of(file), entry.path(self.folders[file.folder]))
            self.put(file, file.folder, entry)
            self.reconcile()
        with self.ledger.transaction():  # so much ham comes, and is deleted, that what came before it is not new
            for _ in range(SILENT_MESSAGES):
                self.number += 1
                known = self.ledger.messages.ensure(b"%032d" % self.number, "", None)
                self.ledger.messages.judged(known.id, "ham", 0.0, self.now())
        self.ahead += 15 * DAY
        self.reconcile()

    @rule(kind=st.sampled_from(["ham", "spam"]), early=st.booleans())
    def keep(self, kind: str, early: bool) -> None:
        """A person reads a message before the filter sees it, so that it stays in the inbox, and leaves it lying.

        early: it was learned by that when the filter knew less.
        """
        file = self.write(self.new_mail(kind), "INBOX", Entry("cur", f"{next(self.bases)}:2,S"))
        self.calm()
        if early:
            training.learn(self.ledger, read(file.content), Label.HAM, "kept", self.now(), weak=True, how=How.KEPT)
            self.labels[file.digest] = Label.HAM
        self.ahead += 4 * DAY
        self.reconcile()

    @rule()
    def keep_a_newsletter(self) -> None:
        """A person reads a newsletter where the filter has put it, and leaves it lying."""
        file = self.write(self.new_mail("list"), "INBOX", Entry("new", next(self.bases)))
        self.calm()
        entry = Entry("cur", format_name(parse_name(file.entry.name).with_flags(file.flags + "S")))
        os.rename(self.path_of(file), entry.path(self.folders[file.folder]))
        self.put(file, file.folder, entry)
        self.ahead += 4 * DAY
        self.reconcile()

    @rule(look=st.booleans(), index=NEWEST)
    def neglect(self, look: bool, index: int) -> None:
        """Deliver spam, and leave it for weeks where the filter has put it."""
        self.write(self.new_mail("spam"), "INBOX", Entry("new", next(self.bases)))
        self.calm()
        self.weeks(look, index)

    @rule()
    def look_at_weak_lessons(self) -> None:
        """Do the service's work of every ten days."""

        def work() -> None:
            while self.outdated.step_if_due(self.now()):
                pass

        self.ahead += 11 * DAY
        self.watch(work)

    @rule()
    def reconcile(self) -> None:
        self.watch(self.mailbox.compare)

    @rule()
    def settle(self) -> None:
        self.watch(self.mailbox.act_on_due)

    @precondition(has_mail)
    @rule(index=NEWEST)
    def hint(self, index: int) -> None:
        file = self.pick(index)
        folder = self.mailbox.folders.by_path[self.folders[file.folder].path]
        self.watch(lambda: self.mailbox.look(folder, file.entry))

    @rule(trust=st.sampled_from([True, True, False]))
    def restart(self, trust: bool) -> None:
        if trust != self.trusting:
            self.calm()  # what nobody has seen yet would be met with another mind than it was put there
        self.configure(trust)
        self.watch(self.reopen)

    def reopen(self) -> None:
        """The service ends and starts again."""
        self.ledger.close()
        self.ledger = Ledger(self.path)
        self.begin()
        self.mailbox.compare()

    @rule(at=st.integers(1, CALLS), starting=st.booleans(), ways=st.sampled_from(WAYS_OUT))
    def crash(self, at: int, starting: bool, ways: Sequence[str] = ()) -> None:
        """Death at a call that changes something, and a start after it.

        ways: the folders by way of which a person takes mail out of Junk before that start.
        """

        def work() -> None:
            with suppress(DeathError), burning(self.ledger, Fuse(at, dead)):
                if starting:
                    self.begin()
                self.mailbox.compare()
                self.mailbox.act_on_due()
            contents = Counter(
                Path(entry.path(folder)).read_bytes() for folder in self.folders.values() for entry in scan(folder)
            )
            assert contents == Counter(file.content for file in self.files)
            if ways:
                self.follow()
            self.rescued = [file for file in self.files if ways and file.folder == "Junk"]
            if self.rescued:
                until_files_are_later(Path(self.path).parent)  # no person is as fast as that
            for file in self.rescued:
                self.unforeseen.add(file.digest)  # the ledger may not know that it was in Junk, and cannot find out
                for folder in ways:
                    self.move_file(file, folder, "same name")
            self.reopen()

        self.watch(work)

    @rule(at=st.integers(1, 25))
    def stumble(self, at: int) -> None:
        """The ledger is busy for once, and the service goes on."""

        def busy() -> None:
            raise LedgerBusyError("busy")

        def work() -> None:
            with suppress(LedgerBusyError), burning(self.ledger, Fuse(at, busy, once=True), disk=False):
                self.mailbox.compare()
                self.mailbox.act_on_due()

        self.watch(work)
        self.ledger.record_lessons()  # as the next comparison of the folders does
        self.stumbled = True

    @rule()
    def calm(self) -> None:
        """Nobody moves anything until the service has seen it all."""
        for _ in range(3):
            self.ahead += DWELL + 1
            self.watch(self.mailbox.compare)
            while (due := self.mailbox.due()) is not None and due <= self.now():  # each time for a moment only
                self.watch(self.mailbox.act_on_due)
        for name, folder in self.folders.items():
            known = self.ledger.locations.files_in(self.ledger.locations.folder(self.mailbox.folders.id, name))
            if self.files:  # a mailbox without one message may be a mount point, and nothing is noted as gone
                assert known.keys() == {parse_name(entry.name).key for entry in scan(folder)}, name
        assert all(file.settled[-1] == file.folder for file in self.files)
        self.stumbled = False
        assert self.ledger.journal.intents() == []
        self.sent_mail_is_known()
        if self.files:  # as above
            self.what_waits_has_a_reason()
        self.said.clear()
        self.unforeseen = {
            digest for digest, number in Counter(file.digest for file in self.files).items() if number > 1
        } | {digest for digest in self.unforeseen if sum(file.digest == digest for file in self.files) != 1}

    def sent_mail_is_known(self) -> None:
        """Exactly the mail in the folder of sent mail decides whom this person knows."""
        known = set(self.ledger.lessons.sent())
        assert {file.digest for file in self.files if ROLES[file.folder] is Role.SENT} <= known <= self.letters

    def what_waits_has_a_reason(self) -> None:
        """A file waits only while the same delivery is where the filter moves mail to."""
        for placed in self.ledger.locations.waiting(self.ledger.locations.folder(self.mailbox.folders.id, "INBOX")):
            if "T" not in placed.flags:
                assert any(
                    identity(file.content) == self.ledger.messages.get(placed.message).digest
                    and ROLES[file.folder].is_goal
                    and "T" not in file.flags
                    for file in self.files
                )

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
        assert self.ledger.verify() == []

    @invariant()
    def the_journal_leads_to_the_labels(self) -> None:
        for digest in self.labels:
            label, weak = None, False
            for action in self.learnings(digest):
                assert (action.before, bool(action.before_weak)) == (label, weak)
                assert (action.after, bool(action.after_weak)) != (label, weak)
                assert label is None or weak or not action.after_weak or action.takes_back, "a decision gave way"
                label, weak = action.after, bool(action.after_weak)
            assert label_of(self.ledger, digest) == label

    @invariant()
    def a_rescue_forgets_what_an_unseen_junk_has_taught(self) -> None:
        lessons = [one for one in self.ledger.lessons.changes(0, 10_000) if one.takes_back is None]
        ham = [one.digest for one in lessons if one.decision is Label.HAM]
        assert not (self.ledger.messages.is_any_in_spam(ham) and any(one.is_unseen for one in lessons))

    @invariant()
    def what_was_only_sent_is_not_judged(self) -> None:
        for file in self.files:
            known = self.ledger.messages.find(file.digest)
            if (
                known is not None
                and file.digest not in self.unforeseen | self.touched
                and ROLES[file.folder] is Role.SENT
            ):
                assert (known.verdict, known.label) == (None, self.labels.get(file.digest))

    @invariant()
    def no_move_is_open(self) -> None:
        """But of a file that was just given a second name: it waits for the program that does that."""
        assert self.stumbled or {action.digest for action in self.ledger.journal.intents()} <= self.twins


def foretell(file: File, trusting: bool) -> tuple[Label | None, bool]:
    """Return the label and weakness that a file without copies gets in its present place; None for no change.

    By the rules, of the folders in which the service has settled the file; a training folder left by the filter too.
    """
    role = ROLES[file.folder]
    if file.settled[-1:] == [file.folder] or role in TRAINING:
        return None, False
    if file.moved_on:
        return taught_by(ROLES[file.settled[-1]]), False
    places = [
        PastPlace(
            ROLES[name],
            same_folder=name == file.folder,
            by_filter=False,
            is_gone=True,
            same_delivery=True,
            same_file=False,
            since=float(number),
            lag=0.0,
        )
        for number, name in enumerate(file.settled)
    ]
    reaction = reaction_to(Facts(role, places=places), trust_delivery=trusting)
    return TEACHES.get(reaction.step), reaction.weak


def left_lying(file: File) -> Iterator[tuple[Label, bool]]:
    """Return the label that a message may get by staying in its place long enough, and whether it is weak."""
    role = ROLES[file.folder]
    if (silence := reaction_to_kept(file.flags, role, math.inf, Learning())) is not None:
        yield TEACHES[silence.step], silence.weak
    if role is Role.SPAM:
        yield Label.SPAM, True


TestSorting = Sorting.TestCase
# The same stories each time; `TestSortingAtLength` looks for others.
TestSorting.settings = settings(max_examples=daily(10), stateful_step_count=30)
TestSorting.__doc__ = (
    "Whatever anyone does in whatever order, no mail is lost, and nothing is learned that nobody said."
)


@pytest.mark.thorough
class TestSortingThoroughly(Sorting.TestCase):  # type: ignore[misc, name-defined]
    """The same with some more stories."""

    settings = settings(max_examples=15, stateful_step_count=30)


@pytest.mark.slow
class TestSortingAtLength(Sorting.TestCase):
    """The same with many more stories."""

    settings = settings(max_examples=1000, stateful_step_count=50, derandomize=False)


# Stories that were once told wrongly, or nearly.


@pytest.fixture
def world() -> Iterator[Sorting]:
    """A mailbox whose folders the service has looked at: else its first calls are about them, and none about mail."""
    made = Sorting()
    made.start([])
    made.calm()
    yield made
    made.teardown()


def test_what_is_put_apart(world: Sorting) -> None:
    """Mail of a stranger, unsure mail and lists are moved to folders of their own; taken out of them they are ham."""
    for kind in ("stranger", "unknown", "list"):
        world.deliver(kind, "INBOX")
    world.calm()
    assert [file.folder for file in world.files] == ["New", "Maybe", "Lists"]
    for folder in ("INBOX", "Archive", "INBOX"):
        world.correct(0, folder)
    world.calm()
    assert set(world.labels.values()) == {Label.HAM}


@pytest.mark.parametrize("sign", ["mark", "letter", "both"])
@pytest.mark.parametrize("at", [0, *sampled(range(1, 60), 8)])
def test_killed_while_an_answered_letter_is_moved(world: Sorting, sign: str, at: int) -> None:
    """Killed at any call or not, the answered letter of a newcomer is learned once, and is in the inbox."""
    world.deliver("stranger", "INBOX")
    world.calm()
    assert [file.folder for file in world.files] == ["New"]
    first = world.files[0]
    world.answer(1, sign)
    if at:
        world.wait(DWELL + 1)
        world.crash(at, False)
    world.calm()
    assert first.folder == "INBOX"
    assert world.labels[first.digest] == Label.HAM
    assert len(world.learnings(first.digest)) == 1


def test_a_newsletter_that_was_kept(world: Sorting) -> None:
    """A newsletter that was read, and left where the filter has put it, is ham, weakly."""
    world.keep_a_newsletter()
    assert [(file.folder, file.flags) for file in world.files] == [("Lists", "S")]
    (known,) = [world.ledger.messages.find(file.digest) for file in world.files]
    assert known is not None
    assert (known.label, known.weak) == (Label.HAM, True)


def test_a_filed_copy_of_spam(world: Sorting) -> None:
    """A copy of spam that a rule files is not learned as ham because the filter moved the other copy away."""
    world.deliver_two_copies("spam")
    world.calm()
    assert [file.folder for file in world.files] == ["Junk", "Archive"]
    assert set(world.labels.values()) == {None}


@pytest.mark.parametrize("folders", [("INBOX", "Archive"), ("Archive", "INBOX")])
@pytest.mark.parametrize("at", [0, *sampled(range(1, 60, 4), 8)])
def test_a_linked_delivery_of_spam(world: Sorting, folders: tuple[str, str], at: int) -> None:
    """Spam that is delivered as one file with two names is moved, and learned nowhere, killed at any call or not.

    Out of spam it is ham, whichever of its names is newer to the ledger.
    """
    world.deliver_linked("spam", folders)
    if at:
        world.wait(DWELL + 3)
        world.crash(at, False)
    world.calm()
    assert sorted(file.folder for file in world.files) == ["Archive", "Junk"]
    assert set(world.labels.values()) == {None}
    world.correct(1, "INBOX")
    world.calm()
    assert sorted(file.folder for file in world.files) == ["Archive", "INBOX"]
    assert set(world.labels.values()) == {Label.HAM}


def test_both_names_of_a_file_follow_its_copy(world: Sorting) -> None:
    """A copy in TrainSpam makes a message in the inbox spam, and both of the names that its file has go to Junk."""
    world.deliver("ham", "INBOX")
    world.copy(1, "INBOX", True)
    world.copy(1, "TrainSpam", False)
    world.calm()
    assert [file.folder for file in world.files] == ["Junk", "Junk", "Junk"]
    assert set(world.labels.values()) == {Label.SPAM}


def test_copies_of_spam_made_one_file(world: Sorting) -> None:
    """If a program makes one file of spam in Junk and a rule's copy, no name of it teaches anything."""
    world.deliver_two_copies("spam")
    world.save_space()
    assert world.files[0].inode == world.files[1].inode
    world.calm()
    assert set(world.labels.values()) == {None}
    archived = next(file for file in world.files if file.folder == "Archive")
    world.pick(len(world.files) - world.files.index(archived))
    world.move(1, "Archive", "new name")
    world.calm()
    assert set(world.labels.values()) == {None}


def test_undone_move_stays_undone(world: Sorting) -> None:
    """Spam that an undo brought back is not moved again, whatever name it gets."""
    world.deliver("spam", "INBOX")
    world.calm()
    assert world.files[0].folder == "Junk"
    world.take_back(0)
    assert world.files[0].folder == "INBOX"
    world.calm()
    world.move(1, "INBOX", "new name")
    world.calm()
    assert world.files[0].folder == "INBOX"


def test_rescued_from_the_trash(world: Sorting) -> None:
    """Spam that a person deletes, and then puts into the inbox, is ham, and stays."""
    world.deliver("spam", "INBOX")
    world.calm()
    world.move(1, "Trash", "new name")
    world.calm()
    assert set(world.labels.values()) == {None}
    world.move(1, "INBOX", "new name")
    world.calm()
    assert world.files[0].folder == "INBOX"
    assert set(world.labels.values()) == {Label.HAM}


def test_rescued_beside_a_second_delivery(world: Sorting) -> None:
    """A second delivery that came before the rescue, and is settled with it, is judged first, as if there were none."""
    world.deliver("spam", "INBOX")
    world.calm()
    world.deliver_again(1, "INBOX")
    world.correct(1, "INBOX")
    world.calm()
    assert sorted(file.folder for file in world.files) == ["INBOX", "Junk"]
    assert set(world.labels.values()) == {Label.HAM}
    world.deliver_again(1, "INBOX")
    world.calm()
    assert sorted(file.folder for file in world.files) == ["INBOX", "INBOX", "Junk"]


@pytest.mark.parametrize("at", sampled(range(1, CALLS), 8))
def test_killed_while_spam_is_moved(world: Sorting, at: int) -> None:
    """Killed at any call of judging and moving spam, the filter moves it after the start, and learns nothing."""
    world.deliver("spam", "INBOX")
    world.crash(at, False)
    world.calm()
    assert [file.folder for file in world.files] == ["Junk"]
    assert set(world.labels.values()) == {None}


def test_the_kills_reach_the_end_of_a_move(world: Sorting) -> None:
    """The calls that the tests of kills die at include all those of judging and moving one message."""
    world.deliver("spam", "INBOX")
    fuse = Fuse(1000, dead)
    with burning(world.ledger, fuse):
        world.mailbox.compare()
    world.follow()
    assert world.files[0].folder == "Junk"
    assert 25 < fuse.passed < CALLS


@pytest.mark.parametrize("ways", [way for way in WAYS_OUT if way], ids=" and ".join)
@pytest.mark.parametrize("at", sampled(range(1, CALLS), 8))
def test_rescued_while_the_service_is_dead(world: Sorting, at: int, ways: Sequence[str]) -> None:
    """Spam that a person takes out of Junk between a kill and the next start is not moved there again."""
    world.deliver("spam", "INBOX")
    world.crash(at, False, ways)
    world.calm()
    assert [file.folder for file in world.files] == ["INBOX" if world.rescued else "Junk"]


@pytest.mark.parametrize("at", sampled(range(1, CALLS), 8))
def test_killed_while_a_correction_is_learned(world: Sorting, at: int) -> None:
    """Killed at any call of learning from a correction, it is learned once, and the message stays."""
    world.deliver("spam", "INBOX")
    world.calm()
    world.correct(1, "INBOX")
    world.wait(DWELL + 1)
    world.crash(at, False)
    world.calm()
    assert [file.folder for file in world.files] == ["INBOX"]
    assert set(world.labels.values()) == {Label.HAM}
    assert len(world.learnings(world.files[0].digest)) == 1


@pytest.mark.parametrize("at", sampled(range(1, 20), 8))
def test_busy_while_spam_is_moved(world: Sorting, at: int) -> None:
    """If the ledger is busy at any call of moving spam, the service goes on and learns nothing from its own move."""
    world.deliver("spam", "INBOX")
    world.stumble(at)
    world.calm()
    assert [file.folder for file in world.files] == ["Junk"]
    assert set(world.labels.values()) == {None}


@pytest.mark.parametrize("at", [0, *sampled(range(1, 60), 8)])
def test_killed_while_marked_mail_is_moved(world: Sorting, at: int) -> None:
    """Killed at any call or not, marked mail goes to Junk, and back to the inbox, and each is learned once."""
    world.deliver("ham", "INBOX")
    world.calm()
    for keyword, folder in (("a", "Junk"), ("b", "INBOX")):
        world.mark(1, keyword)
        world.reconcile()
        world.wait(DWELL + 1)
        if at:
            world.crash(at, False)
        world.calm()
        assert [file.folder for file in world.files] == [folder]
    assert set(world.labels.values()) == {Label.HAM}
    assert len(world.learnings(world.files[0].digest)) == 2


def test_a_keyword_is_one_word(world: Sorting) -> None:
    """A client's keyword is a person's word when it is set, not each time another flag changes after it."""
    world.deliver("ham", "INBOX")
    world.calm()
    world.mark(1, "a")
    world.calm()
    assert set(world.labels.values()) == {Label.SPAM}
    world.teach(1, Label.HAM)
    world.flag(1, "S")
    world.calm()
    assert set(world.labels.values()) == {Label.HAM}


def test_out_of_spam_and_back(world: Sorting) -> None:
    """Out of spam and back, while the folders were compared in between, is a change of mind and teaches nothing."""
    world.deliver("spam", "INBOX")
    world.calm()
    world.move(1, "Archive", "same name")
    world.reconcile()
    world.move(1, "Junk", "same name")
    world.calm()
    assert set(world.labels.values()) == {None}
