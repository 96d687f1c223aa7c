"""The output of `spamnb web`, and the browser that it opens; tests/web tries the pages themselves."""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND
from tests.patience import PATIENCE, until
from tests.ports import held_port

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/(k[a-z2-7]{24})/login\?code=\S+")


@pytest.fixture
def listen(home: Path) -> Iterator[str]:
    """Return an address of this machine for a server."""
    with held_port() as port:
        yield f"127.0.0.1:{port}"


@contextlib.contextmanager
def web(out: Path, *arguments: str, **variables: str | None) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a process whose output goes to a file; variables: of its environment, None for none."""
    wanted = {"DISPLAY": None, "WAYLAND_DISPLAY": None, "BROWSER": None, "PYTHONUNBUFFERED": None} | variables
    environ = {name: value for name, value in (os.environ | wanted).items() if value is not None}
    with out.open("wb") as file:
        process = subprocess.Popen([*COMMAND, *arguments], stdout=file, stderr=file, env=environ)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)


def test_the_address_is_said_at_once(home: Path, listen: str) -> None:
    """The address is printed when the pages are served, even if the output is not a terminal."""
    with web(home / "out", "web", "--listen", listen) as process:
        until(lambda: ADDRESS.search((home / "out").read_text()), "the address")
        assert process.poll() is None
        said, port = (home / "out").read_text(), ADDRESS.search((home / "out").read_text())
        later = said.partition("To open them later: ")[2].strip()
        assert port is not None and later.startswith("spamnb web --open --listen 127.0.0.1:")
        with web(home / "again", *later.split()[1:]) as other:
            assert other.wait(PATIENCE) == 0, "that command opens these very pages"
        found = ADDRESS.search((home / "again").read_text())
        assert found is not None and later.rpartition(":")[2] in found[0]


@pytest.mark.thorough
def test_the_address_is_in_no_log(home: Path, listen: str) -> None:
    """In the journal, which others may read, there is neither the code nor the path of the pages."""
    (home / "out").touch()
    status = (home / "out").stat()
    stream = f"{status.st_dev}:{status.st_ino}"
    for more in ([], ["--open"]):
        with web(home / "out", "web", "--listen", listen, *more, JOURNAL_STREAM=stream):
            until(lambda: "End with Ctrl-C." in (home / "out").read_text(), "the pages to be served")
            assert "http://" not in (home / "out").read_text()
            assert (
                "No browser was found. In a terminal: spamnb web --open --listen 127.0.0.1:"
                in (home / "out").read_text()
            ) == bool(more)


@pytest.mark.thorough
@pytest.mark.parametrize("variables", [{}, {"DISPLAY": ":77", "PATH": "/nowhere"}])
def test_without_a_browser(home: Path, listen: str, variables: dict[str, str]) -> None:
    """If there is no browser, --open says so and prints the address, also of pages that are already served."""
    first, again = home / "first", home / "again"
    with web(first, "--quiet", "web", "--listen", listen, "--open", **variables) as process:
        until(lambda: ADDRESS.search(first.read_text()), "the address")
        with web(again, "web", "--listen", listen, "--open", **variables) as other:
            assert other.wait(PATIENCE) == 0
        assert process.poll() is None
    for said in (first.read_text(), again.read_text()):
        assert said.startswith("No browser was found. Open within a minute: http://")


def test_what_a_browser_is_told(home: Path, listen: str) -> None:
    """--open gives a browser a file of the owner's: neither code nor path is among arguments, which all can read."""
    browser = home / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" >{home}/arguments.part; mv {home}/arguments.part {home}/arguments\n')
    browser.chmod(0o755)
    with web(home / "out", "web", "--listen", listen, "--open", BROWSER=str(browser)):
        until((home / "arguments").exists, "the browser")
        found = ADDRESS.search((home / "out").read_text())
        assert found is not None and "No browser" not in (home / "out").read_text()
    (told,) = (home / "arguments").read_text().split()
    page = Path(told.removeprefix("file://"))
    assert found[1] not in told and "code" not in told
    assert (page.stat().st_mode & 0o777, found[1] in page.read_text()) == (0o600, True)
