"""How results look."""

import itertools
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from spamnb.base.label import Role
from spamnb.base.wording import escaped
from spamnb.bulk import learning
from spamnb.cli.common import output
from spamnb.cli.common.message_text import screens
from spamnb.cli.common.output import as_json, table
from spamnb.cli.common.wrapping import wrapped
from spamnb.config import folder_names
from spamnb.mail.limits import DEFAULT_LIMITS
from tests.cli.conftest import Run, mail


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain  text", "plain  text"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("caf\udce9", r"caf\xe9"),
        ("\ud800", r"\ud800"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("no\u00a0break", "no\u00a0break"),
        ("naïve 名前 🎉", "naïve 名前 🎉"),
    ],
)
def test_nothing_from_a_stranger_controls_a_terminal(text: str, shown: str) -> None:
    """Control characters, direction marks and broken bytes are escaped; all other text is unchanged."""
    assert escaped(text) == shown


def test_json_is_plain_ascii_and_keeps_names() -> None:
    """JSON lines hold no byte beyond ASCII and no control character, and give a file name back byte for byte."""
    line = as_json({"path": "a\nb\x1b\udce9é"})
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["path"] == "a\nb\x1b\udce9é"


def test_table_aligns_wide_characters() -> None:
    """Columns are aligned, even after characters that take two columns, or none."""
    lines = table([("token", "n"), ("迷惑メール", 1), ("e\u0301", 22), ("plain", 333)]).splitlines()
    assert lines == ["token         n", "迷惑メール    1", "e\u0301            22", "plain       333"]


