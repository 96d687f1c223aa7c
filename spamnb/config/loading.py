"""Read a file into a Config, or raise one error that names every fault in it."""

import contextlib
import errno
import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from spamnb.base.errors import ConfigError, UsageError
from spamnb.config.default_paths import SYSTEM_CONFIG, default_config_path, default_ledger_path
from spamnb.config.keys import config_reader, written_in
from spamnb.config.readers import Fault, Invalid
from spamnb.config.settings import Config
from spamnb.config.users import Users

MAX_BYTES = 131_072
"""A thousand named folders take a third of this; a file of this size is read in about a second."""

MAX_DEPTH = 16
"""Levels of lists and mappings; a configuration needs five."""


def load(path: str | os.PathLike[str], environ: Mapping[str, str] = os.environ) -> Config:
    """Read the configuration of one person at `path`.

    Raises ConfigError with all faults of the file, one per line, and UsageError if it is a mail host's.
    """
    config = load_any(path, environ)
    if config.is_template:
        what = f"{_printable(os.fspath(path))} is the configuration of a mail host"
        own = "; or set up your own mail: spamnb init" if os.fspath(path) == str(SYSTEM_CONFIG) else ""
        raise UsageError(f"{what}: name one of its users: spamnb --user NAME COMMAND{own}")
    return config


def load_any(path: str | os.PathLike[str], environ: Mapping[str, str] = os.environ) -> Config:
    """Read the configuration at `path`, of one person or of a mail host. Raises ConfigError like `load`."""
    source = _printable(os.fspath(path))
    try:
        config = parse(read_text(path), source, environ)
    except FileNotFoundError:
        usual = os.fspath(path) == str(default_config_path(environ))
        step = "Run: spamnb init" if usual else f"Check the path, or run: spamnb --config {shlex.quote(source)} init"
        raise ConfigError(f"No configuration at {source}. {step}") from None
    if config.is_template or not config.ledger.is_symlink():  # only the owner may look at the ledgers of a mail host
        return config
    # Locks and copies are in the directory of the ledger itself.
    return replace(config, ledger=Path(os.path.realpath(config.ledger)))


def _open_file(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return descriptor


def read_text(path: str | os.PathLike[str], *, is_file: bool = False) -> str:
    """Return the text of a file of settings. Raises FileNotFoundError, and ConfigError if it cannot be read.

    is_file: read only a regular file, so that a service does not wait for a pipe that never ends.
    """
    source = _printable(os.fspath(path))
    try:
        with open(path, "rb", opener=_open_file if is_file else None) as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigError(
            f"{source}: cannot be read ({reason}); check the path and its permissions, "
            "or name another file with --config"
        ) from None
    _check_size(content, source)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"the byte 0x{content[error.start]:02x}"
        raise ConfigError(f"{source}:{line}: {byte} is not UTF-8; save the file as UTF-8") from None


def parse(content: str, source: str, environ: Mapping[str, str] = os.environ) -> Config:
    """Read the text of a configuration, of one person or of a mail host; `source` names it in messages.

    Raises ConfigError with all faults, one per line. It touches no file, and does not check whether the mailboxes
    exist.
    """
    _check_size(content, _printable(source))
    with as_config_error(source):
        root = compose(content)
        values = config_reader(environ)(root, "")
    if values["ledger"] is None:
        values["ledger"] = default_ledger_path(environ)
    if values["users"] is None:
        values["users"] = Users()
    return Config(**{**values, "written": written_in(root)})


@contextlib.contextmanager
def as_config_error(source: str) -> Iterator[None]:
    """Raise the faults of a text as one ConfigError, with one line and its place for each."""
    try:
        yield
    except Invalid as invalid:
        where = _printable(source)
        lines = [f"{where}:{each.line}: {each.key and each.key + ': '}{each.what}" for each in sorted(invalid.faults)]
        raise ConfigError("\n".join(lines)) from None


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


def compose(content: str) -> yaml.Node:
    """Return the root node of a YAML text. Raises Invalid with the fault at which YAML gives up."""
    root = compose_any(content)
    if root is None:
        raise _invalid("the file is empty; remove it and run: spamnb init")
    return root


def compose_any(content: str) -> yaml.Node | None:
    """Return the root node of a YAML text; None for a text without any value. Raises Invalid."""
    try:
        root: yaml.Node | None = _Loader(content).get_single_node()
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
        raise _invalid(f"not YAML: a number is too large ({error}); correct the \\U… or the line with %YAML") from None
    return root


def _printable(text: str) -> str:
    return text if text.isprintable() else repr(text)


def _check_size(content: str | bytes, source: str) -> None:
    if len(content) > MAX_BYTES:
        raise ConfigError(
            f"{source}: longer than {MAX_BYTES} bytes; leave out folders that 'other_folders' covers, "
            "or name another file with --config"
        )
