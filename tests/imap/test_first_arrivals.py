"""Rules of learning with a real server: Sieve, MOVE, COPY with and without hard links, and mbsync."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.messages import scan
from spamnb.rules.reactions import COPY_SECONDS
from tests.imap.conftest import LAYOUTS, Client, Host, new_mail
from tests.imap.dovecot import SIEVE_AT_DELIVERY
from tests.imap.test_mbsync import lies_in, paired, sites, take
from tests.patience import until
from tests.service.conftest import Site

__all__ = ["sites"]  # the fixture

_RULES = """
require ["fileinto", "imap4flags", "copy", "envelope", "subaddress"];
if envelope :detail "to" "TrainHam" { fileinto "TrainHam"; stop; }
if header :is "x-rule" "junk" { fileinto "Junk"; }
if header :is "x-rule" "read junk" { setflag "\\\\Seen"; fileinto "Junk"; }
if header :is "x-rule" "copy" { fileinto :copy "Junk"; }
if header :is "x-rule" "archive" { setflag "\\\\Seen"; fileinto "Archive"; }
"""
_WITHOUT_LINKS = "maildir_copy_with_hardlinks = no"
DECIDED, WEAK = False, True


def lesson(site: Site, content: bytes) -> tuple[str | None, bool]:
    """Return the label of a message, and whether it is weak."""
    with Ledger(str(site.ledger)) as ledger:
        known = ledger.messages.find(identity(content))
    if known is None or known.label is None:
        return None, False
    return ("ham", "spam")[known.label], bool(known.weak)


def wait_for_lesson(site: Site, content: bytes, *wanted: object) -> None:
    """Wait until a message has this label."""
    until(lambda: lesson(site, content) == wanted, lambda: f"{wanted}, it is {known_of(site, content)}: {site.log()}")


def known_of(site: Site, content: bytes) -> str:
    """Return the label of a message, the recorded places of its files, and the content of the Maildir."""
    with Ledger(str(site.ledger)) as ledger:
        known = ledger.messages.find(identity(content))
        places = [] if known is None else ledger.locations.of_message(known.id)
    listing = subprocess.run(["ls", "-lARi", "--time-style=full-iso", str(site.root)], capture_output=True, check=False)
    return "\n".join(map(str, [lesson(site, content), *places, listing.stdout.decode()]))


def with_rules(host: Host, **learning: object) -> Host:
    """Anna's rules run at delivery, and she has a folder for training ham. Starts the service."""
    if not Path("/usr/lib/dovecot/modules/lib90_sieve_plugin.so").exists():
        pytest.skip("needs Sieve (Debian: dovecot-sieve)")
    rules = host.directory / ".dovecot.sieve"
    rules.write_text(_RULES)
    host.own(rules)
    client = host.client()
    client.must(client.create("TrainHam"))
    host.roles["TrainHam"] = Role.TRAIN_HAM
    host.look_again()
    settings = {"dwell_seconds": 0.4, **learning}
    host.configure("learning: {" + ", ".join(f"{key}: {value}" for key, value in settings.items()) + "}")
    host.start()
    return host


def deliver(host: Host, content: bytes, rule: str = "", to: str = "anna@home.example") -> bytes:
    """dovecot-lda, with a header field that a rule looks for; what was delivered."""
    content = b"X-Rule: %s\n" % rule.encode() + content
    assert host.by_lda(content, "-a", to, "-r", to) == b""
    return content


@pytest.fixture(params=LAYOUTS)
def sieve_host(request: pytest.FixtureRequest, make_host: Callable[..., Host]) -> Host:
    """Anna's home with Sieve, once with Maildir++ and once with LAYOUT=fs."""
    return make_host(request.param, more=SIEVE_AT_DELIVERY)


def test_what_sieve_files(sieve_host: Host) -> None:
    """Mail that Sieve files into Junk, read, unread or copied, is learned weakly; elsewhere it teaches nothing."""
    host = with_rules(sieve_host)
    filed = {rule: deliver(host, new_mail("ham"), rule) for rule in ("junk", "read junk", "copy", "archive", "")}
    for rule in ("junk", "read junk", "copy"):
        wait_for_lesson(host, filed[rule], "spam", WEAK)
    host.wait_until_judged(filed["copy"], filed[""])
    host.settle(host.client())
    assert lesson(host, filed["archive"]) == lesson(host, filed[""]) == (None, False)
    assert sorted(host.where(filed["copy"])) == ["INBOX", "Junk"]
    assert len(re.findall("learned weakly as spam, first seen in a spam folder", host.log())) == 3


