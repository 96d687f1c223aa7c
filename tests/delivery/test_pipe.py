"""A message in the pipe: its verdict, from the service or made here, and what comes out when anything is broken."""

import math
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.acts import withheld
from spamnb.base.errors import ConfigError, LedgerError
from spamnb.base.label import Verdict
from spamnb.bayes.calibration import SLOPE
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Scoring, Senders, Spamd
from spamnb.delivery import judge, pipe
from spamnb.delivery.pipe import Filtered, filtered
from spamnb.delivery.verdict import Delivered, Format, fields, read_verdict
from spamnb.filter.judge import Filter, Judgement
from spamnb.identity.digests import identity
from spamnb.ledger.file.replacement import holding
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read as read_message
from tests.delivery.server import serving, verdict_of
from tests.lessons import learn, sample_lessons

FORGED = b"From a@b Mon Jan  1 10:00:00 2024\nx-spamnb: ham\n folded\nX-SPAM-FLAG: YES\nX-Spam-Status: Yes\n"
HONEST = FORGED.splitlines(keepends=True)[0]


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger that has learned enough of both kinds."""
    path = tmp_path_factory.mktemp("taught") / "ledger.sqlite"
    with Ledger(str(path)) as ledger:
        learn(ledger, sample_lessons(25))
    return path


@pytest.fixture
def config(taught: Path, tmp_path: Path) -> Config:
    """A configuration with a copy of that ledger."""
    shutil.copy(taught, tmp_path / "ledger.sqlite")
    return Config(mailboxes=(), ledger=tmp_path / "ledger.sqlite")


def whole(found: Filtered) -> bytes:
    """The message that comes out."""
    return b"".join(found.message)


def test_a_spam_and_a_ham(config: Config) -> None:
    """The verdict is that of `score`; the fields have the usual names; nothing else changes."""
    with Ledger(str(config.ledger)) as ledger:
        judge = Filter(ledger.lessons, config.scoring, Senders())
        judged = {kind: judge.judge(read_message(message(kind, 700))) for kind in ("spam", "ham")}
    for kind, status in (("spam", b"Yes"), ("ham", b"No")):
        found = filtered(FORGED + message(kind, 700), lambda: config, "anna")
        assert found.verdict is not None
        assert (found.verdict.verdict, found.verdict.probability) == (kind, judged[kind].probability)
        lines = whole(found).removeprefix(HONEST).splitlines(keepends=True)
        number = 3 if kind == "spam" else 2
        assert lines[0].startswith(b"X-Spamnb: %s, probability=" % kind.encode())
        assert (lines[1] == b"X-Spam-Flag: YES\n") == (kind == "spam")
        assert lines[number - 1].startswith(b"X-Spam-Status: %s, score=" % status)
        assert b"".join(lines[number:]) == message(kind, 700)


def test_bogofilters_field(config: Config) -> None:
    """In bogofilter's format there is one field, its own, and fields of other programs stay."""
    raw = b"X-Bogosity: Ham, tests=bogofilter\nX-Spam-Flag: YES\n" + message("spam", 700)
    lines = whole(filtered(raw, lambda: config, "anna", "bogofilter")).splitlines()
    assert lines[0].startswith(b"X-Bogosity: Spam, tests=bogofilter, spamicity=0.99")
    assert lines[1:] == [b"X-Spam-Flag: YES", *message("spam", 700).splitlines()]


@given(st.sampled_from(Verdict), st.floats(0, 1), st.floats(-9.9, 9.9), st.sampled_from(["spamnb", "bogofilter"]))
def test_fields(verdict: Verdict, probability: float, points: float, style: Format) -> None:
    """Fields are ASCII on one line each, short enough for every program, and ours can be read again."""
    found = Delivered(verdict, round(probability, 6), round(points, 1))
    for name, value in fields(found, style):
        assert len(f"{name}: {value}") < 78
        assert value.isascii()
        assert value.isprintable()
        if name == "X-Spamnb":
            assert read_verdict(value) == found


@pytest.mark.parametrize("value", ["", "spam", "spam, probability=2.000000, score=1.0, version=1", "unknown, reason=x"])
def test_what_is_no_verdict(value: str) -> None:
    """Any other text is not a verdict."""
    assert read_verdict(value) is None


