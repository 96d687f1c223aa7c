"""The configuration of a mail host: its keys, the values that must agree, and a user's own settings."""

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from spamnb.base.errors import ConfigError, UsageError
from spamnb.base.label import Role
from spamnb.config import Config, Learning, Mailbox, Scoring, Users, load, load_any, parse
from spamnb.config.own_file import KEYS, with_own
from spamnb.config.writing import add_mailboxes, render_all
from tests.table import over_rows

HOST = """\
mailboxes:
  - path: /var/vmail/{domain}/{local}/Maildir
    roles: {INBOX: inbox, Junk: spam, "Lists/*": neutral, Sent: sent}
ledger: /var/lib/spamnb-host/{domain}/{local}/ledger.sqlite
"""
PERSON = "mailboxes: [{path: /m, roles: {INBOX: inbox, Junk: spam}}]\n"


def faults(text: str) -> list[str]:
    with pytest.raises(ConfigError) as fault:
        parse(text, "c.yaml", {})
    return str(fault.value).splitlines()


def host(path: str, ledger: str) -> str:
    return HOST.replace("/var/vmail/{domain}/{local}/Maildir", path).replace(
        "/var/lib/spamnb-host/{domain}/{local}/ledger.sqlite", ledger
    )


def test_a_host() -> None:
    """Fields in the path make it the configuration of a mail host; all else is read as for one person."""
    config = parse(HOST + "users: {without: ['*@lists.example', Root], awake: 8}\nscoring: {alpha: 1}\n", "c.yaml", {})
    assert config.is_template
    assert str(config.mailboxes[0].path) == "/var/vmail/{domain}/{local}/Maildir"
    assert config.users == Users(None, ("*@lists.example", "root"), 8)
    assert config.scoring == Scoring(alpha=1)
    assert parse(HOST, "c.yaml", {}).users == Users(None, (), 64)
    assert not parse(PERSON, "c.yaml", {"HOME": "/h"}).is_template


def test_own_file_is_named_by_the_user() -> None:
    """The path of a user's own settings has fields, and is kept as written."""
    own = "/etc/spamnb/{domain}/{local}.yaml"
    assert parse(HOST + f"users:\n  own: {own}\n", "c.yaml", {}).users.own == own
    assert parse(HOST + "users: {own: null}\n", "c.yaml", {}).users.own is None


def test_a_host_is_not_for_one_person(tmp_path: Path) -> None:
    """Reading it as one person's configuration is an error that says to name a user."""
    path = tmp_path / "c.yaml"
    path.write_text(HOST)
    with pytest.raises(UsageError, match=r"c\.yaml is the configuration of a mail host: .* spamnb --user NAME COMMAND"):
        load(path, {})
    assert load_any(path, {}) == parse(HOST, "c.yaml", {})


@pytest.mark.parametrize("written", ["", "users: {awake: 8}\n"])
def test_what_is_printed_is_read_back(written: str) -> None:
    """A host's printed configuration is equivalent to its source, and one person's has no `users`."""
    config = parse(HOST + written, "c.yaml", {})
    assert parse(render_all(config), "printed", {}) == config
    person = parse(PERSON, "c.yaml", {"HOME": "/h"})
    assert "users" not in yaml.safe_load(render_all(person))


def test_a_claim() -> None:
    """The ledger itself shows whether a service works with it; for a user, the lock of a share does."""
    config = parse(PERSON, "c.yaml", {"HOME": "/h"})
    assert config.claim == config.ledger
    assert replace(config, share=Path("/l/1-of-2")).claim == Path("/l/1-of-2")


def test_a_person_is_no_host() -> None:
    """Without fields in the path, `users` and a ledger with fields are faults."""
    assert faults(PERSON + "users: {}\nledger: /l/{user}/l.sqlite\n") == [
        "c.yaml:2: users: is for a mail host, but no path of `mailboxes` has fields; leave it out, or write a path such"
        " as /var/vmail/{domain}/{local}/Maildir",
        "c.yaml:3: ledger: has fields, but no path of `mailboxes` has any; write the path of one file",
    ]


def test_what_is_of_one_person() -> None:
    """A mail host's configuration names the server for all users; no address book, no tag of notmuch, no letters."""
    assert parse(f"{HOST}authserv_id: mx.example.org\n", "c.yaml", {}).authserv_id == "mx.example.org"
    assert faults(f"{HOST}authserv_id: mx.example.org\naddress_book: /srv/contacts\nnotmuch_tag: spam\n") == [
        f"c.yaml:{line}: {key}: is for one person, and not for the users of a mail host; leave it out"
        for line, key in ((6, "address_book"), (7, "notmuch_tag"))
    ]
    assert faults(f"{HOST}service:\n  statement: monthly\n") == [
        "c.yaml:6: service: `statement` is for one user: leave it out, and write it in that user's settings"
    ]
    assert parse(f"{HOST}service:\n  statement: off\n", "c.yaml", {}).service.statement == "off"


