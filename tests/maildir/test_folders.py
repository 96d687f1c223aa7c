"""Finding, naming and making folders."""

import contextlib
import errno
import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.errors import MaildirError
from spamnb.maildir import folders
from spamnb.maildir.folders import (
    Directory,
    Folder,
    FolderUnavailableError,
    create_folder,
    decode,
    detect_layout,
    encode,
    find_directories,
    find_folders,
)
from spamnb.maildir.messages import read_keywords
from spamnb.maildir.names import matching_letters
from tests.table import over_rows

ANY_STR = st.text(alphabet=st.characters(exclude_categories=()))


def make(path: Path, *, tmp: bool = True) -> Path:
    for subdir in ("cur", "new", "tmp") if tmp else ("cur", "new"):
        (path / subdir).mkdir(parents=True)
    return path


def names(root: Path, layout: folders.Layout | None = None) -> list[str]:
    return [folder.name for folder in find_folders(str(root), layout or "auto")]


@given(st.text())
def test_utf7_round_trip(name: str) -> None:
    """Every Unicode name survives modified UTF-7, and its encoding is printable ASCII."""
    encoded = encode(name)
    assert decode(encoded) == name
    assert all(" " <= char <= "~" for char in encoded)


@given(ANY_STR)
def test_utf7_never_raises(name: str) -> None:
    """Any text at all, lone surrogates too, encodes and decodes to something."""
    encode(name)
    decode(name)


@given(st.text(alphabet="&-,+AaBbQ2D0wE9/.", max_size=20))
def test_decoding_makes_no_separator(name: str) -> None:
    """No slash, dot or control character comes out of base64 that was not in the name before."""
    decoded = decode(name)
    assert decoded.count("/") <= name.count("/")
    assert decoded.count(".") <= name.count(".")


@over_rows(
    ("encoded", "name"),
    [
        ("~peter/mail/&U,BTFw-/&ZeVnLIqe-", "~peter/mail/台北/日本語"),  # the example of RFC 3501
        ("Entw&APw-rfe", "Entwürfe"),
        ("Tom &- Jerry", "Tom & Jerry"),
        ("R&D", "R&D"),
        ("a &APw", "a &APw"),
        ("&2D0-", "&2D0-"),
        ("&AGE-", "&AGE-"),
        ("&A-", "&A-"),
        ("Überall", "Überall"),
    ],
)
def test_utf7_examples(encoded: str, name: str) -> None:
    """Valid sequences decode; damaged and forbidden ones stay unchanged."""
    assert decode(encoded) == name


def test_maildirpp(tmp_path: Path) -> None:
    """In Maildir++ the root is the INBOX, dots divide the parts, and names are decoded."""
    make(tmp_path)
    for folder in (".Junk", ".Archive.2024", ".Entw&APw-rfe"):
        make(tmp_path / folder)
    (tmp_path / "dovecot-uidlist").write_text("")
    (tmp_path / ".notmuch" / "xapian").mkdir(parents=True)
    assert detect_layout(str(tmp_path)) == "maildir++"
    assert names(tmp_path) == ["INBOX", "Archive/2024", "Entwürfe", "Junk"]
    assert find_folders(str(tmp_path), "auto")[1] == Folder("Archive/2024", str(tmp_path / ".Archive.2024"))


def test_fs(tmp_path: Path) -> None:
    """In `fs` directories nest, one without cur/ is walked through, and Inbox in any case is INBOX."""
    make(tmp_path / "Inbox")
    make(tmp_path / "Inbox" / "Lists")
    make(tmp_path / "Archive" / "2024", tmp=False)
    make(tmp_path / "Junk")
    (tmp_path / "Junk" / "courierimapkeywords").mkdir()
    assert detect_layout(str(tmp_path)) == "fs"
    assert names(tmp_path) == ["INBOX", "Archive/2024", "INBOX/Lists", "Junk"]


