"""Values that are computed beside the pages, one at a time; until then the old value is shown."""

import pytest

from spamnb.web.background import NoPlaceError, Tell
from spamnb.web.background_values import AfterAnswer, BackgroundValue, Recent, Snapshot

Key = tuple[str, int]


def test_the_former_value_is_shown_meanwhile() -> None:
    """A value stays until there is a new one of the same file; the work begins after the answer."""
    kept, after = BackgroundValue[Key, str](lambda key, _: f"{key[0]} {key[1]}"), AfterAnswer()
    assert kept.ensure(("a", 1), after) == Snapshot(None, is_current=False)
    after.pop()()
    assert kept.ensure(("a", 1), after) == Snapshot("a 1", is_current=True)
    assert not after
    assert kept.ensure(("a", 2), after) == Snapshot("a 1", is_current=False)
    assert kept.look(("b", 1)) == Snapshot(None, is_current=False), "another file"
    after.pop()()
    assert kept.look(("a", 2)) == Snapshot("a 2", is_current=True)
    kept.expire()
    assert kept.look(("a", 2)) == Snapshot("a 2", is_current=False)


def test_one_at_a_time() -> None:
    """While a value is worked out, nobody begins that again; a fault does not stop it for ever."""
    begun: list[Key] = []

    def work(key: Key, tell: Tell) -> str:
        begun.append(key)
        tell(3, 5)
        kept.find(key)
        assert kept.look(key) == Snapshot(None, False, len(begun) > 1, 3, 5)
        raise RuntimeError("a fault")

    kept = BackgroundValue[Key, str](work)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            kept.find(("a", 1))
    assert begun == [("a", 1)] * 2
    assert kept.look(("a", 1)) == Snapshot(None, is_current=False, has_failed=True)


def test_what_is_said_to_be_old_while_it_is_found() -> None:
    """If all values expire during the work, its result is shown, but is not current."""

    def work(key: Key, _: Tell) -> str:
        kept.expire()
        return "old"

    kept = BackgroundValue[Key, str](work)
    kept.find(("a", 1))
    assert kept.look(("a", 1)) == Snapshot("old", is_current=False)


def test_a_value_of_the_moment_at_which_it_is_found() -> None:
    """A value that changes with time alone is current by the time at which its work has ended."""
    kept = BackgroundValue[Key, str](lambda key, _: "checked")
    kept.find(("a", 1), lambda: ("a", 3))
    assert [kept.look(("a", minute)).is_current for minute in (1, 3)] == [False, True]


def test_what_has_failed_is_not_begun_by_each_page() -> None:
    """With `ensure_once`, failed work is tried again with the next key, not before."""

    def work(key: Key, _: Tell) -> str:
        raise RuntimeError("a fault")

    kept, after = BackgroundValue[Key, str](work), AfterAnswer()
    kept.ensure_once(("a", 1), after)
    with pytest.raises(RuntimeError):
        after.pop()()
    kept.ensure_once(("a", 1), after)
    assert not after
    kept.ensure_once(("a", 2), after)
    assert after


def test_begun_by_two_pages() -> None:
    """Work that two pages have begun is done once."""
    begun: list[Key] = []
    kept, after = BackgroundValue[Key, None](lambda key, _: begun.append(key)), AfterAnswer()
    for _ in range(2):
        kept.ensure(("a", 1), after)
    for work in after:
        work()
    assert begun == [("a", 1)]


def test_where_there_is_no_place() -> None:
    """Work without a place is not a fault, and a later page begins it again, whatever it asked before."""
    places = [0, 0, 1]

    def work(key: Key, _: Tell) -> str:
        if not places.pop(0):
            raise NoPlaceError
        return "found"

    kept, after = BackgroundValue[Key, str](work), AfterAnswer()
    for _ in range(2):
        kept.ensure_once(("a", 1), after)
        after.pop()()
        assert kept.look(("a", 1)) == Snapshot(None, is_current=False)
    kept.ensure_once(("a", 1), after)
    after.pop()()
    assert kept.look(("a", 1)) == Snapshot("found", is_current=True)


def test_of_the_last() -> None:
    """Only the most recently used of many values are kept; the others are made again."""
    made: list[str] = []
    kept = Recent(lambda name: made.append(name) or object(), 2)
    one = kept.of("a")
    assert kept.of("b") is not one is kept.of("a")
    kept.of("c")
    assert kept.of("a") is one
    kept.of("b")
    assert made == ["a", "b", "c", "b"]
