"""Measure what becomes of the first mails of shops, banks, parcel services, clubs and newsletters, and at what cost.

The filter learns CORPUS without the ham of lists, so it knows letters and spam. Then it judges sixty made-up messages
(`tests/mail/today/first_mails.py`), each as the first of its sender: without a named server, and with the server that
wrote their Authentication-Results. Half of those that are no newsletters offer to unsubscribe, as newsletters do.

The cost: the twenty spam messages of `tests/mail/today`, each with the results of the same server, which takes every
signature in them for right. With DIRECTORY, whose files are all spam, also these, by the results that they came with.
The first field of theirs without a server's name (those of Outlook) counts as one of the person's own server.

    python benchmarks/first_mails.py CORPUS [DIRECTORY] [--json]
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import common

sys.path.insert(0, str(Path(__file__).parents[1]))  # the messages belong to the tests
from spamnb.base.label import How, Label, Verdict
from spamnb.config import Scoring, Senders
from spamnb.evaluation.corpus import Sample, load_corpus, samples
from spamnb.filter.judge import FrozenFilter
from spamnb.filter.vouching import Trusted
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Content, read_content
from tests.mail.today.first_mails import FIRST_MAILS, OURS, with_results
from tests.mail.today.library import LIBRARY

_LIST = frozenset({"precedence:list", "precedence:bulk", "field:list-post", "field:mailing-list"})
_NAMELESS = re.compile(rb"^Authentication-Results:\s*((?:spf|dkim|dmarc)=[^\n]*\n(?:[ \t][^\n]*\n)*)", re.M | re.I)


def main() -> None:
    """Learn, judge, and print the table."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("directory", metavar="DIRECTORY", nargs="?", help="messages, one per file, all of them spam")
    options = parser.parse_args()
    lessons = MemoryLessons()
    for sample in samples(load_corpus(options.corpus)):
        if not _is_of_a_list(sample):
            lessons.learn([sample.reading], sample.label, "evaluation", 0.0, how=How.HAND)

    kinds = dict.fromkeys(mail.kind for mail in FIRST_MAILS)
    groups: dict[str, Iterable[bytes]] = {
        **{kind: [mail.raw for mail in FIRST_MAILS if mail.kind == kind] for kind in kinds},
        "all": [mail.raw for mail in FIRST_MAILS],
        "spam": [with_results(mail.raw) for mail in LIBRARY.values() if mail.label is Label.SPAM],
    }
    if options.directory is not None:
        groups["spam in DIRECTORY"] = _named(Path(options.directory))
    rows = [_row(name, [read_content(raw) for raw in group], lessons) for name, group in groups.items()]
    common.report(rows, options.json)
    ham, spam = lessons.totals()[:2].tolist()
    print(f"learned: {ham} ham, {spam} spam", file=sys.stderr)


def _is_of_a_list(sample: Sample) -> bool:
    relations, tokens = sample.reading.relations, sample.reading.tokens
    is_list = bool(relations.list_id) or relations.is_newsletter or not _LIST.isdisjoint(tokens)
    return sample.label is Label.HAM and is_list


def _named(directory: Path) -> Iterator[bytes]:
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        raw = path.read_bytes().replace(b"\r\n", b"\n")
        results = _NAMELESS.search(raw)
        yield b"Authentication-Results: %s; %s%s" % (OURS.encode(), results[1], raw) if results else raw


def _row(name: str, mail: Sequence[Content], lessons: MemoryLessons) -> dict[str, object]:
    row: dict[str, object] = {"first mails": name, "messages": len(mail)}
    for way, authserv_id in (("before", None), ("after", OURS)):
        judged = FrozenFilter(lessons, Scoring(), Senders(), Trusted(authserv_id)).judge_all(mail)
        for verdict in (Verdict.SPAM, Verdict.UNSURE):
            row[f"{verdict}, {way}"] = sum(each.verdict is verdict for each in judged)
    return row


if __name__ == "__main__":
    main()
