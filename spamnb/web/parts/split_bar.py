"""A small bar in a line of a table, split by verdicts."""

from collections.abc import Mapping

from markupsafe import Markup

_LENGTH = 100.0


def split_bar(numbers: Mapping[str, int]) -> Markup:
    """Draw how many messages have each verdict, by length and colour. The numbers are beside it, so it has no text.

    >>> split_bar({"ham": 3, "unsure": 0, "spam": 1}).count("<rect")
    2
    """
    whole, at, parts = sum(numbers.values()), 0.0, list[Markup]()
    for word, number in numbers.items():
        if number:
            length = _LENGTH * number / whole
            parts.append(Markup('<rect class="bar {}" x="{:.1f}" width="{:.1f}" height="8"/>').format(word, at, length))
            at += length
    return Markup(
        '<svg class="split-bar" aria-hidden="true" viewBox="0 0 100 8" preserveAspectRatio="none">{}</svg>'
    ).format(Markup("").join(parts))
