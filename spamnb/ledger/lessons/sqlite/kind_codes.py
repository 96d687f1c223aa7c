"""How the dictionary on disk writes tokens: with one character, its code, for the prefix of a common kind.

`opening-pair:dear friend` is kept as `Adear friend`. Each token is in the dictionary once, and most of them have one of
few prefixes. Without grams the codes save a seventh of a ledger of csdmc2010 (2,122 for 2,484 bytes a message,
`benchmarks/footprint.py`), and looking up takes as long. All the rest of the program speaks of whole tokens.

Codes are of the range from @ to ^. The tokenizer never begins a token with one of these; an import may, and such
a text gets ESCAPE before it. So each text has one form on disk, and each form is of one text. They are printable ASCII:
one byte in UTF-8, and not escaped in the JSON by which tokens are looked up, where a control character takes six.

The codes are in the column `code` of `mail/tokens/kinds.py`, and are on disk: none is ever changed, taken away, or
given to another prefix. A kind may get one of those that are left, V to Z, [, ] and ^, only by a step of the schema
that writes its tokens anew and adds up those that are there in both forms: an import may have brought them before, and
an earlier program, which does not know the code, must refuse the ledger. U needed no such step: it came before the
first release, when no ledger had tokens of its kind. (\\ is left out, which JSON escapes.)

The first 20 kinds that have one save most, over csdmc2010 and Enron together: 99 % of what codes for all 60 would. For
a kind with few distinct tokens (`tag:`, `charset:`) a code saves nothing.
"""

from collections.abc import Iterator
from typing import Final

from spamnb.base.errors import LedgerDamagedError
from spamnb.ledger.connection import Connection
from spamnb.mail.tokens.kinds import KINDS

ESCAPE: Final = "@"
FIRST: Final = "@"
_BEHIND = "_"  # the first character behind "^", the last of them
_HIGHEST = "\U0010ffff"
_END = b""  # to SQLite each text is less than any blob
_CODES = {kind.prefix: kind.code for kind in KINDS.values() if kind.code}
_PREFIXES = {code: f"{prefix}:" for prefix, code in _CODES.items()}
_SORTED = sorted([(FIRST, ESCAPE), *((prefix, code) for code, prefix in _PREFIXES.items())])
_BETWEEN = "SELECT text, id FROM token WHERE text >= ? AND text < ? ORDER BY text"


def encode(token: str) -> str:
    """A token as it is on disk.

    >>> encode("subject:hello"), encode("hello"), encode("known:answer"), encode("Fhello")
    ('Fhello', 'hello', 'known:answer', '@Fhello')
    """
    prefix, colon, text = token.partition(":")
    if colon and (code := _CODES.get(prefix)):
        return code + text
    return ESCAPE + token if FIRST <= token < _BEHIND else token


def decode(text: str) -> str:
    """The token of a text on disk. Raises LedgerDamagedError for a code that no kind has.

    >>> decode("Fhello"), decode("hello"), decode("@Fhello")
    ('subject:hello', 'hello', 'Fhello')
    """
    if not FIRST <= text < _BEHIND:
        return text
    if text[0] not in _PREFIXES and text[0] != ESCAPE:
        raise LedgerDamagedError(f"The ledger is damaged, it has a token of no kind, {text!r}: restore a copy of it")
    return _PREFIXES.get(text[0], "") + text[1:]


def spans(beginning: str = "") -> Iterator[tuple[str, str | bytes, str]]:
    """Where the tokens that begin so are: one span after another, they come in the order of whole tokens.

    A span is the first text on disk, the end that all are below, and their code where they are of one kind that has
    one, else "".

    >>> [(first, code) for first, _, code in spans("subject")]
    [('subject', ''), ('B', 'B'), ('subject-pair:', ''), ('F', 'F'), ('subject:', '')]
    >>> [first for first, *_ in spans("subject:he")]
    ['Fhe']
    """
    first = encode(beginning)
    if first != beginning:
        yield first, first + _HIGHEST, first if first in _PREFIXES else ""
        return
    for prefix, code in _SORTED:
        if prefix.startswith(beginning):
            yield first, prefix, ""
            yield code, chr(ord(code) + 1), code if code in _PREFIXES else ""
            first = _BEHIND if code == ESCAPE else prefix
    yield first, beginning + _HIGHEST if beginning else _END, ""


def in_order(db: Connection, beginning: str = "") -> Iterator[tuple[str, int]]:
    """The tokens of the dictionary that begin so, and their ids, in the order of their code points."""
    for first, end, _ in spans(beginning):
        for text, id_ in db.rows(_BETWEEN, (first, end)):
            yield decode(text), id_
