"""An account that admits only OAuth2, by the recipe of docs/hosted-imap.md, with email-oauth2-proxy."""

import configparser
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.documents import block
from tests.imap.dovecot import ONLY_OLD
from tests.imap.hosted import (  # noqa: F401 - two are fixtures
    DOCUMENT,
    GMAIL,
    LESSONS,
    Home,
    MakeAccount,
    account_fixture,
    arrives,
    program,
    tls_fixture,
)
from tests.imap.token_server import TokenServer, token_server
from tests.patience import PATIENCE, until
from tests.ports import held_port

_PROXY = Path(sys.executable).with_name("emailproxy")
pytestmark = [
    ONLY_OLD,  # it plays a provider
    pytest.mark.skipif(shutil.which("mbsync") is None, reason="needs mbsync (Debian: isync)"),
    pytest.mark.skipif(not _PROXY.exists(), reason="needs emailproxy (pip install emailproxy)"),
]

_WHO = "you@example.com"  # as the document has it
_OAUTH2 = """
auth_mechanisms = plain xoauth2
passdb {{
  driver = oauth2
  mechanisms = xoauth2
  args = {file}
}}
"""
_TOKENS = """\
introspection_mode = get
introspection_url = {address}/introspect?token=
username_attribute = username
active_attribute = active
active_value = true
"""


@contextmanager
def proxy(home: Home, config: Path, log: Path) -> Iterator[None]:
    """The proxy, started by the command of its unit."""
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign] - systemd's names have capitals
    unit.read_string(block(DOCUMENT, "proxy-unit"))
    _, *arguments = shlex.split(unit["Service"]["ExecStart"].replace("%h/.config/emailproxy.config", str(config)))
    running = subprocess.Popen([str(_PROXY), *arguments, "--log-file", str(log)], env=home.environ)
    try:
        until(lambda: log.exists() and "listening for authentication" in log.read_text(), "the proxy to listen")
        yield
    finally:
        running.terminate()
        running.wait(PATIENCE)


def log_in(log: Path, seen: int) -> None:
    """Open the address that the proxy asks a person to open, as a browser does."""
    addresses = re.compile(rf"visit the following URL to authenticate account {_WHO}: (\S+)")
    until(lambda: len(addresses.findall(log.read_text())) > seen, "the proxy to ask for a log-in")
    urllib.request.urlopen(addresses.findall(log.read_text())[seen], timeout=PATIENCE).close()


def configured(home: Home, name: str, tokens: TokenServer, listens: int, redirected: int) -> Path:
    """Write the configuration of the document, with the servers of the test."""
    config = configparser.ConfigParser(interpolation=None)
    config.read_string(block(DOCUMENT, name))
    (server, person) = config.sections()
    assert (server, person) == ("IMAP-1993", _WHO)
    config[server]["server_address"], config[server]["server_port"] = "localhost", home.address.rpartition(":")[2]
    config[f"IMAP-{listens}"] = config[server]
    config.remove_section(server)
    config[person]["permission_url"] = f"{tokens.address}/authorize"
    config[person]["token_url"] = f"{tokens.address}/token"
    config[person]["redirect_uri"] = f"http://localhost:{redirected}"
    path = home.directory / ".config/emailproxy.config"
    path.parent.mkdir()
    with path.open("w") as file:
        config.write(file)
    return path


@pytest.mark.parametrize("name", ["microsoft", "gmail"])
def test_recipe(account: MakeAccount, tls: Path, tmp_path: Path, name: str) -> None:
    """After one log-in in a browser, mail is fetched and moves are carried back, also with a token that was renewed."""
    conf, log = tls / "oauth2.conf", tmp_path / "proxy.log"
    with held_port() as redirected:
        pass  # the proxy's own web server, which lives for a moment, shares no port
    with token_server(_WHO) as tokens, held_port() as listens:
        conf.write_text(_TOKENS.format(address=tokens.address))
        conf.chmod(0o644)
        home, client = account(GMAIL, _OAUTH2.format(file=conf), names=("anna", _WHO))
        only_tokens(home)
        config = configured(home, name, tokens, listens, redirected)
        home.keep_password("any words")
        program(home, "systemctl", 'echo "$@" >>~/calls')
        assert home.call("bash", "-euc", block(DOCUMENT, "start-proxy")).returncode == 0
        assert (home.directory / "calls").read_text() == "--user enable --now emailproxy\n"
        assert config.stat().st_mode & 0o777 == 0o600
        with proxy(home, config, log):
            tokens.lifetime = 1
            command = block(DOCUMENT, "init-oauth2").replace("1993", str(listens))
            init = subprocess.Popen(["bash", "-euc", command], env=home.environ, text=True, stdout=subprocess.PIPE)
            log_in(log, 0)
            shown = init.communicate(timeout=2 * PATIENCE)[0]
            assert init.returncode == 0, (shown, log.read_text())
            assert f"{LESSONS} messages as spam" in shown
            assert tokens.grants[0] == "authorization_code"
            assert "refresh_token" in tokens.grants, "the token had to be renewed"
            assert tokens.grants.count("authorization_code") == 1, "a person logs in once"
            spam = arrives(client, GMAIL, "INBOX", "spam")
            synchronise(home)
            assert home.call("spamnb", "run", "--once").returncode == 0
            synchronise(home)
            assert (client.uids("INBOX", spam), len(client.uids(GMAIL.spam, spam))) == ([], 1)
        secrets = [token for token in tokens.tokens | tokens.renewing if token in config.read_text()]
        assert secrets == [], "the proxy keeps them encrypted"
        assert home.call("bash", "-euc", block(DOCUMENT, "sync")).returncode == 1, (
            "without the proxy nothing is fetched"
        )


def synchronise(home: Home) -> None:
    """Call mbsync, which says only that it uses no TLS on this machine."""
    done = home.call("bash", "-euc", block(DOCUMENT, "sync"))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert set(done.stderr.splitlines()) == {"*** IMAP Warning *** Password is being sent in the clear"}


def only_tokens(home: Home) -> None:
    """Let the provider admit no password for this account."""
    users = home.host.directory / "users"
    text = users.read_text()
    users.write_text(re.sub(rf"(?m)^({re.escape(_WHO)}:){{PLAIN}}secret:", r"\1{PLAIN}nobody-knows-it:", text))
    assert users.read_text() != text
