"""Translate Dovecot's variables in a path into fields of a template: `%d` of 2.3 and `%{user | domain}` of 2.4."""

from dataclasses import dataclass
from typing import Literal

from spamnb.base.errors import ConfigError
from spamnb.base.wording import escaped

BY_HAND = (
    "write the path yourself, with {domain}, {local} or {user}: spamnb init --host"
    " '/var/vmail/{domain}/{local}/Maildir'"
)
_NOT_TEXT = "{}*"  # a template takes these for fields

Name = Literal["user", "local", "domain"]

_SHORT: dict[str, Name] = {"u": "user", "n": "local", "d": "domain"}
_LONG: dict[str, Name] = {"user": "user", "username": "local", "domain": "domain"}
_MODIFIERS = "LUERXHNMDT"
_SAME = {"lower"}  # filters of 2.4 that keep the field: names from `spamc -u` and others are searched in lower case


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of a path: text; a name; a part of a name, such as its first letter or hash; or the home directory."""

    kind: Literal["text", "name", "part", "home"]
    text: str = ""
    name: Name = "user"


def has_home(written: str) -> bool:
    """Return whether a path holds the user's home directory."""
    return written == "~" or written.startswith("~/") or any(piece.kind == "home" for piece in _pieces(written))


def with_home(written: str, home: str) -> str:
    """Return a path with the home directory in it. The variables of the home directory stay."""
    if written == "~" or written.startswith("~/"):
        return home + written[1:]
    for spelling in ("%h", "%{home}", "%{userdb:home}"):
        written = written.replace(spelling, home)
    return written


def translated(written: str) -> str:
    """Return the path with fields for variables, and `*` for a directory whose name is a part of the user's.

    Raises ConfigError if fields cannot express the path.

    >>> translated("/var/vmail/%d/%1n/%Ln/Maildir"), translated("/srv/%{user | domain}/%{user | username | lower}")
    ('/var/vmail/{domain}/*/{local}/Maildir', '/srv/{domain}/{local}')
    """
    names: set[Name] = set()
    parts: set[Name] = set()
    components = []
    for component in _components(written):
        pieces = _pieces(component)
        names |= {piece.name for piece in pieces if piece.kind == "name"}
        parts |= {piece.name for piece in pieces if piece.kind == "part"}
        components.append(_translated_component(pieces, written))
    _check_known(names, parts, written)
    return "/" + "/".join(components)


def _components(written: str) -> list[str]:
    """Return the directories of a path. The braces of a variable may hold a slash, such as in a path."""
    if not written.startswith("/"):
        raise ConfigError(f"{escaped(written)} is not a full path: {BY_HAND}")
    components, depth, start = [], 0, 0
    for index, sign in enumerate(written):
        depth += (sign == "{") - (sign == "}")
        if sign == "/" and depth == 0:
            components.append(written[start:index])
            start = index + 1
    return list(filter(None, [*components, written[start:]]))


def _translated_component(pieces: list[_Piece], written: str) -> str:
    names = [piece for piece in pieces if piece.kind == "name"]
    if any(piece.kind == "home" for piece in pieces):
        raise ConfigError(f"{escaped(written)} names a home directory that is not in the configuration: {BY_HAND}")
    if any(sign in piece.text for piece in pieces for sign in _NOT_TEXT):
        raise ConfigError(f"{escaped(written)} holds one of {_NOT_TEXT} in a directory's name, which is not supported")
    if not names:
        is_plain = all(piece.kind == "text" for piece in pieces)
        return "".join(piece.text for piece in pieces) if is_plain else "*"
    made = "".join(piece.text if piece.kind == "text" else f"{{{piece.name}}}" for piece in pieces)
    is_field = len(pieces) == 1 or made == "{local}@{domain}"
    if not is_field:
        raise ConfigError(f"a directory of {escaped(written)} is more than one name, {escaped(made)}: {BY_HAND}")
    return made


def _check_known(names: set[Name], parts: set[Name], written: str) -> None:
    """Raise ConfigError if the path does not identify the user."""
    if not names & {"user", "local"}:
        raise ConfigError(f"{escaped(written)} does not hold the user's name: {BY_HAND}")
    if "domain" in parts and not names & {"user", "domain"}:
        raise ConfigError(f"{escaped(written)} holds the domain in a form that cannot be read back: {BY_HAND}")


def _pieces(written: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    text, rest = "", written
    while rest:
        before, percent, rest = rest.partition("%")
        text += before
        if not percent:
            break
        if rest.startswith("%"):
            text, rest = text + "%", rest[1:]
            continue
        if text:
            pieces.append(_Piece("text", text))
        piece, rest = _variable(rest, written)
        pieces.append(piece)
        text = ""
    return [*pieces, _Piece("text", text)] if text else pieces


def _variable(rest: str, written: str) -> tuple[_Piece, str]:
    """Return the variable at the beginning of a text after its `%`, and the rest of the text."""
    bare = rest.lstrip("-.0123456789" + _MODIFIERS)
    changes = rest[: len(rest) - len(bare)]
    is_same = not changes.replace("L", "")
    if bare.startswith("{"):
        inside, brace, after = bare[1:].partition("}")
        if brace:
            return _long(inside, is_same, written), after
    elif bare[:1] in _SHORT:
        return _Piece("name" if is_same else "part", name=_SHORT[bare[0]]), bare[1:]
    elif bare[:1] == "h" and not changes:
        return _Piece("home"), bare[1:]
    raise _unknown(f"%{rest[: len(changes) + 1]}", written)


def _long(inside: str, is_same: bool, written: str) -> _Piece:
    """Return the piece for the text in braces: a variable, with filters after it in 2.4, or a hash before it in 2.3."""
    first, *filters = (part.strip() for part in inside.split("|"))
    if first in {"home", "userdb:home"} and is_same and not filters:
        return _Piece("home")
    hashed, colon, name = first.rpartition(":")
    if name not in _LONG or (colon and not hashed.startswith(("md", "sha", "hash"))):
        raise _unknown(f"%{{{inside}}}", written)
    known, is_same = _LONG[name], is_same and not colon
    for filter_ in filters:
        if filter_ in _LONG:
            known = _LONG[filter_]
        elif filter_ not in _SAME:
            is_same = False
    return _Piece("name" if is_same else "part", name=known)


def _unknown(variable: str, written: str) -> ConfigError:
    return ConfigError(f"{escaped(variable)} in {escaped(written)} has no field: {BY_HAND}")
