"""`doctor`: what it finds, what it says to do, and that it changes nothing."""

import ctypes
import json
import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from spamnb.base.errors import LedgerDamagedError
from spamnb.base.label import Role
from spamnb.checkup import inotify
from spamnb.checkup import ledger_checks as of_ledger
from spamnb.checkup import mailbox_checks as of_mailboxes
from spamnb.checkup.finding import name_of, network_file_system
from spamnb.cli.common.sample_mail import message
from spamnb.config import Mailbox
from spamnb.config.writing import render
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.copies.recovery import recover
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.mail.tokens.tokenizer import VERSION
from tests.cli.conftest import Run, ledger_file, mail, maildir
from tests.lessons import wrong_count

ROLES = {"INBOX": Role.INBOX, "Junk": Role.SPAM}


@pytest.fixture
def well(taught: Path) -> Path:
    """A home in perfect order, except that the service does not run."""
    root = maildir(taught / "Maildir", Junk=[])
    configure(taught, Mailbox(path=root, roles=ROLES))
    roll(str(ledger_file(taught)), time.time(), 7)
    return taught


def configure(home: Path, mailbox: Mailbox, more: str = "") -> None:
    """Write the configuration."""
    file = home / ".config/spamnb/config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(render([mailbox]) + more)


def findings(run: Run) -> tuple[int, list[tuple[str, str, str]]]:
    """The exit code, and state, object and meaning of what was found; each that is not ok says what to do."""
    result = run("doctor", "--json")
    found = [json.loads(line) for line in result.out.splitlines()]
    assert result.err == ""
    assert all(bool(one["next"]) == (one["state"] != "ok") for one in found)
    return result.code, [(one["state"], one["what"], one["means"]) for one in found]


def said(run: Run, state: str, part: str) -> bool:
    """Whether a finding of that state says so."""
    return any(found == state and part in means for found, _, means in findings(run)[1])


def tree(home: Path) -> dict[str, bytes | None]:
    """All files with their contents, and directories."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in home.rglob("*")}


def test_mail_in_another_format(taught: Path, run: Run) -> None:
    """If `path` is an mbox file or has Dovecot's dbox, doctor names the format, and not a missing inbox."""
    (taught / "mbox").write_bytes(b"From a@b.example Mon Jan  1 00:00:00 2024\nSubject: x\n\nhello\n")
    configure(taught, Mailbox(path=taught / "mbox", roles=ROLES))
    assert said(run, "fault", "is an mbox file")
    (taught / "dbox/mailboxes/INBOX/dbox-Mails").mkdir(parents=True)
    configure(taught, Mailbox(path=taught / "dbox", roles=ROLES))
    assert said(run, "fault", "has mail in Dovecot's dbox")
    assert not said(run, "fault", "inbox")


def test_all_is_well(well: Path, run: Run) -> None:
    """In perfect order each line is ok, and the exit code is 0; a stopped service is a warning."""
    code, found = findings(run)
    assert code == 0
    assert [one for one in found if one[0] != "ok"] == [
        ("warning", "service", "not running: nothing is judged or learned now")
    ]
    assert {what.split()[0] for _, what, _ in found} == {
        "configuration", "mailbox", "watching", "service", "ledger", "learned", "copies",
    }  # fmt: skip
    with only_service(str(ledger_file(well))):
        assert {state for state, _, _ in findings(run)[1]} == {"ok"}
    shown = run("doctor")
    assert "no faults, 1 warning" in shown.out
    assert "spamnb run" in shown.out.partition("What to do:")[2]
    assert run("-q", "doctor").out.startswith("warning  service")


def test_writes_nothing(well: Path, run: Run) -> None:
    """Nothing is made, changed or removed, in the best case and in the worst."""
    before = tree(well)
    findings(run)
    assert tree(well) == before
    os.truncate(ledger_file(well), 5000)
    (well / ".config/spamnb/config.yaml").write_text("mailboxes: 3\n")
    before = tree(well)
    findings(run)
    assert tree(well) == before


