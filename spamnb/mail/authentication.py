"""Read what the person's own server found out about a message: Authentication-Results (RFC 8601).

Anyone can write this field. A server puts its own fields above all that came with the message, and removes fields that
claim to come from its site (section 5). So the topmost field counts, and those that follow it, while they are of
the server's site: large providers have many servers, and some write a field for each method. If a server does neither
for some mail, a stranger may be taken for signed; so this alone must never make mail ham.

If two fields have results of one method, the upper one counts. Below the Received field of the machine that took the
message, a stranger's fields may follow those of the server at once. There nothing counts below the first field with a
result of DKIM, SPF or DMARC, or with none at all, unless the server is known to write a field for each of them into
every message.

A field without a name counts only if the person names a site that is known to write no names. Such a server writes none
with a name, so these do not count.

A result is about domains. The server says nothing about the part of an address before the @: everybody whom the domain
lets write can choose it.

A stranger chooses some of the words that a server writes, such as the names in a signature. The DNS allows any letter
there, as in the domain `shop.example(x).evil.example`. So a name counts only if it is one word, and no comment is right
behind it. A field counts only if it begins with its server's name, as all known servers write it. If quotation marks
or a comment come first, the server may not know its name when it removes strangers' fields.

A signature counts for From's own domain, for those above it, and for those below it. It does not count for two names
beside each other, as `a.gouv.fr` and `b.gouv.fr`: only a list of public suffixes could tell if these have one holder.
Such a list ages, and hosts have different ones. The server has one for DMARC, so its `dmarc=pass` counts there. The
rule takes 4 of 399 signed newsletters in phishing_pot, all below onmicrosoft.com, and none of Delta Chat's messages
(`benchmarks/results.py`, 2026-11-29).

If a server has a result of DMARC that denies From, no signature helps. `dmarc=permerror` says that the domain has a
policy that nobody can read: 42 of these 399, and no message of Delta Chat's. `dmarc=pass` counts for the domain in
`header.from`; without it the server does not say for which.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.holders import in_the_dns, is_shared, registrant_of
from spamnb.mail.path import site_of

ALIGNED = "aligned"
NAMELESS = "outlook.com"
"""The site of those servers that are known to write fields without a name: Microsoft's."""

