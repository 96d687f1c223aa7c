"""Count the sentences that one has to read twice, by the patterns that are worst.

english.py [PATH...]   list them, each with file and line
english.py --check     fail if a count is higher than in .ci/english.txt
english.py --write     write the counts into .ci/english.txt

It reads strings and docstrings, page templates and documents. A hit is not a proof: "the mail stays where it was" is
plain English. So the counts only have to fall.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

_TOP = Path(__file__).parent.parent
_COUNTS = _TOP / ".ci/english.txt"
_PLACES = ("spamnb", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs", "config.example.yaml")
_PLACES += ("systemd", ".ci")
_ENDINGS = (".py", ".md", ".html", ".yaml", ".service", ".socket", ".timer", ".txt")
_BEGIN = r"(?:\A|(?<=[.:;!?] )|(?<=\n))[ *|#-]*"  # of a sentence
_PATTERNS = {
    "of which": r"\bof which\b",
    "that about which": r"\babout which\b",
    "as it is": r"\bas (?:it|they) (?:is|are|was|were)\b",
    "any more": r"\bany more\b",
    "so many": r"\bso (?:many|much|long|often)\b",
    "Where …": _BEGIN + r"Where\b(?![^.]*\?)",
    "Of …": _BEGIN + r"Of\b",
    "What … is": _BEGIN + r"Wh(?:at|o)\b(?![^.]*\?)[^.,;:]* (?:is|are|was|were)\b",
    "where, for if": r"\bwhere (?:there|this|that|nothing|nobody|no|none|one|some|a|an|it (?!is\b|was\b)\w+) ",
    "is no": r"(?<![Tt]here )\b(?:is|are|was|were) no\b(?! (?:longer|more|less|later))",  # not "there is no copy"
    "meanwhile": r"\bmeanwhile\b",
    "another one": r"\banother one\b",
    "by now, by turns": r"\bby (?:now|turns)\b",
    # In the first sentence of a docstring or another text, words that need a noun which is not there.
    "the same": r"\A[^.|\n]*?\bthe same(?=[,.;:]| (?:after|as|but|by|for|if|in|is|of|or|with)\b)",
    "Like …": r"\ALike\b",
    "those of": r"\A[^.|\n]*?\bthose of\b",
    "that one": r"\A[^.|\n]*?\b(?:that|this|the) one\b(?! \w)",
    "it": r"\A[A-Z]\w+(?: when| whether)? (?:it|its|them|they)\b[^?]*\.\Z",
}
_COMPILED = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Give the texts of a file, each with the line on which it begins; a paragraph is one line of text."""
    content = path.read_text()
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(content)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.lineno, " ".join(node.value.split())
    else:
        line = 1
        for paragraph in content.split("\n\n"):
            yield line, re.sub(r"[ #]*\n *(?:# )?(?![*|#-])", " ", paragraph)
            line += paragraph.count("\n") + 2


def hits(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Give each hit in these files: the pattern, and the place with what is around it."""
    for path in paths:
        for line, text in texts(path):
            for name, pattern in _COMPILED.items():
                for found in pattern.finditer(text):
                    around = text[max(0, found.start() - 20) : found.end() + 40].replace("\n", " ")
                    yield name, f"{path}:{line}: {name}: {around}"


def files(places: Iterable[Path]) -> Iterator[Path]:
    """Give the files with sentences at these places. Generated man pages are left out."""
    for place in places:
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if path.suffix in _ENDINGS and path not in (_COUNTS, Path(__file__)) and "made" not in path.parts:
                yield path


def main(arguments: list[str]) -> int:
    """Do what the arguments say; the exit status."""
    is_check, is_written = arguments == ["--check"], arguments == ["--write"]
    places = [_TOP / place for place in _PLACES] if is_check or is_written or not arguments else map(Path, arguments)
    found = list(hits(files(places)))
    if not is_check and not is_written:
        print("\n".join(where for _, where in found))
    numbers = Counter(name for name, _ in found)
    counts = {name: numbers[name] for name in _PATTERNS}
    lines = [f"{count:4} {name}" for name, count in counts.items()]
    if is_written:
        _COUNTS.write_text("\n".join(lines) + "\n")
        return 0
    print("\n".join([*lines, f"{numbers.total():4} in all"]))
    if not is_check:
        return 0
    before = (line.split(maxsplit=1) for line in _COUNTS.read_text().splitlines())
    allowed = {name: int(count) for count, name in before}
    risen = [name for name, count in counts.items() if count > allowed[name]]
    if risen:
        print(f"more than in .ci/english.txt: {', '.join(risen)}. Find the sentences by `.ci/english.py PATH`")
    return bool(risen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