def test_a_service_that_ended_over_damage(well: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage that the last service met is a fault until the next start; a large ledger is examined then."""
    monkeypatch.setattr(of_ledger, "_LARGE", 1000)
    assert said(run, "ok", "too large to prove its counts now")
    path = str(ledger_file(well))
    with pytest.raises(LedgerDamagedError), only_service(path) as lock, EndRecord(path, lock).kept():
        raise LedgerDamagedError("the tokens of message 7 are damaged")
    code, _ = findings(run)
    assert code == 1
    assert said(run, "fault", "the last service ended over damage in it: the tokens of message 7 are damaged")
    assert not said(run, "ok", "too large to prove")


def test_interrupted_replacement(well: Path, run: Run) -> None:
    """After an interrupted replacement, doctor examines the new ledger, and advises nothing that loses it."""
    ledger_file(well).rename(f"{ledger_file(well)}.incoming-replaced")
    code, found = findings(run)
    assert (code, [state for state, what, _ in found if what == "learned"]) == (0, ["ok"])
    assert said(run, "warning", "its replacement was interrupted")


def test_nothing_is_there(home: Path, run: Run) -> None:
    """Without configuration and ledger both are faults, and nothing is made."""
    code, found = findings(run)
    assert code == 1
    assert [(state, what) for state, what, _ in found if state == "fault"] == [
        ("fault", "configuration"),
        ("fault", "ledger"),
    ]
    assert list(home.iterdir()) == []


def test_broken_configuration(well: Path, run: Run) -> None:
    """Each fault of the configuration is a finding; all checks that do not need it are still made."""
    (well / ".config/spamnb/config.yaml").write_text("mailboxes: 3\nbreaker: 7\n")
    code, found = findings(run)
    assert code == 1
    assert [what for state, what, _ in found if state == "fault"] == ["configuration"] * 2
    assert any(what == "learned" for _, what, _ in found)


def test_configuration_out_of_reach(well: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration that may not be read is a fault, and no command takes the defaults in its place."""
    file = well / ".config/spamnb/config.yaml"
    file.unlink()
    file.symlink_to(file)  # who is root may read all but this
    code, found = findings(run)
    assert (code, found[0][:2]) == (1, ("fault", "configuration"))
    monkeypatch.setattr("spamnb.cli.common.config_and_ledger.default_config_path", lambda environ: file)
    assert run("status").code == 78
    file.unlink()
    assert run("verify").code == 0


def test_folders_and_roles(well: Path, run: Run) -> None:
    """Doctor names configured folders that are missing, and folders whose name suggests a different role."""
    root = maildir(well / "Maildir", Sent=[], Bulk=[], Lists=[])
    configure(well, Mailbox(path=root, roles=ROLES | {"Spam/Old": Role.SPAM, "Notes": Role.NEUTRAL}))
    assert said(run, "warning", "configured, but not there: Spam/Old, Notes")
    assert said(run, "warning", "Bulk has no role of its own, so it is neutral; by its name it is spam")
    assert not said(run, "warning", "Sent has")
    configure(well, Mailbox(path=root, roles=ROLES, patterns={"B*": Role.NEUTRAL}))
    assert not said(run, "warning", "Bulk has no role")
    assert not said(run, "warning", "Lists")
    configure(well, Mailbox(path=root, roles={"INBOX": Role.INBOX, "Bin/Spam": Role.SPAM}))
    assert said(run, "warning", "the folder Bin/Spam does not exist yet")
    apart = {"newcomers_folder": "New", "newsletters_folder": "Lists", "unsure_folder": "Bulk"}
    configure(well, Mailbox(path=root, roles=ROLES, **apart))
    assert said(run, "warning", "the folder New does not exist yet: the service makes it at its start")
    assert not said(run, "warning", "Lists")
    assert not said(run, "warning", "Bulk")
    configure(well, Mailbox(path=root, roles={"Posteingang": Role.INBOX, "Junk": Role.SPAM}))
    assert said(run, "fault", "the folder Posteingang, which has the role inbox, does not exist")
    configure(well, Mailbox(path=well / "elsewhere", roles=ROLES))
    assert said(run, "fault", "cannot list the mail directory")


def typed(run: Run, part: str) -> str:
    """The command of the finding that says so."""
    found = map(json.loads, run("doctor", "--json").out.splitlines())
    return str(next(one["command"] for one in found if part in one["means"]))


def files_below(path: Path) -> list[str]:
    """The files in and below a directory, as paths from there, in order."""
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


def test_maildirs_that_the_layout_does_not_show(well: Path, run: Run) -> None:
    """Doctor finds a Maildir inside the Maildir that its layout does not show; the command it gives moves the mail."""
    root = well / "Maildir"
    before = files_below(root)
    for name, number in (("Junk", 2), ("Notes 2024/x", 1), (".Archive/cur/y", 1)):
        maildir(root / name)
        for each in range(number):
            (root / name / ("cur" if each else "new") / f"{name[0]}{each}").write_bytes(b"Subject: x\n\nx\n")
    maildir(root / "..DOVECOT-TRASHED")
    (root / "elsewhere").symlink_to(root / "Junk")
    found = [means for _, what, means in findings(run)[1] if what == f"mailbox {root}"]
    assert found == [
        f"{root}/Junk is a Maildir that the layout maildir++ does not show: its 2 messages and what you move there"
        " teach nothing",
        f"{root}/Notes 2024/x is a Maildir that the layout maildir++ does not show: its 1 message and what you move"
        " there teach nothing",
    ]
    (root / ".Junk/cur/J1").write_bytes(b"Subject: another\n\nx\n")
    for part in ("/Junk is a Maildir", "x is a Maildir"):
        subprocess.run(["/bin/sh", "-c", typed(run, part)], check=False, capture_output=True)
    assert (root / ".Junk/cur/J1").read_bytes() == b"Subject: another\n\nx\n"
    assert {".Junk/new/J0", "Junk/cur/J1", ".Notes 2024.x/new/N0"} <= set(files_below(root)) - set(before)
    (root / ".Junk/cur/J1").unlink()
    subprocess.run(["/bin/sh", "-c", typed(run, "/Junk is a Maildir")], check=True)
    assert not (root / "Junk").exists()
    assert (root / ".Junk/cur/J1").read_bytes() == b"Subject: x\n\nx\n"
    maildir(root / "Empty")
    subprocess.run(["/bin/sh", "-c", typed(run, "its 0 messages")], check=True)
    assert not (root / "Empty").exists()
    assert not said(run, "warning", "does not show")


def test_maildirs_with_a_dot_in_directories(well: Path, run: Run) -> None:
    """In the layout fs, doctor finds folders of Maildir++; it names the first ones, and counts the others."""
    root = well / "Mail"
    for name in ("", "Junk", ".Junk", *(f"Archive/.{year}" for year in range(2000, 2007))):
        maildir(root / name)
    configure(well, Mailbox(path=root, roles=ROLES, layout="fs"))
    found = [means.partition(" is a")[0] for _, _, means in findings(run)[1] if " is a Maildir" in means]
    assert found == [f"{root}/.Junk", *(f"{root}/Archive/.{year}" for year in range(2000, 2004))]
    assert said(run, "warning", "3 more Maildirs that the layout fs does not show")
    (root / "Archive/.2000/cur/A0").write_bytes(b"Subject: x\n\nx\n")
    subprocess.run(["/bin/sh", "-c", typed(run, "Archive/.2000")], check=True)
    assert (root / "Archive/2000/cur/A0").is_file()


def test_permissions(well: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor reports folders that cannot be written, sticky folders of others, and other owners."""
    cur = well / "Maildir/.Junk/cur"
    access = os.access
    with monkeypatch.context() as patch:
        patch.setattr(
            of_mailboxes.os, "access", lambda path, mode, **named: path != str(cur) and access(path, mode, **named)
        )
        assert said(run, "fault", "Junk/cur")
    cur.chmod(0o1777)
    with monkeypatch.context() as patch:
        patch.setattr(of_mailboxes.os, "geteuid", lambda: 12_345)
        assert said(run, "fault", "sticky")
        assert said(run, "warning", "but spamnb runs as user 12345, who would own new folders in it")
    if os.geteuid() == 0:
        os.chown(cur, 12_345, -1)
        assert said(run, "warning", "does not belong to the owner of the mailbox: Junk/cur")


def test_messages_that_cannot_be_read(well: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that may not be read, empty ones and those that are too long are named, with what to do."""
    new = well / "Maildir/.Junk/new"
    for name in ("forbidden", "empty", "long"):
        (new / name).write_bytes(b"" if name == "empty" else message("ham", 1))
    os.truncate(new / "long", 219_000_000)
    access, me = os.access, name_of(os.geteuid())
    monkeypatch.setattr(
        of_mailboxes.os,
        "access",
        lambda path, *mode, **named: "forbidden" not in str(path) and access(path, *mode, **named),
    )
    assert said(run, "warning", f"1 message may not be read, so neither judged nor learned: {new}/forbidden")
    assert said(run, "warning", f"1 message of no bytes, so neither judged nor learned: {new}/empty")
    assert said(run, "ok", f"1 message longer than 64 MB, so neither judged nor learned: {new}/long")
    assert f"make each readable for {me}: chmod, or chown" in run("doctor").out


def test_watching(well: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Doctor reports network file systems and too low limits of inotify; with `watch: inotify` as faults."""
    for name, limit in (("max_user_watches", "3"), ("max_user_instances", "1")):
        (tmp_path / name).write_text(limit)
    monkeypatch.setattr(inotify, "_LIMITS", tmp_path)
    assert said(run, "warning", "6 directories need as many watches, and a user may have 3")
    (tmp_path / str(os.getpid())).symlink_to(f"/proc/{os.getpid()}")  # other processes of this user come and go
    monkeypatch.setattr(inotify, "_PROCESSES", tmp_path)
    with os.fdopen(ctypes.CDLL(None).inotify_init1(os.O_CLOEXEC)):
        means = f"{name_of(os.geteuid())} has 1 of 1 inotify instances in use; the service needs 1"
        assert said(run, "warning", means)
        with only_service(str(ledger_file(well))):
            assert not said(run, "warning", "inotify instances"), "a service that runs has what it needs"
    assert not said(run, "warning", "inotify instances")
    monkeypatch.setattr(of_mailboxes, "network_file_system", lambda path: "nfs4")
    assert said(run, "warning", "is on nfs4")
    mailbox = Mailbox(path=well / "Maildir", roles=ROLES)
    configure(well, mailbox, "\nservice:\n  watch: inotify\n")
    assert said(run, "fault", "is on nfs4")
    configure(well, mailbox, "\nservice:\n  watch: polling\n")
    assert said(run, "ok", "polling, every 10 s")


@pytest.mark.parametrize(
    ("spelling", "layout", "code", "says"),
    [
        (".Junk", "auto", 0, ""),
        ("INBOX.Junk", "maildir++", 0, ""),
        ("INBOX.Junk", "auto", 78, "a Maildir++ folder name cannot hold a dot: 'INBOX.Junk'; write 'Junk'"),
        ("cur", "auto", 78, "is cur, new or tmp; choose another"),
        ("INBOX/Junk", "auto", 0, "the folder INBOX/Junk does not exist yet"),
    ],
)
def test_names_of_folders_that_the_service_refuses(
    well: Path, run: Run, spelling: str, layout: str, code: int, says: str
) -> None:
    """A folder name that ends the service with 78 is a fault, and doctor names the right spelling."""
    file = well / ".config/spamnb/config.yaml"
    file.write_text(file.read_text().replace("Junk: spam", f"{spelling}: spam").replace("auto", layout))
    result = run("doctor", "--json")
    found = [json.loads(line) for line in result.out.splitlines()]
    faults = [one["means"] for one in found if one["state"] == "fault"]
    assert (result.code, bool(faults)) == (bool(code), bool(code))
    assert any(says in one["means"] for one in found)
    if spelling == "INBOX/Junk":
        assert any(one["next"].endswith("; for INBOX/Junk write Junk") for one in found)
        return
    once = run("run", "--once")
    assert once.code == code
    assert says in once.err
    assert not code or says in "".join(faults)
    assert {path.name for path in (well / "Maildir").iterdir() if path.name.startswith(".")} == {".Junk"}


def test_training_folders(well: Path, run: Run) -> None:
    """If there are training folders, a line says when delivered mail should not be learned."""
    root = maildir(well / "Maildir", TrainHam=[])
    mailbox = Mailbox(path=root, roles={**ROLES, "TrainHam": Role.TRAIN_HAM})
    configure(well, mailbox)
    assert said(run, "ok", "then write `trust_delivery: false`")
    configure(well, mailbox, "\nlearning: {trust_delivery: false}\n")
    assert said(run, "ok", "is not learned")


def test_mounts(tmp_path: Path) -> None:
    """The file system of a path is that of the innermost mount around it."""
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/a / ext4 rw 0 0\nhost:/m /srv/mail\\040box nfs4 rw 0 0\n/dev/b /srv/mail\\040box/local xfs rw 0 0\n"
        "x /srv/far fuse.sshfs rw 0 0\n"
    )
    kinds = {
        "/home/x": "", "/srv/mail box/a": "nfs4", "/srv/mail box/local/b": "", "/srv/mail boxes": "",
        "/srv/far": "fuse.sshfs",
    }  # fmt: skip
    assert {path: network_file_system(path, str(mounts)) for path in kinds} == kinds
    assert network_file_system("/home/x", str(tmp_path / "none")) == ""


def test_a_large_ledger_was_examined_when_it_was_copied(well: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor does not verify a large ledger whose copy of the day was verified; if that copy is late, it does."""
    monkeypatch.setattr("spamnb.checkup.ledger_checks._LARGE", 1)
    with Ledger(str(ledger_file(well))) as ledger:
        ledger._connection.execute(wrong_count(7))
    assert said(run, "ok", "they were right when it was copied")
    (copy,) = (ledger_file(well).parent / "copies").iterdir()
    os.utime(copy, (time.time() - 4 * 86_400.0,) * 2)
    assert said(run, "fault", "token 7")


def test_ledger_that_is_damaged(well: Path, run: Run) -> None:
    """Wrong counts, and a file that is no longer a ledger, are faults with the way to repair them."""
    with Ledger(str(ledger_file(well))) as ledger:
        ledger._connection.execute(wrong_count(7))
    code, found = findings(run)
    assert code == 1
    assert any(state == "fault" and "token 7" in means for state, _, means in found)
    os.truncate(ledger_file(well), 5000)
    code, found = findings(run)
    assert code == 1
    assert ("fault", "ledger") in [(state, what) for state, what, _ in found]
    assert run("doctor").out.count("start the service, which restores its newest copy") == 1, "of one damage"
    with only_service(str(ledger_file(well))):
        steps = run("doctor").out.partition("What to do:")[2]
    assert " start the service" not in steps, "it runs"
    assert steps.count("restart the service, which restores its newest copy") == 1
    os.truncate(ledger_file(well), 0)
    assert said(run, "fault", "it is empty")
    assert recover(str(ledger_file(well)), time.time()) is not None
    with Ledger(str(ledger_file(well))) as ledger:
        ledger._connection.execute("PRAGMA user_version = 99")
    assert said(run, "fault", "upgrade spamnb")


def test_what_was_learned(well: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor reports too few lessons of a class, an uneven share, a long silence, and a different tokenizer."""
    with monkeypatch.context() as patch:
        patch.setattr(of_ledger, "VERSION", VERSION + 1)
        assert said(run, "warning", f"another tokenizer ({VERSION}, this one is {VERSION + 1})")
    with monkeypatch.context() as patch:
        patch.setattr(of_ledger, "_UNUSUAL_SILENCE", -1.0)
        assert said(run, "warning", "nothing for less than a day")
    with monkeypatch.context() as patch:
        patch.setattr(of_ledger, "_UNUSUAL_BALANCE", 0.5)
        assert said(run, "warning", "unbalanced: too little ham")
    run("untrain", *sorted((well / "lessons/ham").iterdir())[:10])
    assert not said(run, "warning", "By itself, the filter moves nothing"), "a filter that has begun goes on"
    with Ledger(str(ledger_file(well))) as ledger:
        ledger.state.begun_with = None
    assert said(run, "warning", "By itself, the filter moves nothing until you have kept 5 more ham.")
    assert "init --learn" not in run("doctor").out, "it has learned from the folders"


def test_ham_that_keeps_mail_from_being_moved(well: Path, run: Run) -> None:
    """Doctor and `status` name the ham that the filter would take for spam, and offer `audit`, not more training."""
    wrong = mail(well / "wrong", "spam", 1, first=600) / "600.eml"
    run("train", "--ham", wrong)
    with Ledger(str(ledger_file(well))) as ledger:
        ledger.state.begun_with = None
    named = f"1 of the newest 20 ham messages would be taken for spam: {read(wrong.read_bytes()).summary}"
    assert said(run, "warning", f"By itself, the filter moves nothing yet: {named}")
    assert "spamnb audit, and say what it is" in run("doctor").out.partition("What to do:")[2]
    first = f"moves mail: not yet. By itself, the filter moves nothing yet: {named}"
    assert f"{first}. Say what it is: spamnb audit" in run("status").out
    run("train", "--spam", wrong)
    assert not said(run, "warning", "By itself, the filter moves nothing")


def test_what_is_left_to_do(well: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor reports an open breaker, open moves, an earlier ledger in place, and old ledgers beside it."""
    run("backup", "copy.sqlite")
    run("restore", "copy.sqlite")
    assert said(run, "warning", "a copy was restored on")
    assert said(run, "warning", "1 former ledger kept beside it, ")
    with monkeypatch.context() as patch:
        patch.setattr(of_ledger, "_RECENT", 0.0)
        assert not said(run, "warning", "was restored")
        assert said(run, "ok", "when nothing is missing, remove: ")
    assert "this warning ends when you remove the old ledger, or 7 days after the restore" in run("doctor").out
    for former in ledger_file(well).parent.glob("*.replaced-*"):
        former.unlink()
    assert not said(run, "warning", "was restored")
    ledger_file(well).unlink()
    run("restore", "copy.sqlite")
    assert said(run, "warning", "was restored on"), "no former ledger was there, and what is missing may be much"
    with Ledger(str(ledger_file(well))) as ledger:
        ledger.state.stopped_at = time.time()
        seen = ledger.messages.ensure(b"a", "")
        folder = ledger.locations.folder(ledger.locations.mailbox("/m")[0], "INBOX")
        ledger.journal.intend(seen.id, (folder, "a"), (folder, "b"), Cause("a test", 1.0))
    assert said(run, "fault", "stopped since")
    assert said(run, "warning", "1 move pending")


def test_disk_and_copies(well: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor reports a full disk, readable ledgers, and missing, old or damaged copies."""
    with monkeypatch.context() as patch:
        patch.setattr(of_ledger.shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
        assert said(run, "fault", "nothing more can be learned or moved")
        patch.setattr(of_ledger.shutil, "disk_usage", lambda path: SimpleNamespace(free=5_000_000))
        assert said(run, "warning", "too little for copies and pruning")
    ledger_file(well).chmod(0o644)
    ledger_file(well).parent.chmod(0o755)
    assert said(run, "warning", "other users may read it")
    (copy,) = (ledger_file(well).parent / "copies").iterdir()
    os.utime(copy, (time.time() - 10 * 86_400, time.time() - 10 * 86_400))
    assert said(run, "warning", "the newest is 10 days old")
    os.truncate(copy, 5000)
    assert said(run, "warning", "is damaged")
    copy.unlink()
    assert said(run, "warning", "none in ")
    configure(well, Mailbox(path=well / "Maildir", roles=ROLES), "\nservice:\n  copies: 0\n")
    assert said(run, "ok", "none are made")


def test_a_file_that_nobody_removes(well: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that tells of moves is a warning if no program takes it, and a fault if it cannot be made."""
    file, mailbox = well / "state/moved", Mailbox(path=well / "Maildir", roles=ROLES)
    configure(well, mailbox, f"service:\n  moved_file: {file}\n")
    assert said(run, "fault", f"{file.parent} is missing, or not yours")
    file.parent.mkdir()
    assert said(run, "ok", f"by the program that waits for {file}")
    file.touch()
    assert said(run, "ok", f"by the program that waits for {file}")
    os.utime(file, (time.time() - 1900,) * 2)
    assert said(run, "warning", "has been there for 31 minutes")
    monkeypatch.setattr(os, "access", lambda path, *_, **__: path != file.parent)
    assert said(run, "fault", "is missing, or not yours")


def test_a_server_whose_name_is_wrong(well: Path, run: Run) -> None:
    """If no new mail has a field of the named server, doctor says so, and which servers wrote one."""
    field = b"Authentication-Results: mx.example.org; dkim=none\n"
    border = (
        b"Received: from x (out.b.example [9.9.9.7]) by mx.example.org (Postfix) with ESMTP id 2; Mon, 1 Jun 2026\n"
    )
    root = maildir(well / "Maildir", INBOX=[field + border + message("ham", number) for number in range(3)])
    for name, state, part in (
        ("mx.example.org", "ok", "3 of 3 new messages in the inbox have Authentication-Results of mx.example.org"),
        (
            "mx.example.com",
            "warning",
            "none of 3 new messages in the inbox has Authentication-Results of mx.example.com",
        ),
    ):
        configure(well, Mailbox(path=root, roles=ROLES), f"\nauthserv_id: {name}\n")
        assert said(run, state, part)
    assert "write the site of your own server; the topmost fields are of example.org" in run("doctor").out


def test_an_address_book(well: Path, run: Run) -> None:
    """Doctor counts the addresses of the address book, or says which file cannot be read."""
    book = well / "contacts.vcf"
    mailbox = Mailbox(path=well / "Maildir", roles=ROLES)
    configure(well, mailbox, f"\nauthserv_id: mx.example.org\naddress_book: {book}\n")
    assert said(run, "warning", f"1 file of the address book cannot be read: {book}: No such file or directory")
    book.write_text("BEGIN:VCARD\nEMAIL:ann@example.org\nEMAIL:ben@example.org\nEND:VCARD\n")
    assert said(run, "ok", f"2 addresses in {book}")
