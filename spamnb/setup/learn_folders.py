"""Learn the present mail in all folders of a configuration's mailboxes: for each user of a host.

The folder of mail that the filter judges says nothing about it, since the filter has moved it there or left it. A
person's decisions about such mail are already learned.

You may interrupt this at any moment and start it again: each transaction is kept, and a file that is already learned
by its folder is not read again.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import NamedTuple

from spamnb.acts import may_move
from spamnb.base.errors import MaildirError, SpamnbError
from spamnb.base.label import How, Label, Role
from spamnb.base.wording import escaped
from spamnb.bulk import learning
from spamnb.bulk.mapping import LeftOut, each, read_batch
from spamnb.bulk.sources import Source
from spamnb.config import Config
from spamnb.host.find_users import User
from spamnb.host.host import Host
from spamnb.ledger.history.choices import in_force
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.values import damage_in
from spamnb.maildir.names import parse_name
from spamnb.review import first_lessons
from spamnb.review.first_lessons import NOTHING, Sifted
from spamnb.setup.proposal import TAUGHT, Proposal, Taught, as_configured


@dataclass(frozen=True, slots=True)
class LearnedFolders:
    """How many messages were newly learned as ham and as spam, how many were known, and which were unreadable.

    undecided: the number of files left out, see `KnownFiles`. sifted: what looks like spam among the ham.
    """

    ham: int
    spam: int
    known: int
    left_out: LeftOut
    undecided: int = 0
    sifted: Sifted = NOTHING


class KnownFiles(NamedTuple):
    """The files of a mailbox that must not be learned, by what the ledger knows.

    learned: they are learned by a decision that agrees with their folder. otherwise: a person has decided against their
    folder, or another file of the message is in a spam folder. undecided: the filter judges them, and nobody has
    decided. sifted: they were learned as ham, and look like spam (`review.first_lessons`).
    """

    learned: set[str]
    otherwise: set[str]
    undecided: set[str]
    sifted: set[str]


class LearnedUser(NamedTuple):
    """The lessons from one user of a host; None with the fault if they failed."""

    name: str
    learned: LearnedFolders | None
    fault: str = ""


def learn_users(host: Host, users: Iterable[User], record: Callable[[Config], None]) -> Iterator[LearnedUser]:
    """Learn the folders of one user after the other. Yield a user's fault, and go on with the others.

    record: called after each user, so that the next call knows the learned messages by their files.
    """
    for user in users:
        config, fault = host.config_of(user)
        if fault:  # with the roles of other users, mail could be learned with the wrong label
            yield LearnedUser(user.name, None, fault)
            continue
        try:
            learned = learn_folders(config)
            record(config)
        except Exception as met:
            yield LearnedUser(user.name, None, _told(config, met))
        else:
            host.look_again(user.name)
            yield LearnedUser(user.name, learned)


def learn_folders(config: Config) -> LearnedFolders:
    """Learn folders of lists, then ham and then spam folders: a message in the last two ends as spam.

    Then sift what was learned as ham, and record that mail may be moved if the filter knows enough. Raises SpamnbError
    if a mailbox has no inbox or cannot be read, or the ledger cannot be used.
    """
    learned, known, undecided = dict.fromkeys(Label, 0), 0, 0
    left_out: LeftOut = []
    ledger_path = str(config.ledger) if os.path.exists(config.ledger) else None
    proposals = list(map(as_configured, in_force(config, ledger_path).mailboxes))
    for proposal in proposals:
        _check(proposal)
    with Ledger(str(config.ledger)) as ledger:
        first_lessons.begin(ledger)
    for proposal in proposals:
        with Ledger(str(config.ledger)) as ledger:
            there = known_files(ledger, proposal)
        known += len(there.learned) + len(there.otherwise) + len(there.sifted)
        undecided += len(there.undecided)
        skipped = set().union(*there)
        for taught in TAUGHT:
            found = [source for source in proposal.teaching(taught) if source.file not in skipped]
            if not found:
                continue
            seen, changed, unread = _learn(config, found, taught)
            learned[taught.label] += changed
            known += seen - changed
            left_out += unread
    with Ledger(str(config.ledger)) as ledger:
        sifted = first_lessons.finish(ledger, config.scoring)
        may_move.begin_if_ready(ledger, config.scoring, config.learning)
    return LearnedFolders(learned[Label.HAM], learned[Label.SPAM], known, left_out, undecided, sifted)


def known_files(ledger: Ledger, proposal: Proposal) -> KnownFiles:
    """Return the files that must not be learned.

    A message that the filter has not judged becomes spam if one of its files is in a spam folder, and nobody has
    answered what it is.
    """
    known, root = KnownFiles(set(), set(), set(), set()), str(proposal.mailbox.path)
    if ledger.locations.started_at(root) is None:
        return known
    settled = ledger.journal.all_settled()
    digests: dict[str, tuple[bytes, Label]] = {}  # of messages that the filter has not judged, and what the folder says
    in_spam: set[bytes] = set()
    of_lists: set[str] = set()
    for folder in proposal.messages:
        taught = proposal.taught(folder)
        if taught is None:
            continue
        label = taught.label
        recorded = ledger.locations.recorded_in(root, folder)
        is_inbox = proposal.mailbox.role_of(folder) is Role.INBOX
        for file in (source.file for source in proposal.in_folder(folder)):
            digest, is_judged = recorded.get(parse_name(os.path.basename(file)).key, (None, is_inbox))
            if is_judged:
                decision = None if digest is None else _decision(ledger, digest)
                among = known.undecided if decision is None else known.otherwise
                (known.learned if decision is label else among).add(file)
            elif digest is not None:
                digests[file] = digest, label
                if taught.weak:
                    of_lists.add(file)
                if label is Label.SPAM:
                    in_spam.add(digest)
    for file, (digest, label) in digests.items():
        lesson = ledger.lessons.find(digest)
        decision = None if lesson is None else lesson.decision
        if digest in settled or decision is (Label.SPAM if digest in in_spam else Label.HAM):
            (known.learned if decision is label else known.otherwise).add(file)
        elif lesson is not None and file in of_lists and lesson.label is not None:
            known.learned.add(file)  # whatever it is learned as, a weak lesson changes nothing
        elif lesson is not None and digest not in in_spam and first_lessons.is_sifted(lesson):
            known.sifted.add(file)
    return known


def _decision(ledger: Ledger, digest: bytes) -> Label | None:
    lesson = ledger.lessons.find(digest)
    return None if lesson is None else lesson.decision


def _told(config: Config, fault: Exception) -> str:
    """Return a fault of one user in words. Raise a fault again if it is not about the user, or is our own mistake."""
    if isinstance(fault, SpamnbError):
        return str(fault)
    if isinstance(fault, OSError):
        return f"{fault.strerror}{f': {escaped(str(fault.filename))}' if fault.filename else ''}"
    damage = None
    with suppress(SpamnbError):
        damage = damage_in(str(config.ledger), fault)
    if damage is None:
        raise fault
    return str(damage)


def _check(proposal: Proposal) -> None:
    if proposal.mailbox.inbox_folder not in proposal.messages:
        inbox, root = escaped(proposal.mailbox.inbox_folder), escaped(str(proposal.mailbox.path))
        raise MaildirError(f"{root} has no folder {inbox}: correct the template, or the roles of this user")
    if proposal.faults:
        raise MaildirError(proposal.faults[0])


def _learn(config: Config, found: Sequence[Source], taught: Taught) -> tuple[int, int, LeftOut]:
    """Learn messages. Returns how many were seen and changed, and those that could not be read."""
    seen, changed = 0, 0
    left_out: LeftOut = []
    with ExitStack() as stack:
        read = stack.enter_context(each(read_batch, found))  # forks before a ledger is opened
        ledger = stack.enter_context(Ledger(str(config.ledger)))
        for done in learning.learn(ledger, read, taught.label, taught.why, how=How.SEEN, weak=taught.weak):
            seen, changed = seen + done.seen, changed + done.changed
            left_out += done.left_out
    return seen, changed, left_out
