"""The blocks of the documents, and which test runs each.

A `console` block shows commands with their output, and tests/test_docs.py runs it; a `yaml` block is part of a
configuration, and the same test reads it. Every other block has its name and its test behind its language, where no
reader sees it: "sh NAME: run by tests/PATH.py". That test asks for it by `block(DOCUMENT, NAME)`. If a block needs a
corpus and hours, it has "by hand" instead.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]
BY_HAND = "by hand"
_BLOCK = re.compile(r"^```(\w*)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"([\w-]+): run by (\S+)")


@dataclass(frozen=True)
class Block:
    """A fenced block; `name` and `runner` are "" if no comment gives them."""

    document: str
    language: str
    text: str
    mark: str

    @property
    def name(self) -> str:
        """The name that a test asks for it by."""
        return found[1] if (found := _MARK.fullmatch(self.mark)) else ""

    @property
    def runner(self) -> str:
        """The file of the test that runs it."""
        return found[2] if (found := _MARK.fullmatch(self.mark)) else ""


def read(document: str) -> str:
    """The text of a document."""
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str) -> list[Block]:
    """All fenced blocks of a document, in their order."""
    return [Block(document, language, text, mark) for language, mark, text in _BLOCK.findall(read(document))]


def block(document: str, name: str) -> str:
    """Return the text of the only block with that name."""
    (found,) = [one for one in blocks(document) if one.name == name]
    return found.text
