"""The shape of a configuration's text: values as they are written, with their places. `readers` makes values of them.

They are not PyYAML's nodes, so that a command whose configuration is kept (`kept_nodes`) does not import YAML.
"""

from typing import NamedTuple, TypeAlias


class ScalarNode(NamedTuple):
    """A text. line and column: where it begins, from 1. is_null: it is YAML's word for no value, without quotes."""

    line: int
    column: int
    value: str
    is_quoted: bool
    is_null: bool


class SequenceNode(NamedTuple):
    """A list."""

    line: int
    column: int
    value: "tuple[Node, ...]"


class MappingNode(NamedTuple):
    """Pairs of a name and a value, in the order written. A name may be there twice."""

    line: int
    column: int
    value: "tuple[tuple[Node, Node], ...]"


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode
