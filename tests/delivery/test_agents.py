"""The recipes of docs/mail-server.md, run by their programs, also with a broken filter."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.mail.reading import LazyReading
from tests.delivery.conftest import BROKEN, HAM, SPAM, Home, needs_a_python_for, without_fields
from tests.documents import block, read

pytestmark = pytest.mark.real_system

Deliver = Callable[[Home, bytes], int]
DOCUMENT = "docs/mail-server.md"


def needs(program: str, package: str = "") -> None:
    """Skip if a program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"needs {program} (Debian: {package or program})")


def procmail_recipe(home: Home, name: str) -> str:
    """The document's recipe, with what it says below of bogofilter's recipes and of the exit code."""
    said = read(DOCUMENT)
    recipe = block(DOCUMENT, "procmail")
    if name == "procmail-bogofilter":
        (program, field) = re.findall(r"change only the\s+program: `([^`]*)`, with the\s+condition `([^`]*)`", said)[0]
        recipe = recipe.replace("/usr/local/bin/spamnb filter", program).replace("* ^X-Spam-Flag: YES", field)
    elif name == "procmail-exit-code":
        (condition,) = re.findall(r"by the exit code \(0 is\s+spam\): `([^`]*)` as the\s+only condition", said)
        recipe = recipe.replace(":0 fw\n| /usr/local/bin/spamnb filter\n\n", "")
        recipe = recipe.replace("* ^X-Spam-Flag: YES", condition)
    return home.named(recipe)


def by_procmail(name: str) -> Deliver:
    """procmail, as a mail server calls it, with a recipe of the document."""

    def deliver(home: Home, content: bytes) -> int:
        needs("procmail")
        rules = home.write(".procmailrc", f"LOGFILE={home.path}/log\n" + procmail_recipe(home, name))
        return home.run("procmail", "-t", "-m", str(rules), stdin=content).returncode

    return deliver


def by_maildrop(home: Home, content: bytes) -> int:
    """maildrop with the document's filter file."""
    needs("maildrop")
    rules = home.write(".mailfilter", home.recipe("maildrop"))
    return home.run("maildrop", str(rules), stdin=content).returncode


AGENTS: dict[str, Deliver] = {
    "procmail": by_procmail("procmail"),
    "procmail-bogofilter": by_procmail("procmail-bogofilter"),
    "procmail-exit-code": by_procmail("procmail-exit-code"),
    "maildrop": by_maildrop,
}


@pytest.mark.parametrize("agent", AGENTS)
def test_spam_is_filed(home: Home, agent: str) -> None:
    """Spam goes to Junk and ham to the inbox, with their verdicts, and whole; nothing is learned by that."""
    for content, folder in ((SPAM, ".Junk"), (HAM, "")):
        assert AGENTS[agent](home, content) == 0
        (found,) = home.mail(folder)
        assert without_fields(found) == content
        assert (found == content) == (agent == "procmail-exit-code")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_forged_verdict(home: Home, agent: str) -> None:
    """A verdict that the sender wrote files nothing."""
    forged = b"X-Spam-Flag: YES\nX-Bogosity: Spam, tests=bogofilter\n" + HAM
    assert AGENTS[agent](home, forged) == 0
    (found,) = home.mail()
    assert without_fields(found) == HAM
    assert home.mail(".Junk") == []


@pytest.mark.parametrize("how", [*BROKEN, "no-ledger"])
@pytest.mark.parametrize("agent", AGENTS)
def test_a_broken_filter_loses_nothing(home: Home, agent: str, how: str) -> None:
    """Whatever breaks, the message is delivered into the inbox whole."""
    if how == "no-ledger":
        (home.path / "ledger.sqlite").rename(home.path / "kept")
    else:
        home.break_it(how)
    assert AGENTS[agent](home, SPAM) == 0
    (found,) = home.mail()
    assert without_fields(found) == SPAM
    assert (found == SPAM) == (how != "no-ledger" or agent == "procmail-exit-code")
    if how == "no-ledger":
        (home.path / "kept").rename(home.path / "ledger.sqlite")


# fdm


