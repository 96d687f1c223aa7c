"""getmail fetches from a real Dovecot, with the recipe of docs/mail-server.md."""

import os
import re
import shutil
from collections.abc import Callable, Iterator

import pytest

from tests.delivery.conftest import BROKEN, HAM, SPAM, Home
from tests.imap.conftest import Host, as_sent, dovecot, make_host, taught
from tests.imap.dovecot import ONLY_OLD

__all__ = ["dovecot", "make_host", "taught"]
pytestmark = [pytest.mark.real_system, ONLY_OLD]  # getmail's own part is the same with each server
DOCUMENT = "docs/mail-server.md"
_OWN = """[options]
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


@pytest.fixture
def server(make_host: Callable[..., Host]) -> Iterator[Host]:
    """A host whose user has mail."""
    if shutil.which("getmail") is None:
        pytest.skip("needs getmail (Debian: getmail6)")
    yield make_host()


def fetch(home: Home, server: Host) -> int:
    """Run getmail, and return its exit code. Root needs an option to start programs, and delivers for another user."""
    recipe, user = home.recipe("getmail"), ""
    if os.getuid() == 0:
        recipe = recipe.replace("[filter]", "[filter]\nallow_root_commands = true")
        user = f"user = {server.owner.pw_name}"
        server.own(home.path / "Maildir", *(home.path / "Maildir").rglob("*"))
    own = _OWN.format(port=server.port, maildir=home.path / "Maildir", user=user)
    home.write("getmail/getmailrc", own + recipe)
    return home.run("getmail", "--getmaildir", str(home.path / "getmail")).returncode


def test_fetched(home: Home, server: Host) -> None:
    """Mail fetched by getmail has its verdict, and is whole."""
    client = server.client()
    for content in (SPAM, HAM):
        client.put("INBOX", content)
    assert fetch(home, server) == 0
    ham, spam = sorted(home.mail(), key=lambda content: b"X-Spam-Flag: YES\n" in content)
    for content, found in ((SPAM, spam), (HAM, ham)):
        fields, _, body = content.partition(b"\n\n")
        assert set(fields.splitlines()) <= set(found.splitlines())
        assert found.endswith(b"\n\n" + body)
        assert re.search(rb"\nX-Spamnb: \w+, .*\n(?:X-Spam-Flag: YES\n)?X-Spam-Status: \w+, score=.*\n[FR]", found)
    assert client.uids("INBOX") == []


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_filter_loses_nothing(home: Home, server: Host, how: str) -> None:
    """If the filter is broken the message stays on the server, and is fetched when it works again."""
    client = server.client()
    client.put("INBOX", SPAM)
    home.break_it(how)
    fetch(home, server)
    assert home.mail() == []
    assert client.look_at(SPAM, "INBOX")["body"] == as_sent(SPAM)
    home.install_spamnb()
    assert fetch(home, server) == 0
    assert len(home.mail()) == 1
