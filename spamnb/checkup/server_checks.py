"""Check the person's own mail server and address book: a wrong name has no effect, and nobody would notice."""

from collections.abc import Iterator
from pathlib import Path

from spamnb.base.errors import MaildirError
from spamnb.base.wording import escaped, plural
from spamnb.checkup.finding import Finding, ok, warning
from spamnb.config import Config
from spamnb.contacts.address_book import AddressBook
from spamnb.mail.intake import take
from spamnb.mail.own_server import servers_of
from spamnb.maildir.folders import find_folders
from spamnb.maildir.messages import read_chunks, scan

_NEWEST = 50  # messages of each inbox
_WHAT = "authserv_id"
_BOOK = "address_book"


def of_server(config: Config) -> Iterator[Finding]:
    """Report whether the newest mail has fields of the named server. Raises MaildirError."""
    if config.authserv_id is None:
        return
    servers = servers_of(newest(config), config.authserv_id)
    mail, name = plural(servers.delivered, "new message"), escaped(config.authserv_id)
    yield from _of_book(config.address_book)
    if servers.read or not servers.delivered:
        yield ok(_WHAT, f"{servers.read} of {mail} in the inbox have Authentication-Results of {name}")
        return
    means = f"none of {mail} in the inbox has Authentication-Results of {name}, so the key has no effect"
    others = ", ".join(escaped(other) for other, _ in servers.topmost.most_common(2))
    step = f"write the site of your own server; the topmost fields are of {others}" if others else ""
    no_field = "let your mail server write the field above or right below its own Received field, or leave the key out"
    yield warning(_WHAT, means, step or no_field)


def _of_book(path: Path | None) -> Iterator[Finding]:
    if path is None:
        return
    book = AddressBook(path)
    book.look()
    if book.fault:
        yield warning(_BOOK, book.fault, "correct that file or its permissions, or `address_book` in the configuration")
    else:
        yield ok(_BOOK, f"{len(book)} addresses in {escaped(str(path))}")


def newest(config: Config, number: int = _NEWEST) -> Iterator[bytes]:
    """Yield the newest messages of each inbox that can be read. Raises MaildirError if the folders cannot be listed."""
    for mailbox in config.mailboxes:
        for folder in find_folders(str(mailbox.path), mailbox.layout, levels=mailbox.levels):
            if folder.name == mailbox.inbox_folder:
                for entry in sorted(scan(folder), key=lambda entry: entry.name)[-number:]:
                    try:
                        yield take(read_chunks(entry.path(folder), folder))
                    except (FileNotFoundError, MaildirError):  # `mailbox_checks` reports what cannot be read
                        continue