def by_fdm(home: Home) -> int:
    """fdm, which fetches from a Maildir; run by root it fetches as a user of its own."""
    needs("fdm")
    rules = home.write(".fdm.conf", f'set lock-file "{home.path}/lock"\n' + home.recipe("fdm"))
    as_root = ["-u", "root"] if os.getuid() == 0 else []
    for path in [home.path / "incoming", *(home.path / "incoming").rglob("*")] if as_root else ():
        path.chmod(0o777)
    return home.run("fdm", "-f", str(rules), *as_root, "fetch").returncode


def fetched_from(home: Home, *contents: bytes) -> None:
    """Put mail into the place from which fdm fetches."""
    for sub in ("new", "cur", "tmp"):
        (home.path / "incoming" / sub).mkdir(parents=True)
    for number, content in enumerate(contents):
        (home.path / "incoming" / "new" / f"170000000{number}.M1P1.home").write_bytes(content)


def test_fdm(home: Home) -> None:
    """fdm files spam into Junk and all other mail into the inbox, whole."""
    fetched_from(home, SPAM, HAM)
    assert by_fdm(home) == 0
    for content, folder in ((SPAM, ".Junk"), (HAM, "")):
        (found,) = home.mail(folder)
        assert re.sub(rb"^Received: by .*\n(?:[ \t].*\n)*", b"", without_fields(found)) == content
    assert os.listdir(home.path / "incoming" / "new") == []


@pytest.mark.parametrize("how", BROKEN)
def test_fdm_with_a_broken_filter(home: Home, how: str) -> None:
    """If the filter is broken the message stays in its place, and is fetched when the filter works again."""
    fetched_from(home, SPAM)
    home.break_it(how)
    by_fdm(home)  # whose exit code is 0 all the same
    assert [path.read_bytes() for path in (home.path / "incoming" / "new").iterdir()] == [SPAM]
    assert home.mail() == home.mail(".Junk") == []
    home.install_spamnb()
    assert by_fdm(home) == 0
    assert len(home.mail(".Junk")) == 1


SENDERS = [b"", b"From a@b.example Mon Jan  1 00:00:00 2024\n", b">From a@b.example Mon Jan  1 00:00:00 2024\n"]


def delivered_by_procmail_to(user: str, home: Home, content: bytes) -> None:
    """`procmail -d`, called by a user whom it does not trust, so that it adds `From ` lines of its own."""
    users = home.path / "passwd"
    lines = Path("/etc/passwd").read_text().splitlines()
    entry = next(line for line in lines if line.startswith(f"{user}:")).split(":")
    kept = [line for line in lines if not line.startswith(f"{user}:")]
    users.write_text("\n".join([*kept, ":".join([*entry[:5], str(home.path), "/bin/sh"])]) + "\n")
    deliver = f"mount --bind {shlex.quote(str(users))} /etc/passwd && runuser -u {user} -- procmail -d {user}"
    done = home.run("unshare", "--mount", "sh", "-c", deliver, stdin=content)
    assert (done.returncode, done.stderr) == (0, b"")


def test_procmail_as_the_agent_of_a_mail_server(home: Home) -> None:
    """Under `procmail -d` each message gets its own verdict, whatever mbox lines precede its header."""
    needs("procmail")
    user = "nobody"
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs root, and a mount namespace")
    needs_a_python_for(user)
    program = home.program.read_text().replace("exec ", f"tee {home.path}/seen/$$ | ")
    home.write("bin/spamnb", program, 0o755)
    (home.path / "seen").mkdir()
    home.write(".procmailrc", f"LOGFILE={home.path}/log\n" + home.recipe("procmail"))
    for path in [home.path, *home.path.rglob("*")]:
        shutil.chown(path, user, "nogroup")
    contents = [message(kind, 700 + number) for kind in ("spam", "ham") for number in range(6)]
    for number, content in enumerate(contents):
        delivered_by_procmail_to(user, home, SENDERS[number % 3] + content)
    judged = [path.read_bytes() for path in (home.path / "seen").iterdir()]
    assert any(re.match(rb"From [^\n]*\n>From ", raw) for raw in judged), "the case that is meant"
    summaries = {LazyReading(raw).summary for raw in judged}
    assert summaries == {LazyReading(content).summary for content in contents}
    assert {identity(raw) for raw in judged} == {identity(content) for content in contents}
    found = {folder: {identity(raw) for raw in home.mail(folder)} for folder in (".Junk", "")}
    assert found == {".Junk": {identity(one) for one in contents[:6]}, "": {identity(one) for one in contents[6:]}}
