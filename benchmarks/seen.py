"""Compare what a person sees in real mail with what the reader reads: Chromium beside it, over all HTML parts.

DIRECTORY holds messages, one per file, at any depth. Chromium has no network and runs no scripts. `tests/chromium.py`
says which of its letters count as seen. The reader has two readings of a page: what some reader sees, and what all
readers see. "seen, in neither reading" are words that a person sees, and that are in neither, by their origin: `text`,
`generated` by a style sheet, `value` of a form, `alt` of a picture, and all in a `frame`. A word counts as read if its
letters are, though with other letters beside them; these are "seen, with other ends". "read, not seen" are words that
are in a reading and that nobody sees, by cause; "in doubt" are those of them that are in one reading alone. The last
column counts messages with more than 5 % of such words.

A page is read by the parser (libxml2) of this interpreter, or of each that --python names; it needs what the reader
imports. --html5lib names the unpacked html5lib-tests: each of its tests in `tree-construction` is a page, unless it is
a fragment or needs scripts. --show prints the words of each page that are in neither reading.

    python benchmarks/seen.py [DIRECTORY…] [--limit N] [--seed 0] [--python PATH]… [--html5lib DIRECTORY] [--show]
                              [--json]
"""

import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import common

sys.path.insert(0, str(Path(__file__).parents[1]))  # the browser belongs to the tests
from spamnb.mail.parsing.message import parse
from spamnb.mail.tokens.text import normalise
from tests.chromium import Eye, Page, Piece, joined, launched

_READ = """
import json, sys
from lxml import etree
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.tokens.html import read_html
read = [read_html(page, DEFAULT_LIMITS) for page in json.load(sys.stdin)]
json.dump([etree.LIBXML_VERSION, [[each.visible, each.certain] for each in read]], sys.stdout)
"""
_ROOT = Path(__file__).parents[1]
_WORD = re.compile(r"[^\W_]+")
_MUCH = 0.05  # of a message's words
_KINDS = ("text", "frame", "alt", "value", "generated")
_OTHER = "another"
_TEST = re.compile(r"^#data\n(.*?)\n#errors\n(.*?)(?=^#data\n|\Z)", re.DOTALL | re.MULTILINE)


class _Mail(NamedTuple):
    """A message: its name, and its HTML parts."""

    name: str
    pages: list[str]


class _Readings(NamedTuple):
    """What a reader makes of a page: the text that some reader sees, and the text that all readers see."""

    some: str
    certain: str


def main() -> None:
    """Look at all pages, read them, and print what differs."""
    parser = common.arguments(__doc__)
    parser.add_argument("directories", nargs="*", metavar="DIRECTORY", help="messages, one per file")
    parser.add_argument("--limit", type=int, metavar="N", help="N messages with HTML of each directory, at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--python", action="append", metavar="PATH", help="an interpreter for the reader")
    parser.add_argument("--html5lib", metavar="DIRECTORY", help="the unpacked html5lib-tests")
    parser.add_argument("--show", action="store_true", help="print the words that are in neither reading")
    options = parser.parse_args()

    sources = [_messages(directory, options.limit, options.seed) for directory in options.directories]
    if options.html5lib:
        sources.append(_tests(options.html5lib))
    if not sources:
        parser.error("name a DIRECTORY, or --html5lib")
    figures = []
    with launched() as browser:
        eye = Eye(browser)
        for name, mail in zip([*options.directories, options.html5lib], sources, strict=False):
            pages = [page for each in mail for page in each.pages]
            seen = [*eye.look(pages)]
            for python in options.python or [sys.executable]:
                version, read = _read(pages, python)
                table = _Table(Path(name).name, version)
                ends = accumulate((len(each.pages) for each in mail), initial=0)
                for each, (start, end) in zip(mail, pairwise(ends), strict=True):
                    lost = table.add(seen[start:end], read[start:end])
                    if lost and options.show:
                        print(f"{each.name} ({version}): {' '.join(lost.elements())}", file=sys.stderr)
                figures += table.rows()
        eye.close()
    common.report(figures, options.json)


def _messages(directory: str, limit: int | None, seed: int) -> list[_Mail]:
    """Return messages with HTML, in a random order if there is a limit."""
    paths = sorted(path for path in Path(directory).rglob("*") if path.is_file() and path.name != "index")
    if limit is not None:
        random.Random(seed).shuffle(paths)
    found: list[_Mail] = []
    for path in paths:
        if len(found) == limit:
            break
        if pages := [text.text for text in parse(path.read_bytes()).texts if text.is_html]:
            found.append(_Mail(path.name, pages))
    return found


