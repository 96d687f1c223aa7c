"""A person at a mail program, Dovecot below it, and the filter over the same Maildir.

Most tests share one home: each looks only at its own messages.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import encode
from spamnb.maildir.names import parse_name
from tests.imap.conftest import ABROAD, LAYOUTS, Client, Host, as_sent, hosts, new_mail
from tests.imap.dovecot import BOTH, Dovecot
from tests.lessons import learn, sample_lessons
from tests.patience import until

_LESSONS = 400  # so many that the few of all tests change no verdict


@pytest.fixture(scope="module", params=LAYOUTS)
def host(request: pytest.FixtureRequest, taught: Path, dovecot: Dovecot) -> Iterator[Host]:
    """Anna's home for all tests that take it, once with Maildir++ and once with LAYOUT=fs."""
    with hosts(taught, dovecot) as make:
        host = make(request.param, knows=False)
        with Ledger(str(host.ledger)) as ledger:
            learn(ledger, sample_lessons(_LESSONS))
        host.configure("breaker: false  # so many tests move much spam\n")
        host.start()
        yield host


@pytest.fixture
def client(host: Host) -> Iterator[Client]:
    """A session of anna's mail program; all her sessions end with the test."""
    yield host.client()
    host.log_out()


def _counts(client: Client, folder: str) -> tuple[int, int]:
    """How many messages are in a folder, and how many of them are unread."""
    (told,) = client.must(client.status(folder, "(MESSAGES UNSEEN)"))
    found = re.search(rb"MESSAGES (\d+) UNSEEN (\d+)", told)
    assert found
    return int(found[1]), int(found[2])


def test_new_mail_is_judged_and_moved(host: Host, client: Client) -> None:
    """Mail that is appended to the inbox is judged: spam is in Junk at once for every session, ham stays."""
    ham, spam = new_mail("ham"), new_mail("spam")
    before = {folder: _counts(client, folder) for folder in ("INBOX", "Junk")}
    client.put("INBOX", ham)
    client.put("INBOX", spam)
    host.wait_for(spam, "moved INBOX Junk")
    host.wait_until_judged(ham)
    for folder, (messages, unseen) in before.items():
        assert _counts(client, folder) == (messages + 1, unseen + 1)
    assert len(client.uids("Junk", spam)) == 1
    assert client.uids("INBOX", spam) == []
    assert len(client.uids("INBOX", ham)) == 1
    assert host.story(ham) == []


def test_moved_mail_is_as_it_was(host: Host, client: Client) -> None:
    """A moved message keeps its body, its sizes and its internal date, and stays unread."""
    spam, day = new_mail("spam"), 1_600_000_000.0
    client.put("INBOX", spam, at=day)
    host.wait_for(spam, "moved INBOX Junk")
    seen = client.look_at(spam, "Junk")
    assert seen["body"] == as_sent(spam)
    assert seen["size"] == len(as_sent(spam))
    assert seen["date"] == day
    assert seen["flags"] - {"\\Recent"} == set()
    name = parse_name(host.path_of("Junk", spam).name).base
    assert name.endswith(f",S={len(spam)},W={len(as_sent(spam))}")


def test_idle_sessions_see_the_move(host: Host, client: Client) -> None:
    """Sessions in IDLE get EXPUNGE in the inbox and EXISTS in Junk when the filter moves a message."""
    host.end()
    other, spam = host.client(), new_mail("spam")
    client.put("INBOX", spam)
    with client.idling("INBOX") as told_in_inbox, other.idling("Junk") as told_in_junk:
        host.start()
        told_in_junk(" EXISTS")
        told_in_inbox(" EXPUNGE")
    assert client.uids("INBOX", spam) == []
    assert len(other.uids("Junk", spam)) == 1


@BOTH
def test_person_calls_ham(host: Host, client: Client) -> None:
    """A message moved out of Junk is learned as ham, once, and never moved again, whatever is done to it later."""
    spam = new_mail("spam")
    client.put("INBOX", spam)
    host.wait_for(spam, "moved INBOX Junk")
    client.move(spam, "Junk", "INBOX")
    host.wait_for(spam, "moved INBOX Junk", "learned ham")
    client.mark(spam, "INBOX", "\\Seen \\Flagged")
    client.move(spam, "INBOX", "Archive")
    client.move(spam, "Archive", "INBOX")
    host.settle(client)
    assert host.story(spam) == ["moved INBOX Junk", "learned ham"]
    assert host.where(spam) == ["INBOX"]
    assert client.look_at(spam, "INBOX")["flags"] >= {"\\Seen", "\\Flagged"}


@BOTH
def test_person_calls_spam(host: Host, client: Client) -> None:
    """A message moved to Junk is learned as spam, once."""
    ham = new_mail("ham")
    client.put("INBOX", ham)
    host.wait_until_judged(ham)
    client.move(ham, "INBOX", "Junk")
    host.wait_for(ham, "learned spam")
    client.mark(ham, "Junk", "\\Seen")
    host.settle(client)
    assert host.story(ham) == ["learned spam"]


