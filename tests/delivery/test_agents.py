"""The recipes of docs/mail-server.md for agents that deliver mail, run by their programs, also with a broken filter."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.mail.reading import LazyReading
from tests.delivery.agents import AGENTS, Agent, needs
from tests.delivery.conftest import HAM, SPAM, Home, made_home, needs_a_python_for
from tests.patience import until

pytestmark = pytest.mark.real_system


@pytest.fixture(scope="module", params=AGENTS)
def at_home(request: pytest.FixtureRequest, taught_home: bytes) -> Iterator[tuple[Home, Agent]]:
    """Each agent, which runs once for all of its tests, and the home to which it delivers."""
    with made_home(taught_home) as home, AGENTS[request.param](home) as agent:
        yield home, agent


def arrived(home: Home, folder: str = "") -> bytes:
    """Return the only message of the home, which has to come into this folder, and remove it."""
    until(lambda: home.mail() or home.mail(".Junk"), "a message")
    (found,) = home.mail(folder)
    assert home.mail("" if folder else ".Junk") == []
    for path in (home.path / "Maildir" / folder).glob("[cn][ue][rw]/*"):
        path.unlink()
    return found


def is_whole(found: bytes, content: bytes) -> bool:
    """Whether a message has come with all of its fields and its body; agents and servers add fields."""
    header, _, body = content.partition(b"\n\n")
    return found.endswith(b"\n\n" + body) and {*header.splitlines()} <= {*found.splitlines()}


def test_mail_has_its_verdict(at_home: tuple[Home, Agent]) -> None:
    """Each message is delivered once, whole, with its verdict, whatever the sender wrote; nothing is learned by that.

    If the agent can sort, spam goes to Junk and ham to the inbox.
    """
    home, agent = at_home
    for content, folder in ((SPAM, ".Junk" if agent.files else ""), (HAM, "")):
        forged = b"X-Spam-Flag: YES\nX-Bogosity: Spam, tests=bogofilter\n"
        agent.deliver(forged + content)
        found = arrived(home, folder)
        assert is_whole(found, content)
        if agent.field:
            assert (agent.field in found) == (content == SPAM)
        else:
            assert found == forged + content


def test_a_broken_filter_loses_nothing(at_home: tuple[Home, Agent]) -> None:
    """Whatever breaks, the message is delivered into the inbox whole, or waits until the filter works again.

    In Postfix a message waits even if the filter breaks silently, with exit code 0.
    """
    home, agent = at_home
    for number, how in enumerate(agent.ways, 800):
        content = message("spam", number)
        home.break_it(how)
        agent.deliver(content)
        if agent.waiting is not None:
            until(lambda: agent.waiting() == 1, f"the message to wait ({how})")  # the queue has it when it is put off
            assert (how, home.mail(), home.mail(".Junk")) == (how, [], [])
            assert os.listdir(home.path / "Maildir" / "tmp") == []
        home.repair()
        agent.again()
        found = arrived(home, ".Junk" if agent.waiting is not None and agent.files else "")
        assert is_whole(found, content), how
        if agent.waiting is not None:
            assert agent.field in found, how
        elif how != "no-ledger":
            assert found == content, how
    home.install_spamnb()


# procmail, called by a mail server


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
