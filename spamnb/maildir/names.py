"""The name of a message file: a base name, which the message keeps while it is in a folder, and an info part.

`parse_name` and `format_name` are an exact pair: whatever bytes another program chose, formatting restores them.
Nothing here touches the disk.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern

_FLAGS = lazy_pattern(r"2,([A-Za-z]*)")

# QUIRK: mbsync and OfflineIMAP keep the IMAP UID in the base name. It is valid in one folder only. In another folder it
# clashes with the UIDs there, and the synchroniser refuses the folder or drops a message.
_UID_FIELD = lazy_pattern(r",U=[0-9]+(?=,|\Z)")


class Name(NamedTuple):
    r"""A file name in `new/` or `cur/`, split at its first colon.

    `info` is everything after that colon, verbatim, and None without a colon. Dovecot too splits at the first colon,
    not at the last: if a program that did not know the first appended a second `:2,`, the base name stays unchanged.

    >>> name = parse_name("1700000000.M1P2.host,S=812:2,FSa")
    >>> name.base, name.flags, name.keywords, name.seen, name.replied
    ('1700000000.M1P2.host,S=812', 'FSa', 'a', True, False)
    """

    base: str
    info: str | None = None

    @property
    def key(self) -> str:
        """Return the base name without the UID field, which a synchroniser adds to a file that it knows.

        >>> parse_name("a,S=812,U=7:2,S").key
        'a,S=812'
        """
        return _UID_FIELD.sub("", self.base)

    @property
    def flags(self) -> str:
        """Return the letters of a `2,` info part, in the order found; empty for any other info part."""
        found = _FLAGS.match(self.info or "")
        return found.group(1) if found else ""

    @property
    def keywords(self) -> str:
        """Return the letters a-z among the flags. Each folder gives them a meaning."""
        return "".join(letter for letter in self.flags if letter.islower())

    @property
    def flagged(self) -> bool:
        """F: marked as important."""
        return "F" in self.flags

    @property
    def replied(self) -> bool:
        """R: answered."""
        return "R" in self.flags

    @property
    def seen(self) -> bool:
        """S: read."""
        return "S" in self.flags

    @property
    def trashed(self) -> bool:
        """T: deleted, not yet expunged."""
        return "T" in self.flags

    def with_flags(self, flags: str) -> "Name":
        """Return the name of the same message with exactly these flags, in ASCII order, each once.

        The text after the flags of a `2,` info part stays. Any other info part (the experimental `1,`) is replaced,
        since a name has only one.

        >>> format_name(parse_name("a:2,T").with_flags("SaF"))
        'a:2,FSa'
        """
        found = _FLAGS.match(self.info or "")
        rest = self.info[found.end() :] if found and self.info else ""
        return self._replace(info="2," + "".join(sorted(set(flags))) + rest)

    def with_base(self, unique: str) -> "Name":
        """Return the name of the same message with a new unique part; the size fields after the old one stay.

        >>> format_name(parse_name("a,S=812,W=830:2,S").with_base("b"))
        'b,S=812,W=830:2,S'
        """
        _, comma, fields = self.base.partition(",")
        return self._replace(base=unique + comma + fields)

    def for_other_folder(self, letters: Mapping[str, str]) -> "Name":
        """Return the name that the message has after it moved to another folder.

        The UID field goes, the size fields stay. `letters` maps a keyword letter of the old folder to the letter with
        the same meaning in the new one. A keyword without such a letter is dropped, as it would otherwise turn into a
        different keyword.

        >>> format_name(parse_name("a,S=812,U=7:2,Sabc").for_other_folder({"a": "d", "b": "a"}))
        'a,S=812:2,Sad'
        """
        moved = self._replace(base=self.key)
        if not self.keywords:
            return moved
        return moved.with_flags(
            "".join(letters.get(letter, "") if letter.islower() else letter for letter in self.flags)
        )


def matching_letters(source: Mapping[str, str], destination: Mapping[str, str]) -> dict[str, str]:
    """Map each keyword letter of the source folder to the destination's letter of that keyword, if it has one.

    >>> matching_letters({"a": "$Junk", "b": "todo"}, {"c": "$junk"})
    {'a': 'c'}
    """
    # RFC 9051 section 2.3.2: keywords are compared without regard to case.
    letter_of = {keyword.lower(): letter for letter, keyword in destination.items()}
    return {letter: letter_of[keyword.lower()] for letter, keyword in source.items() if keyword.lower() in letter_of}


def parse_name(file_name: str) -> Name:
    """Split a file name; every name parses."""
    base, colon, info = file_name.partition(":")
    return Name(base, info if colon else None)


def format_name(name: Name) -> str:
    """Return the file name; `format_name(parse_name(x)) == x` for every x."""
    return name.base if name.info is None else f"{name.base}:{name.info}"


def unique_base(seconds: int, microseconds: int, pid: int, sequence: int, host: str) -> str:
    r"""Return a base name as delivery agents make it: unique by time, process, count in the process, and host.

    >>> unique_base(1700000000, 42, 7, 1, "a/b:c")
    '1700000000.M42P7Q1.a\\057b\\072c'
    """
    host = host.replace("/", r"\057").replace(":", r"\072")
    return f"{seconds}.M{microseconds}P{pid}Q{sequence}.{host}"


def fresh_bases(now_ns: Callable[[], int], pid: int, host: str) -> Iterator[str]:
    """Yield base names without end, one for each delivery of this process; `now_ns` is `time.time_ns`."""
    for sequence in itertools.count(1):
        seconds, nanoseconds = divmod(now_ns(), 10**9)
        yield unique_base(seconds, nanoseconds // 1000, pid, sequence, host)
