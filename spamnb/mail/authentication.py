"""Read what the person's own server found out about a message: Authentication-Results (RFC 8601).

Anyone can write this field. The server puts its own field above all that came with the message, so only the topmost
one with the server's name counts. The server also removes fields that bear its name (section 5). If it does neither for
some mail, a stranger may be taken for signed; so this alone must never make mail ham.

Two domains are of one site if one is below the other, or if `site_of` has one value for both. A list of public suffixes
would also know that two names below `asso.fr` belong to different people. Such a list ages, and hosts have different
ones. It would stop nobody: a stranger who signs for another name below `asso.fr` can as well sign for an own name.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.path import site_of

ALIGNED = "aligned"
_RESULTS = frozenset({"none", "pass", "fail", "softfail", "policy", "neutral", "temperror", "permerror"})
_SIGNED = ("header.d", "header.i")
_VERSION, _ESCAPE = "1", "\\"
_NOT_IN_QUOTED_COMMENT = ("(", ")", _ESCAPE)
_PIECES = lazy_pattern(r"\\[\s\S]?|[()\";=]|\s+|[^\\()\";=\s]+")

_Word = str | None
"""A word, or None for an equals sign outside quotes."""


class Authentication(NamedTuple):
    """The results of one field: "pass", "fail" or another word of RFC 8601; "" without a result.

    `dkim` and `dmarc` are "aligned" if they passed for the site of From. `dkim` is the best of several signatures.
    """

    dkim: str = ""
    spf: str = ""
    dmarc: str = ""

    @property
    def is_aligned(self) -> bool:
        """Tell whether the server vouches for the site of From."""
        return ALIGNED in (self.dkim, self.dmarc)


def authentication(results: Sequence[str], authserv_id: str, sender: str) -> Authentication | None:
    """Return the results of the server with that name, in the topmost of its fields; None if that field is damaged.

    results: the values of Authentication-Results, the topmost first. sender: the only address in From.

    >>> authentication(["mx.example.org; dkim=pass header.d=shop.example"], "mx.example.org", "news@mail.shop.example")
    Authentication(dkim='aligned', spf='', dmarc='')
    """
    for value in results:
        statements, is_whole = _statements(value)
        name, *version = statements[0] or [None]
        if name is not None and name.lower() == authserv_id.lower():
            is_known = is_whole and version in ([], [_VERSION])
            return _read(statements[1:], sender.rpartition("@")[2]) if is_known else None
    return None


def server_of(value: str) -> str:
    """Return the name of the server that wrote a field, in lower case; "" if the field has none, or is damaged.

    >>> server_of("mx.example.org 1; none"), server_of("spf=pass; dkim=none")
    ('mx.example.org', '')
    """
    statements, is_whole = _statements(value)
    name, *version = statements[0] or [None]
    return name.lower() if name is not None and is_whole and version in ([], [_VERSION]) else ""


def _read(statements: Sequence[Sequence[_Word]], author: str) -> Authentication:
    """Return the results of a field. author: the domain of From."""
    found: dict[str, list[str]] = {"dkim": [], "spf": [], "dmarc": []}
    for statement in statements:
        (method, result), *properties = [*_pairs(statement)] or [("", "")]
        method, result = method.partition("/")[0], result.lower()
        if method in found and result in _RESULTS:
            if result == "pass" and _is_for(author, method, properties):
                result = ALIGNED
            found[method].append(result)
    dkim = [best for best in (ALIGNED, "pass") if best in found["dkim"]] + found["dkim"]
    # A message has one address in From: two results of DMARC, or of SPF, cannot both be the server's.
    spf, dmarc = (found[method][0] if len(found[method]) == 1 else "" for method in ("spf", "dmarc"))
    return Authentication(dkim[0] if dkim else "", spf, dmarc)


def _is_for(author: str, method: str, properties: Sequence[tuple[str, str]]) -> bool:
    """Tell whether a result that passed is about the site of From."""
    named = [(key, value.lower().rpartition("@")[2]) for key, value in properties]
    if method == "dmarc":
        return author != "" and all(
            _in_the_dns(value) == _in_the_dns(author) for key, value in named if key == "header.from"
        )
    return method == "dkim" and any(_is_one_site(value, author) for key, value in named if key in _SIGNED)


def _is_one_site(domain: str, author: str) -> bool:
    """Tell whether two domains are of one site."""
    one, other = _in_the_dns(domain), _in_the_dns(author)
    sites = site_of(one), site_of(other)
    if not all(sites):
        return False
    return sites[0] == sites[1] or one.endswith(f".{other}") or other.endswith(f".{one}")


def _in_the_dns(domain: str) -> str:
    """Return a domain in lower case and in the letters of the DNS."""
    domain = domain.lower().strip(".")
    try:
        return domain if domain.isascii() else domain.encode("idna").decode("ascii")
    except UnicodeError:  # such a domain cannot exist
        return ""


def _pairs(statement: Sequence[_Word]) -> Iterator[tuple[str, str]]:
    """Yield the names of a statement, in lower case, with their values.

    QUIRK: some servers write signatures, which end in `=`, without quotation marks.
    """
    at = 0
    while at + 2 < len(statement):
        name, equals, value = statement[at : at + 3]
        if name is not None and equals is None and value is not None:
            yield name.lower(), value
            at += 2
        at += 1


def _statements(value: str) -> tuple[list[list[_Word]], bool]:
    """Return the words of each statement, and whether the field is whole: whether it has only one meaning.

    All quotation marks and comments must be closed. QUIRK: Rspamd quotes addresses in comments, such as those with "="
    by which newsletters know a bounce. To RFC 5322 a quotation mark there is a letter. If a parenthesis or an escape is
    between two of them, a stranger may have ended the comment, or the quotation, by a chosen address. The same holds
    for an escape outside quotation marks, where no server needs one.
    """
    statements: list[list[_Word]] = [[]]
    word: str | None = None
    depth, is_quoted, is_whole = 0, False, True
    for piece in _PIECES.findall(value):
        if piece == '"':
            word, is_quoted = word if depth else word or "", not is_quoted
        elif is_quoted and depth:
            is_whole = is_whole and piece[0] not in _NOT_IN_QUOTED_COMMENT
        elif is_quoted:
            word = f"{word}{piece[1:] if piece[0] == _ESCAPE else piece}"
        elif depth:
            depth += (piece == "(") - (piece == ")")
        elif piece in ";=()" or piece.isspace():
            statements[-1] += [] if word is None else [word]
            word = None
            if piece == ";":
                statements.append([])
            elif piece == "=":
                statements[-1].append(None)
            is_whole = is_whole and piece != ")"
            depth += piece == "("
        else:
            is_whole = is_whole and piece[0] != _ESCAPE
            word = f"{word or ''}{piece}"
    statements[-1] += [] if word is None else [word]
    return statements, is_whole and not depth and not is_quoted
