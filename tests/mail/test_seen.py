"""What a person sees is what is read: pages of our own, held to Chromium."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from tests.chromium import Eye, launched, missing
from tests.mail.seen.families import FAMILIES, Family
from tests.mail.seen.table import ROWS, Row
from tests.mail.seen.words import left_out, words_in
from tests.table import over_rows

pytestmark = pytest.mark.thorough
Shown = Callable[[Sequence[str]], list[set[str]]]


@pytest.fixture(scope="module")
def shown() -> Iterator[Shown]:
    """Which of the words Chromium shows of each page."""
    if reason := missing():
        pytest.skip(reason)
    with launched() as browser:
        eye = Eye(browser)
        yield lambda pages: [words_in(page.shown) for page in eye.look(pages)]
        eye.close()


def _each(cases: Iterable[Row | Family]) -> list[Any]:
    """Return a parameter for each case; one with a gap is expected to fail."""
    return [
        pytest.param(
            case,
            id=case.what,
            marks=[pytest.mark.xfail(reason=case.gap, strict=True)] if case.gap else [],
        )
        for case in cases
    ]


@pytest.mark.parametrize("row", _each(ROWS))
def test_no_word_is_left_out_that_is_shown(row: Row) -> None:
    """A word that Chromium shows is in one of the two readings."""
    assert left_out(row.page) & {*row.shown.split()} == set()


@over_rows("row", [row for row in ROWS if row.left_out])
def test_what_surely_nobody_sees_is_left_out(row: Row) -> None:
    """A word that is hidden plainly is in neither reading."""
    assert left_out(row.page) >= {*row.left_out.split()}


@pytest.mark.real_system
def test_chromium_shows_what_the_table_says(shown: Shown) -> None:
    """The table says what Chromium shows."""
    found = shown([row.page for row in ROWS])
    assert {row.what: words for row, words in zip(ROWS, found, strict=True)} == {
        row.what: {*row.shown.split()} for row in ROWS
    }


@pytest.mark.real_system
@pytest.mark.parametrize("family", _each(FAMILIES))
def test_no_word_of_a_family_is_left_out_that_is_shown(family: Family, shown: Shown) -> None:
    """Whatever piece a page has at its place, a word that Chromium shows is in one of the two readings."""
    pages = [*family.pages()]
    faults = [page for page, words in zip(pages, shown(pages), strict=True) if left_out(page) & words]
    assert faults == []
