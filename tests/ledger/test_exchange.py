"""Counts as text, and adding them up."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.errors import LedgerError
from spamnb.ledger.exchange import escape, parse, unescape
from spamnb.ledger.ledger import Ledger
from tests.ledger.lessons import known, lesson

HEAD = "spamnb-counts 1\ntokenizer 1\nham 2\nspam 1\ntokens 2\n"
ROWS = "2\t0\t3\t0\ta\n0\t1\t0\t1\tb c\n"


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Ledger]:
    """Another person's ledger, with counts of its own."""
    with Ledger(str(tmp_path / "other.sqlite")) as opened:
        opened.learned.learn([lesson("theirs", 1, {"x": 3, "z": 1}), lesson("theirs too", 0, {"y": 70_000, "": 1})])
        yield opened


def exported(ledger: Ledger) -> str:
    """The text of an export."""
    return "".join(ledger.imports.export())


def carry(source: Ledger, target: Ledger, at: float = 5.0) -> int:
    """Import one ledger's counts into another."""
    return target.imports.add(parse(exported(source).encode().splitlines(keepends=True), "x"), "x", at)


def test_format(ledger: Ledger) -> None:
    """An export has a header with version and class totals, a line a token with its four counts, and an end."""
    ledger.learned.learn([lesson("a", 0, {"b c": 2, "a": 1}), lesson("b", 1, {"a": 1, "t\n\\": 1})])
    forgotten = ledger.learned.learn([lesson("c", 1, {"gone": 1})])
    assert forgotten
    seen = ledger.messages.find(b"c")
    assert seen is not None
    ledger.learned.set_label(seen.id, None, 2.0, "a test")
    assert exported(ledger) == (
        "spamnb-counts 1\ntokenizer 1\nham 1\nspam 1\ntokens 3\n"
        "1\t1\t1\t1\ta\n1\t0\t2\t0\tb c\n0\t1\t0\t1\tt\\u000a\\\\\nend\n"
    )


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_token_can_be_written(token: str) -> None:
    """Any token comes back from its line, which is printable and has no blank at its ends."""
    written = escape(token)
    assert unescape(written) == token
    assert written.isprintable()
    assert written == written.strip()


def test_import_adds_up(ledger: Ledger, other: Ledger) -> None:
    """What is imported is added to what was learned here, and the proof of the counts includes it."""
    ledger.learned.learn([lesson("mine", 1, {"x": 2, "w": 1})])
    carry(other, ledger)
    assert known(ledger, "x") == [0, 2, 0, 5]
    assert known(ledger, "z") == [0, 1, 0, 1]
    assert known(ledger, "y") == [1, 0, 65_535, 0]
    assert ledger.learned.totals().tolist() == [1, 2, 2, 4, 65_536, 7, 5]
    assert ledger.learned.verify() == []
    ledger._connection.execute("UPDATE import SET spam_messages = 2")
    assert any("totals" in fault for fault in ledger.learned.verify())
    ledger._connection.execute("UPDATE import SET tokens = x'00'")
    assert any("import" in fault for fault in ledger.learned.verify())


def test_export_holds_what_was_imported(ledger: Ledger, other: Ledger, tmp_path: Path) -> None:
    """An export of a ledger with imports includes them: a third ledger gets the sum of both."""
    ledger.learned.learn([lesson("mine", 1, {"x": 2})])
    carry(other, ledger)
    with Ledger(str(tmp_path / "third.sqlite")) as third:
        carry(ledger, third)
        assert known(third, "x") == known(ledger, "x") == [0, 2, 0, 5]
        assert exported(third).splitlines()[2:] == exported(ledger).splitlines()[2:]


def test_import_is_taken_back(ledger: Ledger, other: Ledger) -> None:
    """An import that is taken back leaves the counts of before, also where messages were learned meanwhile."""
    ledger.learned.learn([lesson("mine", 1, {"x": 2})])
    action = carry(other, ledger)
    ledger.learned.learn([lesson("later", 0, {"x": 1, "z": 1})])
    ledger.imports.take_back(action, 6.0)
    assert known(ledger, "x") == [1, 1, 1, 2]
    assert known(ledger, "z") == [1, 0, 1, 0]
    assert ledger.learned.totals().tolist() == [1, 1, 2, 1, 2, 2, 2]
    assert ledger.learned.verify() == []
    assert [(one.kind, one.state, one.why) for one in ledger.journal.newest(9) if one.kind == "imported"] == [
        ("imported", "done", f"undo of {action}"),
        ("imported", "undone", "1 ham and 1 spam messages"),
    ]
    with pytest.raises(LedgerError, match="does not count any more"):
        ledger.imports.take_back(action, 7.0)


def test_the_same_counts_are_known_again(ledger: Ledger, other: Ledger) -> None:
    """The same counts are recognised however their file is written; once taken back they are not."""
    counts = parse(exported(other).encode().splitlines(keepends=True), "x")
    assert ledger.imports.standing(counts.digest) is None
    action = ledger.imports.add(counts, "x", 1.0)
    head, rows = exported(other).splitlines()[:5], exported(other).splitlines()[5:-1]
    shuffled = "\r\n".join([*head, *reversed(rows), "end"]) + "\r\n"
    again = parse(shuffled.encode().splitlines(keepends=True), "x")
    assert ledger.imports.standing(again.digest) == action
    second = ledger.imports.add(again, "x", 2.0)
    ledger.imports.take_back(second, 3.0)
    assert ledger.imports.standing(counts.digest) == action
    ledger.imports.take_back(action, 3.0)
    assert ledger.imports.standing(counts.digest) is None
    assert ledger.learned.totals().tolist() == [0] * 7


