"""The whole loop with nothing simulated: a real Maildir, the real service, real signals."""

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from tests.patience import until
from tests.service.conftest import Site


def test_judged_moved_corrected_learned(site: Site) -> None:
    """Spam moves to Junk and ham stays; what a person moves is learned, and not moved again."""
    site.teach()
    site.start()
    ham, spam = site.deliver(message("ham", 900)), site.deliver(message("spam", 900))
    until(lambda: spam in site.contents("Junk"), "spam moved")
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    assert site.contents("INBOX") == [ham]
    assert site.label(spam) is None, "the filter does not learn from its own verdict"

    site.move(spam, "Junk", "INBOX", "RS")
    until(lambda: site.label(spam) == 0, "the correction learned")
    site.move(ham, "INBOX", "Junk", "")
    until(lambda: site.label(ham) == 1, "the missed spam learned")

    assert site.end() == 0
    assert site.once() == 0
    assert site.contents("INBOX") == [spam]
    assert site.contents("Junk") == [ham]
    assert site.faults() == []


def test_move_keeps_flags_name_and_time(site: Site) -> None:
    """A moved message keeps its base name, its place in new/, its mode and its time."""
    site.teach()
    site.start()
    path = Path(site.folders["INBOX"].subdir("tmp")) / "1700000000.M1P2.host,S=321"
    path.write_bytes(message("spam", 901))
    path.chmod(0o640)
    os.utime(path, ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))
    path.rename(site.root / "new" / path.name)
    moved = Path(site.folders["Junk"].subdir("new")) / path.name
    until(moved.exists, "spam moved")
    assert moved.stat().st_mtime_ns == 1_600_000_000_123_456_789
    assert moved.stat().st_mode & 0o777 == 0o640


def test_killed_in_the_midst_of_bursts(site: Site) -> None:
    """Killed many times at random points of a burst, the service ends with each message in its place exactly once."""
    deaths, burst = int(os.environ.get("SPAMNB_TEST_DEATHS", "10")), 8
    seed = int(os.environ.get("SPAMNB_TEST_SEED") or time.time_ns())
    sys.stdout.write(f"to have the same bursts again: SPAMNB_TEST_SEED={seed}\n")  # pytest shows it after a failure
    choose = random.Random(seed)
    site.teach()
    site.start()
    delivered: list[bytes] = []
    number = 1000
    for _ in range(deaths):
        for _ in range(burst):
            kind = "spam" if choose.random() < 0.6 else "ham"
            delivered.append(site.deliver(message(kind, number)))
            number += 1
        time.sleep(choose.random() * 0.12)  # the point of death, not a wait for something to happen
        assert site.end(signal.SIGKILL) == -signal.SIGKILL
        assert site.everything() == sorted(delivered), "at the moment of death"
        site.start()
    site.end()
    assert site.once() == 0
    assert site.everything() == sorted(delivered)
    assert site.faults() == []
    assert {content.split(b"Message-ID: <")[1][:4] for content in site.contents("Junk")} == {b"spam"}
    assert not [content for content in site.contents("INBOX") if b"Message-ID: <spam" in content], "each spam was moved"


def test_mail_from_before_the_start_is_never_moved(site: Site) -> None:
    """Mail that lay in the mailbox before the first start stays, and teaches nothing."""
    site.teach()
    old = site.deliver(message("spam", 902))
    in_junk = site.deliver(message("ham", 902), "Junk")
    site.start()
    new = site.deliver(message("spam", 903))
    until(lambda: new in site.contents("Junk"), "new spam moved")
    assert site.contents("INBOX") == [old]
    assert site.label(old) is None
    assert site.label(in_junk) is None


def test_what_was_done_while_the_service_was_down(site: Site) -> None:
    """Mail delivered and moved while the service is down is judged and learned at the next start."""
    site.teach()
    site.start()
    spam = site.deliver(message("spam", 904))
    until(lambda: spam in site.contents("Junk"), "spam moved")
    site.end()
    late = site.deliver(message("spam", 905))
    site.move(spam, "Junk", "Archive")
    site.start()
    until(lambda: late in site.contents("Junk"), "the spam delivered meanwhile moved")
    until(lambda: site.label(spam) == 0, "the correction made meanwhile learned")
    assert site.contents("Archive") == [spam]