def test_table_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal the longest text of a row is cut, so that the row is one line; in a pipe it stays."""
    rows = [("1", "a subject of many words", "INBOX"), ("2", "迷惑メール迷惑メール", "Junk")]
    assert "many words" in table(rows, is_cut=True)
    monkeypatch.setenv("COLUMNS", "25")
    monkeypatch.setattr(output, "is_terminal", lambda _: True)
    assert table(rows, is_cut=True).splitlines() == ["1  a subject of …  INBOX", "2  迷惑メール迷…   Junk"]
    assert "many words" in table(rows)


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("It goes to a folder now", 12, "It goes to a\nfolder now"),
        ("Move the 7 to Junk? [Y/n] ", 22, "Move the 7 to Junk?\n[Y/n] "),
        ("   indented words stay so", 15, "   indented\n   words stay\n   so"),
        ("at a terminal `spamnb init --learn` asks", 20, "at a terminal\n`spamnb init --learn`\nasks"),
        ("1 learned. To undo: spamnb undo 1 2 3", 20, "1 learned. To undo:\nspamnb undo 1 2 3"),
        ("a row  of  a table is whole", 9, "a row  of  a table is whole"),
        ("averylongwordthatdoesnotfit here", 8, "averylongwordthatdoesnotfit\nhere"),
        ("名前 名前 名前", 9, "名前 名前\n名前"),
        ("two lines\nof a few words", 9, "two lines\nof a few\nwords"),
    ],
)
def test_sentences_are_broken_at_words(text: str, columns: int, shown: str) -> None:
    """No word is broken, nor what may be copied; an indent goes on, and a table stays as it is."""
    assert wrapped(text, columns) == shown


def test_what_hangs() -> None:
    """The rest of a line may have its own indent, below the last column of a table."""
    gap = "\n" + " " * 15
    assert wrapped("fault  ledger  it is damaged here", 24, 15) == f"fault  ledger  it is{gap}damaged{gap}here"


@pytest.mark.parametrize("text", ["", " ", "\n", "a", "`open", "x: spamnb", ": spamnb y", "  ", "a ` b ` c `"])
def test_odd_text_stays(text: str) -> None:
    """Nothing is lost from text without words, or with a backquote too few."""
    assert wrapped(text, 1).replace("\n", " ").split() == text.split()


def test_table_cuts_what_is_endless() -> None:
    """A cell of any length leaves a table that can be read."""
    assert max(map(len, table([("x" * 5000, 1), ("y", 2)]).splitlines())) < 130


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("INBOX", Role.INBOX),
        ("Inbox", Role.INBOX),
        ("Junk E-mail", Role.SPAM),
        ("INBOX/Spam", Role.SPAM),
        ("INBOX.Spam", Role.SPAM),
        ("INBOX.Archive.Trash", Role.NEUTRAL),
        ("Archive.Trash", Role.HAM),
        ("Spamverdacht", Role.SPAM),
        ("нежелательная почта", Role.SPAM),
        ("迷惑メール", Role.SPAM),
        ("Sent/2024", Role.SENT),
        ("Entwürfe", Role.NEUTRAL),
        ("Éléments supprimés", Role.NEUTRAL),
        ("[Gmail]/All Mail", Role.NEUTRAL),
        ("TrainSpam", Role.TRAIN_SPAM),
        ("learn as ham", Role.TRAIN_HAM),
        ("Junk Email", Role.SPAM),
        ("Pourriels", Role.SPAM),
        ("Correo electrónico no deseado", Role.SPAM),
        ("Niechciane", Role.SPAM),
        ("Wiadomości-śmieci", Role.SPAM),
        ("Unerwünschte Werbung", Role.SPAM),
        ("Gelöscht", Role.NEUTRAL),
        ("Gelo\u0308scht", Role.NEUTRAL),
        ("Messages supprimés", Role.NEUTRAL),
        ("Mensajes enviados", Role.SENT),
        ("Eliminados", Role.NEUTRAL),
        ("Elementy usunięte", Role.NEUTRAL),
        ("Wersje robocze", Role.NEUTRAL),
        ("削除済みアイテム", Role.NEUTRAL),
        ("送信済みトレイ", Role.SENT),
        ("ごみ箱", Role.NEUTRAL),
        ("[Gmail]/Ważne", Role.NEUTRAL),
        ("[Google Mail]/Alle Nachrichten", Role.NEUTRAL),
        ("[Gmail]/Spam", Role.SPAM),
        ("アーカイブ", Role.HAM),
        ("Archives/Sentiers", Role.HAM),
        ("Antispam discussions", Role.HAM),
        ("Projects/Überblick", Role.HAM),
        ("line\nbreak", Role.HAM),
    ],
)
def test_usual_roles(name: str, role: Role) -> None:
    """Folders get roles by the usual names of mail programs; an ordinary name means ham."""
    assert folder_names.usual_role(name) is role


def test_the_size_of_an_attachment_that_is_not_read_to_its_end() -> None:
    """If the middle of an attachment is left out, the terminal says its size, or that it is larger than the rest."""
    attached = b"Content-Disposition: attachment; filename=a.pdf\nContent-Type: application/pdf\n\n"
    start = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n" + attached
    small, large = b"short", b"\xff" * (DEFAULT_LIMITS.message_bytes + 1)
    letters = b"x" * 2 * DEFAULT_LIMITS.message_bytes  # as of base64
    lines = [
        line
        for content in (large, small + b"\n--b\n" + attached + large, small, letters)
        for screen in screens(start + content, 100, 50)
        for line in screen.splitlines()
        if line.startswith("Attached: ")
    ]
    whole, cut = ("Attached: a.pdf (application/pdf, 0 KB)", "Attached: a.pdf (application/pdf, more than 1.0 MB)")
    assert lines == [cut, whole, cut, whole, "Attached: a.pdf (application/pdf, 2.1 MB)"]


@pytest.mark.parametrize(
    ("arguments", "where", "says"),
    [
        (("backup", "copy"), "spamnb.cli.backup.write", "no copy was written"),
        (("demo",), "spamnb.cli.demo.bases_now", "the demo is over, and its files are removed"),
        (("status",), "spamnb.cli.status.status_of", "nothing was changed"),
        (("verify",), "spamnb.cli.verify.progress", "nothing was changed"),
        (("undo", "--yes", "1"), "spamnb.ledger.ledger.Ledger.__init__", "what was done so far is kept"),
    ],
)
def test_what_is_said_at_ctrl_c(
    taught: Path, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], where: str, says: str
) -> None:
    """Ctrl-C ends a command with 130 and one line about the state of its work."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupt)
    ended = run(*arguments)
    assert (ended.code, ended.err) == (130, f"spamnb: interrupted: {says}\n")


@pytest.mark.parametrize("kept", [0, 1])
def test_what_train_says_at_ctrl_c(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """Interrupted, `train` says how many messages it has learned, and these are learned."""
    learn = learning.learn

    def interrupted(*given: Any, **how: Any) -> Iterator[learning.Committed]:
        yield from islice(learn(*given, **how), kept)
        raise KeyboardInterrupt

    monkeypatch.setattr(learning, "learn", interrupted)
    ended = run("train", "--ham", mail(home / "a", "ham", 3))
    says = "learned 3 messages as ham, which is kept" if kept else "no message was learned"
    assert (ended.code, ended.err) == (130, f"spamnb: interrupted: {says}\n")
    assert json.loads(run("status", "--json").out)["learned"]["ham"] == 3 * kept


def test_lines_in_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each half minute of long work gives one line on standard error; the total is counted only for that."""
    clock, counted = itertools.count(), []
    monkeypatch.setattr(output.time, "monotonic", lambda: 12.0 * next(clock))

    def total() -> int:
        counted.append(1)
        return 1000

    assert list(output.progress(range(1), "looking", False, total)) == [0]
    assert (counted, capsys.readouterr().err) == ([], "")
    list(output.progress(range(6), "looking", False, total))
    assert (capsys.readouterr().err.splitlines()[0], counted) == ("spamnb: looking: 2 of 1,000", [1])
