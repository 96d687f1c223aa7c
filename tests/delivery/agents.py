"""The agents that deliver mail by a recipe of docs/mail-server.md, one row for each; AGENTS has them all."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest

from tests.delivery.conftest import BROKEN, SILENT, Home, needs_a_python_for
from tests.delivery.exim import USER, Exim, exim, needed, transport
from tests.delivery.postfix import Postfix, by_smtp
from tests.documents import block, read
from tests.imap.conftest import hosts
from tests.imap.dovecot import Dovecot
from tests.patience import until
from tests.ports import held_port

DOCUMENT = "docs/mail-server.md"


@dataclass(frozen=True)
class Agent:
    """An agent that runs.

    deliver: hands over a message, and waits until the agent has tried to deliver it. field: the verdict on spam, in the
    message. files: spam goes to Junk. waiting: how many messages wait for a filter that is broken; None if the agent
    delivers them without a verdict. again: tries to deliver these. ways: how the filter is broken.
    """

    deliver: Callable[[bytes], object]
    field: bytes = b"X-Spam-Flag: YES\n"
    files: bool = True
    waiting: Callable[[], int] | None = None
    again: Callable[[], object] = int
    ways: Iterable[str] = tuple(BROKEN)


def needs(program: str, package: str = "") -> None:
    """Skip if a program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"needs {program} (Debian: {package or program})")


def _passing(home: Home, field: bytes, *command: str) -> Agent:
    """An agent that a mail server calls for each message, and that goes on without the filter."""
    needs(command[0])

    def deliver(content: bytes) -> None:
        assert home.run(*command, stdin=content).returncode == 0

    return Agent(deliver, field, ways=(*BROKEN, "no-ledger"))


def _procmail(change: Callable[[str], str], field: bytes = Agent.field) -> Callable[[Home], Iterator[Agent]]:
    """procmail with the document's recipe, changed."""

    def made(home: Home) -> Iterator[Agent]:
        recipe = home.named(change(block(DOCUMENT, "procmail")))
        rules = home.write(".procmailrc", f"LOGFILE={home.path}/log\n{recipe}")
        yield _passing(home, field, "procmail", "-t", "-m", str(rules))

    return made


def _as_bogofilter(recipe: str) -> str:
    """What the document says of bogofilter's recipes."""
    said = r"change only the program: `([^`]*)`, with the\s+condition `([^`]*)`"
    ((program, condition),) = re.findall(said, read(DOCUMENT))
    return recipe.replace("/usr/local/bin/spamnb filter", program).replace("* ^X-Spam-Flag: YES", condition)


def _by_exit_code(recipe: str) -> str:
    """What the document says of the exit code."""
    said = r"by the exit code \(0 is\s+spam\): `([^`]*)` as the only condition"
    (condition,) = re.findall(said, read(DOCUMENT))
    recipe = recipe.replace(":0 fw\n| /usr/local/bin/spamnb filter\n\n", "")
    return recipe.replace("* ^X-Spam-Flag: YES", condition)


def _maildrop(home: Home) -> Iterator[Agent]:
    """maildrop with the document's filter file."""
    rules = home.write(".mailfilter", home.recipe("maildrop"))
    yield _passing(home, Agent.field, "maildrop", str(rules))


def _fdm(home: Home) -> Iterator[Agent]:
    """fdm, which fetches from a Maildir; run by root it fetches as a user of its own."""
    needs("fdm")
    rules = home.write(".fdm.conf", f'set lock-file "{home.path}/lock"\n' + home.recipe("fdm"))
    incoming = home.path / "incoming"
    as_root = ["-u", "root"] if os.getuid() == 0 else []
    for path in (incoming, *(incoming / sub for sub in ("new", "cur", "tmp"))):
        path.mkdir()
        path.chmod(0o777)

    def fetch() -> None:
        assert home.run("fdm", "-f", str(rules), *as_root, "fetch").returncode == 0

    def deliver(content: bytes) -> None:
        (incoming / "new" / "1700000000.M1P1.home").write_bytes(content)
        (incoming / "new" / "1700000000.M1P1.home").chmod(0o666)
        fetch()

    yield Agent(deliver, waiting=lambda: len(os.listdir(incoming / "new")), again=fetch)