def test_fs_with_inbox_as_root(tmp_path: Path) -> None:
    """In `fs` the root itself may be the INBOX, with folders beside its cur/."""
    make(tmp_path)
    make(tmp_path / "Junk")
    make(tmp_path / "cur" / "trap")
    assert detect_layout(str(tmp_path)) == "fs"
    assert names(tmp_path) == ["INBOX", "Junk"]


def test_what_dovecot_is_about_to_delete(tmp_path: Path) -> None:
    """A folder that Dovecot is deleting has a directory that begins with two dots, and no longer counts."""
    make(tmp_path)
    make(tmp_path / "..DOVECOT-TRASHED")
    make(tmp_path / ".Archive")
    assert names(tmp_path) == ["INBOX", "Archive"]


def test_mixture_is_maildirpp(tmp_path: Path) -> None:
    """If both kinds of folder exist, the layout is Maildir++ by default."""
    make(tmp_path)
    make(tmp_path / ".Junk")
    make(tmp_path / "Old")
    assert names(tmp_path) == ["INBOX", "Junk"]
    assert names(tmp_path, "fs") == ["INBOX", "Old"]


def test_bare_inbox_is_maildirpp(tmp_path: Path) -> None:
    """A Maildir without folders is Maildir++, and an empty directory is `fs`."""
    (tmp_path / "empty").mkdir()
    assert detect_layout(str(make(tmp_path / "mail"))) == "maildir++"
    assert detect_layout(str(tmp_path / "empty")) == "fs"
    assert names(tmp_path / "empty") == []


def test_links_below_the_root_are_not_followed(tmp_path: Path) -> None:
    """The root may be a symbolic link; a folder, or a folder's cur/, may not."""
    outside = make(tmp_path / "outside")
    root = make(tmp_path / "root")
    make(root / ".Real")
    (root / ".Linked").symlink_to(outside)
    half = root / ".Half"
    (half / "new").mkdir(parents=True)
    (half / "cur").symlink_to(outside / "cur")
    (tmp_path / "link").symlink_to(root)
    assert names(tmp_path / "link") == ["INBOX", "Real"]


def test_depth_is_bounded(tmp_path: Path) -> None:
    """A deep tree is searched to a named depth, and no further."""
    path = tmp_path
    for _ in range(folders.MAX_DEPTH + 2):
        path = make(path / "d")
    assert len(names(tmp_path, "fs")) == folders.MAX_DEPTH


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    """A directory name in Latin-1 is shown with its bytes escaped, and its path still leads there."""
    for subdir in (b"cur", b"new"):
        os.makedirs(os.path.join(os.fsencode(tmp_path), b"caf\xe9 \n", subdir))
    (folder,) = find_folders(str(tmp_path), "auto")
    assert folder.name == "caf\\xe9 \n"
    assert os.path.isdir(folder.subdir("cur"))


def test_no_two_folders_share_a_name(tmp_path: Path) -> None:
    """Directories that decode to one name are distinguished by path."""
    make(tmp_path)
    for folder in (".INBOX", ".&ANw-", ".Ü"):
        make(tmp_path / folder)
    found = names(tmp_path)
    assert found == ["INBOX", "./.INBOX", "./.Ü", "Ü"]


def directories(root: Path, layout: folders.Layout | None = None) -> list[str]:
    """The paths of all directories that tell of changes, as seen from the root."""
    return sorted(os.path.relpath(directory.path, root) for directory in find_directories(str(root), layout or "auto"))


def test_directories_of_maildirpp(tmp_path: Path) -> None:
    """Changes show in the root, in each directory that is or may become a folder, and in `new` and `cur`."""
    for path in (".", ".Junk", ".Junk/.no", "nested"):
        make(tmp_path / path)
    for path in (".Later", "..DOVECOT-TRASHED", ".Later/sub", ".Half/cur", "cur/sub"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / ".Linked").symlink_to(tmp_path / ".Junk")
    (tmp_path / "file").touch()
    dotted = [".Half", ".Junk", ".Junk/cur", ".Junk/new", ".Later"]
    assert directories(tmp_path, "maildir++") == sorted([".", "cur", "new", *dotted])
    assert directories(tmp_path) == sorted([".", "cur", "new", *dotted, "nested", "nested/cur", "nested/new"])


