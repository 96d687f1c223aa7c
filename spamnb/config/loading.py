"""From a file to a Config, or to one error that names every fault in it."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from spamnb.base.errors import ConfigError
from spamnb.config.default_paths import default_config_path, default_ledger_path
from spamnb.config.keys import config_reader
from spamnb.config.readers import Fault, Invalid
from spamnb.config.settings import Config

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
    _check_size(content, source)
    try:
        decoded = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"the byte 0x{content[error.start]:02x}"
        raise ConfigError(f"{source}:{line}: {byte} is not UTF-8; save the file as UTF-8") from None
    config = parse(decoded, source, environ)
    # Locks and copies go by the directory of the ledger itself.
    return replace(config, ledger=Path(os.path.realpath(config.ledger))) if config.ledger.is_symlink() else config


def parse(content: str, source: str, environ: Mapping[str, str] = os.environ) -> Config:
    """Read the text of a configuration; `source` names it in messages.

    Raises ConfigError with all faults, one a line. No file is touched: whether the mailboxes exist is not
    asked here.
    """
    source = _printable(source)
    _check_size(content, source)
    try:
        values = config_reader(environ)(compose(content), "")
    except Invalid as invalid:
        lines = [f"{source}:{each.line}: {each.key and each.key + ': '}{each.what}" for each in sorted(invalid.faults)]
        raise ConfigError("\n".join(lines)) from None
    if values["ledger"] is None:
        values["ledger"] = default_ledger_path(environ)
    return Config(**values)


class _Loader(yaml.SafeLoader):
    """Composes nodes without aliases (a few lines of them stand for gigabytes), tags, or deep nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it out
        if isinstance(event, yaml.AliasEvent):
            raise _invalid("aliases (*name) are not read; write the value out", event.start_mark)
        if getattr(event, "tag", None) is not None:
            raise _invalid("tags (!name) are not read; leave it out, or quote the text", event.start_mark)
        if self.depth == MAX_DEPTH:
            what = f"nested deeper than {MAX_DEPTH} levels; config.example.yaml shows the shape"
            raise _invalid(what, event.start_mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _invalid(what: str, mark: Any = None, line: int = 1) -> Invalid:
    return Invalid(Fault(mark.line + 1, mark.column + 1, "", what) if mark else Fault(line, 1, "", what))


def compose(content: str) -> yaml.Node:
    """The root node of a YAML text. Raises Invalid with the one fault at which YAML gives up."""
    try:
        root = _Loader(content).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = _printable(error.problem or error.context or "cannot be read")
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
        raise _invalid(f"not YAML ({error}); remove the escape or directive with this number") from None
    if root is None:
        raise _invalid("the file is empty; remove it and run: spamnb init")
    return root


def _printable(text: str) -> str:
    return text if text.isprintable() else repr(text)


def _check_size(content: str | bytes, source: str) -> None:
    if len(content) > MAX_BYTES:
        raise ConfigError(
            f"{source}: longer than {MAX_BYTES} bytes; leave out folders that 'other_folders' covers, "
            "or name another file with --config"
        )
