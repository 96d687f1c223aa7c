"""Copy a ledger: whole, of one moment, while others work with it, and compressed.

SQLite's backup API copies the pages of one moment. Its reading transaction sees nothing that others write at the same
time, so the copy never has to begin again. The copy is made under a name that no one takes for a copy. It is examined,
compressed and made durable, and only then gets its name: a copy with its name is whole.
"""

import contextlib
import errno
import gzip
import os
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from spamnb.base import durable
from spamnb.base.errors import LedgerDamagedError, LedgerError, LedgerSpaceError
from spamnb.ledger.file.pages import copied, copy, new_file, step_for, store
from spamnb.ledger.file.parts import PACKED, directory_of, of_day, rolling
from spamnb.ledger.file.readonly import Alive, faults_of, look_into
from spamnb.ledger.file.replacement import present
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.sqlite import count_table

_STALE_SECONDS = 3600.0  # after that an unfinished copy is no longer being written
_CHUNK = 1 << 20  # bytes
_SPARE = 16_000_000  # bytes of the disk that unpacking leaves free
# The most that a compressed copy may hold, in times its size, beside _SPARE bytes. A new ledger has 43 to one, one with
# 50 messages 9, with 1,000 messages 3; DEFLATE itself reaches a thousand.
_LARGEST_RATIO = 100

# The sums that the ledger keeps, and the messages behind them.
_TOTALS = (
    "SELECT ham_messages, spam_messages, ham_token_messages, spam_token_messages, ham_occurrences, spam_occurrences,"
    " vocabulary FROM total"
)
_MESSAGES = (
    "SELECT (SELECT count(*) FROM lesson WHERE label = 0) + (SELECT total(ham_messages) FROM import),"
    " (SELECT count(*) FROM lesson WHERE label = 1) + (SELECT total(spam_messages) FROM import)"
)


@dataclass(frozen=True, slots=True)
class Held:
    """What a ledger holds: the number of learned messages of both kinds, and of the tokens in them."""

    ham: int
    spam: int
    tokens: int


def roll(ledger: str, at: float, keep: int, alive: Alive = lambda: None) -> str:
    """Make the copy of the day, replacing an older one, and keep only the newest `keep` copies. Returns its path.

    If a replacement was interrupted, it copies the new ledger. It only compares the sums of the counts: the service
    lacks the memory to prove all of them. Raises LedgerDamagedError if the pages or indexes of the ledger are damaged,
    LedgerError if the copy cannot be made or the sums are wrong; then no other copy is touched.
    """
    final = of_day(ledger, at)
    directory = os.path.dirname(final)
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        _sweep(directory, at)
        with copied(present(ledger), directory, alive) as plain_copy:
            if faults := faults_of(plain_copy, alive):
                if not faults_of(present(ledger), alive):  # the ledger has no fault: the service can go on
                    step = f"the ledger itself is sound: check the disk of {directory}"
                    raise LedgerError(f"the copy was damaged as it was written ({faults[0]}); {step}")
                raise LedgerDamagedError(_not_copied(ledger, faults[0]))
            if faults := look_into(plain_copy, _unequal_sums, alive):
                raise LedgerError(_not_copied(ledger, faults[0]))
            store(plain_copy, final, alive)
        others = [copy for copy in rolling(ledger, at) if copy != final]
        for old in others[keep - 1 :]:
            os.unlink(old)
    except OSError as fault:
        why = f"{fault.strerror or fault}; {step_for(fault)}"
        raise LedgerError(f"the ledger could not be copied to {final}: {why}") from fault
    return final


def is_copied(ledger: Ledger, copied_at: float | None) -> bool:
    """Whether nothing was judged, learned or moved since the newest copy was made; None: there is no copy."""
    newest = ledger.journal.newest_at()
    return copied_at is not None and (newest is None or newest < copied_at)


def write(ledger: str, final: str, alive: Alive = lambda: None, *, replace: bool = True) -> Held:
    """Copy a ledger to a path, which appears only when the copy is whole and proven. Returns what the copy holds.

    If a replacement was interrupted, it copies the new ledger. The copy is compressed if the ending of its name says
    so. Raises as `durable.draft` does, and LedgerError if the disk is too full or the ledger is not sound.
    """
    durable.check(final, replace=replace)
    with copied(present(ledger), os.path.dirname(os.path.realpath(final)), alive) as plain_copy:
        held = _proven(ledger, plain_copy)
        store(plain_copy, final, alive, replace=replace)
    return held


