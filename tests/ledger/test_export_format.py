"""Counts as text, and adding them up."""

import contextlib
import json
import re
import tracemalloc
import zlib
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.acts.training import import_counts
from spamnb.base.errors import LedgerError
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons import export_format as exchange
from spamnb.ledger.lessons.export_format import parse, write
from spamnb.mail.tokens.tokenizer import VERSION
from tests.lessons import known, learn, lesson, set_label, take_back
from tests.table import over_rows

HEAD = '{"spamnb-counts": 1, "tokenizer": [1], "ham": 2, "spam": 1, "tokens": 2}\n'
ROWS = '[2, 0, 3, 0, "a"]\n[0, 1, 0, 1, "b c"]\n'


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Ledger]:
    """Another person's ledger, with counts of its own."""
    with Ledger(str(tmp_path / "other.sqlite")) as opened:
        learn(opened, [lesson("theirs", 1, {"x": 3, "z": 1}), lesson("theirs too", 0, {"y": 70_000, "": 1})])
        yield opened


def exported(ledger: Ledger) -> str:
    """The text of an export."""
    return "".join(ledger.lessons.export())


def standing(ledger: Ledger, digest: bytes) -> int | None:
    """Return the action that imported exactly these counts, if it counts."""
    found = ledger.journal.import_of(digest)
    return None if found is None else found.id


def carry(source: Ledger, target: Ledger, at: float = 5.0) -> int:
    """Import one ledger's counts into another."""
    return import_counts(target, parse(exported(source).encode().splitlines(keepends=True), "x"), "x", at)


def test_format(ledger: Ledger) -> None:
    """An export has a header with version and class totals, and a line a token with its four counts."""
    learn(ledger, [lesson("a", 0, {"b c": 2, "a": 1}), lesson("b", 1, {"a": 1, "t\n\\": 1})])
    forgotten = learn(ledger, [lesson("c", 1, {"gone": 1})])
    assert forgotten
    seen = ledger.messages.find(b"c")
    assert seen is not None
    set_label(ledger, seen.id, None, 2.0, "a test")
    assert exported(ledger) == (
        f'{{"spamnb-counts": 1, "tokenizer": [{VERSION}], "ham": 1, "spam": 1, "tokens": 3}}\n'
        '[1, 1, 1, 1, "a"]\n[1, 0, 2, 0, "b c"]\n[0, 1, 0, 1, "t\\n\\\\"]\n'
    )


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_token_can_be_written(token: str) -> None:
    """Any token comes back from its line, which is printable ASCII."""
    lines = list(write([(1, 0, 1, 0, token)], 1, 1, 0, [1]))
    assert all(line[:-1].isascii() and line[:-1].isprintable() and line[-1] == "\n" for line in lines)
    assert parse((line.encode() for line in lines), "f").tokens == [token]


def test_blanks_at_the_ends_of_a_token(ledger: Ledger, tmp_path: Path) -> None:
    """They are the token's own: exported, imported, looked up and listed. Blanks around a line of an export are not."""
    tokens = ["4: of ", "4: of", "4:of ", " ", "a ", " a", "a", "subject: x "]
    learn(ledger, [lesson("mine", 0, dict.fromkeys(tokens, 1))])
    with Ledger(str(tmp_path / "third.sqlite")) as third:
        carry(ledger, third)
        assert exported(third).splitlines()[1:] == exported(ledger).splitlines()[1:]
        assert all(known(third, token) == [1, 0, 1, 0] for token in tokens)
        assert third.lessons.evidence(["4: of ", "4:  of", "4: of\t"]).counts == {"4: of ": (1, 0, 1, 0)}
        assert third.lessons.beginning_with("4: ", 9) == ["4: of", "4: of "]
        assert sorted(third.lessons.texts(range(1, 9)).values()) == sorted(tokens)
    stripped = [f"  {line.strip()}  ".encode() for line in exported(ledger).splitlines()]
    assert parse(stripped, "x").tokens == sorted(tokens)


