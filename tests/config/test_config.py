"""The configuration: its keys, their defaults, and its faults."""

import itertools
import os
import re
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spamnb import config as package
from spamnb.base.errors import ConfigError
from spamnb.base.label import Role
from spamnb.config import (
    MAX_BYTES,
    Config,
    Learning,
    Log,
    Mailbox,
    Scoring,
    Service,
    default_config_path,
    default_ledger_path,
    default_paths,
    load,
    parse,
)
from spamnb.config.keys import WRITTEN
from spamnb.config.settings import APART
from spamnb.config.writing import example as written_example
from spamnb.config.writing import render
from tests.profiles import daily
from tests.table import over_rows

HOME = {"HOME": "/home/anna"}
EXAMPLE = Path(__file__).parents[2] / "config.example.yaml"
MINIMAL = """\
mailboxes:
  - path: ~/Maildir
    roles:
      INBOX: inbox
      Junk: spam
"""


def faults(content: str, environ: Mapping[str, str] = HOME) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(content, "c.yaml", environ)
    return str(caught.value).splitlines()


def only_fault(content: str) -> str:
    lines = faults(content)
    assert len(lines) == 1, lines
    return lines[0]


# What is read


def test_minimal():
    """A mailbox with an inbox and a spam folder is a complete configuration; all other keys have defaults."""
    assert parse(MINIMAL, "c.yaml", HOME) == Config(
        mailboxes=(Mailbox(Path("/home/anna/Maildir"), {"INBOX": Role.INBOX, "Junk": Role.SPAM}),),
        ledger=Path("/home/anna/.local/share/spamnb/ledger.sqlite"),
        scoring=Scoring(),
        learning=Learning(),
        breaker=True,
        service=Service(),
    )


def test_values_are_read():
    """Each key reaches the field of its name."""
    read = parse(
        """\
mailboxes:
  - path: /srv/mail/anna
    layout: fs
    roles: {INBOX: inbox, Spam: spam, Learn/Spam: train_spam, Learn/Ham: train_ham, Trash: neutral, Old: ham}
    other_folders: neutral
    unsure_folder: Maybe
ledger: ~/ledger.sqlite
scoring: {model: bernoulli, alpha: 1, spam_cutoff: 0.9, ham_cutoff: 0.1}
learning: {kept: no, kept_days: 1.5, dwell_seconds: 0, minimum_messages: 1, keywords: false, trust_delivery: no,
  move_marked: no}
authserv_id: mx.example.org
address_book: ~/.contacts
notmuch_tag: junk mail
breaker: off
retention_days: 30.5
service: {reconcile_seconds: 60, watch: polling, poll_seconds: 0.5}
log: {subjects: false}
""",
        "c.yaml",
        HOME,
    )
    roles = {
        "INBOX": Role.INBOX,
        "Spam": Role.SPAM,
        "Learn/Spam": Role.TRAIN_SPAM,
        "Learn/Ham": Role.TRAIN_HAM,
        "Trash": Role.NEUTRAL,
        "Old": Role.HAM,
    }
    assert read == Config(
        mailboxes=(Mailbox(Path("/srv/mail/anna"), roles, "fs", Role.NEUTRAL, "Maybe"),),
        ledger=Path("/home/anna/ledger.sqlite"),
        scoring=Scoring("bernoulli", 1.0, 0.9, 0.1),
        learning=Learning(False, 1.5, 0.0, 1, False, False, False),
        authserv_id="mx.example.org",
        address_book=Path("/home/anna/.contacts"),
        notmuch_tag="junk mail",
        breaker=False,
        retention_days=30.5,
        service=Service(60.0, "polling", 0.5),
        log=Log(False),
    )
    assert list(read.mailboxes[0].roles) == list(roles)


def test_first_folder_of_a_role():
    """Spam goes to the first spam folder, and mail comes back to the first inbox, in the order written."""
    roles = "{Zoo: spam, New: inbox, Bulk: spam, INBOX: inbox}"
    mailbox = parse(f"mailboxes: [{{path: /m, roles: {roles}}}]", "c.yaml", HOME).mailboxes[0]
    assert (mailbox.spam_folder, mailbox.inbox_folder) == ("Zoo", "New")


def test_values_are_frozen():
    """A configuration that was read is never changed, and its mailboxes can be keys of a mapping."""
    read = parse(MINIMAL, "c.yaml", HOME)
    with pytest.raises(FrozenInstanceError):
        read.scoring.alpha = 2.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        read.mailboxes[0].roles["Junk"] = Role.HAM  # type: ignore[index]
    assert {read.mailboxes[0]: 1}[read.mailboxes[0]] == 1


