"""Newsletters and mail of lists: their way to a folder of their own, and what moves out of it and into it say."""

from pathlib import Path

import pytest

from spamnb.acts import newsletters
from spamnb.acts.choices import standing
from spamnb.base.label import Label, Role
from spamnb.config import load
from spamnb.ledger.ledger import Ledger
from spamnb.mail.relations import Relations
from tests.service.conftest import Site
from tests.service.test_newcomers import KNOWN_FIRST, arrive, letter, write_book

LEAVE = "List-Unsubscribe: <https://club.example/leave>"
ID = "List-Id: The club <news.club.example>"
CLUB, OTHER = "news.club.example", "other@elsewhere.example"


def issue(number: int, *fields: str, sender: str = OTHER, kind: str = "ham") -> bytes:
    """A message with these header fields."""
    return "\n".join([*fields, ""]).encode() + letter(number, sender, kind)


@pytest.fixture
def sorting(site: Site) -> Site:
    """A service with a folder for newsletters."""
    site.teach()
    site.configure(newsletters_folder="Lists")
    site.work()
    site.add_folder("Lists")
    return site


def choices(site: Site) -> list[tuple[str, str | float, str, str]]:
    """Return the choices in force, and why one has no effect."""
    with Ledger(str(site.ledger)) as ledger:
        found = standing(ledger, load(site.config, {}))
        return [(one.choice.kind, one.choice.value, one.choice.by, one.without_effect) for one in found]


def test_where_they_go(sorting: Site) -> None:
    """Mail with List-Unsubscribe or List-Id goes there unless it is spam; all other mail stays."""
    news, talk, mail, spam = issue(1, LEAVE), issue(2, ID), issue(3), issue(4, LEAVE, kind="spam")
    arrive(sorting, news, talk, mail, spam)
    assert sorted(sorting.contents("Lists")) == sorted([news, talk])
    assert (sorting.contents("INBOX"), sorting.contents("Junk")) == ([mail], [spam])
    assert sorting.why(news).startswith("ham, a newsletter, probability 0.0")
    assert sorting.why(talk).startswith("ham, mail of a mailing list, probability 0.0")
    assert sorting.faults() == []


def test_answers_and_friends(sorting: Site) -> None:
    """An answer to one's own mail stays in the inbox, and so does mail of an address to which one has written."""
    sent = b"From: you@home.example\nTo: ann@friends.example\nMessage-ID: <1@home.example>\n\nShall we meet?\n"
    sorting.add_folder("Sent")
    sorting.deliver(sent, "Sent")
    sorting.work()
    friend = issue(1, LEAVE, ID, sender="ann@friends.example")
    arrive(sorting, friend, issue(2, LEAVE))
    assert sorting.contents("INBOX") == [friend]


def test_out_of_it_into_the_inbox(sorting: Site) -> None:
    """It is ham, and the next ones of this list stay in the inbox; other lists still go to their folder."""
    first, second, other = issue(1, ID, LEAVE), issue(2, ID, LEAVE, sender="b@club.example"), issue(3, LEAVE)
    arrive(sorting, first)
    sorting.move(first, "Lists", "INBOX")
    sorting.work()
    assert sorting.label(first) == Label.HAM
    assert choices(sorting) == [("inbox", f"list:{CLUB}", "move", "")]
    arrive(sorting, second, other)
    assert sorted(sorting.contents("INBOX")) == sorted([first, second])
    assert sorting.contents("Lists") == [other]


def test_a_list_with_the_name_of_a_domain(sorting: Site) -> None:
    """A move of mail whose list calls itself like a domain says nothing about mail from that domain."""
    named = "List-Id: Deals <elsewhere.example>"
    arrive(sorting, first := issue(1, named))
    sorting.move(first, "Lists", "INBOX")
    sorting.work()
    sorting.move(first, "INBOX", "Lists")
    sorting.work()
    assert choices(sorting) == [("newsletters", "list:elsewhere.example", "move", "")]
    arrive(sorting, second := issue(2, named), letter_of_a_friend := issue(3))
    assert second in sorting.contents("Lists")
    assert letter_of_a_friend in sorting.contents("INBOX")


def test_out_of_it_without_a_list(sorting: Site) -> None:
    """Without a List-Id the move counts for the address."""
    arrive(sorting, first := issue(1, LEAVE))
    sorting.move(first, "Lists", "INBOX")
    sorting.work()
    assert choices(sorting) == [("inbox", OTHER, "move", "")]


@pytest.mark.parametrize(
    ("field", "sender"), [("List-Id: <*.example>", "a?@x.example"), ("List-Id: <list>", '"a b"@[9.9.9.9]')]
)
def test_names_of_strangers(sorting: Site, field: str, sender: str) -> None:
    """A list or address that cannot be a pattern, or would match others, is not chosen; the message is ham."""
    arrive(sorting, first := issue(1, field, LEAVE, sender=sender))
    sorting.move(first, "Lists", "INBOX")
    sorting.work()
    assert (sorting.label(first), choices(sorting)) == (Label.HAM, [])


@pytest.mark.parametrize("folder", ["Archive", "Junk"])
def test_out_of_it_into_other_folders(sorting: Site, folder: str) -> None:
    """A newsletter that is filed is ham, and one in Junk is spam: neither says where the next one goes."""
    arrive(sorting, first := issue(1, ID))
    sorting.move(first, "Lists", folder)
    sorting.work()
    assert (sorting.label(first), choices(sorting)) == (Label.HAM if folder == "Archive" else Label.SPAM, [])


