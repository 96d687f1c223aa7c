"""A configuration that was read once is read without YAML, as long as it has not changed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.base.errors import ConfigError, UsageError
from spamnb.base.label import Role
from spamnb.config import Config, kept_nodes, load, load_any, loading
from spamnb.config.nodes import MappingNode, ScalarNode
from spamnb.config.writing import example, render_all
from spamnb.config.yaml_text import compose
from tests.patience import until, until_files_are_later

MINIMAL = """\
mailboxes:
  - path: ~/Maildir
    roles: {INBOX: inbox, Junk: spam, "No": neutral, "null": ham}
"""
HOST = """\
mailboxes:
  - path: /var/vmail/{domain}/{local}/Maildir
    roles: {INBOX: inbox, Junk: spam}
ledger: /var/lib/spamnb-host/{domain}/{local}/ledger.sqlite
"""
STRANGER = 65_533


class Site:
    """A home directory with a configuration, and the number of texts that were read as YAML."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.environ = {"HOME": str(home)}
        self.config = home / "config.yaml"
        self.cache = home / ".cache"
        self.cache.mkdir(mode=0o700)
        self.texts = 0
        monkeypatch.setattr(loading, "compose", self._compose)

    @property
    def place(self) -> Path:
        """Where the nodes are kept."""
        place = kept_nodes.place_for(self.config, self.environ)
        assert place is not None
        return place

    def write(self, text: str) -> None:
        """Write the configuration, in place, with a time of its own."""
        until_files_are_later(self.cache)
        self.config.write_text(text)

    def load(self) -> Config:
        """The configuration, as any command reads it."""
        return load_any(self.config, self.environ)

    def loaded_by_yaml(self) -> bool:
        """Whether the next reading reads YAML."""
        before = self.texts
        self.load()
        return self.texts > before

    def _compose(self, content: str) -> object:
        self.texts += 1
        return compose(content)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site whose files have just been written."""
    site = Site(tmp_path, monkeypatch)
    site.write(MINIMAL)
    return site


@pytest.fixture
def site(fresh: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site whose files are as old as they have to be to be kept."""
    monkeypatch.setattr(kept_nodes, "_GRAIN", -3600.0)
    return fresh


@pytest.mark.parametrize("text", [MINIMAL, HOST, example()], ids=["one person", "a host", "the example"])
def test_the_second_reading_needs_no_yaml(site: Site, text: str) -> None:
    """The second reading of a configuration, of a person or a host, gives the same values, and reads no YAML."""
    site.write(text)
    first = site.load()
    assert (site.texts, site.place.stat().st_mode & 0o777) == (1, 0o600)
    again = site.load()
    assert site.texts == 1
    assert again == first
    assert (again.written, render_all(again)) == (first.written, render_all(first))
    assert [list(box.roles.items()) for box in again.mailboxes] == [list(box.roles.items()) for box in first.mailboxes]


def test_a_host_is_known_as_one(site: Site) -> None:
    """A mail host's configuration is refused for one person, however it was read."""
    site.write(HOST)
    for _ in range(2):
        with pytest.raises(UsageError, match="is the configuration of a mail host"):
            load(site.config, site.environ)
    assert site.texts == 1


