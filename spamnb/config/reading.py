"""From YAML nodes to values, one small function a kind of value, with every fault kept and placed.

A `Kind` takes a node and the dotted key it stands at, and returns a value or raises `Wrong`, which carries
all the faults found below that node. A kind that is made of others reads all of them before it raises, so a
person sees every fault at once. Nodes are read instead of constructed objects because a node knows its line,
whether it was quoted, and both of two equal keys.
"""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import yaml

from spamnb.config.places import first_directory

T = TypeVar("T")
S = TypeVar("S", bound=str)

Kind = Callable[[yaml.Node, str], T]
Check = Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]]
"""From the values read so far to pairs of a key and what is wrong with it."""

# YAML 1.1 takes 1e-3 for text, 010 for eight and 1:30 for ninety; people mean what they see.
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NULL = "tag:yaml.org,2002:null"


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that is wrong: where it stands (line and column from 1), its dotted key, what to write."""

    line: int
    column: int
    key: str
    what: str


class Wrong(Exception):  # noqa: N818 - it is caught in this package and never shown by its name
    """A value cannot be read, for one or more faults."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__(*faults)


def fault(node: yaml.Node, key: str, what: str) -> Fault:
    """A fault at the place of a node."""
    return Fault(node.start_mark.line + 1, node.start_mark.column + 1, key, what)


def number(low: float, high: float, *, above: bool = False, below: bool = False) -> Kind[float]:
    """A finite number from `low` to `high`; `above` leaves out `low` itself, `below` leaves out `high`."""
    wanted = f"a number {'above' if above else 'from'} {low} {'to below' if below else 'to'} {high}"

    def read(node: yaml.Node, key: str) -> float:
        text = _plain(node, key, wanted)
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if low <= value <= high and not (above and value == low) and not (below and value == high):
            return value
        raise Wrong(fault(node, key, f"{shown(text)} is not allowed; write {wanted}"))

    return read


def whole(low: int, high: int) -> Kind[int]:
    """A whole number from `low` to `high`."""
    wanted = f"a whole number from {low} to {high}"

    def read(node: yaml.Node, key: str) -> int:
        text = _plain(node, key, wanted)
        if _WHOLE.fullmatch(text) and low <= int(text) <= high:
            return int(text)
        raise Wrong(fault(node, key, f"{shown(text)} is not allowed; write {wanted}"))

    return read


def flag(node: yaml.Node, key: str) -> bool:
    """True or false, in any of YAML's words for them."""
    text = _plain(node, key, "true or false")
    if text.lower() in _FLAGS:
        return _FLAGS[text.lower()]
    raise Wrong(fault(node, key, f"{shown(text)} is not allowed; write true or false"))


def choice(allowed: Sequence[S]) -> Kind[S]:
    """One of a few words."""
    wanted = f"one of {_listed(allowed)}"

    def read(node: yaml.Node, key: str) -> S:
        value = text(node, key, wanted)
        for word in allowed:
            if word == value:
                return word
        raise Wrong(fault(node, key, f"{shown(value)} is not allowed; write {wanted}{_nearest(value, allowed)}"))

    return read


def text(node: yaml.Node, key: str, wanted: str = "text") -> str:
    """Any text, quoted or not, just as it is written: a folder may be called 2024, or No."""
    if _is_null(node):
        raise Wrong(fault(node, key, f"has no value; write {wanted} (a word such as null needs quotes)"))
    if not isinstance(node, yaml.ScalarNode):
        raise Wrong(fault(node, key, f"is a {_shape(node)}; write {wanted}"))
    return str(node.value)


def absolute_path(environ: Mapping[str, str]) -> Kind[Path]:
    """A path that is absolute once a leading "~" stands for the home directory in `environ`."""
    home = first_directory(environ, "HOME")
    wanted = "a full path such as /home/you/Maildir or ~/Maildir"

    def read(node: yaml.Node, key: str) -> Path:
        written = text(node, key, wanted)
        first, _, rest = written.partition("/")
        if "\0" in written:
            raise Wrong(fault(node, key, f"holds a NUL character; write {wanted}"))
        if first == "~" and home is None:
            raise Wrong(fault(node, key, "'~' has no meaning because HOME is not set; write the full path"))
        path = home / rest.lstrip("/") if first == "~" and home is not None else Path(written)
        if not path.is_absolute():
            raise Wrong(fault(node, key, f"{shown(written)} is not a full path; write {wanted}"))
        return Path("/", *path.parts[1:])  # POSIX lets "//m" be another place than "/m"; Linux does not

    return read


def folder(node: yaml.Node, key: str) -> str:
    """A folder's name, "/" between the levels; never a way out of the Maildir.

    "./" before it marks the second of two directories that read alike (`spamnb.maildir.folders`).
    """
    name = text(node, key, "a folder's name")
    if "\0" in name or any(level in ("", ".", "..") for level in name.removeprefix("./").split("/")):
        raise Wrong(fault(node, key, f"{shown(name)} cannot name a folder; write a name such as Junk or Lists/Python"))
    return name


def optional(kind: Kind[T]) -> Kind[T | None]:
    """Another kind of value, or nothing."""
    return lambda node, key: None if _is_null(node) else kind(node, key)


