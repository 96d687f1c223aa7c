"""Several services of one host: each user has one of them, and no two have the same."""

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.host import shares
from spamnb.host.shares import Share, claim_of, claimed
from spamnb.ledger.file.locks import is_running, running_since
from tests.patience import PATIENCE
from tests.table import over_rows

ANNA = "anna@example.org"


@given(st.text(st.characters(codec="ascii"), max_size=20), st.integers(1, 64))
def test_each_user_has_one_share(name: str, of: int) -> None:
    """Of all shares exactly one owns a user, whatever the name is."""
    assert [share for number in range(1, of + 1) if (share := Share(number, of)).owns(name)] == [
        Share.of_user(name, of)
    ]


@pytest.mark.parametrize("text", ["1-of-1", "1-of-4", "4-of-4", "12-of-64"])
def test_a_share_is_written(text: str) -> None:
    """A share is written as it is read, and so is the name of its lock."""
    assert str(Share.parse(text)) == text
    assert Share.parse(text).claim(Path("/d")) == Path("/d") / text


@over_rows("text", ["", "1", "0-of-4", "5-of-4", "1-of-0", "01-of-4", "1-of-65", "1-of-4\n", "a-of-b", "1/4"])
def test_no_share(text: str) -> None:
    """Anything else is refused with what to write."""
    with pytest.raises(UsageError, match="is not a share: write 1-of-4 for the first of four"):
        Share.parse(text)


def test_all_shares_of_a_number(tmp_path: Path) -> None:
    """Services with all shares of one number run beside each other, and commands find whose a user is."""
    directory = tmp_path / "state"
    with contextlib.ExitStack() as running:
        for number in (1, 2, 3):
            running.enter_context(claimed(directory, Share(number, 3)))
        assert claim_of(directory, ANNA) == Share.of_user(ANNA, 3).claim(directory)
        assert is_running(str(claim_of(directory, ANNA)))
        assert time.time() - (running_since(str(claim_of(directory, ANNA))) or 0) < 60
    assert not is_running(str(claim_of(directory, ANNA)))
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}


def test_the_same_share_twice(tmp_path: Path) -> None:
    """A second service with the same share is refused, and the first goes on."""
    with claimed(tmp_path, Share(1, 2)):
        with pytest.raises(SpamnbError, match="1-of-2: stop that one first"), claimed(tmp_path, Share(1, 2)):
            pass
        assert is_running(str(tmp_path / "1-of-2"))


@pytest.mark.parametrize(("first", "second"), [("1-of-2", "2-of-4"), ("4-of-4", "1-of-1"), ("1-of-1", "1-of-4")])
def test_two_numbers_at_once(tmp_path: Path, first: str, second: str) -> None:
    """A service with another number of shares is refused in words as long as one runs, and may run afterwards."""
    share = Share.parse(second)
    with claimed(tmp_path, Share.parse(first)):
        refused = (
            f"run with a different number of shares than {share.of}: stop those first, or give this one their number"
        )
        with pytest.raises(SpamnbError, match=refused), claimed(tmp_path, share):
            pass
        assert not is_running(str(tmp_path / second))
    with claimed(tmp_path, share):
        assert is_running(str(tmp_path / second))


def test_a_service_of_another_process(tmp_path: Path) -> None:
    """The kernel drops the locks of a service that is killed."""
    script = (
        "import sys, time; from pathlib import Path; from spamnb.host.shares import Share, claimed\n"
        "with claimed(Path(sys.argv[1]), Share(1, 2)): print('claimed', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "claimed\n"
        for share in (Share(1, 2), Share(1, 1)):
            with pytest.raises(SpamnbError, match="stop"), claimed(tmp_path, share):
                pass
        child.kill()
        child.wait()
    with claimed(tmp_path, Share(1, 1)):
        pass


def test_a_command_does_not_stop_a_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only looks at a lock, for an instant, keeps no service from its start."""
    with claimed(tmp_path, Share(1, 2)):
        pass
    looking = os.open(tmp_path / "1-of-2.lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        fcntl.flock(looking, fcntl.LOCK_UN)

    monkeypatch.setattr(shares, "_PATIENCE", PATIENCE)
    monkeypatch.setattr("spamnb.ledger.file.locks.time.sleep", pause)
    with claimed(tmp_path, Share(1, 2)):
        assert is_running(str(tmp_path / "1-of-2"))
    assert len(waited) == 1
    os.close(looking)


def test_claims_without_a_service(tmp_path: Path) -> None:
    """Where none runs, the number that was in force last counts; where none was ever started, there is one share."""
    assert claim_of(tmp_path / "none", ANNA) == tmp_path / "none/1-of-1"
    for number in (4, 2):
        for share in (Share(one, number) for one in range(1, number + 1)):
            with claimed(tmp_path, share):
                os.utime(tmp_path / f"{share}.lock", (number, number))
    assert claim_of(tmp_path, ANNA) == Share.of_user(ANNA, 4).claim(tmp_path)
    with claimed(tmp_path, Share.of_user(ANNA, 2)):
        assert claim_of(tmp_path, ANNA) == Share.of_user(ANNA, 2).claim(tmp_path)


def test_other_files_are_no_locks(tmp_path: Path) -> None:
    """Names that only look like a lock's, and directories of such names, change nothing."""
    for name in (
        "1-of-4.lock.lock",
        "0-of-4.lock",
        "of-.lock",
        "1-of-400.lock",
        "x-of-4.lock",
        "register-1-of-4.jsonl",
    ):
        (tmp_path / name).mkdir()
    (tmp_path / "of-3.lock").symlink_to(tmp_path / "none")
    assert claim_of(tmp_path, ANNA) == tmp_path / "1-of-1"
    with claimed(tmp_path, Share()):
        assert claim_of(tmp_path, ANNA) == tmp_path / "1-of-1"


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """Where there can be no lock there is no service, and a sentence says why."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SpamnbError, match=r"cannot make .*of-1\.lock: .*; check the directory and its owner"):
        claimed(tmp_path / "file", Share()).__enter__()
    assert claim_of(tmp_path / "file", ANNA) == tmp_path / "file/1-of-1"
