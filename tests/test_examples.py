"""The examples in docstrings."""

import doctest
import importlib
from pathlib import Path

import spamnb
from tests.table import over_rows

ROOT = Path(spamnb.__file__).parent
MODULES = [
    ".".join(("spamnb", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


def test_there_are_some() -> None:
    """The rooms that a second author calls begin with an example."""
    assert {"spamnb.acts", "spamnb.filter"} <= set(MODULES)


@over_rows("module", MODULES)
def test_examples(module: str) -> None:
    """Every example in a docstring prints what it says."""
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted
    assert not result.failed
