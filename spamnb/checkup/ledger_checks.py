"""Check the ledger: the file, its disk, its copies, its lessons, and unfinished work."""

import glob
import os
import shlex
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from spamnb.acts.may_move import doubted_ham, find_missing, stop_of
from spamnb.acts.not_yet import NotYet, not_yet
from spamnb.base.label import Label
from spamnb.base.wording import clock, days, escaped, megabytes, plural
from spamnb.checkup.finding import Finding, fault, name_of, network_file_system, ok, owner_of, some, warning
from spamnb.checkup.installation import Installation
from spamnb.config import Config
from spamnb.ledger.copies.copy import faults_of_copy
from spamnb.ledger.file.last_end import last_end_of
from spamnb.ledger.file.locks import is_running
from spamnb.ledger.file.parts import SQLITE_PARTS, directory_of, rolling
from spamnb.ledger.file.readonly import faults_of
from spamnb.ledger.file.replacement import present
from spamnb.ledger.ledger import Ledger
from spamnb.mail.tokens.tokenizer import VERSION
from spamnb.rules.moving import Stop

_DAY = 86_400.0
_UNUSUAL_SILENCE = 30 * _DAY
_UNUSUAL_BALANCE = 20
_NO_ROOM = 1_000_000  # bytes; learning a few messages needs as much
_COPY_IS_LATE = 3 * _DAY
_LARGE = 20_000_000  # bytes, examined in some 3 seconds (benchmarks/years.py)
_RECENT = 7 * _DAY  # the time for which a restore, or an old ledger, is a warning


def of_ledger(path: str, config: Config | None, here: Installation, *, whole: bool = True) -> Iterator[Finding]:
    """Run all checks of the ledger. here: how spamnb is run. whole: also its content, and that of its newest copy."""
    spamnb = here.spamnb
    running = is_running(str(config.claim) if config else path)
    if running:
        yield ok("service", "running")
    else:
        means = "not running: nothing is judged or learned now"
        yield warning("service", means, here.next, here.start)
    file, start = present(path), "restart" if running else "start"
    if os.path.exists(file):
        if file != path:
            means = f"its replacement was interrupted; the new one is {file}"
            yield warning("ledger", means, f"{start} the service, which completes the replacement")
        yield from _disk(path, file, spamnb)
        yield from _permissions(path, file)
        yield from _former(path)
        met = last_end_of(path).damage
        if met:
            means = f"the last service ended over damage in it: {met}"
            yield fault("ledger", means, f"{start} the service, which examines it")
        examined = None if met else _examined_at(path, file)
        proves = whole and examined is None
        faults = faults_of(file) if proves else []
        if not faults:
            with Ledger(path, only_read=True) as ledger:
                faults = ledger.verify() if proves else []
                if whole and examined is not None:
                    means = f"too large to prove its counts now; they were right when it was copied, {clock(examined)}"
                    yield ok("ledger", f"{means}: {spamnb} verify proves them")
                in_force = Config((), Path(path)) if config is None else ledger.choices.over(config)
                yield from _lessons(ledger, in_force, spamnb)
                yield from _restored(ledger, path)
                yield from _moving(ledger, running, spamnb)
                yield from _letters(ledger)
        for number, damage in enumerate(faults[:3]):
            yield fault("ledger", damage, "" if number else _step_for_damage(config, running, spamnb))
    else:
        yield fault("ledger", f"there is no {path}", f"{spamnb} init, or restore a copy: {spamnb} restore")
    yield _copies(path, config, here, whole)


def _letters(ledger: Ledger) -> Iterator[Finding]:
    """Report a letter that the service could not write into the inbox."""
    if why := ledger.state.letter_fault:
        means = f"the service could not write its letter into the inbox: {why}"
        yield warning("letters", means, "repair that; the service tries it again every hour")


def _step_for_damage(config: Config | None, running: bool, spamnb: str) -> str:
    """Return what to do about a damaged ledger. On a mail host only the daily look examines it."""
    if config is not None and config.user:
        return f"the daily look of the service restores its newest copy; or: {spamnb} restore FILE"
    start = "restart" if running else "start"
    return f"{start} the service, which restores its newest copy, or: {spamnb} restore FILE"


