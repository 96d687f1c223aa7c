"""The learned mail that is misfiled, and the order of the questions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.acts.current_files import current_path
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.port import Lesson
from spamnb.mail.reading import Reading, read
from spamnb.review.misfiled import Doubts, count_misfiled, misfiled
from spamnb.review.near_copies import groups
from spamnb.review.own_mail import judge_own_mail
from spamnb.review.queue import teaching_order

HAM, SPAM = Label


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger that has learned 30 messages of each kind."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as opened:
        for label in Label:
            some = [read(message(label.word, number)) for number in range(30)]
            training.learn_batches(opened, [Batch.of(some)], label, "a test", 1.0, how=How.HAND)
        yield opened


def config(ledger: Ledger) -> Config:
    """A configuration without a mailbox."""
    return Config(mailboxes=(), ledger=Path(ledger.path))


def learn(ledger: Ledger, raw: bytes, label: Label, weak: bool = False) -> Reading:
    """Learn a message; what was read."""
    reading = read(raw)
    training.learn(ledger, reading, label, "a test", 2.0, weak=weak, how=How.HAND)
    return reading


def test_only_what_is_called_otherwise_is_found(ledger: Ledger) -> None:
    """Mail that looks like the other class is a finding, with its clues; other mail is not."""
    assert misfiled(ledger, config(ledger)) == []
    assert count_misfiled(ledger, config(ledger).scoring) == (0, 0)
    wrong = learn(ledger, message("spam", 100), HAM)
    (found,) = misfiled(ledger, config(ledger))
    assert (found.digest, found.summary, found.label, found.weak) == (wrong.digest, wrong.summary, HAM, False)
    assert found.judgement.probability > 0.9
    assert len(found.clues) == 3
    assert all(clue.log_odds > 0 and clue.spam and clue.token in wrong.tokens for clue in found.clues)
    contributions = [clue.contribution for clue in found.clues]
    assert contributions == sorted(contributions, reverse=True)
    assert found.place is None


def test_weak_ones_come_first_and_then_the_strongest(ledger: Ledger) -> None:
    """Clear findings without a decision come first; within each group the strongest does."""
    weak = {learn(ledger, message("spam", number), HAM, weak=True).digest for number in (100, 101)}
    for number in (102, 103, 104):
        learn(ledger, message("spam", number), HAM)
    found = [one for one in misfiled(ledger, config(ledger)) if one.is_clear]
    assert [one.weak for one in found] == sorted((one.weak for one in found), reverse=True)
    for some in ([one for one in found if one.digest in weak], [one for one in found if one.digest not in weak]):
        strengths = [one.strength for one in some]
        assert strengths == sorted(strengths, reverse=True)


def test_one_number_wherever_it_is_counted(ledger: Ledger, tmp_path: Path) -> None:
    """The count, the list and the judgement for the pages name as many clear and less clear findings."""
    for number in range(100, 104):
        learn(ledger, message("spam", number), HAM)
    for number in range(300, 308):
        learn(ledger, mixed(number), SPAM if number % 2 else HAM)
    both = tmp_path / "ham.eml", tmp_path / "spam.eml"
    for path, label in zip(both, Label, strict=True):
        path.write_bytes(message("spam", 100))
        train(ledger, label, path)
    scoring = config(ledger).scoring
    counted = count_misfiled(ledger, scoring)
    assert min(counted) > 0
    found = misfiled(ledger, config(ledger))
    assert [one.is_clear for one in found] == [True] * counted.clear + [False] * counted.less_clear
    assert str(both[0]) in {one.place.path for one in found if one.place is not None}, "the other copy is counted too"
    assert Doubts.of(judge_own_mail(ledger, scoring).findings) == counted


def mixed(number: int) -> bytes:
    """A message with words of both classes."""
    halves = [message(kind, number).split(b"\n\n", 1)[1] for kind in ("ham", "spam")]
    return b"Subject: both\nFrom: %d@both.example\nMessage-ID: <%d@both>\n\n" % (number, number) + b"\n".join(halves)


def newsletter(number: int) -> bytes:
    """An issue of a newsletter unlike all other mail."""
    subject = f"Subject: [weekly] Issue {number} of the gazette\nFrom: editor@gazette.example\n"
    return f"{subject}Message-ID: <{number}@g>\n\n{' '.join(f'gazette{n}' for n in range(60))} {number}\n".encode()


def test_near_copies_do_not_vouch_for_one_another(ledger: Ledger) -> None:
    """A wave of spam that was called ham is found though each message of it is like the others."""
    for number in range(5):
        body = message("spam", 200).split(b"\n\n", 1)[1]
        learn(ledger, b"Subject: Win %d\nFrom: win@x.example\nMessage-ID: <%d@x>\n\n" % (number, number) + body, HAM)
    assert len(misfiled(ledger, config(ledger))) == 5


def test_a_few_wrong_issues_do_not_bring_the_others_under_suspicion(ledger: Ledger) -> None:
    """If all issues of a newsletter but two are ham, only the two are found."""
    for number in range(20):
        learn(ledger, newsletter(number), SPAM if number in (3, 7) else HAM)
    assert {one.summary.split()[2] for one in misfiled(ledger, config(ledger))} == {"3", "7"}


def test_groups_hold_each_learned_message_once() -> None:
    """Groups are of one sender and shape of subject; what was forgotten is in none."""

    def lesson(digest: bytes, summary: str, label: Label | None) -> Lesson:
        return Lesson(1, digest, summary, label, False, 1.0, "", How.HAND, None)

    lessons = [
        lesson(b"1", "Issue 1 (a@b)", HAM),
        lesson(b"2", "Re: [x] issue 22 (a@b)", HAM),
        lesson(b"3", "Issue 3 (other@b)", HAM),
        lesson(b"4", "Issue 4 (a@b)", SPAM),
        lesson(b"5", "Issue 5 (a@b)", None),
    ]
    assert sorted(groups(lessons)) == [[b"1"], [b"2"], [b"3"], [b"4"]]
    assert sorted(groups(lessons[:3])) == [[b"1", b"2"], [b"3"]]


def train(ledger: Ledger, label: Label, *paths: Path) -> None:
    """As `train PATH` does."""
    readings = [read(path.read_bytes()) for path in paths]
    training.learn_batches(
        ledger, [Batch.of(readings, [str(path) for path in paths])], label, "by hand", 3.0, how=How.HAND
    )


def test_a_trained_file_is_named(ledger: Ledger, tmp_path: Path) -> None:
    """A finding names the existing file that it was trained from, in a Maildir also under different flags."""
    cur = tmp_path / "Maildir" / "cur"
    for name in ("new", "cur", "tmp"):
        cur.with_name(name).mkdir(parents=True)
    file = cur / "1700000000.M1P1.host:2,"
    file.write_bytes(message("spam", 100))
    train(ledger, HAM, file)
    (found,) = misfiled(ledger, config(ledger))
    assert found.place is not None
    assert found.place.path == str(file)
    file = file.rename(cur / "1700000000.M1P1.host:2,RS")
    (found,) = misfiled(ledger, config(ledger))
    assert found.place is not None
    assert found.place.path == str(file)
    file.unlink()
    (found,) = misfiled(ledger, config(ledger))
    assert found.place is None


def test_a_copy_that_was_called_otherwise(ledger: Ledger, tmp_path: Path) -> None:
    """If two copies have different labels, the one that the message does not look like is found."""
    ham, spam = tmp_path / "ham.eml", tmp_path / "spam.eml"
    for path in (ham, spam):
        path.write_bytes(message("spam", 100))
    train(ledger, HAM, ham)
    train(ledger, SPAM, spam)
    (found,) = misfiled(ledger, config(ledger))
    assert found.place is not None
    assert (found.place.path, found.label, ledger.lessons.find(found.digest)) == (
        str(ham),
        HAM,
        ledger.lessons.find(read(ham.read_bytes()).digest),
    )
    assert count_misfiled(ledger, config(ledger).scoring) == (1, 0)


def test_a_message_of_an_mbox_is_named_while_the_mbox_is_there(tmp_path: Path) -> None:
    """A path with a number names a message in an existing mbox."""
    (tmp_path / "box").write_bytes(b"From ")
    assert current_path(f"{tmp_path}/box:17") == f"{tmp_path}/box:17"
    assert current_path(f"{tmp_path}/other:17") is None
    assert current_path(f"{tmp_path}/other/cur/1.2.host:2,S") is None


def test_one_a_sender_before_the_second_of_any() -> None:
    """The least certain comes first, but no sender's second message before another's first."""
    items = [("a", 0.5, "x"), ("b", 0.51, "x"), ("c", 0.9, "y"), ("d", 0.2, "z"), ("e", 0.52, "x")]
    assert teaching_order(items) == ["a", "d", "c", "b", "e"]
