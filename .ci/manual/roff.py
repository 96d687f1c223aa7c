r"""From Markdown to roff: as much of both as man pages need, and text that no macro is in.

>>> roff("A line\n'and -another, `bold` and *SLANTED*", "1")
'.PP\nA line\n\\(aqand \\-another, \\fBbold\\fR and \\fISLANTED\\fR\n'
>>> roff("  .SH x\n  \\fB", "1")
'.PP\n.RS 4\n.nf\n\\&.SH x\n\\efB\n.fi\n.RE\n'
"""

import re
import textwrap

_ESCAPED = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", '"': "\\(dq"}
_SPECIAL = re.compile("[" + re.escape("".join(_ESCAPED)) + "]")
_MARKED = re.compile(r"`([^`]+)`|\*([\w|,~/.@-]+)\*")
_BEGINS_A_MACRO = re.compile(r"^\.", re.MULTILINE)
_TITLE = re.compile(r"# ([\w.-]+)\((\d)\) (.+?): (.+)")


def roff(markdown: str, version: str) -> str:
    """The page: blocks with empty lines between them, each a title, a heading, an example, a term or a paragraph."""
    return "".join(_block(block, version) for block in re.split(r"\n\n+", markdown.strip("\n")))


def _block(block: str, version: str) -> str:
    if title := _TITLE.fullmatch(block):
        name, section, group, about = title.groups()
        return _head(name, section, group, version) + f".SH NAME\n{name} \\- {about}\n"
    if block.startswith("## "):
        return f".SH {block[3:]}\n"
    if block.startswith("### "):
        return f".SS {_text(block[4:])}\n"
    if block.startswith("  "):
        return f".PP\n.RS 4\n.nf\n{_text(textwrap.dedent(block))}\n.fi\n.RE\n"
    term, _, explanation = block.partition("\n: ")
    if explanation:
        return f".TP\n{_marked(term)}\n{_marked(explanation)}\n"
    return ".PP\n" + "\n.br\n".join(_marked(line) for line in block.split("\\\n")) + "\n"


def _head(name: str, section: str, group: str, version: str) -> str:
    """The beginning of a page. It has no date: the same sources give the same bytes."""
    line = f'.TH {name.upper()} {section} "" "spamnb {version}" "{group}"'
    left = ".ds AD l\n.nr HY 0\n"  # flush left, not hyphenated, for groff 1.23; .nh and .ad are for older ones
    made = '.\\" Made by .ci/manual/write.py: a change here is lost.\n'
    return f"{made}{left}{line}\n.nh\n.ad l\n"


def _text(written: str) -> str:
    """Return text for the reader: no part of it is a macro, an escape, or a sign that roff would change."""
    return _BEGINS_A_MACRO.sub(r"\\&.", _escaped(written))


def _marked(written: str) -> str:
    """Return text with literal words between backquotes, and placeholders between stars."""
    pieces, end = [], 0
    for mark in _MARKED.finditer(written):
        font, word = ("B", mark[1]) if mark[1] else ("I", mark[2])
        pieces += [_escaped(written[end : mark.start()]), f"\\f{font}{_escaped(word)}\\fR"]
        end = mark.end()
    joined = "".join((*pieces, _escaped(written[end:])))
    # A line may end between two choices: all of them may be longer than a line.
    return _BEGINS_A_MACRO.sub(r"\\&.", joined.replace("\\fR|\\fB", "\\fR|\\:\\fB"))


def _escaped(written: str) -> str:
    return _SPECIAL.sub(lambda sign: _ESCAPED[sign[0]], written)
