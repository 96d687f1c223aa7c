"""Finding the users of a host: who is there, who is passed over, and that no directory leads to another's mail."""

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from spamnb.base.errors import MaildirError
from spamnb.host import find_users as module
from spamnb.host.find_users import ANYBODY, FoundUsers, User, find_users
from spamnb.maildir.folders import find_folders
from tests.host.conftest import Site

OTHER = 54_321  # in no list of users


@pytest.fixture
def two(site: Site) -> Site:
    """A host with two users."""
    site.maildir("example.org/anna/Maildir")
    site.maildir("example.net/bob.b/Maildir")
    return site


def test_users_by_name(two: Site) -> None:
    """Who has a Maildir is a user, with its path; they come sorted by name."""
    two.maildir("a.example/zoe/Maildir")
    mail = two.mail
    assert two.host().users() == FoundUsers(
        (
            User("anna@example.org", mail / "example.org/anna/Maildir"),
            User("bob.b@example.net", mail / "example.net/bob.b/Maildir"),
            User("zoe@a.example", mail / "a.example/zoe/Maildir"),
        ),
        directories=two.host().users().directories,
    )


def test_nobody(site: Site) -> None:
    """A host without mail has no users, and that is no fault; one whose mail is not there is."""
    assert site.host().users() == FoundUsers((), directories=(str(site.mail),))
    site.mail.rmdir()
    host = site.host()
    site.mail.rmdir()
    with pytest.raises(
        MaildirError, match=r"cannot look for users in .*vmail: No such file.*; mount the disk, or correct"
    ):
        host.users()
    site.mail.write_text("a file")
    with pytest.raises(MaildirError, match="cannot look for users in"):
        host.users()


@pytest.mark.parametrize(
    ("path", "where", "name"),
    [
        ("{user}", "anna@example.org", "anna@example.org"),
        ("{user}/Maildir", "anna/Maildir", "anna"),
        ("{local}@{domain}", "anna@example.org", "anna@example.org"),
        ("*/{user}", "x/anna", "anna"),
        ("{domain}/*/*/{local}", "example.org/a/an/anna", "anna@example.org"),
        ("{domain}/mail/{local}/Maildir", "example.org/mail/anna/Maildir", "anna@example.org"),
        ("{domain}/{user}", "example.org/anna@example.org", "anna@example.org"),
        ("{local}/mail", "anna/mail", "anna"),
    ],
)
def test_any_template(site_of: Callable[[str], Site], path: str, where: str, name: str) -> None:
    """Users are found by any fields, and each is found by the name alone, too."""
    site = site_of(path)
    root = site.maildir(where)
    site.maildir("lost+found/x/y/z")
    host = site.host()
    assert User(name, root) in host.users().users
    assert find_users(host.mail, os.geteuid(), name).users == (User(name, root),)


def test_no_maildir_yet(two: Site) -> None:
    """A directory without cur or new is no mailbox yet, and nor is a file."""
    (two.mail / "example.org/anna/Maildir/cur").rmdir()
    (two.mail / "example.net/bob.b/Maildir/new").rmdir()
    (two.mail / "example.org/eve").mkdir()
    (two.mail / "example.org/dora").mkdir()
    (two.mail / "example.org/dora/Maildir").write_text("a file")
    (two.mail / "file").write_text("a file")
    assert two.host().users().users == ()


STRANGE = [".hidden", "a b", "new\nline", "\x1b[31m", "a\u202eb", "a..", "{local}", "a\\b", "a@b"]


@pytest.mark.parametrize("name", [*map(os.fsencode, STRANGE), b"\xff\xfe"])
def test_strange_names(two: Site, name: bytes) -> None:
    """A directory whose name is none of a user or a domain is named and never repaired."""
    before = two.host().users().users
    os.makedirs(os.fsencode(two.mail) + b"/example.org/" + name + b"/Maildir/cur")
    os.makedirs(os.fsencode(two.mail) + b"/example.org/" + name + b"/Maildir/new")
    os.makedirs(os.fsencode(two.mail) + b"/" + name + b"/eve/Maildir/cur")
    found = two.host().users()
    assert found.users == before
    assert [os.path.basename(path) for path in found.strange] == [os.fsdecode(name)] * 2


ODD = ["o'neil", "a&b", "#1", "-rf", "*", "50%", "jörg"]


@pytest.mark.parametrize("name", ODD)
def test_odd_names(two: Site, name: str) -> None:
    """A user whose name has an odd letter is a user like any other, found with the others and by name."""
    two.maildir(f"example.org/{name}/Maildir")
    assert f"{name}@example.org" in [user.name for user in two.host().users().users]
    found = two.host().find(f"{name}@example.org")
    assert found is not None and found.name == f"{name}@example.org"
    assert two.host().find(f"{name}@example.net") is None


