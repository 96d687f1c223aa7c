"""How the dictionary on disk writes tokens: one character, the code, replaces the prefix of a common kind.

`opening-pair:dear friend` is kept as `Adear friend`. Each token is in the dictionary once, and most tokens have one of
a few prefixes. Without grams the codes save a seventh of a ledger of csdmc2010: it has 2,122 instead of 2,484
bytes per message (`benchmarks/footprint.py`). Looking up takes as long. The rest of the program uses whole tokens.

Codes are in the range from @ to ^. The tokenizer never begins a token with one of these. An import may; then ESCAPE
comes before the text. So each text has one form on disk, and each form belongs to one text. Codes are printable ASCII:
one byte in UTF-8. JSON, by which tokens are looked up, does not escape them; a control character takes six bytes there.

The codes are in the column `code` of `mail/tokens/kinds.py`, and on disk: none is ever changed, removed, or given to
another prefix. A kind may get one of the codes that are left (V to Z, [, ] and ^) only by a step of the schema. The
step rewrites the kind's tokens, and adds up those in both forms, since an import may have brought them before. An older
program does not know the code, and must refuse the ledger. U needed no such step: it came before the first release,
when no ledger had tokens of its kind. (\\ is left out, because JSON escapes it.)

The first 20 kinds with codes save most, over csdmc2010 and Enron together: 99 % of what codes for all 60 would save.
For a kind with few distinct tokens (`tag:`, `charset:`) a code saves nothing.
"""

from collections.abc import Iterator
from typing import Final

from spamnb.base.errors import LedgerDamagedError
from spamnb.ledger.connection import Connection
from spamnb.mail.tokens.kinds import KINDS

ESCAPE: Final = "@"
FIRST: Final = "@"
_BEHIND = "_"  # the first character after "^", the last code
_HIGHEST = "\U0010ffff"
_END = b""  # to SQLite each text is less than any blob
_CODES = {kind.prefix: kind.code for kind in KINDS.values() if kind.code}
_PREFIXES = {code: f"{prefix}:" for prefix, code in _CODES.items()}
_SORTED = sorted([(FIRST, ESCAPE), *((prefix, code) for code, prefix in _PREFIXES.items())])
_BETWEEN = "SELECT text, id FROM token WHERE text >= ? AND text < ? ORDER BY text"


def encode(token: str) -> str:
    """Return a token's form on disk.

    >>> encode("subject:hello"), encode("hello"), encode("known:answer"), encode("Fhello")
    ('Fhello', 'hello', 'known:answer', '@Fhello')
    """
    prefix, colon, text = token.partition(":")
    if colon and (code := _CODES.get(prefix)):
        return code + text
    return ESCAPE + token if FIRST <= token < _BEHIND else token


def decode(text: str) -> str:
    """Return the token of a text on disk. Raises LedgerDamagedError for an unknown code.

    >>> decode("Fhello"), decode("hello"), decode("@Fhello")
    ('subject:hello', 'hello', 'Fhello')
    """
    if not FIRST <= text < _BEHIND:
        return text
    if text[0] not in _PREFIXES and text[0] != ESCAPE:
        raise LedgerDamagedError(f"The ledger is damaged: token {text!r} has an unknown kind. Restore a copy of it")
    return _PREFIXES.get(text[0], "") + text[1:]


def spans(beginning: str = "") -> Iterator[tuple[str, str | bytes, str]]:
    """Yield the spans on disk of the tokens with this beginning, in the order of whole tokens.

    A span is its first text on disk, the end that all its texts are below, and the code of its kind ("" for none).

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
    """Yield the dictionary's tokens with this beginning, and their ids, in the order of their code points."""
    for first, end, _ in spans(beginning):
        for text, id_ in db.rows(_BETWEEN, (first, end)):
            yield decode(text), id_