def test_a_command_imports_no_yaml(tmp_path: Path) -> None:
    """A command whose configuration was read before does not import YAML."""
    (tmp_path / ".cache").mkdir()
    config = tmp_path / ".config/spamnb/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(MINIMAL)
    asks = (
        "import sys, spamnb.cli.main as program;"
        "code = program.main(['score', sys.argv[1]]);"
        "print('yaml' in sys.modules, code)"
    )
    message = tmp_path / "message"
    message.write_bytes(b"Subject: x\n\nhello\n")

    def said() -> str:
        done = subprocess.run(
            [sys.executable, "-c", asks, message],
            env={"HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[-1]

    assert said() == "True 2"
    until(lambda: said() == "False 2", "a settled configuration is kept")


def test_a_new_file_is_not_kept(fresh: Site) -> None:
    """A file that changed just now is not kept: it may change again, and keep its time."""
    fresh.load()
    assert not fresh.place.exists()


def test_a_file_of_the_future_is_not_kept(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with a time of the future is not kept."""
    monkeypatch.setattr(kept_nodes, "_GRAIN", 2.0)
    os.utime(site.config, (2**32, 2**32))
    site.load()
    assert not site.place.exists()


def test_a_change_with_the_same_size_and_time_counts(site: Site) -> None:
    """A change of the configuration counts, even with the same size and the same time of modification."""
    site.load()
    status = site.config.stat()
    site.write(MINIMAL.replace("Junk", "Spam"))
    os.utime(site.config, ns=(status.st_atime_ns, status.st_mtime_ns))
    now = site.config.stat()
    assert (now.st_size, now.st_mtime_ns, now.st_ino) == (status.st_size, status.st_mtime_ns, status.st_ino)
    assert site.load().spam_folder == "Spam"
    assert (site.texts, site.loaded_by_yaml()) == (2, False)


def test_a_replaced_file_counts(site: Site) -> None:
    """A configuration that is replaced by a rename counts, even with the same size and time."""
    site.load()
    status = site.config.stat()
    other = site.config.with_name("new")
    other.write_text(MINIMAL.replace("Junk", "Spam"))
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.rename(site.config)
    assert site.load().spam_folder == "Spam"


def test_a_removed_file_is_missing(site: Site) -> None:
    """A configuration that is gone is missing, although it was kept."""
    site.load()
    site.config.unlink()
    with pytest.raises(ConfigError, match="No configuration at"):
        site.load()


@pytest.mark.skipif(not os.geteuid(), reason="root may read any file")
def test_a_closed_file_is_closed(site: Site) -> None:
    """A configuration that may no longer be read is refused, although it was kept."""
    site.load()
    site.config.chmod(0)
    with pytest.raises(ConfigError, match="cannot be read"):
        site.load()


BROKEN: dict[str, Callable[[str], str]] = {
    "empty": lambda _: "",
    "cut off": lambda kept: kept[:-9],
    "zeros": lambda kept: "\0" * len(kept),
    "no JSON": lambda _: "mailboxes: []\n",
    "another shape": lambda _: "[1, 2]",
    "no node": lambda kept: kept[: kept.index("], [") + 2] + " [1, 1, 7]]",
    "a name without a value": lambda kept: kept[: kept.index("], [") + 2] + " [1, 1, [], [[1, 1, []]]]]",
    "deep": lambda _: "[" * 200_000,
    "of another version": lambda kept: kept.replace('["', '["9', 1),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_nodes_are_read_again(site: Site, broken: str) -> None:
    """If the kept file is broken, the configuration is read from its YAML, and kept again."""
    first = site.load()
    good = site.place.read_text()
    bad = BROKEN[broken](good)
    assert bad != good
    site.place.write_text(bad)
    assert site.load() == first
    assert (site.texts, site.place.read_text()) == (2, good)


def test_values_are_checked_again(site: Site) -> None:
    """Kept nodes are checked like those of a YAML text."""
    site.load()
    site.place.write_text(site.place.read_text().replace('"spam"', '"scam"'))
    with pytest.raises(ConfigError, match=r"config\.yaml:3: mailboxes\[0\]\.roles\.Junk: 'scam' is not allowed"):
        site.load()
    assert site.texts == 1


def test_faults_are_never_kept(site: Site) -> None:
    """A configuration with a fault is not kept: each command names the place of the fault."""
    site.write(MINIMAL + "alpha: 3\n")
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"config\.yaml:4: alpha: is not a key"):
            site.load()
    assert (site.texts, site.place.exists()) == (2, False)


@pytest.mark.skipif(bool(os.geteuid()), reason="only root can give files away")
@pytest.mark.parametrize("what", ["file", "directory", "cache"])
def test_files_of_a_stranger_do_not_count(site: Site, what: str) -> None:
    """Neither nodes nor a directory that belong to another user are used, or written."""
    site.load()
    known = site.place.read_text()
    site.place.write_text(known.replace("Junk", "Spam"))
    if what == "file":
        os.chown(site.place, STRANGER, STRANGER)
        assert site.load().spam_folder == "Junk"
        assert (site.place.stat().st_uid, site.place.read_text()) == (os.geteuid(), known)
        return
    os.chown(site.place.parent if what == "directory" else site.cache, STRANGER, STRANGER)
    if what == "cache":
        site.place.unlink()
        site.place.parent.rmdir()
    before = sorted(site.cache.rglob("*"))
    assert site.load().spam_folder == "Junk"
    assert sorted(site.cache.rglob("*")) == before


@pytest.mark.parametrize("what", ["file", "directory"])
def test_what_others_may_write_does_not_count(site: Site, what: str) -> None:
    """Nodes are not used if other users may write to their file or its directory."""
    site.load()
    (site.place if what == "file" else site.place.parent).chmod(0o770)
    assert site.loaded_by_yaml()


@pytest.mark.parametrize("what", ["file", "directory", "cache"])
def test_links_are_not_followed(site: Site, tmp_path: Path, what: str) -> None:
    """A link in the place of the nodes leads nowhere: nothing is read or written at its end."""
    site.load()
    there = tmp_path / "there"
    path = {"file": site.place, "directory": site.place.parent, "cache": site.cache}[what]
    path.rename(there)
    path.symlink_to(there)
    if what != "file":
        next(there.rglob("*.json")).unlink()
        assert site.loaded_by_yaml()
        assert not list(there.rglob("*.json"))
    else:
        assert site.loaded_by_yaml()


def test_no_cache_directory_is_made(site: Site) -> None:
    """A home directory without a cache directory stays as it is: on a mail host it may be full of mail."""
    site.cache.rmdir()
    site.load()
    assert os.listdir(site.cache.parent) == ["config.yaml"]


def test_a_cache_that_cannot_be_written_says_nothing(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    """If the nodes cannot be kept, nothing is said."""
    site.cache.joinpath("spamnb").write_text("a file in the way")
    site.load()
    assert (site.loaded_by_yaml(), capfd.readouterr()) == (True, ("", ""))


def test_without_a_home_nothing_is_kept(site: Site) -> None:
    """Without HOME, the configuration is read and not kept."""
    site.write(MINIMAL.replace("~", "/home/anna") + "ledger: /home/anna/ledger.sqlite\n")
    site.environ.clear()
    site.load()
    assert site.loaded_by_yaml()


def test_a_pipe_is_read_and_not_kept(site: Site) -> None:
    """A configuration that comes from a pipe is read, and not kept."""
    ours, theirs = os.pipe()
    os.write(theirs, MINIMAL.encode())
    os.close(theirs)
    assert load(f"/dev/fd/{ours}", site.environ).spam_folder == "Junk"
    os.close(ours)
    assert list(site.cache.iterdir()) == []


def test_the_home_directory_counts_when_it_is_read(site: Site) -> None:
    """A path with "~" is in the home directory of the moment, not in that of the first reading."""
    site.load()
    other = {"HOME": "/home/bob", "XDG_CACHE_HOME": str(site.cache)}
    assert load(site.config, other).mailboxes[0].path == Path("/home/bob/Maildir")
    assert site.texts == 1


def test_surrogates_are_not_joined(site: Site) -> None:
    r"""A folder's name with two escapes such as "\ud83d\ude00" stays two characters."""
    site.write(MINIMAL.replace("No", r"\ud83d\ude00"))
    for _ in range(2):
        assert site.load().mailboxes[0].roles["\ud83d\ude00"] is Role.NEUTRAL


def test_quotes_and_places_are_kept() -> None:
    """A node keeps what the readers ask: its place, its quotes, whether it is null, and names that are there twice."""
    root = compose("a: 'null'\na:\n- null\nb: {}\nc: []\n")
    assert isinstance(root, MappingNode)
    assert root.value[0] == (ScalarNode(1, 1, "a", False, False), ScalarNode(1, 4, "null", True, False))
    assert root.value[1][1].value == (ScalarNode(3, 3, "null", False, True),)
    assert kept_nodes._node(kept_nodes._form(root)) == root
