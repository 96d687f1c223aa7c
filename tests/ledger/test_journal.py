"""Pages of the journal: which actions, in which order, and what became of them."""

from collections.abc import Iterator

import pytest

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.ledger.history.describe import in_words
from spamnb.ledger.history.lines import Wanted
from spamnb.ledger.ledger import Ledger
from tests.ledger.plans import plans
from tests.lessons import learn, lesson, set_label


@pytest.fixture
def inbox(ledger: Ledger) -> tuple[int, str]:
    """A place in the inbox."""
    return ledger.locations.folder(ledger.locations.mailbox("/mail")[0], "INBOX"), "1.host"


def judge(ledger: Ledger, place: tuple[int, str], name: str, verdict: str, at: float, *, withheld: bool = False) -> int:
    """Judge a message of that name; the action's id."""
    known = ledger.messages.ensure(name.encode(), f"{name} (a@b.example)")
    ledger.messages.judged(known.id, verdict, 0.5, at)
    ledger.locations.put(*place, known.id, "appeared", b"", "", at)
    return ledger.journal.judged(known.id, place, verdict, 0.5, "why", at, withheld=withheld, how=How.MAILDIR)


def ids(ledger: Ledger, most: int = 100, before: int | None = None, **wanted: object) -> list[int]:
    """The ids on a page."""
    return [line.action.id for line in ledger.lines.page(most, Wanted(**wanted), before)]  # type: ignore[arg-type]


def test_pages(ledger: Ledger, inbox: tuple[int, str]) -> None:
    """Pages follow one another by id, the newest first, without a gap or an overlap, even if actions are added."""
    for number in range(7):
        judge(ledger, inbox, f"message {number}", "ham", float(number))
    assert ids(ledger, 3) == [7, 6, 5]
    judge(ledger, inbox, "another", "ham", 8.0)
    assert ids(ledger, 3, before=5) == [4, 3, 2]
    assert ids(ledger, 3, before=2) == [1]
    assert ids(ledger, 3, before=1) == []


def test_conditions(ledger: Ledger, inbox: tuple[int, str]) -> None:
    """A page can be limited to a span of time, a kind, a verdict, a folder, a text, or all of these."""
    judge(ledger, inbox, "Lunch", "ham", 1.0)
    judge(ledger, inbox, "Pills", "spam", 2.0)
    judge(ledger, inbox, "GRÖSSE", "unsure", 3.0)
    learn(ledger, [lesson("Example", 0, {"a": 1}, 4.0)])
    assert ids(ledger, since=2.0) == [4, 3, 2]
    assert ids(ledger, until=2.0) == [2, 1]
    assert ids(ledger, kind="judged", since=2.0, until=3.0) == [3, 2]
    assert ids(ledger, verdict="unsure") == [3]
    assert ids(ledger, folder="INBOX") == [3, 2, 1]
    assert ids(ledger, folder="Junk") == []
    assert ids(ledger, text="lUNCH") == [1]
    assert ids(ledger, text="größe") == [3]
    assert ids(ledger, text="grösse") == [3]
    assert [ids(ledger, text=each) for each in ("%", "_", "\\")] == [[], [], []], "no character stands for another"
    assert ids(ledger, text="a@b.example", kind="judged", verdict="spam") == [2]


def test_what_became_of_it(ledger: Ledger, inbox: tuple[int, str]) -> None:
    """A line tells by which action it was undone, and what its message was learned as later, and how firmly."""
    judge(ledger, inbox, "m", "spam", 1.0)
    learn(ledger, [lesson("m", 0, {"a": 1}, 2.0)])
    set_label(ledger, 1, None, 3.0, "undo of 2", takes_back=2)
    undo, learned, judged = ledger.lines.page(10)
    assert (undo.action.takes_back, undo.undone_by) == (2, None)
    assert (learned.action.state, learned.undone_by) == ("undone", 3)
    assert (judged.label, judged.weak) == (None, False), "what was undone is learned no more"
    assert (judged.source, judged.destination) == ("INBOX", "")
    training.learn(ledger, lesson("m", 1, {"a": 1}).reading, Label.SPAM, "a test", 4.0, weak=True, how=How.HAND)
    assert (ledger.lines.page(10)[-1].label, ledger.lines.page(10)[-1].weak) == (1, True)


def test_a_lesson_before_a_verdict_did_not_become_of_it(ledger: Ledger, inbox: tuple[int, str]) -> None:
    """A lesson from before the judgement is not shown as its result."""
    learn(ledger, [lesson("m", 0, {"a": 1}, 1.0)])
    judge(ledger, inbox, "m", "ham", 2.0)
    assert ledger.lines.page(1)[0].label is None


