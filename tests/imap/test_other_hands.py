"""Hands that are quicker than a person's: client-side rules, bursts, and delivery agents."""

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from spamnb.identity.digests import identity
from tests.imap.conftest import Client, Host, new_mail
from tests.patience import until


def everywhere(host: Host) -> Counter[bytes]:
    """How many files each message has."""
    return Counter(identity(content) for content in host.everything())


def unique_uids(client: Client, host: Host) -> bool:
    """Whether each file has a UID of its own that Dovecot knows."""
    return all(len(set(uids := client.uids(name))) == len(uids) == len(host.contents(name)) for name in host.folders)


def test_client_takes_what_the_filter_takes(host: Host, client: Client) -> None:
    """If a client moves or marks a message that the filter is about to move, it is in one place, once.

    Dovecot moves by a link, and removes the old name later. If the filter's rename falls between the two, Dovecot takes
    the old name for removed, and the filter gives it back: both links stay. Nothing but a lock that Dovecot does not
    take could prevent this.
    """
    choose = random.Random(9051)
    spam = [new_mail("spam") for _ in range(40)]
    client.go("INBOX")
    mover = host.client()
    mover.go("INBOX")
    for content in spam:
        client.put("INBOX", content)
        time.sleep(choose.random() * 0.015)  # the point of the race, not a wait for something to happen
        mover.noop()
        if choose.random() < 0.7:
            mover.uid("MOVE", "1:*", mover.wire("Archive"))
        else:
            mover.uid("STORE", "1:*", "+FLAGS", "(\\Seen todo)")
    host.settle(client)
    until(lambda: sum(everywhere(host).values()) >= len(spam) + 1, "all mail to lie somewhere")
    assert unique_uids(client, host)
    places = [sorted(host.where(content)) for content in spam]
    twice = [where for where in places if len(where) != 1]
    assert twice in ([], [["Archive", "INBOX"]], [["Archive", "Junk"]])
    assert {name for where in places for name in where} <= {"Archive", "Junk", "INBOX"}


def test_burst_while_a_client_moves(host: Host, client: Client) -> None:
    """500 messages appended while a client files and throws away: none is lost or doubled, and no spam stays."""
    choose, stop, moved = random.Random(500), [], []
    number = 500 if host.layout == "maildir++" else 100  # the layouts differ in paths alone
    burst = [new_mail(choose.choice(("ham", "spam"))) for _ in range(number)]
    host.end()
    host.configure("breaker: false")  # what the client takes away is not judged: nearly all that is may be spam
    host.start()
    other = host.client()

    def meddle() -> None:
        other.go("INBOX")
        while not stop:
            other.noop()
            found = str(other.must(other.uid("SEARCH", "FROM friends.example UNDELETED"))[0], "ascii").split()
            for uid in found[:3]:
                if other.uid("MOVE", uid, other.wire(choose.choice(("Archive", "Trash", "Junk"))))[0] == "OK":
                    moved.append(uid)

    with ThreadPoolExecutor(1) as beside:
        meddling = beside.submit(meddle)
        try:
            for content in burst:
                client.put("INBOX", content)
            until(lambda: moved or meddling.done(), "the client to move a message")
        finally:
            stop.append(True)
        meddling.result()
    host.settle(client)
    until(lambda: not any(b"Message-ID: <spam" in content for content in host.contents("INBOX")), "all spam moved")
    assert set(everywhere(host).values()) == {1}
    assert sum(everywhere(host).values()) == len(burst) + 1
    assert unique_uids(client, host)