def test_import_adds_up(ledger: Ledger, other: Ledger) -> None:
    """Imported counts are added to the local ones, and `verify` includes them."""
    learn(ledger, [lesson("mine", 1, {"x": 2, "w": 1})])
    carry(other, ledger)
    assert known(ledger, "x") == [0, 2, 0, 5]
    assert known(ledger, "z") == [0, 1, 0, 1]
    assert known(ledger, "y") == [1, 0, 65_535, 0]
    assert ledger.lessons.totals().tolist() == [1, 2, 2, 4, 65_536, 7, 5]
    assert ledger.lessons.verify() == []
    ledger._connection.execute("UPDATE import SET spam_messages = 2")
    assert any("totals" in fault for fault in ledger.lessons.verify())
    ledger._connection.execute("UPDATE import SET tokens = x'00'")
    assert any("import" in fault for fault in ledger.lessons.verify())


def test_export_holds_what_was_imported(ledger: Ledger, other: Ledger, tmp_path: Path) -> None:
    """An export of a ledger with imports includes them: a third ledger gets the sum of both."""
    learn(ledger, [lesson("mine", 1, {"x": 2})])
    carry(other, ledger)
    with Ledger(str(tmp_path / "third.sqlite")) as third:
        carry(ledger, third)
        assert known(third, "x") == known(ledger, "x") == [0, 2, 0, 5]
        assert exported(third).splitlines()[1:] == exported(ledger).splitlines()[1:]


def test_an_import_holds_no_more_tokens_than_the_ledger(ledger: Ledger, other: Ledger) -> None:
    """An import with more tokens than the dictionary has is damage, and is not unpacked further."""
    carry(other, ledger)
    ledger._connection.execute("UPDATE import SET tokens = ?", (zlib.compress(bytes(40_000_000), 9),))
    tracemalloc.start()
    (said,) = [fault for fault in ledger.lessons.verify() if "import" in fault]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "the tokens of import 1 in the ledger are damaged" in said
    assert most < 5_000_000


def test_import_is_taken_back(ledger: Ledger, other: Ledger) -> None:
    """Undoing an import restores the counts, even if messages were learned in between."""
    learn(ledger, [lesson("mine", 1, {"x": 2})])
    action = carry(other, ledger)
    learn(ledger, [lesson("later", 0, {"x": 1, "z": 1})])
    take_back(ledger, action, 6.0)
    assert known(ledger, "x") == [1, 1, 1, 2]
    assert known(ledger, "z") == [1, 0, 1, 0]
    assert ledger.lessons.totals().tolist() == [1, 1, 2, 1, 2, 2, 2]
    assert ledger.lessons.verify() == []
    assert [(one.kind, one.state, one.why) for one in ledger.journal.newest(9) if one.kind == "imported"] == [
        ("imported", "done", f"undo of {action}"),
        ("imported", "undone", "1 ham and 1 spam messages"),
    ]
    with pytest.raises(LedgerError, match="no longer counts"):
        take_back(ledger, action, 7.0)


def test_an_import_is_taken_back_once(ledger: Ledger, other: Ledger) -> None:
    """Only one of two equal imports is undone, even if two processes undo it at once."""
    first, second = carry(other, ledger), carry(other, ledger)
    take_back(ledger, first, 6.0)
    with pytest.raises(LedgerError, match="no longer counts"):
        take_back(ledger, first, 7.0)
    assert ledger.lessons.imported() == (1, 1)
    take_back(ledger, second, 8.0)
    assert ledger.lessons.imported() == (0, 0)