_GETMAIL = """[options]
delete = true
[retriever]
type = SimpleIMAPRetriever
server = 127.0.0.1
port = {port}
username = anna
password = secret
[destination]
type = Maildir
path = {maildir}/
{user}
"""
# QUIRK: getmail before 6.19.9 asks for the signal of a child's end after it has started that child, and begins to wait
# for it even later. If the child was faster, it waits for three minutes, and fetches the message once more next time.
# On a slow machine that happens; with its own calls of sigaction made a second slower, it happens each time.
_GETMAIL_WAITS = """
import os, runpy, sys
from getmailcore.baseclasses import ForkingBase
from getmailcore.exceptions import getmailOperationError

def wait(self, child):
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        raise getmailOperationError(f"child pid {child} killed by signal {-code}")
    return code

if hasattr(ForkingBase, "_prepare_child"):
    ForkingBase._prepare_child = lambda self: None
    ForkingBase._wait_for_child = wait
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def _getmail(home: Home) -> Iterator[Agent]:
    """getmail, which fetches from Dovecot. Root needs an option to start programs, and delivers for another user."""
    needs("getmail", "getmail6")
    command = ["/usr/bin/python3", "-c", _GETMAIL_WAITS, shutil.which("getmail") or ""]
    with hosts(home.path / "ledger.sqlite", Dovecot(None)) as make:
        server = make()
        recipe, user = home.recipe("getmail"), ""
        if os.getuid() == 0:
            recipe = recipe.replace("[filter]", "[filter]\nallow_root_commands = true")
            user = f"user = {server.owner.pw_name}"
            server.own(home.path / "Maildir", *(home.path / "Maildir").rglob("*"))
        own = _GETMAIL.format(port=server.port, maildir=home.path / "Maildir", user=user)
        home.write("getmail/getmailrc", own + recipe)
        client = server.client()

        def fetch() -> None:
            home.run(*command, "--getmaildir", str(home.path / "getmail"))

        def deliver(content: bytes) -> None:
            client.put("INBOX", content)
            fetch()

        yield Agent(deliver, files=False, waiting=lambda: len(client.uids("INBOX")), again=fetch)


def _by_server(server: Exim | Postfix, *more: str) -> Agent:
    """A mail server, which works by itself. more: ways in which its filter is broken."""

    def deliver(content: bytes) -> None:
        before = server.delivered() + server.waiting()
        server.send(content)
        until(lambda: server.delivered() + server.waiting() > before, server.log)

    return Agent(deliver, files=False, waiting=server.waiting, again=server.try_again, ways=(*BROKEN, *more))


def _exim(home: Home) -> Iterator[Agent]:
    """Exim with the filter in its transport."""
    needed()
    needs_a_python_for(USER)
    with exim(home.path / "exim", transport(home)) as server:
        yield _by_server(server)


def _postfix(home: Home) -> Iterator[Agent]:
    """Postfix with the content filter, which runs as a user without rights, who must reach the home."""
    needs_a_python_for(USER)
    for path in [home.path / "ledger.sqlite", home.path / "Maildir", *(home.path / "Maildir").rglob("*")]:
        shutil.chown(path, USER)
    (home.path / "config.yaml").chmod(0o644)
    with held_port() as back:
        script = home.path / "bin" / "spamnb-filter"
        services = home.recipe("postfix-master").replace("/usr/local/bin/spamnb-filter", str(script))
        # A user without rights may call `sendmail` only for the system's own Postfix.
        sendmail = home.write("bin/sendmail", f"#!{sys.executable}\n{SENDMAIL.format(port=back)}", 0o755)
        home.write(
            f"bin/{script.name}", home.recipe("postfix-filter").replace("/usr/sbin/sendmail", str(sendmail)), 0o755
        )
        services = services.replace("user=spamnb", f"user={USER}") + f"127.0.0.1:{back} inet n - n - - smtpd\n"
        with by_smtp(home, services) as server:
            yield _by_server(server, *SILENT)
            assert "bounced" not in server.log()


SENDMAIL = """\
import smtplib, sys
assert sys.argv[1:4] == ["-G", "-i", "-f"] and sys.argv[5] == "--", sys.argv
with smtplib.SMTP("127.0.0.1", {port}) as client:
    client.sendmail(sys.argv[4], sys.argv[6:], sys.stdin.buffer.read())
"""

AGENTS: Final = {
    name: contextmanager(agent)
    for name, agent in {
        "procmail": _procmail(str),
        "procmail-bogofilter": _procmail(_as_bogofilter, b"X-Bogosity: Spam, "),
        "procmail-exit-code": _procmail(_by_exit_code, b""),
        "maildrop": _maildrop,
        "fdm": _fdm,
        "getmail": _getmail,
        "exim": _exim,
        "postfix": _postfix,
    }.items()
}