def test_ten_thousand_strange_names(two: Site) -> None:
    """Very many of them hide nobody."""
    for number in range(10_000):
        (two.mail / f"example.org/.{number}").mkdir()
    found = two.host().users()
    assert [user.name for user in found.users] == ["anna@example.org", "bob.b@example.net"]
    assert len(found.strange) == 10_000
    assert found.may_be_meant == []


def test_fields_that_do_not_agree(site_of: Callable[[str], Site]) -> None:
    """A name below another's domain is nobody's: it would share the ledger of whom it names."""
    site = site_of("{domain}/{user}")
    site.maildir("example.org/anna@example.org")
    site.maildir("example.net/anna@example.org")
    found = site.host().users()
    assert ([user.root.parent.name for user in found.users], len(found.strange)) == (["example.org"], 1)


@pytest.mark.parametrize(
    ("link", "to"),
    [
        ("example.org/eve", "anna"),
        ("example.org/eve", "/"),
        ("example.org/eve", "."),
        ("example.org/eve", "nowhere"),
        ("example.org/eve", "eve"),
        ("example.com", "example.org"),
        ("example.com", "/"),
        ("example.org/eve/Maildir", "../anna/Maildir"),
        ("example.org/eve/Maildir", "Maildir"),
    ],
)
def test_links_are_not_followed(two: Site, link: str, to: str) -> None:
    """A link in the place of a domain, a user or a Maildir is counted; it makes nobody a user, whatever it leads to."""
    before = two.host().users()
    (two.mail / link).parent.mkdir(exist_ok=True)
    (two.mail / link).symlink_to(to)
    host = two.host()
    assert host.users().users == before.users
    assert host.users().links == 1
    assert host.users(before=before).users == before.users
    for name in ("eve@example.org", "anna@example.com", "eve@example.com"):
        assert host.find(name) is None


@pytest.mark.parametrize("which", ["x", "x/example.org", "x/example.org/mail", "x/example.org/mail/anna"])
def test_no_link_below_the_fixed_part(site_of: Callable[[str], Site], which: str) -> None:
    """That holds for `*` and for plain directories between fields as well: who made them is not known."""
    site = site_of("*/{domain}/mail/{local}")
    site.maildir("x/example.org/mail/anna")
    host = site.host()
    assert len(host.users().users) == 1
    path = site.mail / which
    path.rename(site.directory / "elsewhere")
    path.symlink_to(site.directory / "elsewhere")
    assert (host.users().users, host.users().links) == ((), 1)
    assert host.find("anna@example.org") is None


def test_links_of_the_administrator(two: Site) -> None:
    """The fixed part of the path may lead through links."""
    before = [user.name for user in two.host().users().users]
    two.mail.rename(two.directory / "disk")
    two.mail.symlink_to(two.directory / "disk")
    assert two.names() == before


def test_what_is_no_directory(two: Site) -> None:
    """A fifo or a socket among the directories is passed over without being opened."""
    before = two.host().users().users
    os.mkfifo(two.mail / "example.com")
    os.mkfifo(two.mail / "example.org/eve")
    (two.mail / "example.org/zoe").mkdir()
    os.mkfifo(two.mail / "example.org/zoe/Maildir")
    assert two.host().users().users == before
    assert two.host().find("zoe@example.org") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away: run this as root")
def test_mailboxes_of_others(two: Site) -> None:
    """A Maildir that belongs to another user of the machine is counted, and is for who asks for that owner alone."""
    os.chown(two.mail / "example.org/anna/Maildir", OTHER, OTHER)
    host = two.host()
    assert [user.name for user in host.users().users] == ["bob.b@example.net"]
    assert host.users().of_others == 1
    assert host.find("anna@example.org") is None
    assert [user.name for user in host.users(OTHER).users] == ["anna@example.org"]
    assert host.users(OTHER).of_others == 1
    assert len(host.users(ANYBODY).users) == 2
    assert host.find("anna@example.org", OTHER) == host.find("anna@example.org", ANYBODY) == host.users(OTHER).users[0]