def test_commented_out_section():
    """A section whose keys are all commented out has its defaults."""
    assert parse(MINIMAL + "scoring:\n  # alpha: 1\n", "c.yaml", HOME).scoring == Scoring()


@over_rows("name", ["2024", "No", "1.5", "'null'", "'~'", "Entwürfe", "Lists/C++", "'- #x: y'"])
def test_folder_names_are_text(name: str):
    """A folder's name is text as written, even if YAML would read a number or a flag."""
    roles = parse(MINIMAL + f"      {name}: ham\n", "c.yaml", HOME).mailboxes[0].roles
    assert name.strip("'") in roles


@pytest.mark.parametrize(("written", "value"), [("1e-3", 0.001), (".5", 0.5), ("5.", 5.0), ("+1", 1.0), ("010", 10.0)])
def test_numbers_mean_what_they_look_like(written: str, value: float):
    """YAML 1.1 takes 1e-3 for text and 010 for eight; here both are the numbers that people see."""
    assert parse(MINIMAL + f"scoring: {{alpha: {written}}}", "c.yaml", HOME).scoring.alpha == value


def test_byte_order_mark(tmp_path: Path):
    """A file that an editor saved with a byte order mark is read as any other."""
    (tmp_path / "c.yaml").write_bytes(b"\xef\xbb\xbf" + MINIMAL.encode())
    assert load(tmp_path / "c.yaml", HOME) == parse(MINIMAL, "c.yaml", HOME)


PATTERNS = """\
mailboxes:
  - path: /m
    roles:
      INBOX: inbox
      Junk: spam
      Trash: neutral
      Lists: neutral
      Lists/Friends: ham
      "Lists/py*": ham
      "Lists/*": neutral
      "20??": neutral
      "Old[*]": neutral
      "Spam?": spam
      "*": ham
    other_folders: neutral
"""


@over_rows(
    ("folder", "role"),
    [
        ("Lists/Friends", Role.HAM),
        ("Lists/python", Role.HAM),
        ("Lists/ruby/dev", Role.NEUTRAL),
        ("2024", Role.NEUTRAL),
        ("20245", Role.HAM),
        ("Old*", Role.NEUTRAL),
        ("Oldest", Role.HAM),
        ("Spam1", Role.SPAM),
        ("Spam1/a", Role.HAM),
        ("Junk/2023", Role.SPAM),
        ("Trash/Projects", Role.NEUTRAL),
        ("Trash/Spam1", Role.NEUTRAL),
        ("Deleted Items", Role.NEUTRAL),
        ("Spam", Role.NEUTRAL),
        ("Drafts/2024", Role.NEUTRAL),
        ("INBOX", Role.INBOX),
        ("inbox", Role.NEUTRAL),
    ],
)
def test_patterns(folder: str, role: Role):
    """A pattern gives a role to unnamed folders; never ham to a folder that is trash or spam by name or place."""
    mailbox = parse(PATTERNS, "c.yaml", HOME).mailboxes[0]
    assert mailbox.role_of(folder) is role
    assert (mailbox.spam_folder, mailbox.inbox_folder) == ("Junk", "INBOX")
    assert not any(name.endswith(("*", "?", "]")) and name != "Old*" for name in mailbox.roles)


def test_a_folder_inside_of_one_that_a_pattern_names():
    """A folder inside trash or spam by a pattern has the same role."""
    roles = "{INBOX: inbox, Junk: spam, 'Ju?k': spam, 'R?bbish': neutral}"
    mailbox = parse(f"mailboxes: [{{path: /m, roles: {roles}}}]", "c.yaml", HOME).mailboxes[0]
    found = [mailbox.role_of(name) for name in ("Ju-k/a", "Rubbish/a/b", "Rubbish/Junk", "a/Rubbish")]
    assert found == [Role.SPAM, Role.NEUTRAL, Role.NEUTRAL, Role.HAM]


def test_whose_role_is_written():
    """A pattern names the folders that match it, but not what may have slipped into a spam folder."""
    mailbox = parse(PATTERNS.replace("Spam?", "*Spam*"), "c.yaml", HOME).mailboxes[0]
    found = {name: mailbox.names(name) for name in ("Junk", "Spam1", "Spam1/2023", "Junk/MySpam", "Junk/a", "INBOX")}
    assert [name for name, is_named in found.items() if is_named] == ["Junk", "Spam1", "INBOX"]


