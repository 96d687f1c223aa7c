"""Ask the program `notmuch`, which indexes mail, for messages and their tags. Its database is only read.

The program is asked, and not its library: pip cannot install that, and it would read a damaged database in this
process. An answer takes a hundredth of a second, but much longer on a cold disk. So the caller may look for it again
and again.
"""

import contextlib
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import Self

from spamnb.base.errors import NotmuchError
from spamnb.base.wording import escaped

_LONGEST = 60.0  # seconds for an answer
_SHOWN = 200  # letters of what notmuch says about a fault


@dataclass(frozen=True, slots=True)
class Revision:
    """A state of notmuch's database. Each change of a message raises the number.

    database: its mark, which changes when notmuch makes the database anew.
    """

    database: str
    number: int

    @classmethod
    def read(cls, answer: bytes) -> Self:
        """Read the answer to `notmuch count --lastmod`. Raises NotmuchError for any other text."""
        try:
            _, database, number = answer.decode(errors="replace").split()
            return cls(database, int(number))
        except ValueError:
            raise NotmuchError(f"notmuch tells no revision of its database: {_shown(answer)}") from None


class Question:
    """A call of `notmuch` that runs beside this process, as a context manager that ends it.

    Raises NotmuchError if the program cannot be started.
    """

    def __init__(self, *arguments: str) -> None:
        self._name = f"notmuch {arguments[0]}"
        self._end = time.monotonic() + _LONGEST
        self._files = contextlib.ExitStack()
        try:
            # Files take an answer of any length at once; a pipe holds 64 KB until somebody reads.
            self._said, self._fault = (self._files.enter_context(tempfile.TemporaryFile()) for _ in range(2))  # noqa: SIM115 - closed by `_files`
            self._process = subprocess.Popen(  # noqa: S603 - notmuch, as the search path has it
                ["notmuch", *arguments],  # noqa: S607 - wherever it is installed
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._fault,
            )
        except OSError as fault:
            self._files.close()
            is_missing = isinstance(fault, FileNotFoundError) and fault.filename == "notmuch"
            why = "is not installed" if is_missing else f"cannot be started: {fault.strerror}"
            raise NotmuchError(f"the program notmuch {why}") from fault

    def answer(self, seconds: float) -> bytes | None:
        """Return the answer; None if there is none within that number of seconds.

        Raises NotmuchError if the program fails, or takes too long in all.
        """
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            if time.monotonic() > self._end:
                raise NotmuchError(f"{self._name} has taken longer than {_LONGEST:.0f} s") from None
            return None
        for file in (self._said, self._fault):
            file.seek(0)
        if code:
            raise NotmuchError(f"{self._name} ended with {code}: {_shown(self._fault.read())}")
        return self._said.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the program, if it still runs."""
        self._process.kill()
        self._process.wait()
        self._files.close()


def ask(*arguments: str) -> bytes:
    """Return the answer of `notmuch`. Raises NotmuchError."""
    with Question(*arguments) as question:
        while (answer := question.answer(1.0)) is None:
            pass
        return answer


def tagged(tag: str) -> str:
    """Return the query for messages with a tag."""
    return f"tag:{_quoted(tag)}"


def changed(after: int, until: int) -> str:
    """Return the query for messages that were changed after a revision, and not after a later one."""
    return f"lastmod:{after + 1}..{until}"


def named(message: str) -> str:
    """Return the query for a message, by the name that `found` has."""
    return f"id:{_quoted(message)}"


def messages(query: str) -> tuple[str, ...]:
    """Return the arguments that ask for the names of messages."""
    return _search("messages", query)


def files(query: str) -> tuple[str, ...]:
    """Return the arguments that ask for the files of messages."""
    return _search("files", query)


def found(answer: bytes) -> list[str]:
    """Return the names or files of an answer. A path may be any bytes, as elsewhere in this package."""
    parts = answer.decode(errors="surrogateescape").split("\0")[:-1]
    return [part.removeprefix("id:") for part in parts]


def _search(what: str, query: str) -> tuple[str, ...]:
    # --exclude=false: people exclude the tag spam from their searches (search.exclude_tags).
    return "search", f"--output={what}", "--format=text0", "--exclude=false", "--", query


def _quoted(word: str) -> str:
    doubled = word.replace('"', '""')
    return f'"{doubled}"'


def _shown(text: bytes) -> str:
    return escaped(" ".join(text.decode(errors="replace").split()))[:_SHOWN] or "it said nothing"
