"""Find the Authentication-Results (RFC 8601) that the person's own server may have written, by their place."""

from collections.abc import Sequence

from spamnb.mail.path import border

_MOST = 10  # fields


def own_results(fields: Sequence[tuple[str, str]], received: Sequence[str]) -> tuple[str, ...]:
    """Return the values of Authentication-Results above the second Received field about another machine.

    fields: all fields of the message, the topmost first. received: the values of Received among them.
    """
    found = border(received)
    if found is None:
        return ()
    results, above = list[str](), 0
    for name, value in fields:
        above += name == "received"
        if above > found[0] + 1 or len(results) == _MOST:
            break
        if name == "authentication-results":
            results.append(value)
    return tuple(results)
