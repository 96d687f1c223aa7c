"""A mailbox added to the text of a configuration, which stays as it is otherwise."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import yaml

from spamnb.config.loading import compose, parse
from spamnb.config.values import Mailbox
from spamnb.config.writing import render_items
from spamnb.errors import ConfigError


def add_mailboxes(content: str, mailboxes: Sequence[Mailbox], source: str, environ: Mapping[str, str]) -> str | None:
    """The text with more mailboxes behind those that it has; None where its form has no place for them.

    Everything that was written stays to the letter, comments too. What comes out is read again, and has to be what was
    written, with the new mailboxes behind. `source` and `environ` are those of `parse`. Raises ConfigError where the
    text is faulty.
    """
    before = parse(content, source, environ)
    wanted = replace(before, mailboxes=(*before.mailboxes, *mailboxes))
    place = _end_of_mailboxes(content)
    if place is None:
        return None
    at, indent = place
    line_end = "\r\n" if "\r\n" in content else "\n"
    lines = [" " * indent + line for line in render_items(mailboxes).splitlines()]
    gap = "" if content[:at].endswith("\n") else line_end
    changed = content[:at] + gap + line_end.join([*lines, ""]) + content[at:]
    try:
        after = parse(changed, source, environ)
    except ConfigError:
        return None
    return changed if after == wanted and _in_order(after.mailboxes) == _in_order(wanted.mailboxes) else None


def _in_order(mailboxes: Sequence[Mailbox]) -> list[tuple[list[str], list[str]]]:
    return [(list(mailbox.roles), list(mailbox.patterns)) for mailbox in mailboxes]


def _end_of_mailboxes(content: str) -> tuple[int, int] | None:
    """Where the line after the last mailbox begins, and how far its dash is indented; None where it is no such list."""
    root = compose(content)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        return None
    items = next((value for key, value in root.value if key.value == "mailboxes"), None)
    if not isinstance(items, yaml.SequenceNode) or items.flow_style:
        return None
    indent = items.start_mark.column
    end = content.find("\n", _last_index(items))
    if end < 0:
        return len(content), indent
    end += 1
    # A key that is commented out belongs to the mailbox above it, which its indentation shows.
    tail = re.compile(rf"(?:[ \t]*\r?\n)*[ ]{{{indent + 1},}}#[^\n]*(?:\n|\Z)")
    while (found := tail.match(content, end)) is not None:
        end = found.end()
    return end, indent


def _last_index(node: yaml.Node) -> int:
    """Where the last value of a node ends; a list or mapping in a block ends only where the next thing begins."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        return max(map(_last_index, last if isinstance(last, tuple) else (last,)))
    return int(node.end_mark.index)
