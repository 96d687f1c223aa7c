"""Man pages and completion, which are committed, are those of the sources: a build needs setuptools alone."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from tests.manual.made import SCRIPTS, files
from tests.patience import PATIENCE

_SHTAB = "1.13."  # another version writes other scripts for the same parsers


def test_what_is_committed_is_what_is_made(tmp_path: Path) -> None:
    """Each file is what `.ci/manual/write.py` makes of the commands, the keys and the Markdown now, and no other is
    there.
    """
    try:
        installed = version("shtab")
    except PackageNotFoundError:
        pytest.skip("shtab is not installed (pip install '.[test]')")
    if not installed.startswith(_SHTAB):
        pytest.skip(f"completion is committed as shtab {_SHTAB}x makes it, and this is shtab {installed}")
    write = [sys.executable, "-B", str(SCRIPTS / "write.py"), "--to", str(tmp_path)]
    done = subprocess.run(write, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    made = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    others = [name for name in sorted({*made, *files()}) if made.get(name) != files().get(name)]
    assert others == [], "the sources have changed: run `python .ci/manual/write.py`, and commit what it makes"


def test_text_is_no_macro() -> None:
    """Text that looks like a macro or an escape is printed unchanged; marked words are bold or slanted."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "doctest", str(SCRIPTS / "roff.py")], timeout=PATIENCE, check=False
    )
    assert done.returncode == 0
