"""`init`: from nothing to a configuration."""

import json
import os
import stat
from pathlib import Path

import pytest

from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import load
from spamnb.ledger.file.locks import only_service
from tests.cli.conftest import At, Run, maildir

CONFIG = ".config/spamnb/config.yaml"


def full(home: Path, name: str = "Maildir") -> Path:
    """A Maildir with usual folders and some mail."""
    return maildir(
        home / name,
        INBOX=[message("ham", n) for n in range(3)],
        Junk=[message("spam", n) for n in range(4)],
        Sent=[message("ham", n) for n in range(50, 52)],
        Archive_2024=[message("ham", n) for n in range(10, 15)],
    )


def test_finds_proposes_writes(home: Path, run: Run) -> None:
    """init finds the Maildir, shows each folder's role and what it would teach, and writes the configuration."""
    root = full(home)
    result = run("init")
    assert (result.code, result.err) == (0, "")
    rows = [line.split() for line in result.out.splitlines()]
    assert ["INBOX", "inbox", "3", "ham"] in rows
    assert ["Archive/2024", "ham", "5", "ham"] in rows
    assert ["Sent", "sent", "2", "nothing"] in rows
    assert ["Junk", "spam", "4", "spam"] in rows
    assert "Spam goes to Junk." in result.out
    (mailbox,) = load(home / CONFIG).mailboxes
    assert (mailbox.path, mailbox.layout, mailbox.spam_folder, mailbox.inbox_folder) == (
        root,
        "maildir++",
        "Junk",
        "INBOX",
    )
    assert (home / CONFIG).stat().st_mode & 0o777 == 0o600
    assert "0 ham, 0 spam" in run("status").out


def test_folders_of_lists(home: Path, run: Run) -> None:
    """init proposes folders of mailing lists as neutral, says in a line why, and learns read mail there weakly."""
    mail = {
        name: [b"List-Id: <%s.example>\n" % name.encode() + message("ham", first + n) for n in range(6)]
        for name, first in (("Lists_python", 0), ("Lists_debian", 10), ("Archive", 0))
    }
    maildir(home / "Maildir", INBOX=[message("ham", 50)], Family=[message("ham", 60)], **mail)
    result = run("init", "--learn")
    rows = [line.split() for line in result.out.splitlines()]
    assert ["Lists/python", "neutral", "6", "weakly", "ham,", "if", "read"] in rows
    assert ["Archive", "ham", "6", "ham"] in rows
    assert "mail there comes over mailing lists, so rules seem to sort it. Such a folder is neutral: " in result.out
    assert "  Lists/*: neutral\n" in (home / CONFIG).read_text()
    assert "learned 12 messages as weakly ham\nlearned 8 messages as ham\n" in result.out
    assert "learned 0 messages as weakly ham, 12 known already\n" in run("init", "--learn").out


def test_never_over_an_existing_one(home: Path, run: Run) -> None:
    """An existing configuration stays, and --force keeps it beside the new one."""
    full(home)
    (home / CONFIG).parent.mkdir(parents=True)
    (home / CONFIG).write_text("mine: 1\n")
    result = run("init")
    assert (result.code, result.out) == (78, "")
    assert "--force" in result.err
    assert (home / CONFIG).read_text() == "mine: 1\n"
    assert "kept as" in run("init", "--force").out
    assert (home / f"{CONFIG}.old").read_text() == "mine: 1\n"
    assert sorted(os.listdir((home / CONFIG).parent)) == ["config.yaml", "config.yaml.old"]
    assert "config.yaml.old2" in run("init", "--force").out
    assert (home / f"{CONFIG}.old").read_text() == "mine: 1\n", "the one that was edited is kept however often"


