"""Find the addresses in a field such as From: those that mail programs show, and to which they answer.

It decides whom a person allows, blocks and knows, so a stranger must not choose what it finds. The grammar is that of
RFC 5322: lists, names and groups (3.4), comments (3.2.2), quoted strings (3.2.4), and the obsolete forms: routes, empty
places in a list, blanks and comments inside an address (4.4). Such a field has certain addresses.

QUIRK: names have letters that RFC 5322 forbids without quotation marks, as in `a@b.example <c@d.example>` and
`[x] <c@d.example>`. mutt 2.2 and Thunderbird show and answer the address between `<` and `>` if nothing follows it. So
it is the address, and what is before it is a name, whatever it looks like.

Programs disagree about other faults. Each row below is one element of a list. "–": the program shows no address.

| written                                 | mutt                | Thunderbird            |
|-----------------------------------------|---------------------|------------------------|
| `<a@b.example> <c@d.example>`           | both, `a@b` first   | `"a@b.examplec"@d…`    |
| `a@b.example c@d.example`               | –                   | `"a@b.example c"@d…`   |
| `"a@b.example"`                         | `a@b.example`       | –                      |
| `<a@b.example`                          | –                   | `a@b.example`          |
| `<=?utf-8?q?a=40b.example?=>`           | as written          | `a@b.example`          |
| `c@d.example: a@b.example;`             | the name of a group | `"c@d.examplea"@b…`    |

Such an element is in doubt: all that may be an address in it counts, and "" beside them stands for what else a program
may read. A sender is allowed if all addresses are, which "" never is, and blocked if one of them is.

Encoded words are part of a name, never of the grammar (RFC 2047, 5 and 6.2). So the field is read before it is decoded:
the text of an encoded word may have any brackets.

Quotation marks that do not matter are left out of an address (RFC 5321, 4.1.2), and so is a dot at its end. The Sender
field does not count: neither program shows it or answers to it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.parsing.charsets import decode
from spamnb.mail.parsing.encoded_words import decode_field

_LONGEST = 254  # characters of an address (RFC 5321, 4.5.3.1)
# Of a message: fields and addresses from each end, and characters of all addresses together. Each address is compared
# with all patterns of a person.
_FIELDS, _AUTHORS, _CHARACTERS = 2, 5, 2 * _LONGEST
_LABELS = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*"
_ATOMS = r"[^\s()<>@,:;\\\"\[\].]+(?:\.[^\s()<>@,:;\\\"\[\].]+)*"
_PLAIN = lazy_pattern(  # nearly all addresses in real mail, in printable ASCII
    rf'(?:"[^"\\]*" *|[^()<>@,:;\\"\[\]]*)<({_ATOMS}@{_LABELS})>|({_ATOMS}@{_LABELS})'
)
_PIECES = lazy_pattern(r'(\\[\s\S]|[()<>@,:;."\[\]\\]|[ \t\r\n]+)')
_CONTROL = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LABEL = lazy_pattern(r"[A-Za-z0-9_\x80-\U0010ffff-]+")  # beyond ASCII: RFC 6531
_DOT_ATOM = lazy_pattern(_ATOMS)
# An address by the kinds of its tokens: a word, a quoted string, a literal; others stand for themselves. QUIRK: dots at
# the ends of a local part, and two in a row, were given out by mobile providers in Japan.
_ADDRESS = lazy_pattern(r"(?:,*@w(?:\.w)*(?:,(?:@w(?:\.w)*)?)*:)?(\.*[wq](?:\.+[wq])*\.*)@(w(?:\.w)*\.?|l)")
_NO_ADDRESS = r"\s()<>@,:;\\\"\[\]"
_LOOSE = lazy_pattern(rf"(?<![^{_NO_ADDRESS}])([^{_NO_ADDRESS}]+)\s*@(?=\s*([^{_NO_ADDRESS}]+))")
_AROUND = "'`.{}|"  # marks around an address that are not part of it


class _Token(NamedTuple):
    """kind: "w" a word, "q" a quoted string, "l" a domain literal; or a mark, which is its own kind."""

    kind: str
    text: str


class _Element(NamedTuple):
    """One place of a list. written: with comments, blanks, quotation marks. is_whole: nothing in it is left open."""

    tokens: list[_Token]
    written: str
    is_whole: bool


def shown_addresses(values: Sequence[str], spoken: Callable[[], str] | None = None) -> tuple[str, ...]:
    """Return the addresses in the fields of one name; "" after them for what is in doubt.

    `spoken` gives the charset of raw bytes.

    >>> shown_addresses(["friend@good.example <Spam@Bad.example>"])
    ('Spam@Bad.example',)
    >>> shown_addresses(["a@b.example, team: <c@d.example>;"]), shown_addresses(["<a@b.example> <c@d.example>"])
    (('a@b.example', 'c@d.example'), ('a@b.example', 'c@d.example', ''))
    """
    found = dict.fromkeys([address for value in values for address in _in_field(value, spoken)])
    return (*filter(None, found), "") if "" in found else tuple(found)


def authors(values: Sequence[str], spoken: Callable[[], str] | None = None) -> tuple[str, ...]:
    """Return what `shown_addresses` does of From; of very many fields or addresses the first and the last, and ""."""
    found = shown_addresses(_ends(values, _FIELDS), spoken)
    fewer = (_ends(found, number) for number in range(_AUTHORS, 0, -1))
    some = next(some for some in fewer if sum(map(len, some)) <= _CHARACTERS)
    return (*filter(None, some), "") if len(some) < len(found) or len(values) > 2 * _FIELDS else found


def _ends(of: Sequence[str], number: int) -> Sequence[str]:
    return of if len(of) <= 2 * number else (*of[:number], *of[-number:])


def _in_field(value: str, spoken: Callable[[], str] | None) -> Iterator[str]:
    plain = _PLAIN.fullmatch(value) if value.isascii() and value.isprintable() else None
    address = plain and (plain[1] or plain[2])
    if address and "=?" not in address and len(address) <= _LONGEST:
        yield address
        return
    for element in _elements(value):
        yield from _in_element(element, spoken)


def _elements(value: str) -> Iterator[_Element]:
    """Yield the elements of a list, and the names of groups that may be an address."""
    tokens: list[_Token] = []
    written: list[str] = []
    depth, opened, kept, in_angle = 0, "", "", False  # opened: the mark of a quoted string or literal, with its text
    for piece in _PIECES.split(value):
        if not piece:
            continue
        is_inside = depth or opened
        if not is_inside and not in_angle and piece in ",;:":
            yield _Element(tokens, "".join(written), piece != ":")
            tokens, written = [], []
            continue
        written.append(piece)
        if depth:
            depth += (piece == "(") - (piece == ")")
        elif opened:
            if piece == {'"': '"', "[": "]"}[opened]:
                tokens.append(_Token("q", kept) if opened == '"' else _Token("l", f"[{kept}]"))
                opened = ""
            else:
                kept += piece[1:] if len(piece) == 2 and piece[0] == "\\" else piece
        elif piece == "(":
            depth = 1
        elif piece in '"[':
            opened, kept = piece, ""
        elif piece[0] == "\\":
            tokens.append(_Token("\\", piece[1:]))
        elif piece[0] not in " \t\r\n":
            in_angle = in_angle if piece not in "<>" else piece == "<"
            tokens.append(_Token(piece if piece in "<>@,:;." else "w", piece))
    yield _Element(tokens, "".join(written), not depth and not opened)


def _in_element(element: _Element, spoken: Callable[[], str] | None) -> Iterator[str]:
    tokens = element.tokens
    kinds = "".join([token.kind for token in tokens])
    before, angle, inside = kinds.partition("<")
    if angle and inside.count(">") == 1 and inside.endswith(">") and "<" not in inside:
        tokens, kinds = tokens[len(before) + 1 : -1], inside[:-1]
    has_control = _CONTROL.search(element.written) is not None
    is_certain = element.is_whole and "\\" not in before and not has_control
    address = _address(tokens, kinds, spoken) if is_certain else ""
    text = "" if address else decode_field(element.written, spoken)
    if address:
        yield address
    elif has_control or "@" in text:
        plain = "".join([token.text for token in element.tokens])
        yield from dict.fromkeys([*_loosely(text), *_loosely(decode_field(plain, spoken))])
        yield ""


def _address(tokens: list[_Token], kinds: str, spoken: Callable[[], str] | None) -> str:
    """Return the address that tokens write; "" if they do not write one that is certain."""
    found = _ADDRESS.fullmatch(kinds)
    if found is None:
        return ""
    local = "".join([token.text for token in tokens[found.start(1) : found.end(1)]])
    labels = [token.text for token in tokens[found.start(2) : found.end(2)] if token.kind != "."]
    if "q" in found[1] and not _DOT_ATOM.fullmatch(local):
        local = '"' + local.replace("\\", "\\\\").replace('"', '\\"') + '"'
    address = _in_letters(f"{local}@{'.'.join(labels)}", spoken)
    is_domain = found[2] == "l" or all(map(_LABEL.fullmatch, labels))
    is_as_shown = address.isprintable() and decode_field(address) == address
    return address if is_domain and is_as_shown and len(address) <= _LONGEST else ""


def _loosely(text: str) -> Iterator[str]:
    """Yield all that may be an address in a text. Letters that nobody sees separate words for some programs."""
    for between in [""] if text.isprintable() else [" ", ""]:
        for local, domain in _LOOSE.findall("".join([c if c.isprintable() else between for c in text])):
            labels = [label for label in domain.strip(_AROUND).split(".") if label]
            if labels:
                yield f"{local.strip(_AROUND)}@{'.'.join(labels)}"[-_LONGEST:]


def _in_letters(written: str, spoken: Callable[[], str] | None) -> str:
    """Return an address with its raw bytes as letters (RFC 6532, 3.2)."""
    return written if written.isascii() else decode(written.encode("utf-8", "surrogateescape"), "", spoken)[0]
