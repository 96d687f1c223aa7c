"""What a part of the service that one can do without adds to the checks."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from spamnb.checkup.finding import Finding
from spamnb.config import Config
from spamnb.host.host import Host


class PartChecks(NamedTuple):
    """The checks of a part, of one person's mail and of a mail host.

    Both are given how a command begins here, such as `spamnb --config FILE`, and whether the service runs.
    """

    of_person: Callable[[Config, str, bool], Iterator[Finding]]
    of_host: Callable[[Host, str, bool], Iterator[Finding]]
