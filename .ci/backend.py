"""How the project is built (PEP 517): by setuptools alone, with an sdist that holds what a distributor needs beside the
package, and that is the same bytes each time.
"""

import gzip
import io
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from setuptools import build_meta
from version import version_of, written

_ROOT = Path(__file__).parent.parent
# setuptools adds none of it by itself.
_BESIDE = ["systemd", "docs", "tests", "debian", "benchmarks", ".ci"]
_BESIDE += ["VERSION", "config.example.yaml", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
_NOT_IN_SDIST = {"__pycache__", "venv"}


class _Setuptools(build_meta._BuildMetaBackend):
    """setuptools, with the README that `setup.py` beside this file makes for a package index."""

    def run_setup(self, setup_script: str = ".ci/setup.py") -> None:
        super().run_setup(setup_script)


_setuptools = _Setuptools()
build_wheel, build_editable = _setuptools.build_wheel, _setuptools.build_editable
prepare_metadata_for_build_wheel = _setuptools.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = _setuptools.prepare_metadata_for_build_editable
get_requires_for_build_wheel = _setuptools.get_requires_for_build_wheel
get_requires_for_build_sdist = _setuptools.get_requires_for_build_sdist
get_requires_for_build_editable = _setuptools.get_requires_for_build_editable


def build_sdist(directory: str, settings: Mapping[str, Any] | None = None) -> str:
    """Build an sdist; its name."""
    with tempfile.TemporaryDirectory() as draft:
        name = str(_setuptools.build_sdist(draft, settings))
        _copy(Path(draft, name), Path(directory, name), name.removesuffix(".tar.gz"))
    return name


def _copy(draft: Path, made: Path, top: str) -> None:
    """The same members and those of `_BESIDE`, sorted, of nobody, at the time of SOURCE_DATE_EPOCH."""
    with tarfile.open(draft) as archive:
        contents = {member.name: archive.extractfile(member).read() for member in archive if member.isreg()}
    contents |= {f"{top}/{path.relative_to(_ROOT)}": path.read_bytes() for path in _beside()}
    version, told = version_of(), f"{top}/spamnb/__init__.py"
    contents |= {f"{top}/VERSION": f"{version}\n".encode(), told: written(contents[told].decode(), version).encode()}
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", draft.stat().st_mtime))
    with (
        made.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=moment) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in sorted(contents.items()):
            member = tarfile.TarInfo(name)
            is_program = name.startswith((f"{top}/.ci/", f"{top}/debian/rules")) and content.startswith(b"#!")
            member.size, member.mtime, member.mode = len(content), moment, 0o755 if is_program else 0o644
            archive.addfile(member, io.BytesIO(content))


def _beside() -> Iterator[Path]:
    for name in _BESIDE:
        for path in [_ROOT / name, *(_ROOT / name).rglob("*")]:
            if path.is_file() and not path.is_symlink() and not _NOT_IN_SDIST & set(path.parts):
                yield path