def test_there_is_a_configuration_at_every_moment(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """During a replacement a service reads the old configuration or the new one."""
    full(home)
    assert run("init").code == 0
    rename, there = os.rename, []

    def renamed(path: str, target: str) -> None:
        there.append((home / CONFIG).exists())
        rename(path, target)

    monkeypatch.setattr(os, "rename", renamed)
    assert run("init", "--force").code == 0
    assert there
    assert all(there)
    assert (home / f"{CONFIG}.old").exists()


def test_replaces_one_that_cannot_be_read(home: Path, run: Run) -> None:
    """Its mode is kept, but for what would make the new one unreadable too."""
    full(home)
    file = home / CONFIG
    file.parent.mkdir(parents=True)
    file.write_text("mine: 1\n")
    file.chmod(0)
    assert run("init", "--force").code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o400
    assert stat.S_IMODE(file.with_name("config.yaml.old").stat().st_mode) == 0


def test_learns_when_told(home: Path, run: Run) -> None:
    """--learn learns from the folders by their roles, and not from neutral ones; the same again changes nothing."""
    full(home)
    result = run("init", "--learn")
    assert "learned 8 messages as ham\nlearned 4 messages as spam\n" in result.out
    assert "learned 0 messages as ham, 8 known already" in run("init", "--learn", "--force").out
    assert "8 ham, 4 spam" in run("status").out
    assert run("run", "--once").code == 0
    assert len(os.listdir(home / "Maildir" / ".Junk" / "cur")) == 4


def test_spam_in_the_inbox_teaches_no_ham(home: Path, run: Run) -> None:
    """init says how much of the ham looks like spam; the same again changes nothing, and an undo takes it back."""
    ham, spam = ([message(kind, n) for n in range(40)] for kind in ("ham", "spam"))
    maildir(home / "Maildir", INBOX=[*ham, *spam[30:]], Junk=spam[:30])
    learned = run("init", "--learn")
    assert (learned.code, learned.err) == (0, "")
    assert (
        "learned 50 messages as ham\nlearned 30 messages as spam\n10 messages outside of Junk look like spam: "
        "10 count as weakly spam. At a terminal `spamnb init --learn` asks about them\n" in learned.out
    )
    (counted,) = [line for line in run("status").out.splitlines() if line.startswith("learned ")]
    for again in (run("init", "--learn"), run("init", "--learn", "--force")):
        assert "look like spam" not in again.out
        assert counted in run("status").out.splitlines()
    assert run("history").out.count("looks like spam") == 10
    assert run("verify").code == 0
    assert run("undo", "--since", "1h", "--only", "lessons", "--yes").code == 0
    assert "0 ham, 0 spam" in run("status").out
    assert run("verify").code == 0
    assert "10 messages outside of Junk look like spam" in run("init", "--learn").out, "as if for the first time"
    assert "\n10 messages outside of Junk look like spam. To answer: spamnb init --learn\n" in run("audit").out


def test_a_filter_in_use_does_not_learn_its_own_verdicts(home: Path, run: Run) -> None:
    """--learn leaves out what the filter moved or kept and nobody decided, with a line that says how many."""
    root = maildir(
        home / "Maildir",
        INBOX=[message("ham", n) for n in range(30)],
        Junk=[message("spam", n) for n in range(30)],
    )
    assert run("init", "--learn").code == 0
    for number in range(100, 103):
        for kind in ("ham", "spam"):
            (root / "new" / f"18000000{number}.{kind}.host").write_bytes(message(kind, number))
    assert run("run", "--once").code == 0
    assert len(list(root.glob(".Junk/new/18*"))) == 3
    (root / "new/1800000200.late.host").write_bytes(message("spam", 200))  # after the service has ended
    result = run("init", "--learn")
    assert (result.code, result.err) == (0, "")
    assert "left out 7 messages that the filter judges and nobody has decided on\n" in result.out
    assert "30 ham, 30 spam" in run("status").out
    assert run("-q", "init", "--learn").out == ""


def test_spam_folder_wins(home: Path, run: Run) -> None:
    """A message in a ham and in a spam folder is learned as spam: someone put it there."""
    maildir(home / "Maildir", INBOX=[message("spam", 1), message("ham", 1)], Spam=[message("spam", 1)])
    run("init", "--learn")
    assert "1 ham, 1 spam" in run("status").out
    assert run("verify").code == 0


def test_does_not_learn_unasked(home: Path, run: Run) -> None:
    """Without a terminal init never asks; it learns nothing, and says how to."""
    full(home)
    result = run("init")
    assert "spamnb init --learn" in result.out
    assert run("init", "--force", "--no-learn").code == 0
    assert "0 ham, 0 spam" in run("status").out


@pytest.mark.parametrize("name", ["Maildir", ".maildir", "Mail"])
def test_usual_places(home: Path, run: Run, name: str) -> None:
    """The usual places are looked at."""
    full(home, name)
    assert f"Found {home / name} " in run("init").out


def test_maildir_variable(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """$MAILDIR comes before the usual places, and an argument before both."""
    full(home)
    full(home, "elsewhere")
    full(home, "third")
    monkeypatch.setenv("MAILDIR", str(home / "elsewhere"))
    assert "elsewhere" in run("init").out
    assert f"Found {home / 'third'} " in run("init", "--force", "third").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [((), "found no Maildir in"), (("nowhere",), "there is no directory"), (("empty",), "is not a Maildir")],
)
def test_no_maildir(home: Path, run: Run, arguments: tuple[str, ...], says: str) -> None:
    """If there is no Maildir, init says where it looked and what to give, and writes nothing."""
    (home / "empty").mkdir()
    result = run("init", *arguments)
    assert result.code == 3
    assert says in result.err
    assert not (home / CONFIG).exists()


def test_no_spam_folder(home: Path, run: Run) -> None:
    """Without a spam folder Junk is proposed, and the service makes it."""
    root = maildir(home / "Maildir", INBOX=[message("ham", 1)])
    said = run("init").out
    assert "to be created" in said
    assert "subscribe to it" in said
    assert load(home / CONFIG).mailboxes[0].spam_folder == "Junk"
    assert run("run", "--once").code == 0
    assert not [name for name in os.listdir(root / "cur") if "Junk" in name]


def test_fullest_spam_folder_leads(home: Path, run: Run) -> None:
    """If there are several spam folders, spam is moved to the fullest."""
    maildir(home / "Maildir", Junk=[], Spam=[message("spam", 1)])
    assert "Spam goes to Spam." in run("init").out


def test_a_spam_folder_by_its_own_name_leads(home: Path, run: Run) -> None:
    """A folder inside the spam folder, however full, is not the one that spam is moved to."""
    maildir(home / "Maildir", Junk=[message("spam", 1)], Junk_2023=[message("spam", n) for n in range(2, 5)])
    assert "Spam goes to Junk." in run("init").out


def test_learns_later_by_the_roles_that_were_corrected(home: Path, run: Run) -> None:
    """With a configuration in place --learn learns by its roles, and changes nothing in it."""
    full(home)
    run("init")
    text = (home / CONFIG).read_text().replace("Archive/2024: ham", "Archive/2024: neutral")
    (home / CONFIG).write_text(text)
    result = run("init", "--learn")
    assert (result.code, result.err) == (0, "")
    assert ["Archive/2024", "neutral", "5", "nothing"] in [line.split() for line in result.out.splitlines()]
    assert "3 ham, 4 spam" in run("status").out
    assert (home / CONFIG).read_text() == text
    assert sorted(os.listdir((home / CONFIG).parent)) == ["config.yaml"]
    assert (run("-q", "init", "--learn").out, run("init", "--learn", "Maildir").code) == ("", 0)
    result = run("init", "--learn", "elsewhere")
    assert (result.code, "no mailbox at" in result.err) == (78, True)


def test_a_place_without_an_inbox(home: Path, run: Run) -> None:
    """The home directory, and a directory of several accounts, are not Maildirs: init names those in it."""
    full(home)
    full(home, "Mail/work")
    for sub in ("cur", "new"):
        (home / "Mail/private/Inbox" / sub).mkdir(parents=True)
        (home / "drawer/Papers" / sub).mkdir(parents=True)
    for asked, says in (
        (".", f"{home} has no inbox: give {home}/Mail/private or {home}/Mail/work or {home}/Maildir"),
        ("Mail", f"{home}/Mail has no inbox: give {home}/Mail/private or {home}/Mail/work"),
        ("drawer", "config.example.yaml"),
    ):
        result = run("init", asked)
        assert (result.code, result.out, len(result.err.splitlines())) == (3, "", 1)
        assert says in result.err
        assert not (home / CONFIG).exists()
    (home / "Maildir").rename(home / "elsewhere")
    assert "has no inbox: give" in run("init").err, "nor is it where nothing was asked"


def test_odd_folder_names(home: Path, run: Run) -> None:
    """Folder names with escapes, quotes, line ends and broken bytes are shown safely, and read back unchanged."""
    root = maildir(home / "Maildir")
    for odd in (b".a\x1b[31m", b".line\nbreak", b".caf\xe9", b".: yaml #'\"", b".&", b".Entw&APw-rfe", b".no"):
        for sub in ("cur", "new", "tmp"):
            os.makedirs(os.path.join(os.fsencode(root), odd, sub.encode()))
    result = run("init", "--learn")
    assert result.code == 0
    assert result.out.replace("\n", "").isprintable()
    roles = load(home / CONFIG).mailboxes[0].roles
    assert {"a\x1b[31m", "line\nbreak", "caf\\xe9", ": yaml #'\"", "&", "Entwürfe", "no", "INBOX", "Junk"} == set(roles)
    assert roles["Entwürfe"] is Role.NEUTRAL


def test_config_elsewhere(home: Path, run: Run) -> None:
    """With --config the configuration and its ledger are written there, and nothing elsewhere."""
    full(home)
    result = run("--config", home / "conf" / "c.yaml", "init", "--learn")
    assert result.code == 0
    assert f"Next: spamnb --config {home}/conf/c.yaml run" in result.out
    assert (home / "conf" / "ledger.sqlite").exists()
    assert not (home / ".local").exists()
    assert "8 ham, 4 spam" in run("--config", home / "conf" / "c.yaml", "status").out


def test_unwritable_place(home: Path, run: Run) -> None:
    """If the configuration cannot be written, one line says so, with the next step."""
    full(home)
    (home / ".config").write_text("a file in the way")
    result = run("init")
    assert result.code == 78
    assert "--config FILE" in result.err
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("place", ["cur", "new", ".Junk/cur"])
def test_mail_that_may_not_be_moved(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """If spam could not be moved, init names the missing right, and writes nothing."""
    root, access = full(home), os.access
    monkeypatch.setattr(
        "spamnb.setup.proposal.os.access", lambda path, mode: path != str(root / place) and access(path, mode)
    )
    result = run("init", "--learn")
    assert (result.code, result.out, len(result.err.splitlines())) == (3, "", 1)
    assert f" may not read and write {root / place}" in result.err
    assert not (home / CONFIG).exists()


def test_mail_of_somebody_else(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """init tells a user who does not own the mail to run the service as the owner."""
    full(home)
    monkeypatch.setattr("spamnb.setup.proposal.os.geteuid", lambda: 12_345)
    result = run("init")
    assert result.code == 0
    assert "and you are user 12345: run the service as " in result.err


def test_running_service(home: Path, run: Run) -> None:
    """While a service runs, init changes no configuration and says to stop it; but it learns."""
    full(home)
    run("init")
    before = (home / CONFIG).read_text()
    with only_service(str(home / ".local/share/spamnb/ledger.sqlite")):
        result = run("init", "--force")
    assert result.code == 3
    assert "stop that one first" in result.err
    assert (home / CONFIG).read_text() == before
    assert not (home / f"{CONFIG}.old").exists()
    with only_service(str(home / ".local/share/spamnb/ledger.sqlite")):
        assert "learned 8 messages as ham" in run("init", "--learn").out, "which `train` would do as well"


def test_quiet_init_says_nothing(home: Path, run: Run) -> None:
    """-q says nothing and does the same."""
    full(home)
    result = run("-q", "init", "--learn")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert "8 ham, 4 spam" in run("status").out


def synchronised(root: Path, **folders: list[bytes]) -> Path:
    """An account as synchronisers lay it out: directories in a directory."""
    for name, contents in folders.items():
        for sub in ("cur", "new", "tmp"):
            (root / name / sub).mkdir(parents=True, exist_ok=True)
        for i, content in enumerate(contents):
            (root / name / "cur" / f"17000000{i:02}.M{i}P1.host:2,S").write_bytes(content)
    return root


@pytest.mark.parametrize("inbox", ["INBOX", "Inbox", "inbox"])
@pytest.mark.parametrize("asked", [(), ("Mail",), ("Mail/work",)])
def test_the_one_account_of_a_synchroniser(home: Path, run: Run, inbox: str, asked: tuple[str, ...]) -> None:
    """In ~/Mail/work/{INBOX,Junk,...} the account is found, whatever the inbox is called."""
    folders = {inbox: [message("ham", 1)], "Junk": [message("spam", 1)], "Sent": [], "INBOX.Trash": []}
    root = synchronised(home / "Mail/work", **folders)
    result = run("init", *asked)
    assert (result.code, result.err) == (0, "")
    (mailbox,) = load(home / CONFIG).mailboxes
    assert (mailbox.path, mailbox.layout, mailbox.inbox_folder, mailbox.spam_folder) == (root, "fs", "INBOX", "Junk")
    assert mailbox.role_of("INBOX.Trash") is Role.NEUTRAL
    assert run("run", "--once").code == 0


def test_folders_inside_of_the_inbox(home: Path, run: Run) -> None:
    """If a synchroniser keeps the folders as Maildir++ inside the INBOX, the INBOX is the Maildir."""
    maildir(home / "Mail/work/INBOX", Junk=[], Archive_2024=[])
    assert run("init").code == 0
    (mailbox,) = load(home / CONFIG).mailboxes
    assert (mailbox.path, mailbox.layout) == (home / "Mail/work/INBOX", "maildir++")
    assert set(mailbox.roles) == {"INBOX", "Junk", "Archive/2024"}


def test_several_accounts(home: Path, run: Run) -> None:
    """init takes none of several accounts unasked: it says what to type, and takes all that are named."""
    for name in ("home", "work"):
        synchronised(home / "Mail" / name, INBOX=[message("ham", 1)], Spam=[])
    result = run("init")
    assert (result.code, (home / CONFIG).exists()) == (3, False)
    typed = f"spamnb init {home}/Mail/home {home}/Mail/work"
    assert typed in result.err
    result = run(*typed.split()[1:], "Mail/home", "--learn")
    assert (result.code, result.out.count("Found "), result.out.count("learned 1 message as ham")) == (0, 2, 1)
    assert [mailbox.path.name for mailbox in load(home / CONFIG).mailboxes] == ["home", "work"]


@pytest.fixture
def second(home: Path, run: Run) -> Path:
    """A home with a configured Maildir, and a second Maildir."""
    full(home)
    assert run("init").code == 0
    return synchronised(home / "Mail/home", INBOX=[message("ham", 70)], Junk=[], **{"what?": []})


FORMS = {
    "as written": "{}",
    "comments": "# mine\n{}\n  # unsure_folder: Maybe\n\n# the end",
    "more keys": "{}  unsure_folder:   # none\n\nlearning:\n  kept: false  # by me\n",
    "no indentation": "mailboxes:\n- path: ~/Maildir\n  roles: {{INBOX: inbox, Junk: spam}} # here",
    "flow": "ledger: ~/l.sqlite\nmailboxes:\n    - {{path: ~/Maildir,\n       roles: {{INBOX: inbox, Junk: spam}}}}\n"
    "learning: {{}}\n",
    "line ends": "mailboxes:\r\n  - path: ~/Maildir\r\n    roles:\r\n      INBOX: inbox\r\n      Junk: spam\r\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_adds_a_mailbox(second: Path, run: Run, form: str) -> None:
    """init with a second path adds a mailbox to the configuration, and keeps each of its characters."""
    file = second.parent.parent / CONFIG
    text = FORMS[form].format(file.read_text())
    file.write_bytes(text.encode())
    file.chmod(0o644)
    former = load(file)
    result = run("init", second)
    assert (result.code, result.err) == (0, "")
    now = load(file)
    assert (now.mailboxes[:-1], now.learning, now.ledger) == (former.mailboxes, former.learning, former.ledger)
    assert (now.mailboxes[-1].path, now.mailboxes[-1].spam_folder) == (second, "Junk")
    assert now.mailboxes[-1].roles["what?"] is Role.HAM
    written = file.read_bytes().decode()
    at = next(n for n in range(len(text) + 1) if written.startswith(text[:n]) and written.endswith(text[n:]))
    added = written[at : at + len(written) - len(text)]
    assert f"path: {second}" in added
    assert form != "comments" or written.index("# unsure") < at < written.index("# the end")
    assert ("\r\n" in added) == ("\r\n" in text)
    assert file.with_name("config.yaml.old").read_bytes().decode() == text
    assert file.stat().st_mode & 0o777 == 0o644
    assert run("init", second).code == 78, "it is there now"
    assert "learned 1 message as ham" in run("init", "--learn", second).out


def test_a_form_to_which_nothing_can_be_added(second: Path, run: Run) -> None:
    """If the YAML has no place for one more mailbox, init prints the lines to add, and changes nothing."""
    file = second.parent.parent / CONFIG
    file.write_text("mailboxes: [{path: ~/Maildir, roles: {INBOX: inbox, Junk: spam}}]\n")
    result = run("init", second)
    assert result.code == 78
    assert "add the lines above to `mailboxes` yourself; nothing was changed" in result.err
    assert os.listdir(file.parent) == ["config.yaml"]
    first = "- {path: ~/Maildir, roles: {INBOX: inbox, Junk: spam}}"
    file.write_text(f"mailboxes:\n{first}\n{result.out}")
    assert len(load(file).mailboxes) == 2


def test_adding_learns(second: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """--learn learns from the mailbox that is added, whose mail is never moved; a running service has to reload."""
    result = run("init", "--learn", second)
    assert "learned 1 message as ham" in result.out
    assert run("status").out.count("first watched") == 2
    third = synchronised(second.parent / "third", INBOX=[])
    with only_service(str(second.parent.parent / ".local/share/spamnb/ledger.sqlite")):
        assert "Next: let the service read it again: send it SIGHUP" in run("init", third).out
        machine = second.parent.parent / "machine"
        monkeypatch.setattr("spamnb.checkup.installation._ROOT", machine)
        for path in (machine / "run/systemd/system", machine / "etc/systemd/user"):
            path.mkdir(parents=True)
        (machine / "etc/systemd/user/spamnb.service").touch()
        fourth = synchronised(second.parent / "fourth", INBOX=[])
        assert "Next: let the service read it again: systemctl --user reload spamnb" in run("init", fourth).out


def test_mailboxes_inside_of_each_other(second: Path, run: Run) -> None:
    """A mailbox inside a configured one is refused."""
    inner = maildir(second.parent.parent / "Maildir/inner")
    result = run("init", inner)
    assert (result.code, "is inside the mailbox" in result.err) == (78, True)
    result = run("init", "--force", inner, "Maildir")
    assert (result.code, "is inside the mailbox" in result.err) == (78, True)


def test_configuration_behind_a_link(second: Path, run: Run) -> None:
    """A configuration that is a link stays one: the file behind it gets the mailbox."""
    file = second.parent.parent / CONFIG
    real = second.parent.parent / "real.yaml"
    file.rename(real)
    file.symlink_to(real)
    assert run("init", second).code == 0
    assert file.is_symlink()
    assert len(load(real).mailboxes) == 2


def test_no_home(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without HOME, init proposes no place that belongs to the system, and says what to set; --config is one."""
    full(home)
    monkeypatch.delenv("HOME")
    result = run("init", home / "Maildir")
    assert (result.code, result.out) == (78, "")
    assert "HOME is not set" in result.err
    assert "--config FILE" in result.err
    assert run("--config", "c.yaml", "init", home / "Maildir").code == 0


def test_an_inbox_beside_the_inbox(home: Path, run: Run) -> None:
    """init uses a directory `.INBOX` in a Maildir++ by its path."""
    maildir(home / "Maildir", Junk=[])
    for sub in ("cur", "new", "tmp"):
        (home / "Maildir/.INBOX" / sub).mkdir(parents=True)
    assert run("init").code == 0
    assert run("run", "--once").code == 0


def test_says_where_mail_contradicts_itself(home: Path, run: Run) -> None:
    """Before the next step, init says how many messages are probably misfiled: as many as evaluate and audit say."""
    ham, spam = ([message(kind, n) for n in range(30)] for kind in ("ham", "spam"))
    maildir(home / "Maildir", INBOX=ham, Junk=[*spam, *(message("ham", n) for n in range(50, 53))])
    result = run("init", "--learn")
    assert result.code == 0
    number = "3 messages are probably in the wrong folder, and 1 less clear"
    assert result.out.index(f"{number}. Look first: spamnb audit") < result.out.index("Next:")
    assert number in run("init", "--learn").out
    assert "wrong folder" not in run("-q", "init", "--learn").out
    evaluated = run("evaluate").out
    assert evaluated.startswith(f"Your mail contradicts itself: {number}.")
    assert "To answer: spamnb audit" in evaluated
    assert run("audit").out.startswith(f"{number}:\n1. ")
    assert [json.loads(line)["clear"] for line in run("audit", "--json").out.splitlines()] == [*[True] * 3, False]


def test_nobody_has_said_what_init_learns(home: Path, run: Run) -> None:
    """Of what init has learned, audit and explain say in which folder it was; of what a person says, that."""
    ham, spam = ([message(kind, n) for n in range(30)] for kind in ("ham", "spam"))
    wrong = message("ham", 50)
    root = maildir(home / "Maildir", INBOX=ham, Archive=[message("spam", 50)], Junk=[*spam[1:], wrong])
    assert run("init", "--learn").code == 0
    (file,) = (path for path in (root / ".Junk").glob("*/*") if path.read_bytes() == wrong)
    shown = run("audit").out
    assert "   counts as spam: it was in Junk at the start; without it," in shown
    (doubted,) = (root / ".Archive").glob("*/*")
    assert "was in Archive" not in shown, "init has settled it"
    assert "This message itself counts as weakly spam (was in a ham folder at the start" in run("explain", doubted).out
    assert json.loads(run("explain", "--json", doubted).out)["counts_as"] == "weakly spam"
    assert "learned weakly spam: was in a ham folder at the start" in run("history").out
    assert "itself counts as spam: it was in Junk at the start. To leave" in run("explain", file).out
    assert run("train", "--ham", file).code == 0
    assert "itself counts as ham (trained by hand). To leave" in run("explain", file).out


# --- begin again ----------------------------------------------------------------------------------------------------

LEDGER = ".local/share/spamnb/ledger.sqlite"


def kept_ledgers(home: Path) -> list[Path]:
    """The ledgers that were set aside."""
    return sorted((home / LEDGER).parent.glob("ledger.sqlite.replaced-*Z"))


def test_fresh(home: Path, at_terminal: At, run: Run) -> None:
    """--fresh asks, forgets what was learned, done and chosen, keeps configuration and ledger, and learns if wanted."""
    root = full(home)
    assert run("init", "--learn").code == 0
    run("choose", "block", "bad.example")
    text = (home / CONFIG).read_text().replace("Archive/2024: ham", "Archive/2024: neutral")
    (home / CONFIG).write_text(text)
    code, shown, _ = at_terminal("init", "--fresh", answers=["y\r", "y\r"])
    assert code == 0, shown
    assert "The filter will forget its lessons from 8 ham and 4 spam messages, its history" in shown
    assert "3 ham, 4 spam" in run("status").out, "by the roles of the configuration, which stays"
    assert (home / CONFIG).read_text() == text
    assert "chosen" not in run("history", "--limit", "99").out
    assert run("run", "--once").code == 0
    assert len(os.listdir(root / ".Junk/cur")) == 4, "mail that is there is not moved"
    (former,) = kept_ledgers(home)
    assert "8 ham and 4 spam" in run("restore", former).out
    assert "8 ham, 4 spam" in run("status").out


@pytest.mark.parametrize("answer", ["n\r", "\r", "\x04"])
def test_fresh_is_not_wanted(home: Path, at_terminal: At, run: Run, answer: str) -> None:
    """Any answer but yes changes nothing."""
    full(home)
    assert run("init", "--learn").code == 0
    before = (home / LEDGER).read_bytes()
    code, shown, _ = at_terminal("init", "--fresh", "--learn", answers=[answer])
    assert (code, "Nothing was changed." in shown) == (0, True)
    assert ((home / LEDGER).read_bytes(), kept_ledgers(home)) == (before, [])


def test_fresh_without_a_terminal(home: Path, run: Run) -> None:
    """Without a terminal --fresh needs --yes, which has no other meaning."""
    full(home)
    assert run("init", "--learn").code == 0
    result = run("init", "--fresh")
    assert (result.code, "give --yes" in result.err, kept_ledgers(home)) == (64, True, [])
    assert run("init", "--yes").code == 64
    result = run("init", "--fresh", "--yes")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[-3].startswith("Next: ")
    last = "Nothing was learned from the mail in the folders. To learn from it: spamnb init --learn"
    assert result.out.splitlines()[-2:] == ["", last]
    assert (
        "By itself, the filter moves nothing until you have kept 20 ham and moved 5 spam to Junk."
        in result.out.splitlines()
    )
    assert "0 ham, 0 spam" in run("status").out
    assert run("verify").code == 0
    assert run("-q", "init", "--fresh", "--yes", "--learn").out == ""
    assert len(kept_ledgers(home)) == 2
    assert sorted(path.name for path in (home / LEDGER).parent.iterdir() if ".part" in path.name) == []


def test_fresh_where_there_is_nothing(home: Path, run: Run) -> None:
    """Before there is a ledger --fresh has nothing to ask, and init goes on as always."""
    full(home)
    assert "learned 8 messages as ham" in run("init", "--fresh", "--learn").out
    assert kept_ledgers(home) == []


def test_fresh_from_a_damaged_ledger(home: Path, run: Run) -> None:
    """--fresh works with a damaged ledger, and if only copies of it are left."""
    full(home)
    assert run("init", "--learn").code == 0
    (home / LEDGER).write_bytes(b"no ledger" * 1000)
    assert run("init", "--fresh", "--yes", "--learn").code == 0
    assert "8 ham, 4 spam" in run("status").out
    copies = home / ".local/share/spamnb/copies"
    copies.mkdir(exist_ok=True)
    (home / LEDGER).rename(copies / "ledger-2026-01-01.sqlite")
    assert run("status").code == 3
    assert run("init", "--fresh", "--yes").code == 0
    assert "0 ham, 0 spam" in run("status").out


def test_fresh_beside_a_service(home: Path, run: Run) -> None:
    """While a service works with the ledger --fresh changes nothing, and says to stop it."""
    full(home)
    assert run("init", "--learn").code == 0
    with only_service(str(home / LEDGER)):
        result = run("init", "--fresh", "--yes")
    assert (result.code, "stop that one first" in result.err, kept_ledgers(home)) == (3, True, [])


@pytest.mark.parametrize("more", [("--host",), ("--user", "anna@example.org")])
def test_fresh_is_for_one_person(home: Path, run: Run, more: tuple[str, ...]) -> None:
    """On a mail host --fresh names the command that forgets a user."""
    result = run("init", "--fresh", "--yes", *more)
    assert (result.code, "spamnb users forget NAME" in result.err) == (64, True)
