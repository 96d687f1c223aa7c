"""The pure pair for file names."""

import itertools
import os

from hypothesis import given
from hypothesis import strategies as st

from spamnb.maildir.names import Name, format_name, fresh_bases, parse_name, unique_base
from tests.table import over_rows

FILE_NAMES = st.binary(min_size=1, max_size=255).filter(lambda raw: b"/" not in raw and b"\0" not in raw)
LIKELY_NAMES = st.text(alphabet="ab,:12,SRFTDPUW=5\udcff\n ", min_size=1, max_size=40)


@given(FILE_NAMES)
def test_any_bytes_round_trip(raw: bytes) -> None:
    """Formatting a parsed name gives back every byte that is legal in a file name."""
    assert os.fsencode(format_name(parse_name(os.fsdecode(raw)))) == raw


@given(LIKELY_NAMES)
def test_likely_names_round_trip(file_name: str) -> None:
    """Names full of colons, commas and flags round-trip too."""
    assert format_name(parse_name(file_name)) == file_name


@over_rows(
    ("file_name", "base", "flags"),
    [
        ("1.M2P3.host", "1.M2P3.host", ""),
        ("1.M2P3.host:2,", "1.M2P3.host", ""),
        ("1.M2P3.host:2,FRSTab", "1.M2P3.host", "FRSTab"),
        ("1.M2P3.host:1,S", "1.M2P3.host", ""),
        ("1.M2P3.host:2,S:2,R", "1.M2P3.host", "S"),
        ("1.M2P3.host:2,S,R", "1.M2P3.host", "S"),
        ("1.M2P3.host:", "1.M2P3.host", ""),
        ("a b\nc:2,S", "a b\nc", "S"),
        ("caf\udce9:2,S", "caf\udce9", "S"),
        (":2,S", "", "S"),
    ],
)
def test_base_and_flags(file_name: str, base: str, flags: str) -> None:
    """The base name ends at the first colon, and flags are the letters of a `2,` info part alone."""
    name = parse_name(file_name)
    assert (name.base, name.flags) == (base, flags)
    assert format_name(name) == file_name


def test_flag_words() -> None:
    """Each flag letter has its word, and small letters are keywords."""
    name = parse_name("x:2,DFPRSTaz")
    assert name.flagged
    assert name.replied
    assert name.seen
    assert name.trashed
    assert name.keywords == "az"
    assert not parse_name("x:2,s").seen


@given(LIKELY_NAMES, st.text(alphabet="DFPRSTabc"))
def test_with_flags_sets_exactly_these(file_name: str, flags: str) -> None:
    """`with_flags` leaves the base name alone and gives the flags once each, in ASCII order."""
    before = parse_name(file_name)
    after = parse_name(format_name(before.with_flags(flags)))
    assert after.base == before.base
    assert after.flags.startswith("".join(sorted(set(flags))))


def test_with_flags_keeps_what_follows() -> None:
    """An odd rest behind the flags stays; an experimental info part gives way."""
    assert format_name(parse_name("x:2,S:2,").with_flags("F")) == "x:2,F:2,"
    assert format_name(parse_name("x:1,odd").with_flags("F")) == "x:2,F"


@over_rows(
    ("before", "after"),
    [
        ("x,U=7:2,S", "x:2,S"),
        ("x,S=10,U=7,W=12:2,S", "x,S=10,W=12:2,S"),
        ("x,U=7,FMD5=00ff:2,", "x,FMD5=00ff:2,"),
        ("x,S=10,W=12", "x,S=10,W=12"),
        ("x,U=abc:2,", "x,U=abc:2,"),
        ("x:2,SF", "x:2,SF"),
        ("x:2,SFab", "x:2,FSc"),
    ],
)
def test_name_in_another_folder(before: str, after: str) -> None:
    """On leaving a folder the UID goes, sizes stay, and keyword letters are translated or dropped."""
    assert format_name(parse_name(before).for_other_folder({"a": "c"})) == after


def test_new_unique_part_keeps_sizes() -> None:
    """A new base name keeps the size fields, which are facts about the content."""
    assert Name("x,S=10,W=12", "2,S").with_base("y") == Name("y,S=10,W=12", "2,S")


def test_unique_base_escapes_the_host() -> None:
    """A host's slash and colon are written in octal, since a base name can contain neither."""
    assert unique_base(5, 6, 7, 8, "a/b:c") == "5.M6P7Q8.a\\057b\\072c"


def test_fresh_bases_differ_at_one_instant() -> None:
    """Two base names made in the same microsecond differ by their count."""
    bases = fresh_bases(lambda: 1_700_000_000_123_456_789, 9, "host")
    assert list(itertools.islice(bases, 2)) == [
        "1700000000.M123456P9Q1.host",
        "1700000000.M123456P9Q2.host",
    ]