def test_what_sieve_files_is_not_trusted(sieve_host: Host) -> None:
    """Without trust in deliveries Sieve teaches nothing; a person's move is still a decision."""
    host = with_rules(sieve_host, trust_delivery=False)
    client = host.client()
    filed, moved = deliver(host, new_mail("ham"), "read junk"), deliver(host, new_mail("ham"))
    train = deliver(host, new_mail("spam"), to="anna+TrainHam@home.example")
    host.wait_until_judged(moved)
    client.move(moved, "INBOX", "Junk")
    wait_for_lesson(host, moved, "spam", DECIDED)
    until(lambda: host.log().count("first seen there, and learning.trust_delivery is false") == 2, "both said")
    assert lesson(host, filed) == lesson(host, train) == (None, False)
    assert host.where(train) == ["TrainHam"]
    client.move(train, "TrainHam", "Trash")
    host.settle(client)
    client.move(train, "Trash", "TrainHam")
    wait_for_lesson(host, train, "ham", DECIDED)
    until(lambda: host.where(train) == ["INBOX"], "it to be moved on")


def test_detail_of_an_address_trains(sieve_host: Host) -> None:
    """By default what a server files by the detail of an address into a training folder is learned, and moved on."""
    host = with_rules(sieve_host)
    train = deliver(host, new_mail("spam"), to="anna+TrainHam@home.example")
    wait_for_lesson(host, train, "ham", DECIDED)
    until(lambda: host.where(train) == ["INBOX"], "it to be moved on")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("links", [True, False])
def test_decisions_of_clients(make_host: Callable[..., Host], layout: str, links: bool) -> None:
    """MOVE of an unread message, and COPY with STORE \\Deleted, from the inbox to Junk are decisions, linked or not."""
    host = make_host(layout, more="" if links else _WITHOUT_LINKS)
    host.start()
    client, moved, copied = host.client(), new_mail("ham"), new_mail("ham")
    for content in (moved, copied):
        client.put("INBOX", content)
    host.wait_until_judged(moved, copied)
    client.move(moved, "INBOX", "Junk")
    client.copy_over(copied, "INBOX", "Junk")
    client.mark(copied, "INBOX", "\\Deleted")
    wait_for_lesson(host, moved, "spam", DECIDED)
    wait_for_lesson(host, copied, "spam", DECIDED)


def path_of(host: Host, folder: str, content: bytes) -> Path:
    """The file of a message, which IMAP carries with other line ends."""
    found = [Path(entry.path(host.folders[folder])) for entry in scan(host.folders[folder])]
    return next(path for path in found if identity(path.read_bytes()) == identity(content))


def spam_in_junk_for_a_minute(host: Host, client: Client) -> bytes:
    """Spam that the filter has put into Junk, by the ledger a minute ago; the service runs."""
    host.configure("service: {reconcile_seconds: 1}")
    host.start()
    client.put("INBOX", spam := new_mail("spam"))
    host.wait_for(spam, "moved INBOX Junk")
    host.end()
    with Ledger(str(host.ledger)) as ledger:
        ledger.locations._db.execute("UPDATE file SET since = since - ?", (2 * COPY_SECONDS,))
    host.start()
    return spam


@pytest.mark.parametrize("folder", ["INBOX", "Archive"])
def test_a_rescue_by_copy_that_links(make_host: Callable[..., Host], folder: str) -> None:
    """COPY out of Junk, which Dovecot makes by a hard link, is a decision for ham, though the original stays."""
    host = make_host()
    host.start()
    client = host.client()
    client.put("INBOX", spam := new_mail("spam"))
    host.wait_for(spam, "moved INBOX Junk")
    client.copy_over(spam, "Junk", folder)
    assert os.path.samefile(path_of(host, "Junk", spam), path_of(host, folder, spam))
    wait_for_lesson(host, spam, "ham", DECIDED)
    host.settle(client)
    assert sorted(host.where(spam)) == sorted(["Junk", folder])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_rule_of_a_client_that_copies(make_host: Callable[..., Host], layout: str) -> None:
    """Mail that a mail program's rule copies to the archive before the filter sees it is learned nowhere."""
    host = make_host(layout)
    host.start()
    client = host.client()
    host.settle(client)
    host.end()
    spam, ham = new_mail("spam"), new_mail("ham")
    for content in (spam, ham):
        client.put("INBOX", content)
        client.copy_over(content, "INBOX", "Archive")
        assert os.path.samefile(path_of(host, "INBOX", content), path_of(host, "Archive", content))
    host.start()
    host.wait_for(spam, "moved INBOX Junk")
    host.wait_until_judged(ham)
    host.settle(client)
    assert lesson(host, spam) == lesson(host, ham) == (None, False)
    assert (sorted(host.where(spam)), sorted(host.where(ham))) == (["Archive", "Junk"], ["Archive", "INBOX"])


