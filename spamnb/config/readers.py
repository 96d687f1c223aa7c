"""Turn YAML nodes into values, by one small function per kind of value, and collect every fault with its place.

A `Reader` takes a node and its dotted key. It returns a value or raises `Invalid`, which has all the faults below that
node. A reader that is made of others calls all of them before it raises, so that a user sees every fault at once. It
reads nodes and not constructed objects, because a node knows its line, its quotes, and both of two equal keys.
"""

import contextlib
import difflib
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from spamnb.base.patterns import lazy_pattern
from spamnb.config.default_paths import first_directory
from spamnb.config.nodes import MappingNode, Node, ScalarNode, SequenceNode
from spamnb.config.template import parse_template

T = TypeVar("T")
S = TypeVar("S", bound=str)

Reader = Callable[[Node, str], T]
Check = Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]]
"""Takes the values read so far, and yields pairs of a key and its fault."""


@dataclass(frozen=True, slots=True)
class DescribedReader(Generic[T]):
    """A reader, with its allowed values in words."""

    read: Reader[T]
    wanted: str

    def __call__(self, node: Node, key: str) -> T:
        """Read a value."""
        return self.read(node, key)


def allowed_values(reader: Reader[Any]) -> str:
    """Return a reader's allowed values in words. Raises TypeError for a reader of several keys."""
    if not isinstance(reader, DescribedReader):
        raise TypeError(f"{reader} has no words for what it wants")
    return reader.wanted


# YAML 1.1 takes 1e-3 for text, 010 for eight and 1:30 for ninety; people mean the numbers that they see.
_NUMBER = lazy_pattern(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_WHOLE = lazy_pattern(r"[-+]?[0-9]{1,18}")
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_LOOPBACK = lazy_pattern(r"127(?:\.(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])){3}")
_LONGEST_TAG = 200  # letters, as in notmuch (NOTMUCH_TAG_MAX)
_LONGEST_SOCKET = 107  # bytes of sun_path before its NUL (unix(7))
_USER = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?")
_HOST = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_SERVER = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_ACCOUNT = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_.@+=-]{0,253}")


class Fault(NamedTuple):
    """One fault: its line and column from 1, its dotted key, and what to write."""

    line: int
    column: int
    key: str
    what: str


class Invalid(Exception):  # noqa: N818 - this package catches it, and nobody sees its name
    """A value cannot be read, for one or more faults."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__(*faults)


def fault(node: Node, key: str, what: str) -> Fault:
    """Return a fault of a node."""
    return Fault(node.line, node.column, key, what)


def _invalid(node: Node, key: str, what: str) -> Invalid:
    return Invalid(fault(node, key, what))


def read_as(
    convert: Callable[[str], T | None], wanted: str, nearest: Sequence[str] = (), *, unquoted: bool = False
) -> Reader[T]:
    """Return the reader of a text. `convert` makes the value, and returns None or raises ValueError for a wrong text.

    Unless it must be `unquoted`, the text is taken exactly as written: a folder may have the name 2024, or No.
    """
    if_null = ", or leave the key out" if unquoted else " (a word such as null needs quotes)"

    def read(node: Node, key: str) -> T:
        if _is_null(node):
            raise _invalid(node, key, f"has no value; write {wanted}{if_null}")
        if not isinstance(node, ScalarNode):
            raise _invalid(node, key, f"is {_shape(node)}; write {wanted}")
        if unquoted and node.is_quoted:
            raise _invalid(node, key, f"is quoted text; write {wanted}, without quotes")
        try:
            value = convert(node.value)
        except ValueError as error:
            raise _invalid(node, key, str(error)) from None
        if value is None:
            what = f"{shown(node.value)} is not allowed; write {wanted}{_nearest(node.value, nearest)}"
            raise _invalid(node, key, what)
        return value

    return DescribedReader(read, wanted)


def number(low: float, high: float, *, above: bool = False) -> Reader[float]:
    """Return the reader of a finite number from `low` to `high`; `above` leaves out `low` itself."""

    def convert(written: str) -> float | None:
        value = float(written) if _NUMBER.fullmatch(written) else math.nan
        return value if low <= value <= high and not (above and value == low) else None

    return read_as(convert, f"a number {'above' if above else 'from'} {low} to {high}", unquoted=True)


def read_text(reader: Reader[T], written: str) -> T:
    """Return the value of a key that is not written in a file. Raises ValueError with the fault and what to write."""
    try:
        return reader(ScalarNode(1, 1, written, is_quoted=False, is_null=False), "")
    except Invalid as invalid:
        raise ValueError(invalid.faults[0].what) from None


def whole(low: int, high: int) -> Reader[int]:
    """Return the reader of a whole number from `low` to `high`."""

    def convert(written: str) -> int | None:
        return int(written) if _WHOLE.fullmatch(written) and low <= int(written) <= high else None

    return read_as(convert, f"a whole number from {low} to {high}", unquoted=True)


flag: Reader[bool] = read_as(lambda written: _FLAGS.get(written.lower()), "true or false", unquoted=True)
"""True or false, in any of YAML's words for them."""