def test_killed_before_it_is_recorded(ledger: Ledger, other: Ledger, path: str) -> None:
    """An import, and that it was taken back, is recorded by the next process that opens the ledger, once."""
    counts = parse(exported(other).encode().splitlines(keepends=True), "x")
    before = ledger.lessons.totals().tolist()
    ledger.lessons.add_import(counts, "x", "added", 1.0)  # and killed: the history is a transaction of its own
    assert standing(ledger, counts.digest) is None
    with Ledger(path) as second, Ledger(path):
        action = standing(second, counts.digest)
        assert action is not None
        second.lessons.take_import_back(counts.digest, "undone", 2.0, takes_back=action)  # and killed
    with Ledger(path) as third, Ledger(path):
        found = [(one.kind, one.summary, one.state, one.why, one.takes_back) for one in third.journal.newest(9)]
        assert found == [("imported", "x", "done", "undone", action), ("imported", "x", "undone", "added", None)]
        assert third.lessons.totals().tolist() == before
        assert third.verify() == []


def test_the_same_counts_are_known_again(ledger: Ledger, other: Ledger) -> None:
    """The same counts are recognised however their file is written; once taken back they are not."""
    counts = parse(exported(other).encode().splitlines(keepends=True), "x")
    assert standing(ledger, counts.digest) is None
    action = import_counts(ledger, counts, "x", 1.0)
    head, *rows = exported(other).splitlines()
    shuffled = "\r\n".join([head, *reversed(rows)]) + "\r\n"
    again = parse(shuffled.encode().splitlines(keepends=True), "x")
    assert standing(ledger, again.digest) == action
    second = import_counts(ledger, again, "x", 2.0)
    take_back(ledger, second, 3.0)
    assert standing(ledger, counts.digest) == action
    take_back(ledger, action, 3.0)
    assert standing(ledger, counts.digest) is None
    assert ledger.lessons.totals().tolist() == [0] * 7


def test_all_or_nothing(ledger: Ledger, other: Ledger) -> None:
    """An import that fails half-way leaves nothing."""
    pages = ledger._connection.row("PRAGMA page_count")[0]
    ledger._connection.row(f"PRAGMA max_page_count = {pages + 3}")
    lines = write(((1, 0, 1, 0, f"token {i}") for i in range(20_000)), 20_000, 1, 0, [1])
    with pytest.raises(LedgerError, match="free some space"):
        import_counts(ledger, parse(map(str.encode, lines), "x"), "x", 1.0)
    assert ledger.lessons.totals().tolist() == [0] * 7
    assert list(ledger.journal.newest(9)) == []
    assert ledger.lessons.verify() == []


def changed(old: str, new: str) -> str:
    """An export with a change."""
    assert old in HEAD + ROWS
    return (HEAD + ROWS).replace(old, new, 1)


