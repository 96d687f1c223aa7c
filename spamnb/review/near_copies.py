"""Near-copies: messages of one sender whose subjects differ only in numbers, list tags and reply marks.

Issues of a newsletter and waves of one spam share most of their tokens. If all of them have the same label, each is
judged by the others, right or wrong.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from spamnb.base.label import Label
from spamnb.ledger.lessons.port import Lesson

_LIST_TAG = re.compile(r"\[[^\]]{0,60}\]")
_REPLY = re.compile(r"\b(?:re|fwd?|aw|wg|sv|tr)(?:\[\d+\])?\s*:", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


def shape(summary: str) -> tuple[str, str]:
    """Return the sender, and the part of the subject that near-copies share, from a message's summary.

    >>> shape("Re: [dev] Build 17 failed (ci@host.example)") == shape("build 4 failed (ci@host.example)")
    True
    """
    subject, _, sender = summary.rpartition(" (")
    for removed in (_LIST_TAG, _REPLY, _NUMBER):
        subject = removed.sub(" ", subject)
    return sender.rstrip(")"), " ".join(subject.lower().split())


def groups(lessons: Iterable[Lesson]) -> Iterator[list[bytes]]:
    """Yield the identities of learned messages, in groups that have to be left out together.

    Near-copies form a group, so that none is judged by the others. If some of them are called ham and others spam, the
    smaller part is left out together, and each of the larger part by itself. Otherwise a few messages with another
    label would bring all the others under suspicion.
    """
    copies: dict[tuple[str, str], tuple[list[bytes], list[bytes]]] = defaultdict(lambda: ([], []))
    for lesson in lessons:
        if lesson.label is not None:
            copies[shape(lesson.summary)][lesson.label].append(lesson.digest)
    for both in copies.values():
        for mine, others in ((both[Label.HAM], both[Label.SPAM]), (both[Label.SPAM], both[Label.HAM])):
            if len(mine) > len(others) > 0:
                yield from ([digest] for digest in mine)
            elif mine:
                yield mine
