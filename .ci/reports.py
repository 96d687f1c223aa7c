"""Print what pytest's reports (`--junitxml`) say: the slowest tests, which were skipped and why, and which failed.

`reports.py README.xml REAL.xml [AGAIN.xml]`: the third report is of the second try, of tests that failed in the second.
"""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

_SLOWEST = 10


def cases(file: str) -> dict[str, ElementTree.Element]:
    """Return the tests of a report by name; none if pytest did not come to its end."""
    if not Path(file).exists():
        return {}
    found = ElementTree.parse(file).iter("testcase")  # noqa: S314 (pytest wrote it)
    return {f"{case.attrib['classname']} {case.attrib['name']}": case for case in found}


def show(what: str, number: int, lines: list[str]) -> None:
    """Print a number, and a line for each."""
    print("\n".join([f"{what}: {number or 'none'}", *(f"  {line}" for line in lines)]))  # noqa: T201 (a script)


reports = [cases(file) for file in sys.argv[1:]]
again = reports[2] if len(reports) > 2 else {}
every = reports[0] | reports[1] | again
seconds = {name: float(case.attrib["time"]) for name, case in every.items()}
slowest = sorted(seconds, key=lambda name: -seconds[name])[:_SLOWEST]
reasons = Counter(skip.attrib.get("message", "") for case in every.values() for skip in case.iter("skipped"))
failed = {name for name, case in every.items() if case.find("failure") is not None or case.find("error") is not None}
show("the slowest tests", len(slowest), [f"{seconds[name]:6.1f} s  {name}" for name in slowest])
show("skipped", reasons.total(), [f"{number:4}: {reason}" for reason, number in reasons.most_common()])
show("passed at the second try", len(again.keys() - failed), sorted(again.keys() - failed))
show("failed", len(failed), sorted(failed))
