r"""The language of man pages, as far as they need it: man(7) macros, and text that no macro is in.

>>> text("A line\n'and -another")
'A line\n\\(aqand \\-another'
"""

import re
from collections.abc import Iterable

_ESCAPED = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", '"': "\\(dq"}
_SPECIAL = re.compile("[" + re.escape("".join(_ESCAPED)) + "]")
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_BEGINS_A_MACRO = re.compile(r"^\.", re.MULTILINE)


def text(written: str) -> str:
    """Text as it is to be read: nothing in it is a macro, an escape, or a sign that is set as another."""
    return _BEGINS_A_MACRO.sub(r"\\&.", _escaped(written))


def bold(written: str) -> str:
    """A word to be typed as it is."""
    return f"\\fB{_escaped(written)}\\fR"


def slanted(written: str) -> str:
    """A word that stands for another."""
    return f"\\fI{_escaped(written)}\\fR"


def marked(written: str) -> str:
    """Text in which words between backquotes are to be typed."""
    pieces = written.split("`")
    whole = "".join(bold(piece) if number % 2 else _escaped(piece) for number, piece in enumerate(pieces))
    return _BEGINS_A_MACRO.sub(r"\\&.", whole)


def head(name: str, section: int, version: str, about: str) -> str:
    """The beginning of a page. It has no date: the same sources give the same bytes."""
    line = f'.TH {name.upper()} {section} "" "spamnb {version}" "{about}"'
    left = ".ds AD l\n.nr HY 0\n"  # flush left, not hyphenated, for groff 1.23; .nh and .ad are for older ones
    return f'.\\" Written from the sources of spamnb when it is built.\n{left}{line}\n.nh\n.ad l\n'


def section(title: str, *parts: str) -> str:
    """A section with its parts."""
    return f".SH {title}\n" + "".join(parts)


def below(title: str, *parts: str) -> str:
    """A part of a section with a title of its own."""
    return f".SS {title}\n" + "".join(parts)


def paragraph(written: str) -> str:
    """A paragraph; see `marked`."""
    return f".PP\n{marked(written.strip())}\n"


def paragraphs(written: str) -> str:
    """Paragraphs divided by empty lines. One whose lines are all indented is kept as it is."""
    blocks = [block for block in _EMPTY_LINES.split(written.strip("\n")) if block.strip()]
    return "".join(example(one) if _is_indented(one) else paragraph(one) for one in blocks)


def example(written: str) -> str:
    """Lines that are kept as they are, indented."""
    lines = "\n".join(line.strip() if _is_indented(written) else line for line in written.rstrip().splitlines())
    return f".PP\n.RS 4\n.nf\n{text(lines)}\n.fi\n.RE\n"


def tagged(items: Iterable[tuple[str, str]]) -> str:
    """A list of tags, which are roff already, with what is said of each; see `marked`."""
    return "".join(f".TP\n{tag}\n{marked(said) or text('.')}\n" for tag, said in items)


def _escaped(written: str) -> str:
    return _SPECIAL.sub(lambda found: _ESCAPED[found[0]], written)


def _is_indented(block: str) -> bool:
    return all(line.startswith("  ") for line in block.splitlines() if line.strip())
