"""Every regular expression of the package against the worst text that it can be given.

A pattern that tries a long run again from each of its places takes the square of its length, and a stranger writes
the run. Each pattern has its worst texts in `worst_texts.py`, and is used on them as the code uses it. The time allowed
is what tells a line from a square: the slowest takes half of it on a slow machine.
"""

import ast
import functools
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import spamnb
from spamnb.base.patterns import LazyPattern

SECONDS = 0.5  # of processor time


def modules() -> Iterator[tuple[str, object]]:
    for found in pkgutil.walk_packages(spamnb.__path__, "spamnb."):
        if not found.name.endswith("__main__"):
            yield found.name.removeprefix("spamnb."), importlib.import_module(found.name)


def compiled() -> dict[str, list[re.Pattern[Any]]]:
    """Return the patterns that a module makes at its import, by their names."""
    found: dict[str, list[re.Pattern[Any]]] = {}
    for module, made in modules():
        for name, value in vars(made).items():
            pieces = flat(value)
            if pieces and is_assigned(made, name):
                found[f"{short(module)}.{name}"] = pieces
    return found


def short(module: str) -> str:
    """A module's name without the packages between its folder and itself."""
    folder, *_, last = ["", *module.split(".")] if "." not in module else module.split(".")
    return f"{folder}.{last}".strip(".") if last != folder else last


def flat(value: object) -> list[re.Pattern[Any]]:
    """The patterns in a value, however deep in tuples, lists, sets and mappings."""
    if isinstance(value, re.Pattern | LazyPattern):
        return [value]
    if isinstance(value, dict):
        return flat([*value.keys(), *value.values()])
    if isinstance(value, list | tuple | set | frozenset):
        return [pattern for each in value for pattern in flat(each)]
    return []


def is_assigned(module: object, name: str) -> bool:
    """Whether a module makes a name itself instead of importing it."""
    targets = [
        node.targets if isinstance(node, ast.Assign) else [node.target]
        for node in syntax(module).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
    ]
    return any(isinstance(target, ast.Name) and target.id == name for each in targets for target in each)


@functools.cache
def syntax(module: object) -> ast.Module:
    return ast.parse(inspect.getsource(module))  # type: ignore[arg-type]


def made_within() -> set[str]:
    """The functions that use an expression of their own: they call `re.something`."""
    found = set()
    for module, made in modules():
        if module == "base.patterns" or not hasattr(made, "re"):
            continue  # the first compiles what the others give it, which `compiled` finds there
        for function in ast.walk(syntax(made)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
                if any(
                    isinstance(f, ast.Attribute)
                    and isinstance(f.value, ast.Name)
                    and f.value.id == "re"
                    and f.attr != "escape"
                    for f in calls
                ):
                    found.add(f"{short(module)}.{function.name}")
    return found


def test_every_pattern_has_its_worst_text() -> None:
    """No regular expression of the package is without its worst text, and none that has one is gone."""
    from tests.base.worst_texts import WITHIN, WORST

    assert compiled().keys() == WORST.keys()
    assert made_within() == WITHIN.keys()
    assert all(texts for _, texts in [*WORST.values(), *WITHIN.values()])


@pytest.mark.parametrize("most", [1, pytest.param(None, marks=pytest.mark.thorough)], ids=["one each", "all"])
def test_patterns_take_no_square_of_time(most: int | None) -> None:
    """A pattern is done with the worst text of the greatest length in a moment."""
    from tests.base.worst_texts import WORST

    patterns = compiled()
    slow = [
        (name, text[:60])
        for name, (use, texts) in WORST.items()
        for pattern in patterns[name]
        for text in texts[:most]
        if took(lambda use=use, pattern=pattern, text=text: use(pattern, text)) >= SECONDS
    ]
    assert not slow


def test_patterns_within_functions_take_no_square_of_time() -> None:
    """The same holds for a function with an expression of its own."""
    from tests.base.worst_texts import WITHIN

    slow = [
        (name, text[:60])
        for name, (call, texts) in WITHIN.items()
        for text in texts
        if took(lambda call=call, text=text: call(text)) >= SECONDS
    ]
    assert not slow


def took(work: Callable[[], object], tries: int = 3) -> float:
    """Seconds of processor time, of the fastest try: beside a load the same work takes up to three times as long."""
    fastest = SECONDS
    while fastest >= SECONDS and tries:
        start = time.process_time()
        work()
        fastest, tries = time.process_time() - start, tries - 1
    return fastest


@pytest.mark.thorough
def test_a_square_is_found() -> None:
    """The check tells a pattern that takes the square of a text's length."""
    from tests.base.worst_texts import every, fill

    assert took(lambda: every(re.compile(r"a+b"), fill("a", 50_000)), tries=1) > SECONDS
