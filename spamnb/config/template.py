"""Paths with fields, such as `/var/vmail/{domain}/{local}/Maildir`: one path for all users of a host.

`{user}` is the whole name of a user. If the name has a domain, `{local}` is the part before the "@", and `{domain}` the
part after it. A directory of a path is plain text, or one field, or `{local}@{domain}`. In the path of a mailbox it may
also be `*`: one directory of any name, for hashed trees. The name of a file may have text around the field.

Nothing here looks at the disk. A name is an address of mail without quotation marks (RFC 5321, 4.1.2; RFC 6531, 3.3),
or the part before its "@". It has no "/" and no dot at its beginning, so it cannot lead out of the directory above its
field. It has no braces, so it cannot be a field. All names in one field differ, so no two users share a path.
"""

import difflib
import itertools
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern

ANY = "*"
FIELDS = ("{domain}", "{local}", "{user}")

_LONGEST = 254  # bytes of a name: of an address (RFC 5321, 4.5.3.1)
_LETTERS = r"A-Za-z0-9!#$%&'*+=?^_`|~\x80-\U0010ffff-"
_PART = rf"[{_LETTERS}](?:[{_LETTERS}.]*[{_LETTERS}])?"
_NAME = lazy_pattern(rf"{_PART}(?:@{_PART})?")
_ADDRESS = "{local}@{domain}"
_FIELD = lazy_pattern(r"\{[^{}/]*\}")
_OF_PIECE = {"{domain}": rf"(?P<domain>{_PART})", "{local}": rf"(?P<local>{_PART})", ANY: "[^/]+"}
_OF_PIECE["{user}"] = rf"(?P<user>{_PART}(?:@{_PART})?)"
# Dovecot's variables, of 2.3 and of 2.4, with their modifiers; not a byte in hexadecimal such as %d0.
_VARIABLE = lazy_pattern(r"%[-.0-9A-Z]*(?:\{([^{}/]*)\}|([dnuh])(?![0-9A-Za-z]))")
_MEANS = {"d": "{domain}", "n": "{local}", "u": "{user}"}
_MEANS |= {"domain": "{domain}", "username": "{local}", "user": "{user}"}


def is_user_name(text: str) -> bool:
    """Return whether a text can be the name of a user: one part, or two with "@" between them.

    >>> [is_user_name(text) for text in ("anna", "o'neil+x@example.org", "jörg", ".anna", "a/b", "anna@", "a b", "")]
    [True, True, True, False, False, False, False, False]
    """
    return text.isprintable() and len(text.encode()) <= _LONGEST and _NAME.fullmatch(text) is not None


def why_no_name(part: str) -> str:
    """Return why no user or domain has a directory of this name, in words.

    >>> why_no_name("a b"), why_no_name("anna.")
    ("' ' is not allowed", 'a dot is not allowed at the end')
    """
    if odd := next((letter for letter in part if letter not in ".@" and not is_user_name(letter)), ""):
        return f"{odd!r} is not allowed"
    if part.startswith(".") or part.endswith("."):
        return f"a dot is not allowed at the {'beginning' if part.startswith('.') else 'end'}"
    return "it is too long" if len(part.encode()) > _LONGEST else "it does not fit the path of the mailboxes"


def split_name(name: str) -> tuple[str, str]:
    """Return the part of a name before its "@", and the domain after it, or ""."""
    local, _, domain = name.partition("@")
    return local, domain


def has_fields(path: object) -> bool:
    """Return whether a path has a field, so that it stands for many users."""
    text = str(path)
    return "{" in text and any(field in text for field in FIELDS)


class PathTemplate(NamedTuple):
    """A path with fields. components: its directories and its last part, as written. fields: the fields in it."""

    text: str
    components: tuple[str, ...]
    fields: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "PathTemplate":
        """Return the template of a text, without a check."""
        components = tuple(part for part in text.split("/") if part)
        return cls(text, components, frozenset(field for field in FIELDS if field in text))

    @property
    def fixed(self) -> Path:
        """The directory that all users share: above the first component that is not plain text."""
        return _fixed(self.components)

    @property
    def below(self) -> tuple[str, ...]:
        """The components below the fixed directory. To find users, all directories but the last are listed."""
        return tuple(itertools.dropwhile(is_plain, self.components))

    def takes(self, name: str) -> bool:
        """Return whether a name has a place in the path: `{domain}` needs a domain, `{local}` alone allows none."""
        if not is_user_name(name):
            return False
        if "{domain}" in self.fields:
            return "@" in name
        return "{user}" in self.fields or "@" not in name

    def takes_all_of(self, other: "PathTemplate") -> bool:
        """Return whether each name with a place in another path has its own place in this path."""
        return self.tells_users_apart and all(self.takes(name) for name in ("a", "a@a") if other.takes(name))

    @property
    def tells_users_apart(self) -> bool:
        """Whether no two users have the same path."""
        return bool(self.fields & {"{local}", "{user}"})

    @property
    def directory(self) -> "PathTemplate":
        """The directory above the last part of the path."""
        return PathTemplate.of(self.text.rpartition("/")[0])

    def ledger_in(self, directory: str) -> str:
        """Return the path of each user's ledger below a directory, with the fields of this path.

        >>> parse_template("/var/vmail/{domain}/*/{local}/Maildir").ledger_in("/srv/ledgers")
        '/srv/ledgers/{domain}/{local}/ledger.sqlite'
        """
        return "/".join((directory, *filter(has_fields, self.below), "ledger.sqlite"))

    def fill(self, name: str) -> Path:
        """Return the path of a user; `*` stays. Raises ValueError for a name that has no place in it.

        >>> parse_template("/var/vmail/{domain}/{local}/Maildir").fill("anna@example.org")
        PosixPath('/var/vmail/example.org/anna/Maildir')
        """
        if not self.takes(name):
            raise ValueError(f"{name!r} has no place in {self.text}")
        return Path(filled(self.text, name))

    def match(self, path: str) -> str | None:
        """Return the user with this path, or None. The path must not have a "/" too many.

        >>> parse_template("/var/vmail/*/{user}").match("/var/vmail/a/anna@example.org")
        'anna@example.org'
        """
        found = _pattern(self.text).fullmatch(path)
        if found is None:
            return None
        values = found.groupdict()
        if (name := values.get("user")) is None:
            name = f"{values['local']}@{values['domain']}" if "domain" in values else values["local"]
        local, domain = split_name(name)
        agrees = values.get("local", local) == local and values.get("domain", domain) == domain
        return name if agrees and is_user_name(name) else None


