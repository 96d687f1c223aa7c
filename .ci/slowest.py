"""Print the ten slowest tests of the files that pytest wrote with `--junitxml`."""

import sys
from xml.etree import ElementTree

_SHOWN = 10

cases = [case for file in sys.argv[1:] for case in ElementTree.parse(file).iter("testcase")]  # noqa: S314 (pytest wrote it)
for case in sorted(cases, key=lambda case: -float(case.attrib["time"]))[:_SHOWN]:
    print(f"{float(case.attrib['time']):6.1f} s  {case.attrib['classname']} {case.attrib['name']}")  # noqa: T201 (a script)