def test_directories_of_fs(tmp_path: Path) -> None:
    """In the layout `fs` that is any directory, to the depth in which a folder is looked for."""
    for path in (".", "a", "a/b", "c/d"):
        make(tmp_path / path)
    (tmp_path / ".hidden").mkdir()
    deep = tmp_path.joinpath(*["z"] * (folders.MAX_DEPTH + 1))
    make(deep)
    make(deep.parent)
    found = directories(tmp_path, "fs")
    mail = [f"{path}{subdir}" for path in ("", "a/", "a/b/", "c/d/") for subdir in ("new", "cur")]
    assert [path for path in found if "z" not in path] == sorted([".", "a", "a/b", "c", "c/d", *mail])
    below = [os.path.relpath(path, tmp_path) for path in (deep.parent, deep.parent / "new", deep.parent / "cur")]
    assert [path for path in found if path.count("z") >= folders.MAX_DEPTH] == sorted(below)
    assert {folder.path for folder in find_folders(str(tmp_path), "fs")} <= {str(tmp_path / path) for path in found}


@pytest.mark.parametrize("layout", ["maildir++", "fs"])
def test_a_directory_comes_before_it_is_listed(tmp_path: Path, layout: folders.Layout) -> None:
    """Files made in a directory as it appears count as later than it."""
    root, name = tmp_path / "root", ".a" if layout == "maildir++" else "a"
    found = find_directories(str(root), layout)
    assert next(found) == Directory(str(root))
    (root / name).mkdir(parents=True)
    assert next(found) == Directory(str(root / name))
    make(root / name)
    assert [*found] == [Directory(str(root / name), "new"), Directory(str(root / name), "cur")]


def test_absent_root(tmp_path: Path) -> None:
    """A root that is not there is unavailable, not empty."""
    with pytest.raises(FolderUnavailableError, match="mounted"):
        find_folders(str(tmp_path / "gone"), "auto")


@contextlib.contextmanager
def no_more_files() -> Iterator[None]:
    """As many files are open as this process may open."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open("/", os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


@pytest.mark.parametrize("below", ["", "Work"])
def test_too_many_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    """If too many files are open for a listing, it says nothing about folders or layout."""
    make(tmp_path)
    make(tmp_path / "Work" / "Junk")
    scandir, wanted = os.scandir, str(tmp_path / below)

    def list_later(path: str) -> object:
        listed.append(path)
        if path != wanted or len(listed) == 1:
            return scandir(path)
        with no_more_files():  # another thread has opened the last one since
            return scandir(path)

    monkeypatch.setattr(os, "scandir", list_later)
    for look in (
        lambda root: find_folders(root, "auto"),
        detect_layout,
        lambda root: create_folder(root, "auto", "Junk"),
    ):
        listed: list[str] = []
        with pytest.raises(FolderUnavailableError, match="raise the limit of open files"):
            look(str(tmp_path))
    monkeypatch.undo()
    assert names(tmp_path) == ["INBOX", "Work/Junk"]


def test_directory_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory below the root that may not be listed, such as lost+found, is left out."""
    make(tmp_path / "INBOX")
    make(tmp_path / "lost+found" / "Junk")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("lost+found"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert names(tmp_path) == ["INBOX"]


@pytest.mark.parametrize("layout", ["maildir++", "fs"])
@pytest.mark.parametrize("name", ["Junk", "Archive/2024", "Entwürfe & mehr", "INBOX", "日本/語"])
def test_created_folders_are_found(tmp_path: Path, layout: folders.Layout, name: str) -> None:
    """A created folder is private, complete, found under its name, and creating it again changes nothing."""
    root = str(tmp_path / "mail")
    folder = create_folder(root, layout, name)
    assert folder in find_folders(root, layout)
    assert create_folder(root, layout, name) == folder
    for subdir in ("cur", "new", "tmp"):
        assert stat.S_IMODE(os.stat(folder.subdir(subdir)).st_mode) == 0o700
    assert os.path.exists(folder.subdir("maildirfolder")) == (layout == "maildir++" and name != "INBOX")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders for others: run this as root")
@pytest.mark.parametrize("layout", ["maildir++", "fs"])
def test_root_makes_folders_for_their_owner(tmp_path: Path, layout: folders.Layout) -> None:
    """Folders that root makes belong to the owner of the Maildir; a folder that is there keeps its owner."""
    root = tmp_path / "mail"
    before = {*make(root).iterdir()}
    os.chown(root, 54_321, 54_322)
    create_folder(str(root), layout, "Junk/2026")
    create_folder(str(root), layout, "INBOX")
    made = {*root.rglob("*")} - before
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(54_321, 54_322)}
    assert {path.stat().st_uid for path in before} == {0}