@over_rows(
    ("layout", "name", "meant"),
    [
        ("auto", ".Junk", "Junk"),
        ("auto", ".Old.Junk", "Old/Junk"),
        ("auto", "INBOX.Junk", "INBOX.Junk"),
        ("maildir++", ".INBOX.Junk", "INBOX/Junk"),
        ("maildir++", "INBOX.Junk", "Junk"),
        ("maildir++", "Old.Junk", "Old/Junk"),
        ("maildir++", "INBOX/Junk", "INBOX/Junk"),
        ("fs", "INBOX.Junk", "INBOX.Junk"),
        ("auto", "./.INBOX", "./.INBOX"),
    ],
)
def test_names_as_on_the_disk(layout: str, name: str, meant: str):
    """A folder may be written like its directory in a Maildir++, if that is unambiguous."""
    roles = f"{{INBOX: inbox, {name}: spam}}"
    content = f"mailboxes: [{{path: /m, layout: {layout}, roles: {roles}, unsure_folder: .Maybe}}]"
    if layout == "fs":
        content = content.replace(".Maybe", "Maybe")
    mailbox = parse(content, "c.yaml", HOME).mailboxes[0]
    assert (mailbox.spam_folder, mailbox.unsure_folder) == (meant, "Maybe")


# Faults


def test_all_faults_at_once():
    """One error reports every fault: one line each, with file, line, dotted key and the allowed values."""
    content = """\
mailboxs: 3
scoring:
  alpha: .inf
  model: yes
  modl: x
  ham_cutoff: 0.995
  ham_cutoff: 0.2
mailboxes:
  - path: Mail
    roles: {INBOX: inbx, a/../b: spam}
  - path: ~/M
    roles: {INBOX: inbox, Junk: spam}
    unsure_folder: Junk
  - path: ~/M/in
    roles: [a]
breaker: 3
learning:
  kept_days: "3"
  minimum_messages: 2.5
"""
    assert faults(content) == [
        "c.yaml:1: mailboxs: is not a key; the keys are mailboxes, ledger, address_book, scoring, learning, "
        "senders, authserv_id, notmuch_tag, breaker, log, service, retention_days, spamd, exchange, users "
        "(did you mean mailboxes?)",
        "c.yaml:3: scoring.alpha: '.inf' is not allowed; write a number above 0 to 1000",
        "c.yaml:4: scoring.model: 'yes' is not allowed; write one of bernoulli, multinomial, multinomial-boolean",
        "c.yaml:5: scoring.modl: is not a key; the keys are model, alpha, spam_cutoff, ham_cutoff "
        "(did you mean model?)",
        "c.yaml:6: scoring.ham_cutoff: ham_cutoff (0.995) must be below spam_cutoff (0.95); "
        "lower it, or raise spam_cutoff",
        "c.yaml:7: scoring.ham_cutoff: is written twice, first in line 6; keep one",
        "c.yaml:9: mailboxes[0].path: 'Mail' is not a full path; write a full path such as /home/you/Maildir "
        "or ~/Maildir",
        "c.yaml:10: mailboxes[0].roles.INBOX: 'inbx' is not allowed; write one of inbox, spam, ham, neutral, sent, "
        "train_spam, train_ham (did you mean inbox?)",
        "c.yaml:10: mailboxes[0].roles['a/../b']: 'a/../b' cannot be a folder's name; write a name such as Junk "
        "or Lists/Python",
        "c.yaml:13: mailboxes[1].unsure_folder: 'Junk' has the role spam; name a separate folder for unsure mail",
        "c.yaml:14: mailboxes[2].path: '/home/anna/M/in' is inside the mailbox '/home/anna/M'; keep the "
        "outer one, and give the inner a role in it",
        "c.yaml:15: mailboxes[2].roles: is a list; write folders with their roles, one 'INBOX: inbox' per line",
        "c.yaml:16: breaker: '3' is not allowed; write true or false",
        "c.yaml:18: learning.kept_days: is quoted text; write a number from 0 to 3650, without quotes",
        "c.yaml:19: learning.minimum_messages: '2.5' is not allowed; write a whole number from 1 to 1000000",
    ]


