"""Learning the folders of a mailbox as they are, again and again."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from spamnb.acts.training import learn
from spamnb.base.errors import MaildirError
from spamnb.base.label import How, Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Mailbox
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.review import first_lessons
from spamnb.review.first_lessons import Sifted
from spamnb.service.awake_account import record_existing
from spamnb.setup.learn_folders import LearnedFolders, learn_folders
from tests.cli.conftest import maildir
from tests.setup.test_list_folders import over

_ROLES = {"INBOX": Role.INBOX, "Junk": Role.SPAM, "Sent": Role.SENT, "Lists": Role.NEUTRAL, "Trash": Role.NEUTRAL}
_LIST = "python.lists.example"


def _config(tmp_path: Path, **folders: list[bytes]) -> Config:
    root = maildir(tmp_path / "anna", **folders)
    return Config(mailboxes=(Mailbox(path=root, roles=_ROLES),), ledger=tmp_path / "ledger" / "ledger.sqlite")


def test_folders_are_learned_once(tmp_path: Path) -> None:
    """Ham and spam folders are learned, sent mail is not, and known messages are skipped the next time."""
    ham, spam, sent = ([message(kind, n) for n in range(3)] for kind in ("ham", "spam", "ham"))
    config = _config(tmp_path, INBOX=ham, Junk=spam[:2], Sent=sent)
    assert learn_folders(config) == LearnedFolders(3, 2, 0, [])
    assert learn_folders(config) == LearnedFolders(0, 0, 5, [])
    with Ledger(str(config.ledger)) as ledger:
        lessons = [ledger.lessons.find(read(content).digest) for content in (ham[0], spam[0])]
        assert [(lesson.decision, lesson.is_of_init) for lesson in lessons if lesson is not None] == [
            *((Label.HAM, True), (Label.SPAM, True))
        ]


def test_what_is_recorded_is_not_read_again(tmp_path: Path) -> None:
    """A file whose message is learned as its folder says is not even opened, once the mailbox is recorded."""
    config = _config(tmp_path, INBOX=[message("ham", n) for n in range(3)], Junk=[message("spam", 1)])
    learn_folders(config)
    record_existing(config)
    for file in (tmp_path / "anna").rglob("17*"):
        file.write_bytes(b"")  # empty files cannot be learned, and would be named
    assert learn_folders(config) == LearnedFolders(0, 0, 4, [])


def test_what_was_recorded_and_not_learned_is_learned(tmp_path: Path) -> None:
    """A mailbox that a service has recorded before can still be learned."""
    config = _config(tmp_path, INBOX=[message("ham", 1)], Junk=[message("spam", 1)])
    record_existing(config)
    assert learn_folders(config) == LearnedFolders(1, 1, 0, [])


def _judge(config: Config, verdicts: Mapping[bytes, str], decided: Mapping[bytes, Label]) -> None:
    """Let the filter have judged messages, and a person have decided what some of them are."""
    with Ledger(str(config.ledger)) as ledger:
        for content, verdict in verdicts.items():
            reading = read(content)
            known = ledger.messages.ensure(reading.digest, reading.summary)
            ledger.messages.judged(known.id, verdict, 0.5, 1.0)
            if content in decided:
                learn(ledger, reading, decided[content], "moved by hand", 2.0, how=How.MOVE)


def learned_as(ledger: Ledger, content: bytes) -> Label | None:
    """The label that a message is learned as, or None."""
    lesson = ledger.lessons.find(read(content).digest)
    return None if lesson is None else lesson.label


def test_a_verdict_is_no_lesson(tmp_path: Path) -> None:
    """Mail with a verdict but without a decision is left out and counted; a decision stays."""
    ham, spam = ([message(kind, n) for n in range(4)] for kind in ("ham", "spam"))
    config = _config(tmp_path, INBOX=ham, Junk=[*spam, spam[0]])
    record_existing(config)
    verdicts = dict.fromkeys(ham[1:], "ham") | dict.fromkeys(spam[:3], "spam")
    _judge(config, verdicts, {ham[1]: Label.SPAM, spam[1]: Label.SPAM, spam[2]: Label.HAM})
    assert learn_folders(config) == LearnedFolders(1, 1, 3, [], 4)
    with Ledger(str(config.ledger)) as ledger:
        assert ledger.lessons.totals()[:2].tolist() == [2, 3]
        assert [learned_as(ledger, content) for content in (ham[1], spam[2])] == [Label.SPAM, Label.HAM]


def test_new_mail_is_no_lesson(tmp_path: Path) -> None:
    """In a mailbox that is watched, mail in the inbox that the filter has yet to judge is left out and counted."""
    config = _config(tmp_path, INBOX=[message("ham", 1)], Junk=[message("spam", 1)])
    record_existing(config)
    for place, kind in (("new", "spam"), (".Junk/cur", "spam")):
        (config.mailboxes[0].path / place / "1800000000.M1P1.host").write_bytes(message(kind, len(place)))
    assert learn_folders(config) == LearnedFolders(1, 2, 0, [], 1)


def test_a_copy_in_spam_is_spam_and_stays_it(tmp_path: Path) -> None:
    """A message in a ham folder and in a spam folder ends as spam, and the next run changes nothing."""
    both = message("spam", 7)
    config = _config(tmp_path, INBOX=[both], Junk=[both])
    learn_folders(config)
    record_existing(config)
    assert learn_folders(config) == LearnedFolders(0, 0, 2, [])
    with Ledger(str(config.ledger)) as ledger:
        assert ledger.lessons.newest(Label.HAM, 9) == []


def test_without_an_inbox_nothing_is_learned(tmp_path: Path) -> None:
    """A directory that is not a Maildir is a fault, and no ledger is made for it."""
    config = _config(tmp_path)
    (tmp_path / "anna" / "new").rmdir()
    with pytest.raises(MaildirError, match="no folder INBOX"):
        learn_folders(config)
    assert not config.ledger.exists()


def _half_sorted(tmp_path: Path) -> Config:
    """A mailbox with eight spam among forty ham."""
    spam = [message("spam", n) for n in range(38)]
    return _config(tmp_path, INBOX=[*(message("ham", n) for n in range(40)), *spam[30:]], Junk=spam[:30])


def test_spam_among_the_ham_is_sifted_once(tmp_path: Path) -> None:
    """Spam in a ham folder is doubted. The next run knows it, recorded or not, and doubts nothing anew."""
    config = _half_sorted(tmp_path)
    learned = learn_folders(config)
    assert (learned.ham, learned.spam, learned.sifted.doubted) == (48, 30, 8)
    with Ledger(str(config.ledger)) as ledger:
        before = ledger.lessons.last_change()
    record_existing(config)
    assert learn_folders(config) == LearnedFolders(0, 0, 78, [])
    with Ledger(str(config.ledger)) as ledger:
        assert ledger.lessons.last_change() == before


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupted_run_is_sifted_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a run ends before it has sifted, the next one sifts what both have learned; moving begins after that."""
    config = _half_sorted(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(first_lessons, "finish", _killed)
        with pytest.raises(KeyboardInterrupt):
            learn_folders(config)
    with Ledger(str(config.ledger)) as ledger:
        assert ledger.state.begun_with is None
    assert learn_folders(config) == LearnedFolders(0, 0, 78, [], 0, Sifted(8, 8))
    with Ledger(str(config.ledger)) as ledger:
        assert ledger.state.begun_with == config.learning.minimum_messages
        assert learned_as(ledger, message("spam", 33)) is Label.SPAM


def lesson_of(config: Config, content: bytes) -> tuple[Label | None, bool] | None:
    """The label that a message is learned with, and whether it is weak; None if it never was learned."""
    with Ledger(str(config.ledger)) as ledger:
        lesson = ledger.lessons.find(read(content).digest)
        return None if lesson is None else (lesson.label, lesson.weak)


def test_read_mail_of_lists_is_weakly_ham(tmp_path: Path) -> None:
    """Read mail of a neutral folder of lists is learned weakly, once. Unread mail and the trash teach nothing."""
    there, trash = over([_LIST] * 6), over([_LIST] * 6, 20)
    config = _config(tmp_path, INBOX=[message("ham", 50)], Lists=there, Trash=trash, Junk=[message("spam", 1)])
    unread = message("ham", 70)
    (tmp_path / "anna/.Lists/new/1800000000.M1P1.host").write_bytes(unread)
    assert learn_folders(config) == LearnedFolders(7, 1, 0, [])
    assert [lesson_of(config, one) for one in (*there, trash[0], unread)] == [(Label.HAM, True)] * 6 + [None, None]
    assert learn_folders(config) == LearnedFolders(0, 0, 8, [])
    record_existing(config)
    assert learn_folders(config) == LearnedFolders(0, 0, 8, [])


def test_another_folder_decides_about_mail_of_lists(tmp_path: Path) -> None:
    """A copy in a ham folder or in spam, and what a person has said, has priority over the folder of lists."""
    there = over([_LIST] * 6)
    config = _config(tmp_path, Archive=there[:1], Lists=there, Junk=there[1:2])
    with Ledger(str(config.ledger)) as ledger:
        learn(ledger, read(there[2]), Label.SPAM, "moved by hand", 1.0, how=How.MOVE)
    decided = [(Label.HAM, False), (Label.SPAM, False), (Label.SPAM, False), (Label.HAM, True)]
    for _ in range(2):
        learn_folders(config)
        record_existing(config)
        assert [lesson_of(config, one) for one in there[:4]] == decided


def test_a_verdict_on_mail_of_lists_is_no_lesson(tmp_path: Path) -> None:
    """Mail that the filter has judged and somebody then moved to the folder of lists is left out and counted."""
    there = over([_LIST] * 6)
    config = _config(tmp_path, INBOX=[message("ham", 50)], Lists=there)
    record_existing(config)
    _judge(config, {there[0]: "ham", there[1]: "spam"}, {})
    assert learn_folders(config) == LearnedFolders(5, 0, 0, [], 2)


def test_spam_in_a_folder_of_lists_teaches_nothing(tmp_path: Path) -> None:
    """Spam that was read among the mail of lists is sifted: it teaches neither class, and the next run leaves it so."""
    spam = [message("spam", n) for n in range(38)]
    there = over([_LIST] * 40) + [b"List-Id: <%s>\n" % _LIST.encode() + one for one in spam[30:]]
    config = _config(tmp_path, Lists=there, Junk=spam[:30])
    learned = learn_folders(config)
    assert (learned.ham, learned.spam, learned.sifted) == (48, 30, Sifted(8, 0))
    assert [lesson_of(config, one) for one in there] == [(Label.HAM, True)] * 40 + [(None, True)] * 8
    record_existing(config)
    assert learn_folders(config) == LearnedFolders(0, 0, 78, [])
