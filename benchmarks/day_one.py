"""Measure what a filter learns on its first day, from a mailbox that nobody has sorted.

The mailbox holds ham in the inbox and other folders, and spam in Junk. 15 % of the ham that came over no mailing list
is answered. A quarter as much spam as ham came to the inbox as well; a share of it lies there, read, among the ham.
`init` learns the mailbox. Then 300 spam and 600 ham come, which the filter judges by these lessons alone. All messages
are drawn at random from the corpus; each draw is one mailbox.

--lists N: N of the ham came over mailing lists, and lie read in a folder of lists; all other ham came over none.
Later list mail comes to the inbox, since the person files by hand. without lists: nothing is learned from that folder,
and the rest is sifted. --arrival: ham is in the order of its arrival instead, and each draw begins 300 ham later. Then
later mail is not like the mail in the mailbox.

by folder: every message is learned as its folder says. sifted: then the lessons are sifted, as `init` does. asked:
before that, the person rightly answers some screens of questions. right: all labels are right. bogofilter: by folder.
caught: spam called spam, in percent. ham called spam: of 600. Mail of a list that the service would spare counts as
neither. most: ham called spam, in one draw. begins: the part of the draws in which moving would begin at once. doubted:
ham of the mailbox that the sift doubts. weakly: ham that counts weakly as spam. found: spam among the ham that is
doubted, in percent. All others are means over draws.

    python benchmarks/day_one.py CORPUS [--ham 300] [--draws 3] [--mailboxes 60:0.2 20:0.4] [--screens 3] [--json]
    python benchmarks/day_one.py CORPUS --lists 150 [--arrival] …
"""

import random
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import common
import numpy as np
from by_date import in_order

from spamnb.acts.may_move import missing_now
from spamnb.base.label import How, Label, Verdict
from spamnb.config import Learning, Scoring, Senders
from spamnb.evaluation.arrival import arrival
from spamnb.evaluation.corpus import Labelled, Sample, load_corpus, samples
from spamnb.evaluation.packed import Packed
from spamnb.filter.judge import FrozenFilter, Judgement
from spamnb.ledger.history.senders import Learned
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.port import Relabel
from spamnb.mail.reading import Content
from spamnb.review.first_lessons import doubted, sifting
from spamnb.review.first_questions import first_questions
from spamnb.rules import weak_lessons
from spamnb.rules.destination import why_list_mail_stays

_ANSWERED = 0.15
_SPAM_PER_HAM = 0.25
_HAM_LATER, _SPAM_LATER = 600, 300
_APART = 300  # ham between the beginnings of two draws, in the order of time
_ROWS = 10  # of a screen
_WAYS = ("without lists", "by folder", "sifted", "asked", "right")
_MAILBOXES = ["60:0", "60:0.2", "60:0.4", "60:1", "20:0.2", "20:0.4", "300:0", "300:0.4", "5:0.4"]


class Kind(NamedTuple):
    """A kind of mailbox: how much ham, how much of it in a folder of lists, and how much spam in Junk.

    share: of the other spam, in the inbox. in_time: the ham is in the order of its arrival.
    """

    ham: int
    lists: int
    junk: int
    share: float
    in_time: bool


class Mailbox(NamedTuple):
    """The messages of a draw, by their places in the corpus."""

    lists: list[int]  # in the folder of lists
    ham: list[int]  # in other folders
    lying: list[int]  # spam among the ham
    junk: list[int]
    answered: set[int]
    later: list[int]


class Figures(NamedTuple):
    """What a filter does with later mail, in one draw; begins: whether mail would be moved, or None if unknown."""

    caught: float
    lost: int
    begins: bool | None = None


def drawn(corpus: Sequence[Labelled], read: Sequence[Sample], kind: Kind, seed: int) -> Mailbox:
    """Draw a mailbox, and the mail that comes later. Raises ValueError if the corpus is too small."""
    choose = random.Random(seed)
    of_ham, of_spam = (
        choose.sample(places, len(places))
        for places in ([place for place, one in enumerate(corpus) if one.label is label] for label in Label)
    )
    if kind.in_time:
        of_ham = sorted(of_ham)[seed * _APART :]
    ham, junk, lying = kind.ham, kind.junk, round(kind.share * _SPAM_PER_HAM * kind.ham)
    if kind.lists:
        over_list = [place for place in of_ham if read[place].reading.relations.list_id][: kind.lists]
        others = [place for place in of_ham if not read[place].reading.relations.list_id][: ham - kind.lists]
        there = {*over_list, *others}
        if len(there) < ham:
            raise ValueError(f"{len(over_list)} messages of lists and {len(others)} others are too few")
        of_ham = [*over_list, *others, *(place for place in of_ham if place not in there)]
    if len(of_ham) < ham + _HAM_LATER or len(of_spam) < junk + lying + _SPAM_LATER:
        raise ValueError(f"{len(of_ham)} ham and {len(of_spam)} spam are too few for this mailbox")
    personal = [place for place in of_ham[:ham] if not read[place].reading.relations.list_id]
    later = of_ham[ham : ham + _HAM_LATER] + of_spam[-_SPAM_LATER:]
    answered = set(choose.sample(personal, round(_ANSWERED * len(personal))))
    return Mailbox(
        of_ham[: kind.lists], of_ham[kind.lists : ham], of_spam[junk : junk + lying], of_spam[:junk], answered, later
    )


