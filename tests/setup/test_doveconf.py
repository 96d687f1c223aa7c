"""The output of `doveconf -n`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.errors import ConfigError
from spamnb.setup.doveconf import Block, parse

_WORDS = st.text(st.sampled_from("abcXY_-019"), min_size=1, max_size=8)
# Dovecot quotes what begins or ends with a space or holds a "#"; no value of a line holds a line break.
_TEXTS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=20)
_VALUES = st.dictionaries(_WORDS, _TEXTS, max_size=3)
_LEAVES = st.builds(Block, _WORDS, _TEXTS, _VALUES, st.just([]))
_BLOCKS = st.recursive(
    _LEAVES, lambda inner: st.builds(Block, _WORDS, _TEXTS, _VALUES, st.lists(inner, max_size=3)), max_leaves=6
)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _printed(block: Block, depth: int = 0) -> list[str]:
    indent = "  " * depth
    lines = [f"{indent}{key} = {_quoted(value)}" for key, value in block.values.items()]
    for inner in block.blocks:
        name = f" {_quoted(inner.name)}" if inner.name else ""
        lines += [f"{indent}{inner.kind}{name} {{", *_printed(inner, depth + 1), indent + "}"]
    return lines


@given(_VALUES, st.lists(_BLOCKS, max_size=3))
def test_all_that_is_printed_is_read(values: dict[str, str], blocks: list[Block]) -> None:
    """Blocks, names and values are read as written, with any signs."""
    root = Block("", "", values, blocks)
    assert parse("# 2.3.19\n" + "\n".join(_printed(root))) == root


def test_values_without_quotation_marks_are_taken_as_they_are() -> None:
    r"""Dovecot 2.3 writes `special_use = \Junk`, and 2.4 the same in quotation marks with two backslashes."""
    root = parse('a = \\Junk\nb = "\\\\Junk"\nc = \nd = "x # y"\ne = a = b\n')
    assert root.values == {"a": "\\Junk", "b": "\\Junk", "c": "", "d": "x # y", "e": "a = b"}


def test_values_over_several_lines_are_one_value() -> None:
    """Neither a here-document nor a quoted value ends a block by a brace in it."""
    root = parse('m {\n  a = <<<END\n}\nb = 1\nEND\n  c = "x\n}\ny"\n}\nd = 2\n')
    assert root.of_kind("m")[0].values == {"a": "}\nb = 1", "c": "x\n}\ny"}
    assert root.values == {"d": "2"}


def test_hidden_values_are_empty() -> None:
    """A value that doveconf hides does not count as a value."""
    assert parse("ssl_key = # hidden, use -P to show it\n").get("ssl_key") == ""


@pytest.mark.parametrize("text", ["namespace inbox {\n", "}\n", "a {\n}\n}\n", "a {\nb {\n}\n"])
def test_blocks_that_do_not_fit_are_a_fault(text: str) -> None:
    """A text that was cut off is not taken for the whole."""
    with pytest.raises(ConfigError, match="output of doveconf"):
        parse(text)


@given(st.text(st.sampled_from('a ={}"\\<\n#'), max_size=60))
def test_no_text_leads_to_anything_but_a_fault(text: str) -> None:
    """Any output of a program of that name gives a tree or a ConfigError."""
    try:
        parse(text)
    except ConfigError as fault:
        assert str(fault)
