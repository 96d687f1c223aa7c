"""From a file to a Config, or to one error that names every fault in it."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from spamnb.config.places import default_config_path, default_ledger_path, without_link
from spamnb.config.reading import Fault, Wrong
from spamnb.config.schema import config_kind
from spamnb.config.values import Config
from spamnb.errors import ConfigError

MAX_BYTES = 131_072
"""A thousand named folders take a third of this; the whole of it is read in about a second."""

MAX_DEPTH = 16
"""Lists and mappings within each other; a configuration needs five."""


def load(path: str | os.PathLike[str], environ: Mapping[str, str] = os.environ) -> Config:
    """Read the configuration at `path`.

    Raises ConfigError with all faults of the file, one a line.
    """
    source = _printable(os.fspath(path))
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        usual = os.fspath(path) == str(default_config_path(environ))
        step = "Run: spamnb init" if usual else f"Check the path, or run: spamnb --config {shlex.quote(source)} init"
        raise ConfigError(f"No configuration at {source}. {step}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigError(
            f"{source}: cannot be read ({reason}); check the path and its permissions, "
            "or name another file with --config"
        ) from None
    if len(content) > MAX_BYTES:
        raise _too_long(source)
    try:
        decoded = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"the byte 0x{content[error.start]:02x}"
        raise ConfigError(f"{source}:{line}: {byte} is not UTF-8; save the file as UTF-8") from None
    config = parse(decoded, source, environ)
    return replace(config, ledger=without_link(config.ledger))


def parse(content: str, source: str, environ: Mapping[str, str] = os.environ) -> Config:
    """Read the text of a configuration; `source` names it in messages.

    Raises ConfigError with all faults, one a line. No file is touched: whether the mailboxes exist is not
    asked here.
    """
    source = _printable(source)
    if len(content) > MAX_BYTES:
        raise _too_long(source)
    try:
        values = config_kind(environ)(compose(content), "")
    except Wrong as wrong:
        raise ConfigError("\n".join(_line(source, each) for each in sorted(wrong.faults))) from None
    if values["ledger"] is None:
        values["ledger"] = default_ledger_path(environ)
    return Config(**values)


class _Loader(yaml.SafeLoader):
    """Composes nodes without aliases (a few lines of them stand for gigabytes), tags, or deep nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it out
        if isinstance(event, yaml.AliasEvent):
            raise _at(event, "aliases (*name) are not read; write the value out")
        if getattr(event, "tag", None) is not None:
            raise _at(event, "tags (!name) are not read; leave it out, or quote the text")
        if self.depth == MAX_DEPTH:
            raise _at(event, f"nested deeper than {MAX_DEPTH} levels; config.example.yaml shows the shape")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _at(event: yaml.Event, what: str) -> Wrong:
    line, column = _place(event.start_mark)
    return Wrong(Fault(line, column, "", what))


def _place(mark: Any) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def compose(content: str) -> yaml.Node:
    """The root node of a YAML text, or Wrong with the one fault at which YAML gives up."""
    try:
        root = _Loader(content).get_single_node()
    except yaml.MarkedYAMLError as error:
        line, column = _place(error.problem_mark or error.context_mark)
        problem = _printable(error.problem or error.context or "cannot be read")
        tab = "\\t" in problem
        step = "indent with spaces, not with tabs" if tab else "correct the line, or put quotes around the text"
        raise Wrong(Fault(line, column, "", f"not YAML at column {column}: {problem}; {step}")) from None
    except yaml.reader.ReaderError as error:
        line = content.count("\n", 0, error.position) + 1
        what = f"the character U+{ord(content[error.position]):04X} is not allowed; remove it"
        raise Wrong(Fault(line, 1, "", what)) from None
    except (ValueError, OverflowError) as error:
        # QUIRK: PyYAML converts the numbers in "\UFFFFFFFF" and "%YAML 99…9.1" unchecked, and gives no place.
        raise Wrong(Fault(1, 1, "", f"not YAML ({error}); remove the escape or directive with this number")) from None
    if root is None:
        what = "the file is empty; remove it and run: spamnb init"
        raise Wrong(Fault(1, 1, "", what))
    return root


def _line(source: str, fault: Fault) -> str:
    key = f"{fault.key}: " if fault.key else ""
    return f"{source}:{fault.line}: {key}{fault.what}"


def _printable(text: str) -> str:
    return text if text.isprintable() else repr(text)


def _too_long(source: str) -> ConfigError:
    return ConfigError(
        f"{source}: longer than {MAX_BYTES} bytes; leave out folders that 'other_folders' covers, "
        "or name another file with --config"
    )
