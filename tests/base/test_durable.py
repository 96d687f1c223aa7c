"""Files that are written whole, and files that are never replaced."""

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.base import durable


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # as /dev/null
    except PermissionError:
        pytest.skip("only root can make devices")


def link_to_fifo(path: Path) -> None:
    os.mkfifo(path.with_name("fifo"))
    path.symlink_to("fifo")


SPECIAL = (fifo, listening, device, link_to_fifo, Path.mkdir)


@pytest.mark.parametrize("make", SPECIAL)
def test_only_regular_files_are_replaced(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """Anything but a regular file is refused and unchanged; nothing else is left."""
    target = tmp_path / "target"
    make(target)
    before = sorted((path.name, path.lstat().st_mode, path.lstat().st_ino) for path in tmp_path.iterdir())
    with pytest.raises(OSError, match=r"regular file|directory"):
        durable.check(str(target))
    with pytest.raises(OSError, match=r"regular file|directory"), durable.writing(str(target)) as file:
        file.write(b"x")
    assert sorted((path.name, path.lstat().st_mode, path.lstat().st_ino) for path in tmp_path.iterdir()) == before


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    """Through a symbolic link to a regular file, or to none yet, that file is written; the link stays."""
    (tmp_path / "there").mkdir()
    for name in ("old", "new"):
        (tmp_path / name).symlink_to(f"there/{name}")
    (tmp_path / "there/old").write_bytes(b"before")
    for name in ("old", "new"):
        with durable.writing(str(tmp_path / name)) as file:
            file.write(b"after")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "there" / name).read_bytes() == b"after"
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["new", "old"]
    assert stat.S_IMODE((tmp_path / "there/new").stat().st_mode) == 0o600


def test_all_or_nothing(tmp_path: Path) -> None:
    """The old content is there until the end; if writing fails it stays, and no draft is left."""
    target = tmp_path / "target"
    target.write_bytes(b"before")
    with pytest.raises(ZeroDivisionError), durable.writing(str(target)) as file:
        file.write(b"after")
        file.flush()
        assert target.read_bytes() == b"before"
        raise ZeroDivisionError
    assert (list(tmp_path.iterdir()), target.read_bytes()) == ([target], b"before")


@pytest.mark.parametrize("late", [False, True])
def test_nothing_is_replaced_unasked(tmp_path: Path, late: bool) -> None:
    """Unless asked to replace, an existing file stays, even if it came during the writing."""
    target = tmp_path / "target"
    if not late:
        target.write_bytes(b"mine")
    with pytest.raises(FileExistsError), durable.writing(str(target), replace=False) as file:
        file.write(b"x")
        target.write_bytes(b"mine")
    assert (list(tmp_path.iterdir()), target.read_bytes()) == ([target], b"mine")


def test_into_what_is_open(tmp_path: Path) -> None:
    """The path of an open descriptor, also by way of a link as `/dev/stdout` is, is written to and stays open."""
    reader, writer = os.pipe()
    try:
        (tmp_path / "link").symlink_to(f"/proc/self/fd/{writer}")
        for path in (f"/dev/fd/{writer}", f"/proc/self/fd/{writer}", str(tmp_path / "link")):
            durable.check(path, replace=False)
            with durable.writing(path) as file:
                file.write(b"text")
            assert os.read(reader, 100) == b"text"
        assert (tmp_path / "link").is_symlink()
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("name", ["no/where", "", "directory/"])
def test_where_nothing_can_be_written(tmp_path: Path, name: str) -> None:
    """A missing directory, and an impossible file name, are refused before the work."""
    (tmp_path / "directory").mkdir()
    with pytest.raises(OSError, match="directory"):
        durable.check(f"{tmp_path}/{name}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_read_only_file_system(tmp_path: Path) -> None:
    """A read-only disk and a missing right are different errors: different steps help."""
    check = "import sys; from spamnb.base import durable; durable.check(sys.argv[1])"
    mount = f'mount -t tmpfs -o ro tmpfs "{tmp_path}" && exec "{sys.executable}" -c "{check}" "{tmp_path}/file"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True, text=True, check=False)
    if "mount" in done.stderr.partition("\n")[0]:
        pytest.skip(f"cannot mount here: {done.stderr}")
    assert "Read-only file system" in done.stderr
