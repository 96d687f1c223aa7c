"""Read a file into a Config, or raise one error that names every fault in it."""

import contextlib
import errno
import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from spamnb.base.errors import ConfigError, UsageError
from spamnb.config import kept_nodes
from spamnb.config.default_paths import SYSTEM_CONFIG, default_config_path, default_ledger_path
from spamnb.config.kept_nodes import Stamp
from spamnb.config.keys import config_reader, written_in
from spamnb.config.nodes import Node
from spamnb.config.readers import Fault, Invalid, printable
from spamnb.config.settings import Config
from spamnb.config.users import Users

MAX_BYTES = 131_072
"""A thousand named folders take a third of this; a file of this size is read in about a second."""


def load(path: str | os.PathLike[str], environ: Mapping[str, str] = os.environ) -> Config:
    """Read the configuration of one person at `path`.

    Raises ConfigError with all faults of the file, one per line, and UsageError if it is a mail host's.
    """
    config = load_any(path, environ)
    if config.is_template:
        what = f"{printable(os.fspath(path))} is the configuration of a mail host"
        own = "; or set up your own mail: spamnb init" if os.fspath(path) == str(SYSTEM_CONFIG) else ""
        raise UsageError(f"{what}: name one of its users: spamnb --user NAME COMMAND{own}")
    return config


def load_any(path: str | os.PathLike[str], environ: Mapping[str, str] = os.environ) -> Config:
    """Read the configuration at `path`, of one person or of a mail host. Raises ConfigError like `load`."""
    source = printable(os.fspath(path))
    try:
        with as_config_error(source):
            config = _load_kept(path, environ)
    except FileNotFoundError:
        usual = os.fspath(path) == str(default_config_path(environ))
        step = "Run: spamnb init" if usual else f"Check the path, or run: spamnb --config {shlex.quote(source)} init"
        raise ConfigError(f"No configuration at {source}. {step}") from None
    if config.is_template or not config.ledger.is_symlink():  # only the owner may look at the ledgers of a mail host
        return config
    # Locks and copies are in the directory of the ledger itself.
    return replace(config, ledger=Path(os.path.realpath(config.ledger)))


def _load_kept(path: str | os.PathLike[str], environ: Mapping[str, str]) -> Config:
    """Read the configuration at `path`, from the nodes of its last reading if it is still the same file."""
    place = kept_nodes.place_for(path, environ)
    with _opened(path) as file:
        before = Stamp.of(file.fileno())
        known = kept_nodes.read(place, before)
        content = b"" if known is not None else file.read(MAX_BYTES + 1)
        after = Stamp.of(file.fileno())
    root = known if known is not None else compose(_decoded(content, printable(os.fspath(path))))
    config = _of_config(root, environ)
    if known is None and before == after:  # and the file has no fault
        kept_nodes.keep(place, before, root)
    return config


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
    with _opened(path, is_file=is_file) as file:
        content = file.read(MAX_BYTES + 1)
    return _decoded(content, printable(os.fspath(path)))


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str], *, is_file: bool = False) -> Iterator[BinaryIO]:
    try:
        with open(path, "rb", opener=_open_file if is_file else None) as file:
            yield file
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigError(
            f"{printable(os.fspath(path))}: cannot be read ({reason}); check the path and its permissions, "
            "or name another file with --config"
        ) from None


def _decoded(content: bytes, source: str) -> str:
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
    _check_size(content, printable(source))
    with as_config_error(source):
        return _of_config(compose(content), environ)


@contextlib.contextmanager
def as_config_error(source: str) -> Iterator[None]:
    """Raise the faults of a text as one ConfigError, with one line and its place for each."""
    try:
        yield
    except Invalid as invalid:
        where = printable(source)
        lines = [f"{where}:{each.line}: {each.key and each.key + ': '}{each.what}" for each in sorted(invalid.faults)]
        raise ConfigError("\n".join(lines)) from None


def compose(content: str) -> Node:
    """Return the root node of a YAML text. Raises Invalid with the fault at which YAML gives up."""
    root = compose_any(content)
    if root is None:
        raise Invalid(Fault(1, 1, "", "the file is empty; remove it and run: spamnb init"))
    return root


def compose_any(content: str) -> Node | None:
    """Return the root node of a YAML text; None for a text without any value. Raises Invalid."""
    from spamnb.config import yaml_text  # noqa: PLC0415 - an eighth of a command, whose configuration is mostly kept

    return yaml_text.compose(content)


def _of_config(root: Node, environ: Mapping[str, str]) -> Config:
    """Return the values of a configuration. Raises Invalid."""
    values = config_reader(environ)(root, "")
    if values["ledger"] is None:
        values["ledger"] = default_ledger_path(environ)
    if values["users"] is None:
        values["users"] = Users()
    return Config(**{**values, "written": written_in(root)})


def _check_size(content: str | bytes, source: str) -> None:
    if len(content) > MAX_BYTES:
        raise ConfigError(
            f"{source}: longer than {MAX_BYTES} bytes; leave out folders that 'other_folders' covers, "
            "or name another file with --config"
        )