@pytest.mark.parametrize("more", ["/var/vmail/{user}", "/home/anna/Maildir"])
def test_one_mailbox(more: str) -> None:
    """A host has one entry of mailboxes, for all users."""
    (fault,) = faults(HOST.replace("ledger:", f"  - path: {more}\n    roles: {{INBOX: inbox, Junk: spam}}\nledger:"))
    assert fault.startswith("c.yaml:2: mailboxes: has several entries, one of them with fields")


@over_rows(
    ("path", "ledger", "says"),
    [
        (
            "/m/{user}",
            "/l/one.sqlite",
            "does not have the fields of the mailbox's `path`; write one such as /var/lib/spamnb-host/{user}/",
        ),
        (
            "/m/{domain}/{local}",
            "/l/{domain}/l.sqlite",
            "has a field for the domain but none for the user; add {local}, or {user}",
        ),
        ("/m/{domain}/{local}", "/l/{local}/l.sqlite", "does not have the fields"),
        ("/m/{user}", "/l/{domain}/{local}/l.sqlite", "does not have the fields"),
        ("/m/{user}", "/l/{user}.sqlite", "has fields only in the file's name, but each user needs a directory"),
        ("/m/{domain}/{local}", "/l/{domain}/{local}.sqlite", "has fields only in the file's name"),
        ("/m/{user}", "/m/{user}/l.sqlite", "'/m' is not apart from the mail in '/m'"),
        ("/m/mail/{user}", "/m/{user}/l.sqlite", "'/m' is not apart from the mail in '/m/mail'"),
        ("/m/{user}/Maildir", "/m/l/{user}/l.sqlite", "'/m/l' is not apart from the mail in '/m'"),
        ("/m/{user}", "/l/*/{user}/l.sqlite", "'*' is only allowed in the `path` of a mailbox"),
        ("/m/{user}", "/l/%u/l.sqlite", "holds %u; write {user} for %u"),
    ],
)
def test_ledgers_are_apart(path: str, ledger: str, says: str) -> None:
    """Each user has a directory for the ledger, and none of these is among the mail or around it."""
    (fault,) = faults(host(path, ledger))
    assert fault.startswith("c.yaml:4: ledger: ")
    assert says in fault


@pytest.mark.parametrize(
    ("path", "ledger"),
    [
        ("/m/{domain}/{local}", "/l/{user}/l.sqlite"),
        ("/m/*/{user}/Maildir", "/l/{user}/{user}.sqlite"),
        ("/m/{local}", "/l/{user}/l.sqlite"),
        ("/m/{local}@{domain}", "/l/{domain}/{local}/l.sqlite"),
        ("/m/{user}", "/l/{local}/{user}/l.sqlite"),
    ],
)
def test_fields_may_be_written_otherwise(path: str, ledger: str) -> None:
    """The ledger may have different fields than the mail if they give each user a directory."""
    assert parse(host(path, ledger), "c.yaml", {}).is_template


def test_no_default_ledger() -> None:
    """The ledgers of a host have no usual place."""
    text = HOST.partition("ledger:")[0]
    (fault,) = faults(text)
    assert fault == (
        "c.yaml:1: ledger: is missing; users cannot share one, so write"
        " /var/lib/spamnb-host/{domain}/{local}/ledger.sqlite"
    )


def test_faults_have_their_lines() -> None:
    """All faults of a host's configuration are reported at once, each with its line and what to write."""
    text = """\
mailboxes:
  - path: /var/vmail/%d/%n/Maildir
    roles: {INBOX: inbox, Junk: spam}
ledger: /var/lib/spamnb-host/{domian}/l.sqlite
users:
  own: /etc/spamnb/own.yaml
  without: ["*", "a b", "list:a.example"]
  awake: 0
  common: /x
"""
    found = faults(text)
    assert [fault.split(": ")[:2] for fault in found] == [
        ["c.yaml:2", "mailboxes[0].path"],
        ["c.yaml:4", "ledger"],
        ["c.yaml:6", "users.own"],
        ["c.yaml:7", "users.without[0]"],
        ["c.yaml:7", "users.without[1]"],
        ["c.yaml:7", "users.without[2]"],
        ["c.yaml:8", "users.awake"],
        ["c.yaml:9", "users.common"],
    ]
    assert "write {domain} for %d" in found[0]
    assert "(did you mean {domain}?)" in found[1]
    assert "write one such as /etc/spamnb/users/{user}.yaml" in found[2]


