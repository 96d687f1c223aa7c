"""Find the Authentication-Results (RFC 8601) that the person's own system may have written, by their place.

A server writes its fields above all that came with the message: some above the Received field of the machine outside,
some right below it. The first Received field about another machine after that is a stranger's, or begins what a
stranger wrote. So the fields of one place are read, and none on both sides of such a Received field.

Large providers hand a message from machine to machine before it is at the place of these fields. The Received fields
about these moves look as if other machines had delivered it. Such a move counts as inside if the next field down names
the same machine as its writer, and if that machine is of a site that took the message further up. In phishing_pot 7,871
messages have the field. It is found in 7,807, and in 103 without this rule (`benchmarks/results.py`, 2026-11-29).

A stranger can claim such names, and gains nothing: the field right below the machine that delivered the message would
be read anyway. Below a move that a stranger may have made up, the fields are taken for what is right below that
machine. No move inside decides over which path a message came.
"""

from collections.abc import Sequence
from typing import NamedTuple

from spamnb.mail.path import (
    FIELD_CHARS,
    MOST_RECEIVED,
    border,
    is_private,
    is_without_address,
    other_machine,
    site_of,
    taker_in,
)

_MOST = 10  # fields
_ALSO = {"outlook.com": "exchangelabs.com"}  # QUIRK: sites under which Microsoft's machines pass mail to one another
_PROXY = "(lmtpproxy)"  # QUIRK: what Fastmail's machines write in the place of `with LMTP`


class OwnResults(NamedTuple):
    """The values of Authentication-Results that the own system may have written, the topmost first.

    are_below: they are below a Received field that may be of a machine outside, so a stranger may have written the next
    one.
    """

    values: tuple[str, ...] = ()
    are_below: bool = False


def own_results(fields: Sequence[tuple[str, str]]) -> OwnResults:
    """Return the results that the own system may have written. fields: all of the message, the topmost first."""
    if "authentication-results" not in {name for name, _ in fields}:
        return OwnResults()
    received = [value for name, value in fields if name == "received"]
    if border(received) is None:
        return OwnResults()
    machines, place, are_below = own_machines(received), -1, False
    results: list[str] = []
    for name, value in fields:
        if name == "authentication-results":
            are_below = are_below or place >= machines.doubtful
            results.append(value)
        elif name == "received":
            place += 1
            if place > machines.outermost or (results and other_machine(value) is not None):
                break
        if len(results) == _MOST:
            break
    return OwnResults(tuple(results), are_below)


class OwnMachines(NamedTuple):
    """The machines of the own system, by the Received fields.

    sites: of those that took the message, by their own words. outermost: the place of the field of the machine that
    took it from outside. doubtful: the place of the first field that may be of that machine.
    """

    sites: frozenset[str]
    outermost: int
    doubtful: int


def own_machines(received: Sequence[str]) -> OwnMachines:
    """Return what the own system says of its machines. received: the values of Received, the topmost first."""
    sites, doubtful = frozenset[str](), len(received)
    for place, value in enumerate(received[:MOST_RECEIVED]):
        site, said = site_of(taker_in(value)), other_machine(value)
        sites |= {site, _ALSO.get(site, site)} - {""}
        if said is None or _is_by_proxy(value):
            continue
        is_own = _is_own_move(said, taker_in(value), received[place + 1 : place + 2], sites)
        if not (is_own and is_private(said)):
            doubtful = min(doubtful, place)
        if not is_own:
            return OwnMachines(sites, place, doubtful)
    return OwnMachines(sites, len(received), doubtful)


def _is_by_proxy(field: str) -> bool:
    """Tell whether a Received field is Fastmail's about the last delivery inside."""
    by = field[:FIELD_CHARS].lower().partition(" by ")[2]
    return _PROXY in by.partition(" for ")[0] and " by " not in by  # the name of a stranger's machine may hold both


def _is_own_move(said: str, taker: str, following: Sequence[str], sites: frozenset[str]) -> bool:
    """Tell whether a Received field is about a move between two machines of the own system, by their names.

    said: its text about the other machine. following: the next Received field down. sites: of the machines that took
    the message so far.
    """
    giver = f"{said} ".split(maxsplit=2)[1:2]
    if not giver or not following or _label(giver[0]) != _label(taker_in(following[0])):
        return False
    return site_of(giver[0]) in sites or ("." not in taker and is_without_address(said))


def _label(host: str) -> str:
    return host.partition(".")[0]