def learned(read: Sequence[Sample], mailbox: Mailbox, lying: Label, *, with_lists: bool = True) -> MemoryLessons:
    """Learn a mailbox as `init` does; lying: the label of the spam among the ham."""
    lessons = MemoryLessons()
    if with_lists:
        of_lists = [read[place].reading for place in mailbox.lists]
        lessons.learn(of_lists, Label.HAM, "benchmark", 1.0, how=How.SEEN, weak=True)
    for places, label in ((mailbox.ham, Label.HAM), (mailbox.lying, lying), (mailbox.junk, Label.SPAM)):
        lessons.learn([read[place].reading for place in places], label, "benchmark", 1.0, how=How.SEEN)
    return lessons


def answer(read: Sequence[Sample], mailbox: Mailbox, lessons: MemoryLessons, screens: int) -> set[bytes]:
    """Answer the questions of `init` rightly; it ends at the first screen without spam. Returns all that is decided."""
    spam = {read[place].reading.digest for place in mailbox.lying}
    ham = [digest for digest in _unanswered(read, mailbox) if (one := lessons.find(digest)) and one.label is Label.HAM]
    decided: set[bytes] = set()
    has_little = weak_lessons.has_little(len(mailbox.lists + mailbox.ham), len(mailbox.junk))
    for _ in range(screens):
        rest = [digest for digest in ham if digest not in decided]
        screen = first_questions(lessons, Scoring(), rest, has_little=has_little)[:_ROWS]
        shown = {digest for question in screen for digest in question.copies}
        decided |= shown
        to_spam = [Relabel(one, Label.HAM, False, Label.SPAM, False, "", How.HAND) for one in shown & spam]
        lessons.relabel(to_spam, 2.0)
        if not to_spam:
            break
    return decided


def _unanswered(read: Sequence[Sample], mailbox: Mailbox) -> list[bytes]:
    asked = mailbox.lists + mailbox.ham + mailbox.lying
    return [read[place].reading.digest for place in asked if place not in mailbox.answered]


def sift(
    read: Sequence[Sample], mailbox: Mailbox, lessons: MemoryLessons, decided: set[bytes]
) -> dict[bytes, Label | None]:
    """Sift the lessons of a mailbox, as `init` does. Returns what is doubted, and the new labels."""
    asked = [digest for digest in _unanswered(read, mailbox) if digest not in decided]
    ham = [digest for digest in asked if (lesson := lessons.find(digest)) and lesson.label is Label.HAM]
    changes = sifting(lessons, doubted(lessons, Scoring(), ham))
    lessons.relabel(changes, 2.0)
    return {change.digest: change.after for change in changes}


def judged(read: Sequence[Sample], mailbox: Mailbox, lessons: MemoryLessons) -> Figures:
    """Judge the mail that comes later."""
    later = [read[place] for place in mailbox.later]
    judgements = FrozenFilter(lessons, Scoring(), Senders()).judge_all(
        [Content(one.reading.tokens, one.reading.relations) for one in later]
    )
    is_spam = list(map(partial(_goes_to_junk, lessons, _learned_of(read, mailbox, lessons)), later, judgements))
    return _figures([one.label for one in later], is_spam, not missing_now(lessons, Scoring(), Learning()))


def _learned_of(read: Sequence[Sample], mailbox: Mailbox, lessons: MemoryLessons) -> Mapping[str, Learned]:
    """Return what is learned of each list."""
    known: dict[str, Learned] = {}
    for place in mailbox.lists + mailbox.ham + mailbox.lying + mailbox.junk:
        lesson, list_id = lessons.find(read[place].reading.digest), read[place].reading.relations.list_id
        if lesson is not None and lesson.label is not None:
            ham, spam = known.get(list_id, Learned())
            known[list_id] = Learned(ham + (lesson.label is Label.HAM), spam + (lesson.label is Label.SPAM))
    return known


def _goes_to_junk(
    lessons: MemoryLessons, of_lists: Mapping[str, Learned], message: Sample, judgement: Judgement
) -> bool:
    """Tell whether a message is called spam, and the service would not spare it as mail of a list."""
    verdict, probability, listed = judgement.verdict, judgement.probability, judgement.listed
    relations, ham = message.reading.relations, int(lessons.totals()[0])
    of_list = partial(of_lists.get, relations.list_id, Learned())
    is_spared = bool(why_list_mail_stays(verdict, probability, listed, relations, ham, of_list))
    return verdict is Verdict.SPAM and not is_spared