def test_training_folders(site: Site) -> None:
    """Mail put into a training folder is learned, then moved on to spam or inbox, without being judged there."""
    site.teach()
    site.start()
    ham = site.deliver(message("spam", 906), "TrainHam")
    spam = site.deliver(message("ham", 906), "TrainSpam")
    until(lambda: ham in site.contents("INBOX") and spam in site.contents("Junk"), "both moved on")
    until(lambda: site.label(ham) == 0 and site.label(spam) == 1, "both learned")
    until(lambda: site.faults() == [], "the moves ticked off")


def test_move_to_neutral_says_nothing(site: Site) -> None:
    """A message moved to Trash is neither learned nor judged, from wherever it came."""
    site.teach()
    site.start()
    spam = site.deliver(message("spam", 907))
    until(lambda: spam in site.contents("Junk"), "spam moved")
    site.move(spam, "Junk", "Trash")
    marker = site.deliver(message("spam", 908), "TrainSpam")
    until(lambda: site.label(marker) == 1, "a later event handled")
    assert site.label(spam) is None
    assert spam in site.contents("Trash")


def test_change_of_mind_teaches_nothing(site: Site) -> None:
    """A message that goes to Junk and back within the dwell teaches nothing."""
    site.configure(dwell=2.0)
    site.teach()
    site.start()
    ham = site.deliver(message("ham", 909))
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    site.move(ham, "INBOX", "Junk")
    site.move(ham, "Junk", "INBOX")
    site.end()
    assert site.once() == 0  # waits for the dwell of what it finds
    assert site.label(ham) is None


def test_copy_then_delete_is_one_move(site: Site) -> None:
    """A client that copies, marks the original as deleted and expunges later has moved the message once."""
    site.teach()
    site.start()
    spam = site.deliver(message("spam", 910))
    # Not before the move has ended: it gives a file back that gets a second name during the move.
    until(lambda: spam in site.contents("Junk") and "spam 1.0000" in site.log(), "spam moved")
    original = site.path_of("Junk", spam)
    copy = site.root / "cur" / f"{next(site.bases)}:2,S"
    os.link(original, copy)
    deleted = Path(site.folders["Junk"].subdir("cur")) / f"{original.name}:2,ST"
    original.rename(deleted)
    until(lambda: site.label(spam) == 0, "the move learned")
    deleted.unlink()
    site.end()
    assert site.once() == 0
    assert copy.exists()
    assert site.contents("Junk") == []


def test_second_copy_of_one_message_is_judged_where_it_lies(site: Site) -> None:
    """A list's copy and a direct copy are two files of one message: both are moved, and nothing is learned."""
    site.teach()
    site.start()
    content = message("spam", 911)
    first = site.deliver(b"Received: from list.example by home.example; x\n" + content)
    until(lambda: first in site.contents("Junk"), "the first copy moved")
    second = site.deliver(b"Received: from direct.example by home.example; y\n" + content)
    until(lambda: second in site.contents("Junk"), "the second copy moved")
    assert site.label(content) is None


def test_nothing_is_moved_before_enough_was_learned(site: Site) -> None:
    """Until each class has 20 learned messages, the service judges and records, but moves nothing."""
    site.teach(19)
    site.start()
    spam = site.deliver(message("spam", 912))
    until(lambda: "nothing is moved yet" in site.log(), "spam judged")
    assert site.contents("INBOX") == [spam]


def test_read_and_kept_mail_is_learned_as_ham(site: Site) -> None:
    """A message that is answered, or read and kept for the days of the configuration, is learned as ham."""
    site.configure("learning:\n  dwell_seconds: 0.1\n  kept_days: 0\nservice:\n  reconcile_seconds: 1\n")
    site.teach()
    site.start()
    ham = site.deliver(message("ham", 913))
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    assert site.label(ham) is None
    path = site.path_of("INBOX", ham)
    path.rename(site.root / "cur" / f"{path.name}:2,S")
    until(lambda: site.label(ham) == 0, "kept mail learned")


