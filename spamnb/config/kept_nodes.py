"""The nodes of a configuration as the program has read them, so that a command reads no YAML: that takes an eighth.

They are in the person's cache directory. They are only used if the file has not changed since, and if nobody else could
have written them; `readers` checks them like the nodes of a YAML text. If they cannot be written, nothing happens.
"""

import contextlib
import json
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from spamnb import __version__
from spamnb.base import durable
from spamnb.config.default_paths import first_directory
from spamnb.config.nodes import MappingNode, Node, ScalarNode, SequenceNode

_FORM = 1  # of the file; to be raised if other nodes follow from the same text
_MOST_BYTES = 1 << 20
_GRAIN = 2.0  # seconds: the longest that a file system leaves the times of a file as they are after a change (FAT)


class Stamp(NamedTuple):
    """What changes with a file's content. The times are in nanoseconds."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, descriptor: int) -> "Stamp | None":
        """Return the stamp of an open file; None if it is not a regular file."""
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    @property
    def is_settled(self) -> bool:
        """Whether any change from now on has another time. The clock of a file server may differ."""
        return max(self.modified, self.changed) < (time.time() - _GRAIN) * 1e9


def place_for(path: str | os.PathLike[str], environ: Mapping[str, str]) -> Path | None:
    """Return where the nodes of a configuration are kept; None without a cache directory. The file may not exist."""
    cache = first_directory(environ, "XDG_CACHE_HOME", ".cache")
    return cache and cache / "spamnb" / (os.path.abspath(path).replace("/", "%") + ".json")


def read(place: Path | None, stamp: Stamp | None) -> Node | None:
    """Return the nodes of the file with that stamp, or None if they are not kept here, or not surely by us."""
    if place is None or stamp is None:
        return None
    try:
        if not _is_ours(os.lstat(place.parent)):
            return None
        with open(place, "rb", opener=_open_file) as file:
            if not _is_ours(os.fstat(file.fileno())):
                return None
            match json.loads(file.read(_MOST_BYTES)):
                case [str(version), int(form), [*known], root] if (version, form) == (__version__, _FORM):
                    return _node(root) if tuple(known) == stamp else None
    except (OSError, ValueError, RecursionError):
        pass
    return None


def keep(place: Path | None, stamp: Stamp | None, root: Node) -> None:
    """Keep the nodes of the file with that stamp, if the file is not too new and our cache directory can be written.

    It makes no directory but its own: the home directory of a mail host's users may be full of mail.
    """
    if place is None or stamp is None or not stamp.is_settled:
        return
    text = json.dumps([__version__, _FORM, stamp, _form(root)])
    # QUIRK: JSON joins two surrogates, which a text in YAML may have as escapes.
    if len(text) > _MOST_BYTES or _node(json.loads(text)[-1]) != root:
        return
    with contextlib.suppress(OSError, ValueError):  # ValueError: a NUL in the path
        above = os.lstat(place.parent.parent)  # not of the user who has called root, and no link into the system
        if above.st_uid != os.geteuid() or not stat.S_ISDIR(above.st_mode):
            return
        with contextlib.suppress(FileExistsError):
            place.parent.mkdir(mode=0o700)
        if _is_ours(os.lstat(place.parent)):
            with durable.draft(str(place)) as draft:
                Path(draft).write_text(text, encoding="ascii")


def _open_file(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _is_ours(status: os.stat_result) -> bool:
    """Return whether a file or a directory, not a link, belongs to us, and nobody else may write to it."""
    kind, others = stat.S_IFMT(status.st_mode), status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return kind in (stat.S_IFREG, stat.S_IFDIR) and status.st_uid == os.geteuid() and not others


def _form(node: Node) -> list[Any]:
    """Return a node for JSON. Its length tells what it is."""
    if isinstance(node, ScalarNode):
        return [*node]
    if isinstance(node, SequenceNode):
        return [node.line, node.column, [_form(item) for item in node.value]]
    names, values = ([_form(pair[at]) for pair in node.value] for at in (0, 1))
    return [node.line, node.column, names, values]


def _node(form: object) -> Node:
    """Return the node of a form. Raises ValueError if it is not one."""
    match form:
        case [int(line), int(column), str(value), bool(is_quoted), bool(is_null)]:
            return ScalarNode(line, column, value, is_quoted, is_null)
        case [int(line), int(column), [*items]]:
            return SequenceNode(line, column, tuple(map(_node, items)))
        case [int(line), int(column), [*names], [*values]]:
            return MappingNode(line, column, tuple(zip(map(_node, names), map(_node, values), strict=True)))
    raise ValueError("not the form of a node")