_METHODS = frozenset({"dkim", "spf", "dmarc"})
_RESULTS = frozenset({"none", "pass", "fail", "softfail", "policy", "neutral", "temperror", "permerror"})
# QUIRK: Microsoft's servers write no name. They rename the fields that come in: to Authentication-Results-Original.
_MICROSOFT = frozenset({NAMELESS, "hotmail.com", "live.com", "msn.com", "office365.com", "microsoft.com"})
# iCloud writes a field for each method, under a name for each, into every message.
_ALL_METHODS = frozenset({"icloud.com"})
_SIGNER, _IDENTITY = "header.d", "header.i"
_DENIED, _POLICY = ("fail", "permerror"), (ALIGNED, "pass", "")  # by DMARC; "": the server does not ask for it
_VERSION, _ESCAPE = "1", "\\"
_NOT_IN_QUOTED_COMMENT = ("(", ")", _ESCAPE)
_BLANK = " \t\r\n"  # RFC 5322, 2.2.2: to a server any other blank of Unicode is a letter
_HOST = lazy_pattern(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_PIECES = lazy_pattern(rf"\\[\s\S]?|[()\";=]|[{_BLANK}]+|[^\\()\";={_BLANK}]+")

_Word = str | None
"""A word, or None for an equals sign outside quotes."""


class Authentication(NamedTuple):
    """The results of the own servers: "pass", "fail" or another word of RFC 8601; "" without a result.

    "unknown": a result in another word, such as Microsoft's `bestguesspass` for a domain without a policy.
    `dkim` and `dmarc` are "aligned" if they passed for the site of From. `dkim` is the best of several signatures.
    """

    dkim: str = ""
    spf: str = ""
    dmarc: str = ""

    @property
    def is_aligned(self) -> bool:
        """Tell whether the server vouches for the site of From."""
        return ALIGNED in (self.dkim, self.dmarc) and self.dmarc not in _DENIED

    @property
    def is_by_policy(self) -> bool:
        """Tell whether the server vouches, and the site publishes a policy of DMARC, if the server asks for policies.

        Gmail and Yahoo (2024) and Microsoft (2025) demand one of all who send newsletters.
        """
        return self.is_aligned and self.dmarc in _POLICY


def authentication(
    results: Sequence[str], authserv_id: str, sender: str, *, are_below: bool = False
) -> Authentication | None:
    """Return the results in the fields of one site at the top; None if the topmost field is of no such server.

    results, are_below: see `OwnResults`. authserv_id: the site, or the name of one server there. sender: the only
    address in From.

    >>> authentication(["mx.example.org; dkim=pass header.d=shop.example"], "example.org", "news@mail.shop.example")
    Authentication(dkim='aligned', spf='', dmarc='')
    """
    found = _results_of(results, authserv_id, are_below)
    if found is None:
        return None
    author, said = sender.rpartition("@")[2], dict[str, str]()
    for method in _METHODS & found.keys():
        words = [ALIGNED if one.passed and _is_for(author, method, one.about) else one.word for one in found[method]]
        # Of several signatures the best counts. A message has one address in From: two results of DMARC, or of SPF,
        # cannot both be the server's.
        said[method] = words[0] if len(words) == 1 else ""
        if method == "dkim":
            said[method] = next((word for word in (ALIGNED, "pass") if word in words), words[0])
    return Authentication(**said)


def signers(results: Sequence[str], authserv_id: str, *, are_below: bool = False) -> frozenset[str]:
    """Return the domains whose signatures are valid, by the fields of one site at the top.

    It takes what `authentication` takes.

    >>> signers(["mx.example.org; dkim=pass header.d=shop.example; dkim=fail header.d=bank.example"], "example.org")
    frozenset({'shop.example'})
    """
    found = _results_of(results, authserv_id, are_below) or {}
    return frozenset(_signer(one.about) for one in found.get("dkim", ()) if one.passed) - {""}


def server_at(results: Sequence[str]) -> str:
    """Return whose results are at the top: a server or a site, for `authentication`; "" if nobody's.

    >>> server_at(["mx.example.org; dkim=none", "mx.evil.example; dkim=pass"]), server_at(["dkim=none"]), server_at([])
    ('mx.example.org', 'outlook.com', '')
    """
    server = server_of(results[0]) if results else None
    return NAMELESS if server == "" else server or ""


def server_of(value: str) -> str | None:
    """Return the name of the server that wrote a field, in lower case; "" if it has none, None if it is damaged.

    >>> server_of("mx.example.org 1; none"), server_of("spf=pass; dkim=none"), server_of("mx.example.org; (")
    ('mx.example.org', '', None)
    """
    field = _field(value)
    return None if field is None else field.server


def is_nameless(site: str) -> bool:
    """Tell whether the servers of a site are known to write their fields without a name."""
    return site.lower() in _MICROSOFT


class _Field(NamedTuple):
    server: str
    statements: Sequence[Sequence[_Word]]


def _field(value: str) -> _Field | None:
    """Return the server's name, in lower case or "", and what it states; None if the field is damaged."""
    statements, is_whole = _statements(value)
    if not is_whole:
        return None
    name, *version = statements[0] or [None]
    if name is not None and version in ([], [_VERSION]):
        is_plain = name.isascii() and value.lstrip(_BLANK).startswith(name)
        return _Field(name.lower(), statements[1:]) if is_plain else None
    return _Field("", statements) if version[:1] == [None] else None


def _is_of_site(server: str, authserv_id: str) -> bool:
    """Tell whether a server is of the site that the person has named."""
    named = authserv_id.lower().strip(".")
    if is_nameless(site_of(named)):
        return not server
    if server == named or not (site_of(named) and _HOST.fullmatch(server)):
        return server == named
    return server.endswith(f".{named}") or registrant_of(server) == registrant_of(named)


class _Result(NamedTuple):
    """A result: a word of RFC 8601 or "unknown", and what it is about: names with the domains in their values."""

    word: str
    about: Sequence[tuple[str, str]]

    @property
    def passed(self) -> bool:
        return self.word == "pass"


def _results_of(results: Sequence[str], authserv_id: str, are_below: bool) -> dict[str, list[_Result]] | None:
    """Return the results of each method, by the upper field that has one; None if the topmost is not of the site."""
    found: dict[str, list[_Result]] = {}
    for number, value in enumerate(results):
        field = _field(value)
        if field is None or not _is_of_site(field.server, authserv_id):
            return found if number else None
        said = _read(field.statements)
        found = said | found
        if are_below and (not said or said.keys() & _METHODS) and site_of(authserv_id) not in _ALL_METHODS:
            break
    return found if results else None


def _read(statements: Sequence[Sequence[_Word]]) -> dict[str, list[_Result]]:
    """Return the results of each method in a field."""
    found: dict[str, list[_Result]] = {}
    for statement in statements:
        if pairs := [*_pairs(statement)]:
            (method, (word, *_)), *properties = pairs
            # one word is a name; "" stands for all others
            about = [
                (name, in_the_dns((words[0] or "").rpartition("@")[2] if len(words) == 1 else ""))
                for name, words in properties
            ]
            known = word.lower() if word and word.lower() in _RESULTS else "unknown"
            found.setdefault(method.partition("/")[0], []).append(_Result(known, about))
    return found


def _is_for(author: str, method: str, about: Sequence[tuple[str, str]]) -> bool:
    """Tell whether a result that passed is about the site of From."""
    own = in_the_dns(author)
    if method == "dmarc":
        return own != "" and {domain for name, domain in about if name == "header.from"} == {own}
    return method == "dkim" and _answers_for(_signer(about), own)


def _signer(about: Sequence[tuple[str, str]]) -> str:
    """Return the domain that has signed, by a result of DKIM; "" if it is in doubt.

    The identity is of this domain, or of one below it (RFC 6376, 3.5). If it is not, or if there are two domains, a
    stranger's word looks like a name.
    """
    identities = {domain for name, domain in about if name == _IDENTITY}
    signer, *others = {domain for name, domain in about if name == _SIGNER} or identities or {""}
    return signer if not others and all(f".{one}".endswith(f".{signer}") for one in identities) else ""


def _answers_for(signer: str, author: str) -> bool:
    """Tell whether two domains are one, or one is below the other; strangers may be below a name that they share."""
    if not (site_of(signer) and site_of(author)):
        return False
    return f".{author}".endswith(f".{signer}") or (signer.endswith(f".{author}") and not is_shared(author))


def _pairs(statement: Sequence[_Word]) -> Iterator[tuple[str, Sequence[_Word]]]:
    """Yield the names of a statement, in lower case, each with all words up to the next name.

    QUIRK: some servers write signatures, which end in `=`, without quotation marks.
    """
    at = 0
    while at + 2 < len(statement):
        name, equals, value = statement[at : at + 3]
        end = at + 1
        if name is not None and equals is None and value is not None:
            end = at + 3
            while end < len(statement) and (statement[end] is None or statement[end + 1 : end + 2] != [None]):
                end += 1
            yield name.lower(), statement[at + 2 : end]
        at = end


def _statements(value: str) -> tuple[list[list[_Word]], bool]:
    """Return the words of each statement, and whether the field is whole: whether it has only one meaning.

    All quotation marks and comments must be closed. QUIRK: Rspamd quotes addresses in comments, such as those with "="
    by which newsletters know a bounce. To RFC 5322 a quotation mark there is a letter. If a parenthesis or an escape is
    between two of them, a stranger may have ended the comment, or the quotation, by a chosen address. The same holds
    for an escape outside quotation marks, where no server needs one. A parenthesis right behind a word is a word too.
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
        elif piece in ";=()" or piece[0] in _BLANK:
            statements[-1] += [] if word is None else [word, piece] if piece == "(" else [word]
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
