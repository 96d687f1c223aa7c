"""Answers about several messages in one form, as on Review and Audit: a field for each message."""

from collections.abc import Iterator

from spamnb.web.http import Values, whole_number

_SAYS = "say."  # `answers` in macros.html names each field by this and the message's number


def answers_in(form: Values) -> Iterator[tuple[int, str]]:
    """Yield the number of each message of the form, and the answer about it. Raises HttpError."""
    return ((whole_number(name.removeprefix(_SAYS)), value) for name, value in form.pairs() if name.startswith(_SAYS))
