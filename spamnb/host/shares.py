"""Several services of one host, each with a share of the users: which service works for whom, and the locks.

The locks are files in the directory of the register. A service holds `1-of-4.lock` alone, and `of-4.lock` together with
the other three services. A service ends if it finds an `of-N.lock` held for a different number, so that no user has two
services.
"""

import contextlib
import fcntl
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.patterns import lazy_pattern
from spamnb.base.wording import escaped
from spamnb.ledger.file.locks import is_running, only_service, open_claim, running_since, take
from spamnb.ledger.file.parts import SERVICE_LOCK

_MOST = 64
_PATIENCE = 0.5  # seconds to wait for another process that looks at the same lock
_SHARE = lazy_pattern(r"([1-9][0-9]?)-of-([1-9][0-9]?)")
_NUMBER = lazy_pattern(r"of-([1-9][0-9]?)")


@dataclass(frozen=True, slots=True)
class Share:
    """The part of the users that a service takes, if there are several: the `number`th of `of` parts, from 1.

    >>> share = Share.parse("1-of-4")
    >>> str(share), share.owns("anna@example.org")
    ('1-of-4', True)
    """

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> "Share":
        """Read a share from text. Raises UsageError if the text is not a share."""
        found = _SHARE.fullmatch(text)
        if found is None or not int(found[1]) <= int(found[2]) <= _MOST:
            raise UsageError(f"{escaped(text)!r} is not a share: write 1-of-4 for the first of four (at most {_MOST})")
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def of_user(cls, name: str, of: int) -> "Share":
        """Return the share that a user belongs to."""
        return cls(zlib.crc32(name.encode()) % of + 1, of)

    def owns(self, name: str) -> bool:
        """Whether a user belongs to this share."""
        return Share.of_user(name, self.of) == self

    def claim(self, directory: Path) -> Path:
        """Return the path of the share's lock without the ending, in the directory of the register."""
        return directory / str(self)

    def __str__(self) -> str:
        return f"{self.number}-of-{self.of}"


@contextlib.contextmanager
def claimed(directory: Path, share: Share) -> Iterator[None]:
    """Be the only service of a share. Raises SpamnbError if it has a service, or if the number of shares differs."""
    with contextlib.ExitStack() as held:
        ours = held.enter_context(open_claim(str(directory / f"of-{share.of}{SERVICE_LOCK}")))
        if not take(ours, fcntl.LOCK_SH, time.monotonic() + _PATIENCE):
            raise _otherwise(share, directory)
        for name in _names(directory):
            found = _NUMBER.fullmatch(name)
            if found and int(found[1]) != share.of and _is_held(directory / f"{name}{SERVICE_LOCK}"):
                raise _otherwise(share, directory)
        held.enter_context(only_service(str(share.claim(directory))))
        yield


def claim_of(directory: Path, name: str) -> Path:
    """Return the path, without its ending, of the lock of the service that works for a user, or did so last.

    If no service was ever started, it is that of the only share.
    """
    numbers = {int(found[2]) for file in _names(directory) if (found := _SHARE.fullmatch(file))}
    claims = [Share.of_user(name, number).claim(directory) for number in sorted(numbers)]
    running = (claim for claim in claims if is_running(str(claim)))
    return next(running, max(claims, key=_since, default=Share().claim(directory)))


def running(directory: Path) -> dict[Share, float]:
    """Return the shares whose services run, and since when, in seconds since the epoch."""
    found = (Share.parse(name) for name in sorted(_names(directory)) if _SHARE.fullmatch(name))
    times = ((share, running_since(str(share.claim(directory)))) for share in found)
    return {share: at for share, at in times if at is not None}


def not_running(found: Iterable[Share]) -> tuple[Share, ...]:
    """Return the missing shares beside those whose services run: nobody works for their users."""
    there = set(found)
    of = max((share.of for share in there), default=0)
    return tuple(share for number in range(of) if (share := Share(number + 1, of)) not in there)


def _otherwise(share: Share, directory: Path) -> SpamnbError:
    step = "stop those first, or give this one their number"
    return SpamnbError(
        f"services of {escaped(str(directory))} run with a different number of shares than {share.of}: {step}"
    )


def _names(directory: Path) -> list[str]:
    """Return the locks in a directory, without their ending."""
    try:
        found = os.listdir(directory)
    except OSError:
        return []
    return [name.removesuffix(SERVICE_LOCK) for name in found if name.endswith(SERVICE_LOCK)]


def _is_held(path: Path) -> bool:
    """Whether a service holds a shared lock; a process that only looks holds it for too short a time to count."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not take(lock, fcntl.LOCK_EX, time.monotonic() + _PATIENCE)
    finally:
        os.close(lock)


def _since(claim: Path) -> float:
    try:
        return os.stat(f"{claim}{SERVICE_LOCK}").st_mtime
    except OSError:
        return 0.0
