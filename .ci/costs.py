"""Count the instructions of five commands, and of reading forty messages: `.venv/bin/python .ci/costs.py`.

costs.py            print the counts beside those in .ci/costs.txt
costs.py --check    fail if a count is more than 2 % higher than there
costs.py --write    write the counts into .ci/costs.txt

Instructions have no noise: a change that makes a command a hundredth slower is seen. They are those of one Python, one
C library and one release of each library that takes part: with other ones, the counts are printed and not compared.
valgrind counts them, or `perf stat` if there is no valgrind; with neither, nothing is counted. All messages are made
up. A change that has to cost more writes the counts with it, and its commit says why.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from compileall import compile_dir
from email import message_from_bytes, policy
from importlib.metadata import version
from pathlib import Path

_TOP = Path(__file__).parent.parent
sys.path.insert(0, str(_TOP))

from spamnb.cli.common.sample_mail import message

_COUNTS = _TOP / ".ci/costs.txt"
_MOST = 1.02  # times the count in the file
_TRIES = 20  # half seconds
_LIBRARIES = ("beautifulsoup4", "lxml", "numpy", "PyYAML")
_CONFIG = "mailboxes: [{path: ~/Maildir, roles: {INBOX: inbox, Junk: spam, Archive: ham}}]\n"
_READ = """\
import sys
from pathlib import Path
from spamnb.mail.reading import read_content
*paths, rounds = sys.argv[1:]
messages = [Path(path).read_bytes() for path in paths]
for _ in range(int(rounds)):
    for message in messages:
        read_content(message)