def test_two_maildirs_of_one_name(site_of: Callable[[str], Site]) -> None:
    """Who is found in two hashed directories has no mailbox until one of them is gone: none is chosen."""
    site = site_of("*/{user}")
    for where in ("a/anna", "b/anna", "a/bob", "c/anna"):
        site.maildir(where)
    found = site.host().users()
    assert ([user.name for user in found.users], found.twice) == (["bob"], 1)
    assert site.host().find("anna") is None
    assert [user.name for user in site.host().users(before=found).users] == ["bob"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all: run this as another user")
def test_what_may_not_be_listed(two: Site) -> None:
    """Others are found all the same, and the directory is named."""
    (two.mail / "example.org").chmod(0)
    try:
        _check_unreadable(two)
    finally:
        (two.mail / "example.org").chmod(0o700)


def test_what_cannot_be_listed(two: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that cannot be listed is named, and hides nobody outside of it; that of all mail is an error."""
    scandir = os.scandir
    broken = {str(two.mail / "example.org"): errno.EIO}

    def scan(path: str) -> object:
        if path in broken:
            raise OSError(broken[path], os.strerror(broken[path]), path)
        return scandir(path)

    monkeypatch.setattr(module.os, "scandir", scan)
    _check_unreadable(two)
    broken[str(two.mail / "example.org")] = errno.EMFILE
    with pytest.raises(MaildirError, match=r"example\.org: Too many open files; raise the limit of open files"):
        two.host().users()
    broken.clear()
    broken[str(two.mail)] = errno.EACCES
    with pytest.raises(MaildirError, match="correct its owner or its permissions"):
        two.host().users()
    assert two.host().find("anna@example.org") is not None


def _check_unreadable(two: Site) -> None:
    found = two.host().users()
    assert [user.name for user in found.users] == ["bob.b@example.net"]
    assert found.unreadable == (str(two.mail / "example.org"),)


def test_directories_to_watch(two: Site) -> None:
    """Users come and go in the fixed directory, in each of a field, and in each user's; each is named once."""
    (two.mail / "example.org/eve").mkdir()
    host = two.host()
    mail = str(two.mail)
    expected = [
        mail,
        *(f"{mail}/{at}" for at in ("example.net", "example.net/bob.b", "example.org", "example.org/anna")),
    ]
    assert sorted(host.users().directories) == sorted([*expected, f"{mail}/example.org/eve"])
    assert host.users().directories[0] == mail


def test_known_users_are_looked_at_again(two: Site) -> None:
    """With what was found before the result is the same, as the very same values, and who came or went is seen."""
    host = two.host()
    before = host.users()
    assert host.users(before=before) == before
    assert all(one is other for one, other in zip(host.users(before=before).users, before.users, strict=True))
    (two.mail / "example.org/anna").rename(two.mail / "example.org/eve")
    assert [user.name for user in host.users(before=before).users] == ["bob.b@example.net", "eve@example.org"]
    assert host.users(before=before) == host.users()
    (two.mail / "example.org/eve/Maildir").rename(two.mail / "example.org/eve/mail")
    assert [user.name for user in host.users(before=before).users] == ["bob.b@example.net"]


def test_of_one_user_only_the_way_is_looked_at(two: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """To find one user no directory is listed, but where any directory may be meant."""
    host = two.host()
    monkeypatch.setattr(module.os, "scandir", lambda path: pytest.fail(f"listed {path}"))
    assert host.find("anna@example.org") == User("anna@example.org", two.mail / "example.org/anna/Maildir")
    assert host.find("eve@example.org") is None
    assert find_users(host.mail, os.geteuid(), "eve@example.net").users == ()


def test_a_name_that_is_too_long_for_the_disk(site_of: Callable[[str], Site]) -> None:
    """A name may be longer than directories' names: nobody has it."""
    site = site_of("{user}/" + "x" * 200 + "/{user}")
    assert site.host().find("a" * 254) is None


def test_what_vanishes_meanwhile(two: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that goes between two looks is no fault."""
    listed = module._Walk._listed

    def gone(self: module._Walk, path: str, component: str) -> list[str]:
        return [*listed(self, path, component), f"{path}/gone"]

    monkeypatch.setattr(module._Walk, "_listed", gone)
    assert len(two.host().users().users) == 2
    assert two.host().users().unreadable == ()


def test_left_out(two: Site) -> None:
    """Who is left out by the configuration is no user, and is not found."""
    out = "  without: [anna@example.org]\n"
    assert two.names(out) == ["bob.b@example.net"]
    assert two.host(out).find("Anna@example.org") is None
    assert replace(two.host().users(), users=()) == replace(two.host(out).users(), users=())


@pytest.mark.parametrize(
    "name", ["register-1-of-4.jsonl", "register.requests", "1-of-4.lock", "of-4.lock", "register.web.key.part"]
)
def test_names_that_the_host_itself_has(site_of: Callable[[str], Site], name: str, tmp_path: Path) -> None:
    """Nobody has the name of a file that lies among the directories of the ledgers; deeper it is a name as any."""
    flat = site_of("{user}")
    flat.maildir(name)
    flat.maildir(f"{name}@example.org")
    assert flat.names() == [f"{name}@example.org"]
    assert flat.host().find(name) is None
    (tmp_path / "deep").mkdir()
    deep = Site(tmp_path / "deep")
    deep.maildir(f"example.org/{name}/Maildir")
    deep.maildir(f"{name}/anna/Maildir")
    assert deep.names() == [f"{name}@example.org"]


@pytest.mark.parametrize("which", ["cur", "new"])
def test_links_in_a_maildir(two: Site, which: str) -> None:
    """Who has a link in the place of cur or new may be found, and has no inbox: another's mail is never read by it."""
    anna = two.mail / "example.org/anna/Maildir"
    (anna / which).rmdir()
    (anna / which).symlink_to(two.mail / "example.net/bob.b/Maildir" / which)
    two.host().users()
    assert find_folders(str(anna), "auto") == ()