def send(ledger: str, descriptor: int) -> Held:
    """Copy a ledger into an open file, once the copy is whole and proven. Returns what it holds. Raises OSError too."""
    directory = directory_of(ledger)
    with contextlib.suppress(OSError):
        os.makedirs(directory, mode=0o700, exist_ok=True)
    if not os.access(directory, os.W_OK | os.X_OK):
        directory = tempfile.gettempdir()
    with copied(present(ledger), directory) as plain_copy:
        held = _proven(ledger, plain_copy)
        with open(plain_copy, "rb") as file, open(descriptor, "wb", closefd=False) as out:
            shutil.copyfileobj(file, out, _CHUNK)
    return held


def copy_from(source: str, target: str) -> None:
    """Copy a ledger, or a copy of one that may be compressed, to a new file. Raises LedgerError, OSError."""
    (unpack if source.endswith(PACKED) else copy)(source, target)


def all_faults_of(path: str, alive: Alive = lambda: None) -> list[str]:
    """Return the faults of a ledger: of its pages, its parts, and then its values and counts. Raises as `faults_of`."""
    if faults := faults_of(path, alive):
        return faults
    try:
        with Ledger(path, only_read=True) as ledger:
            for found in ledger.verification():
                faults += found
                alive()
    except LedgerDamagedError as fault:
        faults.append(str(fault))
    return faults


def held_of(path: str, alive: Alive = lambda: None) -> Held:
    """Return what a sound ledger holds, after the proof of its pages, its parts and its counts.

    Raises LedgerDamagedError if they are wrong, LedgerError if it cannot be used.
    """
    if faults := all_faults_of(path, alive):
        raise LedgerDamagedError(faults[0])
    with Ledger(path, only_read=True) as ledger:
        ham, spam, *_, tokens = ledger.lessons.totals().tolist()
    return Held(ham, spam, tokens)


def faults_of_copy(path: str) -> list[str]:
    """Return the faults of a copy. Changes nothing, and unpacks nothing to the disk.

    A copy was examined before it was compressed, and gzip's checksum shows whether it is still the same.
    """
    if not path.endswith(PACKED):
        return faults_of(path)
    try:
        for _ in _unpacked(path):
            pass
    except FileNotFoundError:
        return ["it is missing"]
    except OSError as fault:
        raise LedgerError(f"{path} cannot be read ({fault.strerror}): check who owns it") from fault
    except LedgerDamagedError as fault:
        return [str(fault)]
    return []


def unpack(source: str, target: str) -> None:
    """Unpack a compressed copy to a new file that only its owner can read.

    Raises LedgerDamagedError if it is incomplete, LedgerSpaceError if the disk has too little space.
    """
    space = shutil.disk_usage(os.path.dirname(os.path.abspath(target))).free - _SPARE
    try:
        with new_file(target) as file:
            for piece in _unpacked(source):
                space -= len(piece)
                if space < 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                file.write(piece)
    except OSError as fault:
        if fault.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise LedgerSpaceError(f"there is too little space to unpack {source} beside the ledger: free some") from fault


def _unpacked(source: str) -> Iterator[bytes]:
    """Yield the content of a compressed copy, in pieces. Raises LedgerDamagedError if it is incomplete."""
    size, most = 0, _LARGEST_RATIO * os.stat(source).st_size + _SPARE
    try:
        with gzip.open(source) as packed:
            while piece := packed.read(_CHUNK):
                size += len(piece)
                if size > most:
                    raise LedgerDamagedError(f"it holds more than {_LARGEST_RATIO} times its size, which no copy does")
                yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
        raise LedgerDamagedError(str(fault)) from fault
    if not size:
        raise LedgerDamagedError("it is empty")


def _proven(ledger: str, plain_copy: str) -> Held:
    try:
        return held_of(plain_copy)
    except LedgerDamagedError as fault:
        raise LedgerError(_not_copied(ledger, str(fault))) from fault


def _not_copied(ledger: str, fault: str) -> str:
    return f"the ledger {ledger} was not copied, it is damaged ({fault}): see `spamnb verify`"


def _unequal_sums(sqlite: sqlite3.Connection) -> list[str]:
    kept, messages = ([*map(int, sqlite.execute(statement).fetchone())] for statement in (_TOTALS, _MESSAGES))
    try:
        summed = messages + count_table.sums(sqlite.execute(count_table.ALL))
    except LedgerError as fault:
        return [str(fault)]
    return [] if kept == summed else [f"totals: counted {kept}, the rows sum to {summed}"]


def _sweep(directory: str, at: float) -> None:
    """Remove the files that killed copies left."""
    for name in os.listdir(directory):
        if name.startswith(".") and name.endswith(".part"):
            with contextlib.suppress(FileNotFoundError):
                if at - os.stat(os.path.join(directory, name)).st_mtime > _STALE_SECONDS:
                    os.unlink(os.path.join(directory, name))