def test_filed_and_thrown_away(host: Host, client: Client) -> None:
    """Mail filed from the inbox is learned as ham, also in a folder with a foreign name; Trash teaches nothing."""
    filed, abroad, thrown, spam = (new_mail(kind) for kind in ("ham", "ham", "ham", "spam"))
    for content in (filed, abroad, thrown, spam):
        client.put("INBOX", content)
    host.wait_until_judged(filed, abroad, thrown)
    host.wait_for(spam, "moved INBOX Junk")
    client.move(filed, "INBOX", "Archive")
    client.move(abroad, "INBOX", ABROAD)
    client.move(thrown, "INBOX", "Trash")
    client.move(spam, "Junk", "Trash")
    host.wait_for(filed, "learned ham")
    host.wait_for(abroad, "learned ham")
    host.settle(client)
    assert host.story(thrown) == []
    assert host.story(spam) == ["moved INBOX Junk"]
    assert encode(ABROAD.split("/")[1]) in host.folders[ABROAD].path, "the name is modified UTF-7 on disk"


def test_copy_mark_and_expunge_is_one_move(host: Host, client: Client) -> None:
    """COPY, STORE \\Deleted and a later EXPUNGE are one move, and one lesson."""
    ham, spam = new_mail("ham"), new_mail("spam")
    client.put("INBOX", ham)
    client.put("INBOX", spam)
    host.wait_until_judged(ham)
    host.wait_for(spam, "moved INBOX Junk")
    for content, source, destination in ((ham, "INBOX", "Junk"), (spam, "Junk", "INBOX")):
        client.copy_over(content, source, destination)
        client.mark(content, source, "\\Deleted")
    host.wait_for(ham, "learned spam")
    host.wait_for(spam, "moved INBOX Junk", "learned ham")
    for source in ("INBOX", "Junk"):
        client.go(source)
        client.must(client.expunge())
    host.settle(client)
    assert host.where(ham) == ["Junk"]
    assert host.where(spam) == ["INBOX"]
    assert (host.story(ham), host.story(spam)) == (["learned spam"], ["moved INBOX Junk", "learned ham"])


