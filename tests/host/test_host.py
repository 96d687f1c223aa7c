"""A host: who is meant by a name, what holds for a user, and what is said where there is none."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from spamnb.base.errors import ConfigError, UsageError
from spamnb.base.label import Role
from spamnb.config import Scoring
from spamnb.host.host import Configured, Host, User, load_host, load_user
from spamnb.host.shares import Share
from tests.host.conftest import Site

ANNA = "anna@example.org"


@pytest.fixture
def host(site: Site) -> Host:
    """A host with two users."""
    site.maildir("example.org/anna/Maildir")
    site.maildir("example.org/Bob/Maildir")
    return site.host()


def anna(host: Host) -> User:
    found = host.find(ANNA)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (ANNA, ANNA),
        ("ANNA@Example.ORG", ANNA),
        ("anna+lists@example.org", ANNA),
        ("Anna+Lists+more@example.org", ANNA),
        ("Bob@example.org", "Bob@example.org"),
        ("Bob+x@example.org", "Bob@example.org"),
        ("bob@example.org", None),
        ("anna", None),
        ("anna@example.net", None),
        ("anna@example.org/../example.org", None),
        ("+x@example.org", None),
        ("../example.org/anna", None),
        ("anna@example.org\n", None),
        ("anna@@example.org", None),
        ("{local}@{domain}", None),
        ("*@example.org", None),
        ("", None),
        ("\0", None),
        ("a" * 100_000, None),
    ],
)
def test_who_is_meant(host: Host, asked: str, name: str | None) -> None:
    """A user is found by the name as it is, in lower case, or without what follows "+"; by nothing else."""
    found = host.find(asked)
    assert (found and found.name) == name


def test_the_name_of_a_login(host: Host) -> None:
    """The name of a login is that of a user, as written or in lower case; the part after "+" belongs to it."""
    assert [host.find(name, by_login=True) for name in (f"x+{ANNA}", ANNA.replace("@", "+x@"))] == [None, None]
    assert [host.find(name, by_login=True) for name in (ANNA, ANNA.upper())] == [host.find(ANNA)] * 2


def test_a_letter_whose_small_letter_is_in_ascii(site: Site, host: Host) -> None:
    """The sign of kelvin is no "K": a name with it means nobody."""
    site.maildir("example.org/karl/Maildir")
    assert host.find("Karl@example.org") is not None
    assert host.find("\u212aarl@example.org") is None


def test_a_name_as_it_is_comes_first(site: Site, host: Host) -> None:
    """Who has a "+" or capitals in the name is found before who has not."""
    site.maildir("example.org/anna+lists/Maildir")
    site.maildir("example.org/bob/Maildir")
    assert [found and found.name for found in map(host.find, ("anna+lists@example.org", "bob@example.org"))] == [
        "anna+lists@example.org",
        "bob@example.org",
    ]


def test_what_holds_for_a_user(site: Site, host: Host) -> None:
    """A user has the template's values, with the paths filled in, and a claim in the directory of the register."""
    config, fault = host.config_of(anna(host))
    assert fault == ""
    assert config == replace(
        host.template,
        mailboxes=(replace(host.template.mailboxes[0], path=site.mail / "example.org/anna/Maildir"),),
        ledger=site.directory / "state/example.org/anna/ledger.sqlite",
        user=ANNA,
        share=site.directory / "state/1-of-1",
    )
    assert not config.is_template
    assert host.directory == site.directory / "state"


def test_a_share_is_handed_on(host: Host) -> None:
    """A service says which share it has; nothing is looked up then."""
    service = replace(host, share=Share(3, 4))
    assert service.config_of(anna(host)).config.claim == host.directory / "3-of-4"


def test_a_ledger_that_is_a_link(site: Site, host: Host) -> None:
    """Locks and copies are in the directory of the ledger itself, as for one person."""
    directory = site.directory / "state/example.org/anna"
    directory.mkdir(parents=True)
    (directory / "ledger.sqlite").symlink_to(site.directory / "disk.sqlite")
    assert host.config_of(anna(host)).config.ledger == site.directory / "disk.sqlite"


