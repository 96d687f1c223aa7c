"""An account at a provider, by the blocks of docs/hosted-imap.md, from an empty home to a rescue made on the server."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from spamnb.checkup.installation import has_systemd
from tests.cli.conftest import terminal
from tests.documents import block, blocks
from tests.faults.conftest import filled, mounted
from tests.imap.conftest import Client, new_mail
from tests.imap.dovecot import ONLY_OLD
from tests.imap.hosted import (  # noqa: F401 - two are fixtures
    COURIER,
    DOCUMENT,
    GMAIL,
    LESSONS,
    USER,
    Home,
    MakeAccount,
    Provider,
    account_fixture,
    arrives,
    program,
    tls_fixture,
)
from tests.imap.test_first_arrivals import WEAK, wait_for_lesson
from tests.patience import PATIENCE, until

pytestmark = [
    ONLY_OLD,  # it plays a provider
    pytest.mark.skipif(
        shutil.which("mbsync") is None or shutil.which("openssl") is None,
        reason="needs mbsync (Debian: isync) and openssl",
    ),
]

_SPAM_IN_INBOX = 6


@pytest.mark.parametrize(
    ("provider", "trust"),
    [
        pytest.param(GMAIL, True, id="trusting Gmail"),
        pytest.param(COURIER, False, id="not trusting Courier"),
        pytest.param(GMAIL, False, id="not trusting Gmail", marks=pytest.mark.slow),
        pytest.param(COURIER, True, id="trusting Courier", marks=pytest.mark.slow),
    ],
)
def test_recipe(account: MakeAccount, provider: Provider, trust: bool) -> None:
    """Spam is moved here and at the provider; moves there come down and are learned; each message stays one."""
    home, client = account(provider)
    host, spam_folder = home.host, provider.local(provider.spam)
    home.keep_password()
    shown = home.run("init")
    assert f"Spam goes to {spam_folder}." in shown
    assert f"{LESSONS} messages as ham" in shown
    assert f"{LESSONS} messages as spam" in shown
    if not trust:
        (fragment,) = [one.text for one in blocks(DOCUMENT) if one.language == "yaml"]
        assert yaml.safe_load(fragment) == {"learning": {"trust_delivery": False}}
        home.configure(fragment)
    home.start(block(DOCUMENT, "service"))

    spam, wrong = (arrives(client, provider, "INBOX", "spam") for _ in range(2))
    ham, missed = (arrives(client, provider, "INBOX", "ham") for _ in range(2))
    theirs = arrives(client, provider, provider.spam, "spam")  # the provider's own filter has put it there
    home.run("sync")
    for content in (spam, wrong):
        host.wait_for(content, f"moved INBOX {spam_folder}")
    host.wait_until_judged(ham, missed)
    if trust:
        wait_for_lesson(host, theirs, "spam", WEAK)
    home.run("sync")
    for content in (spam, wrong):
        assert (client.uids("INBOX", content), len(client.uids(provider.spam, content))) == ([], 1)

    client.move(wrong, provider.spam, "INBOX")  # on a phone, say
    client.move(missed, "INBOX", provider.spam)
    client.move(ham, "INBOX", provider.archive)
    home.run("sync")
    host.wait_for(wrong, f"moved INBOX {spam_folder}", "learned ham")
    host.wait_for(missed, "learned spam")
    host.wait_for(ham, "learned ham")
    home.run("sync")
    places = {spam: provider.spam, wrong: "INBOX", missed: provider.spam, ham: provider.archive, theirs: provider.spam}
    for content, folder in places.items():
        assert host.where(content) == [provider.local(folder)]
        assert len(client.uids(folder, content)) == 1
    assert host.story(theirs) == (["learned spam"] if trust else [])
    assert len(client.uids("INBOX")) == LESSONS + 1
    assert len(client.uids(provider.spam)) == LESSONS + 3
    assert provider.repeated not in host.folders


def test_without_systemd(account: MakeAccount) -> None:
    """The loop fetches mail, and carries each move of the filter back without waiting for its next round."""
    home, client = account(GMAIL)
    home.keep_password()
    home.run("init")
    home.start(block(DOCUMENT, "service"))
    spam = arrives(client, GMAIL, "INBOX", "spam")
    loop = subprocess.Popen(["bash", "-euc", block(DOCUMENT, "without-systemd")], env=home.environ)
    try:
        places = ("INBOX", GMAIL.spam)
        until(lambda: [len(client.uids(one, spam)) for one in places] == [0, 1], "spam to be moved at the provider")
        until(lambda: not (home.directory / ".local/share/spamnb/mbsync-wanted").exists(), "the file to be gone")
    finally:
        loop.terminate()
        loop.wait(PATIENCE)


# --- one command ----------------------------------------------------------------------------------------------------

RC, UNITS = ".mbsyncrc", ".config/systemd/user"


def files(home: Home) -> set[str]:
    """Return the files in the home, without the programs."""
    found = (path.relative_to(home.directory) for path in home.directory.rglob("*") if path.is_file())
    return {str(path) for path in found if path.parts[0] != "bin"}


@pytest.fixture
def home_of_gmail(account: MakeAccount, monkeypatch: pytest.MonkeyPatch, tls: Path) -> tuple[Home, Client]:
    """A home of a person with an account at Gmail; the commands at a terminal find it, too."""
    made = account(GMAIL)
    monkeypatch.setenv("SSL_CERT_FILE", str(tls / "cert.pem"))
    return made


def test_one_question(home_of_gmail: tuple[Home, Client]) -> None:
    """init asks only for the password, shows it nowhere, and keeps it in a file that only its owner can read."""
    home, client = home_of_gmail
    code, shown, _ = terminal(home.directory)(
        "init", "--imap", home.address, answers=["secret\r"], prompt="(not shown): "
    )
    assert code == 0, shown
    assert "secret" not in shown
    assert f"Fetched {2 * LESSONS} messages." in shown
    assert "fetching mail" in shown, "the progress"
    assert not re.search("UIDVALIDITY|C: [0-9]", shown), "these words are mbsync's"
    assert f"learned {LESSONS} messages as spam" in shown
    secret = [name for name in files(home) if b"secret" in (home.directory / name).read_bytes()]
    assert secret == [".mbsync-password"]
    for name in (".mbsync-password", RC):
        assert (home.directory / name).stat().st_mode & 0o777 == 0o600
    content = arrives(client, GMAIL, "INBOX", "spam")
    home.run("sync")
    assert home.call("spamnb", "run", "--once").returncode == 0
    home.run("sync")
    assert (client.uids("INBOX", content), len(client.uids(GMAIL.spam, content))) == ([], 1), "mail is judged"


def test_what_a_provider_wants(home_of_gmail: tuple[Home, Client]) -> None:
    """Before it asks for the password, init says what the provider wants, and names its page; Enter changes nothing."""
    home, _ = home_of_gmail
    for host, asked in (("imap.gmx.net", "Password"), ("imap.gmail.com", "App password")):
        init = "init", "--imap", f"you@{host}"
        code, shown, _ = terminal(home.directory)(*init, answers=["\r"], prompt="(not shown): ")
        assert (code, "nothing was changed" in shown) == (3, True), shown
        told, question = shown.index("in the settings of the account"), shown.index(f"{asked} of you at {host} (not")
        assert told < shown.index("(https://") < question
    assert files(home) - {"out"} == set()


def test_spam_in_the_inbox_of_the_provider(home_of_gmail: tuple[Home, Client]) -> None:
    """Spam that lies in the inbox teaches no ham: init says how much it is, and the command that asks about it."""
    home, client = home_of_gmail
    home.keep_password()
    for _ in range(_SPAM_IN_INBOX):
        client.put("INBOX", new_mail("spam"), "\\Seen")
    done = home.call("spamnb", "init", "--imap", home.address)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"learned {LESSONS + _SPAM_IN_INBOX} messages as ham\n" in done.stdout
    (sifted,) = [line for line in done.stdout.splitlines() if " outside of Junk look like spam: " in line]
    assert sifted.startswith(f"{_SPAM_IN_INBOX} messages ")
    assert sifted.endswith(". At a terminal `spamnb init --learn` asks about them")
    assert "The filter moves spam to [Gmail]/Spam, when the service runs." in done.stdout
    assert home.call("spamnb", "history").stdout.count("looks like spam") == _SPAM_IN_INBOX


def test_another_mbsyncrc(home_of_gmail: tuple[Home, Client]) -> None:
    """A ~/.mbsyncrc of before is replaced only if the person says so, and is kept; without a terminal by --force."""
    home, _ = home_of_gmail
    home.keep_password()
    rc = home.directory / RC
    rc.write_text("# mine\n")
    code, shown, _ = terminal(home.directory)("init", "--imap", home.address, answers=["n\r"])
    assert (code, rc.read_text(), "Channel mail" in shown) == (0, "# mine\n", True)
    assert files(home) - {"out"} == {RC, ".mbsync-password"}
    done = home.call("spamnb", "init", "--imap", home.address)
    assert (done.returncode, "--force" in done.stderr, rc.read_text()) == (78, True, "# mine\n")
    code, shown, _ = terminal(home.directory)("init", "--imap", home.address, answers=["y\r"])
    assert (code, rc.with_name(".mbsyncrc.old").read_text()) == (0, "# mine\n"), shown
    assert f"learned {LESSONS} messages as ham" in shown
    assert home.call("spamnb", "init", "--imap", home.address).returncode == 0, "it is the same file now"


def test_an_interrupted_first_fetch(home_of_gmail: tuple[Home, Client]) -> None:
    """Mail fetched before Ctrl-C is kept, and the same command goes on."""
    home, _ = home_of_gmail
    home.keep_password()
    mbsync = shutil.which("mbsync")
    end = f"rm {home.directory}/first; {mbsync} --quiet -c {home.directory}/{RC} mail:INBOX; kill -INT $PPID; sleep 60"
    program(
        home,
        "mbsync",
        f'case "$*" in *-*list*|--version) ;; *) [ -e ~/first ] && {{ {end}; }} ;; esac; exec {mbsync} "$@"',
    )
    (home.directory / "first").touch()
    done = home.call("spamnb", "init", "--imap", home.address)
    assert done.returncode == 130, done.stderr
    assert "call the same command again to go on" in done.stderr
    assert len(list((home.directory / "Mail/INBOX/cur").iterdir())) == LESSONS
    assert not (home.directory / "Mail/[Gmail]/Spam").exists()
    done = home.call("spamnb", "init", "--imap", home.address)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"learned {LESSONS} messages as ham\nlearned {LESSONS} messages as spam" in done.stdout


def test_a_full_disk(home_of_gmail: tuple[Home, Client], tmp_path: Path) -> None:
    """On a full disk the fetch says so; when there is room, the same command goes on."""
    home, _ = home_of_gmail
    home.keep_password()
    with mounted(tmp_path / "home/Mail") as disk:
        with filled(disk):
            done = home.call("spamnb", "init", "--imap", home.address, "Mail/hosted")
            assert (done.returncode, "is full: free some space" in done.stderr) == (3, True), done.stderr
        done = home.call("spamnb", "init", "--imap", home.address, "Mail/hosted")
        assert (done.returncode, done.stderr) == (0, "")
        assert f"learned {LESSONS} messages as ham" in done.stdout


def test_what_can_go_wrong(home_of_gmail: tuple[Home, Client]) -> None:
    """Each fault is a sentence that says what to do, leaves no traceback, and nothing behind."""
    home, _ = home_of_gmail
    port = home.address.rpartition(":")[2]
    init = ("spamnb", "init", "--imap")
    done = home.call(*init, home.address)
    assert (done.returncode, "nobody to ask" in done.stderr) == (64, True)
    home.keep_password(mode=0o640)
    done = home.call(*init, home.address)
    assert (done.returncode, "chmod 600" in done.stderr) == (3, True)
    home.keep_password("wrong")
    for address, says, environ in (
        (home.address, "does not accept the user and the password", {}),
        (f"you@nowhere.invalid:{port}", "nowhere.invalid", {}),
        (f"{USER}@localhost:9", "does not answer at port 9 (Connection refused)", {}),
        (home.address, "the certificate of localhost is not trusted", {"SSL_CERT_FILE": "/dev/null"}),
        (home.address.replace("localhost", "localhost.localdomain"), "localhost.localdomain", {}),
        ("you@outlook.com@outlook.office365.com", "then call spamnb init --imap USER@127.0.0.1:1993", {}),
        ("you", "does not name a user and a host", {}),
        (home.address, "mbsync, which fetches the mail, is not installed", {"PATH": str(home.directory / "bin")}),
    ):
        done = home.call(sys.executable, "-m", *init, address, **environ)
        assert says in done.stderr, (address, done)
        assert (len(done.stderr.splitlines()), done.stdout) == (1, "")
        assert done.returncode in (3, 64)
    done = home.call(*init, home.address, "--pass-command", "echo secret | tr s x; exit 7")
    assert "the command for the password failed (exited with status 7)" in done.stderr
    program(home, "mbsync", "echo isync 1.3.5")
    done = home.call(*init, home.address)
    assert "this isync is 1.3, but 1.4 or later is needed" in done.stderr
    assert files(home) == {".mbsync-password"}


def test_a_wrong_password_is_asked_for_again(home_of_gmail: tuple[Home, Client]) -> None:
    """A password that was typed, and that the server does not accept, is not kept."""
    home, _ = home_of_gmail
    code, shown, _ = terminal(home.directory)(
        "init", "--imap", home.address, answers=["wrong\r"], prompt="(not shown): "
    )
    assert (code, "does not accept the user and the password" in shown) == (3, True)
    assert files(home) - {"out"} == set()


def test_a_command_for_the_password_and_a_directory(home_of_gmail: tuple[Home, Client]) -> None:
    """A password manager's command works unchanged, quotes included, and mail may be elsewhere."""
    home, _ = home_of_gmail
    command = "printf '%s\\n' \"secret\" # \\"
    init = ("spamnb", "init", "--imap", home.address, "--pass-command", command)
    (home.directory / "Mail").mkdir()
    (home.directory / "Mail/notes").touch()
    done = home.call(*init)
    assert (done.returncode, "name another directory" in done.stderr) == (3, True), done.stderr
    done = home.call(*init, "Mail/at home", "--no-learn")
    assert (done.returncode, done.stderr) == (0, "")
    assert "learned" not in done.stdout.replace("learned as", "")
    assert len(list((home.directory / "Mail/at home/INBOX/cur").iterdir())) == LESSONS
    assert not (home.directory / ".mbsync-password").exists()