def list_of(kind: Kind[T], wanted: str) -> Kind[tuple[T, ...]]:
    """A list that is not empty, of one kind of value."""

    def read(node: yaml.Node, key: str) -> tuple[T, ...]:
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            shape = "is an empty list" if isinstance(node, yaml.SequenceNode) else f"is {_article(node)}"
            raise Wrong(fault(node, key, f"{shape}; write {wanted}"))
        values: list[T] = []
        faults: list[Fault] = []
        for index, item in enumerate(node.value):
            try:
                values.append(kind(item, f"{key}[{index}]"))
            except Wrong as wrong:
                faults += wrong.faults
        if faults:
            raise Wrong(*faults)
        return tuple(values)

    return read


def mapping_of(names: Kind[str], values: Kind[T], wanted: str) -> Kind[Mapping[str, T]]:
    """A mapping with free names, each with one kind of value, in the order written."""

    def read(node: yaml.Node, key: str) -> Mapping[str, T]:
        if not isinstance(node, yaml.MappingNode):
            raise Wrong(fault(node, key, f"is {_article(node)}; write {wanted}"))
        entries, faults = _entries(node, key)
        found: dict[str, T] = {}
        for name, (name_node, value_node) in entries.items():
            try:
                here = dotted(key, name)
                found[names(name_node, here)] = values(value_node, here)
            except Wrong as wrong:
                faults += wrong.faults
        if faults:
            raise Wrong(*faults)
        return MappingProxyType(found)

    return read


def record(
    kinds: Mapping[str, Kind[Any]], defaults: Mapping[str, Any], check: Check = lambda _: ()
) -> Kind[dict[str, Any]]:
    """A mapping with known keys, each of its own kind; a key without a default must be there.

    `check` sees the defaults and all values that could be read, so that it too speaks in the same round.
    """

    def read(node: yaml.Node, key: str) -> dict[str, Any]:
        if not isinstance(node, yaml.MappingNode) and not _is_null(node):
            raise Wrong(fault(node, key, f"is {_article(node)}; write keys below it: {_listed(list(kinds))}"))
        entries, faults = _entries(node, key)
        values = {name: value for name, value in defaults.items() if name not in entries}
        for name, (name_node, value_node) in entries.items():
            here = dotted(key, name)
            if name not in kinds:
                known = list(kinds)
                what = f"is not a key; the keys are {_listed(known)}{_nearest(name, known)}"
                faults.append(fault(name_node, here, what))
                continue
            try:
                values[name] = kinds[name](value_node, here)
            except Wrong as wrong:
                faults += wrong.faults
        for name in kinds:
            if name not in entries and name not in defaults:
                faults.append(fault(node, dotted(key, name), "is missing; add this key"))
        for name, what in check(values):
            faults.append(fault(entries[name][1] if name in entries else node, dotted(key, name), what))
        if faults:
            raise Wrong(*faults)
        return values

    return read


def dotted(key: str, name: str) -> str:
    """The key of an entry: `scoring.alpha`, or `roles['Junk E-mail']` where a name is not a plain word."""
    if not re.fullmatch(r"[\w-]+", name):
        return f"{key}[{shown(name)}]"
    return f"{key}.{name}" if key else name


def shown(value: str) -> str:
    """Text from the file as it may be shown on a terminal: quoted, escaped, not long."""
    return repr(value if len(value) <= 60 else value[:57] + "...")


def _entries(node: yaml.Node, key: str) -> tuple[dict[str, tuple[yaml.Node, yaml.Node]], list[Fault]]:
    """The entries of a mapping by name, and a fault for each that is written twice or has no name."""
    entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    faults: list[Fault] = []
    for name_node, value_node in _pairs(node):
        if not isinstance(name_node, yaml.ScalarNode):
            faults.append(fault(name_node, key, f"a key is {_article(name_node)}; write a name, in quotes"))
        elif name_node.value in entries:
            first = entries[name_node.value][0].start_mark.line + 1
            faults.append(
                fault(
                    name_node,
                    dotted(key, name_node.value),
                    f"is written twice, first in line {first}; keep one",
                )
            )
        else:
            entries[name_node.value] = (name_node, value_node)
    return entries, faults


def _pairs(node: yaml.Node) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """The pairs of a mapping; a section whose keys are all commented out is null, and has none."""
    if isinstance(node, yaml.MappingNode):
        yield from node.value


def _plain(node: yaml.Node, key: str, wanted: str) -> str:
    """The text of a value that is written without quotes."""
    if _is_null(node):
        raise Wrong(fault(node, key, f"has no value; write {wanted}, or leave the key out"))
    if isinstance(node, yaml.ScalarNode) and node.style is not None:
        raise Wrong(fault(node, key, f"is quoted text; write {wanted}, without quotes"))
    return text(node, key, wanted)


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style is None and node.tag == _NULL


def _shape(node: yaml.Node) -> str:
    return "list" if isinstance(node, yaml.SequenceNode) else "mapping"


def _article(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return "empty" if _is_null(node) else f"the text {shown(node.value)}"
    return f"a {_shape(node)}"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)


def _nearest(word: str, allowed: Sequence[str]) -> str:
    near = difflib.get_close_matches(word[:60], allowed, n=1)
    return f" (did you mean {near[0]}?)" if near else ""
