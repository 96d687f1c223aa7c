"""The queue of files that dwell: which one is due first, and when."""

from hypothesis import given
from hypothesis import strategies as st

from spamnb.maildir.messages import Entry
from spamnb.service.mailbox.dwelling import Dwelling, DwellingFiles, Key

FILE = Dwelling(Entry("new", "1.host"), 0.0)
TIMES = st.integers(0, 20).map(float)


def queue(**dues: float) -> DwellingFiles:
    """Files of one folder, by base name, each due at its time."""
    files = DwellingFiles()
    for base, due in dues.items():
        files.put(("INBOX", base), FILE, due)
    return files


def order(files: DwellingFiles) -> list[tuple[float | None, str]]:
    """All files in the order in which they are due, each with its time; they are dropped."""
    found = []
    while (key := files.first(float("inf"))) is not None:
        found.append((files.due, key[1]))
        files.drop_first()
    return found


def test_nothing_is_due_before_its_time() -> None:
    """A file is given when its time has come, not before."""
    files = queue(a=2.0, b=1.0)
    assert (files.due, files.first(0.9), files.first(1.0)) == (1.0, None, ("INBOX", "b"))


def test_empty() -> None:
    """Without a file nothing is due, and a clock that was set back changes nothing."""
    files = queue()
    files.none_later_than(1.0)
    assert (len(files), files.due, files.first(float("inf"))) == (0, None, None)


def test_clock_set_back() -> None:
    """If the first file is due in a day, since the clock was set back, none waits for so long."""
    files = queue(a=9.0, b=8.0, c=9.5)
    files.none_later_than(8.0)
    assert files.due == 8.0, "it is not later than that"
    files.none_later_than(3.0)
    assert order(files) == [(3.0, "a"), (3.0, "b"), (3.0, "c")]


@given(st.dictionaries(st.text("abc", min_size=1), TIMES), st.lists(st.one_of(st.none(), TIMES)))
def test_like_a_sorted_list(dues: dict[str, float], steps: list[float | None]) -> None:
    """Files come in the order of their times, whichever are put off or dropped in between; a dropped one is unknown."""
    files, sorted_list = queue(**dues), sorted((due, base) for base, due in dues.items())
    for step in steps[: len(dues)]:
        due, base = sorted_list.pop(0)
        key: Key = ("INBOX", base)
        assert (files.due, files.first(due), key in files, files[key]) == (due, key, True, FILE)
        if step is None:
            files.drop_first()
            assert key not in files
        else:
            files.put_off_first(step)
            sorted_list = sorted([*sorted_list, (step, base)])
        assert len(files) == len(sorted_list)
    assert order(files) == sorted_list