def test_a_copy_that_links_long_after(make_host: Callable[..., Host]) -> None:
    """COPY from the inbox to the archive by a hard link is a decision if the message came long before."""
    host = make_host()
    client = host.client()
    host.start()
    client.put("INBOX", ham := new_mail("ham"))
    host.wait_until_judged(ham)
    host.end()
    with Ledger(str(host.ledger)) as ledger:
        ledger.locations._db.execute("UPDATE file SET since = since - ?", (2 * COPY_SECONDS,))
    host.start()
    client.copy_over(ham, "INBOX", "Archive")
    assert os.path.samefile(path_of(host, "INBOX", ham), path_of(host, "Archive", ham))
    wait_for_lesson(host, ham, "ham", DECIDED)


@pytest.mark.parametrize("how", ["marked", "expunged", "moved"])
def test_a_rescue_by_copy_waits_for_the_original(make_host: Callable[..., Host], how: str, tmp_path: Path) -> None:
    """A copy out of Junk that is a file of its own waits, restarts too, and is ham once the original goes."""
    host = make_host(more=_WITHOUT_LINKS)
    client = host.client()
    spam = spam_in_junk_for_a_minute(host, client)
    client.copy_over(spam, "Junk", "INBOX")
    until(lambda: "the same delivery is in spam" in host.log(), "it to wait")
    host.end()
    host.start()
    host.settle(client)
    assert lesson(host, spam) == (None, False)
    assert sorted(host.where(spam)) == ["INBOX", "Junk"]
    if how == "moved":
        client.move(spam, "Junk", "Trash")
    else:
        client.mark(spam, "Junk", "\\Deleted")
        if how == "expunged":
            client.must(client.expunge())
    wait_for_lesson(host, spam, "ham", DECIDED)
    assert "INBOX" in host.where(spam)


def test_the_same_bytes_delivered_twice(make_host: Callable[..., Host]) -> None:
    """A second delivery of the same bytes, while the first is in Junk, is not judged, moved or learned."""
    host = make_host()
    client = host.client()
    spam = spam_in_junk_for_a_minute(host, client)
    client.put("INBOX", spam)
    until(lambda: "the same delivery is in spam" in host.log(), "it to wait")
    host.settle(client)
    assert host.story(spam) == ["moved INBOX Junk"]
    assert sorted(host.where(spam)) == ["INBOX", "Junk"]


@pytest.mark.skipif(shutil.which("mbsync") is None, reason="needs mbsync (Debian: isync)")
@pytest.mark.parametrize(("near_layout", "far_layout"), [LAYOUTS, LAYOUTS[::-1]])
def test_mbsync_brings_what_was_moved_elsewhere(
    sites: Callable[[str, str], tuple[Site, Site]],
    near_layout: str,
    far_layout: str,
) -> None:
    """Mail in Junk before the first synchronisation is weakly spam; later moves by mbsync are decisions."""
    near, far = sites(near_layout, far_layout)
    pair = paired(near, near_layout, far, far_layout)
    near.start()
    on_the_phone, later, rescued = (message("ham", 2100 + number) for number in range(3))
    for content in (on_the_phone, later, rescued):
        far.deliver(content)
    take(far, on_the_phone, "INBOX", "Junk", "S")
    take(far, rescued, "INBOX", "Junk", "")
    pair.sync()
    for content in (on_the_phone, rescued):
        wait_for_lesson(near, content, "spam", WEAK)
    near.wait_until_judged(later)
    take(far, later, "INBOX", "Junk", "S")
    take(far, rescued, "Junk", "INBOX", "S")
    pair.sync()
    wait_for_lesson(near, later, "spam", DECIDED)
    wait_for_lesson(near, rescued, "ham", DECIDED)
    for content, folder in ((on_the_phone, "Junk"), (later, "Junk"), (rescued, "INBOX")):
        assert lies_in(near, content) == [folder]
