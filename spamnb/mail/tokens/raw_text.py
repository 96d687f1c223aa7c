"""Know the elements whose text has no tags in it for a browser, and where each ends (HTML 5, 13.2.5)."""

import re

from spamnb.base.patterns import lazy_pattern

CODE = frozenset({"script", "style"})
WITHOUT_REFERENCES = frozenset({"iframe", "noembed", "noframes", "xmp", "plaintext"})
WITHOUT_TAGS = CODE | WITHOUT_REFERENCES | {"title", "textarea"}

_FLAGS = re.ASCII | re.IGNORECASE
_END = r"(?=[ \t\n\r\f/>])"
_END_TAG = {name: lazy_pattern(f"</{name}{_END}", _FLAGS) for name in WITHOUT_TAGS - {"script", "plaintext"}}
_OF_SCRIPT = lazy_pattern(rf"<!(?=--)|-->|</?script{_END}", _FLAGS)


def end_of_content(markup: str, start: int, name: str) -> int:
    """Return where the text of such an element ends, if its start tag ends at `start`.

    >>> end_of_content("<title>a<b></TITLE >", 7, "title")
    11
    """
    if name == "plaintext":
        return len(markup)
    if name != "script":
        found = _END_TAG[name].search(markup, start)
        return found.start() if found else len(markup)
    in_comment = in_script = False  # within the comment
    for mark in _OF_SCRIPT.finditer(markup, start):
        if mark[0] in {"<!", "-->"}:
            in_script = in_script and mark[0] == "<!"
            in_comment = mark[0] == "<!"
        elif mark[0].startswith("</") and not in_script:
            return mark.start()
        else:
            in_script = in_comment and not mark[0].startswith("</")
    return len(markup)
