"""Exim (Debian: exim4-daemon-heavy) by docs/mail-server.md: `spam =`, and the transport filter of a mail host."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.delivery.conftest import HAM, SPAM, Home
from tests.delivery.exim import DELIVERS, USER, Exim, exim, needed, transport
from tests.delivery.mail_host import MailHost, spam
from tests.documents import block
from tests.patience import until
from tests.spamd.conftest import Service

pytestmark = pytest.mark.real_system
DOCUMENT = "docs/mail-server.md"
_SOCKET = "/run/spamnb/anna.sock"  # in the document


def by_header(content: bytes) -> tuple[dict[str, str], bytes]:
    """A message's fields, and its body."""
    header, _, body = content.partition(b"\n\n")
    lines = re.sub(r"\n[ \t]+", " ", header.decode()).splitlines()
    return dict(line.split(": ", 1) for line in lines), body


# spam =


@pytest.fixture
def asked(home: Home) -> Iterator[Service]:
    """The sockets of a service whose ledger is this home's."""
    (home.path / "spamd").mkdir()
    shutil.copy(home.path / "ledger.sqlite", home.path / "spamd" / "ledger")
    service = Service(home.path / "spamd")
    service.set(peers=(USER,))
    yield service
    service.spamd.close()


@pytest.fixture
def scanning(home: Home, asked: Service) -> Iterator[Exim]:
    """An Exim that asks the service at DATA, and delivers without a filter."""
    plain = "".join(line for line in transport(home).splitlines(True) if "transport_filter" not in line)
    main = block(DOCUMENT, "exim-main").replace(_SOCKET, asked.path)
    with exim(home.path / "exim", plain, main, block(DOCUMENT, "exim-acl")) as running:
        yield running


def test_scanned(home: Home, asked: Service, scanning: Exim) -> None:
    """Exim reads the verdict: spam has the flag and the score, ham a score, whatever the sender wrote."""
    forged = b"X-Spam-Flag: YES\nX-Spam-Score: 99.0 (++++)\n"
    scanning.send(forged + SPAM, forged + HAM)
    until(lambda: len(home.mail()) == 2, lambda: f"both to be delivered: {scanning.log()}")
    (ham, ham_body), (spam, spam_body) = sorted(map(by_header, home.mail()), key=lambda one: "X-Spam-Flag" in one[0])
    assert (spam["X-Spam-Flag"], spam["X-Spam-Score"]) == ("YES", "9.9 (+++++++++)")
    assert re.fullmatch(r"-\d\.\d \(-+\)", ham["X-Spam-Score"])
    assert "X-Spam-Flag" not in ham
    assert (spam_body, ham_body) == (SPAM.partition(b"\n\n")[2], HAM.partition(b"\n\n")[2])
    assert scanning.log("panic") == ""
    with asked.ledger() as ledger:
        assert ledger.lessons.totals().tolist()[:2] == [25, 25], "nothing is learned by it"


def test_not_armed(home: Home, asked: Service, scanning: Exim) -> None:
    """A filter that has learned too little says 0.0 of everything."""
    asked.use(replace(asked.config, learning=replace(asked.config.learning, minimum_messages=1000)))
    scanning.send(SPAM)
    until(lambda: len(home.mail()) == 1, lambda: f"it to be delivered: {scanning.log()}")
    fields, _ = by_header(home.mail()[0])
    assert fields["X-Spam-Score"].startswith("0.0")
    assert "X-Spam-Flag" not in fields


def test_service_is_away(home: Home, asked: Service, scanning: Exim) -> None:
    """Without a service mail is delivered without the fields, also those that the sender wrote."""
    asked.spamd.close()
    scanning.send(b"X-Spam-Flag: YES\nX-Spam-Score: 99.0\n" + HAM)
    until(lambda: len(home.mail()) == 1, lambda: f"it to be delivered: {scanning.log()}")
    assert not [name for name in by_header(home.mail()[0])[0] if name.startswith("X-Spam")]


# transport_filter, on a mail host


@pytest.fixture
def users() -> Iterator[MailHost]:
    """The users of two domains, and their service, which runs as the user that Exim delivers as."""
    needed()
    with tempfile.TemporaryDirectory(prefix="spamnb-users-") as place:
        made = MailHost(Path(place).resolve(), USER)
        made.site.directory.chmod(0o755)
        with made.running():
            yield made


@pytest.fixture
def delivering(users: MailHost) -> Iterator[Exim]:
    """An Exim with the recipe for a mail host."""
    if shutil.which("spamc") is None:
        pytest.skip("needs spamc (Debian: spamc)")
    directory = f"{users.site.mail}/$domain_data/$local_part_data/Maildir"
    recipe = f"{DELIVERS}  user = {USER}\n  directory = {directory}\n" + block(DOCUMENT, "exim-users")
    recipe = recipe.replace("/run/spamnb/spamd.sock", users.socket)
    domains, names = "one.example : two.example", "anna : bob : carl"
    with exim(users.site.directory / "exim", recipe, domains=domains, names=names) as running:
        yield running


def test_users(users: MailHost, delivering: Exim) -> None:
    """A message to several users is judged with each user's own ledger, and the service moves the spam.

    The verdict that was told is the service's own: nothing is learned, and nothing is judged twice.
    """
    content = spam(0)
    delivering.send(b"X-Spam-Flag: YES\n" + content, to=users.USERS)
    for user in users.USERS:
        folder = "" if user.startswith("bob") else ".Junk"
        until(
            lambda user=user, folder=folder: users.mail(user, folder),
            lambda user=user: f"mail of {user}: {delivering.log()}",
        )  # type: ignore[misc]
        (found,) = users.mail(user, folder)
        fields, body = by_header(found)
        assert fields["X-Spamnb"].startswith("spam, " if folder else "ham, ")
        assert ("X-Spam-Flag" in fields) == bool(folder)
        assert fields["Envelope-to"] == user
        assert body == content.partition(b"\n\n")[2]
        assert f"answered spamc for {user}" in users.log()
        done = ["moved" if folder else "judged"]
        until(
            lambda user=user, done=done: users.kinds(user, content) == done,
            lambda user=user: f"the service to see it: {users.log()}",
        )  # type: ignore[misc]
        assert users.totals(user) == [25, 25]
    assert delivering.log("panic") == ""


def test_new_user(users: MailHost, delivering: Exim) -> None:
    """A user's first message makes the Maildir, and is unsure, whatever the sender wrote."""
    user = "carl@two.example"
    delivering.send(b"X-Spam-Flag: YES\nX-Spamnb: spam\n" + spam(1), to=user)
    until(
        lambda: users.maildir(user).exists() and len(users.mail(user)) == 1, lambda: f"the message: {delivering.log()}"
    )
    fields, _ = by_header(users.mail(user)[0])
    assert fields["X-Spamnb"].startswith("unsure, ")
    assert "X-Spam-Flag" not in fields


def test_service_of_the_users_is_away(users: MailHost, delivering: Exim) -> None:
    """If the service cannot be asked, mail is still delivered, without the fields of the sender."""
    Path(users.socket).unlink()
    delivering.send(b"X-Spam-Flag: YES\n" + HAM, to=users.USERS)
    for user in users.USERS:
        folder = ".Junk" if user.startswith("bob") else ""  # where the service moves it by itself
        until(
            lambda user=user, folder=folder: users.mail(user, folder),
            lambda user=user: f"mail of {user}: {delivering.log()}",
        )  # type: ignore[misc]
        assert "X-Spam-Flag" not in by_header(users.mail(user, folder)[0])[0]
