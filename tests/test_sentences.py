"""Sentences are for people: nothing is compared with one, nor follows from one."""

import ast
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path

import pytest
from hypothesis import settings

import spamnb
from spamnb.acts import training, withheld
from spamnb.acts.undo import of_ids, undo
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Mailbox
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.maildir.names import fresh_bases
from spamnb.monitoring.metrics import metrics
from spamnb.rules import weak_lessons
from spamnb.service.jobs import OutdatedLessons
from tests.lessons import NO_MAILBOX
from tests.profiles import daily
from tests.sentences import SENTENCES, in_other_words
from tests.service.desk import Desk
from tests.service.test_told_at_delivery import tell
from tests.service.test_untouched import fill_spam, later, leave_lying, mark, much_mail
from tests.test_state_machine import Sorting

# Text columns of the ledger that are no sentences: words of a closed list, names, and what messages say.
WORDS = {
    "action": {"kind", "state", "how", "verdict", "goal", "owner"},
    "choice": {"kind", "pattern", "by"},
    "early_verdict": {"verdict", "how"},
    "file": {"origin", "flags", "gone_by"},
    "folder": {"name"},
    "import": {"summary"},
    "lesson": {"summary", "how"},
    "message": {"summary", "verdict"},
    "sender": {"name"},
    "state": {"name", "value"},
    "tally": {"kind", "first", "second"},
    "token": {"text"},
}
# What other programs and libraries say can be known by its words alone.
OF_OTHERS = {
    "decode to UTF-8",  # sqlite3: a text that is none
    " with text ",  # the same
    " while serving ",  # waitress: a fault
}
SEARCHES = {
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "partition",
    "rpartition",
    "find",
    "index",
    "count",
}
SAID = {"why", "asker", "stays"}  # attributes and variables that hold sentences


class Still(Desk):
    """A desk whose clock advances by waiting, and a little at each look, however slow the machine is."""

    def __init__(self, directory: Path) -> None:
        self.begun = time.time()
        super().__init__(directory, "mail")

    def now(self) -> float:
        """The service's clock."""
        self.begun += 1e-5
        return self.begun + self.ahead


def story(directory: Path) -> tuple[dict[str, list[tuple[object, ...]]], dict[str, int], str, list[str]]:
    """Return the ledger after a long story, without sentences and times; its tallies; the metrics; the counts."""
    desk = Still(directory)
    desk.bases = fresh_bases(lambda: 10**18, 7, "host")
    try:
        for kind in ("ham", "spam"):
            for number in range(40):
                reading = read(message(kind, number))
                training.learn(desk.ledger, reading, Label.of(kind), "by hand", desk.now(), how=How.HAND)
        desk.restart(minimum_messages=20)
        happen(desk)
        config = Config((Mailbox(desk.roots[0], desk.roles),), directory / "ledger", learning=desk.learning)
        told = metrics(config, desk.ledger, desk.now())
        lines = [line for line in told.splitlines() if "messages" in line or "armed" in line or "paused" in line]
        tallies = {" ".join(tally): number for tally, number in desk.ledger.tallies.read(desk.now() + 1e5).items()}
        return contents(desk.ledger), tallies, "\n".join(lines), list(desk.ledger.lessons.export())
    finally:
        desk.stop()
        desk.ledger.close()


def happen(desk: Desk) -> None:
    """Verdicts of each way, each kind of lesson, what gives way, and all of it taken back and done again."""
    first, *rest = fill_spam(desk, 104, 4)
    desk.deliver(message("ham", 300))
    desk.take(rest[0], "Junk", "INBOX")
    desk.deliver(message("spam", 310), "TrainSpam")
    desk.deliver(message("ham", 311), "Junk")
    tell(desk, message("spam", 320))
    desk.deliver(message("spam", 320), "Junk")
    tell(desk, message("spam", 321), how=How.PIPE)
    desk.deliver(message("spam", 321))
    withheld.pause(desk.ledger)
    desk.deliver(message("spam", 330))
    withheld.resume(desk.ledger, desk.now())
    assert [one.moved for one in withheld.move_withheld(desk.ledger, desk.config, desk.now, not_now)] == [True]
    desk.work()
    answered, *_ = leave_lying(desk, "ham", range(340, 345))
    mark(desk, answered, "INBOX", "RS")
    much_mail(desk)
    later(desk, 10)
    mark(desk, first, "Junk", "S")
    later(desk, 6)
    hows = {desk.ledger.lessons.find(identity(content)).how for content in (*rest, answered)}  # type: ignore[union-attr]
    assert hows == {How.SILENCE, How.MOVE, How.KEPT}, "the story is told"
    newest = [action for action in desk.ledger.journal.newest(12) if action.kind in ("learned", "moved")]
    for _ in range(2):
        ids = [action.id for action in newest]
        assert {
            outcome.fault for outcome in undo(desk.ledger, NO_MAILBOX, of_ids(desk.ledger, ids), desk.now, not_now)
        } == {None}
        newest = list(desk.ledger.journal.newest(len(ids)))
    for number, how in ((500, How.SILENCE), (501, How.SEEN)):
        raw = message("ham", number)
        training.learn_message(desk.ledger, raw, Label.SPAM, weak_lessons.LAY_IN_SPAM, desk.now(), how=how, weak=True)
    outdated = OutdatedLessons(desk.account.context)
    while outdated.step_if_due(desk.now()):
        pass
    given_way = [desk.lesson(message("ham", number)) for number in (500, 501)]
    assert given_way == [(None, True), (Label.SPAM, True)], "and its end"