def choice(allowed: Sequence[S]) -> Reader[S]:
    """Return the reader of one of a few words."""
    return read_as({str(word): word for word in allowed}.get, f"one of {', '.join(allowed)}", allowed)


def absolute_path(environ: Mapping[str, str], *, is_file: bool = False) -> Reader[Path]:
    """Return the reader of an absolute path, with "~" for the home directory in `environ`. It may have fields.

    is_file: the path of a file, and not of a mailbox.
    """
    home = first_directory(environ, "HOME")
    wanted = "a full path such as /home/you/Maildir or ~/Maildir"

    def convert(written: str) -> Path:
        first, _, rest = written.partition("/")
        if "\0" in written:
            raise ValueError(f"holds a NUL character; write {wanted}")
        if first == "~" and home is None:
            raise ValueError("'~' has no meaning because HOME is not set; write the full path")
        path = home / rest.lstrip("/") if first == "~" and home is not None else Path(written)
        if not path.is_absolute():
            raise ValueError(f"{shown(written)} is not a full path; write {wanted}")
        path = Path("/", *path.parts[1:])  # POSIX lets "//m" and "/m" be different places; Linux does not
        parse_template(str(path), is_file=is_file)
        return path

    return read_as(convert, wanted)


def full_path(example: str) -> Reader[Path]:
    """Return the reader of the path of a file, from the root."""

    def convert(written: str) -> Path:
        if not written.startswith("/") or "\0" in written:
            raise ValueError(f"{shown(written)} is not a full path; write one such as {example}")
        return Path(os.path.normpath(written))

    return read_as(convert, "a full path")


def _folder(name: str) -> str:
    if "\0" in name or any(level in ("", ".", "..") for level in name.removeprefix("./").split("/")):
        raise ValueError(f"{shown(name)} cannot be a folder's name; write a name such as Junk or Lists/Python")
    return name


folder: Reader[str] = read_as(_folder, "a folder's name")
"""A folder's name, with "/" between the levels. It cannot lead out of the Maildir.

"./" before it marks the second of two directories whose names read alike (`spamnb.maildir.folders`).
"""


def optional(reader: Reader[T]) -> Reader[T | None]:
    """Return the reader of another kind of value, or of null."""
    wanted = f"{allowed_values(reader)}, or null"
    return DescribedReader(lambda node, key: None if _is_null(node) else reader(node, key), wanted)


def list_of(reader: Reader[T], wanted: str, *, may_be_empty: bool = False) -> Reader[tuple[T, ...]]:
    """Return the reader of a list of one kind of value."""

    def read(node: Node, key: str) -> tuple[T, ...]:
        if not isinstance(node, SequenceNode) or not (node.value or may_be_empty):
            shape = "an empty list" if isinstance(node, SequenceNode) else _shape(node)
            raise _invalid(node, key, f"is {shape}; write {wanted}")
        values: list[T] = []
        with _all_faults() as faults:
            for index, item in enumerate(node.value):
                with _kept(faults):
                    values.append(reader(item, f"{key}[{index}]"))
        return tuple(values)

    return DescribedReader(read, wanted)


