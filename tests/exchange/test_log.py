"""The contract of the port `LessonLog`, for both logs: the one in memory, and PostgreSQL's."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spamnb.base.errors import ExchangeError
from spamnb.base.label import How, Label
from spamnb.exchange.port import LessonLog, LogAccount, LogRow, wins
from spamnb.ledger.lessons.port import Lesson, LessonCopy
from tests.profiles import daily

HAM, SPAM = Label
ALL = 1000


def lesson(
    number: int,
    label: Label | None = HAM,
    at: float = 1.0,
    *,
    weak: bool = False,
    tokens: str = "a",
    how: How = How.MOVE,
) -> LessonCopy:
    """A lesson on a message."""
    taught = Lesson(77, bytes([number]) * 16, f"message {number}", label, weak, at, "filed", how, 5)
    return LessonCopy(taught, 9, {tokens: 2, f"t{number}": 1}, bytes([number]) * 8)


def digest(number: int) -> bytes:
    """The identity of a message."""
    return bytes([number]) * 16


def received(log: LessonLog, since: int = 0, account: str = "anna") -> list[tuple[int, str, Label | None]]:
    """Return the places, hosts and labels of the rows."""
    return [(row.number, row.host, row.copy.lesson.label) for row in log.receive(account, since, ALL)]


def test_what_is_sent_is_received(log: LessonLog) -> None:
    """A received row has all of the lesson that concerns other hosts, and its place as the lesson's number."""
    sent = [lesson(2, SPAM, 3.25, weak=True), lesson(1, None, -5.0, how=How.TELL), lesson(3)]
    log.send("anna", 0, "mx1", sent)
    wanted = [
        LogRow(number, "mx1", copy._replace(lesson=replace(copy.lesson, number=number, takes_back=None)))
        for number, copy in enumerate(sent, 1)
    ]
    assert log.receive("anna", 0, ALL) == wanted
    assert log.receive("anna", 1, 1) == wanted[1:2]
    assert log.receive("anna", 3, ALL) == log.receive("bert", 0, ALL) == []


def test_accounts_are_apart(log: LessonLog) -> None:
    """Each account has its own places; an account to which nothing was sent does not exist."""
    log.send("anna", 0, "mx1", [lesson(1), lesson(2)])
    log.send("bert@b.example", 0, "mx1", [lesson(1, SPAM)])
    log.send("nobody", 0, "mx1", [])
    assert log.accounts(["bert@b.example", "carl", "anna", "nobody"]) == {
        "anna": LogAccount(2),
        "bert@b.example": LogAccount(1),
    }
    assert received(log, account="bert@b.example") == [(1, "mx1", SPAM)]
    assert log.has("bert@b.example", [digest(1), digest(2)]) == {digest(1)}
    assert log.has("carl", [digest(1)]) == log.has("anna", []) == set()
    assert log.accounts([]) == {}


def test_a_row_that_is_written_moves_to_the_end(log: LessonLog) -> None:
    """A message has one row; a changed lesson moves it to the next place, and keeps tokens, relations and summary."""
    first = lesson(1, tokens="first")
    log.send("anna", 0, "mx1", [first, lesson(2)])
    other = lesson(1, SPAM, 2.0, tokens="other", how=How.HAND)
    log.send("anna", 2, "mx2", [other._replace(relations=b"", lesson=replace(other.lesson, summary="other"))])
    assert received(log) == [(2, "mx1", HAM), (3, "mx2", SPAM)]
    (row,) = log.receive("anna", 2, ALL)
    assert row.copy._replace(lesson=first.lesson) == first
    assert (row.copy.lesson.how, row.copy.lesson.at, row.copy.lesson.summary) == (How.HAND, 2.0, "message 1")
    assert log.accounts(["anna"]) == {"anna": LogAccount(3)}


@pytest.mark.parametrize(
    ("new", "knew", "is_written"),
    [
        (lesson(1, SPAM, 0.5), True, True),  # who knew the row decides
        (lesson(1, SPAM, 0.5, weak=True), True, True),
        (lesson(1, SPAM, 2.0), False, True),  # the later one
        (lesson(1, SPAM, 0.5), False, False),
        (lesson(1, SPAM, 1.0), False, False),  # what is there
        (lesson(1, None, 2.0), False, True),
        (lesson(1, SPAM, 2.0, weak=True), False, False),  # a decision beats a weak label
    ],
)
def test_who_wins_over_a_decision(log: LessonLog, new: LessonCopy, knew: bool, is_written: bool) -> None:
    """A lesson replaces a decision if its host knew the row, or if it is a decision and later."""
    log.send("anna", 0, "mx1", [lesson(1)])
    log.send("anna", int(knew), "mx2", [new])
    assert received(log) == ([(2, "mx2", new.lesson.label)] if is_written else [(1, "mx1", HAM)])
    assert log.accounts(["anna"]) == {"anna": LogAccount(1 + is_written)}


def test_who_wins_over_a_weak_label(log: LessonLog) -> None:
    """Any decision replaces a weak label, however old it is; a weak label does so only if it is later."""
    log.send("anna", 0, "mx1", [lesson(1, weak=True), lesson(2, weak=True), lesson(3, weak=True)])
    log.send("anna", 0, "mx2", [lesson(1, SPAM, 0.5), lesson(2, SPAM, 0.5, weak=True), lesson(3, SPAM, 2.0, weak=True)])
    assert sorted(row.copy.lesson.digest for row in log.receive("anna", 3, ALL)) == [digest(1), digest(3)]