def _examined_at(path: str, file: str) -> float | None:
    """Return when a large ledger was examined last: the time of its last copy.

    None if it must be examined now. The service copies a ledger daily, and only if its pages and sums are right. A
    large ledger takes too long to examine while a person waits.
    """
    copies = rolling(path)
    if not copies or os.path.getsize(file) < _LARGE:
        return None
    at = os.path.getmtime(copies[0])
    return at if 0 <= time.time() - at < _COPY_IS_LATE else None


def _disk(path: str, file: str, spamnb: str) -> Iterator[Finding]:
    directory = os.path.dirname(os.path.abspath(path))
    size, free = os.path.getsize(file), shutil.disk_usage(directory).free
    means = f"{megabytes(size)}, with {megabytes(free)} free on its disk"
    if free < _NO_ROOM:
        yield fault("ledger", f"{means}: nothing more can be learned or moved", "free some space; nothing was lost")
    elif free < 2 * size + 10_000_000:
        command = f"{spamnb} prune"
        yield warning(
            "ledger", f"{means}: too little for copies and pruning", f"free some space, or: {command}", command
        )
    else:
        yield ok("ledger", f"{file}, {megabytes(size)}, {megabytes(free)} free on its disk")
    if kind := network_file_system(directory):
        means = f"it is on {kind}, where two processes can damage it"
        yield fault("ledger", means, "set `ledger` in the configuration to a local disk, and move it there")


def _permissions(path: str, file: str) -> Iterator[Finding]:
    directory = os.path.dirname(os.path.abspath(path))
    if not os.access(directory, os.W_OK | os.X_OK) or not os.access(file, os.R_OK | os.W_OK):
        means = f"{directory} or the ledger in it may not be written by {name_of(os.geteuid())}"
        yield fault("ledger", means, "correct the owner: chown, or run spamnb as that user")
    if os.stat(file).st_mode & os.stat(directory).st_mode & 0o077:
        step = f"chmod 600 {shlex.quote(file)}"
        yield warning("ledger", "other users may read it: it holds words of your mail", step, step)
    if owner_of(file) != owner_of(directory):
        yield warning("ledger", "file and directory belong to different users", "correct the owner: chown")


def _former_files(path: str) -> list[str]:
    return sorted(file for word in ("damaged", "replaced") for file in glob.glob(f"{glob.escape(path)}.{word}-*"))


def _former(path: str) -> Iterator[Finding]:
    """Report old ledgers beside this ledger."""
    left = _former_files(path)
    files = [file for file in left if not file.endswith(SQLITE_PARTS)]
    if not files:
        return
    means = f"{plural(len(files), 'former ledger')} kept beside it, {megabytes(sum(map(os.path.getsize, left)))}"
    step = f"when nothing is missing, remove: {' '.join(map(shlex.quote, left))}"
    if time.time() - max(os.stat(file).st_ctime for file in files) < _RECENT:  # since they were renamed
        yield warning("ledger", means, step)
    else:
        yield ok("ledger", f"{means}; {step}")


def _restored(ledger: Ledger, path: str) -> Iterator[Finding]:
    """Report that a copy was restored: for a week, or until the person has removed the old ledger beside it."""
    at, was_kept = ledger.state.restored_at, bool(ledger.state.former_kept)
    if at is None or time.time() - at >= _RECENT or (was_kept and not _former_files(path)):
        return
    means = f"a copy was restored on {clock(at)}: it lacks newer lessons (none, if you have moved to a new machine)"
    ends = "; this warning ends when you remove the old ledger, or" if was_kept else "; this warning ends"
    step = f"correct what is judged wrongly by moving it{ends} {days(_RECENT)} after the restore"
    yield warning("ledger", means, step)


