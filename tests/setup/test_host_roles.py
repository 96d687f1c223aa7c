"""The roles of folders on a host."""

from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.label import Role
from spamnb.setup.host_roles import host_roles

_FOLDERS = ["INBOX", "Junk", "Spam", "Sent", "Trash", "Work", "Papierkorb", "Junk/2023", "Train as spam"]


@given(
    st.dictionaries(st.sampled_from(_FOLDERS), st.sampled_from([Role.SPAM, Role.SENT, Role.NEUTRAL, Role.HAM])),
    st.dictionaries(st.sampled_from(_FOLDERS), st.integers(0, 20)),
)
def test_there_is_always_an_inbox_and_a_spam_folder(special: dict[str, Role], there: dict[str, int]) -> None:
    """With any folders, the roles have an inbox, a spam folder, and each special use."""
    roles = host_roles(special, there, 20)
    assert roles["INBOX"] is Role.INBOX
    assert Role.SPAM in roles.values()
    assert {folder: role for folder, role in special.items() if folder != "INBOX"}.items() <= roles.items()


def test_spam_goes_to_the_folder_that_most_have() -> None:
    """The spam folder in most mailboxes comes first; a special use decides if none exists."""
    assert next(iter(_spam({"Spam": Role.SPAM}, {"Junk": 30, "Spam": 90}))) == "Spam"
    assert next(iter(_spam({"Junk": Role.SPAM}, {"Junk": 30, "Spam": 90}))) == "Spam"
    assert _spam({"Junk": Role.SPAM}, {}) == ["Junk"]
    assert _spam({}, {}) == ["Junk"]


def test_what_few_have_is_not_written_down() -> None:
    """A folder of one in twenty users has no role of its own: its name decides in that mailbox."""
    assert "Papierkorb" not in host_roles({}, {"INBOX": 100, "Papierkorb": 5}, 100)
    assert host_roles({}, {"INBOX": 100, "Papierkorb": 10}, 100)["Papierkorb"] is Role.NEUTRAL


def _spam(special: dict[str, Role], there: dict[str, int]) -> list[str]:
    return [folder for folder, role in host_roles(special, there, 100).items() if role is Role.SPAM]