def test_one_s_own_settings(site: Site, host: Host) -> None:
    """A user's own file takes the place of the template's, key by key, for that user alone."""
    path = site.own(ANNA, "scoring: {alpha: 1}\nmailboxes:\n  - other_folders: neutral\n")
    assert host.own_file(ANNA) == path
    config, fault = host.config_of(anna(host))
    assert (config.scoring, config.mailboxes[0].other_folders, fault) == (Scoring(alpha=1), Role.NEUTRAL, "")
    bob = host.find("Bob@example.org")
    assert bob is not None
    assert host.config_of(bob).config.scoring == Scoring()


def test_a_faulty_own_file(site: Site, host: Host) -> None:
    """It leaves what was in force, or else what the template says, and the fault is told with its line."""
    usual = host.config_of(anna(host)).config
    path = site.own(ANNA, "scoring: {alpha: 1}\n")
    before = host.config_of(anna(host)).config
    path.write_text("learning: {}\nscoring: {alpha: x}\npath: /\n")
    fault = f"{path}:2: scoring.alpha: 'x' is not allowed; write a number above 0 to 1000"
    for given, held in ((None, usual), (before, before)):
        found = host.config_of(anna(host), given)
        assert found.config == held
        assert found.fault.splitlines()[0] == fault
        assert len(found.fault.splitlines()) == 2


def test_nobody_has_own_settings(site: Site, host: Host) -> None:
    """Without a path for them there are none."""
    text = host.path.read_text()
    host.path.write_text(text.partition("users:")[0])
    without = load_host(host.path, {})
    site.own(ANNA, "scoring: {alpha: 1}\n")
    assert without.own_file(ANNA) is None
    assert without.config_of(anna(without)).config.scoring == Scoring()


def test_load_user(host: Host, tmp_path: Path) -> None:
    """By one function a command gets the configuration of one person, or of the user who is asked for."""
    assert load_user(host.path, {}, ANNA) == host.config_of(anna(host))
    person = tmp_path / "person.yaml"
    person.write_text("mailboxes: [{path: /m, roles: {INBOX: inbox, Junk: spam}}]\nledger: /l\n")
    config, fault = load_user(person, {}, "")
    assert (config.ledger, config.user, fault) == (Path("/l"), "", "")
    with pytest.raises(UsageError, match=r"person\.yaml is the configuration of one person, and not of a mail host"):
        load_user(person, {}, ANNA)
    with pytest.raises(UsageError, match="is the configuration of a mail host: name one of its users"):
        load_user(host.path, {}, "")
    with pytest.raises(ConfigError, match="No configuration at"):
        load_user(tmp_path / "none.yaml", {}, ANNA)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            "eve@example.org",
            "has no user eve@example.org: check that {mail}/example.org/eve/Maildir",
        ),
        ("Eve+x@example.org", r"has no user Eve\+x@example.org: check that {mail}/example.org/eve/Maildir"),
        ("anna", "anna cannot be a user of .*: write a name such as anna@example.org"),
        ("../x@\x1b[31m", r"\.\./x@\\x1b\[31m cannot be a user of"),
        (ANNA, r"anna@example.org is left out in .*config\.yaml: see `without` below `users`"),
    ],
)
def test_no_such_user(site: Site, host: Host, asked: str, says: str) -> None:
    """Whoever is not found is told of with what to look at."""
    site.host("  without: [anna@example.org]\n")
    with pytest.raises(UsageError, match=says.format(mail=site.mail)) as fault:
        load_user(host.path, {}, asked)
    assert fault.value.exit_code == 64
    assert str(fault.value).isprintable()


def test_a_name_without_a_domain(site_of: Callable[[str], Site]) -> None:
    """Where names may have no domain the example has none."""
    with pytest.raises(UsageError, match=r"write a name such as anna$"):
        load_user(site_of("{user}/Maildir").host().path, {}, "a/b")


def test_configurations_are_values(host: Host) -> None:
    """Asked again, a host says the same."""
    assert load_host(host.path, {}) == host
    assert host.config_of(anna(host)) == Configured(*host.config_of(anna(host)))
    assert host.users().users == (User("Bob@example.org", anna(host).root.parents[1] / "Bob/Maildir"), anna(host))
    assert os.fspath(anna(host).root).endswith("anna/Maildir")