def _tests(directory: str) -> list[_Mail]:
    """Return the pages of html5lib-tests whose tree is built without scripts."""
    found = []
    for path in sorted(Path(directory, "tree-construction").glob("*.dat")):
        text = path.read_bytes().decode("utf-8", "replace")
        for number, (page, rest) in enumerate(_TEST.findall(text), 1):
            if not {"#document-fragment", "#script-on"} & set(rest.splitlines()):
                found.append(_Mail(f"{path.name} {number}", [page]))
    return found


def _read(pages: Sequence[str], python: str) -> tuple[str, list[_Readings]]:
    """Return the version of an interpreter's libxml2, and what the reader makes of each page with it."""
    command = [python, "-W", "ignore", "-c", _READ]
    done = subprocess.run(command, input=json.dumps(pages), capture_output=True, text=True, cwd=_ROOT, check=False)
    if done.returncode:
        raise RuntimeError(f"{python} cannot read: {done.stderr[-500:]}")
    version, read = json.loads(done.stdout)
    return ".".join(map(str, version)), [_Readings(*each) for each in read]


def _words(text: str) -> Counter[str]:
    """Count the words, with disguises undone as the filter does it."""
    return Counter(_WORD.findall(normalise(text)[0].casefold()))


class _Letters:
    """The words of a text, and its letters alone."""

    def __init__(self, *texts: str) -> None:
        self.words: Counter[str] = Counter()
        self._letters = []
        for text in texts:
            words = _words(text)
            self.words |= words
            self._letters.append("".join(_WORD.findall(normalise(text)[0].casefold())))

    def without(self, wanted: Counter[str]) -> Counter[str]:
        """Return which of these words are not there, even with other letters beside them."""
        beside = {word: max(text.count(word) for text in self._letters) for word in wanted - self.words}
        return (wanted - self.words) & (wanted - Counter(beside))


class _Table:
    """Counts words and messages, by what is wrong with them."""

    def __init__(self, name: str, version: str) -> None:
        self._of = {"mail": name, "libxml2": version}
        self._messages = 0
        self._seen = self._read = 0
        self._words: Counter[str] = Counter()
        self._in_doubt: Counter[str] = Counter()
        self._with: Counter[str] = Counter()
        self._with_many: Counter[str] = Counter()

    def add(self, seen: Sequence[Page], read: Sequence[_Readings]) -> Counter[str]:
        """Count a message. Return the words that are seen, and in neither reading."""
        self._messages += 1
        pieces = [piece for page in seen for piece in page.pieces]
        shown = [piece for piece in pieces if not piece.cause]
        some, certain = ("\n".join(texts) for texts in zip(*read, strict=True))
        reading, sight = _Letters(some, certain), _Letters(joined(shown))
        lost: Counter[str] = Counter()
        for kind in _KINDS:
            of_kind = _words(joined([piece for piece in shown if piece.kind == kind]))
            found = reading.without(of_kind)
            lost += found
            self._count(f"seen, in neither reading: {kind}", found, sight.words.total())
        self._count("seen, in neither reading", lost, sight.words.total())
        self._count("seen, with other ends", sight.words - reading.words - lost, sight.words.total())
        self._seen += sight.words.total()
        self._read += reading.words.total()
        unseen = sight.without(reading.words)
        of_all = _Letters(certain)
        for cause, words in _by_cause(unseen, [piece for piece in pieces if piece.cause]):
            self._count(f"read, not seen: {cause}", words, reading.words.total())
            self._in_doubt[f"read, not seen: {cause}"] += of_all.without(words).total()
        return lost

    def _count(self, what: str, words: Counter[str], of: int) -> None:
        number = words.total()
        self._words[what] += number
        self._with[what] += number > 0
        self._with_many[what] += number > _MUCH * of

    def rows(self) -> list[dict[str, object]]:
        """Return a row for each kind of difference."""
        rows = [self._row("seen", self._seen, self._seen), self._row("read", self._read, self._read)]
        for what, number in self._words.items():
            rows.append(self._row(what, number, self._read if what.startswith("read") else self._seen))
        return rows

    def _row(self, what: str, number: int, of: int) -> dict[str, object]:
        is_counted = what in self._with
        return self._of | {
            "what": what,
            "words": number,
            "%": 100.0 * number / max(1, of),
            "in doubt": self._in_doubt[what] if what.startswith("read,") else None,
            "messages": self._with[what] if is_counted else self._messages,
            "over 5 %": self._with_many[what] if is_counted else None,
        }


def _by_cause(words: Counter[str], unseen: Iterable[Piece]) -> Iterator[tuple[str, Counter[str]]]:
    """Yield why nobody sees some words, and which these are."""
    texts: dict[str, list[Piece]] = {}
    for piece in unseen:
        texts.setdefault(piece.cause, []).append(piece)
    for cause, pieces in sorted(texts.items()):
        others = _Letters(joined(pieces)).without(words)
        yield cause, words - others
        words = others
    yield _OTHER, words


if __name__ == "__main__":
    main()
