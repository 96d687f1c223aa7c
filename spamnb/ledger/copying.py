"""Copying a ledger: whole, of one moment, and while others work with it.

SQLite's backup API copies the pages as they are at one moment: the reading transaction that is held meanwhile
sees none of what others write, so the copy never has to begin again. It is made under a name that no one takes for
a copy, examined, made durable, and only then given its name: a copy with its name is whole.
"""

import contextlib
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spamnb import durable
from spamnb.errors import LedgerDamagedError, LedgerError, LedgerNoRoomError
from spamnb.ledger.copies import directory_of, of_day, rolling
from spamnb.ledger.faults import plain, primary_code
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.packing import is_packed, new_file, pack, unpack, unpacked
from spamnb.ledger.place import present
from spamnb.ledger.reading import faults_of, look_into

_PAGES = 2048  # a step: 8 MB, some hundredths of a second
_OF_THE_TARGET = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
_TAKES = 2  # times the ledger's size: a copy must not be what fills the disk that mail is delivered to
_STALE_SECONDS = 3600.0  # after that an unfinished copy is not being written any more

# Each kind of sum that the ledger keeps, and the same from the rows it is the sum of.
_SUMS = (
    ("SELECT ham_messages, spam_messages FROM total",
     "SELECT (SELECT count(*) FROM message WHERE label = 0) + (SELECT total(ham_messages) FROM import),"
     " (SELECT count(*) FROM message WHERE label = 1) + (SELECT total(spam_messages) FROM import)"),
    ("SELECT ham_token_messages, spam_token_messages, ham_occurrences, spam_occurrences, vocabulary FROM total",
     "SELECT total(ham_messages), total(spam_messages), total(ham_occurrences), total(spam_occurrences),"
     " total(ham_messages > 0 OR spam_messages > 0) FROM count"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Held:
    """What a ledger holds: the learned messages of both kinds, and the tokens that were met in them."""

    ham: int
    spam: int
    tokens: int


def roll(ledger: str, at: float, keep: int, alive: Callable[[], None] = lambda: None) -> str:
    """Make the copy of the day, then remove all but the newest `keep`; its path. An older copy of the day is replaced.

    `alive` is called between the steps; what it raises ends the copying. Raises LedgerError where the copy cannot be
    made or is not sound; then no other copy is touched.

    Of its counts only the sums are compared: the proof of all of them takes some 60 MB at 500,000 tokens, in a process
    that is to stay below 70 MB.
    """
    final = of_day(ledger, at)
    try:
        os.makedirs(os.path.dirname(final), mode=0o700, exist_ok=True)
        _sweep(os.path.dirname(final), at)
        with _drafted(ledger, final) as draft:
            copy(ledger, draft, alive)
            _refuse(ledger, faults_of(draft, alive) or look_into(draft, _unequal_sums, alive))
            _give_name(draft, final, alive, replace=True)
        for old in rolling(ledger)[keep:]:
            os.unlink(old)
    except OSError as fault:
        raise LedgerError(f"the ledger could not be copied to {final}: {fault.strerror or fault}") from fault
    return final


def write(ledger: str, final: str, alive: Callable[[], None] = lambda: None, *, replace: bool = True) -> Held:
    """Copy a ledger to a path, which appears only when the copy is whole and proven; what it holds.

    A ledger whose replacement was interrupted is copied as it will be. The copy is compressed if its name ends so. A
    link is followed. Raises FileExistsError where something has that path and it shall not be replaced, LedgerError
    where something other than a file has it, the disk is too full, or the ledger is not sound.
    """
    final = os.path.realpath(final)
    if os.path.lexists(final):
        if not stat.S_ISREG(os.lstat(final).st_mode):
            raise LedgerError(f"{final} is no file, and is not replaced: name another")
        if not replace:
            raise FileExistsError(final)
    with _drafted(present(ledger), final) as draft:
        held = _copy_proven(ledger, draft, alive)
        _give_name(draft, final, alive, replace=replace)
    return held


def send(ledger: str, descriptor: int) -> Held:
    """Copy a ledger into what is open already, once the copy is whole and proven; what it holds. Raises OSError too."""
    directory = directory_of(ledger)
    with contextlib.suppress(OSError):
        os.makedirs(directory, mode=0o700, exist_ok=True)
    if not os.access(directory, os.W_OK | os.X_OK):
        directory = tempfile.gettempdir()
    with _drafted(present(ledger), os.path.join(directory, os.path.basename(ledger))) as draft:
        held = _copy_proven(ledger, draft)
        with open(draft, "rb") as file, open(descriptor, "wb", closefd=False) as out:
            shutil.copyfileobj(file, out, 1 << 20)
    return held


def copy(source: str, target: str, alive: Callable[[], None] = lambda: None) -> None:
    """Copy the pages of a ledger, as they are at this moment, to a new file for the owner alone."""
    new_file(target).close()
    try:
        look_into(source, lambda old: _copy_pages(old, target, alive))
    except sqlite3.Error as fault:
        raise plain(fault, target if primary_code(fault) in _OF_THE_TARGET else source) from fault


def copy_from(source: str, target: str) -> None:
    """Copy a ledger, or a copy of one that may be compressed, to a new file. Raises LedgerError, OSError."""
    if is_packed(source):
        unpack(source, target, lambda: None)
    else:
        copy(source, target)


def held_of(path: str) -> Held:
    """What a sound ledger holds, after the proof of its pages, its parts and its counts.

    Raises LedgerDamagedError where they are not right, LedgerError where it cannot be used.
    """
    faults = faults_of(path)
    if not faults:
        with Ledger(path, only_read=True) as ledger, ledger.snapshot():
            faults = ledger.learned.verify()
            ham, spam, *_, tokens = ledger.learned.totals().tolist()
    if faults:
        raise LedgerDamagedError(faults[0])
    return Held(ham, spam, tokens)


def faults_of_copy(path: str) -> list[str]:
    """What is wrong with a copy. Changes nothing, and unpacks nothing to the disk.

    A copy was examined before it was compressed, and gzip's checksum says whether it is still the same.
    """
    if not is_packed(path):
        return faults_of(path)
    try:
        return [] if sum(map(len, unpacked(path))) else ["it is empty"]
    except FileNotFoundError:
        return ["it is missing"]
    except OSError as fault:
        raise LedgerError(f"{path} cannot be read ({fault.strerror}): check who owns it") from fault
    except LedgerDamagedError as fault:
        return [str(fault)]


def need_room(ledger: str, directory: str, times: int, what: str) -> None:
    """Raise LedgerNoRoomError where a disk has less room than that many times the ledger's size."""
    size = sum(os.stat(ledger + part).st_size for part in ("", "-wal") if os.path.exists(ledger + part))
    lacking = times * size - shutil.disk_usage(directory).free
    if lacking > 0:
        raise LedgerNoRoomError(
            f"there is too little room in {directory} for {what} of the ledger: free {lacking // 10**6 + 1} MB more"
        )


@contextlib.contextmanager
def _drafted(ledger: str, final: str) -> Iterator[str]:
    """Where to make a copy that is to be called `final`; nothing is left there."""
    directory, name = os.path.split(os.path.abspath(final))
    need_room(ledger, directory, _TAKES, "a copy")
    draft = os.path.join(directory, f".{name}.{os.getpid()}.part")
    try:
        yield draft
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)


def _copy_proven(ledger: str, draft: str, alive: Callable[[], None] = lambda: None) -> Held:
    copy(present(ledger), draft, alive)
    try:
        return held_of(draft)
    except LedgerDamagedError as fault:
        _refuse(ledger, [str(fault)])
        raise


def _refuse(ledger: str, faults: list[str]) -> None:
    if faults:
        raise LedgerError(f"the ledger {ledger} was not copied, it is damaged ({faults[0]}): see `spamnb verify`")


def _give_name(draft: str, final: str, alive: Callable[[], None], *, replace: bool) -> None:
    made = f"{draft.removesuffix('.part')}{os.path.splitext(final)[1]}.part" if is_packed(final) else draft
    try:
        if is_packed(final):
            pack(draft, made, alive)
        durable.name(made, final, replace=replace)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(made)


def _copy_pages(old: sqlite3.Connection, target: str, alive: Callable[[], None]) -> None:
    with contextlib.closing(sqlite3.connect(os.fsencode(target), isolation_level=None)) as new:
        new.execute("PRAGMA synchronous = OFF")  # it is made durable as a whole, before it gets its name
        new.execute("PRAGMA journal_mode = OFF")
        old.execute("BEGIN")
        old.execute("SELECT count(*) FROM sqlite_master").fetchone()  # from here on all is of one moment
        old.backup(new, pages=_PAGES, progress=lambda *_: alive())
        old.execute("ROLLBACK")
    # The pages say that the file has a write-ahead log; a copy should be one file, whoever opens it.
    with contextlib.closing(sqlite3.connect(os.fsencode(target), isolation_level=None)) as new:
        new.execute("PRAGMA synchronous = OFF")
        new.execute("PRAGMA journal_mode = DELETE")


def _unequal_sums(sqlite: sqlite3.Connection) -> list[str]:
    pairs = [[[*map(int, sqlite.execute(statement).fetchone())] for statement in pair] for pair in _SUMS]
    return [f"totals: counted {kept}, the rows say {summed}" for kept, summed in pairs if kept != summed]


def _sweep(directory: str, at: float) -> None:
    """Remove what killed copies left."""
    for name in os.listdir(directory):
        if name.startswith(".") and name.endswith(".part"):
            with contextlib.suppress(FileNotFoundError):
                if at - os.stat(os.path.join(directory, name)).st_mtime > _STALE_SECONDS:
                    os.unlink(os.path.join(directory, name))