def test_copy_out_of_junk_that_is_expunged_late(host: Host, client: Client) -> None:
    """A copy out of Junk is a word for ham, though its original is expunged only when the mail program ends."""
    spam = new_mail("spam")
    client.put("INBOX", spam)
    host.wait_for(spam, "moved INBOX Junk")
    client.copy_over(spam, "Junk", "INBOX")
    host.wait_for(spam, "moved INBOX Junk", "learned ham")
    client.mark(spam, "Junk", "\\Deleted")
    client.must(client.expunge())
    host.settle(client)
    assert host.where(spam) == ["INBOX"]
    assert host.story(spam) == ["moved INBOX Junk", "learned ham"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_names_in_utf_8_and_copies_without_links(make_host: Callable[..., Host], layout: str) -> None:
    """Folder names in plain UTF-8 on disk, and copies that are files of their own, are understood like the others."""
    host = make_host(layout, utf8=True, more="maildir_copy_with_hardlinks = no")
    assert host.folders[ABROAD].path.endswith("Übersicht")
    host.start()
    client = host.client()
    ham, spam = new_mail("ham"), new_mail("spam")
    client.put("INBOX", ham)
    client.put("INBOX", spam)
    host.wait_until_judged(ham)
    host.wait_for(spam, "moved INBOX Junk")
    for content, source in ((ham, "INBOX"), (spam, "Junk")):
        client.copy_over(content, source, ABROAD)
        client.mark(content, source, "\\Deleted")
        client.must(client.expunge())
    host.wait_for(ham, "learned ham")
    host.wait_for(spam, "moved INBOX Junk", "learned ham")
    assert host.where(ham) == host.where(spam) == [ABROAD]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_change_of_mind(make_host: Callable[..., Host], layout: str) -> None:
    """A message that goes to Junk and back within the dwell teaches nothing."""
    host = make_host(layout)
    host.configure(dwell=2.0)
    host.start()
    client, ham = host.client(), new_mail("ham")
    client.put("INBOX", ham)
    host.wait_until_judged(ham)
    client.move(ham, "INBOX", "Junk")
    client.move(ham, "Junk", "INBOX")
    host.settle(client)
    assert host.story(ham) == []
    assert host.where(ham) == ["INBOX"]


def test_keywords_are_labels(host: Host, client: Client) -> None:
    """$Junk and Junk on a message in the inbox say spam, $NotJunk and NonJunk say ham: each is learned once.

    What is marked as spam goes to Junk.
    """
    said = {"$Junk": "spam", "Junk": "spam", "$NotJunk": "ham", "NonJunk": "ham"}
    marked = {keyword: new_mail("ham") for keyword in said}
    for content in marked.values():
        client.put("INBOX", content)
    host.wait_until_judged(*marked.values())
    for keyword, content in marked.items():
        client.mark(content, "INBOX", keyword)
    for keyword, content in marked.items():
        host.wait_for(content, f"learned {said[keyword]}", *(["moved INBOX Junk"] if said[keyword] == "spam" else []))
    for keyword, content in marked.items():
        client.mark(content, "Junk" if said[keyword] == "spam" else "INBOX", "\\Seen")
    host.settle(client)
    for keyword, content in marked.items():
        assert [line for line in host.story(content) if "learned" in line] == [f"learned {said[keyword]}"]
        assert host.where(content) == ["Junk" if said[keyword] == "spam" else "INBOX"]


def test_a_junk_button_that_only_marks(host: Host, client: Client) -> None:
    """A mail program that sets $Junk, and later $NotJunk in its place, has the message moved there and back."""
    ham = new_mail("ham")
    client.put("INBOX", ham)
    host.wait_until_judged(ham)
    client.mark(ham, "INBOX", "$Junk")
    host.wait_for(ham, "learned spam", "moved INBOX Junk")
    client.must(client.uid("STORE", client.uid_of("Junk", ham), "-FLAGS", "($Junk)"))
    client.mark(ham, "Junk", "$NotJunk")
    host.wait_for(ham, "learned spam", "moved INBOX Junk", "learned ham", "moved Junk INBOX")
    assert client.look_at(ham, "INBOX")["flags"] - {"\\Recent"} == {"$NotJunk"}


@pytest.mark.parametrize("how", ["moves", "copies"])
def test_a_junk_button_that_marks_and_moves(host: Host, client: Client, how: str) -> None:
    """A mail program that sets $Junk, and then moves the message itself, finds it in Junk once."""
    ham = new_mail("ham")
    client.put("INBOX", ham)
    host.wait_until_judged(ham)
    client.mark(ham, "INBOX", "$Junk")
    if how == "moves":
        client.move(ham, "INBOX", "Junk")
    else:
        client.copy_over(ham, "INBOX", "Junk")
        client.mark(ham, "INBOX", "\\Deleted")
        client.go("INBOX")
        client.must(client.expunge())
    host.wait_for(ham, "learned spam")
    host.settle(client)
    assert (host.where(ham), host.story(ham)) == (["Junk"], ["learned spam"])


def test_keywords_move_by_name(host: Host, client: Client) -> None:
    """Keywords of a message that the filter moves are those of the same name in Junk; others are dropped."""
    old, spam = new_mail("ham"), new_mail("spam")
    client.put("Junk", old, "tomorrow $Forwarded")  # Junk has a list of its own, in another order
    client.put("INBOX", spam, "lost $Forwarded tomorrow")
    host.wait_for(spam, "moved INBOX Junk")
    assert client.look_at(spam, "Junk")["flags"] - {"\\Recent"} == {"$Forwarded", "tomorrow"}


def test_expunge_teaches_nothing(host: Host, client: Client) -> None:
    """Mail that is expunged from Junk or the inbox teaches nothing, and the ledger agrees with the folders."""
    ham, spam = new_mail("ham"), new_mail("spam")
    client.put("INBOX", ham)
    client.put("INBOX", spam)
    host.wait_until_judged(ham)
    host.wait_for(spam, "moved INBOX Junk")
    for folder, content in (("INBOX", ham), ("Junk", spam)):
        client.mark(content, folder, "\\Deleted")
        client.must(client.expunge())
    host.settle(client)
    assert (host.story(ham), host.story(spam)) == ([], ["moved INBOX Junk"])
    assert host.where(ham) + host.where(spam) == []
    until(lambda: host.spamnb("verify") == 0, "a ledger that agrees")


def test_undo(host: Host, client: Client) -> None:
    """A move that is undone brings the message back in an open session, and Dovecot finds nothing odd in that."""
    host.end()
    spam, watcher = new_mail("spam"), host.client()
    client.put("INBOX", spam)
    (known,) = watcher.uids("INBOX", spam)
    host.start()
    host.wait_for(spam, "moved INBOX Junk")
    watcher.must(watcher.noop())
    there = watcher.must(watcher.uid("SEARCH", "ALL"))[0].split()
    assert known.encode() not in there
    client.mark(spam, "Junk", "\\Flagged")
    digest = identity(spam).hex()
    (moved,) = [one for one in host.ask("history") if (one["kind"], one["digest"]) == ("moved", digest)]
    assert host.spamnb("undo", str(moved["id"])) == 0
    watcher.must(watcher.noop())
    flagged = watcher.must(watcher.uid("SEARCH", "FLAGGED"))[0].split()
    (back,) = [uid for uid in flagged if uid not in there]
    assert int(back) > int(known), "a UID is never used twice"
    assert client.uids("Junk", spam) == []
    host.settle(client)
    assert host.where(spam) == ["INBOX"]
