"""The contract of the port `Lessons`, for both stores: the ledger's, and the one in memory."""

import doctest
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spamnb.base.errors import LedgerError
from spamnb.base.label import How, Label
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons import port
from spamnb.ledger.lessons.acquaintance import Acquaintance, Seen
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.export_format import MOST_TOTAL, ExportedCounts, parse
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.port import Lesson, LessonCopy, Lessons, Relabel, pages
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Addressees, Relations
from spamnb.mail.tokens.tokenizer import VERSION
from tests.ledger.conftest import Shared
from tests.profiles import daily

HAM, SPAM = Label
TOKENS = list("abcdefgh")
ANSWER, CORRESPONDENT = Acquaintance


def test_the_lines_to_paste() -> None:
    """The lines at the head of the port do what they show."""
    result = doctest.testmod(port)
    assert result.attempted and not result.failed


def reading(number: int, **tokens: int) -> Reading:
    """A message."""
    return Reading(bytes([number] * 16), f"message {number}", tokens)


def digest(number: int) -> bytes:
    """Its identity."""
    return reading(number).digest


def label(lessons: Lessons, number: int) -> tuple[Label | None, bool] | None:
    """Return the label of a message, and whether it is weak."""
    found = lessons.find(digest(number))
    return None if found is None else (found.label, found.weak)


def test_counts_what_was_learned(lessons: Lessons) -> None:
    """Counts are messages and occurrences by class, in the order asked, with zeros for the unknown."""
    lessons.learn([reading(1, a=2, b=1)], HAM, "a test", 1.0, how=How.HAND)
    lessons.learn([reading(2, a=3)], SPAM, "a test", 1.0, how=How.HAND)
    counts = lessons.counts(["b", "never", "a"])
    assert counts.messages.tolist() == [[1, 0, 1], [0, 0, 1]]
    assert counts.occurrences.tolist() == [[1, 0, 2], [0, 0, 3]]
    assert counts.class_messages.tolist() == [1, 1]
    assert counts.class_token_messages.tolist() == [2, 1]
    assert counts.class_occurrences.tolist() == [3, 3]
    assert counts.vocabulary_size == 2
    assert lessons.totals().tolist() == [1, 1, 2, 1, 3, 3, 2]


def test_learned_once(lessons: Lessons) -> None:
    """The same lesson again changes nothing; a different label corrects it, with its first tokens."""
    assert lessons.learn([reading(1, a=1)] * 2, HAM, "a test", 1.0, how=How.HAND) == [(digest(1), None)]
    assert lessons.learn([reading(1, a=5)], HAM, "a test", 1.0, how=How.HAND) == []
    assert lessons.learn([reading(1, b=5)], SPAM, "a test", 1.0, how=How.HAND) == [(digest(1), HAM)]
    assert lessons.totals().tolist() == [0, 1, 0, 1, 0, 1, 1]
    assert lessons.verify() == []