def test_withheld(ledger: Ledger, inbox: tuple[int, str]) -> None:
    """Each withheld message counts once, while it is somewhere and nobody has decided on it."""
    folder = inbox[0]
    for number, name in enumerate(("stays", "stays", "gone", "learned", "rescued")):
        judge(ledger, (folder, f"{number}"), name, "spam", float(number), withheld=True)
    ledger.locations.gone(folder, ["2"], 9.0)
    learn(ledger, [lesson("learned", 0, {"a": 1}, 9.0)])
    rescued = ledger.messages.find(b"rescued")
    assert rescued is not None
    ledger.messages.rescued(rescued.id, 9.0)
    assert [action.id for action in ledger.journal.withheld()] == [2]
    assert ledger.journal.intents() == []


def test_the_chain_of_undos(ledger: Ledger) -> None:
    """Taking back the last of a chain turns every state in it, and only what its beginning says is undone counts."""
    learn(ledger, [lesson("m", 0, {"a": 1}, 1.0)])
    for number, label in enumerate((None, 0, None), 1):
        set_label(ledger, 1, label, 2.0, f"undo of {number}", takes_back=number)
        first = ledger.journal.mark_undone(number)
        assert (first.id, first.state) == (1, "undone" if label is None else "done")
    states = [line.action.state for line in ledger.lines.page(9)][::-1]
    assert states == ["undone", "done", "undone", "done"]
    last = ledger.journal.get(4)
    assert last is not None
    assert ledger.journal.first(last).id == 1
    assert [action.id for action in ledger.journal.undos(0.0)] == [4]


def test_an_undo_and_its_undo_are_told_as_opposites(ledger: Ledger) -> None:
    """The undo of an answer says that the question will come again; its own undo says the opposite."""
    message = ledger.messages.ensure(b"m", "m").id
    ledger.journal.settled(message, "answered", 1.0, 0)
    for number in (1, 2, 3):
        ledger.journal.undone(number, f"undo of {number}", 2.0)
    assert [in_words(line) for line in ledger.lines.page(9)][::-1] == [
        "not asked about again [undone]: answered",
        "to be asked about again: undo of 1",
        "not asked about again [undone]: undo of 2",
        "to be asked about again: undo of 3",
    ]


class Counted(list[int]):
    """Numbers that count how often they are gone through."""

    times = 0

    def __iter__(self) -> Iterator[int]:
        self.times += 1
        return super().__iter__()


def test_undoing_many(ledger: Ledger) -> None:
    """The actions that took back 30,000 others are found in one pass."""
    message = ledger.messages.ensure(b"a", "a").id
    row = "INSERT INTO action (at, message, kind, state, why, takes_back) VALUES (1.0, ?, 'settled', 'done', '', ?)"
    with ledger.transaction():
        ledger._connection.executemany(row, ((message, None) for _ in range(30_000)))
        ledger._connection.executemany(row, ((message, id_) for id_ in range(30_000, 0, -1)))
    actions = Counted(range(2, 30_001))
    assert ledger.journal.undoing(actions, 30_000) == list(range(30_001, 60_000))
    assert actions.times == 1


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(),
        Wanted(corrected=True, since=1.0),
        Wanted(text="promo"),
        Wanted(text="Größe", corrected=True, mailbox="/mail"),
        Wanted(kind="moved", folder="INBOX"),
        Wanted(verdict="unsure", state="undone"),
    ],
)
def test_a_page_ends_when_it_is_full(ledger: Ledger, wanted: Wanted) -> None:
    """With any conditions, actions are read from the newest on, and nothing is sorted.

    Beside them only folders and the names of senders are read whole: 3 ms for 20,000 senders.
    """
    (plan,) = plans(ledger, lambda: ledger.lines.page(9, wanted))
    assert plan[0] == "SCAN a"
    whole = ("SCAN a", "SCAN folder", "SCAN sender USING COVERING INDEX")
    assert [step for step in plan if step.startswith("SCAN") and not step.startswith(whole)] == []
    assert not [step for step in plan if "ORDER BY" in step]


def test_a_page_before_another_ends_when_it_is_full(ledger: Ledger) -> None:
    """The next page begins at its action, by the number."""
    (plan,) = plans(ledger, lambda: ledger.lines.page(9, Wanted(text="promo"), before=7))
    assert plan[0] == "SEARCH a USING INTEGER PRIMARY KEY"
