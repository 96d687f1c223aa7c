"""What the keyword letters a-z mean: each folder has its own list, in Dovecot's file `dovecot-keywords`."""

from collections.abc import Mapping

from spamnb.errors import MaildirError
from spamnb.maildir.folders import Folder
from spamnb.maildir.mailbox import read_bytes

KEYWORDS_FILE = "dovecot-keywords"
KEYWORDS_LIMIT = 64 * 1024
"""Bytes read of `dovecot-keywords`: 26 letters have meaning, and keywords are short."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def read_keywords(folder: Folder) -> dict[str, str]:
    """The folder's keywords by their letter; empty where there is no such list, or none that can be read.

    A line is `0 $Junk`: number 0 is the letter a. Lines that say anything else, and numbers that have no
    letter, are passed over.
    """
    try:
        content, _ = read_bytes(folder.subdir(KEYWORDS_FILE), KEYWORDS_LIMIT)
    except (FileNotFoundError, MaildirError):
        return {}
    keywords: dict[str, str] = {}
    for line in content.decode("utf-8", "replace").splitlines():
        number, _, keyword = line.partition(" ")
        if keyword and number.isascii() and number.isdigit() and len(number) <= 2:
            for letter in _LETTERS[int(number) : int(number) + 1]:
                keywords.setdefault(letter, keyword)
    return keywords


def matching_letters(source: Mapping[str, str], destination: Mapping[str, str]) -> dict[str, str]:
    """For each letter of the source folder the destination's letter of the same keyword, where it has one.

    >>> matching_letters({"a": "$Junk", "b": "todo"}, {"c": "$junk"})
    {'a': 'c'}
    """
    # RFC 9051 section 2.3.2: keywords are compared without regard to case.
    letter_of = {keyword.lower(): letter for letter, keyword in destination.items()}
    return {letter: letter_of[keyword.lower()] for letter, keyword in source.items() if keyword.lower() in letter_of}