def test_nothing_is_learned_or_made(config: Config) -> None:
    """Only the verdict is remembered, if the filter may give one; a missing ledger is not made."""
    spam = message("spam", 700)
    with Ledger(str(config.ledger)) as ledger:
        before = ledger.lessons.last_change(), ledger.journal.newest_id(), ledger.messages.numbers()
        filtered(spam, lambda: config, "anna")
        assert (ledger.lessons.last_change(), ledger.journal.newest_id(), ledger.messages.numbers()) == before
        told = ledger.early_verdicts.find(identity(spam), time.time())
        assert told is not None
        assert (told.verdict, told.asker) == ("spam", "spamnb filter")
        withheld.pause(ledger)
        filtered(message("spam", 701), lambda: config, "anna")
        assert ledger.early_verdicts.find(identity(message("spam", 701)), time.time()) is None
    none = replace(config, ledger=config.ledger.parent / "none" / "ledger.sqlite")
    filtered(message("spam", 700), lambda: none, "anna")
    assert not none.ledger.parent.exists()


def test_a_ledger_that_another_writes(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process writes, the verdict is still given, but not remembered."""
    monkeypatch.setattr(judge, "REMEMBERED_WITHIN", 0.1)
    spam = message("spam", 700)
    with Ledger(str(config.ledger)) as ledger:
        with ledger.transaction():
            found = filtered(spam, lambda: config, "anna")
        assert found.verdict is not None
        assert (found.verdict.verdict, found.fault) == (Verdict.SPAM, "")
        assert ledger.early_verdicts.find(identity(spam), time.time()) is None


@pytest.mark.parametrize("how", ["little", "stopped", "paused"])
def test_held_back(config: Config, how: str) -> None:
    """A recipe does not file mail that the service would not move, because it knows too little or is stopped."""
    with Ledger(str(config.ledger)) as ledger:
        if how == "stopped":
            ledger.state.stopped_at = time.time()
        elif how == "paused":
            withheld.pause(ledger)
    if how == "little":
        config = replace(config, learning=replace(config.learning, minimum_messages=100))
    found = filtered(message("spam", 700), lambda: config, "anna").verdict
    assert found is not None
    assert (found.verdict, found.points) == (Verdict.UNSURE, 0.0)


def test_points_are_on_the_side_of_the_verdict() -> None:
    """A program that compares the points with 5.0 gets the same verdict, even exactly at the cutoff."""
    config = Config(mailboxes=(), ledger=Path("/none"), scoring=Scoring(spam_cutoff=0.95))
    for verdict, right in ((Verdict.SPAM, 5.0), (Verdict.UNSURE, 4.9)):
        cutoff = Judgement(verdict, 0.95, math.log(0.95 / 0.05) / SLOPE)
        assert judge.delivered(cutoff, config, is_held=False).points == right
    high = Judgement(Verdict.SPAM, 1.0, 50.0)
    assert judge.delivered(high, config, is_held=False).points == 9.9
    more = replace(config, spamd=Spamd(most_points=20.0))
    assert judge.delivered(high, more, is_held=False).points == 20.0


# The service


def test_the_service_is_asked_first(config: Config, tmp_path: Path) -> None:
    """If the service answers, its verdict counts; it never sees fields that anybody could have written."""
    told = Delivered(Verdict.HAM, 0.000012, -9.9)
    raw = FORGED + message("spam", 700)
    with serving(verdict_of(told), tmp_path / "socket") as requests:
        here = replace(config, ledger=tmp_path / "none", spamd=Spamd(listen=(requests.address,)))
        assert filtered(raw, lambda: here, "anna").verdict == told
    assert requests[0].partition(b"\r\n\r\n")[2] == HONEST + message("spam", 700)
    assert b"User: anna\r\n" in requests[0]


def test_without_an_answer_it_is_judged_here(config: Config, tmp_path: Path) -> None:
    """If the service is away, or its answer is nonsense, the message is judged here."""
    with serving(lambda _: b"nonsense", tmp_path / "socket") as requests:
        here = replace(config, spamd=Spamd(listen=(str(tmp_path / "away"), requests.address)))
        found = filtered(message("spam", 700), lambda: here, "anna")
    assert found.verdict is not None
    assert (found.verdict.verdict, found.fault, len(requests)) == (Verdict.SPAM, "", 1)


def test_a_very_long_message_is_judged_here(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that is longer than the service takes is not sent."""
    monkeypatch.setattr(pipe, "_MOST_SENT", 1000)
    raw = message("spam", 700) + b"a" * 1000
    with serving(lambda _: b"", tmp_path / "socket") as requests:
        here = replace(config, spamd=Spamd(listen=(requests.address,)))
        found = filtered(raw, lambda: here, "anna")
    assert found.verdict is not None
    assert requests == []
    assert whole(found).endswith(raw)


# Faults


def _refuse() -> Config:
    raise ConfigError("c.yaml:1: no key")


def _mistake() -> Config:
    raise ZeroDivisionError("division by zero")


def _damaged(config: Config) -> None:
    with open(config.ledger, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 200_000)


def _of_another_program(config: Config) -> None:
    config.ledger.unlink()
    with closing(sqlite3.connect(config.ledger)) as other:
        other.execute("CREATE TABLE bookmark (url TEXT)")


FAULTS: dict[str, Callable[[Config], None]] = {
    "missing": lambda config: config.ledger.unlink(),
    "empty": lambda config: os.truncate(config.ledger, 0),
    "damaged": _damaged,
    "rubbish": lambda config: config.ledger.write_bytes(b"no database" * 1000) and None,
    "another": _of_another_program,
    "directory": lambda config: config.ledger.unlink() or config.ledger.mkdir(),
}


@pytest.mark.parametrize("how", FAULTS)
def test_a_broken_ledger(config: Config, how: str) -> None:
    """If the ledger cannot be read the message says so; forged fields are gone, and all else is whole."""
    FAULTS[how](config)
    found = filtered(FORGED + message("ham", 700), lambda: config, "anna")
    assert whole(found) == HONEST + b"X-Spamnb: unknown, reason=ledger, version=0.1.0\n" + message("ham", 700)
    assert found.verdict is None
    assert str(config.ledger) in found.fault


def test_a_locked_ledger(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that another program holds is waited for so long as mail can wait."""
    monkeypatch.setattr(judge, "_PATIENCE", 0.1)
    with closing(sqlite3.connect(config.ledger)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        found = filtered(message("ham", 700), lambda: config, "anna")
    assert whole(found) == b"X-Spamnb: unknown, reason=busy, version=0.1.0\n" + message("ham", 700)


def test_a_ledger_that_is_being_replaced(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for a ledger that another process is replacing."""
    monkeypatch.setattr(judge, "_PATIENCE", 0.1)
    with holding(str(config.ledger)):
        found = filtered(message("ham", 700), lambda: config, "anna")
    assert whole(found) == b"X-Spamnb: unknown, reason=busy, version=0.1.0\n" + message("ham", 700)


@pytest.mark.parametrize(("load", "reason"), [(_refuse, b"configuration"), (_mistake, b"fault")])
def test_a_broken_configuration(load: Callable[[], Config], reason: bytes) -> None:
    """A configuration that cannot be read, or an error of ours, is reported in the same way, in both formats."""
    for style, kept in (("spamnb", b""), ("bogofilter", b"X-SPAM-FLAG: YES\nX-Spam-Status: Yes\n")):
        found = filtered(FORGED + message("ham", 700), load, "anna", style)  # type: ignore[arg-type]
        line = b"X-Spamnb: unknown, reason=%s, version=0.1.0\n" % reason
        assert whole(found) == HONEST + line + kept + message("ham", 700)


def test_where_even_that_fails(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the header cannot be written the message goes on unchanged."""

    def fail(*_: object) -> None:
        raise LedgerError("no")

    monkeypatch.setattr(pipe, "annotate", fail)
    raw = FORGED + message("ham", 700)
    assert filtered(raw, lambda: config, "anna") == Filtered((raw,), None, "no")


@given(st.binary(max_size=300))
def test_any_bytes(raw: bytes) -> None:
    """Any input comes out whole behind our field, without an error."""
    found = filtered(raw, _refuse, "anna")
    assert whole(found).endswith(bytes(found.message[-1]))
    assert b"X-Spamnb: unknown, reason=configuration" in whole(found)