@lru_cache(maxsize=16)
def _fixed(components: tuple[str, ...]) -> Path:
    return Path("/", *itertools.takewhile(is_plain, components))


def is_plain(component: str) -> bool:
    """Return whether a directory's name is neither a field nor `*`."""
    return component != ANY and not has_fields(component)


def filled(text: str, name: str) -> str:
    """Return a text with a user's name in the place of its fields."""
    local, domain = split_name(name)
    return text.replace("{domain}", domain).replace("{local}", local).replace("{user}", name)


def fits(component: str, part: str) -> bool:
    """Return whether a directory with this name matches a component."""
    is_name = part.isprintable() or not has_fields(component)
    return is_name and _pattern(component).fullmatch(part) is not None


@lru_cache(maxsize=64)
def _pattern(text: str) -> re.Pattern[str]:
    pattern, met = "", set[str]()
    for piece in re.split(r"(\{(?:domain|local|user)\}|(?<![^/])\*(?![^/]))", text):
        if piece in met:
            pattern += f"(?P={piece[1:-1]})"
        else:
            pattern += _OF_PIECE.get(piece) or re.escape(piece)
            met |= {piece} & {*FIELDS}
    return re.compile(pattern)


# --- reading -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def parse_template(written: str, *, is_file: bool = False) -> PathTemplate:
    """Read an absolute path that may have fields. is_file: the path of a file, and not of a mailbox.

    Raises ValueError with the fault and what to write.
    """
    template = PathTemplate.of(written)
    if fault := next(_faults(template, is_file), None):
        raise ValueError(fault)
    return template


def _faults(template: PathTemplate, is_file: bool) -> Iterator[str]:
    for found in _VARIABLE.finditer(template.text):
        yield _instead(found.group(), (found[1] or found[2] or "").split("|"))
    for field in _FIELD.findall(template.text):
        if field not in FIELDS:
            near = difflib.get_close_matches(field[:60], FIELDS, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            yield f"{field[:60]!r} is not a field; the fields are {', '.join(FIELDS)}{meant}"
    if not template.fields:
        if ANY in template.components:
            yield f"'{ANY}' is only allowed beside fields, and this path has none; write the whole path"
        return
    last = len(template.components) - 1
    for number, component in enumerate(template.components):
        yield from _faults_of(component, is_file=is_file, is_last=number == last)
    if not template.tells_users_apart:
        yield "has a field for the domain but none for the user; add {local}, or {user}"


def _faults_of(component: str, *, is_file: bool, is_last: bool) -> Iterator[str]:
    """Yield the faults of one component of a path with fields."""
    shown = repr(component[:60])
    if component in (".", ".."):
        yield f"{shown} leads out of the path before it; write the path without it"
    elif ANY in component and is_file:
        yield f"'{ANY}' is only allowed in the `path` of a mailbox; write the directory's name, or a field"
    elif component != ANY and ANY in component:
        yield f"{shown} has text beside '{ANY}', which stands for a whole name; write '{ANY}' alone"
    elif is_plain(component):
        return
    elif component.replace(_ADDRESS, "").count("{") + (_ADDRESS in component) > 1:
        yield f"{shown} is more than one field; write a directory for each, or {{local}}@{{domain}}, or {{user}}"
    elif component not in (ANY, _ADDRESS, *FIELDS) and not (is_file and is_last):
        yield f"{shown} has text beside a field; write the field alone between two '/'"


def _instead(variable: str, words: list[str]) -> str:
    """Return what to write instead of a variable of Dovecot."""
    shown, known = variable[:60], [_MEANS[word.strip()] for word in words if word.strip() in _MEANS]
    if variable.endswith("h") or "home" in words:
        return f"holds {shown}; write the home directory's path for {shown}, with {', '.join(FIELDS)} in it"
    is_whole = variable[1] in "{dnuL" and not {word.strip() for word in words} - {*_MEANS, "lower"}
    if known and is_whole:
        return f"holds {shown}; write {known[-1]} for {shown}"
    return f"holds {shown}; write {', '.join(FIELDS)} for a name, and '{ANY}' for a directory made of a part of it"
