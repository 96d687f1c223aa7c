"""The pages of a desk behind a real server, and a mailbox with a story of some weeks."""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from spamnb.cli.sample_mail import message
from spamnb.web import keys
from spamnb.web.server import Server, Settings, key_file
from tests.service.desk import DAY
from tests.web.desk import WebDesk


@contextlib.contextmanager
def served(
    desk: WebDesk, settings: Settings | None = None, environ: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """A server of the desk's pages, in a thread, on any free port."""
    used = settings or Settings(listen="127.0.0.1:0")
    server = Server(used, lambda: desk.config, "config.yaml", environ or {}, owner="anna", now=desk.now)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def login_path(desk: WebDesk) -> str:
    """Where a browser logs in."""
    code = keys.make(key_file(desk.config).key(), "code", desk.now())
    return f"/login?{urlencode({'code': code})}"


def live_some_weeks(desk: WebDesk, days: int = 45) -> None:
    """Mail comes each day, most is judged rightly; a person answers for some of it, files some, and deletes nothing."""
    desk.ahead = -days * DAY
    for number in range(days):
        desk.ahead = max(desk.ahead, (number - days) * DAY + (number * 7 % 9) * 3600.0)
        for each in range(2 + number % 4):
            kind = "spam" if (number + each) % 3 == 0 else "ham"
            desk.deliver(message(kind, 200 + number * 10 + each), flags="S" if each == 1 else None)
        if number % 3 == 0:
            desk.deliver(between(number))
        if number % 11 == 4:
            desk.take(message("ham", 200 + number * 10 + 1), "INBOX", "Archive") if (number + 1) % 3 else None
    desk.ahead = min(desk.ahead, -60.0)


def between(number: int) -> bytes:
    """A message that is half of one kind and half of the other."""
    ham, spam = message("ham", 700 + number), message("spam", 700 + number)
    head, _, body = ham.partition(b"\n\n")
    return head.replace(b"Subject: ", b"Subject: Offer: ") + b"\n\n" + body + spam.partition(b"\n\n")[2]
