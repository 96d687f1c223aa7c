"""How the project is built (PEP 517): setuptools, with man pages and completion written before it, and an sdist that is
the same bytes each time.

The pages are written from the grammar, which imports all commands. So a build from the sources needs what they import,
and a build from an sdist, which holds the pages, needs nothing but setuptools.
"""

import gzip
import io
import os
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from setuptools import build_meta

_ROOT = Path(__file__).parent.parent
_WRITTEN = _ROOT / "share"
_NEEDED = ("numpy", "PyYAML", "watchdog")  # what the import of all commands takes
# What a distributor needs beside the package; setuptools adds none of it by itself.
_BESIDE = ["systemd", "docs", "tests", "debian", "benchmarks", ".ci"]
_BESIDE += ["VERSION", "config.example.yaml", "CHANGELOG.md", "CONTRIBUTING.md"]
_NOT_IN_SDIST = {"__pycache__", "venv"}
_Settings = Mapping[str, Any] | None

get_requires_for_build_editable = build_meta.get_requires_for_build_editable
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable
build_editable = build_meta.build_editable
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel


def get_requires_for_build_wheel(settings: _Settings = None) -> list[str]:
    """What a wheel needs beside setuptools."""
    return [*build_meta.get_requires_for_build_wheel(settings), *_requires()]


def get_requires_for_build_sdist(settings: _Settings = None) -> list[str]:
    """What an sdist needs beside setuptools."""
    return [*build_meta.get_requires_for_build_sdist(settings), *_requires()]


def build_wheel(directory: str, settings: _Settings = None, metadata: str | None = None) -> str:
    """Build a wheel; its name."""
    _write()
    return str(build_meta.build_wheel(directory, settings, metadata))


def build_sdist(directory: str, settings: _Settings = None) -> str:
    """Build an sdist; its name."""
    _write()
    with tempfile.TemporaryDirectory() as draft:
        name = str(build_meta.build_sdist(draft, settings))
        _copy(Path(draft, name), Path(directory, name), name.removesuffix(".tar.gz"))
    return name


def _are_written() -> bool:
    """Whether this is an sdist with its pages; those beside other sources may be of other sources."""
    return (_ROOT / "PKG-INFO").exists() and _WRITTEN.exists()


def _requires() -> list[str]:
    if _are_written():
        return []
    dependencies = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return [one for one in dependencies if one.startswith(_NEEDED)]


def _write() -> None:
    if not _are_written():
        from spamnb.manual.files import write  # noqa: PLC0415 - what it imports is there only when it is needed

        write(_WRITTEN.parent)


def _copy(draft: Path, made: Path, top: str) -> None:
    """The same members and those of `_BESIDE`, sorted, of nobody, at the time of SOURCE_DATE_EPOCH."""
    with tarfile.open(draft) as archive:
        held = {one.name: archive.extractfile(one).read() for one in archive if one.isreg()}
    held |= {f"{top}/{path.relative_to(_ROOT)}": path.read_bytes() for path in _beside()}
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", draft.stat().st_mtime))
    with (
        made.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=moment) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in sorted(held.items()):
            one = tarfile.TarInfo(name)
            is_program = name.startswith((f"{top}/.ci/", f"{top}/debian/rules")) and content.startswith(b"#!")
            one.size, one.mtime, one.mode = len(content), moment, 0o755 if is_program else 0o644
            archive.addfile(one, io.BytesIO(content))


def _beside() -> Iterator[Path]:
    for name in _BESIDE:
        for path in [_ROOT / name, *(_ROOT / name).rglob("*")]:
            if path.is_file() and not path.is_symlink() and not _NOT_IN_SDIST & set(path.parts):
                yield path
