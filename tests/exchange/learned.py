"""What ledgers that share a log must hold in the end, by a plain loop over its rows; and what a ledger holds."""

import gzip
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from spamnb.cli.common.sample_mail import message
from spamnb.exchange.port import LessonLog, LogRow, news_of
from spamnb.exchange.rounds import Round, exchange
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import LessonCopy

ALL = 1_000_000


class Learned(NamedTuple):
    """All that was learned. lessons: label, weakness, time, by what it came, tokens and relations, by the message.

    counts: messages and occurrences by token, ham before spam. totals: the seven of `Lessons.totals`.
    """

    lessons: dict[bytes, tuple[object, ...]]
    counts: dict[str, list[int]]
    totals: list[int]


def by_the_log(rows: Iterable[LogRow]) -> Learned:
    """Add up the rows, one by one."""
    counters: list[Counter[str]] = [Counter(), Counter(), Counter(), Counter()]
    totals = [0] * 6
    lessons = {}
    for row in rows:
        lessons[row.copy.lesson.digest] = _bare(row.copy)
        label, tokens = row.copy.lesson.label, row.copy.with_its_tokens()
        if label is None:
            continue
        for place, sums in enumerate((dict.fromkeys(tokens, 1), tokens)):
            counters[2 * place + label].update(sums)
        for place, number in enumerate((1, len(tokens), sum(tokens.values()))):
            totals[2 * place + label] += number
    met = set(counters[0]) | set(counters[1])
    return Learned(lessons, {token: [of[token] for of in counters] for token in met}, [*totals, len(met)])


def by_the_ledger(ledger: Ledger) -> Learned:
    """Return what the ledger holds, after it has passed `verify`."""
    assert ledger.verify() == []
    digests = [lesson.digest for lesson in ledger.lessons.changes(0, ALL)]
    lessons = {copy.lesson.digest: _bare(copy) for copy in ledger.lessons.copies_of(digests, digests)}
    often = ledger.lessons.frequent(1)
    tokens = ledger.lessons.texts(often.ids.tolist())
    counts = ledger.lessons.evidence(list(tokens.values())).counts
    return Learned(lessons, {token: list(each) for token, each in counts.items()}, ledger.lessons.totals().tolist())


def _bare(copy: LessonCopy) -> tuple[object, ...]:
    lesson = copy.lesson
    tokens = None if copy.tokens is None else dict(copy.tokens)
    return lesson.label, lesson.weak, lesson.at, lesson.how, copy.tokenizer, tokens, copy.relations


def a_round(ledger: Ledger, log: LessonLog, account: str = "anna", host: str = "", **more: Any) -> Round:
    """Make a round, a whole one if `more` does not end it. The host is called as the directory of its ledger."""
    news = news_of(log, [account])[account]
    return exchange(ledger, log, account, host or Path(ledger.path).parent.name, news, **more)


def rounds(log: LessonLog, *ledgers: Ledger) -> None:
    """Make a whole round of each ledger, one after the other."""
    for ledger in ledgers:
        assert a_round(ledger, log).is_over


def letter_with(word: str) -> bytes:
    """A message with a word in its text, subject and sender."""
    content = message("ham", 400).replace(b"Subject: ", f"Subject: {word} ".encode())
    return content.replace(b"From: ", f"From: {word} ".encode()) + f"\n{word}\n".encode()


def files_with(directory: Path, word: str) -> list[Path]:
    """Return the files of a host that contain a word, without its mail."""
    places = []
    for path in directory.rglob("*"):
        with suppress(FileNotFoundError):  # which the service removes
            if path.is_file() and not {"vmail", "Maildir", "lessons"} & {*path.parts}:
                content = path.read_bytes()
                if word.encode() in (gzip.decompress(content) if path.suffix == ".gz" else content):
                    places.append(path)
    return places