def test_read_mail_is_not_moved(site: Site) -> None:
    """A message that a person has read before the filter saw it stays in its place."""
    site.teach()
    site.start()
    spam = message("spam", 914)
    (site.root / "tmp" / "x").write_bytes(spam)
    (site.root / "tmp" / "x").rename(site.root / "cur" / "1700000001.M1P1.host:2,S")
    until(lambda: "has read or marked it" in site.log(), "judged")
    assert site.contents("INBOX") == [spam]


@pytest.mark.parametrize("more", ["service:\n  watch: polling\n  poll_seconds: 1\n", ""])
def test_fs_layout_and_polling(tmp_path: Path, more: str) -> None:
    """The fs layout, with and without events, is served like Maildir++."""
    site = Site(tmp_path, "fs")
    site.configure(more)
    try:
        site.teach()
        site.start()
        spam = site.deliver(message("spam", 915))
        until(lambda: spam in site.contents("Junk"), "spam moved")
        site.move(spam, "Junk", "INBOX")
        until(lambda: site.label(spam) == 0, "correction learned")
        assert ("polling 6 folders" in site.log()) == bool(more)
    finally:
        site.end()


def test_client_keywords_are_labels(site: Site) -> None:
    """A client that sets $Junk on a message in the inbox calls it spam."""
    site.teach()
    (site.root / "dovecot-keywords").write_text("0 $Junk\n1 $NotJunk\n")
    site.start()
    ham = site.deliver(message("ham", 916))
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    path = site.path_of("INBOX", ham)
    path.rename(site.root / "cur" / f"{path.name}:2,Sa")
    until(lambda: site.label(ham) == 1, "the keyword learned")


@pytest.mark.parametrize("more", ["service:\n  watch: polling\n  poll_seconds: 1\n", ""])
def test_keyword_that_gets_its_meaning_later(site: Site, more: str) -> None:
    """A keyword counts even if the mail server writes down its name only after it marked the file."""
    site.configure(more)
    site.teach()
    site.start()
    ham = site.deliver(message("ham", 918))
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    path = site.path_of("INBOX", ham)
    path.rename(site.root / "cur" / f"{path.name}:2,Sa")
    marker = site.deliver(message("spam", 918))
    until(lambda: marker in site.contents("Junk"), "a later event handled")
    assert site.label(ham) is None
    (site.root / "dovecot-keywords.lock").write_text("0 $Junk\n")
    (site.root / "dovecot-keywords.lock").rename(site.root / "dovecot-keywords")
    until(lambda: site.label(ham) == 1, "the keyword learned")


def test_keyword_without_a_meaning_yet_is_moved_along(site: Site) -> None:
    """A message with a keyword whose name is written down within the dwell keeps that keyword when it is moved."""
    site.configure(dwell=2.0)
    site.teach()
    (Path(site.folders["Junk"].path) / "dovecot-keywords").write_text("0 other\n1 $Forwarded\n")
    site.start()
    spam = message("spam", 919)
    (site.root / "tmp" / "x").write_bytes(spam)
    (site.root / "tmp" / "x").rename(site.root / "cur" / "1700000001.M1P1.host:2,a")
    marker = site.deliver(message("spam", 924))
    until(lambda: marker in site.contents("Junk"), "a later event handled")
    (site.root / "dovecot-keywords").write_text("0 $Forwarded\n")
    until(lambda: spam in site.contents("Junk"), "spam moved")
    assert site.path_of("Junk", spam).name == "1700000001.M1P1.host:2,b"


def test_new_folder_is_watched(site: Site) -> None:
    """Mail moved into a folder that did not exist at the start is learned as ham."""
    from spamnb.maildir.folders import create_folder

    site.teach()
    site.start()
    ham = site.deliver(message("ham", 917))
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    site.folders["Projects/Überblick"] = create_folder(str(site.root), "maildir++", "Projects/Überblick")
    site.move(ham, "INBOX", "Projects/Überblick")
    until(lambda: site.label(ham) == 0, "the filed message learned")
