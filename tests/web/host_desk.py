"""A mail host whose users each have a desk, and the server of the pages of all of them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from spamnb.cli.common.sample_mail import message
from spamnb.host.host import Host, load_host
from spamnb.web.config_file import HostFile
from spamnb.web.page_server import PageServer, Settings
from tests.web.desk import Browser, WebDesk

FIELD = "X-Remote-User"


class HostDesk:
    """Users of a host, each with a mailbox, a filter that knows 30 messages of each kind, and mail of their own."""

    def __init__(self, directory: Path, *names: str, more: str = "") -> None:
        self.directory = directory
        self.config = directory / "config.yaml"
        self.config.write_text(
            f"mailboxes:\n  - path: {directory}/mail/{{domain}}/{{local}}/Maildir\n"
            "    roles: {INBOX: inbox, Junk: spam, Archive: ham, Trash: neutral, TrainSpam: train_spam}\n"
            f"ledger: {directory}/state/{{domain}}/{{local}}/ledger\n"
            f"learning: {{minimum_messages: 1}}\nusers: {{own: '{directory}/own/{{user}}.yaml'}}\n{more}"
        )
        self.desks = {name: self._desk(name) for name in names}

    @property
    def host(self) -> Host:
        """Return the host of the configuration."""
        return load_host(self.config, {})

    def _desk(self, name: str) -> WebDesk:
        local, _, domain = name.partition("@")
        state, mail = (self.directory / where / domain / local for where in ("state", "mail"))
        state.mkdir(parents=True)
        desk = WebDesk(state, str(mail / "Maildir"))
        desk.ahead = -3600.0
        for kind in ("ham", "spam"):
            desk.deliver(of(name, kind))
        return desk

    def end(self) -> None:
        """Close all desks."""
        for desk in self.desks.values():
            desk.stop()
            desk.ledger.close()


def of(name: str, kind: str) -> bytes:
    """Return a message of this user alone: its sender, subject and text name the user, and so does the list of ham."""
    local = name.partition("@")[0]
    head, _, text = message(kind, 100).partition(b"\n\n")
    kept = b"\n".join(line for line in head.split(b"\n") if not line.lower().startswith((b"subject:", b"from:")))
    own = f"Subject: secret-{local}-{kind}\nFrom: {local}-friend <friend@{local}.test>\n"
    own += f"List-Id: <list.{local}.test>\n" if kind == "ham" else ""  # a young filter moves no mail of unknown lists
    return own.encode() + kept + b"\n\n" + text + f"\nThe affair of {local}affair.\n".encode()


@contextlib.contextmanager
def pages_of_all(desk: HostDesk, **settings: object) -> Iterator[PageServer]:
    """The server of the pages of all users, which is asked without its socket."""
    socket = str(desk.directory / "web.sock")
    made = Settings(socket, ("mail.example",), behind_proxy=True, user_header=FIELD, **settings)  # type: ignore[arg-type]
    file = HostFile(desk.config, {})
    file.read()  # as the command does
    server = PageServer(made, lambda: file.read().template, str(desk.config), {}, host=file.read)
    try:
        yield server
    finally:
        server.close()
        server.run()


def as_user(server: PageServer, name: str | None) -> Browser:
    """A browser whose requests the proxy passes on as this user's; None: it does not say whose."""
    browser = Browser(server.activity)
    browser.headers = {"host": "mail.example"} | ({} if name is None else {FIELD.lower(): name})
    return browser