"""
_PAGE = """\
<html><head><title>{subject}</title><style type="text/css">
  body {{ margin: 0; font-family: Arial, sans-serif }} .small {{ font-size: 11px; color: #777 }}
  @media (max-width: 600px) {{ .wide {{ display: none !important }} }}
</style></head><body bgcolor="#ffffff">
<div style="display:none;max-height:0;overflow:hidden;font-size:1px">{first}</div>
<table width="600" align="center" cellpadding="0" style="border-collapse: collapse; background: #f4f4f4">
<tr><td class="wide"><a href="https://shop{number}.example/?c={number}"><img src="https://img.example/{number}.png"
 width="600" height="90" alt="{subject}"></a></td></tr>
{rows}
<tr><td class="small" style="padding: 8px; text-align: center">You get this letter as {number}@home.example.
 <a href="https://shop{number}.example/leave?id=9f8e7d6c5b4a{number}">Leave</a> &copy; 2026 &mdash; &nbsp;</td></tr>
</table></body></html>
"""
_ROW = """\
<tr><td style="padding: 8px 16px; color: rgb(51, 51, 51); line-height: 1.4"><p><b>{words}</b>
 <a href="https://shop{number}.example/p/{words}" style="color:#0a58ca; text-decoration: none">Read&nbsp;more</a></p>
 <span style="font-size: 13px">Only &euro;{number}.95 until Friday</span></td></tr>
"""
Counter = Callable[[Sequence[str], Mapping[str, str]], int | None]


def main(arguments: Sequence[str]) -> int:
    """Count, print, and compare with the file or write it."""
    name, count = _counter()
    with tempfile.TemporaryDirectory(prefix="spamnb-costs.") as scratch:
        counts = _counted(Path(scratch), count)
    if counts is None:
        print("instructions were not counted: neither valgrind nor `perf stat` can do that here")
        return 0
    by = _conditions(name)
    known_by, known = parse(_COUNTS.read_text() if _COUNTS.exists() else "")
    print(report(counts, known))
    if arguments == ["--write"]:
        _COUNTS.write_text(text(by, counts))
    elif by != known_by:
        print(f"not compared, since {_COUNTS.name} has counts by:\n  {known_by}\nand these are by:\n  {by}")
    elif arguments == ["--check"] and (risen := risen_in(counts, known)):
        print(f"more than 2 % higher: {', '.join(risen)}. If that has to be: .ci/costs.py --write, and say why")
        return 1
    return 0


def text(by: str, counts: Mapping[str, int]) -> str:
    """Return the text of the file: under which conditions it was counted, and the counts in hundred thousands."""
    lines = [f"{number / 1e6:8.1f} M  {name}" for name, number in counts.items()]
    return "\n".join([f"# {by}", *lines]) + "\n"


def parse(written: str) -> tuple[str, dict[str, int]]:
    """Return the conditions and the counts of a text."""
    by, _, rest = written.partition("\n")
    pairs = [line.split(" M  ") for line in rest.splitlines()]
    return by.removeprefix("# "), {name: round(float(number) * 1e6) for number, name in pairs}


def report(counts: Mapping[str, int], known: Mapping[str, int]) -> str:
    """Return a line for each count, with the one before and the change."""
    lines = []
    for name, number in counts.items():
        before = known.get(name)
        change = "" if before is None else f"  before {before / 1e6:8.1f} M  {number / before - 1:+.1%}"
        lines.append(f"{number / 1e6:8.1f} M  {name:<28}{change}")
    return "\n".join(lines)


def risen_in(counts: Mapping[str, int], known: Mapping[str, int]) -> list[str]:
    """Return the names of the counts that are too high, or that the file does not have."""
    return [name for name, number in counts.items() if number > _MOST * known.get(name, 0)]


def _conditions(counter: str) -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    build = " ".join(sys.version.split())
    return f"{counter}; {build}; {' '.join(platform.libc_ver())}; {platform.machine()}; {libraries}"


def _counter() -> tuple[str, Counter]:
    return ("valgrind", _by_valgrind) if shutil.which("valgrind") else ("perf", _by_perf)


def _by_valgrind(command: Sequence[str], environ: Mapping[str, str]) -> int | None:
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    return _found(r"I *refs: *([\d,]+)", [*tool, *command], environ)


def _by_perf(command: Sequence[str], environ: Mapping[str, str]) -> int | None:
    if shutil.which("perf") is None:
        return None
    return _found(r"(?m)^(\d+),[^,]*,instructions", ["perf", "stat", "-x,", "-e", "instructions:u", *command], environ)


def _found(pattern: str, command: Sequence[str], environ: Mapping[str, str]) -> int | None:
    done = subprocess.run(command, env=environ, cwd=_TOP, capture_output=True, text=True, errors="replace", check=False)
    found = re.search(pattern, done.stderr)
    return found and int(found[1].replace(",", ""))


def _counted(home: Path, count: Counter) -> dict[str, int] | None:
    """Return the counts, by their names; None if the counter does not work here."""
    compile_dir(_TOP / "spamnb", quiet=2)
    libraries = dict.fromkeys((str(_TOP), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    environ = {"HOME": str(home), "LANG": "C.UTF-8", "PATH": os.environ["PATH"], "TZ": "UTC"}
    environ |= {"PYTHONHASHSEED": "0", "PYTHONPATH": ":".join(libraries)}
    python = [sys.executable, "-S"]  # without what a development install adds at each start
    plain, html = _prepare(home, [*python, "-m", "spamnb"], environ)
    commands = {
        "--help": ["--help"],
        "score, plain text": ["score", plain[0]],
        "score, HTML": ["score", html[0]],
        "explain, HTML": ["explain", html[0]],
        "status": ["status"],
    }
    counts: dict[str, int | None] = {}
    for name, arguments in commands.items():
        command = [*python, "-m", "spamnb", *arguments]
        subprocess.run(command, env=environ, cwd=_TOP, capture_output=True, check=False)
        counts[name] = count(command, environ)
    once, twice = (count([*python, "-c", _READ, *plain, *html, str(rounds)], environ) for rounds in (1, 2))
    counts["reading 40 messages, warm"] = None if once is None or twice is None else twice - once
    return {name: number for name, number in counts.items() if number is not None} or None


def _prepare(home: Path, program: Sequence[str], environ: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Set up a person who has taught the filter. Returns the paths of twenty plain messages, and of twenty in HTML."""
    config = home / ".config/spamnb/config.yaml"
    for directory in (config.parent, home / ".cache", home / "ham", home / "spam", home / "plain", home / "html"):
        directory.mkdir(parents=True, mode=0o700)
    config.write_text(_CONFIG)
    for kind in ("ham", "spam"):
        for number in range(60):
            (home / kind / f"{number}").write_bytes(message(kind, number))
        command = [*program, "train", f"--{kind}", str(home / kind)]
        subprocess.run(command, env=environ, cwd=_TOP, capture_output=True, check=True)
    for number in range(20):
        raw = message(("ham", "spam")[number % 2], 100 + number)
        (home / "plain" / f"{number:02}").write_bytes(raw)
        (home / "html" / f"{number:02}").write_bytes(_as_html(raw, number))
    for _ in range(_TRIES):  # until the configuration is old enough to be kept
        if list(home.glob(".cache/spamnb/*")):
            break
        time.sleep(0.5)
        subprocess.run([*program, "status"], env=environ, cwd=_TOP, capture_output=True, check=False)
    plain, html = (sorted(map(str, (home / name).iterdir())) for name in ("plain", "html"))
    return plain, html


def _as_html(raw: bytes, number: int) -> bytes:
    """Return a message as a newsletter would be written: the text once plain, and once in a page of tables."""
    mail = message_from_bytes(raw, policy=policy.default)
    lines = mail.get_content().split("\n")
    rows = "".join(_rows(lines * 4, number))
    mail.add_alternative(
        _PAGE.format(subject=mail["Subject"], first=lines[2], rows=rows, number=number), subtype="html"
    )
    return mail.as_bytes()


def _rows(lines: Sequence[str], number: int) -> Iterator[str]:
    for at, line in enumerate(filter(None, lines)):
        yield _ROW.format(words=line.rstrip("!,."), number=number + at)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
