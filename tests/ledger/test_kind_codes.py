"""The codes for kinds of token on disk: every token comes back, and every question is answered in whole tokens."""

from contextlib import closing

from hypothesis import assume, given
from hypothesis import strategies as st

from spamnb.base.label import How, Label
from spamnb.ledger.connection import Connection
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.sqlite.kind_codes import ESCAPE, decode, encode, in_order, spans
from spamnb.mail.reading import Reading
from spamnb.mail.tokens.kinds import KINDS

# What ledgers hold. No line is ever changed; a new kind may have one of V to Z, [, ] and ^.
FROZEN = {
    "A": "opening-pair",
    "B": "subject-pair",
    "C": "closing",
    "D": "opening",
    "E": "received-claimed-ip",
    "F": "subject",
    "G": "received-claimed",
    "H": "url-path",
    "I": "image-url-path",
    "J": "message-id",
    "K": "from-name",
    "L": "shout",
    "M": "url",
    "N": "message-id-shape",
    "O": "from",
    "P": "image-url",
    "Q": "reply-to",
    "R": "to-name",
    "S": "to",
    "T": "received-ip",
    "U": "4",
}
BEGINNINGS = [f"{prefix}:" for prefix in KINDS] + [
    *FROZEN,
    *FROZEN.values(),
    ESCAPE,
    "@F",
    "V",
    "Z:",
    "^",
    "_",
    "`",
    "[",
]
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TOKENS = st.builds(str.__add__, st.sampled_from(["", *BEGINNINGS]), st.text(CHARACTERS, max_size=3)).filter(bool)
SOME = [
    "subject",
    "subject:lunch",
    "subject-pair:a b",
    "subaru",
    "subjects",
    "sub",
    "@",
    "@F",
    "Fx",
    "F:x",
    "U:x",
    "V:x",
    "4",
    "4: of ",
    "4:sing ",
    "40",
    "3:",
    "^",
    "z",
]


def learned(path: str, tokens: list[str]) -> Ledger:
    """A ledger that has learned these tokens."""
    ledger = Ledger(path)
    ledger.lessons.learn([Reading(b"a", "", dict.fromkeys(tokens, 1))], Label.HAM, "a test", 1.0, how=How.HAND)
    return ledger


def test_the_codes_are_frozen() -> None:
    """The codes are those that ledgers hold."""
    assert {kind.code: kind.prefix for kind in KINDS.values() if kind.code} == FROZEN


@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    """Any text is read as it was written."""
    assert decode(encode(text)) == text


@given(TOKENS)
def test_every_token_comes_back(token: str) -> None:
    """The same holds for tokens that look encoded; a text on disk is the only form of its token."""
    assert decode(encode(token)) == token
    assert encode(decode(encode(token))) == encode(token)


@given(TOKENS, st.sampled_from(["", "s", "sub", "subject:", *BEGINNINGS]))
def test_a_token_is_in_one_span(token: str, beginning: str) -> None:
    """A token is in one of the spans of how it begins, and in none of any other beginning."""
    text = encode(token)
    inside = [code for first, end, code in spans(beginning) if first <= text and (end == b"" or text < str(end))]
    assume(not (beginning and token.startswith(f"{beginning}\U0010ffff")))  # the last of all characters, and unused
    assert len(inside) == token.startswith(beginning)
    assert all(decode(text).startswith(f"{FROZEN[code]}:") for code in inside if code)


@given(st.lists(TOKENS, max_size=30))
def test_the_spans_are_in_order(tokens: list[str]) -> None:
    """All tokens, by the spans one after another, are in the order of their code points."""
    texts = sorted(map(encode, tokens))
    found = [
        decode(text) for first, end, _ in spans() for text in texts if first <= text and (end == b"" or text < str(end))
    ]
    assert found == sorted(tokens)


def test_the_dictionary_in_order(ledger: Ledger, path: str) -> None:
    """The dictionary is read in the order of whole tokens, by the index alone, and looked up by them."""
    ledger.close()
    with learned(path, SOME) as again:
        assert again.lessons.counts(SOME).messages[0].tolist() == [1] * len(SOME)
        assert again.lessons.counts(["F", "Flunch", "lunch", "subject:", "x", "@Fx"]).messages[0].tolist() == [0] * 6
        assert again.lessons.beginning_with("subj", 9) == ["subject", "subject-pair:a b", "subject:lunch", "subjects"]
        assert again.lessons.beginning_with("sub", 3) == ["sub", "subaru", "subject"]
        assert again.lessons.beginning_with("F", 9) == ["F:x", "Fx"]
        assert again.lessons.beginning_with("@", 9) == ["@", "@F"]
        of_kinds = again.lessons.frequent(1, ["subject:", "F:", "nothing:"]).ids.tolist()
        assert sorted(again.lessons.texts(of_kinds).values()) == ["F:x", "subject:lunch"]
    with closing(Connection(path)) as db:
        assert [token for token, _ in in_order(db)] == sorted(SOME)
        plans = [
            row[-1]
            for row in db.all(
                "EXPLAIN QUERY PLAN SELECT text, id FROM token WHERE text >= ? AND text < ? ORDER BY text", ("a", b"")
            )
        ]
    assert plans == ["SEARCH token USING PRIMARY KEY (text>? AND text<?)"]


@given(st.lists(TOKENS, unique=True, min_size=1, max_size=30))
def test_both_stores_say_the_same(tmp_path_factory, tokens: list[str]) -> None:  # type: ignore[no-untyped-def]
    """Exports, the tokens of a kind, and their texts are the same as in a store without codes."""
    memory = MemoryLessons()
    memory.learn([Reading(b"a", "", dict.fromkeys(tokens, 1))], Label.HAM, "a test", 1.0, how=How.HAND)
    with learned(str(tmp_path_factory.mktemp("codes") / "ledger"), tokens) as ledger:
        assert "".join(ledger.lessons.export()) == "".join(memory.export())
        of_both = []
        for lessons in (ledger.lessons, memory):
            kinds = lessons.families()
            texts = lessons.texts(range(len(kinds)))
            together: dict[int, set[str]] = {}
            for id_, text in texts.items():
                together.setdefault(int(kinds[id_]), set()).add(text)
            of_both.append(sorted(map(sorted, together.values())))
        assert of_both[0] == of_both[1]
        assert ledger.lessons.verify() == []