def by_bogofilter(corpus: Sequence[Labelled], mailbox: Mailbox) -> Figures:
    """Let bogofilter learn the mailbox by its folders, and judge the mail that comes later."""
    as_filed = [(mailbox.lists + mailbox.ham + mailbox.lying, Label.HAM), (mailbox.junk, Label.SPAM)]
    later = [corpus[place] for place in mailbox.later]
    with tempfile.TemporaryDirectory() as directory:
        other = common.Bogofilter(Path(directory))
        other.train([Labelled(corpus[n].path, corpus[n].name, label) for places, label in as_filed for n in places])
        is_spam = [one.verdict is Verdict.SPAM for one in common.scored(other, later)]
    return _figures([one.label for one in later], is_spam, None)


def _figures(labels: Sequence[Label], is_spam: Sequence[bool], begins: bool | None) -> Figures:
    called = [label for label, spam in zip(labels, is_spam, strict=True) if spam]
    return Figures(100 * called.count(Label.SPAM) / _SPAM_LATER, called.count(Label.HAM), begins)


def measured(
    corpus: Sequence[Labelled], read: Sequence[Sample], kind: Kind, draws: int, screens: int
) -> list[dict[str, object]]:
    """Return a row of figures for each way to learn such a mailbox."""
    ways: dict[str, list[Figures]] = {way: [] for way in _WAYS}
    if not kind.lists:
        del ways["without lists"]
    if not screens:
        del ways["asked"]
    finds = []
    for seed in range(draws):
        mailbox = drawn(corpus, read, kind, seed)
        for way in [way for way in ways if way != "bogofilter"]:
            lying = Label.SPAM if way == "right" else Label.HAM
            lessons = learned(read, mailbox, lying, with_lists=way != "without lists")
            if way == "without lists":
                sift(read, mailbox, lessons, set())
            elif way == "sifted":
                finds.append(_finds(read, mailbox, sift(read, mailbox, lessons, set())))
            elif way == "asked":
                sift(read, mailbox, lessons, answer(read, mailbox, lessons, screens))
            ways[way].append(judged(read, mailbox, lessons))
        if shutil.which("bogofilter"):
            ways.setdefault("bogofilter", []).append(by_bogofilter(corpus, mailbox))
    shown: list[dict[str, object]] = []
    for way, figures in ways.items():
        begins = None if figures[0].begins is None else _mean([one.begins for one in figures])
        caught, lost = _mean([one.caught for one in figures]), _mean([one.lost for one in figures])
        row: dict[str, object] = {"ham": kind.ham, "Junk": kind.junk, "share": kind.share, "learned": way}
        row |= {"caught": caught, "ham called spam": lost, "most": max(one.lost for one in figures), "begins": begins}
        names = ("doubted", "weakly", "found")
        row |= dict(zip(names, np.mean(finds, axis=0).tolist() if way == "sifted" else [None] * 3, strict=True))
        shown.append(row)
    return shown


def _finds(read: Sequence[Sample], mailbox: Mailbox, labels: dict[bytes, Label | None]) -> tuple[float, float, float]:
    """Return how much ham is doubted, how much of it counts weakly as spam, and the percentage of spam found."""
    there = (mailbox.lists + mailbox.ham, mailbox.lying)
    ham, lying = ([read[place].reading.digest for place in places] for places in there)
    wrongly = [labels[digest] for digest in ham if digest in labels]
    found = sum(digest in labels for digest in lying)
    return len(wrongly), wrongly.count(Label.SPAM), 100 * found / len(lying) if lying else 100.0


def _mean(values: Sequence[float | None]) -> float:
    return float(np.mean([value for value in values if value is not None]))


def main() -> None:
    """Measure each mailbox."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS")
    parser.add_argument("--ham", type=int, default=300, metavar="N", help="in the mailbox")
    parser.add_argument("--lists", type=int, default=0, metavar="N", help="of the ham, in a folder of mailing lists")
    parser.add_argument("--arrival", action="store_true", help="ham in the order of its arrival")
    parser.add_argument("--draws", type=int, default=3, metavar="N")
    spam = "spam in Junk, and the share of the other spam that lies among the ham"
    parser.add_argument("--mailboxes", nargs="+", default=_MAILBOXES, metavar="JUNK:SHARE", help=spam)
    parser.add_argument("--screens", type=int, default=0, metavar="N", help="of questions that the person answers")
    options = parser.parse_args()
    corpus = load_corpus(options.corpus)
    if options.arrival:
        corpus = in_order(corpus, arrival)
    read = Packed(samples(corpus))
    rows: list[dict[str, object]] = []
    for mailbox in options.mailboxes:
        junk, share = mailbox.split(":")
        kind = Kind(options.ham, options.lists, int(junk), float(share), options.arrival)
        rows += measured(corpus, read, kind, options.draws, options.screens)
    common.report(rows, options.json)


if __name__ == "__main__":
    main()
