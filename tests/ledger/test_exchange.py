"""Counts as text, and adding them up."""

import contextlib
import re
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.errors import LedgerError
from spamnb.ledger import exchange
from spamnb.ledger.exchange import escape, parse, unescape, write
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
    "cut in a line": (HEAD + ROWS[:-3], 7, "cut short"),
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
    "too many tokens": (HEAD.replace("tokens 2", "tokens 5000001") + ROWS + "end\n", 5, "more than 5000000 tokens"),
    "a control character": (HEAD + ROWS.replace("b c", "b\x1b[2Jc") + "end\n", 7, "not printable"),
    "a tab in a token": (HEAD + ROWS.replace("b c", "b\tc") + "end\n", 7, "not printable"),
    "a line separator": (HEAD + ROWS.replace("b c", "b\u2028c") + "end\n", 7, "not printable"),
    "writing turned around": (HEAD + ROWS.replace("b c", "b\u202ec") + "end\n", 7, "not printable"),
    "a blank at the end": (HEAD + ROWS.replace("b c", "b c ") + "end\n", 7, "blank at an end"),
    "a token twice, apart": (HEAD + ROWS + "1\t0\t1\t0\ta\nend\n", 8, "token of line 6 again"),
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
        "is longer than 4096 bytes",
        "export it again, or correct these lines",
    ]


def test_characters_of_a_later_unicode() -> None:
    """A character that this Python's tables do not have is taken as it is: it may be printable where it was written."""
    text = HEAD + ROWS.replace("b c", "b\U0003fffdc") + "end\n"
    assert parse(text.encode().splitlines(keepends=True), "f").tokens == ["a", "b\U0003fffdc"]


def test_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of more bytes or lines than the limits is read no further than that."""
    for limit, most in (("_MOST_TOKENS", 2), ("_MOST_BYTES", 100)):
        with monkeypatch.context() as patched:
            patched.setattr(exchange, limit, most)
            lines = chain(HEAD.encode().splitlines(keepends=True), (b"1\t0\t1\t0\t%d\n" % n for n in count()))
            with pytest.raises(LedgerError, match="beyond the limit"):
                parse(lines, "f")
            assert int(next(lines).split()[-1]) < 20


LINES = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(HEAD.encode().splitlines(keepends=True)),
        st.tuples(*[st.integers(-1, 3)] * 4, st.text(max_size=5)).map(
            lambda row: "\t".join(map(str, row)).encode("utf-8", "surrogatepass") + b"\n"
        ),
        st.just(b"end\n"),
    )
)


@given(LINES, st.booleans())
def test_any_lines(lines: list[bytes], with_head: bool) -> None:
    """Whatever a file holds, it is read, or refused with what is wrong; what is read is the same once written."""
    if with_head:
        lines = [*HEAD.replace("tokens 2", f"tokens {len(lines)}").encode().splitlines(keepends=True), *lines, b"end\n"]
    try:
        counts = parse(lines, "f")
    except LedgerError as refused:
        assert re.match(r"f:\d+: ", str(refused))
        return
    rows = zip(*counts.counts.T.tolist(), counts.tokens, strict=True)
    written = write(rows, len(counts.tokens), counts.ham, counts.spam, counts.tokenizers)
    assert parse((line.encode() for line in written), "f").digest == counts.digest


@given(st.integers(0, len(HEAD + ROWS) + 3), st.binary(max_size=4))
def test_any_change(place: int, by: bytes) -> None:
    """Any bytes in the place of any others: the file is read, or refused with what is wrong."""
    whole = (HEAD + ROWS + "end\n").encode()
    with contextlib.suppress(LedgerError):
        parse((whole[:place] + by + whole[place + len(by) :]).splitlines(keepends=True), "f")


LARGE = "spamnb-counts 1\ntokenizer 1\nham {0}\nspam 1\ntokens {1}\n{2}end\n"


def large(number: int, tokens: int, occurrences: int) -> exchange.Counts:
    """Counts of so many tokens, each so often in ham; `number` tells them apart."""
    rows = "".join(f"1\t0\t{occurrences}\t0\tlarge {number} {token}\n" for token in range(tokens))
    return parse(LARGE.format(number, tokens, rows).encode().splitlines(), "f")


def test_sums_stay_whole_numbers(ledger: Ledger) -> None:
    """However much is imported, counts and totals stay whole numbers that fit: what would not is refused, and changes
    nothing; one may learn on top, and what was refused fits once another import is taken back."""
    action = 0
    for number in range(1, 5):
        action = ledger.imports.add(large(number, 249, 10**15), "x", 1.0)
    before = ledger.learned.totals().tolist(), list(ledger.journal.newest(99))
    with pytest.raises(LedgerError, match="too large to be added up"):
        ledger.imports.add(large(5, 249, 10**15), "x", 1.0)
    assert (ledger.learned.totals().tolist(), list(ledger.journal.newest(99))) == before
    ledger.learned.learn([lesson("mine", 0, {f"large 1 {token}": 65_535 for token in range(249)})])
    assert ledger.learned.verify() == []
    assert known(ledger, "large 1 1") == [2, 0, 10**15 + 65_535, 0]
    kinds = "SELECT DISTINCT typeof(ham_occurrences), typeof(ham_messages) FROM {}"
    assert [ledger._connection.all(kinds.format(table)) for table in ("total", "count")] == [
        [("integer", "integer")]
    ] * 2
    ledger.imports.take_back(action, 2.0)
    ledger.imports.add(large(5, 249, 10**15), "x", 1.0)
    assert ledger.learned.verify() == []


def test_messages_are_added_up_too(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of messages are held to the same sum as those of tokens."""
    monkeypatch.setattr("spamnb.ledger.imports.MOST_TOTAL", 10)
    ledger.imports.add(large(6, 1, 1), "x", 1.0)
    with pytest.raises(LedgerError, match="too large to be added up"):
        ledger.imports.add(large(5, 1, 1), "x", 1.0)


def test_imported_in_parts(ledger: Ledger, other: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are added up a few tokens at a time, with the same outcome."""
    monkeypatch.setattr("spamnb.ledger.imports._TOKENS", 2)
    ledger.learned.learn([lesson("mine", 1, {"x": 2, "w": 1})])
    action = carry(other, ledger)
    assert ledger.learned.totals().tolist() == [1, 2, 2, 4, 65_536, 7, 5]
    assert ledger.learned.verify() == []
    ledger.imports.take_back(action, 6.0)
    assert ledger.learned.verify() == []


def test_many_faults() -> None:
    """After ten faults the rest is not told."""
    with pytest.raises(LedgerError) as raised:
        parse([*HEAD.encode().splitlines(keepends=True), *[b"wrong\n"] * 1000], "f")
    assert len(str(raised.value).splitlines()) == 11
