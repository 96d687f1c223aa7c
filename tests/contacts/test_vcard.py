"""The addresses in vCards."""

from hypothesis import given
from hypothesis import strategies as st

from spamnb.contacts.vcard import read_cards
from tests.table import over_rows


def card(*lines: str) -> list[bytes]:
    """The lines of a card, as a file has them."""
    return [f"{line}\r\n".encode() for line in ("BEGIN:VCARD", "VERSION:3.0", "FN:Ann", *lines, "END:VCARD")]


@over_rows(
    ("lines", "addresses"),
    [
        (["EMAIL:ann@example.org"], {"ann@example.org"}),
        (["EMAIL;TYPE=INTERNET,WORK:Ann@Example.ORG"], {"ann@example.org"}),
        (["email;type=home:ann@example.org", "EMAIL:ann@work.example"], {"ann@example.org", "ann@work.example"}),
        (["item1.EMAIL;TYPE=INTERNET:ann@example.org", "item1.X-ABLabel:work"], {"ann@example.org"}),
        (["EMAIL;PREF=1:mailto:ann@example.org"], {"ann@example.org"}),
        (['EMAIL;X-NOTE="a:b;c":ann@example.org'], {"ann@example.org"}),
        (["EMAIL;TYPE=INT", " ERNET:ann@exam", "\tple.org"], {"ann@example.org"}),
        ([r"EMAIL:ann\,lee@example.org"], {"ann,lee@example.org"}),
        (["EMAIL:änn@bücher.example"], {"änn@bücher.example"}),
        # no address, or no EMAIL line
        (["EMAIL:"], set()),
        (["EMAIL:ann"], set()),
        (["EMAIL:ann@example.org ben@example.org"], set()),
        (["X-EMAIL:ann@example.org", "NOTE:EMAIL:ann@example.org", "EMAILS:ann@example.org"], set()),
        (["NOTE:write to", " EMAIL:ann@example.org"], set()),
        (["PHOTO;ENCODING=b:AAAA", " EMAIL:ann@example.org"], set()),
        ([f"EMAIL:{'a' * 300}@example.org"], set()),
    ],
)
def test_a_card(lines: list[str], addresses: set[str]) -> None:
    """The EMAIL lines of a card count, in the forms of vCard 3 and 4, folded or not."""
    assert read_cards(card(*lines)) == (addresses, True)


@over_rows(
    ("lines", "addresses"),
    [
        ([], set()),
        ([b"EMAIL:ann@example.org\n"], {"ann@example.org"}),
        (card("EMAIL:ann@example.org")[:-1], {"ann@example.org"}),
        (card("EMAIL:ann@example.org")[:4], {"ann@example.org"}),
        ([b"\xff\xfe\x00", b"\n"], set()),
    ],
)
def test_a_damaged_file(lines: list[bytes], addresses: set[str]) -> None:
    """A file without a whole card yields the addresses that it has, and is not whole."""
    assert read_cards(lines) == (addresses, False)


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_any_lines(lines: list[bytes]) -> None:
    """Any lines yield addresses in lower case, and no error."""
    assert all(address == address.lower() and "@" in address for address in read_cards(lines).addresses)