@pytest.mark.parametrize(
    "own", ["own/{user}.yaml", "/own/{domain}.yaml", "/own/%u.yaml", "/own/{user}\0.yaml", "{user}"]
)
def test_own_files_that_cannot_be(own: str) -> None:
    """A user's own file has a full path that tells users apart."""
    assert faults(HOST + "users:\n  own: " + yaml.dump(own, default_style='"'))[0].startswith("c.yaml:6: users.own: ")


def test_who_is_left_out() -> None:
    """Left-out names match in upper and lower case; patterns are those of senders."""
    users = Users(without=("postmaster@example.org", "*@lists.example", "sub.example.net", "root", "b.c"))
    out = ["Postmaster@example.org", "a@lists.example", "a@sub.example.net", "a@x.sub.example.net", "root", "B.c"]
    assert all(map(users.leaves_out, out))
    assert not any(map(users.leaves_out, ["a@example.org", "a@x.lists.example", "root@a", "a.root", "b", "c"]))


def test_nothing_is_added_to_a_host(tmp_path: Path) -> None:
    """Another mailbox is not added to the configuration of a host."""
    assert add_mailboxes(HOST, [Mailbox(tmp_path, {"INBOX": Role.INBOX, "Junk": Role.SPAM})], "c.yaml", {}) is None


# --- what one user has otherwise ------------------------------------------------------------------------------------


@pytest.fixture
def config() -> Config:
    """Return the template's settings for Anna."""
    text = "scoring: {alpha: 1, ham_cutoff: 0.2}\nsenders: {allow: [example.org]}\nlearning: {kept_days: 9}\n"
    read = parse(HOST + text, "c.yaml", {})
    return replace(read, mailboxes=(replace(read.mailboxes[0], path=Path("/m/anna")),), user="anna")


def own(config: Config, directory: Path, text: str) -> Config:
    (directory / "anna.yaml").write_text(text)
    return with_own(config, directory / "anna.yaml")


def own_faults(config: Config, directory: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as fault:
        own(config, directory, text)
    return [line.removeprefix(f"{directory}/anna.yaml:") for line in str(fault.value).splitlines()]


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_an_own_file_that_is_none(config: Config, tmp_path: Path, kind: str) -> None:
    """Nothing but a file is read: a service that waited for a pipe would wait for ever, and all users with it."""
    path = tmp_path / "anna.yaml"
    with socket.socket(socket.AF_UNIX) as listening:
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            listening.bind(str(path))
        else:
            path.symlink_to("/dev/zero")
        with pytest.raises(ConfigError, match=r"anna\.yaml: cannot be read"):
            with_own(config, path)


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}\n", "scoring:\nmailboxes:\n  - {}\n"])
def test_nothing_of_one_s_own(config: Config, tmp_path: Path, text: str) -> None:
    """A file that says nothing changes nothing, and so does one that is not there."""
    assert own(config, tmp_path, text) == config
    assert with_own(config, tmp_path / "none.yaml") == config


def test_key_by_key(config: Config, tmp_path: Path) -> None:
    """A user's own key replaces the template's; the keys beside it stay."""
    found = own(
        config,
        tmp_path,
        "scoring: {spam_cutoff: 0.99}\nlearning: {kept: false}\nbreaker: false\nlog: {subjects: false}\n"
        "retention_days: 1\nservice: {statement: weekly}\nsenders: {block: [bad.example]}\n"
        "mailboxes:\n  - other_folders: neutral\n",
    )
    assert found.scoring == Scoring(alpha=1, ham_cutoff=0.2, spam_cutoff=0.99)
    assert found.learning == Learning(kept=False, kept_days=9)
    assert (found.senders.allow, found.senders.block) == (("example.org",), ("bad.example",))
    assert (found.breaker, found.log.subjects, found.retention_days) == (False, False, 1)
    assert found.mailboxes == (replace(config.mailboxes[0], other_folders=Role.NEUTRAL),)
    assert found.service == replace(config.service, statement="weekly")
    assert replace(found, **{name: getattr(config, name) for name in (*KEYS, "mailboxes", "service")}) == config