@over_rows(
    ("section", "key", "value"),
    [
        *[("scoring", "alpha", value) for value in ("0", "-1", "1001", "1e999", ".nan", "yes", "1_0", "[1]", "{}", "")],
        *[("scoring", "alpha", value) for value in ("0", "-0.1", "1:30", "0x1")],
        *[("scoring", "spam_cutoff", value) for value in ("1.01", "'0.9'", "-0.1")],
        ("scoring", "ham_cutoff", "0.95"),
        ("scoring", "model", "bayes"),
        ("scoring", "model", ""),
        *[("learning", "kept", value) for value in ("1", "'true'", "maybe", "", "[]")],
        *[("learning", "minimum_messages", value) for value in ("0", "20.0", "true", "9" * 5000, "1000001")],
        ("learning", "kept_days", "-1"),
        ("learning", "dwell_seconds", "3601"),
        ("service", "watch", "fsevents"),
        ("service", "poll_seconds", "0"),
        ("service", "reconcile_seconds", "0.5"),
        *[("exchange", "database", value) for value in ("''", "[a]", '"a\\nb"')],
        *[("exchange", "host", value) for value in ("mx 1", "-mx", "m" * 64)],
        *[("exchange", "user", value) for value in ("a b", "../x", ".a", "a" * 255)],
        *[("exchange", "seconds", value) for value in ("0", "3601")],
    ],
)
def test_value_that_is_not_allowed(section: str, key: str, value: str):
    """A value of the wrong type or range is reported with its line, its key and what to write."""
    line = only_fault(MINIMAL + f"{section}:\n  {key}: {value}\n")
    assert line.startswith(f"c.yaml:7: {section}.{key}: ")
    assert "; " in line
    assert len(line) < 250


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("breaker: {window: 10, share: 1}", "c.yaml:6: breaker: is a mapping; write true or false"),
        ("breaker: 1", "c.yaml:6: breaker: '1' is not allowed; write true or false"),
        (
            "address_book: ~/.contacts",
            "c.yaml:6: address_book: has no effect without authserv_id; name your mail server there, or leave both out",
        ),
        (
            "authserv_id: mx example",
            "c.yaml:6: authserv_id: 'mx example' is not allowed; write the site in the first word of your "
            "server's Authentication-Results, such as example.org",
        ),
        ('notmuch_tag: " "', "c.yaml:6: notmuch_tag: ' ' is not allowed; write a tag such as spam"),
        ("retention_days: -1", "c.yaml:6: retention_days: '-1' is not allowed; write a number from 0 to 36500"),
    ],
)
def test_what_a_plain_key_may_hold(written: str, told: str):
    """A value that a key without a section may not have is reported with what to write."""
    assert only_fault(f"{MINIMAL}{written}\n").startswith(told)


