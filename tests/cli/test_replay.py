"""`replay`: what the filter would have done with old mail, without a trace."""

import csv
import json
import os
from pathlib import Path

import pytest

from spamnb.base.label import Label
from spamnb.cli.common.sample_mail import message
from spamnb.evaluation import replay
from spamnb.evaluation.past_mail import PastMail, found_in
from spamnb.setup.proposal import propose
from tests.cli.conftest import At, Run

HAM, SPAM = 90, 60


def put(folder: Path, content: bytes, name: str) -> Path:
    """Put a message into a folder of a Maildir, as one that was read."""
    for part in ("cur", "new", "tmp"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    path = folder / "cur" / f"{name}:2,S"
    path.write_bytes(content)
    return path


@pytest.fixture
def old_mail(home: Path) -> Path:
    """A Maildir with ham, spam in Junk, and a little spam in the inbox."""
    root = home / "Maildir"
    for number in range(HAM):
        put(root, message("ham", number), f"{number}.ham")
    for number in range(SPAM):
        put(root if number % 10 == 9 else root / ".Junk", message("spam", number), f"{number}.spam")
    return root


def told(run: Run, *arguments: object) -> dict[str, object]:
    """Return the object that `replay --json` prints."""
    result = run("replay", "--json", *arguments)
    assert result.code == 0, result.err
    found: dict[str, object] = json.loads(result.out)
    return found


def everything(home: Path) -> dict[str, tuple[bytes | None, int]]:
    """Return all files of the home, with their bytes and times."""
    found = sorted(home.rglob("*"))
    return {str(path): (path.read_bytes() if path.is_file() else None, path.stat().st_mtime_ns) for path in found}


def test_nothing_is_written(run: Run, home: Path, old_mail: Path) -> None:
    """Before `init`, replay says what each life would have been, and leaves no file and no folder behind."""
    before = everything(home)
    said = run("replay")
    assert said.code == 0, said.err
    assert everything(home) == before
    assert "150 messages from 1 January 2026 to 4 January 2026" in said.out
    assert "You sort each mistake the next day: it moves mail from " in said.out
    assert "You never look into Junk: it moves mail " in said.out
    assert said.out.endswith("It reads only: nothing was moved, learned or written.\n")


def test_spam_in_the_inbox_counts_as_spam(run: Run, old_mail: Path) -> None:
    """A message outside of Junk that looks like spam is named, and counts as spam or is left out."""
    found = told(run, old_mail)
    doubted = found["doubted"]
    assert isinstance(doubted, list)
    assert {Path(one["name"]).name.partition(":")[0] for one in doubted} == {f"{n}.spam" for n in range(9, SPAM, 10)}
    lives = found["lives"]
    assert isinstance(lives, list)
    left_out = sum(not one["is_spam"] for one in doubted)
    assert [(one["ham"], one["spam"], one["ham_moved"]) for one in lives] == [(HAM, SPAM - left_out, 0)] * 2
    assert "6 messages outside of Junk may be spam" in run("replay", old_mail).out


def test_as_a_simulated_user(run: Run, home: Path, old_mail: Path) -> None:
    """`evaluate --protocol user` over these messages in this order gives equal figures."""
    for number in range(9, SPAM, 10):
        (old_mail / "cur" / f"{number}.spam:2,S").rename(old_mail / ".Junk" / "cur" / f"{number}.spam:2,S")
    assert run("replay", "--csv", home / "lines", old_mail).code == 0
    (tidy, blind) = told(run, old_mail)["lives"]  # type: ignore[misc]
    lines = [row for row in csv.DictReader((home / "lines").read_text().splitlines()) if row["habit"] == "tidy"]
    (home / "index").write_text("".join(f"{row['label']} {row['file']}\n" for row in lines))
    for life in (tidy, blind):
        how = ("--protocol", "user", "--habit", life["habit"], "--messages-a-day", life["messages_a_day"])
        figures = json.loads(run("evaluate", home, *how, "--json").out)
        assert (figures["ham_lost"], round(figures["caught"] * SPAM / 100)) == (life["ham_moved"], life["spam_caught"])
        assert (figures["switched_on_at"] is None) == (life["began"] is None)
    assert [row["came"] for row in lines] == sorted(row["came"] for row in lines)
    assert sum(row["moved_to"] == "Junk" for row in lines) == tidy["spam_caught"] + tidy["ham_moved"]


def test_what_the_person_has_said_comes_first(run: Run, old_mail: Path) -> None:
    """A message that a person has called ham or spam is that, wherever it lies."""
    assert run("init", "--learn", old_mail).code == 0
    lying = old_mail / "cur" / "9.spam:2,S"
    assert run("train", "--ham", lying).code == 0
    assert run("train", "--spam", old_mail / "cur" / "0.ham:2,S").code == 0
    found = told(run)
    assert str(lying) not in {one["name"] for one in found["doubted"]}  # type: ignore[attr-defined]
    left_out = sum(not one["is_spam"] for one in found["doubted"])  # type: ignore[attr-defined]
    (tidy, _) = found["lives"]  # type: ignore[misc]
    assert (tidy["ham"], tidy["spam"]) == (HAM, SPAM - left_out)


def test_a_message_in_two_folders_is_one(run: Run, old_mail: Path) -> None:
    """A message in the inbox and in Junk is counted once, as spam; one that is damaged is said."""
    put(old_mail / ".Junk", message("ham", 3), "again")
    put(old_mail, b"\n", "empty")
    found = told(run, old_mail)
    (tidy, _) = found["lives"]  # type: ignore[misc]
    assert (found["messages"], found["unread"], tidy["ham"]) == (HAM + SPAM, 1, HAM - 1)
    assert "; 1 more could not be read" in run("replay", old_mail).out


def test_the_time_of_arrival(run: Run, home: Path) -> None:
    """A message came when its topmost Received field says; without a date, when its file was written."""
    root = home / "Maildir"
    for number in range(40):
        received = f"Received: from a by b; Fri, {1 + number % 28} May 2026 10:00:00 +0000\n".encode()
        put(root, received + message("ham", number), f"{number}.ham")
        put(root / ".Junk", message("spam", number), f"{number}.spam")
    late = put(root, b"Subject: no date\n\nhello\n", "late")
    os.utime(late, (1_800_000_000, 1_800_000_000))
    said = run("replay", root).out
    assert "81 messages from 1 January 2026 to 15 January 2027" in said
    assert "Caught by month:" not in said, "spam came in one month"


def test_another_cutoff(run: Run, old_mail: Path) -> None:
    """--with tries another value; a strict one catches no less than one that nothing reaches."""
    strict, never = (
        told(run, old_mail, "--with", f"spam_cutoff={cutoff}")["lives"][0]["spam_caught"]  # type: ignore[index]
        for cutoff in (0.8, 0.9999)
    )
    assert strict >= never
    assert "--with takes KEY=VALUE" in run("replay", old_mail, "--with", "colour=red").err
    refused = run("replay", old_mail, "--with", "spam_cutoff=much")
    assert (refused.code, refused.out) != (0, "")
    assert "spam_cutoff" in refused.err


def test_another_mailbox(run: Run, old_mail: Path) -> None:
    """--with tries folders for mail that is put apart, a server that vouches, and a filter without a breaker."""
    for number in range(30):
        news = message("ham", 500 + number).partition(b"\n\n")
        field = b"\nList-Unsubscribe: <https://shop.example/off>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click"
        put(old_mail, news[0] + field + b"\n\n" + news[2], f"{number}.news")
    without, apart = (told(run, old_mail, *how)["lives"] for how in ((), ("--with", "newsletters_folder=News")))
    (tidy, _), (sorting, _) = without, apart  # type: ignore[misc]
    assert tidy["apart"] == {}
    assert sorting["apart"]["newsletters"]["ham"] > 0
    said = run("replay", old_mail, "--with", "newsletters_folder=News", "--with", "breaker=no").out
    assert "  Put apart as newsletters: " in said
    for fault in ("authserv_id=two words", "breaker=perhaps", "newsletters_folder=a: b", "ledger=/tmp/x", "breaker"):
        refused = run("replay", old_mail, "--with", fault)
        assert refused.code != 0 and refused.err.startswith("spamnb: ") and not refused.out, fault


def test_a_server_that_vouches(run: Run, old_mail: Path) -> None:
    """With `authserv_id`, newsletters stay that the server vouches for and that would have gone to Junk."""
    head = (
        "Authentication-Results: mx.mine.example; dmarc=pass header.from=shop.example\n"
        "Received: from shop.example (shop.example [192.0.2.7]) by mx.mine.example; Mon, 1 Jun 2026 12:00:00 +0000\n"
        "List-Unsubscribe: <https://shop.example/off>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n"
        "From: Shop <news@shop.example>\n"
    )
    for number in range(12):
        fields, _, body = message("spam", 900 + number).decode().partition("\n\n")
        others = [line for line in fields.split("\n") if not line.startswith("From:")]
        put(old_mail, (head + "\n".join(others) + "\n\n" + body).encode(), f"{number}.shop")
    assert run("init", "--learn", old_mail).code == 0
    for number in range(12):
        assert run("train", "--ham", old_mail / "cur" / f"{number}.shop:2,S").code == 0
    (lost, _), (spared, _) = (
        told(run, *how)["lives"]
        for how in ((), ("--with", "authserv_id=mx.mine.example"))  # type: ignore[misc]
    )
    assert spared["ham_moved"] < lost["ham_moved"]


def test_pictures(process: Run, home: Path, old_mail: Path) -> None:
    """--plots draws the months of each life."""
    pytest.importorskip("matplotlib")
    assert process("replay", old_mail, "--plots", home / "pictures").code == 0
    assert (home / "pictures" / "months.png").read_bytes().startswith(b"\x89PNG")


def test_the_newest_answer_first(run: Run, old_mail: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is much mail, the newest answers first; --limit leaves out older mail, and says so."""
    monkeypatch.setattr(replay, "QUICK", 60)
    monkeypatch.setattr(replay, "QUICK_FROM", 100)
    said = run("replay", old_mail).out
    assert said.startswith("First answer, by the newest 60 of 150 messages:\n")
    assert "\nAll of it, which takes longer:\n\n150 messages from" in said
    limited = run("replay", old_mail, "--limit", 70).out
    assert limited.startswith("70 messages from")
    assert "80 older messages left out: --limit 150 takes them too." in limited


def test_init_offers_it(home: Path, at_terminal: At) -> None:
    """At a terminal `init` offers it before it learns, if there are a hundred messages of each kind."""
    root = home / "Maildir"
    for number in range(100):
        put(root, message("ham", number), f"{number}.ham")
        put(root / ".Junk", message("spam", number), f"{number}.spam")
    code, shown, _ = at_terminal("init", root, answers=["\n", "n\n"], prompt="[Y/n] ")
    assert code == 0, shown
    offer, figures, learning = map(
        shown.index, ("See what it would have done", "You never look into Junk", "Learn from")
    )
    assert offer < figures < learning
    assert "All of it, with each mistake by name: spamnb replay" in shown


@pytest.mark.parametrize("kind", list(Label))
def test_without_one_kind(run: Run, home: Path, kind: Label) -> None:
    """Without any spam, or any ham, replay says what it needs."""
    root = home / "Maildir"
    for part in ("cur", "new", "tmp"):
        (root / part).mkdir(parents=True)
    put(root / ".Junk" if kind is Label.SPAM else root, message(kind.word, 1), "one")
    refused = run("replay", root)
    missing = Label(1 - kind).word
    assert (refused.code, f"there is no mail in a {missing} folder" in refused.err) == (3, True)


def test_what_is_no_maildir(run: Run, home: Path) -> None:
    """An mbox, a missing directory and a file for lines that cannot be written are refused before the work."""
    (home / "mbox").write_bytes(b"From a Mon Jan  1 00:00:00 2026\n" + message("ham", 1))
    for path in ("mbox", "missing"):
        assert run("replay", path).err.startswith("spamnb: "), path
    assert run("replay", "--csv", home / "no" / "file").code == 3


def test_each_layout(run: Run, old_mail: Path, home: Path) -> None:
    """The same mail gives the same figures in Maildir++ and in the layout fs."""
    other = home / "other"
    for part in ("cur", "new", "tmp"):
        (other / "INBOX" / part).mkdir(parents=True)
    for file in (old_mail / "cur").iterdir():
        put(other / "INBOX", file.read_bytes(), file.name.partition(":")[0])
    for file in (old_mail / ".Junk" / "cur").iterdir():
        put(other / "Junk", file.read_bytes(), file.name.partition(":")[0])
    found, same = told(run, old_mail), told(run, other)
    drop = ("file", "name")
    assert figures_of(found, drop) == figures_of(same, drop)


def figures_of(found: object, drop: tuple[str, ...]) -> object:
    """Return the figures without the paths of files."""
    if isinstance(found, dict):
        return {key: figures_of(value, drop) for key, value in found.items() if key not in drop}
    return [figures_of(value, drop) for value in found] if isinstance(found, list) else found


def test_without_dates(run: Run, home: Path) -> None:
    """Mail without any date comes in the order of its files' times."""
    root = home / "Maildir"
    for number in range(60):
        for label in Label:
            lines = message(label.word, number).split(b"\n")
            folder = root / ".Junk" if label is Label.SPAM else root
            file = put(folder, b"\n".join(line for line in lines if not line.startswith(b"Date:")), f"{number}.x")
            os.utime(file, (1_767_225_600 + number * 86_400 + label,) * 2)
    assert run("replay", root, "--csv", home / "lines").code == 0
    rows = [row for row in csv.DictReader((home / "lines").read_text().splitlines()) if row["habit"] == "tidy"]
    assert [(Path(row["file"]).name, row["label"]) for row in rows] == [
        (f"{number}.x:2,S", label.word) for number in range(60) for label in Label
    ]


def test_mail_that_is_being_delivered(old_mail: Path) -> None:
    """Mail that leaves before it is read is counted, mail that comes since then is left out, and the rest is read."""
    found = found_in([propose(old_mail)])
    (old_mail / "cur" / "0.ham:2,S").unlink()
    (old_mail / "cur" / "1.ham:2,S").rename(old_mail / "cur" / "1.ham:2,RS")
    put(old_mail, message("ham", 800), "late")
    mail = PastMail()
    mail.add(found)
    assert (len(mail), mail.unread, mail.again) == (HAM + SPAM - 2, 2, 0)
