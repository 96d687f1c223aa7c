"""How folders are written in `roles`: names, patterns, and the spellings of other programs."""

import fnmatch
import re
from functools import lru_cache

_SIGN = re.compile(r"\[[*?]\]|[*?]")
_OPENING = re.compile(r"\[(?![*?]\])")  # to `fnmatch` it would begin a set of characters


def is_pattern(written: str) -> bool:
    """Whether this stands for all folders that match it: "*" for anything, "?" for one character.

    "[" alone means itself, since Gmail's folders begin with it; "[*]" and "[?]" are the characters themselves.

    >>> is_pattern("Lists/*"), is_pattern("[Gmail]/Spam"), is_pattern("what[?]")
    (True, False, False)
    """
    return any(len(sign) == 1 for sign in _SIGN.findall(written))


def name_of(written: str) -> str:
    """The folder's name behind what is no pattern.

    >>> name_of("what[?]")
    'what?'
    """
    return _SIGN.sub(lambda sign: sign.group()[1:-1], written)


def written(name: str) -> str:
    """How a folder's name is written; `name_of` gives it back.

    >>> written("what?")
    'what[?]'
    """
    return name.translate({ord(sign): f"[{sign}]" for sign in "*?"})


def matches(pattern: str, folder: str) -> bool:
    """Whether a folder's name matches a pattern; "*" also goes over "/".

    >>> matches("Lists/*", "Lists/Python/Dev"), matches("Lists/*", "Lists"), matches("20??", "2024")
    (True, False, True)
    """
    return _expression(pattern).fullmatch(folder) is not None


@lru_cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(_OPENING.sub("[[]", pattern)))


def plain_spelling(written: str, layout: str) -> str:
    """The spelling used here of a folder that is written as its directory in a Maildir++, or as IMAP servers name it.

    `.Junk` can be nothing but a directory of a Maildir++. A dot divides levels there, so where `layout` says
    "maildir++", `INBOX.Junk` is Junk behind the usual prefix of Courier and Dovecot; elsewhere it may be a folder.

    >>> plain_spelling(".Archive.2024", "auto"), plain_spelling("INBOX.Junk", "maildir++")
    ('Archive/2024', 'Junk')
    >>> plain_spelling("INBOX.Junk", "auto"), plain_spelling("INBOX", "maildir++")
    ('INBOX.Junk', 'INBOX')
    """
    if "/" in written:
        return written
    if written.startswith("."):
        return written[1:].replace(".", "/")
    return written.removeprefix("INBOX.").replace(".", "/") if layout == "maildir++" else written