def test_into_it(sorting: Site) -> None:
    """A message that a person moves there takes the next ones of its sender along, and teaches nothing."""
    first, second = issue(1), issue(2)
    arrive(sorting, first)
    sorting.move(first, "INBOX", "Lists")
    sorting.work()
    assert (sorting.label(first), choices(sorting)) == (None, [("newsletters", OTHER, "move", "")])
    arrive(sorting, second)
    assert sorted(sorting.contents("Lists")) == sorted([first, second])
    assert sorting.why(second).startswith("ham, sorted by your choice, probability")


def test_out_of_junk_into_it(sorting: Site) -> None:
    """A newsletter that a person takes out of Junk is ham."""
    arrive(sorting, first := issue(1, LEAVE, kind="spam"))
    sorting.move(first, "Junk", "Lists")
    sorting.work()
    assert (sorting.label(first), choices(sorting)) == (Label.HAM, []), "it is a newsletter anyway"


def test_a_move_that_says_nothing_new(sorting: Site) -> None:
    """No choice is made of mail that goes there anyway; a move back takes the place of the choice before it."""
    first = sorting.deliver(issue(1, ID), "Archive")
    sorting.work()
    sorting.move(first, "Archive", "Lists")
    sorting.work()
    assert choices(sorting) == []
    sorting.move(first, "Lists", "INBOX")
    sorting.work()
    assert choices(sorting) == [("inbox", f"list:{CLUB}", "move", "")]
    sorting.move(first, "INBOX", "Lists")
    sorting.work()
    assert choices(sorting) == [("newsletters", f"list:{CLUB}", "move", "")]


def test_a_synchroniser_that_copies_first(sorting: Site) -> None:
    """If the copy comes to the inbox before the original leaves the folder, the move means the same."""
    arrive(sorting, first := issue(1, ID))
    old = sorting.path_of("Lists", first)
    with Ledger(str(sorting.ledger)) as ledger:  # it came there long ago
        ledger.locations._db.execute("UPDATE file SET since = since - 60")
    copy = Path(sorting.folders["INBOX"].subdir("cur")) / f"{next(sorting.bases)}:2,S"
    copy.write_bytes(first)
    sorting.work()
    assert sorting.label(first) is None, "it waits"
    old.unlink()
    sorting.work()
    sorting.work()
    assert (sorting.label(first), choices(sorting)) == (Label.HAM, [("inbox", f"list:{CLUB}", "move", "")])


def test_undo_and_forget(sorting: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """The choice is listed, and an undo takes it back, or `choose --forget`."""
    arrive(sorting, first := issue(1, ID))
    sorting.move(first, "Lists", "INBOX")
    sorting.work()
    sorting.spamnb("choose")
    assert f"inbox   list:{CLUB}" in capsys.readouterr().out
    assert sorting.spamnb("undo", "--since", "1h", "--yes") == 0
    assert choices(sorting) == []
    assert sorting.spamnb("choose", "inbox", CLUB) == 0
    arrive(sorting, second := issue(2, ID))
    assert second in sorting.contents("INBOX")
    assert sorting.spamnb("choose", "--forget", CLUB) == 0
    arrive(sorting, third := issue(3, ID))
    assert third in sorting.contents("Lists")


def test_a_choice_beside_allow(sorting: Site) -> None:
    """A label and a folder are two questions: each keeps its answer."""
    for kind in ("allow", "newsletters", "block", "inbox"):
        assert sorting.spamnb("choose", kind, CLUB) == 0
    assert {kind for kind, *_ in choices(sorting)} == {"block", "inbox"}


def test_without_the_folder(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the key newsletters stay in the inbox, and a choice about them is refused."""
    site.teach()
    site.work()
    arrive(site, first := issue(1, LEAVE, ID))
    assert (site.contents("INBOX"), site.why(first)) == ([first], "ham")
    assert site.spamnb("choose", "newsletters", CLUB) != 0
    assert "no mailbox has a newsletters_folder" in capsys.readouterr().err


def test_beside_a_folder_for_newcomers(sorting: Site) -> None:
    """A newsletter of a stranger goes to the newsletters, unless this list is to stay in the inbox."""
    write_book(sorting, KNOWN_FIRST)
    keys = f"authserv_id: mx.example.org\naddress_book: {sorting.directory / 'book.vcf'}"
    sorting.configure(keys, newcomers_folder="New", newsletters_folder="Lists")
    sorting.work()
    arrive(sorting, news := issue(1, LEAVE), issue(2))
    assert sorting.contents("Lists") == [news]
    assert sorting.spamnb("choose", "inbox", CLUB) == 0
    arrive(sorting, chosen := issue(3, ID, LEAVE))
    assert sorting.contents("INBOX") == [chosen]


def test_too_many_choices(sorting: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A move beyond the limit of choices is learned all the same."""
    monkeypatch.setattr("spamnb.acts.choices.MOST_SENDERS", 0)
    arrive(sorting, first := issue(1, ID))
    sorting.move(first, "Lists", "INBOX")
    sorting.work()
    assert (sorting.label(first), choices(sorting)) == (Label.HAM, [])


def test_several_senders(sorting: Site) -> None:
    """Several addresses in From are nobody's: without a list there is nothing to choose."""
    with Ledger(str(sorting.ledger)) as ledger:
        several = Relations(OTHER, others=("b@elsewhere.example",), is_newsletter=True)
        newsletters.choose_by_move(ledger, load(sorting.config, {}), several, Role.INBOX, 1.0)
        assert ledger.choices.standing() == []
