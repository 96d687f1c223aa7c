"""`--user NAME`: commands about one user of a mail host, and calls in which it is missing or has no meaning."""

import json
import os
from pathlib import Path

import pytest

from spamnb.cli.common.arguments import COMMANDS
from spamnb.cli.common.sample_mail import message
from spamnb.config import load_any, parse
from spamnb.host.host import load_user
from spamnb.host.shares import Share, claimed
from spamnb.web.config_file import ConfigFile
from spamnb.web.kept_values import KeptValues
from tests.cli.conftest import Run, mail, maildir

ANNA, BOB = "anna@example.org", "bob@example.org"


@pytest.fixture
def config(home: Path) -> Path:
    """The configuration of a host, in its usual place; Anna has mail to learn from, Bob has none."""
    lessons = {kind: [message(kind, n) for n in range(25)] for kind in ("ham", "spam")}
    maildir(home / "vmail/example.org/anna", INBOX=lessons["ham"], Junk=lessons["spam"])
    maildir(home / "vmail/example.org/bob", Junk=[])
    path = home / ".config/spamnb/config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(
        f"mailboxes:\n  - path: {home}/vmail/{{domain}}/{{local}}\n    roles: {{INBOX: inbox, Junk: spam}}\n"
        f"ledger: {home}/state/{{domain}}/{{local}}/ledger.sqlite\n"
        f"users:\n  own: {home}/own/{{user}}.yaml\n"
    )
    (home / "own").mkdir()
    return path


@pytest.fixture
def person(home: Path) -> Path:
    """The configuration of one person, in another place."""
    path = home / "person.yaml"
    path.write_text(
        f"mailboxes: [{{path: {home}/m, roles: {{INBOX: inbox, Junk: spam}}}}]\nledger: {home}/l/l.sqlite\n"
    )
    return path


FOR_ONE = {
    "train": ["--spam", "lessons"],
    "untrain": ["lessons"],
    "score": ["spam.eml"],
    "explain": ["spam.eml"],
    "status": [],
    "history": [],
    "undo": ["1"],
    "exchange": [],
    "choose": ["block", "eve@example.net"],
    "audit": [],
    "review": [],
    "verify": [],
    "pause": [],
    "resume": [],
    "doctor": [],
    "web": [],
    "backup": ["copy"],
    "restore": ["copy"],
    "export": ["-"],
    "import": ["exported"],
    "prune": ["--to", "1M"],
    "evaluate": [],
    "replay": [],
    "statement": [],
    "init": ["--learn"],
}
OF_ALL = {"status", "doctor"}  # which are about the whole host where nobody is named
WITHOUT = {"demo", "run", "config", "help", "filter", "install-unit", "compare", "users"}  # each is tried on its own


def test_no_command_is_forgotten() -> None:
    """Each command is for one user, or is tried here in another way."""
    assert set(FOR_ONE) | WITHOUT == set(COMMANDS)
    assert not set(FOR_ONE) & WITHOUT


@pytest.fixture
def files(home: Path) -> None:
    """The files that the commands name."""
    mail(home / "lessons", "spam", 2)
    (home / "spam.eml").write_bytes(message("spam", 500))
    (home / "copy").write_text("no copy")
    (home / "exported").write_text('{"spamnb-counts": 1, "tokenizer": [], "ham": 0, "spam": 0, "tokens": 0}\n')


@pytest.mark.parametrize("command", [command for command in FOR_ONE if command not in OF_ALL])
@pytest.mark.usefixtures("files")
def test_nobody_is_named(config: Path, run: Run, home: Path, command: str) -> None:
    """A command for one person ends with 64 if the configuration is a host's, and says what to write."""
    result = run(command, *FOR_ONE[command])
    assert result.code == 64, result
    assert result.err.splitlines()[-1] == (
        f"spamnb: {config} is the configuration of a mail host: name one of its users: spamnb --user NAME COMMAND"
    )
    assert not (home / "state").exists()


@pytest.mark.parametrize("command", [*FOR_ONE, "config"])
@pytest.mark.usefixtures("files")
def test_one_person_has_no_users(person: Path, run: Run, home: Path, command: str) -> None:
    """With the configuration of one person, --user ends with 64."""
    result = run("--config", person, "--user", ANNA, command, *FOR_ONE.get(command, []))
    assert result.code == 64, result
    assert result.err.splitlines()[-1] == (
        f"spamnb: {person} is the configuration of one person, and not of a mail host, which has"
        " fields in its `path`: docs/mail-host.md"
    )
    assert not (home / "l").exists()


