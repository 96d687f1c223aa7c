"""Every key of the configuration with what is to be known of it: from the example, and from the table that reads it."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from spamnb.config.keys import wanted
from spamnb.config.writing import example


@dataclass(frozen=True, slots=True)
class Key:
    """A key, or a section of keys, which has no `default` and no `wanted`.

    default: as the example writes it, on one line; "" where the key must be written, or holds several lines.
    wanted: what may be written, in words. about: why one would change it.
    """

    name: str
    default: str
    wanted: str
    about: str


def keys() -> Iterator[Key]:
    """All keys in the order of the example, each section before its own."""
    text = example()
    lines, values = text.splitlines(), wanted()
    for name, key_node, value_node in _nodes(yaml.compose(text, yaml.SafeLoader), ""):
        written = text[value_node.start_mark.index : value_node.end_mark.index].strip()
        is_plain = name in values and "\n" not in written
        about = _comment_above(lines, key_node.start_mark.line)
        yield Key(name, written if is_plain else "", values.get(name, ""), about)


def _nodes(node: yaml.Node | None, above: str) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """Each key with its value; below `mailboxes` those of its first item, and nothing below `roles`."""
    if isinstance(node, yaml.SequenceNode) and node.value:
        yield from _nodes(node.value[0], above)
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        name = f"{above}{key.value}"
        yield name, key, value
        if key.value != "roles":
            yield from _nodes(value, f"{name}.")


def _comment_above(lines: list[str], line: int) -> str:
    first = line
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return textwrap.dedent("\n".join(text.lstrip().removeprefix("#") for text in lines[first:line]))
