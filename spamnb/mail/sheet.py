"""The style sheet of an HTML text: what it says of elements, classes and names that hides text, or shows it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from spamnb.mail.style import Declared, declared

_SHEET_CHARS = 100_000
_RULES = 1_000
_RULE_CHARS = 1_000
_SIMPLE = re.compile(r"(?:[a-z][a-z0-9]{0,15})?([.#][\w-]{1,60})|([a-z][a-z0-9]{0,15})")
_CLASSES = 10


@dataclass(slots=True)
class Sheet:
    """The rules that stand at the top of a style sheet, those for screens of some size (@media) left out.

    `certain`: whether all grounds are said by selectors that are read here: an element, a class, a name.
    """

    rules: dict[str, Declared] = field(default_factory=dict)
    certain: bool = True

    def add(self, css: str) -> None:
        """Read what a <style> element holds.

        >>> sheet = Sheet()
        >>> sheet.add("@media print { .a {display: block} } p.a, #b { Display: none; float: left }")
        >>> [(selector, says.undisplayed) for selector, says in sheet.rules.items()]
        [('.a', True), ('#b', True)]
        """
        inside = False
        for rule in _without_comments(css[:_SHEET_CHARS].lower()).split("}"):
            selectors, brace, declarations = rule.rpartition("{")
            if "{" in selectors:
                inside = True
            elif not brace:
                inside = False
            elif not inside:
                self._add(selectors.rpartition(";")[2], declarations)

    def of(self, name: str, attrs: Mapping[str, str]) -> list[Declared]:
        """All that is said of an element: what is said of its kind first, of its own name last."""
        classes, own = attrs.get("class"), attrs.get("id")
        if not (classes or own):
            return [self.rules[name]] if name in self.rules else []
        keys = [name]
        if classes:
            keys += [f".{each}" for each in classes[:500].lower().split()[:_CLASSES]]
        if own:
            keys.append(f"#{own[:60].lower()}")
        return [self.rules[key] for key in keys if key in self.rules]

    def _add(self, selectors: str, declarations: str) -> None:
        # A colour is left out: where its ground is said in a way that is not read here, shown text would seem hidden.
        says = declared(declarations[:_RULE_CHARS])._replace(colour=None)
        if says == Declared():
            return
        for selector in selectors.split(",")[:_RULES]:
            simple = _SIMPLE.fullmatch(selector.strip())
            if simple is None:
                self.certain = self.certain and says.background is None
            elif len(self.rules) < _RULES:
                key = simple[1] or simple[2]
                self.rules[key] = self.rules.get(key, Declared()).then(says)


def _without_comments(css: str) -> str:
    """The sheet without its comments, and the marks of one that older programs are to take it for."""
    first, *others = css.replace("<!--", "").replace("-->", "").split("/*")
    return first + "".join([other.partition("*/")[2] for other in others])
