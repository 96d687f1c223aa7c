"""Several messages that are answered in one form, as Review and Audit have it: a field for each."""

from collections.abc import Iterator

from spamnb.web.http import Values, whole_number

_SAYS = "say."  # and the message's number: the name of a field, which `answers` in macros.html writes


def said_in(form: Values) -> Iterator[tuple[int, str]]:
    """The number of each message of the form, and what is answered of it. Raises HttpError."""
    return ((whole_number(name.removeprefix(_SAYS)), value) for name, value in form.pairs() if name.startswith(_SAYS))
