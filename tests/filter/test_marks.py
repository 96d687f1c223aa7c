"""The words that decided, marked in the text of a message."""

from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.label import Verdict
from spamnb.filter.judge import Clue, Explanation, Judgement
from spamnb.filter.marks import Piece, marked
from spamnb.mail.excerpt import excerpt
from tests.table import over_rows

HAM, SPAM = Verdict.HAM, Verdict.SPAM


def explained(**odds: float) -> Explanation:
    """A verdict with a clue for each token, "__" for ":" in it; log-odds above 0 point to spam."""
    clues = tuple(
        Clue(token.replace("__", ":").replace("_", "."), 3 * (one < 0), 7 * (one > 0), one, 1.0)
        for token, one in odds.items()
    )
    return Explanation(Judgement(Verdict.UNSURE, 0.5, 0.0), clues, {}, len(clues))


def sides(text: str, explanation: Explanation) -> dict[str, Verdict | None]:
    """Return the marked parts of a text, and the side of each."""
    return {piece.text: piece.side for piece in marked(text, explanation) if piece.side is not None}


def test_words_are_marked_where_they_are() -> None:
    """A word that decided is marked each time, in its own spelling, with the messages that it was learned from."""
    assert marked("Buy pills, PILLS!\nBye", explained(pills=2.0, bye=-2.0)) == [
        Piece("Buy "),
        Piece("pills", SPAM, 0, 7),
        Piece(", "),
        Piece("PILLS", SPAM, 0, 7),
        Piece("!\n"),
        Piece("Bye", HAM, 3, 0),
    ]


@over_rows(
    ("text", "odds", "found"),
    [
        ("only $99.50 today", {"$dd_dd": 1.0}, {"$99.50": SPAM}),
        ("get V I A G R A now", {"viagra": 1.0}, {"V I A G R A": SPAM}),
        ("get v\u200biagra now", {"viagra": 1.0}, {"v\u200biagra": SPAM}),
        ("get ｖiаgra now", {"viagra": 1.0}, {"ｖiаgra": SPAM}),
        ("see (http://Shop.example/buy).", {"url__shop_example": 1.0}, {"http://Shop.example/buy": SPAM}),
        ("the shop.example", {"url__shop_example": 1.0}, {}),
        ("Hello you", {"opening__hello": -1.0}, {"Hello": HAM}),
        ("ACT now", {"shout__act": 1.0}, {"ACT": SPAM}),
        ("now", {"subject__now": 1.0, "from__now": 1.0}, {}),
        ("שלום עולם", {"שלום": -1.0}, {"שלום": HAM}),
        ("a word", {"word": 1.0, "opening__word": -1.0}, {}),
        ("one two", {"one": 1.0, "two": 0.05}, {"one": SPAM}),
        ("<script>alert</script>", {"script": 1.0}, {"script": SPAM}),
        ("", {"word": 1.0}, {}),
    ],
)
def test_what_is_marked(text: str, odds: dict[str, float], found: dict[str, Verdict]) -> None:
    """Words are found in any disguise that the tokenizer sees through; what decided elsewhere, or hardly, is not."""
    assert sides(text, explained(**odds)) == found


def test_a_word_in_sight_and_hidden() -> None:
    """A word that occurs both visible and hidden is marked in the visible text."""
    markup = "<p>cheap garden</p><div style='display:none'>garden meeting</div>"
    text = excerpt(f"Content-Type: text/html\n\n{markup}\n".encode(), 1000).text
    assert text == "cheap garden"
    assert sides(text, explained(garden=-1.0, meeting=-1.0, cheap=1.0)) == {"cheap": SPAM, "garden": HAM}


def test_not_too_many() -> None:
    """At most fifteen words of each side are marked, those that contribute most."""
    text = " ".join(f"w{chr(97 + number)}" for number in range(20))
    found = sides(text, explained(**{word: 1.0 + place / 100 for place, word in enumerate(text.split())}))
    assert list(found) == text.split()[5:]


@given(st.text(max_size=300), st.lists(st.sampled_from(["a", "1", "url:a.b", "opening:é", "ßx"])))
def test_any_text(text: str, tokens: list[str]) -> None:
    """The pieces of any text are the text."""
    clues = tuple(Clue(token, 1, 0, 1.0, 1.0) for token in tokens)
    pieces = marked(text, Explanation(Judgement(Verdict.UNSURE, 0.5, 0.0), clues, {}, 0))
    assert "".join(piece.text for piece in pieces) == text
