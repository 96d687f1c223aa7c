"""The ledger's record of a renamed folder."""

from spamnb.ledger.ledger import Ledger


def test_files_are_carried_over(ledger: Ledger) -> None:
    """The named files of a renamed folder are recorded in the new one unchanged; unknown names are not."""
    mailbox = ledger.locations.mailbox("/mail")[0]
    old, new = (ledger.locations.folder(mailbox, name) for name in ("Old", "New"))
    one, two = (ledger.messages.ensure(name, "").id for name in (b"one", b"two"))
    ledger.locations.put(old, "one\udcff", one, "filter", b"1", "FS", 1.0)
    ledger.locations.put(old, "two", two, "before", b"2", "", 1.0)
    ledger.locations.put(old, "stays", two, "before", b"2", "", 1.0)
    ledger.locations.put(new, "two", one, "undo", b"3", "S", 1.0)
    for folder in (old, new):
        ledger.locations.gone(folder, ["two"], 2.0, "filter")
    assert ledger.locations.carry(old, new, {"one\udcff", "two", "never"}, 3.0) == 2
    assert ledger.locations.files_in(new) == {"one\udcff": "FS", "two": ""}
    assert ledger.locations.files_in(old) == {"stays": ""}
    carried, left = ledger.locations.last(new, "one\udcff"), ledger.locations.last(old, "one\udcff")
    assert carried is not None
    assert left is not None
    assert (carried.message, carried.origin, carried.content, carried.since) == (one, "filter", b"1", 3.0)
    assert (left.gone_at, left.since) == (3.0, 1.0)
    former = ledger.locations.last(old, "two")
    assert former is not None
    assert former.gone_at == 2.0
    assert ledger.locations.carry(old, new, set(), 4.0) == 0
    assert (ledger.locations.at_start(two), ledger.locations.at_start(one)) == (["Old"], [])
