"""Which folders a proposal makes neutral, because rules seem to sort mailing lists into them."""

from pathlib import Path

from spamnb.base.label import Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Mailbox, parse
from spamnb.config.writing import render
from spamnb.setup.proposal import Proposal, Taught, as_configured, propose
from tests.cli.conftest import maildir


def over(lists: list[str], first: int = 0) -> list[bytes]:
    """Made-up messages, each over one of these lists; "" for none."""
    return [
        (f"List-Id: <{name}>\n".encode() if name else b"") + message("ham", first + number)
        for number, name in enumerate(lists)
    ]


def proposed(root: Path, **folders: list[bytes]) -> Proposal:
    """What is proposed for a Maildir with these folders."""
    return propose(maildir(root, **folders))


def test_folders_of_lists_are_neutral(tmp_path: Path) -> None:
    """Folders of mailing lists in one folder are neutral by a pattern, which holds for later ones too."""
    found = proposed(
        tmp_path / "Maildir",
        INBOX=over(["python.lists.example"] * 9),
        Lists_python=over(["python.lists.example"] * 9 + [""]),
        Lists_debian=over(["user.debian.example", "devel.debian.example", "news.debian.example"] * 3),
        Lists_new=over(["new.lists.example"] * 2),
        Archive=over(["python.lists.example"] * 20),
        Family=over([""] * 9),
    )
    assert (found.lists, dict(found.mailbox.patterns)) == (("Lists/*",), {"Lists/*": Role.NEUTRAL})
    roles = {name: found.mailbox.role_of(name) for name in [*found.messages, "Lists/later"]}
    assert roles == {
        "INBOX": Role.INBOX,
        "Archive": Role.HAM,
        "Family": Role.HAM,
        "Lists/python": Role.NEUTRAL,
        "Lists/debian": Role.NEUTRAL,
        "Lists/new": Role.NEUTRAL,
        "Lists/later": Role.NEUTRAL,
    }
    read = parse(render([found.mailbox]), "config.yaml", {"HOME": "/home/you"}).mailboxes[0]
    assert (read.roles, read.patterns) == (found.mailbox.roles, found.mailbox.patterns)


def test_one_folder_of_a_list(tmp_path: Path) -> None:
    """A single folder is neutral by its own name, and its neighbours stay ham."""
    found = proposed(
        tmp_path / "Maildir",
        Work_ci=over(["ci.work.example"] * 5),
        Work_boss=over([""] * 5),
        choir=over(["choir.example"] * 5),
    )
    assert (found.lists, found.mailbox.patterns) == (("Work/ci", "choir"), {})
    assert [found.mailbox.role_of(name) for name in ("Work/ci", "choir", "Work/boss", "Work")] == [
        Role.NEUTRAL,
        Role.NEUTRAL,
        Role.HAM,
        Role.HAM,
    ]


def test_a_large_folder(tmp_path: Path) -> None:
    """A large folder is told by messages from its whole time, not by its oldest ones."""
    found = proposed(tmp_path / "Maildir", was=over(["a.example"] * 40 + [""] * 40), now=over(["a.example"] * 80))
    assert found.lists == ("now",)


def test_too_little_to_tell(tmp_path: Path) -> None:
    """A folder with few messages, with letters, or with many lists is not neutral, unless it is called Lists, say."""
    many = over([f"{number}.lists.example" for number in range(12)])
    found = proposed(
        tmp_path / "Maildir",
        few=over(["a.example"] * 4),
        half=over(["a.example", ""] * 9),
        shops=many,
        Newsletters=many,
    )
    assert found.lists == ("Newsletters",)


def test_neutral_folders_of_a_configuration(tmp_path: Path) -> None:
    """Mail tells which neutral folders of a configuration are folders of lists. Trash, say, is none."""
    lists = over(["python.lists.example"] * 6)
    root = maildir(tmp_path / "Maildir", Lists=lists, Private=over([""] * 6), Trash=lists, Work=lists, Else=lists)
    roles = {"INBOX": Role.INBOX, "Junk": Role.SPAM, "Work": Role.HAM}
    roles |= dict.fromkeys(("Lists", "Private", "Trash"), Role.NEUTRAL)
    found = as_configured(Mailbox(path=root, roles=roles, other_folders=Role.NEUTRAL))
    assert sorted(found.lists) == ["Else", "Lists"]
    weakly = dict.fromkeys(found.lists, Taught(Label.HAM, weak=True))
    teaches = {name: found.taught(name) for name in ("Lists", "Private", "Trash", "Work", "Else")}
    assert teaches == {**dict.fromkeys(teaches), **weakly, "Work": Taught(Label.HAM)}


def test_unreadable_messages(tmp_path: Path) -> None:
    """A message that cannot be read tells nothing."""
    root = maildir(tmp_path / "Maildir", lists=over(["a.example"] * 6))
    files = sorted((root / ".lists/cur").iterdir())
    for file in files[:2]:
        file.unlink()
        file.symlink_to("/dev/null")
    assert propose(root).lists == ()
    files[0].unlink()
    files[0].write_bytes(over(["a.example"])[0])
    assert propose(root).lists == ("lists",)