def test_own_roles(config: Config, tmp_path: Path) -> None:
    """One's own roles are for these folders, in any spelling; the others keep the role that they have for all users."""

    def mailbox(roles: str) -> Mailbox:
        (found,) = own(config, tmp_path, f"mailboxes:\n  - roles: {roles}\n").mailboxes
        return found

    of_all = config.mailboxes[0]
    assert mailbox("{Work: neutral}") == replace(of_all, roles={"Work": Role.NEUTRAL, **of_all.roles})
    assert mailbox("{.Sent: ham}").roles == {**of_all.roles, "Sent": Role.HAM}
    assert mailbox("{Sent: ham}").spam_folder == "Junk"
    spam = mailbox('{.Spam: spam, "A*": ham}')
    assert spam.roles == {"INBOX": Role.INBOX, "Spam": Role.SPAM, "Sent": Role.SENT}, "there is one spam folder"
    assert spam.patterns == {"A*": Role.HAM, "Lists/*": Role.NEUTRAL}


def test_a_key_of_a_mailbox(config: Config, tmp_path: Path) -> None:
    """A key beside the roles replaces that of all users, and leaves the roles."""
    (mailbox,) = own(config, tmp_path, "mailboxes: [{unsure_folder: Maybe}]").mailboxes
    assert mailbox == replace(config.mailboxes[0], unsure_folder="Maybe")


def test_what_holds_for_all(config: Config, tmp_path: Path) -> None:
    """Paths, and settings of the host, cannot be one user's own."""
    text = (
        "ledger: /l\nservice: {copies: 1}\nspamd: {}\nusers: {}\nscorng: {}\n"
        "mailboxes:\n  - path: /m/bob\n    layout: fs\n    rolls: {}\n"
        "authserv_id: mx.example.org\naddress_book: /home/bob/.contacts\nnotmuch_tag: spam\n"
    )
    of_all = "holds for all users, and belongs only in the host's configuration; leave it out here"
    found = own_faults(config, tmp_path, text)
    assert found[:4] == [
        f"{line}: {key}: {of_all}" for line, key in enumerate(("ledger", "service.copies", "spamd", "users"), 1)
    ]
    assert found[4] == (
        "5: scorng: is not a key; the keys are mailboxes, scoring, learning, senders, breaker, log, retention_days, "
        "service (did you mean scoring?)"
    )
    assert found[5:7] == [f"7: mailboxes[0].path: {of_all}", f"8: mailboxes[0].layout: {of_all}"]
    assert found[7].startswith("9: mailboxes[0].rolls: is not a key; the keys are roles, other_folders, unsure_folder")
    assert found[8:] == [
        f"10: authserv_id: {of_all}",
        "11: address_book: is for one person, and not for the users of a mail host; leave it out here",
        "12: notmuch_tag: is for one person, and not for the users of a mail host; leave it out here",
    ]


def test_what_comes_out_has_to_agree(config: Config, tmp_path: Path) -> None:
    """Values that must agree are checked in the user's own settings together with the template's."""
    assert own_faults(config, tmp_path, "scoring:\n  spam_cutoff: 0.15\n") == [
        "2: scoring.ham_cutoff: ham_cutoff (0.2) must be below spam_cutoff (0.15); lower it, or raise spam_cutoff"
    ]
    assert "ham_cutoff (0.95) must be below" in own_faults(config, tmp_path, "scoring: {ham_cutoff: 0.95}\n")[0]
    assert own_faults(config, tmp_path, "senders: {block: [example.org]}\n")[0].startswith("1: senders.block: ")
    assert own_faults(config, tmp_path, "mailboxes:\n  - roles: {Junk: ham}\n")[0].startswith(
        "2: mailboxes[0].roles: no"
    )
    assert own_faults(config, tmp_path, "mailboxes: [{unsure_folder: Junk}]\n")[0].startswith(
        "1: mailboxes[0].unsure_folder: 'Junk' has the role spam"
    )


@pytest.mark.parametrize("text", ["mailboxes: []", "mailboxes: {}", "mailboxes: [{}, {}]", "- a", "scoring: [", "*a"])
def test_own_files_of_another_form(config: Config, tmp_path: Path, text: str) -> None:
    """A file of another form is a fault that says what to write."""
    (fault,) = own_faults(config, tmp_path, text)
    assert any(step in fault for step in ("write", "correct"))


def test_own_files_that_cannot_be_read(config: Config, tmp_path: Path) -> None:
    """Anything but a text file is a fault too."""
    (tmp_path / "d").mkdir()
    (tmp_path / "bytes").write_bytes(b"\xff")
    for name in ("d", "bytes", "no\0"):
        with pytest.raises(ConfigError):
            with_own(config, tmp_path / name)