def patterns_of(convert: Callable[[str], str], wanted: str) -> Reader[tuple[str, ...]]:
    """Return the reader of a list of texts, which may be empty. `convert` raises ValueError for a wrong text."""
    item = read_as(convert, wanted)
    some = list_of(item, wanted)

    def read(node: Node, key: str) -> tuple[str, ...]:
        is_empty = isinstance(node, SequenceNode) and not node.value
        return () if is_empty else some(node, key)

    return DescribedReader(read, wanted)


def mapping_of(names: Reader[str], values: Reader[T], wanted: str) -> Reader[Mapping[str, T]]:
    """Return the reader of a mapping with free names, each with one kind of value, in the order written."""

    def read(node: Node, key: str) -> Mapping[str, T]:
        if not isinstance(node, MappingNode):
            raise _invalid(node, key, f"is {_shape(node)}; write {wanted}")
        found: dict[str, T] = {}
        with _all_faults() as faults:
            for name, (name_node, value_node) in _entries(node, key, faults).items():
                with _kept(faults):
                    here = dotted(key, name)
                    found[names(name_node, here)] = values(value_node, here)
        return MappingProxyType(found)

    return DescribedReader(read, wanted)


def _address(written: str) -> str:
    """Return a socket's path, or a loopback address with a port, in the form of systemd.socket(5)."""
    wanted = "the full path of a socket such as /run/spamnb/spamd.sock, or 127.0.0.1:783"
    if written.startswith("/"):
        if "\0" in written or len(os.fsencode(written)) > _LONGEST_SOCKET:
            raise ValueError(f"{shown(written)} cannot be a socket's path; write at most {_LONGEST_SOCKET} bytes")
        return os.path.normpath(written)
    host, _, port = written.rpartition(":")
    if not (_WHOLE.fullmatch(port) and 0 < int(port) < 1 << 16):
        raise ValueError(f"{shown(written)} is not allowed; write {wanted}")
    if not _LOOPBACK.fullmatch(host):
        raise ValueError(f"{shown(written)} can be reached from outside this host; write 127.0.0.1:{int(port)}")
    return f"{host}:{int(port)}"


addresses: Reader[tuple[str, ...]] = list_of(
    read_as(_address, "an address"), "a list such as [/run/spamnb/spamd.sock], or [] for none", may_be_empty=True
)
"""The addresses of the service: paths of sockets, and loopback addresses with a port."""


def _user(name: str) -> str:
    if not _USER.fullmatch(name):
        raise ValueError(f"{shown(name)} cannot be a user; write a login name such as Debian-exim, or a number")
    return name


users: Reader[tuple[str, ...]] = list_of(
    read_as(_user, "a user"), "a list of login names such as [Debian-exim], or [] for none", may_be_empty=True
)
"""Users of this host, by name or number. It does not check whether they exist."""

connection: Reader[str] = read_as(
    lambda written: written if written.isprintable() and written.strip() else None,
    "a connection string of libpq, such as service=spamnb",
)
"""The connection to a database. It does not check whether the database answers."""

host_name: Reader[str] = read_as(
    lambda written: written if _HOST.fullmatch(written) else None, "the name of a host such as mx1"
)
"""The name of one of several hosts."""

server_name: Reader[str] = read_as(
    lambda written: written if _SERVER.fullmatch(written) else None,
    "the site in the first word of your server's Authentication-Results, such as example.org",
)
"""A name that a server writes into its Authentication-Results fields (RFC 8601, 2.5), or the site in it."""

tag: Reader[str] = read_as(
    lambda written: written if len(written) <= _LONGEST_TAG and written.isprintable() and written.strip() else None,
    "a tag such as spam",
)
"""A tag of notmuch. It does not check whether a message has it."""

account_name: Reader[str] = read_as(
    lambda written: written if _ACCOUNT.fullmatch(written) else None, "a name such as anna@example.org"
)
"""The name of a user on all hosts."""