@over_rows(
    ("content", "told"),
    [
        ("", "c.yaml:1: the file is empty; remove it and run: spamnb init"),
        ("# nothing\n\n", "c.yaml:1: the file is empty"),
        ("- 1", "c.yaml:1: is a list; write keys below it: mailboxes, "),
        ("mailboxes", "c.yaml:1: is the text 'mailboxes'; write keys"),
        ("ledger: /l\n", "c.yaml:1: mailboxes: is missing; add"),
        ("mailboxes:\n", "c.yaml:1: mailboxes: is empty; write a list"),
        ("mailboxes: []\n", "c.yaml:1: mailboxes: is an empty list; write a list"),
        ("mailboxes: {path: /m}\n", "c.yaml:1: mailboxes: is a mapping; write a list"),
        ("a: 1\n--- {}\n", "c.yaml:2: not YAML at column 1: but found another document; "),
        (
            "a:\n\tb: 1\n",
            "c.yaml:2: not YAML at column 1: found character '\\t' that cannot start any token; ",
        ),
        ("a: [1\n", "c.yaml:2: not YAML at column 1: "),
        ("a: &x [1]\nb: *x\n", "c.yaml:2: aliases (*name) are not allowed; write the value itself"),
        ("a: !!python/name:os.system\n", "c.yaml:1: tags (!name) are not allowed; "),
        ("[" * 1000, "c.yaml:1: nested deeper than 16 levels; "),
        ("a: 1\nb: \x1b[31m\n", "c.yaml:2: the character U+001B is not allowed; remove it"),
        ('a: "\\UFFFFFFFF"\n', "c.yaml:1: not YAML: a number is too large ("),
        ("%YAML " + "9" * 5000 + ".1\n--- a\n", "c.yaml:1: not YAML: a number is too large ("),
        (MINIMAL + "? [a]\n: 1\n", "c.yaml:6: a key is a list; write a name"),
        (MINIMAL + "ledger: ledger.sqlite\n", "c.yaml:6: ledger: 'ledger.sqlite' is not a full path; "),
        (MINIMAL + "ledger: ~bert/l\n", "c.yaml:6: ledger: '~bert/l' is not a full path; "),
        (MINIMAL + 'ledger: "/a\\0b"\n', "c.yaml:6: ledger: holds a NUL character; "),
        (MINIMAL + "ledger:\n", "c.yaml:6: ledger: has no value; "),
        (
            MINIMAL + "      ~: ham\n",
            "c.yaml:6: mailboxes[0].roles['~']: has no value; write a folder's name (a word",
        ),
        (
            MINIMAL + '      "a\\0b": ham\n',
            "c.yaml:6: mailboxes[0].roles['a\\x00b']: 'a\\x00b' cannot be a folder's name",
        ),
        (
            MINIMAL + "      Junk: ham\n",
            "c.yaml:6: mailboxes[0].roles.Junk: is written twice, first in line 5",
        ),
        (
            MINIMAL + "    other_folders: spam\n",
            "c.yaml:6: mailboxes[0].other_folders: 'spam' is not allowed",
        ),
        (
            MINIMAL + "      Maybe: unsure\n",
            "c.yaml:6: mailboxes[0].roles.Maybe: 'unsure' is not allowed; write one of inbox, spam, ham, neutral, ",
        ),
        (
            MINIMAL + "    unsure_folder: ../x\n",
            "c.yaml:6: mailboxes[0].unsure_folder: '../x' cannot be a folder's name",
        ),
        (
            MINIMAL.replace(": spam", ": ham"),
            "c.yaml:4: mailboxes[0].roles: no folder has the role spam; add one",
        ),
        (
            MINIMAL.replace(": inbox", ": ham"),
            "c.yaml:4: mailboxes[0].roles: no folder has the role inbox; add",
        ),
        ("mailboxes:\n  - path: /m\n", "c.yaml:2: mailboxes[0].roles: is missing; add"),
        (
            MINIMAL.replace("INBOX: inbox", "INBOX: spam").replace("Junk: spam", "Junk: inbox"),
            "c.yaml:4: mailboxes[0].roles: 'INBOX' is where new mail arrives and cannot be spam; write 'INBOX: inbox'",
        ),
        (
            MINIMAL + "      New: inbox\n      inbox: train_ham\n".replace("inbox: train", "Inbox: train"),
            "c.yaml:4: mailboxes[0].roles: 'Inbox' is where new mail arrives and cannot be train_ham; ",
        ),
        (
            MINIMAL + "    unsure_folder: INBOX\n",
            "c.yaml:6: mailboxes[0].unsure_folder: 'INBOX' has the role inbox; name a separate folder",
        ),
        (
            MINIMAL.replace("INBOX", "New") + "    unsure_folder: Inbox\n",
            "c.yaml:6: mailboxes[0].unsure_folder: 'Inbox' has the role inbox; name a separate folder",
        ),
        (
            MINIMAL + "      'Train*': train_ham\n    unsure_folder: Trainee\n",
            "c.yaml:7: mailboxes[0].unsure_folder: 'Trainee' has the role train_ham; name a separate folder",
        ),
        (
            MINIMAL.replace("Junk", "'Ju*'"),
            "c.yaml:4: mailboxes[0].roles: only a pattern has the role spam; add one, for example 'Junk: spam'",
        ),
        (
            MINIMAL + "      .Junk: spam\n",
            "c.yaml:4: mailboxes[0].roles: 'Junk' and '.Junk' are one folder; keep one of them",
        ),
        (
            MINIMAL.replace("Junk", ".Junk") + "    layout: fs\n",
            "c.yaml:4: mailboxes[0].roles: '.Junk' begins with a dot, which layout fs does not allow; write 'Junk'",
        ),
        (
            MINIMAL + "    newcomers_folder: Junk\n",
            "c.yaml:6: mailboxes[0].newcomers_folder: 'Junk' has the role spam; name a separate folder for mail of",
        ),
        (
            MINIMAL + "    layout: maildir++\n    unsure_folder: .New\n    newcomers_folder: New\n",
            "c.yaml:8: mailboxes[0].newcomers_folder: 'New' is the unsure_folder too; name a separate folder",
        ),
        (
            MINIMAL + "      New: newcomers\n",
            "c.yaml:6: mailboxes[0].roles.New: 'newcomers' is not allowed; write one of inbox, spam, ham, neutral, ",
        ),
        (
            MINIMAL + "    unsure_folder: .Junk..x\n",
            "c.yaml:6: mailboxes[0].unsure_folder: '.Junk..x' has an empty part between dots; write '/'",
        ),
        (
            MINIMAL + "exchange:\n  database: service=spamnb\n",
            "c.yaml:7: exchange: has no user; write your name on all hosts, such as user: anna@example.org",
        ),
        (
            MINIMAL.replace("~/Maildir", "/m/{user}/Maildir")
            + "ledger: /l/{user}/l\nexchange: {database: x, user: anna}\n",
            "c.yaml:7: exchange: has a user, but on a mail host the users' own names are used; leave it out",
        ),
        (
            MINIMAL + "    patterns: {}\n",
            "c.yaml:6: mailboxes[0].patterns: is not a key; ",
        ),
        (
            MINIMAL + "scoring.alpha: 0.1\n",
            "c.yaml:6: ['scoring.alpha']: is not a key; the keys are ",
        ),
    ],
)
def test_faulty_file(content: str, told: str):
    """A file that is not a configuration is reported with the place and the next step, never by a traceback."""
    line = only_fault(content)
    assert line.startswith(told)
    assert "; " in line
    assert line.isprintable()


