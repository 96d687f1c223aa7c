"""What `doctor` asks of the ledger: the file, its disk, its copies, what was learned, and what is left to do."""

import glob
import os
import shlex
import time
from collections.abc import Iterator

from spamnb.breaker import Stop, stop_of
from spamnb.cli.output import clock, megabytes, plural
from spamnb.cli.symptoms import (
    FAULT,
    OK,
    WARNING,
    Finding,
    days,
    free_space,
    mode_of,
    name_of,
    network_file_system,
    owner_of,
)
from spamnb.config import Config
from spamnb.config.values import Learning
from spamnb.ledger.copies import directory_of, rolling
from spamnb.ledger.copying import faults_of_copy
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.place import present
from spamnb.ledger.reading import faults_of
from spamnb.ledger.restoring import RESTORED_NOTE
from spamnb.mail.tokenizer import VERSION
from spamnb.policy import missing_lessons
from spamnb.service.alone import is_running

_DAY = 86_400.0
_UNUSUAL_SILENCE = 30 * _DAY
_UNUSUAL_BALANCE = 20
_NO_ROOM = 1_000_000  # bytes; learning a few messages needs as much
_COPY_IS_LATE = 3 * _DAY
_RECENT = 7 * _DAY  # so long a restore, and what it set aside, is a warning


def of_ledger(path: str, config: Config | None) -> Iterator[Finding]:
    """Everything that is asked of the ledger."""
    running = is_running(path)
    yield (
        Finding(OK, "service", "running")
        if running
        else Finding(
            WARNING,
            "service",
            "not running: nothing is judged or learned now",
            "spamnb run, or systemctl --user start spamnb",
        )
    )
    file = present(path)
    if not os.path.exists(file):
        yield Finding(FAULT, "ledger", f"there is no {path}", "run spamnb init, or restore a copy: spamnb restore")
        yield from _copies(path, config)
        return
    if file != path:
        means = f"its replacement was interrupted; the new one is {file}"
        yield Finding(WARNING, "ledger", means, "start the service, which ends the replacement")
    yield from _file(path, file)
    faults = faults_of(file)
    if not faults:
        with Ledger(path, only_read=True) as ledger:
            faults = ledger.learned.verify()
            yield from _content(ledger, running, config)
    for fault in faults[:3]:
        step = "start the service, which restores its newest copy, or: spamnb restore FILE"
        yield Finding(FAULT, "ledger", fault, step)
    yield from _copies(path, config)


def _file(path: str, file: str) -> Iterator[Finding]:
    """What is asked of the file, which lies beside its path where a replacement was interrupted."""
    directory = os.path.dirname(os.path.abspath(path))
    size, free = os.path.getsize(file), free_space(directory)
    if free < _NO_ROOM:
        means = f"{megabytes(size)}, with {megabytes(free)} free on its disk: nothing more can be learned or moved"
        yield Finding(FAULT, "ledger", means, "free some space; nothing was lost")
    elif free < 2 * size + 10_000_000:
        means = f"{megabytes(size)}, with {megabytes(free)} free on its disk: too little for copies and pruning"
        yield Finding(WARNING, "ledger", means, "free some space, or: spamnb prune")
    else:
        yield Finding(OK, "ledger", f"{file}, {megabytes(size)}, {megabytes(free)} free on its disk")
    if not os.access(directory, os.W_OK | os.X_OK) or not os.access(file, os.R_OK | os.W_OK):
        means = f"{directory} or the ledger in it may not be written by {name_of(os.geteuid())}"
        yield Finding(FAULT, "ledger", means, "correct the owner: chown, or run spamnb as that user")
    if mode_of(file) & 0o077 and mode_of(directory) & 0o077:
        yield Finding(WARNING, "ledger", "other users may read it: it holds words of your mail", f"chmod 600 {file}")
    if owner_of(file) != owner_of(directory):
        yield Finding(WARNING, "ledger", "file and directory belong to two users", "correct the owner: chown")
    if kind := network_file_system(directory):
        means = f"it lies on {kind}, where two processes can damage it"
        yield Finding(FAULT, "ledger", means, "set `ledger` in the configuration to a local disk, and move it there")
    left = sorted(found for word in ("damaged", "replaced") for found in glob.glob(f"{glob.escape(path)}.{word}-*"))
    files = [one for one in left if not one.endswith(("-wal", "-shm", "-journal"))]
    if files:
        means = f"{plural(len(files), 'former ledger')} kept beside it, {megabytes(sum(map(os.path.getsize, left)))}"
        step = f"when nothing is missing, remove: {' '.join(map(shlex.quote, left))}"
        if time.time() - max(os.stat(one).st_ctime for one in files) < _RECENT:  # since they were renamed
            yield Finding(WARNING, "ledger", means, step)
        else:
            yield Finding(OK, "ledger", f"{means}; {step}")