NO_ROW = "is not a list of four numbers and a token"
FAULTS = {
    "another file": ("my diary\n", 1, "an export"),
    "nothing": ("", 1, "an export"),
    "other JSON": ('{"ham": 1}\n', 1, "an export"),
    "a later format": (changed('counts": 1', 'counts": 2'), 1, "upgrade spamnb"),
    "no tokenizer": (changed("[1]", '["x"]'), 1, "version numbers"),
    "no number": (changed('"ham": 2', '"ham": "many"'), 1, "no 'ham' with a number"),
    "a number below zero": (changed('"spam": 1', '"spam": -1'), 1, "no 'spam' with a number"),
    "too many messages": (changed('"spam": 1', '"spam": 1000000001'), 1, "no 'spam' with a number"),
    "another number of tokens": (changed('"tokens": 2', '"tokens": 3'), 3, "2 tokens of 3"),
    "cut in the header": (HEAD[:30], 1, "an export"),
    "cut between lines": (HEAD + ROWS[:18], 2, "1 tokens of 2: lines are missing"),
    "cut in a line": ((HEAD + ROWS)[:-3], 3, "cut short"),
    "more after the end": (HEAD + ROWS + '[1, 0, 1, 0, "c"]\n', 4, "3 tokens of 2"),
    "no JSON": (changed("[2, 0, 3", "[2 0 3"), 2, "is not JSON"),
    "nested without end": (changed("[2, 0", "[" * 3000), 2, "is not JSON"),
    "a number too few": (changed("[2, 0, ", "[2, "), 2, NO_ROW),
    "an object": (changed('[2, 0, 3, 0, "a"]', '{"a": 2}'), 2, NO_ROW),
    "a fraction": (changed("[2, 0", "[2.0, 0"), 2, NO_ROW),
    "no number at all": (changed("[2, 0", "[true, NaN"), 2, NO_ROW),
    "a token that is none": (changed('"a"', "7"), 2, NO_ROW),
    "other digits": (changed("[2, 0", "[٢, 0"), 2, "not printable ASCII"),
    "a token twice": (changed("b c", "a"), 3, "token of line 2 again"),
    "in no message": (changed("2, 0, 3, 0", "0, 0, 0, 0"), 2, "in no message"),
    "in more than all": (changed("2, 0, 3, 0", "3, 0, 3, 0"), 2, "more messages than there are"),
    "too few occurrences": (changed("2, 0, 3, 0", "2, 0, 1, 0"), 2, "do not fit"),
    "occurrences in no message": (changed("2, 0, 3, 0", "2, 0, 3, 1"), 2, "do not fit"),
    "a loose backslash": (changed("b c", "b\\c"), 3, "is not JSON"),
    "half a character": (changed("b c", "\\ud800"), 3, "half a character"),
    "too many tokens": (changed('"tokens": 2', '"tokens": 5000001'), 1, "more than 5000000 tokens"),
    "a control character": (changed("b c", "b\x1b[2Jc"), 3, "not printable ASCII"),
    "a tab in a token": (changed("b c", "b\tc"), 3, "not printable ASCII"),
    "a line separator": (changed("b c", "b\u2028c"), 3, "not printable ASCII"),
    "writing turned around": (changed("b c", "b\u202ec"), 3, "not printable ASCII"),
    "too much": (changed(" 3,", " 999999999999999999,"), 2, "do not fit"),
    "much too much": (changed(" 3,", f" {10**30},"), 2, NO_ROW),
}


@over_rows(("text", "line", "said"), FAULTS.values())
def test_faults_are_named_by_line(text: str, line: int, said: str) -> None:
    """Each fault of a file is reported with its line."""
    with pytest.raises(LedgerError) as raised:
        parse(text.encode().splitlines(keepends=True), "counts.txt")
    first = str(raised.value).splitlines()[0]
    assert first.startswith(f"counts.txt:{line}: "), first
    assert said in first


def test_bytes_that_are_no_text() -> None:
    """Non-ASCII bytes and endless lines are reported with their line; several faults are reported together."""
    with pytest.raises(LedgerError) as raised:
        parse([HEAD.encode(), b'[1, 0, 1, 0, "\xff"]\n', b"x" * 70_000], "f")
    assert [line.partition(": ")[2] for line in str(raised.value).splitlines()] == [
        "has a character that is not printable ASCII; write it as \\uXXXX",
        "is longer than 4096 bytes",
        "export it again, or correct these lines",
    ]