@pytest.mark.parametrize("second", ["/m", "/m/", "//m/./x/..", "/m/.Lists", "/"])
def test_mailboxes_lie_apart(second: str):
    """No mailbox is written twice, and none is inside another: a message would be seen twice."""
    roles = "roles: {INBOX: inbox, Junk: spam}"
    content = f"mailboxes:\n  - {{path: /m, {roles}}}\n  - {{path: /n, {roles}}}\n  - {{path: {second}, {roles}}}\n"
    clashes = faults(content)
    assert clashes
    assert all(line.startswith("c.yaml:4: mailboxes[2].path: ") for line in clashes)


def test_neighbours_are_apart():
    """Two mailboxes whose paths begin with the same letters are two mailboxes."""
    roles = "roles: {INBOX: inbox, Junk: spam}"
    content = f"mailboxes: [{{path: /m, {roles}}}, {{path: /m2, {roles}}}]"
    assert len(parse(content, "c.yaml", HOME).mailboxes) == 2


def test_faults_are_safe_to_show():
    """Neither the file's name nor its text reaches a terminal unescaped or at full length."""
    with pytest.raises(ConfigError) as caught:
        parse(f'"\\e[2J{"x" * 10_000}": 1', "c\x1b.yaml", HOME)
    assert all(line.isprintable() and len(line) < 250 for line in str(caught.value).splitlines())


def test_no_home():
    """If HOME is not set, "~" and the ledger's default place are faults that say so."""
    assert "because HOME is not set; write the full path" in faults(MINIMAL, {})[0]
    with pytest.raises(ConfigError, match="Set HOME, or write 'ledger:"):
        parse(MINIMAL.replace("~", "/home/anna"), "c.yaml", {})


def test_size_limit(tmp_path: Path):
    """A file past the limit is refused, and the limit is named."""
    path = tmp_path / "c.yaml"
    path.write_text(MINIMAL.ljust(MAX_BYTES, "\n"))
    assert load(path, HOME) == parse(MINIMAL, "c.yaml", HOME)
    path.write_text(MINIMAL.ljust(MAX_BYTES + 1, "\n"))
    with pytest.raises(ConfigError, match=f"longer than {MAX_BYTES} bytes; "):
        load(path, HOME)
    with pytest.raises(ConfigError, match=f"longer than {MAX_BYTES} bytes; "):
        parse(path.read_text(), "c.yaml", HOME)


def test_missing_file(tmp_path: Path):
    """Without a configuration, the error says how to make one."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "c.yaml", HOME)
    named = f"{tmp_path}/c.yaml"
    assert str(caught.value) == f"No configuration at {named}. Check the path, or run: spamnb --config {named} init"
    usual = tmp_path / "spamnb" / "config.yaml"
    with pytest.raises(ConfigError) as caught:
        load(usual, {"XDG_CONFIG_HOME": str(tmp_path)})
    assert str(caught.value) == f"No configuration at {usual}. Run: spamnb init"
    assert caught.value.exit_code == 78


@pytest.mark.parametrize("name", [".", "a\0b", "c.yaml/below", "x" * 300])
def test_unreadable_file(tmp_path: Path, name: str):
    """A file that cannot be read is a fault of the configuration, with the system's reason."""
    (tmp_path / "c.yaml").touch()
    with pytest.raises(ConfigError, match=r"cannot be read \(.+\); check the path and its permissions"):
        load(f"{tmp_path}/{name}", HOME)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_forbidden_file(tmp_path: Path):
    """A file that may not be read says so."""
    (tmp_path / "c.yaml").touch(mode=0)
    with pytest.raises(ConfigError, match="Permission denied"):
        load(tmp_path / "c.yaml", HOME)


def test_not_utf8(tmp_path: Path):
    """Bytes that are not UTF-8 are reported with their line."""
    (tmp_path / "c.yaml").write_bytes(MINIMAL.encode() + b"      Entw\xfcrfe: ham\n")
    with pytest.raises(ConfigError, match=r"c\.yaml:6: the byte 0xfc is not UTF-8; save the file as UTF-8$"):
        load(tmp_path / "c.yaml", HOME)