def test_all_or_nothing(lessons: Lessons) -> None:
    """If reading fails half-way nothing is learned."""

    def readings() -> Iterator[Reading]:
        yield reading(1, x=1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lessons.learn(readings(), SPAM, "a test", 1.0, how=How.HAND)
    assert lessons.find(digest(1)) is None
    assert (lessons.totals().tolist(), lessons.last_change()) == ([0] * 7, 0)


def test_an_empty_message(lessons: Lessons) -> None:
    """A message without tokens can be learned, and forgotten without a trace."""
    lessons.learn([reading(1)], HAM, "a test", 1.0, how=How.HAND)
    assert lessons.totals().tolist() == [1, 0, 0, 0, 0, 0, 0]
    lessons.forget([digest(1)], "a test", 2.0, how=How.HAND)
    assert lessons.totals().tolist() == [0] * 7
    assert lessons.verify() == []


def test_a_long_message(lessons: Lessons) -> None:
    """For more tokens than one statement takes, the counts come in the order of the question."""
    lessons.learn([reading(1, **{f"t{i}": i + 1 for i in range(3000)})], SPAM, "a test", 1.0, how=How.HAND)
    counts = lessons.counts([f"t{i}" for i in reversed(range(4000))])
    assert counts.messages[1].tolist() == [0] * 1000 + [1] * 3000
    assert counts.occurrences[1].tolist() == [0] * 1000 + list(range(3000, 0, -1))


def test_alike_is_not_equal(lessons: Lessons) -> None:
    """Tokens that differ in case, in a NUL or in how an accent is written are different tokens."""
    alike = ["a", "A", "a\0", "a\0b", "é", "e\u0301", "a ", "'a'"]
    taught = Reading(digest(1), "", {token: i + 1 for i, token in enumerate(alike)})
    lessons.learn([taught], HAM, "a test", 1.0, how=How.HAND)
    assert lessons.counts(alike).occurrences[0].tolist() == list(range(1, 9))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(st.dictionaries(TEXT, st.integers(1, 0xFFFF)))
@settings(max_examples=daily(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_a_token(lessons: Lessons, tokens: dict[str, int]) -> None:
    """Any text is a token, quotes and private characters among it, and none is taken for another."""
    lessons.learn([Reading(digest(1), "", tokens)], HAM, "a test", 1.0, how=How.HAND)
    counts = lessons.counts(list(tokens))
    assert counts.occurrences[0].tolist() == list(tokens.values())
    assert counts.vocabulary_size == len(tokens)
    assert lessons.verify() == []
    lessons.forget([digest(1)], "a test", 2.0, how=How.HAND)


def test_weak_labels_give_way(lessons: Lessons) -> None:
    """A weak label never replaces a decision; any decision replaces it, and so does another weak one."""
    lessons.learn([reading(1, a=1)], HAM, "a test", 1.0, weak=True, how=How.HAND)
    assert lessons.learn([reading(1, a=1)], HAM, "a test", 1.0, weak=True, how=How.HAND) == []
    assert lessons.learn([reading(1, a=1)], SPAM, "a test", 1.0, weak=True, how=How.HAND) == [(digest(1), HAM)]
    assert label(lessons, 1) == (SPAM, True)
    assert lessons.learn([reading(1, a=1)], SPAM, "a test", 1.0, how=How.HAND) == [(digest(1), SPAM)]
    assert lessons.learn([reading(1, a=1)], HAM, "a test", 1.0, weak=True, how=How.HAND) == []
    assert label(lessons, 1) == (SPAM, False)


def test_lessons_are_found(lessons: Lessons) -> None:
    """The last lesson of a message is found by its identity, with its time and reason."""
    assert lessons.find(digest(1)) is None
    lessons.learn([reading(1, a=1)], HAM, "first", 1.0, how=How.HAND)
    assert lessons.relabel([Relabel(digest(1), HAM, False, SPAM, True, "second", How.HAND, 7)], 2.0) == [True]
    found = lessons.find(digest(1))
    assert found is not None
    assert (found.digest, found.summary, found.label, found.weak) == (digest(1), "message 1", SPAM, True)
    assert (found.at, found.why, found.takes_back) == (2.0, "second", 7)
    assert lessons.verify() == []


def test_changes_in_their_order(lessons: Lessons) -> None:
    """Each change of a lesson has a higher number than all before it; what changes nothing has none."""
    assert lessons.changes(0) == []
    lessons.learn([reading(1, a=1), reading(2, a=1), reading(3, a=1)], HAM, "a test", 5.0, how=How.HAND)
    first = lessons.changes(0)
    assert [one.digest for one in first] == [digest(1), digest(2), digest(3)]
    lessons.learn([reading(2, a=1)], HAM, "a test", 4.0, how=How.HAND)
    assert lessons.changes(first[-1].number) == []
    lessons.forget([digest(3)], "a test", 3.0, how=How.HAND)
    lessons.learn([reading(1, a=1)], SPAM, "a test", 2.0, how=How.HAND)
    later = lessons.changes(first[-1].number)
    assert [(one.digest, one.label) for one in later] == [(digest(3), None), (digest(1), SPAM)]
    assert [one.digest for one in lessons.changes(0)] == [digest(2), digest(3), digest(1)]
    assert lessons.changes(0, 1) == [first[1]]


def test_all_lessons_page_by_page(lessons: Lessons, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages hold all lessons above a number in their order; a lesson that changes between two pages comes again."""
    monkeypatch.setattr(port, "_PAGE", 2)
    lessons.learn([reading(number, a=1) for number in range(5)], HAM, "a test", 1.0, how=How.HAND)
    met = []
    for page in pages(lessons):
        if not met:
            lessons.forget([digest(0)], "a test", 2.0, how=How.HAND)
        met.append([(one.digest, one.label) for one in page])
    of = {number: (digest(number), HAM) for number in range(5)}
    assert met == [[of[0], of[1]], [of[2], of[3]], [of[4], (digest(0), None)]]
    assert [one.number for page in pages(lessons, 4) for one in page] == [5, 6]


def test_changes_become_visible_in_their_order(shared: Shared) -> None:
    """If one of two writers commits late, a reader that goes on behind its last number misses no change."""
    followed = [0]

    def follow() -> None:
        followed.extend(lesson.number for lesson in shared.reader.changes(followed[-1]))

    with ThreadPoolExecutor(1) as other:
        with shared.delayed:
            shared.slow.learn([reading(1, a=1)], HAM, "a test", 1.0, how=How.HAND)
            waiting = other.submit(shared.quick.learn, [reading(2, a=1)], SPAM, "a test", 2.0, how=How.HAND)
            wait([waiting], 0.2)
            follow()
        waiting.result()
    follow()
    assert followed == [0, *(lesson.number for lesson in shared.reader.changes(0))]
    assert len(followed) == 3


def test_relabelled_only_as_expected(lessons: Lessons) -> None:
    """A label is changed only if it is still the expected one."""
    lessons.learn([reading(1, a=1)], HAM, "a test", 1.0, how=How.HAND)
    changes = [
        Relabel(digest(1), SPAM, False, None, False, "not as it is", How.HAND),
        Relabel(digest(1), HAM, True, None, False, "not as firmly", How.HAND),
        Relabel(digest(9), None, False, HAM, False, "never learned", How.HAND),
        Relabel(digest(1), HAM, False, None, False, "as it is", How.HAND),
        Relabel(digest(1), None, False, SPAM, False, "as it is now", How.HAND),
    ]
    assert lessons.relabel(changes, 2.0) == [False, False, False, True, True]
    assert lessons.totals().tolist() == [0, 1, 0, 1, 0, 1, 1]
    assert lessons.verify() == []


def test_forgotten(lessons: Lessons) -> None:
    """A forgotten message no longer counts; its tokens are kept, and a new lesson brings its own."""
    lessons.learn([reading(1, a=1), reading(2, b=1)], HAM, "a test", 1.0, how=How.HAND)
    assert lessons.forget([digest(1), digest(1), digest(9)], "a test", 2.0, how=How.HAND) == 1
    assert lessons.forget([digest(1)], "a test", 2.0, how=How.HAND) == 0
    assert label(lessons, 1) == (None, False)
    assert lessons.counts(["a", "b"]).messages.tolist() == [[0, 1], [0, 0]]
    lessons.learn([reading(1, c=3)], SPAM, "a test", 3.0, how=How.HAND)
    assert lessons.counts(["a", "c"]).occurrences.tolist() == [[0, 0], [0, 3]]
    assert lessons.totals().tolist() == [1, 1, 1, 1, 1, 3, 2]
    assert lessons.verify() == []


def test_teachers(lessons: Lessons) -> None:
    """The newest learned messages that hold a token are its teachers, but for forgotten ones and one left out."""
    for number in range(6):
        lessons.learn(
            [reading(number, x=1, **{f"y{number}": 1})], Label(number % 2), "a test", float(number), how=How.HAND
        )
    lessons.forget([digest(5)], "a test", 9.0, how=How.HAND)
    found = lessons.teachers(["x", "y0", "never"], 2)
    assert [(one.summary, one.label, one.learned_at) for one in found["x"]] == [
        ("message 4", HAM, 4.0),
        ("message 3", SPAM, 3.0),
    ]
    assert [one.summary for one in found["y0"]] == ["message 0"]
    assert found["never"] == []
    without = lessons.teachers(["x", "y0", "y3"], 2, digest(3))
    assert [[one.summary for one in without[token]] for token in without] == [
        ["message 4", "message 2"],
        ["message 0"],
        [],
    ]


def test_which_lessons_hold_tokens(lessons: Lessons) -> None:
    """Among the newest lessons of a label, those that hold enough of the tokens come, the newest first."""
    lessons.learn([reading(1, a=1, b=1, c=9), reading(2, a=1)], SPAM, "a test", 1.0, how=How.HAND)
    lessons.learn([reading(3, a=1, b=1, x=1), reading(4, a=1, b=1)], HAM, "a test", 2.0, how=How.HAND)
    lessons.learn([reading(5, b=5, a=1, c=1)], SPAM, "a test", 3.0, weak=True, how=How.HAND)

    def holding(tokens: str, least: int, label: Label, most: int = 9) -> list[int]:
        return [one.digest[0] for one in lessons.holding(set(tokens), least, label, most)]

    assert holding("abz", 2, SPAM) == [5, 1]
    assert holding("abz", 1, SPAM) == [5, 2, 1]
    assert holding("abz", 1, SPAM, 2) == [5, 2]
    assert holding("abz", 3, SPAM) == []
    assert holding("abx", 3, HAM) == [3]
    assert holding("z", 1, HAM) == []
    lessons.forget([digest(5)], "a test", 4.0, how=How.HAND)
    assert holding("abz", 2, SPAM) == [1]


def test_learned_tokens(lessons: Lessons) -> None:
    """Learned messages come in the order of the question, with their tokens and the tokens' counts."""
    lessons.learn([reading(1, a=2, b=1), reading(2)], HAM, "a test", 1.0, how=How.HAND)
    lessons.learn([reading(3, b=3), reading(4, c=1)], SPAM, "a test", 2.0, weak=True, how=How.HAND)
    lessons.forget([digest(4)], "a test", 3.0, how=How.HAND)
    found = lessons.learned([digest(3), digest(9), digest(4), digest(2), digest(1)])
    assert [(one.digest, one.label, one.weak) for one in found.lessons] == [
        (digest(3), SPAM, True),
        (digest(2), HAM, False),
        (digest(1), HAM, False),
    ]
    assert found.lengths.tolist() == [1, 0, 2]
    assert sorted(found.ids.tolist()) == found.ids.tolist()
    first, *rest = found.columns.tolist()
    entries = dict(zip(rest, found.occurrences.tolist()[1:], strict=True))
    assert (found.occurrences[0], entries[first]) == (3, 1)
    assert sorted(entries.values()) == [1, 2]
    assert found.counts.messages[:, first].tolist() == [1, 1]
    assert found.counts.occurrences[:, first].tolist() == [1, 3]
    assert found.counts.class_messages.tolist() == [2, 1]
    assert found.counts.vocabulary_size == 2
    assert lessons.learned([]).lessons == []


def test_kinds_of_tokens(lessons: Lessons) -> None:
    """Tokens with one prefix are of one kind, and so are bare words; each id has its kind."""
    assert lessons.families().tolist() == []
    names = ["word", "subject:word", "subject:a:b", "other", "from:word", "subject"]
    for number, name in enumerate(names):
        lessons.learn([Reading(digest(number), "", {name: 1})], HAM, "a test", 1.0, how=How.HAND)
    ids = [int(lessons.learned([digest(number)]).ids[0]) for number in range(len(names))]
    kinds = [int(lessons.families()[id_]) for id_ in ids]
    assert kinds[1] == kinds[2]
    assert kinds[0] == kinds[3] == kinds[5]
    assert len({kinds[0], kinds[1], kinds[4]}) == 3
    assert lessons.texts(ids[1:3]) == {ids[1]: "subject:word", ids[2]: "subject:a:b"}
    assert lessons.texts([]) == lessons.texts([99]) == {}


def test_export(lessons: Lessons) -> None:
    """The export holds all counts that are not zero, in the order of the tokens."""
    assert parse((line.encode() for line in lessons.export()), "f").tokens == []
    lessons.learn([reading(1, b=2, a=1), reading(2, a=1)], HAM, "a test", 1.0, how=How.HAND)
    lessons.learn([reading(3, gone=1)], SPAM, "a test", 1.0, how=How.HAND)
    lessons.forget([digest(3)], "a test", 2.0, how=How.HAND)
    counts = parse((line.encode() for line in lessons.export()), "f")
    assert (counts.tokens, counts.counts.tolist()) == (["a", "b"], [[2, 0, 2, 0], [1, 0, 2, 0]])
    assert (counts.ham, counts.spam, len(counts.tokenizers)) == (2, 0, 1)


def exported(lessons: Lessons) -> ExportedCounts:
    """Return the counts of a store, as a different one reads them."""
    return parse((line.encode() for line in lessons.export()), "f")


def elsewhere() -> ExportedCounts:
    """Counts that came from another store."""
    other = MemoryLessons()
    other.learn([reading(8, x=3, z=1)], SPAM, "a test", 1.0, how=How.HAND)
    other.learn([reading(9, y=70_000)], HAM, "a test", 1.0, how=How.HAND)
    return exported(other)


def test_imports_are_added_up_and_taken_back(lessons: Lessons) -> None:
    """Counts that came from elsewhere are added to those of the lessons, and each import is taken back once."""
    lessons.learn([reading(1, x=2, w=1)], SPAM, "a test", 1.0, how=How.HAND)
    lessons.add_import(elsewhere(), "f", "a test", 2.0)
    assert lessons.imported() == (1, 1)
    assert lessons.totals().tolist() == [1, 2, 1, 4, 65_535, 7, 4]
    assert lessons.counts(["x", "y"]).occurrences.tolist() == [[0, 65_535], [5, 0]]
    assert exported(lessons).tokens == ["w", "x", "y", "z"]
    assert [each.summary for each in lessons.teachers(["x", "z"])["x"]] == ["message 1"]
    lessons.add_import(elsewhere(), "f", "the same once more", 3.0)
    assert lessons.imported() == (2, 2)
    lessons.learn([reading(2, z=1)], HAM, "a test", 4.0, how=How.HAND)
    lessons.take_import_back(elsewhere().digest, "an error", 5.0, takes_back=7)
    with pytest.raises(LedgerError, match="no longer counts"):
        lessons.take_import_back(elsewhere().digest, "an error", 6.0, takes_back=7)
    assert lessons.imported() == (1, 1)
    assert lessons.verify() == []
    lessons.take_import_back(elsewhere().digest, "an error", 7.0, takes_back=8)
    with pytest.raises(LedgerError, match="no longer counts"):
        lessons.take_import_back(elsewhere().digest, "an error", 8.0, takes_back=9)
    assert lessons.imported() == (0, 0)
    assert lessons.totals().tolist() == [1, 1, 1, 2, 1, 3, 3]
    assert lessons.verify() == []


def test_imports_are_changes(lessons: Lessons) -> None:
    """An import is a change among the lessons, and so is its undo."""
    lessons.learn([reading(1, x=2)], SPAM, "a test", 1.0, how=How.HAND)
    counts = elsewhere()
    assert lessons.add_import(counts, "f", "counts", 2.0) == lessons.last_change() == 2
    lessons.learn([reading(2, x=2)], SPAM, "a test", 3.0, how=How.HAND)
    added = Lesson(2, counts.digest, "f", None, False, 2.0, "counts", How.IMPORT, None)
    assert lessons.changes(1, 1) == [added]
    assert [lesson.number for lesson in lessons.changes(0)] == [1, 2, 3]
    assert lessons.take_import_back(counts.digest, "an error", 4.0, takes_back=7) == lessons.last_change() == 4
    assert [lesson.number for lesson in lessons.changes(0)] == [1, 3, 4]
    assert lessons.changes(3) == [replace(added, number=4, at=4.0, why="an error", takes_back=7)]
    assert lessons.find(counts.digest) is None


def test_described(lessons: Lessons) -> None:
    """The statistics have the time of the last lesson and the tokenizers of all lessons."""
    assert lessons.stats() == (None, frozenset())
    lessons.learn([reading(1, a=1), reading(2, a=1)], HAM, "a test", 7.0, how=How.HAND)
    lessons.learn([reading(3, a=1)], HAM, "a test", 5.0, how=How.HAND)
    assert lessons.stats() == (5.0, {VERSION})
    lessons.forget([digest(3)], "a test", 9.0, how=How.HAND)
    assert lessons.stats() == (7.0, {VERSION})


def test_learned_in_batches(lessons: Lessons) -> None:
    """Messages in batches are learned as by themselves, one call after the other."""
    batcher = lessons.batcher()
    batches = [Batch.of([reading(1, b=2, a=1), reading(2)]), Batch.of([mail(3, answers=(5,)), reading(1, c=1)])]
    assert batcher.learn(batches, HAM, "a test", 1.0, how=How.HAND) == [(digest(n), None) for n in (1, 2, 3)]
    assert batcher.learn([Batch.of([reading(4, a=70_000)])], SPAM, "a test", 2.0, how=How.HAND) == [(digest(4), None)]
    assert batcher.learn(batches[:1], SPAM, "a test", 3.0, how=How.HAND, weak=True) == []
    assert lessons.counts(["a", "b", "c", "hello"]).occurrences.tolist() == [[1, 2, 0, 1], [65_535, 0, 0, 0]]
    assert known(lessons, mail(9)) == {CORRESPONDENT}
    assert lessons.verify() == []


def test_learned_beside_a_batcher(lessons: Lessons) -> None:
    """A batcher of an empty store learns on after messages were learned past it, with tokens that it has not met."""
    batcher = lessons.batcher()
    batcher.learn([Batch.of([reading(1, a=1)])], HAM, "a test", 1.0, how=How.HAND)
    lessons.learn([reading(2, b=1)], HAM, "a test", 2.0, how=How.HAND)
    batcher.learn([Batch.of([reading(3, b=1, c=1)])], HAM, "a test", 3.0, how=How.HAND)
    assert lessons.counts(["a", "b", "c"]).messages.tolist() == [[1, 2, 1], [0, 0, 0]]
    assert lessons.verify() == []


def test_tokens_are_looked_up(lessons: Lessons) -> None:
    """Tokens are found by how many messages hold them, by their kind, and by how they begin."""
    names = ["subject:offer", "sub", "subject:lunch", "from:sub", "subway"]
    for number, name in enumerate(names):
        lessons.learn([Reading(digest(number), "", {name: 2, "often": 1})], HAM, "a test", 1.0, how=How.HAND)
    lessons.forget([digest(4)], "a test", 2.0, how=How.HAND)
    often = lessons.frequent(2)
    assert list(lessons.texts(often.ids.tolist()).values()) == ["often"]
    assert (often.counts.messages.tolist(), often.counts.class_messages.tolist()) == ([[4], [0]], [4, 0])
    of_kinds = lessons.frequent(1, ["subject:", "from:"]).ids.tolist()
    assert set(lessons.texts(of_kinds).values()) == {"subject:offer", "subject:lunch", "from:sub"}
    assert of_kinds == sorted(of_kinds)
    assert lessons.frequent(9).ids.tolist() == []
    assert lessons.beginning_with("sub", 9) == ["sub", "subject:lunch", "subject:offer"]
    assert lessons.beginning_with("sub", 2) == ["sub", "subject:lunch"]
    assert lessons.beginning_with("subw", 9) == []


def copies(lessons: Lessons) -> list[LessonCopy]:
    """Return all lessons of a store, with everything that a different store needs."""
    digests = [lesson.digest for lesson in lessons.changes(0) if lesson.how is not How.IMPORT]
    return lessons.copies_of(digests, digests)


def without_numbers(lessons: list[LessonCopy]) -> list[LessonCopy]:
    """Lessons without what each store counts for itself, in an order that both have."""
    bare = [each._replace(lesson=replace(each.lesson, number=0, takes_back=None)) for each in lessons]
    return sorted(bare, key=lambda each: each.lesson.digest)


def a_few(lessons: Lessons) -> None:
    """Learn a decision, a weak lesson of the same sender, an empty message and one that is forgotten."""
    lessons.learn([mail(1), reading(2)], HAM, "filed", 1.0, how=How.MOVE)
    lessons.learn([mail(3)], SPAM, "left in Junk", 2.0, how=How.SILENCE, weak=True)
    lessons.learn([reading(4, a=70_000, gone=2)], SPAM, "a test", 3.0, how=How.HAND)
    lessons.forget([digest(4)], "an error", 4.0, how=How.HAND)


def test_lessons_with_all_that_another_store_needs(lessons: Lessons) -> None:
    """A lesson is handed out with its tokens, those of what was known among them, and with its relations."""
    a_few(lessons)
    found = lessons.copies_of([digest(3), digest(9), digest(1), digest(4)], [digest(3), digest(4), digest(9)])
    assert [each.lesson for each in found] == [lessons.find(digest(number)) for number in (3, 1, 4)]
    assert [each.tokens for each in found] == [
        {"hello": 1, "known:correspondent": 1},
        None,
        {"a": 65_535, "gone": 2},
    ]
    assert [each.tokenizer for each in found] == [VERSION] * 3
    assert found[0].relations == found[1].relations != found[2].relations == b""
    assert lessons.copies_of([], []) == []


def test_taken_over_from_another_store(lessons: Lessons) -> None:
    """Lessons taken over equal those of the other store, forgotten ones too; a repetition changes nothing."""
    other = MemoryLessons()
    a_few(other)
    lessons.learn([mail(5, path="8.8.8")], HAM, "filed", 9.0, how=How.MOVE)
    assert lessons.take_over(copies(other)) == 4
    assert without_numbers(copies(lessons))[:4] == without_numbers(copies(other))
    lessons.forget([digest(5)], "a test", 9.0, how=How.HAND)
    assert exported(lessons).digest == exported(other).digest
    assert lessons.totals().tolist() == other.totals().tolist()
    assert known(lessons, mail(7)) == {CORRESPONDENT}
    assert lessons.verify() == []
    last = lessons.last_change()
    assert lessons.take_over(copies(other)) == 0
    assert lessons.take_over([]) == 0
    assert lessons.last_change() == last


def test_taken_over_otherwise(lessons: Lessons) -> None:
    """Taking over replaces all that differs: label, tokens, relations, and the time and cause of the lesson."""
    a_few(lessons)
    lessons.relabel([Relabel(digest(1), HAM, False, SPAM, False, "by hand", How.HAND, takes_back=7)], 5.0)
    theirs = Lesson(99, digest(1), "message 1", HAM, False, 6.0, "filed", How.KEPT, takes_back=8)
    last = lessons.last_change()
    assert lessons.take_over([LessonCopy(theirs, VERSION, {"other": 3}, b"")]) == 1
    (found,) = lessons.copies_of([digest(1)], [digest(1)])
    assert found == LessonCopy(replace(theirs, number=last + 1, takes_back=None), VERSION, {"other": 3}, b"")
    assert lessons.counts(["hello", "other"]).messages.tolist() == [[0, 1], [1, 0]]
    assert known(lessons, mail(7)) == set()
    assert [each.digest for each in lessons.changes(last)] == [digest(1)]
    assert lessons.verify() == []


@pytest.mark.parametrize(
    "change",
    [
        lambda copy: copy._replace(tokens={"hello": 2}),
        lambda copy: copy._replace(tokens={"hello": 1, "more": 1}),
        lambda copy: copy._replace(relations=bytes(7) + b"1"),
        lambda copy: copy._replace(relations=bytes(15) + b"1"),
        lambda copy: copy._replace(tokenizer=VERSION + 1),
        lambda copy: copy._replace(lesson=replace(copy.lesson, at=1.5)),
        lambda copy: copy._replace(lesson=replace(copy.lesson, how=How.TELL)),
        lambda copy: copy._replace(lesson=replace(copy.lesson, weak=True)),
        lambda copy: copy._replace(lesson=replace(copy.lesson, label=None)),
    ],
)
def test_each_difference_is_a_change(lessons: Lessons, change: Callable[[LessonCopy], LessonCopy]) -> None:
    """A lesson that differs in one thing is a change, which this store takes over exactly."""
    lessons.learn([mail(1)], HAM, "filed", 1.0, how=How.MOVE)
    theirs = change(copies(lessons)[0])
    assert lessons.take_over([theirs, theirs]) == 1
    assert without_numbers(copies(lessons)) == without_numbers([theirs])
    assert lessons.last_change() == 2
    assert lessons.verify() == []


def test_nothing_is_taken_over_without_tokens(lessons: Lessons) -> None:
    """If one lesson lacks its tokens, or has invalid relations, nothing changes."""
    lessons.learn([mail(1)], HAM, "filed", 1.0, how=How.MOVE)
    (mine,) = copies(lessons)
    other = mine._replace(lesson=replace(mine.lesson, label=SPAM))
    for bad in (mine._replace(tokens=None), mine._replace(relations=b"1")):
        with pytest.raises(ValueError, match=r"lacks its tokens|not relations"):
            lessons.take_over([other, bad._replace(lesson=replace(mine.lesson, digest=digest(2), label=SPAM))])
    assert copies(lessons) == [mine]
    assert lessons.verify() == []


def test_what_was_taken_over_is_corrected_exactly(lessons: Lessons) -> None:
    """A lesson that was taken over is forgotten and learned again as one of one's own, with the tokens it has."""
    other = MemoryLessons()
    other.learn([reading(1, a=2, b=1)], HAM, "filed", 1.0, how=How.MOVE)
    lessons.take_over(copies(other))
    lessons.learn([reading(1, c=1)], SPAM, "moved", 2.0, how=How.MOVE)
    assert lessons.counts(["a", "b", "c"]).occurrences.tolist() == [[0, 0, 0], [2, 1, 0]]
    assert [each.summary for each in lessons.teachers(["a"])["a"]] == ["message 1"]
    lessons.forget([digest(1)], "a test", 3.0, how=How.HAND)
    assert lessons.totals().tolist() == [0] * 7
    assert lessons.verify() == []


def test_taken_over_with_tokens_of_another_tokenizer(lessons: Lessons) -> None:
    """Lessons of a different tokenizer are marked as such, and can be read again."""
    lessons.learn([reading(1, a=1)], HAM, "filed", 1.0, how=How.MOVE)
    (mine,) = copies(lessons)
    theirs = [
        mine._replace(
            lesson=replace(mine.lesson, digest=digest(number)),
            tokenizer=VERSION - 1,
            tokens={"b": 1, "known:answer": 1},
        )
        for number in (2, 3)
    ]
    lessons.take_over(theirs)
    assert lessons.stats().tokenizers == {VERSION, VERSION - 1}
    assert lessons.learned_with_other_tokenizer() == [digest(2), digest(3)]
    last = lessons.last_change()
    again = Batch.of([reading(2, c=1), reading(1, c=1), reading(2, d=1)])
    assert lessons.batcher().read_again([again]) == 1
    assert lessons.last_change() > last
    assert lessons.learned_with_other_tokenizer() == lessons.learned_with_other_tokenizer(digest(2), 1) == [digest(3)]
    assert lessons.counts(["a", "b", "c", "known:answer"]).messages.tolist()[0] == [1, 1, 1, 2]
    assert lessons.verify() == []


def test_too_much_to_be_imported(lessons: Lessons) -> None:
    """An import too large for the sums is refused, and changes nothing."""
    counts = ExportedCounts(["x"], np.array([[1, 0, MOST_TOTAL, 0]]), 1, 0, (1,))
    lessons.learn([reading(1, x=1)], HAM, "a test", 1.0, how=How.HAND)
    before = lessons.totals().tolist()
    with pytest.raises(LedgerError, match="too large to be added up"):
        lessons.add_import(counts, "f", "a test", 2.0)
    assert (lessons.totals().tolist(), lessons.imported(), lessons.last_change()) == (before, (0, 0), 1)


def mail(number: int, sender: str = "ann@b.example", path: str = "9.9.9", answers: tuple[int, ...] = ()) -> Reading:
    """A message of a sender that came over a path."""
    return Reading(digest(number), f"message {number}", {"hello": 1}, Relations(sender, "", path, answers))


def known(lessons: Lessons, message: Reading, without: bytes | None = None) -> set[Acquaintance]:
    """Return what the store knows about a message."""
    return set(seen(lessons, message, without).known)


def seen(lessons: Lessons, message: Reading, without: bytes | None = None) -> Seen:
    """Return the store's record about the sender of a message."""
    return lessons.seen([message.relations], without)[0]


def test_a_sender_over_the_path_of_ham_is_a_correspondent(lessons: Lessons) -> None:
    """A sender is known over the path over which ham of theirs has come, and over no other: From can be forged."""
    assert known(lessons, mail(2)) == set()
    lessons.learn([mail(1)], HAM, "filed", 1.0, how=How.HAND)
    lessons.learn([mail(7, path="")], HAM, "filed", 1.0, how=How.HAND)
    assert known(lessons, mail(2)) == {CORRESPONDENT}
    assert known(lessons, mail(2, path="8.8.8")) == set()
    assert known(lessons, mail(2, path="b.example")) == set()
    assert known(lessons, mail(2, path="")) == set()
    assert known(lessons, mail(2, sender="eve@b.example")) == set()


def test_spam_over_the_path_ends_it(lessons: Lessons) -> None:
    """A mailbox that was broken into sends spam over the known path: called spam once, its sender is not known."""
    lessons.learn([mail(1)], HAM, "filed", 1.0, how=How.HAND)
    lessons.learn([mail(2)], SPAM, "moved to Junk", 1.0, how=How.HAND)
    assert known(lessons, mail(3)) == set()
    lessons.forget([digest(2)], "an error", 2.0, how=How.HAND)
    assert known(lessons, mail(3)) == {CORRESPONDENT}


def test_weak_lessons_make_nobody_known(lessons: Lessons) -> None:
    """A weak lesson makes its sender known only after a person decides so."""
    lessons.learn([mail(1)], HAM, "kept", 1.0, weak=True, how=How.HAND)
    assert known(lessons, mail(2)) == set()
    lessons.learn([mail(1)], HAM, "answered", 2.0, how=How.HAND)
    assert known(lessons, mail(2)) == {CORRESPONDENT}
    lessons.learn([mail(1)], SPAM, "moved to Junk", 3.0, how=How.HAND)
    assert known(lessons, mail(2)) == set()
    lessons.learn([mail(3, path="8.8.8")], HAM, "filed", 4.0, how=How.HAND)
    lessons.learn([mail(4, path="8.8.8")], SPAM, "left in Junk", 5.0, weak=True, how=How.HAND)
    assert known(lessons, mail(2, path="8.8.8")) == {CORRESPONDENT}
    assert lessons.verify() == []


def test_weak_ham_is_kept_mail(lessons: Lessons) -> None:
    """Weak ham over the path is recorded apart from a decision, while it is learned and weak."""
    lessons.learn([mail(1)], HAM, "kept", 1.0, weak=True, how=How.KEPT)
    assert seen(lessons, mail(2)) == Seen(kept=True)
    assert seen(lessons, mail(1), without=digest(1)) == seen(lessons, mail(2, path="8.8.8")) == Seen()
    lessons.learn([mail(3)], HAM, "kept", 1.0, weak=True, how=How.KEPT)
    assert seen(lessons, mail(1), without=digest(1)) == Seen(kept=True)
    lessons.forget([digest(3)], "doubted", 2.0, how=How.KEPT)
    lessons.learn([mail(1)], HAM, "answered", 3.0, how=How.HAND)
    assert seen(lessons, mail(2)) == Seen(ham=True)
    lessons.forget([digest(1)], "an error", 4.0, how=How.HAND)
    lessons.learn([mail(4)], SPAM, "left in Junk", 5.0, weak=True, how=How.SILENCE)
    assert seen(lessons, mail(2)) == Seen()
    assert lessons.verify() == []


def signed(number: int, sender: str, domain: str = "") -> Reading:
    """A message with a valid signature of a domain; "" for that of its sender."""
    results = (f"mx.example.org; dkim=pass header.d={domain or sender.rpartition('@')[2]}",)
    relations = Relations(sender, path="9.9.9", results=results)
    return Reading(digest(number), f"message {number}", {"hello": 1}, relations)


def decided(lessons: Lessons, message: Reading, without: bytes | None = None) -> tuple[int, int]:
    """Return how many decisions call mail of who answers for a message ham and spam."""
    return tuple(lessons.signed_before(message.relations, without))


def test_decisions_about_signed_mail(lessons: Lessons) -> None:
    """Decisions about signed mail are counted for all for whom the same holder answers; weak lessons are not."""
    lessons.learn([signed(1, "a@shop.example"), signed(2, "b@mail.shop.example")], SPAM, "moved", 1.0, how=How.MOVE)
    lessons.learn([signed(3, "c@shop.example")], HAM, "moved", 1.0, how=How.MOVE)
    lessons.learn([signed(4, "d@shop.example")], SPAM, "left in Junk", 1.0, how=How.SILENCE, weak=True)
    lessons.learn([signed(5, "e@shop.example", "evil.example"), mail(6, "f@shop.example")], SPAM, "", 1.0, how=How.MOVE)
    assert decided(lessons, signed(9, "g@letters.shop.example")) == (1, 2)
    assert decided(lessons, signed(9, "g@shop.example", "evil.example")) == (0, 0)
    assert decided(lessons, mail(9, "g@shop.example")) == (0, 0)
    assert decided(lessons, signed(1, "a@shop.example"), without=digest(1)) == (1, 1)
    assert decided(lessons, signed(9, "g@shop.example"), without=digest(4)) == (1, 2)
    lessons.relabel([Relabel(digest(2), SPAM, False, HAM, False, "moved back", How.MOVE)], 2.0)
    lessons.forget([digest(1)], "an error", 2.0, how=How.HAND)
    assert decided(lessons, signed(9, "g@shop.example")) == (2, 0)
    assert lessons.verify() == []


def test_signed_mail_in_another_store(lessons: Lessons) -> None:
    """Another store that takes the lessons over counts these decisions too."""
    other = MemoryLessons()
    other.learn([signed(1, "a@shop.example")], SPAM, "moved", 1.0, how=How.MOVE)
    other.learn([signed(2, "b@gmail.com")._replace(relations=Relations())], SPAM, "moved", 1.0, how=How.MOVE)
    assert lessons.take_over(copies(other)) == 2
    assert decided(lessons, signed(9, "g@shop.example")) == (0, 1)
    assert lessons.take_over(copies(other)) == 0
    assert lessons.verify() == []


def test_whom_one_has_written_to(lessons: Lessons) -> None:
    """A recipient of sent mail is known as such over any path, until that mail is forgotten."""
    ann, bob = (mail(1, sender).relations.as_recipient or 0 for sender in ("ann@b.example", "bob@b.example"))
    lessons.add_sent({digest(9): Addressees((ann,), (5,)), digest(8): Addressees((bob, ann))})
    lessons.add_sent({digest(9): Addressees((ann,), (5,))})
    assert seen(lessons, mail(2, path="")) == Seen(written_to=True)
    assert seen(lessons, mail(2, "eve@b.example")) == Seen()
    assert seen(lessons, mail(2)._replace(relations=Relations("ann@b.example", others=("eve@b.example",)))) == Seen()
    assert [lessons.recipients(most) for most in (1, 2, 20)] == [1, 2, 2]
    lessons.drop_sent([digest(8)])
    assert (seen(lessons, mail(2)).written_to, lessons.recipients(20)) == (True, 1)
    lessons.drop_sent([digest(9)])
    assert (seen(lessons, mail(2)), lessons.recipients(20)) == (Seen(), 0)
    assert lessons.verify() == []


def test_answers_to_sent_mail(lessons: Lessons) -> None:
    """A message is an answer if sent mail may get it, over any path, until that mail is forgotten."""
    lessons.add_sent({digest(9): Addressees(answers=(5, 6))})
    lessons.add_sent({digest(9): Addressees(answers=(6, 7)), digest(8): Addressees()})
    for answer in (5, 6, 7):
        assert known(lessons, mail(2, path="", answers=(1, answer))) == {ANSWER}
    assert known(lessons, mail(2, answers=(1, 2))) == set()
    assert lessons.sent() == [digest(8), digest(9)]
    assert lessons.sent(digest(8)) == [digest(9)]
    assert lessons.sent(most=1) == [digest(8)]
    lessons.add_sent({digest(8): Addressees(answers=(6,))})
    lessons.drop_sent([digest(9), digest(7)])
    assert known(lessons, mail(2, answers=(5, 7))) == set()
    assert known(lessons, mail(2, answers=(6,))) == {ANSWER}
    assert lessons.sent() == [digest(8)]
    assert lessons.verify() == []


def test_learned_with_what_was_known_then(lessons: Lessons) -> None:
    """A lesson has the history tokens of its moment, and loses them with the forgetting."""
    lessons.add_sent({digest(9): Addressees(answers=(5,))})
    lessons.learn([mail(1), mail(2), mail(3, path="8.8.8", answers=(5,))], HAM, "filed", 1.0, how=How.HAND)
    tokens = ["known:correspondent", "known:answer", "hello"]
    assert lessons.counts(tokens).messages.tolist() == [[1, 1, 3], [0, 0, 0]]
    lessons.forget([digest(2)], "an error", 2.0, how=How.HAND)
    assert lessons.counts(tokens).messages.tolist() == [[0, 1, 2], [0, 0, 0]]
    lessons.learn([mail(2)], HAM, "filed", 3.0, how=How.HAND)
    assert lessons.counts(tokens).messages.tolist() == [[1, 1, 3], [0, 0, 0]]
    lessons.learn([mail(1), mail(4)], SPAM, "moved to Junk", 4.0, how=How.HAND)
    assert lessons.counts(tokens).messages.tolist() == [[1, 1, 2], [0, 0, 2]], "the first of them ends it"
    assert lessons.verify() == []


def test_known_without_itself(lessons: Lessons) -> None:
    """A message that is left out does not make its own sender known, nor end it."""
    lessons.learn([mail(1)], HAM, "filed", 1.0, how=How.HAND)
    assert known(lessons, mail(1)) == {CORRESPONDENT}
    assert known(lessons, mail(1), without=digest(1)) == set()
    lessons.learn([mail(2)], SPAM, "moved to Junk", 1.0, how=How.HAND)
    assert known(lessons, mail(2), without=digest(2)) == {CORRESPONDENT}
    assert known(lessons, mail(2), without=digest(9)) == set()
    lessons.learn([mail(3)], HAM, "filed", 1.0, how=How.HAND)
    lessons.forget([digest(2)], "an error", 2.0, how=How.HAND)
    assert known(lessons, mail(1), without=digest(1)) == {CORRESPONDENT}


class Step(NamedTuple):
    """A change: messages by their numbers, which are learned (None: forgotten), or sent."""

    numbers: list[int]
    label: Label | None
    weak: bool
    is_sent: bool


def related(number: int) -> Reading:
    """One of a few messages that have senders, paths and signatures in common."""
    one = mail(number, f"{'ab'[number % 2]}@b.example", ["9.9.9", "b.example", ""][number % 3], (number,))
    results = (f"mx.example.org; dkim={['pass', 'fail'][number // 2 % 2]} header.d=b.example",)
    return one._replace(relations=one.relations._replace(results=results))


def sent_by(number: int) -> Addressees:
    """One of a few messages that the person has sent: to the sender of one of these, and its answer."""
    return Addressees((related(number).relations.as_recipient or 0,), (number + 1,))


def take(lessons: Lessons, step: Step, at: float) -> None:
    """Make a change."""
    if step.is_sent and step.label is None:
        lessons.drop_sent(map(digest, step.numbers))
    elif step.is_sent:
        lessons.add_sent({digest(number): sent_by(number) for number in step.numbers})
    elif step.label is None:
        lessons.forget(map(digest, step.numbers), "a test", at, how=How.HAND)
    else:
        lessons.learn(map(related, step.numbers), step.label, "a test", at, weak=step.weak, how=How.HAND)


NUMBERS = st.lists(st.integers(1, 9), min_size=1, max_size=4)
STEPS = st.builds(Step, NUMBERS, st.sampled_from([*Label, None]), st.booleans(), st.booleans())


@settings(max_examples=daily(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=12))
def test_whom_one_knows_is_exact_to_forget(tmp_path_factory: pytest.TempPathFactory, steps: list[Step]) -> None:
    """After any lessons, labels, forgetting and sent mail, only the remaining ones make a sender known.

    Both stores agree in it, and in the tokens that came of it; a relabelling back and forth leaves no trace.
    """
    path = tmp_path_factory.mktemp("ledger") / "ledger"
    with Ledger(str(path)) as ledger:
        stores: list[Lessons] = [ledger.lessons, MemoryLessons()]
        for at, step in enumerate(steps):
            for store in stores:
                take(store, step, float(at))
        relations = [related(number).relations for number in range(1, 10)]
        by_ledger, by_memory = (store.seen(relations) for store in stores)
        tokens = [f"known:{each}" for each in Acquaintance]
        assert by_ledger == by_memory
        for number in range(1, 10):
            left_out = [store.seen(relations, digest(number)) for store in stores]
            assert left_out[0] == left_out[1]
        assert stores[0].counts(tokens).messages.tolist() == stores[1].counts(tokens).messages.tolist()
        assert [store.verify() for store in stores] == [[], []]

        again = MemoryLessons()
        for number in range(1, 10):
            lesson = stores[0].find(digest(number))
            if lesson is not None and lesson.label is not None:
                again.learn([related(number)], lesson.label, "a test", 1.0, weak=lesson.weak, how=How.HAND)
        again.add_sent({sent: sent_by(sent[0]) for sent in stores[0].sent()})
        assert again.seen(relations) == by_ledger

        for number in range(1, 10):
            lesson = stores[0].find(digest(number))
            if lesson is not None:
                now, other = (lesson.label, lesson.weak), (SPAM, False) if lesson.label is not SPAM else (HAM, False)
                there = Relabel(digest(number), *now, *other, "there", How.HAND)
                stores[0].relabel([there, Relabel(digest(number), *other, *now, "back", How.HAND)], 99.0)
        assert stores[0].seen(relations) == by_ledger
        assert stores[0].verify() == []


MESSAGES = st.builds(
    lambda number, tokens: reading(number, **tokens),
    st.integers(0, 6),
    st.dictionaries(st.sampled_from(TOKENS), st.integers(1, 70_000), min_size=1),
)
EVENTS = st.lists(
    st.tuples(st.lists(MESSAGES, min_size=1, max_size=3), st.sampled_from([HAM, SPAM, None]), st.booleans()),
    max_size=12,
)


@given(EVENTS)
@settings(max_examples=daily(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_count_alike(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[list[Reading], Label | None, bool]]
) -> None:
    """After any lessons both stores hold the same counts and lessons, also without any one message."""
    one = MemoryLessons()
    with Ledger(str(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")) as ledger:
        other = ledger.lessons
        for readings, taught, weak in events:
            if taught is None:
                digests = [each.digest for each in readings]
                assert one.forget(digests, "a test", 1.0, how=How.HAND) == other.forget(
                    digests, "a test", 1.0, how=How.HAND
                )
            else:
                done = [store.learn(readings, taught, "a test", 1.0, weak=weak, how=How.HAND) for store in (one, other)]
                assert done[0] == done[1]
        assert one.counts(TOKENS) == other.counts(TOKENS)
        assert np.array_equal(one.totals(), other.totals())
        assert one.verify() == other.verify() == []
        assert "".join(one.export()) == "".join(other.export())
        for number in range(7):
            without = other.counts(TOKENS, digest(number))
            assert one.counts(TOKENS, digest(number)) == without
            assert label(one, number) == label(other, number)
            for store in (one, other):
                store.forget([digest(number)], "a test", 2.0, how=How.HAND)
                assert store.counts(TOKENS) == without


def apply(lessons: Lessons, events: list[tuple[list[Reading], Label | None, bool]]) -> None:
    """Learn and forget."""
    for at, (readings, taught, weak) in enumerate(events):
        if taught is None:
            lessons.forget([each.digest for each in readings], "a test", float(at), how=How.HAND)
        else:
            lessons.learn(readings, taught, "a test", float(at), weak=weak, how=How.HAND)


@given(EVENTS, EVENTS)
@settings(max_examples=daily(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_taken_over_by_each_store_from_the_other(
    tmp_path_factory: pytest.TempPathFactory,
    here: list[tuple[list[Reading], Label | None, bool]],
    there: list[tuple[list[Reading], Label | None, bool]],
) -> None:
    """Each of two stores takes over all lessons of the other exactly."""
    with Ledger(str(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")) as ledger:
        memory = MemoryLessons()
        apply(ledger.lessons, here)
        apply(memory, there)
        for source, goal in ((memory, ledger.lessons), (ledger.lessons, memory)):
            theirs = copies(source)
            goal.take_over(theirs)
            digests = [each.lesson.digest for each in theirs]
            assert without_numbers(goal.copies_of(digests, digests)) == without_numbers(theirs)
            assert goal.verify() == []
            assert goal.take_over(theirs) == 0
        assert exported(memory).digest == exported(ledger.lessons).digest
        assert without_numbers(copies(memory)) == without_numbers(copies(ledger.lessons))
