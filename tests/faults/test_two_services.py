"""Two services where one should be."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.config import Mailbox
from spamnb.config.writing import render
from tests.faults.conftest import Faulty
from tests.ledger.test_locks import inside, locked_by_a_stranger
from tests.patience import until


def test_two_ledgers_on_one_mailbox(site: Faulty, tmp_path: Path) -> None:
    """A second service with another ledger refuses to work on the same mailbox, by whatever path it knows it."""
    site.teach()
    site.start()
    (tmp_path / "second").mkdir()
    second = Faulty(tmp_path / "second")
    (tmp_path / "link").symlink_to(site.root)
    before = sorted(path for path in site.root.rglob("*"))
    for path in (site.root, tmp_path / "link"):
        second.config.write_text(render([Mailbox(path=path, roles=site.roles)], second.ledger))
        second.start(wait=False)
        assert second.ended() == 3
        assert second.log().count("another spamnb service already works with the mailbox at") == 1
        second.log_file.unlink()
    assert sorted(path for path in site.root.rglob("*")) == before, "no file was made"
    site.goes_on(640)
    site.end()
    assert second.once() == 0, "the mailbox is free with the end of the first"


def test_death_frees_the_mailbox(site: Faulty) -> None:
    """A service that was killed is in nobody's way."""
    site.teach()
    site.start()
    site.end(9)
    site.start()
    until(site.is_up, "the second one")
    site.goes_on(641)


def test_a_mailbox_once_is_enough(site: Faulty) -> None:
    """A service that reloads, and that is told so twice, keeps its own mailbox."""
    import signal

    site.teach()
    site.start()
    assert site.process is not None
    for number in (1, 2):
        site.process.send_signal(signal.SIGHUP)
        until(lambda number=number: site.log().count("read the configuration again") >= number, "reloaded")  # type: ignore[misc]
    site.goes_on(642)


@pytest.fixture
def public() -> Iterator[Faulty]:
    """A site whose directories everybody reaches and lists."""
    with tempfile.TemporaryDirectory() as directory:
        site = Faulty(Path(directory))
        for each in (directory, *(path for path, *_ in os.walk(site.root))):
            os.chmod(each, 0o755)
        yield site
        site.kill()


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_a_stranger_locks_the_mailbox(public: Faulty) -> None:
    """Another user who locks all that can be opened holds up neither the service nor a command."""
    public.teach()
    cur = public.folders["INBOX"].subdir("cur")
    with locked_by_a_stranger(cur, str(public.root), *inside(str(public.directory))) as locked:
        assert locked >= 3
        public.start()
        public.goes_on(643)
        public.clean()
    assert public.end() == 0


def test_two_on_a_mailbox_that_strangers_reach(public: Faulty, tmp_path: Path) -> None:
    """A mailbox whose `cur/` others can list belongs to one service all the same, by a lock file beside it."""
    public.teach()
    public.start()
    second = Faulty(tmp_path)
    second.config.write_text(render([Mailbox(path=public.root, roles=public.roles)], second.ledger))
    assert second.once() == 3
    assert second.log().count("another spamnb service already works with the mailbox at") == 1
    assert (public.root / "spamnb.lock").stat().st_size == 0
    public.goes_on(644)
    public.end()
    assert second.once() == 0