def record(
    readers: Mapping[str, Reader[Any]],
    defaults: Mapping[str, Any],
    check: Check = lambda _: (),
    refused: Mapping[str, str] = MappingProxyType({}),
) -> Reader[dict[str, Any]]:
    """Return the reader of a mapping with known keys, each with its own reader. A key without a default must be there.

    check: it gets the defaults and all values that could be read, so its faults are raised with the others.
    refused: keys that are not allowed here, with what to do about each.
    """

    def read(node: Node, key: str) -> dict[str, Any]:
        if not isinstance(node, MappingNode) and not _is_null(node):
            raise _invalid(node, key, f"is {_shape(node)}; write keys below it: {', '.join(readers)}")
        with _all_faults() as faults:
            entries = _entries(node, key, faults)
            values = {name: value for name, value in defaults.items() if name not in entries}
            for name, (name_node, value_node) in entries.items():
                here = dotted(key, name)
                if name in readers:
                    with _kept(faults):
                        values[name] = readers[name](value_node, here)
                else:
                    unknown = f"is not a key; the keys are {', '.join(readers)}{_nearest(name, list(readers))}"
                    faults.append(fault(name_node, here, refused.get(name, unknown)))
            for name in readers:
                if name not in entries and name not in defaults:
                    faults.append(fault(node, dotted(key, name), "is missing; add this key"))
            for name, what in check(values):
                faults.append(fault(entries[name][1] if name in entries else node, dotted(key, name), what))
        return values

    return read


@contextlib.contextmanager
def _all_faults() -> Iterator[list[Fault]]:
    """Yield a list for faults, and raise them together at the end if there are any."""
    faults: list[Fault] = []
    yield faults
    if faults:
        raise Invalid(*faults)


@contextlib.contextmanager
def _kept(faults: list[Fault]) -> Iterator[None]:
    try:
        yield
    except Invalid as invalid:
        faults += invalid.faults


def _entries(node: Node, key: str, faults: list[Fault]) -> dict[str, tuple[ScalarNode, Node]]:
    """Return the entries of a mapping by name. A section with only comments has none.

    An entry that is written twice, or has no name, is a fault.
    """
    entries: dict[str, tuple[ScalarNode, Node]] = {}
    for name_node, value_node in node.value if isinstance(node, MappingNode) else ():
        if not isinstance(name_node, ScalarNode):
            faults.append(fault(name_node, key, f"a key is {_shape(name_node)}; write a name, in quotes"))
        elif name_node.value in entries:
            first = entries[name_node.value][0].line
            what = f"is written twice, first in line {first}; keep one"
            faults.append(fault(name_node, dotted(key, name_node.value), what))
        else:
            entries[name_node.value] = (name_node, value_node)
    return entries


def dotted(key: str, name: str) -> str:
    """Return the key of an entry: `scoring.alpha`, or `roles['Junk E-mail']` if a name is not a plain word."""
    if not re.fullmatch(r"[\w-]+", name):
        return f"{key}[{shown(name)}]"
    return f"{key}.{name}" if key else name


def printable(text: str) -> str:
    """Return text so that a terminal can show it: escaped if it has other characters."""
    return text if text.isprintable() else repr(text)


def shown(value: str) -> str:
    """Return text from the file so that a terminal can show it: quoted, escaped and short."""
    return repr(value if len(value) <= 60 else value[:57] + "...")


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.is_null


def _shape(node: Node) -> str:
    if isinstance(node, ScalarNode):
        return "empty" if _is_null(node) else f"the text {shown(node.value)}"
    return "a list" if isinstance(node, SequenceNode) else "a mapping"


def _nearest(word: str, allowed: Sequence[str]) -> str:
    section, dot, rest = word[:60].partition(".")
    if dot and section in allowed:
        return f" (write {shown(rest + ':')} below {shown(section + ':')})"
    near = difflib.get_close_matches(word[:60], allowed, n=1)
    return f" (did you mean {near[0]}?)" if near else ""