def _lessons(ledger: Ledger, config: Config, spamnb: str) -> Iterator[Finding]:
    ham, spam, *_, tokens = ledger.lessons.totals().tolist()
    known = f"{ham} ham and {spam} spam messages, {tokens} tokens"
    why = not_yet(ledger, config, time.time(), find_missing(ledger, config.scoring, config.learning))
    if why is not None:
        doubted = [escaped(lesson.summary) for lesson in doubted_ham(ledger, config.scoring, config.learning)]
        yield _not_moving(why, doubted, spamnb)
    elif max(ham, spam) > _UNUSUAL_BALANCE * min(ham, spam):
        rarer = Label(spam < ham)
        yield warning("learned", f"{known}: unbalanced: too little {rarer.word}", f"train more {rarer.word}")
    else:
        yield ok("learned", known)
    last, tokenizers = ledger.lessons.stats()
    if last is not None and time.time() - last > _UNUSUAL_SILENCE:
        means = f"nothing for {days(time.time() - last)}, since {clock(last)}"
        yield warning("learned", means, "move mail that is judged wrongly; see that the service runs")
    if others := sorted(tokenizers - {VERSION}):
        command = f"{spamnb} train --again"
        means = f"some with another tokenizer ({', '.join(map(str, others))}, this one is {VERSION})"
        if ledger.state.read_again == VERSION:
            yield ok("learned", f"{means}, but their files are gone; if a file comes back: {command}")
        else:
            yield warning("learned", f"{means}, which helps less", command, command)


def _not_moving(why: NotYet, doubted: Sequence[str], spamnb: str) -> Finding:
    """Report that the filter has not learned enough. doubted: the ham that it would take for spam, if that is why."""
    if doubted:
        command = f"{spamnb} audit"
        step = f"{command}, and say what it is; if it is ham, mail is moved when newer ham is learned"
        return warning("learned", f"{why.words.removesuffix('.')}: {some(doubted)}", step, command)
    if why.questions:
        command = f"{spamnb} review"
        return warning(
            "learned", why.words, f"{why.way}, answer {plural(why.questions, 'question')}: {command}", command
        )
    if not why.learns_folders:
        return warning("learned", why.words, "sort the inbox: move spam to the spam folder, and keep what you want")
    command = f"{spamnb} init --learn"
    return warning("learned", why.words, f"{command}, or {spamnb} train", command)


def _moving(ledger: Ledger, running: bool, spamnb: str) -> Iterator[Finding]:
    if (stop := stop_of(ledger, time.time())) is not None:
        yield _stopped(stop, spamnb)
    if (open_moves := len(ledger.journal.intents())) and not running:
        yield warning("moving", f"{plural(open_moves, 'move')} pending", "start the service, which finishes them")


def _stopped(stop: Stop, spamnb: str) -> Finding:
    command = f"{spamnb} resume"
    if stop.tripped_at is None:
        return warning("moving", "paused by hand: nothing is moved now", f"to go on: {command}", command)
    means = f"stopped since {clock(stop.tripped_at)}: too much mail looked like spam"
    return fault("moving", means, f"look at {spamnb} history --verdict spam, then: {command}", command)


def _copies(path: str, config: Config | None, here: Installation, whole: bool) -> Finding:
    if config is not None and not config.service.copies:
        return ok("copies", "none are made: `copies` is 0 in the configuration")
    copies = rolling(path)
    if not copies:
        command = f"{here.spamnb} backup"
        means = f"none in {directory_of(path)}"
        return warning("copies", means, f"the service makes one per day; to make one now: {command}", command)
    newest = copies[0]
    age = time.time() - os.path.getmtime(newest)
    if whole and os.path.getsize(newest) < _LARGE and (faults := faults_of_copy(newest)):
        return warning("copies", f"{newest} is damaged: {faults[0]}", "remove it; the service makes another")
    if age > _COPY_IS_LATE:
        log = f": {here.told(here.log)}" if here.log else ""
        return warning(
            "copies", f"the newest is {days(age)} old", f"see that the service runs, and look at its log{log}"
        )
    return ok("copies", f"{len(copies)}, the newest is {os.path.basename(newest)}")