def test_removal(home_of_gmail: tuple[Home, Client]) -> None:
    """After the block nothing of mbsync is left but the mail."""
    home, _ = home_of_gmail
    home.keep_password()
    program(home, "systemctl", 'echo "$@" >>~/calls')
    assert home.call("spamnb", "init", "--imap", home.address).returncode == 0
    mail = {file for file in files(home) if file.startswith("Mail/")}
    for name in ("spamnb", "local/share/spamnb"):
        shutil.rmtree(home.directory / (f".config/{name}" if name == "spamnb" else f".{name}"))
    done = home.call("bash", "-euc", block("docs/install.md", "account-removal"))
    assert (done.returncode, done.stderr) == (0, "")
    assert files(home) == mail | {"calls"}
    assert (home.directory / "calls").read_text().endswith("--user disable --now mbsync.timer mbsync.path\n")


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"SPAMNB_CONTAINER": "spamnb"}, "start a container for mbsync, as docs/install.md says"),
        ({}, "let the loop run that docs/hosted-imap.md has under “Without systemd”"),
    ],
    ids=["the container", "elsewhere"],
)
def test_no_systemd(home_of_gmail: tuple[Home, Client], environ: dict[str, str], said: str) -> None:
    """If there is no systemd, init says what fetches mail in its place, and names no command of systemd."""
    if has_systemd():
        pytest.skip("systemd runs here")
    home, _ = home_of_gmail
    home.keep_password()
    done = home.call("spamnb", "init", "--imap", home.address, **environ)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout
    assert "systemctl" not in done.stdout
    assert (home.directory / UNITS).exists() == (not environ)