def _content(ledger: Ledger, running: bool, config: Config | None) -> Iterator[Finding]:
    ham, spam, *_, tokens = ledger.learned.totals().tolist()
    known = f"{ham} ham and {spam} spam messages, {tokens} tokens"
    missing = missing_lessons(ham, spam, config.learning if config else Learning())
    if missing:
        yield Finding(
            WARNING,
            "learned",
            f"{known}: nothing is moved yet, {missing}",
            "spamnb init --learn, or spamnb train",
        )
    elif max(ham, spam) > _UNUSUAL_BALANCE * min(ham, spam):
        means = f"{known}: of one kind there is much more, and the other is known badly"
        yield Finding(WARNING, "learned", means, "train some more of the rarer kind")
    else:
        yield Finding(OK, "learned", known)
    last = ledger.learned.last_at()
    if last is not None and time.time() - last > _UNUSUAL_SILENCE:
        means = f"nothing for {days(time.time() - last)}, since {clock(last)}"
        yield Finding(WARNING, "learned", means, "move mail that is judged wrongly; see that the service runs")
    others = sorted(ledger.learned.tokenizers() - {VERSION})
    if others:
        means = f"some with another tokenizer ({', '.join(map(str, others))}, this one is {VERSION}), which helps less"
        yield Finding(WARNING, "learned", means, "train that mail again: spamnb untrain, then spamnb train")
    restored = ledger.note(RESTORED_NOTE)
    if (stop := stop_of(ledger, time.time())) is not None:
        yield _stopped(stop)
    if restored is not None and time.time() - float(restored) < _RECENT:
        means = f"an earlier ledger was restored on {clock(float(restored))}: what was learned meanwhile is missing"
        yield Finding(WARNING, "ledger", means, "correct what is judged wrongly by moving it")
    if (open_moves := len(ledger.journal.intents())) and not running:
        yield Finding(
            WARNING, "moving", f"{plural(open_moves, 'move')} not ended", "start the service, which ends them"
        )


def _stopped(stop: Stop) -> Finding:
    if stop.tripped_at is None:
        return Finding(WARNING, "moving", "paused by hand: nothing is moved now", "to go on: spamnb resume")
    means = f"stopped since {clock(stop.tripped_at)}: too much mail looked like spam"
    return Finding(FAULT, "moving", means, "look at spamnb history --kind judged, then: spamnb resume")


def _copies(path: str, config: Config | None) -> Iterator[Finding]:
    found = rolling(path)
    if config is not None and not config.service.copies:
        yield Finding(OK, "copies", "none are made: `copies` is 0 in the configuration")
        return
    if not found:
        yield Finding(
            WARNING, "copies", f"none in {directory_of(path)}", "the service makes one a day; or: spamnb backup"
        )
        return
    newest = found[0]
    age = time.time() - os.path.getmtime(newest)
    if faults := faults_of_copy(newest):
        yield Finding(WARNING, "copies", f"{newest} is damaged: {faults[0]}", "remove it; the service makes another")
    elif age > _COPY_IS_LATE:
        means = f"the newest is {days(age)} old"
        yield Finding(
            WARNING, "copies", means, "see that the service runs, and what it says: journalctl --user -u spamnb"
        )
    else:
        yield Finding(OK, "copies", f"{len(found)}, the newest is {os.path.basename(newest)}")
