"""The text of a message, as a person reads it."""

import pytest

from spamnb.mail.excerpt import excerpt

_PAGE = b"Content-Type: text/html\n\n"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (_PAGE + b"<p>one,\n\t\t\t<b>two</b>\t\t  three</p>", "one,\ntwo three"),
        (_PAGE + b"<p>\t\t\tone\n\t\t\t</p>\t<p>two</p>", "one\n\ntwo"),
        (b"Subject: x\n\none\ttwo\n\t\t\n\n\nthree", "one     two\n\nthree"),
    ],
)
def test_blanks(raw: bytes, text: str) -> None:
    """The indent of a page's source is not shown, and a tab of a plain text is blanks; no tab is left."""
    assert excerpt(raw, 1000).text == text


def test_many_tabs() -> None:
    """A text of tabs is no longer than is asked for."""
    assert len(excerpt(b"Subject: x\n\na" + b"\tb" * 100_000, 100).text) == 100