@pytest.mark.parametrize("listens", [False, True], ids=["a timer", "goimapnotify"])
def test_units(home_of_gmail: tuple[Home, Client], listens: bool) -> None:
    """systemd will call mbsync, and goimapnotify too if it is installed; the user's own units stay."""
    home, _ = home_of_gmail
    home.keep_password()
    program(home, "systemctl", 'echo "$@" >>~/calls')
    if listens:
        program(home, "goimapnotify", "exit 1")
    done = home.call("spamnb", "init", "--imap", home.address)
    assert (done.returncode, done.stderr) == (0, "")
    assert "From now on systemd fetches new mail" in done.stdout
    enabled = "mbsync.timer mbsync.path" + (" imapnotify.service" if listens else "")
    calls = (home.directory / "calls").read_text()
    assert calls == f"--user daemon-reload\n--user enable --now {enabled}\n"
    units = home.directory / UNITS
    assert f"OnUnitInactiveSec={10 if listens else 2}min\n" in (units / "mbsync.timer").read_text()
    (called,) = re.findall(r"^ExecStart=(.*)$", (units / "mbsync.service").read_text(), re.MULTILINE)
    assert home.call(*shlex.split(called)).returncode == 0
    wanted = home.directory / ".local/share/spamnb/mbsync-wanted"
    assert f"\nExecStartPre=rm -f {wanted}\n" in (units / "mbsync.service").read_text()
    assert f"\nPathExists={wanted}\n" in (units / "mbsync.path").read_text()
    assert f"\nservice:\n  moved_file: {wanted}\n" in (home.directory / ".config/spamnb/config.yaml").read_text()
    if listens:
        conf = home.directory / ".config/imapnotify/spamnb.conf"
        assert conf.stat().st_mode & 0o777 == 0o600
        found = json.loads(conf.read_text())
        assert (found["host"], found["username"], found["boxes"]) == ("localhost", USER, ["INBOX"])
        assert "secret" not in conf.read_text()
        assert found["onNewMail"] == f"touch {wanted}"
        assert home.call("sh", "-c", found["passwordCmd"]).stdout == "secret\n"
    config = home.directory / ".config/spamnb/config.yaml"
    config.write_text(config.read_text().partition("\nservice:")[0])  # one that was written before this key was
    (units / "mbsync.timer").write_text("# mine\n")
    done = home.call("spamnb", "init", "--imap", home.address)
    assert "mbsync.timer existed already, and was not changed" in done.stderr
    assert (units / "mbsync.timer").read_text() == "# mine\n"
    (line,) = re.findall(r"^To carry moves back at once, add this to \S+: (.*)$", done.stdout, re.MULTILINE)
    assert yaml.safe_load(line) == {"service": {"moved_file": str(wanted)}}
