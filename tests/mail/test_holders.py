"""Who answers for the mail of an address."""

import pytest

from spamnb.mail.holders import holder_of
from tests.table import over_rows


@over_rows(
    ("address", "holder"),
    [
        ("news@shop.example", "shop.example"),
        ("News@A.B.Shop.Example.", "shop.example"),
        ("news@mail.shop.co.uk", "shop.co.uk"),
        ("a@bücher.example", "xn--bcher-kva.example"),
        ("a@straße.example", ""),
        # a provider's users are strangers to one another, in each country
        ("Ann@Gmail.com", "ann@gmail.com"),
        ("ann@yahoo.co.uk", "ann@yahoo.co.uk"),
        ("ann@live.nl", "ann@live.nl"),
        ("ann@gmail.com.example", "com.example"),
        ("ann@notgmail.com", "notgmail.com"),
        # and so are the names below some names
        ("news@firm.onmicrosoft.com", "firm.onmicrosoft.com"),
        ("news@a.b.firm.onmicrosoft.com", "firm.onmicrosoft.com"),
        ("news@onmicrosoft.com", "onmicrosoft.com"),
        ("news@xonmicrosoft.com", "xonmicrosoft.com"),
        ("news@impots.gouv.fr", "impots.gouv.fr"),
        ("news@mail.shop.uk.com", "shop.uk.com"),
        ("support@shop.zendesk.com", "shop.zendesk.com"),
        # nobody
        ("", ""),
        ("ann", ""),
        ("ann@", ""),
        ("ann@localhost", ""),
        ("ann@[192.0.2.1]", ""),
        ("ann@..", ""),
        (f"ann@{'ü' * 80}.example", ""),
    ],
)
def test_who_answers(address: str, holder: str) -> None:
    """A site answers for all of its subdomains, a user of a provider for one address, a shared name for nobody else."""
    assert holder_of(address) == holder


@pytest.mark.parametrize("address", ["a@" + "b." * 50_000, "@" * 50_000, "a@" + "ü." * 20_000])
def test_a_very_long_address(address: str) -> None:
    """Any address has a holder, or none."""
    assert isinstance(holder_of(address), str)