def not_now(_: object) -> None:
    """Do not touch `cur/` for IMAP servers: that waits by the clock."""


def contents(ledger: Ledger) -> dict[str, list[tuple[object, ...]]]:
    """The rows of all tables, without sentences, times, and what the disk gives its files."""
    found = {}
    for (table,) in ledger._connection.all("SELECT name FROM main.sqlite_master WHERE type = 'table'"):
        columns = ledger._connection.all("SELECT name, type FROM pragma_table_info(?)", (table,))
        kept = [
            f'"{name}"'
            for name, kind in columns
            if (kind != "REAL" or name in ("probability", "log_odds"))
            and name
            not in (SENTENCES.get(table, ("", ""))[0], "path", "owner", "device", "inode", "quarter", "content")
            and (table, name) != ("state", "value")
        ]
        found[table] = sorted(ledger._connection.all(f"SELECT {', '.join(kept)} FROM {table}"), key=repr)
    return found


def test_nothing_follows_from_a_sentence(tmp_path: Path) -> None:
    """With different words in each sentence, all lessons, moves, counts, forgetting and undos are the same."""
    told = []
    for name, words in (("as it is", nullcontext()), ("otherwise", in_other_words())):
        (tmp_path / name).mkdir()
        with words:
            told.append(story(tmp_path / name))
    assert told[0] == told[1]
    assert {how.value for how in How} - {"keyword", "tell", "import"} <= {
        row[place] for row in told[0][0]["action"] for place in range(len(row))
    }


def test_all_words_are_others(tmp_path: Path) -> None:
    """The test above changes each sentence of a ledger: each text column is one, or has words and names."""
    with in_other_words(), Ledger(str(tmp_path / "ledger")) as ledger:
        training.learn_message(ledger, message("ham", 1), Label.HAM, "a sentence", 1.0, how=How.HAND)
        (lesson,) = ledger.lessons.changes(0)
        (action,) = ledger.journal.newest(9)
        assert lesson.why.startswith("~ in other words")
        assert action.why.startswith("~ in other words")
        assert ledger.verify() == []
    with closing(Ledger(str(tmp_path / "ledger"))) as ledger:
        texts: dict[str, set[str]] = {}
        columns = "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE c.type = 'TEXT'"
        for table, column in ledger._connection.all(columns):
            texts.setdefault(table, set()).add(column)
    sentences = {table: {column} for table, (column, _) in SENTENCES.items()}
    assert texts == {table: WORDS.get(table, set()) | sentences.get(table, set()) for table in texts}


def test_no_code_compares_a_sentence() -> None:
    """No text of several words, and no value with a sentence, is compared, searched for or searched in."""
    modules = sorted(Path(spamnb.__file__).parent.rglob("*.py"))
    assert [fault for path in modules for fault in sentences_compared(path)] == []


def sentences_compared(path: Path) -> Iterator[str]:
    """Return the places of a module that compare a sentence."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    constants = {ast.unparse(name): node.value for node in assigned for name in node.targets}
    for node in ast.walk(tree):
        for side in compared(node):
            value = constants.get(ast.unparse(side), side)
            text = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
            name = ast.unparse(side).rpartition(".")[2]
            if (re.search(r"[a-z] [a-z]", text) and text not in OF_OTHERS) or name in SAID:
                yield f"{path.name}:{side.lineno}: {ast.unparse(node)}"


def compared(node: ast.AST) -> Iterator[ast.expr]:
    """Return the operands of a comparison other than with None, and those of a search in a text."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        if not any(isinstance(side, ast.Constant) and side.value is None for side in sides):
            yield from (each for side in sides for each in (getattr(side, "elts", None) or [side]))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES:
        yield node.func.value
        yield from node.args


class TestSortingInOtherWords(Sorting.TestCase):
    """Mail is sorted the same if each sentence has different words."""

    settings = settings(max_examples=daily(4), stateful_step_count=30)


@pytest.fixture(autouse=True)
def _words(request: pytest.FixtureRequest) -> Iterator[None]:
    with ExitStack() as stack:
        if request.cls is TestSortingInOtherWords:
            stack.enter_context(in_other_words())
        yield