LESSONS = st.builds(
    lambda number, label, at, weak: lesson(number, label, at, weak=weak),
    st.integers(1, 4),
    st.sampled_from([HAM, SPAM, None]),
    st.integers(0, 3).map(float),
    st.booleans(),
)
TELLS = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.sampled_from(["mx1", "mx2"]),
        st.lists(LESSONS, max_size=4, unique_by=lambda k: k.lesson.digest),
    ),
    max_size=8,
)


@given(TELLS)
@settings(max_examples=daily(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_those_of_a_plain_loop(log: LessonLog, sendings: list[tuple[int, str, list[LessonCopy]]]) -> None:
    """Whatever hosts send, and whatever they knew, the rows are those of a plain loop over all lessons."""
    log.forget("anna", 1.0)
    start = log.accounts(["anna"])["anna"].last
    rows: dict[bytes, LogRow] = {}
    last = start
    for knew, host, lessons in sendings:
        written = set()
        for copy in lessons:
            row = rows.get(copy.lesson.digest)
            if row is None or wins(copy, row, start + knew):
                written.add(copy.lesson.digest)
                rows[copy.lesson.digest] = LogRow(0, host, copy)
        log.send("anna", start + knew, host, lessons)
        now = log.receive("anna", 0, ALL)
        assert {row.copy.lesson.digest for row in now if row.number > last} == written
        for row in now:
            mine = rows[row.copy.lesson.digest]
            assert (row.host, row.copy.lesson.is_as(mine.copy.lesson)) == (mine.host, True)
            rows[row.copy.lesson.digest] = row
        assert len(now) == len(rows)
        last = max([last, *(row.number for row in now)])
        assert log.accounts(["anna"])["anna"].last == last


def test_lessons_without_tokens(log: LessonLog) -> None:
    """A lesson on a message with a row needs no tokens; without a row it is refused, and nothing is written."""
    log.send("anna", 0, "mx1", [lesson(1)])
    bare = lesson(1, SPAM, 2.0)._replace(tokens=None)
    log.send("anna", 0, "mx2", [bare, lesson(2)])
    assert [row.copy.tokens for row in log.receive("anna", 0, ALL)] == [{"a": 2, "t1": 1}, {"a": 2, "t2": 1}]
    with pytest.raises(ExchangeError, match="no longer has"):
        log.send("anna", 9, "mx2", [lesson(2, SPAM, 5.0), lesson(3)._replace(tokens=None)])
    assert received(log) == [(2, "mx2", SPAM), (3, "mx2", HAM)]
    log.send("anna", 0, "mx2", [lesson(4)])
    assert log.accounts(["anna"])["anna"].last >= 4


def test_any_text_passes(log: LessonLog) -> None:
    """Tokens may be any text that a ledger holds, even NUL; in sentences unprintable characters may be escaped."""
    tokens = {"a\0b": 1, "é": 65_535, "\U0001f600": 2, "'\"\\": 3, "": 1}
    odd = lesson(1)._replace(tokens=tokens)
    texts = replace(odd.lesson, why="moved\0 to \udc80", summary="a\0\ud83d'")
    log.send("anna", 0, "mx1", [odd._replace(lesson=texts)])
    (row,) = log.receive("anna", 0, ALL)
    assert row.copy.tokens == tokens
    assert row.copy.lesson.why.startswith("moved")


def test_a_message_without_tokens_and_relations(log: LessonLog) -> None:
    """An empty message is a lesson too: its tokens are empty, not missing."""
    log.send("anna", 0, "mx1", [lesson(1)._replace(tokens={}, relations=b"")])
    (row,) = log.receive("anna", 0, ALL)
    assert (row.copy.tokens, row.copy.relations) == ({}, b"")


def test_forgotten(log: LessonLog) -> None:
    """After a user is forgotten no row is left, and no place is used twice; the user may have had no rows."""
    log.send("anna", 0, "mx1", [lesson(1), lesson(2)])
    log.send("bert", 0, "mx1", [lesson(1)])
    log.forget("anna", 7.5)
    log.forget("carl", 8.0)
    assert log.receive("anna", 0, ALL) == []
    assert log.has("anna", [digest(1)]) == set()
    assert log.accounts(["anna", "bert", "carl"]) == {
        "anna": LogAccount(2, 7.5),
        "bert": LogAccount(1),
        "carl": LogAccount(0, 8.0),
    }
    log.send("anna", 2, "mx1", [lesson(1)])
    assert received(log) == [(3, "mx1", HAM)]
    log.forget("anna", 9.0)
    assert log.accounts(["anna"]) == {"anna": LogAccount(3, 9.0)}


def test_many_lessons_together(log: LessonLog) -> None:
    """One call sends some hundreds of lessons; they can be received some at a time."""
    sent = [
        lesson(1)._replace(lesson=replace(lesson(1).lesson, digest=bytes([9, *divmod(n, 256)]))) for n in range(600)
    ]
    log.send("anna", 0, "mx1", sent)
    first = log.receive("anna", 0, 50)
    assert [row.number for row in first] == list(range(1, 51))
    rest = log.receive("anna", 50, ALL)
    assert [row.copy.lesson.digest for row in first + rest] == [copy.lesson.digest for copy in sent]


def test_it_is_known_which_log_it_is(log: LessonLog) -> None:
    """A log always returns the same identity."""
    assert log.identity() == log.identity() != ""
