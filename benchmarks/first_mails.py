"""Measure what becomes of the first mails of shops, banks, parcel services, clubs and newsletters, and at what cost.

The filter learns CORPUS without the ham of lists, so it knows letters and spam. Then it judges sixty made-up messages
(`tests/mail/today/first_mails.py`), each as the first of its sender. Half of those that are no newsletters offer to
unsubscribe, as newsletters do. before: without a named server. server: with the server that wrote their
Authentication-Results. folders: without the server, and with folders for newcomers and newsletters. both: with all.

Junk, newcomers, newsletters: moved to these folders. unsure: in doubt, and in the inbox. The rest is in the inbox.

The cost: the twenty spam messages of `tests/mail/today`, each with the results of the same server, which takes every
signature in them for right. With DIRECTORY, whose files are all spam, also these, by the results that they came with.
The first field of theirs without a server's name (those of Outlook) counts as one of the person's own server.

    python benchmarks/first_mails.py CORPUS [DIRECTORY] [--json]
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import common

sys.path.insert(0, str(Path(__file__).parents[1]))  # the messages belong to the tests
from spamnb.base.label import How, Label, Role, Verdict
from spamnb.config import Scoring, Senders
from spamnb.evaluation.corpus import Sample, load_corpus, samples
from spamnb.filter.judge import FrozenFilter, Judgement
from spamnb.filter.vouching import Trusted
from spamnb.ledger.history.senders import Learned
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Content, read_content
from spamnb.rules.acquaintances import why_known
from spamnb.rules.destination import ByPerson, FromWhom, Opinion, destination_of, is_barely_spam
from spamnb.rules.moving import Hindrance
from spamnb.rules.newsletters import newsletter
from tests.mail.today.first_mails import FIRST_MAILS, OURS, with_results
from tests.mail.today.library import LIBRARY

_APART = (Role.NEWCOMERS, Role.NEWSLETTERS)
_WAYS: tuple[tuple[str, str | None, Collection[Role]], ...] = (
    ("before", None, ()),
    ("server", OURS, ()),
    ("folders", None, _APART),
    ("both", OURS, _APART),
)
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
    for way, authserv_id, apart in _WAYS:
        judged = FrozenFilter(lessons, Scoring(), Senders(), Trusted(authserv_id)).judge_all(mail)
        goals = [_goal(each, judgement, lessons, apart) for each, judgement in zip(mail, judged, strict=True)]
        row[f"Junk, {way}"] = goals.count(Role.SPAM)
        in_doubt = [judgement.verdict is Verdict.UNSURE for judgement in judged]
        row[f"unsure, {way}"] = sum(goal is None and doubt for goal, doubt in zip(goals, in_doubt, strict=True))
        row |= {f"{role}, {way}": goals.count(role) for role in apart}
    return row


def _goal(mail: Content, judgement: Judgement, lessons: MemoryLessons, apart: Collection[Role]) -> Role | None:
    """Return the role of the folder to which a message is moved that is the first of its sender; None: it stays."""
    (seen,) = lessons.seen([mail.relations])
    known = why_known(mail.relations, seen, Learned(), Learned(), frozenset(), "")
    of_list = newsletter(mail.relations, seen, chosen=None)
    verdict, goals = judgement.verdict, (Role.SPAM, *apart)
    is_barely = is_barely_spam(verdict, judgement.probability, judgement.listed)
    opinion, sender = Opinion(verdict, is_barely=is_barely), FromWhom(of_list, is_newcomer=not known)
    return destination_of(opinion, ByPerson(), sender, Hindrance("", None), goals).goal


if __name__ == "__main__":
    main()