@pytest.mark.parametrize("command", [*FOR_ONE, "config"])
@pytest.mark.usefixtures("files", "config")
def test_no_such_user(run: Run, home: Path, command: str) -> None:
    """An unknown user is 64 too, with the Maildir to look at, and nothing is made."""
    result = run("--user", "eve@example.org", command, *FOR_ONE.get(command, []))
    assert result.code == 64, result
    assert f"has no user eve@example.org: check that {home}/vmail/example.org/eve" in result.err
    assert not (home / "state").exists()


@pytest.mark.parametrize("name", ["../x", "a b", "é", "x\ny", "", "a" * 255])
def test_no_names(config: Path, run: Run, name: str) -> None:
    """A text that cannot be a user's name ends with 64 too."""
    result = run("--user", name, "status")
    assert result.code == 64
    assert "cannot " in result.err
    assert " a user" in result.err or "name a user" in result.err
    assert len(result.err.splitlines()) == 1


def test_without_a_configuration(run: Run, person: Path) -> None:
    """Without a configuration --user names nobody."""
    result = run("--user", ANNA, "status")
    assert (result.code, "No configuration at" in result.err) == (78, True)


def test_all_about_one_user(config: Path, run: Run, home: Path) -> None:
    """Each command works with the mail and the ledger of the named user, and of no other."""
    assert run("--user", ANNA, "init", "--learn").code == 0
    assert (home / "state/example.org/anna/ledger.sqlite").exists()
    assert [path.name for path in (home / "state/example.org").iterdir()] == ["anna"]
    (home / "spam.eml").write_bytes(message("spam", 500))
    found = json.loads(run("--user", "Anna+x@Example.org", "status", "--json").out)
    assert found["learned"] == {"ham": 25, "spam": 25}
    assert [one["path"] for one in found["mailboxes"]] == [f"{home}/vmail/example.org/anna"]
    assert json.loads(run("--user", BOB, "status", "--json").out)["learned"] == {"ham": 0, "spam": 0}
    assert run("--user", ANNA, "score", "spam.eml").out.startswith("S ")
    assert run("--user", BOB, "score", "spam.eml").out.startswith("U ")
    assert "the sum of 25 ham and 25 spam" in run("--user", ANNA, "verify").out
    assert run("--user", ANNA, "pause", "1h").code == 0
    assert "paused" in run("--user", ANNA, "status").out
    assert "paused" not in run("--user", BOB, "status").out
    assert run("--user", ANNA, "resume").code == 0
    assert "learned" in run("--user", ANNA, "history").out
    assert run("--user", ANNA, "undo", "1").code == 0
    assert run("--user", ANNA, "backup", "copy.sqlite").code == 0
    assert run("--user", BOB, "restore", "copy.sqlite").code == 0
    assert json.loads(run("--user", BOB, "status", "--json").out)["learned"]["ham"] == 24
    assert run("--user", ANNA, "export", "exported").code == 0
    assert len((home / "exported").read_text().splitlines()) > 50
    assert run("--user", ANNA, "prune", "--to", "100M").code == 0
    assert run("--user", ANNA, "evaluate", "--folds", "2").code == 0
    assert run("--user", ANNA, "web", "--log-out").code == 0
    assert (home / "state/example.org/anna/web.key").exists()
    assert not (home / ".local").exists()


def test_doctor_and_the_roles_of_all(config: Path, run: Run, home: Path) -> None:
    """A user may lack folders to which the host gives a role; a missing folder of the own settings is a warning."""
    config.write_text(config.read_text().replace("Junk: spam}", "Junk: spam, Drafts: neutral}"))
    maildir(home / "vmail/example.org/carl")
    assert "warning  mailbox" not in run("--user", "carl@example.org", "doctor").out
    (home / "own" / f"{BOB}.yaml").write_text("mailboxes: [{roles: {Wrok: neutral}}]\n")
    said = run("--user", BOB, "doctor").out
    assert "configured, but not there: Wrok" in said
    assert "Drafts" not in said
    assert run("--user", BOB, "config", "--check").code == 0


def test_doctor(config: Path, run: Run, home: Path) -> None:
    """`doctor` for a user checks the user's mailbox, ledger and own settings."""
    assert run("--user", ANNA, "init", "--learn").code == 0
    findings = [json.loads(line) for line in run("--user", ANNA, "doctor", "--json").out.splitlines()]
    assert {one["what"] for one in findings} >= {"configuration", f"mailbox {home}/vmail/example.org/anna", "ledger"}
    (home / f"own/{ANNA}.yaml").write_text("learning: {kept_days: x}\n")
    result = run("--user", ANNA, "doctor")
    assert result.code == 1
    assert "own settings" in result.out
    assert f"{home}/own/{ANNA}.yaml:1: learning.kept_days" in result.out
    assert "own settings" not in run("--user", BOB, "doctor").out