def test_all_or_nothing(ledger: Ledger, other: Ledger) -> None:
    """An import that fails half-way leaves nothing."""
    pages = ledger._connection.row("PRAGMA page_count")[0]
    ledger._connection.row(f"PRAGMA max_page_count = {pages + 3}")
    rows = "".join(f"1\t0\t1\t0\ttoken {i}\n" for i in range(20_000))
    text = f"spamnb-counts 1\ntokenizer 1\nham 1\nspam 0\ntokens 20000\n{rows}end\n"
    with pytest.raises(LedgerError, match="free some space"):
        ledger.imports.add(parse(text.encode().splitlines(), "x"), "x", 1.0)
    assert ledger.learned.totals().tolist() == [0] * 7
    assert list(ledger.journal.newest(9)) == []
    assert ledger.learned.verify() == []


FAULTS = {
    "another file": ("my diary\n", 1, "no export"),
    "nothing": ("", 1, "no export"),
    "a later format": (HEAD.replace("counts 1", "counts 2") + ROWS + "end\n", 1, "upgrade spamnb"),
    "no tokenizer": (HEAD.replace("tokenizer 1", "tokenizer x") + ROWS + "end\n", 2, "version numbers"),
    "no number": (HEAD.replace("ham 2", "ham many") + ROWS + "end\n", 3, "'ham' with a number"),
    "a number below zero": (HEAD.replace("spam 1", "spam -1") + ROWS + "end\n", 4, "'spam' with a number"),
    "too many messages": (HEAD.replace("spam 1", "spam 1000000001") + ROWS + "end\n", 4, "'spam' with a number"),
    "another number of tokens": (HEAD.replace("tokens 2", "tokens 3") + ROWS + "end\n", 5, "3 tokens, but 2"),
    "cut in the header": (HEAD[:30], 3, "'ham' with a number"),
    "cut between lines": (HEAD + ROWS[:10], 6, "cut short"),
    "cut in a line": (HEAD + ROWS[:-2], 7, "cut short"),
    "more after the end": (HEAD + ROWS + "end\n1\t0\t1\t0\tc\n", 9, "after the end"),
    "blanks for tabs": (HEAD + ROWS.replace("\t", " ") + "end\n", 6, "divided by tabs"),
    "a letter": (HEAD + ROWS.replace("2\t0", "2\tO") + "end\n", 6, "divided by tabs"),
    "other digits": (HEAD + ROWS.replace("2\t0", "٢\t0") + "end\n", 6, "divided by tabs"),
    "a token twice": (HEAD + ROWS.replace("b c", "a") + "end\n", 7, "token of line 6 again"),
    "in no message": (HEAD + ROWS.replace("2\t0\t3\t0", "0\t0\t0\t0") + "end\n", 6, "in no message"),
    "in more than all": (HEAD + ROWS.replace("2\t0\t3\t0", "3\t0\t3\t0") + "end\n", 6, "more messages than there are"),
    "too few occurrences": (HEAD + ROWS.replace("2\t0\t3\t0", "2\t0\t1\t0") + "end\n", 6, "do not fit"),
    "occurrences in no message": (HEAD + ROWS.replace("2\t0\t3\t0", "2\t0\t3\t1") + "end\n", 6, "do not fit"),
    "a loose backslash": (HEAD + ROWS.replace("b c", "b\\c") + "end\n", 7, "backslash"),
    "half a character": (HEAD + ROWS.replace("b c", "\\ud800") + "end\n", 7, "backslash"),
    "beyond Unicode": (HEAD + ROWS.replace("b c", "\\U00110000") + "end\n", 7, "backslash"),
    "too much": (HEAD + ROWS.replace("\t3\t", "\t999999999999999999\t") + "end\n", 6, "do not fit"),
}


@pytest.mark.parametrize(("text", "line", "said"), FAULTS.values(), ids=FAULTS)
def test_faults_are_named_by_line(text: str, line: int, said: str) -> None:
    """Each fault of a file is told with its line."""
    with pytest.raises(LedgerError) as raised:
        parse(text.encode().splitlines(keepends=True), "counts.txt")
    first = str(raised.value).splitlines()[0]
    assert first.startswith(f"counts.txt:{line}: "), first
    assert said in first


def test_bytes_that_are_no_text() -> None:
    """Bytes that are not UTF-8 and lines without end are told with their line; several faults are told together."""
    with pytest.raises(LedgerError) as raised:
        parse([*HEAD.encode().splitlines(keepends=True), b"1\t0\t1\t0\t\xff\n", b"x" * 70_000, b"end\n"], "f")
    assert [line.partition(": ")[2] for line in str(raised.value).splitlines()] == [
        "is not UTF-8",
        "is longer than 65536 bytes",
        "export it anew, or mend these lines",
    ]


def test_many_faults() -> None:
    """After ten faults the rest is not told."""
    with pytest.raises(LedgerError) as raised:
        parse([*HEAD.encode().splitlines(keepends=True), *[b"wrong\n"] * 1000], "f")
    assert len(str(raised.value).splitlines()) == 11
