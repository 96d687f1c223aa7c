"""Read a YAML text into nodes. Only this module and `writing` import YAML: it takes an eighth of a command."""

from typing import Any

import yaml

from spamnb.config.nodes import MappingNode, Node, ScalarNode, SequenceNode
from spamnb.config.readers import Fault, Invalid, printable

MAX_DEPTH = 16
"""Levels of lists and mappings; a configuration needs five."""

_NULL = "tag:yaml.org,2002:null"


class _Loader(yaml.SafeLoader):
    """Composes nodes without aliases (a few lines of these can mean gigabytes), tags, or deep nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it out
        if isinstance(event, yaml.AliasEvent):
            raise _invalid("aliases (*name) are not allowed; write the value itself", event.start_mark)
        if getattr(event, "tag", None) is not None:
            raise _invalid("tags (!name) are not allowed; leave it out, or quote the text", event.start_mark)
        if self.depth == MAX_DEPTH:
            what = f"nested deeper than {MAX_DEPTH} levels; config.example.yaml shows the shape"
            raise _invalid(what, event.start_mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _invalid(what: str, mark: Any = None, line: int = 1) -> Invalid:
    return Invalid(Fault(mark.line + 1, mark.column + 1, "", what) if mark else Fault(line, 1, "", what))


def compose(content: str) -> Node | None:
    """Return the root node of a YAML text; None for a text without any value.

    Raises Invalid with the fault at which YAML gives up.
    """
    root = compose_marked(content)
    return None if root is None else _own(root)


def _own(node: yaml.Node) -> Node:
    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    if isinstance(node, yaml.MappingNode):
        return MappingNode(line, column, tuple((_own(name), _own(value)) for name, value in node.value))
    if isinstance(node, yaml.SequenceNode):
        return SequenceNode(line, column, tuple(map(_own, node.value)))
    is_quoted = getattr(node, "style", None) is not None
    return ScalarNode(line, column, node.value, is_quoted, not is_quoted and node.tag == _NULL)


def compose_marked(content: str) -> yaml.Node | None:
    """Return the same as a node of PyYAML, which also knows where it ends."""
    try:
        root: yaml.Node | None = _Loader(content).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = printable(error.problem or error.context or "cannot be read")
        step = "correct the line, or put quotes around the text"
        if "\\t" in problem:
            step = "indent with spaces, not with tabs"
        raise _invalid(f"not YAML at column {mark.column + 1 if mark else 1}: {problem}; {step}", mark) from None
    except yaml.reader.ReaderError as error:
        character = f"U+{ord(content[error.position]):04X}"
        line = content.count("\n", 0, error.position) + 1
        raise _invalid(f"the character {character} is not allowed; remove it", line=line) from None
    except (ValueError, OverflowError) as error:
        # QUIRK: PyYAML converts the numbers in "\UFFFFFFFF" and "%YAML 99…9.1" unchecked, and gives no place.
        raise _invalid(f"not YAML: a number is too large ({error}); correct the \\U… or the line with %YAML") from None
    return root