def test_the_next_command_names_the_user(config: Path, run: Run) -> None:
    """A proposed next command has the user in it."""
    run("--user", ANNA, "init", "--learn")
    (config.parents[2] / "vmail/example.org/anna/cur/1.M1P1.x:2,S").write_bytes(message("spam", 900))
    run("--user", ANNA, "train", "--ham", config.parents[2] / "vmail/example.org/anna/cur/1.M1P1.x:2,S")
    said = run("--user", ANNA, "evaluate", "--folds", "2").out
    assert f"To answer: spamnb --user {ANNA} audit" in said


def test_whether_the_service_runs(config: Path, run: Run, home: Path) -> None:
    """A user's service is the one whose share the user belongs to."""
    run("--user", ANNA, "train", "--spam", home / "vmail/example.org/anna/.Junk")
    assert "not running" in run("--user", ANNA, "status").out
    share = Share.of_user(ANNA, 4)
    with claimed(home / "state", share):
        assert json.loads(run("--user", ANNA, "status", "--json").out)["running"]
        assert "ok       service" in run("--user", ANNA, "doctor").out
    other = Share(share.number % 4 + 1, 4)
    with claimed(home / "state", other):
        assert not json.loads(run("--user", ANNA, "status", "--json").out)["running"]


def test_a_faulty_own_file(config: Path, run: Run, home: Path) -> None:
    """A command goes on with the settings for all users, and reports the fault once."""
    run("--user", ANNA, "init", "--learn")
    (home / "spam.eml").write_bytes(message("spam", 500))
    own = home / f"own/{ANNA}.yaml"
    own.write_text("scoring: {alpha: x}\nspamd: {}\n")
    result = run("--user", ANNA, "train", "--spam", "spam.eml")
    assert result.code == 0
    first, second, third = result.err.splitlines()
    assert first.startswith(f"spamnb: {own}:1: scoring.alpha: 'x' is not allowed")
    assert second.startswith(f"spamnb: {own}:2: spamd: holds for all users")
    assert third == f"spamnb: until you correct that, {ANNA} has the settings of all users"
    assert run("--user", BOB, "status").err == ""


# --- config -------------------------------------------------------------------------------------------------------


def test_the_template_is_shown(config: Path, run: Run, home: Path) -> None:
    """`config` prints a host's values in force, with `users`, and reads back as the same; --check reads own files."""
    shown = run("config")
    assert shown.out.startswith(f"# {config}, with the default")
    assert parse(shown.out, "printed", {}) == load_any(config, {})
    assert "\nusers:\n" in shown.out
    assert run("config", "--check").out.startswith(f"{config} has no faults. ")
    for user in (ANNA, BOB):
        (home / f"own/{user}.yaml").write_text("scoring: {alpha: x}\nspamd: {}\n")
    result = run("config", "--check")
    assert result.code == 78
    assert [line.split(" is ")[0].split(" holds ")[0] for line in result.err.splitlines()] == [
        f"spamnb: {home}/own/{user}.yaml:{key}"
        for user in (ANNA, BOB)
        for key in ("1: scoring.alpha: 'x'", "2: spamd:")
    ]
    assert run("config").code == 0
    config.write_text(config.read_text().replace("{domain}", "%d"))
    result = run("config", "--check")
    assert result.code == 78
    assert "write {domain} for %d" in result.err


def test_what_holds_for_one_user_is_shown(config: Path, run: Run, home: Path) -> None:
    """With --user it prints the user's settings as one person's configuration; --check checks both files."""
    own = home / f"own/{ANNA}.yaml"
    own.write_text("scoring: {alpha: 1}\n")
    shown = run("--user", ANNA, "config")
    assert shown.out.startswith(f"# {config} for {ANNA}, with the default")
    printed = parse(shown.out, "printed", {})
    wanted = load_user(config, {}, ANNA).config
    assert (printed.mailboxes, printed.ledger, printed.scoring) == (wanted.mailboxes, wanted.ledger, wanted.scoring)
    assert printed.scoring.alpha == 1
    assert f"{config} for {ANNA} has no faults" in run("--user", ANNA, "config", "--check").out
    own.write_text("scoring: {alpha: x}\n")
    for arguments in (["config"], ["config", "--check"], ["config", "--check", config]):
        result = run("--user", ANNA, *arguments)
        assert (result.code, result.out) == (78, "")
        assert f"{own}:1: scoring.alpha: 'x' is not allowed" in result.err


# --- commands that need nobody --------------------------------------------------------------------------------------


def test_commands_that_are_about_nobody(config: Path, run: Run, home: Path) -> None:
    """A command that needs no mailbox works with a host's configuration, and with its settings for all users."""
    config.write_text(config.read_text() + "scoring: {spam_cutoff: 0.9999}\n")
    for kind in ("ham", "spam"):
        mail(home / "corpus" / kind, kind, 6)
    assert run("help", "score").code == 0
    result = run("evaluate", "corpus", "--json")
    assert (result.code, json.loads(result.out)["messages"]) == (0, 12)
    assert "corpus is too small for a comparison" in run("compare", "corpus", "--json").err
    assert run("install-unit", "--user", "--remove").code == 0
    assert run("config", "--example").code == 0
    assert not (home / "state").exists()