keys = st.sampled_from(
    [each.name for cls in (Config, Mailbox, Scoring, Learning, Service, Log) for each in fields(cls)]
)
scalars = st.one_of(
    keys,
    st.text(max_size=8),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.sampled_from(list(map(str, Role))),
)
trees = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(keys | st.text(max_size=8), below, max_size=4),
    max_leaves=20,
)
yaml_like = st.lists(
    st.sampled_from(
        [*"[]{}:,-?&*!|>'\"%@`#~=<\n\t ", "  ", ": ", "- ", "mailboxes", "roles", "path", "/m", "\\U", "9"]
    ),
    max_size=40,
).map("".join)


@settings(max_examples=daily(30))
@given(st.text() | yaml_like | trees.map(yaml.safe_dump))
@example("!<%FF> a")
@example("%TAG ! a\n%TAG ! b\n")
@example("? ? ? a")
@example("- !\n")
def test_any_text(content: str):
    """Any text is a Config or a ConfigError, and never anything else."""
    try:
        assert isinstance(parse(content, "c.yaml", HOME), Config)
    except ConfigError as error:
        assert all(line.isprintable() and line.startswith("c.yaml") for line in str(error).split("\n"))


@settings(max_examples=daily(30))
@given(st.binary(max_size=200))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes):
    """Any file is a Config or a ConfigError, and never anything else."""
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError):
        load(path, HOME)


# Writing

# without dots: in a Maildir++ they divide levels
levels = st.text(st.characters(exclude_characters="/.\0", exclude_categories=()), min_size=1, max_size=20)
plain_levels = levels.map(lambda name: re.sub("[{}%*]", "_", name))  # which may begin a field, or what looks like one
folder_names = st.lists(levels, min_size=1, max_size=3).map("/".join)


@st.composite
def mailboxes(draw: st.DrawFn) -> Mailbox:
    names = draw(st.lists(folder_names, min_size=2, max_size=6, unique=True))
    roles = {names[0]: Role.INBOX, names[1]: Role.SPAM}
    roles |= {name: draw(st.sampled_from(WRITTEN)) for name in names[2:]}
    signs = draw(st.sets(st.sampled_from("*?")))
    mailbox = Mailbox(
        path=Path("/") / draw(plain_levels),
        roles=roles,
        patterns={f"{draw(folder_names)}/{sign}": draw(st.sampled_from(WRITTEN)) for sign in signs},
        layout=draw(st.sampled_from(["auto", "maildir++", "fs"])),
        other_folders=draw(st.sampled_from([Role.HAM, Role.NEUTRAL])),
    )
    given = {None, Role.HAM, Role.NEUTRAL}
    safe = folder_names.filter(lambda name: (roles.get(name) or mailbox.by_pattern(name)) in given)
    apart = draw(st.lists(safe, max_size=len(APART), unique=True))
    return replace(mailbox, **dict(zip(APART.values(), apart, strict=False)))


@settings(max_examples=daily(30))
@given(mailboxes(), st.none() | plain_levels.map(lambda name: Path("/") / name))
@example(Mailbox(Path("/m"), {"a\x85b": Role.INBOX, "\u2028": Role.SPAM, "\udcfc": Role.HAM, "=": Role.HAM}), None)
@example(Mailbox(Path("/~/null"), {"null": Role.INBOX, "x" * 200: Role.SPAM, "<<": Role.HAM}), Path("/a b: #c"))
def test_render_round_trip(mailbox: Mailbox, ledger: Path | None):
    """`parse` reads back what `render` writes, whatever the folder names."""
    content = render([mailbox], ledger)
    content.encode("utf-8")
    read = parse(content, "c.yaml", HOME)
    assert read.mailboxes == (mailbox,)
    assert list(read.mailboxes[0].roles) == list(mailbox.roles)
    assert list(read.mailboxes[0].patterns) == list(mailbox.patterns)
    assert read.ledger == (ledger or default_ledger_path(HOME))


def test_render_reads_well():
    """A new configuration shows names in their own letters, and says where every other key is explained."""
    content = render([Mailbox(Path("/home/anna/Maildir"), {"INBOX": Role.INBOX, "Unerwünscht": Role.SPAM})])
    assert "    Unerwünscht: spam\n" in content
    assert "spamnb config --example" in content
    assert "scoring" not in content


# The example


def missing_keys(written: Any, value: Any, key: str = "") -> list[str]:
    """The dotted fields of a dataclass that a mapping does not hold."""
    if isinstance(value, tuple):
        return [each for item, part in zip(written, value, strict=True) for each in missing_keys(item, part, key)]
    if not is_dataclass(value):
        return []
    no_keys = ("patterns", "levels", "user", "share", "written")  # the first stand among the roles
    names = [each.name for each in fields(value) if each.name not in no_keys]
    absent = [f"{key}{name}" for name in names if name not in written]
    return absent + [
        each
        for name in names
        if name in written
        for each in missing_keys(written[name], getattr(value, name), f"{key}{name}.")
    ]