def test_creation_finds_the_existing_spelling(tmp_path: Path) -> None:
    """No twin is made of a folder that another program named in plain UTF-8."""
    make(tmp_path / "Entwürfe")
    assert create_folder(str(tmp_path), "fs", "Entwürfe").path == str(tmp_path / "Entwürfe")


@pytest.mark.parametrize("layout", ["maildir++", "fs"])
@pytest.mark.parametrize("name", ["", "/etc", "..", "a/../b", "a//b", "a/", ".", ".x", "a/.x", "cur", "a/tmp"])
def test_names_that_would_escape_are_refused(tmp_path: Path, layout: folders.Layout, name: str) -> None:
    """A name that leaves the root, or could not be found again, makes nothing."""
    with pytest.raises(MaildirError, match="not a folder name"):
        create_folder(str(tmp_path), layout, name)
    assert list(tmp_path.iterdir()) == []


def test_dots_are_refused_in_maildirpp(tmp_path: Path) -> None:
    """A dot in a Maildir++ name would divide it, so it is refused."""
    with pytest.raises(MaildirError, match="dot"):
        create_folder(str(tmp_path), "maildir++", "a.b")


def test_creation_does_not_follow_links(tmp_path: Path) -> None:
    """A folder is made neither behind a symbolic link nor in place of a file."""
    root = tmp_path / "root"
    (tmp_path / "outside").mkdir()
    root.mkdir()
    (root / "a").symlink_to(tmp_path / "outside")
    (root / "file").write_text("")
    for name in ("a/b", "file"):
        with pytest.raises(MaildirError, match="in the way"):
            create_folder(str(root), "fs", name)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_name_too_long(tmp_path: Path) -> None:
    """The error for a name that the disk refuses is in words."""
    with pytest.raises(MaildirError, match="too long"):
        create_folder(str(tmp_path), "fs", "x" * 300)


def test_keywords(tmp_path: Path) -> None:
    """The letter is the line's number; damaged lines are passed over."""
    folder = Folder("INBOX", str(tmp_path))
    assert read_keywords(folder) == {}
    lines = b"0 $Junk\n1 NonJunk\nx\n2\n-3 no\n26 none\n99999999 none\n25 last\n0 twice\n5 caf\xe9\n"
    (tmp_path / "dovecot-keywords").write_bytes(lines)
    assert read_keywords(folder) == {"a": "$Junk", "b": "NonJunk", "z": "last", "f": "caf\ufffd"}


def test_keywords_behind_a_link_are_not_read(tmp_path: Path) -> None:
    """A list that is a symbolic link counts as no list."""
    (tmp_path / "list").write_text("0 $Junk\n")
    (tmp_path / "dovecot-keywords").symlink_to(tmp_path / "list")
    assert read_keywords(Folder("INBOX", str(tmp_path))) == {}


def test_matching_letters() -> None:
    """Letters are matched by keyword without regard to case."""
    assert matching_letters({"a": "$Junk", "b": "todo"}, {"c": "$JUNK", "b": "x"}) == {"a": "c"}