def test_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with more bytes or lines than the limits is not read beyond them."""
    for limit, most in (("_MOST_TOKENS", 2), ("_MOST_BYTES", 100)):
        with monkeypatch.context() as patched:
            patched.setattr(exchange, limit, most)
            lines = chain(HEAD.encode().splitlines(keepends=True), (b'[1, 0, 1, 0, "%d"]\n' % n for n in count()))
            with pytest.raises(LedgerError, match="beyond the limit"):
                parse(lines, "f")
            assert int(next(lines).split(b'"')[1]) < 20


LINES = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(HEAD.encode().splitlines(keepends=True)),
        st.tuples(*[st.integers(-1, 3)] * 4, st.text(max_size=5)).map(lambda row: json.dumps(row).encode() + b"\n"),
    )
)


@given(LINES, st.booleans())
def test_any_lines(lines: list[bytes], with_head: bool) -> None:
    """Any file is read, or refused with the fault; what is read can be written unchanged."""
    if with_head:
        lines = [HEAD.replace('"tokens": 2', f'"tokens": {len(lines)}').encode(), *lines]
    try:
        counts = parse(lines, "f")
    except LedgerError as refused:
        assert re.match(r"f:\d+: ", str(refused))
        return
    rows = zip(*counts.counts.T.tolist(), counts.tokens, strict=True)
    written = write(rows, len(counts.tokens), counts.ham, counts.spam, counts.tokenizers)
    assert parse((line.encode() for line in written), "f").digest == counts.digest


@given(st.integers(0, len(HEAD + ROWS)), st.binary(max_size=4))
def test_any_change(place: int, by: bytes) -> None:
    """A file with any bytes replaced is read, or refused with the fault."""
    whole = (HEAD + ROWS).encode()
    with contextlib.suppress(LedgerError):
        parse((whole[:place] + by + whole[place + len(by) :]).splitlines(keepends=True), "f")


def large(number: int, tokens: int, occurrences: int) -> exchange.ExportedCounts:
    """Counts of so many tokens, each so often in ham; `number` tells them apart."""
    rows = ((1, 0, occurrences, 0, f"large {number} {token}") for token in range(tokens))
    return parse(map(str.encode, write(rows, tokens, number, 1, [1])), "f")


def test_sums_stay_whole_numbers(ledger: Ledger) -> None:
    """However much is imported, counts and totals stay whole numbers that fit: what would not is refused, and changes
    nothing; one may learn on top, and what was refused fits once another import is taken back."""
    action = 0
    for number in range(1, 5):
        action = import_counts(ledger, large(number, 249, 10**15), "x", 1.0)
    before = ledger.lessons.totals().tolist(), list(ledger.journal.newest(99))
    with pytest.raises(LedgerError, match="too large to be added up"):
        import_counts(ledger, large(5, 249, 10**15), "x", 1.0)
    assert (ledger.lessons.totals().tolist(), list(ledger.journal.newest(99))) == before
    learn(ledger, [lesson("mine", 0, {f"large 1 {token}": 65_535 for token in range(249)})])
    assert ledger.lessons.verify() == []
    assert known(ledger, "large 1 1") == [2, 0, 10**15 + 65_535, 0]
    kinds = "SELECT DISTINCT typeof(ham_occurrences), typeof(ham_messages) FROM total"
    assert ledger._connection.all(kinds) == [("integer", "integer")]
    take_back(ledger, action, 2.0)
    import_counts(ledger, large(5, 249, 10**15), "x", 1.0)
    assert ledger.lessons.verify() == []


def test_learned_on_top_of_the_most(ledger: Ledger) -> None:
    """Lessons on top of the largest possible import leave a sound ledger."""
    for number in range(1, 5):
        import_counts(ledger, large(number, 250, 10**15), "x", 1.0)
    learn(ledger, [lesson("mine", 0, {"large 1 1": 65_535})])
    assert ledger.lessons.totals()[4] > 10**18
    assert ledger.verify() == []


def test_messages_are_added_up_too(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of messages are held to the same sum as those of tokens."""
    monkeypatch.setattr("spamnb.ledger.lessons.export_format.MOST_TOTAL", 10)
    import_counts(ledger, large(6, 1, 1), "x", 1.0)
    with pytest.raises(LedgerError, match="too large to be added up"):
        import_counts(ledger, large(5, 1, 1), "x", 1.0)


def test_imported_in_parts(ledger: Ledger, other: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are added up a few tokens at a time, with the same outcome."""
    monkeypatch.setattr("spamnb.ledger.lessons.sqlite.imports._TOKENS", 2)
    learn(ledger, [lesson("mine", 1, {"x": 2, "w": 1})])
    action = carry(other, ledger)
    assert ledger.lessons.totals().tolist() == [1, 2, 2, 4, 65_536, 7, 5]
    assert ledger.lessons.verify() == []
    take_back(ledger, action, 6.0)
    assert ledger.lessons.verify() == []


def test_many_faults() -> None:
    """After ten faults the rest is not reported."""
    with pytest.raises(LedgerError) as raised:
        parse([HEAD.encode(), *[b"wrong\n"] * 1000], "f")
    assert len(str(raised.value).splitlines()) == 11