def test_example_shows_every_key():
    """config.example.yaml holds every key there is. Those of a mail host are commented out, and so are those to leave,
    which have the name of their section before a dot.
    """
    written = yaml.safe_load(written_example(of_host=True))
    for name in [name for name in written if "." in name]:
        section, key = name.split(".")
        of_section = written[section][0] if section == "mailboxes" else written[section]
        assert key not in of_section
        of_section[key] = written.pop(name)
    assert missing_keys(written, load(EXAMPLE, HOME)) == []


def test_example_of_a_host():
    """With fields in its paths it is the configuration of a mail host, and the defaults are those values too."""
    text = re.sub(r"^\w+\.", "#", written_example(of_host=True), flags=re.MULTILINE)
    text = text.replace("~/Maildir", "/var/vmail/{user}/Maildir")
    read = parse(text.replace("~/.local/share/spamnb/", "/var/lib/spamnb/{user}/"), "c.yaml", HOME)
    assert read.is_template
    assert read == Config(
        mailboxes=(Mailbox(Path("/var/vmail/{user}/Maildir"), read.mailboxes[0].roles),),
        ledger=Path("/var/lib/spamnb/{user}/ledger.sqlite"),
    )


def test_example_holds_the_defaults():
    """A value in config.example.yaml is the default."""
    read = load(EXAMPLE, HOME)
    assert read == Config(
        mailboxes=(Mailbox(Path("/home/anna/Maildir"), read.mailboxes[0].roles),),
        ledger=default_ledger_path(HOME),
    )


def test_example_explains_every_key():
    """Every key of config.example.yaml but the sections' names has a comment right above it."""
    lines = written_example(of_host=True).splitlines()
    roles = set(load(EXAMPLE, HOME).mailboxes[0].roles)
    for above, line in itertools.pairwise(lines):
        key, colon, value = line.strip().removeprefix("- ").partition(":")
        if colon and value and not key.startswith("#") and key not in roles:
            assert above.strip().startswith("#"), line


def test_a_key_with_a_dot():
    """A key that is written as the example names it, such as `scoring.alpha`, is reported with where to write it."""
    assert only_fault(MINIMAL + "scoring.alpha: 0.1\n").endswith("(write 'alpha:' below 'scoring:')")


# Default places


def test_default_ledger_path():
    """The ledger is in the service's state directory, or else in the person's data directory."""
    assert default_ledger_path({**HOME, "STATE_DIRECTORY": "/var/lib/spamnb/anna:/var/lib/x"}) == Path(
        "/var/lib/spamnb/anna/ledger.sqlite"
    )
    assert default_ledger_path({**HOME, "XDG_DATA_HOME": "/d"}) == Path("/d/spamnb/ledger.sqlite")
    assert default_ledger_path({**HOME, "XDG_DATA_HOME": "relative"}) == Path(
        "/home/anna/.local/share/spamnb/ledger.sqlite"
    )


def test_default_config_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The first configuration that exists is meant: the service's, the person's, the system's."""
    system = tmp_path / "etc" / "config.yaml"
    monkeypatch.setattr(default_paths, "SYSTEM_CONFIG", system)
    environ = {"CONFIGURATION_DIRECTORY": f"{tmp_path}/service", "HOME": f"{tmp_path}/home"}
    own = tmp_path / "home" / ".config" / "spamnb" / "config.yaml"
    for path in (system, own, tmp_path / "service" / "config.yaml"):
        path.parent.mkdir(parents=True)
        path.touch()
        assert default_config_path(environ) == path
    assert default_config_path({**environ, "XDG_CONFIG_HOME": f"{tmp_path}/none"}) == path
    assert default_config_path({"HOME": f"{tmp_path}/home"}) == own


def test_default_config_path_for_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """If no configuration exists, the person's own place is the default; without a home the system's."""
    monkeypatch.setattr(default_paths, "SYSTEM_CONFIG", tmp_path / "config.yaml")
    assert default_config_path({"HOME": f"{tmp_path}"}) == tmp_path / ".config" / "spamnb" / "config.yaml"
    assert default_config_path({"XDG_CONFIG_HOME": f"{tmp_path}/x"}) == tmp_path / "x" / "spamnb" / "config.yaml"
    assert default_config_path({}) == tmp_path / "config.yaml"


def test_public_names():
    """The package offers each name that it lists."""
    assert all(hasattr(package, name) for name in package.__all__)