def test_the_demo_is_about_nobody(config: Path, run: Run) -> None:
    """The demo has a configuration of its own."""
    assert run("-q", "demo").code == 0


def test_the_service_is_for_all(config: Path, run: Run, home: Path) -> None:
    """The service of a host is not started for one user."""
    result = run("--user", ANNA, "run", "--once")
    assert result.code == 64
    assert "the service of a mail host works for all its users: leave --user out" in result.err
    assert not (home / "state").exists()


@pytest.mark.parametrize(
    "arguments", [[], ["--no-learn"], ["vmail/example.org/anna", "--learn"], ["--force", "--learn"]]
)
def test_init_writes_nothing_for_one(config: Path, run: Run, arguments: list[str]) -> None:
    """For one user `init` only learns."""
    before = config.read_text()
    result = run("--user", ANNA, "init", *arguments)
    assert result.code == 64
    assert "give --learn alone" in result.err
    assert config.read_text() == before


# --- filter ---------------------------------------------------------------------------------------------------------


def test_filter(config: Path, process: Run, run: Run) -> None:
    """Before the command the user is the host's; without one the message passes without a verdict."""
    run("--user", ANNA, "init", "--learn")
    raw = message("spam", 9)
    assert "X-Spamnb: spam" in process("--user", ANNA, "filter", stdin=raw).out
    assert "X-Spamnb: unknown, reason=ledger" in process("--user", BOB, "filter", stdin=raw).out  # has none yet
    for arguments in (["filter"], ["filter", "--user", ANNA], ["--user", "eve@example.org", "filter"]):
        said = process(*arguments, stdin=raw)
        assert (said.code, said.err) == (0, "")
        assert "X-Spamnb: unknown, reason=" in said.out


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [([], [], None), (["--user", ANNA], [], ANNA), (["--user", ANNA], ["--user", "other"], "other")],
)
def test_whom_the_service_is_told_of(
    config: Path, run: Run, monkeypatch: pytest.MonkeyPatch, before: list[str], after: list[str], told: str | None
) -> None:
    """The command sends its user to the service, unless `filter` has an option with a different name."""
    from spamnb.delivery import pipe

    seen: list[str] = []

    def filtered(raw: bytes, load: object, user: str, style: str) -> pipe.Filtered:
        seen.append(user)
        return pipe.Filtered((raw,), None)

    monkeypatch.setattr(pipe, "filtered", filtered)
    monkeypatch.setattr("spamnb.cli.filter._read", lambda _: b"x")
    monkeypatch.setattr("spamnb.cli.filter._login_name", lambda: "login")
    with open(os.devnull, "wb") as null:
        monkeypatch.setattr("spamnb.cli.filter._descriptor", lambda _: null.fileno())
        run(*before, "filter", *after)
    assert seen == [told or "login"]


# --- the pages ------------------------------------------------------------------------------------------------------


def test_pages_of_one_user(config: Path, run: Run, home: Path) -> None:
    """The pages of a user read the user's configuration, even after a change, and check that user's mailbox."""
    run("--user", ANNA, "init", "--learn")
    file = ConfigFile(config, {}, ANNA, is_needed=False)
    assert file.read() == load_user(config, {}, ANNA).config
    (home / f"own/{ANNA}.yaml").write_text("scoring: {alpha: 1}\n")
    assert file.read().scoring.alpha == 1
    kept = KeptValues(str(config), {}, user=ANNA)
    work: list[object] = []
    kept.checkup(lambda: 60.0, work)  # type: ignore[arg-type]
    for one in work:
        one()  # type: ignore[operator]
    checked = kept.checkup(lambda: 60.0, []).value
    assert checked is not None
    assert any(finding.what == f"mailbox {home}/vmail/example.org/anna" for finding in checked.findings)


def test_a_folder_for_one_user(home: Path, run: Run, config: Path) -> None:
    """A folder that one user of a host chooses is made in that user's mailbox alone."""
    assert run("--user", ANNA, "choose", "newsletters_folder").code == 0
    found = sorted(path.parent.name for path in home.glob("vmail/example.org/*/.Newsletters"))
    assert found == ["anna"]
    assert "newsletters_folder  Newsletters" in run("--user", ANNA, "choose").out
    assert "You have not chosen anything" in run("--user", BOB, "choose").out
    assert "newsletters_folder: Newsletters" in run("--user", ANNA, "config").out
    assert "newsletters_folder Newsletters (spamnb choose)" in run("--user", ANNA, "status").out
