"""Folders for mail that is put apart, with a real server and a mail program that moves mail out of each."""

from collections.abc import Callable

from spamnb.acts.choices import standing
from spamnb.config import load
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.rules.acquaintances import KNOWN_FIRST
from tests.imap.conftest import ROLES, Host, new_mail
from tests.imap.dovecot import BOTH
from tests.patience import until

_FOLDERS = {"unsure_folder": "Maybe", "newcomers_folder": "New", "newsletters_folder": "Lists"}
_FIELDS = {
    "Maybe": "From: friend1@book.example",
    "New": "From: {goal}@else.example",
    "Lists": "List-Id: <talk.club.example>\nFrom: friend1@book.example",
}
_LEARNED = {"INBOX": "learned ham", "Archive": "learned ham", "Junk": "learned spam"}


def letter(fields: str) -> bytes:
    """A letter with these fields."""
    lines = new_mail("ham").split(b"\n")
    return b"\n".join([fields.encode(), *(line for line in lines if not line.startswith(b"From:"))])


def choices(host: Host) -> list[tuple[str, str | float]]:
    """Return the choices in force."""
    with Ledger(str(host.ledger)) as ledger:
        return [(one.choice.kind, one.choice.value) for one in standing(ledger, load(host.config, {}))]


def is_known(host: Host, content: bytes) -> bool:
    """Whether the service has seen a message."""
    with Ledger(str(host.ledger)) as ledger:
        return ledger.messages.find(identity(content)) is not None


@BOTH
def test_out_of_each_folder(make_host: Callable[..., Host]) -> None:
    """Into the inbox or a folder of ham it is ham, into Junk spam; the next mail of a moved list goes the same way."""
    host = make_host(folders=(*ROLES, *_FOLDERS.values()))
    book = host.directory / "book.vcf"
    cards = [f"BEGIN:VCARD\nVERSION:4.0\nEMAIL:friend{n}@book.example\nEND:VCARD\n" for n in range(KNOWN_FIRST)]
    book.write_text("".join(cards))
    # So all ham is unsure, and whatever is not put apart for another reason goes to the folder for unsure mail.
    keys = f"authserv_id: mx.example.org\naddress_book: {book}\nscoring: {{ham_cutoff: 0.0}}"
    host.configure(keys, **_FOLDERS)
    host.start()
    client = host.client()
    for folder, fields in _FIELDS.items():
        for goal in ("Archive", "Junk", "INBOX"):
            content = letter(fields.format(goal=goal))
            client.put("INBOX", content)
            host.wait_for(content, f"moved INBOX {folder}")
            client.move(content, folder, goal)
            host.wait_for(content, f"moved INBOX {folder}", _LEARNED[goal])
            assert host.where(content) == [goal]
    assert choices(host) == [("inbox", "list:talk.club.example")]

    kept, moved = letter(_FIELDS["Lists"]), letter("From: friend2@book.example")
    client.put("Archive", moved)
    client.put("INBOX", kept)
    host.wait_for(kept, "moved INBOX Maybe")
    until(lambda: is_known(host, moved), "the service to see it")
    client.move(moved, "Archive", "Lists")
    until(lambda: len(choices(host)) == 2, "the move to be understood")
    assert choices(host)[0] == ("newsletters", "friend2@book.example")
    following = letter("From: friend2@book.example")
    client.put("INBOX", following)
    host.wait_for(following, "moved INBOX Lists")
