"""An account at a provider, set up by `init --imap`: what starts mbsync, and when moves are carried back."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts.moves import bases_now
from spamnb.cli.common.sample_mail import message
from spamnb.maildir.folders import Folder
from tests.mail_under_service import Mail
from tests.patience import until
from tests.systemd.machine import Machine
from tests.systemd.provider import LESSONS, Provider
from tests.systemd.unit import Unit

# In the place of mbsync: it counts its runs, and lasts as long as a file says.
_SUBSTITUTE = """\
#!/bin/sh
echo begin >>{home}/runs
while [ -e {home}/hold ]; do sleep 0.05; done
exit "$(cat {home}/code)"
"""
_numbers = iter(range(600, 999))
_DROP_IN = "[Service]\nExecStart=\nExecStart={home}/substitute\n"


@pytest.fixture(scope="module")
def provider(machine: Machine, system_unit: Unit) -> Provider:
    """A provider, and carla's home, in which `init --imap` was called; `spamnb` is the one that the system has."""
    assert system_unit.machine is machine
    machine.add_user("carla")
    made = Provider(machine, "carla")
    printed = made.set_up()  # also beside the configuration of a mail host, which other tests leave
    assert "From now on systemd fetches new mail, and carries moves back to the provider" in printed
    assert f"learned {LESSONS} messages as spam" in printed
    return made


def deliver(provider: Provider, kind: str, number: int) -> str:
    """Deliver a message at the provider; its Message-ID."""
    content, file = message(kind, number).decode(), f"/srv/{kind}.eml"
    provider.machine.write(file, content)
    provider.probe("deliver", file)
    (identifier,) = re.findall(r"^Message-ID: (<.*>)$", content, re.MULTILINE)
    return str(identifier)


def where(provider: Provider, identifier: str) -> dict[str, float]:
    """How many messages of that Message-ID the provider has, by folder."""
    (found,) = provider.probe("where", identifier)
    return found


def test_carried_back(provider: Provider) -> None:
    """One call of mbsync fetches spam; the filter's move then calls mbsync by itself. Ham stays at the provider."""
    ham, spam = deliver(provider, "ham", 501), deliver(provider, "spam", 501)
    provider.systemctl("start", "mbsync.service")
    until(lambda: where(provider, spam) == {"INBOX": 0, "Junk": 1}, "spam to be in Junk at the provider")
    assert where(provider, ham) == {"INBOX": 1, "Junk": 0}
    until(lambda: not provider.machine.path(provider.wanted).exists(), "the file to be gone")
    timers = provider.systemctl("list-timers", "--all")
    assert "mbsync.timer" in timers


def test_what_a_listener_does(provider: Provider) -> None:
    """The file alone, which goimapnotify makes when the provider tells of new mail, leads to both runs."""
    spam = deliver(provider, "spam", 502)
    provider.machine.run("touch", provider.wanted, user=provider.person)
    until(lambda: where(provider, spam) == {"INBOX": 0, "Junk": 1}, "spam to be in Junk at the provider")


class Substitute:
    """What counts the runs in the place of mbsync, and the mail of the person."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._home = provider.machine.path(provider.home)
        self._number = provider.machine.uid(provider.person)
        folders = {name: Folder(name, str(self._home / "Mail" / name)) for name in ("INBOX", "Junk")}
        self.mail = Mail(folders, bases_now())

    def runs(self) -> int:
        """How often it was called."""
        return len((self._home / "runs").read_text().splitlines())

    def hold(self) -> None:
        """Let the next run last until `release`."""
        (self._home / "hold").touch()

    def release(self) -> None:
        """Let the run end."""
        (self._home / "hold").unlink()

    def end_with(self, code: int) -> None:
        """Let all runs end with that code."""
        (self._home / "code").write_text(f"{code}\n")

    def spam(self) -> None:
        """Deliver spam here, and wait until the filter has moved it."""
        content = message("spam", next(_numbers))
        folder = self.mail.folders["INBOX"]
        base = next(self.mail.bases)
        draft = Path(folder.path, "tmp", base)
        draft.write_bytes(content)
        self._provider.machine.run(
            "chown", f"{self._number}:{self._number}", f"{self._provider.home}/Mail/INBOX/tmp/{base}"
        )
        draft.rename(Path(folder.subdir("new"), base))
        until(lambda: content in self.mail.contents("Junk"), "spam to be moved")

    def settled(self, runs: int) -> None:
        """Wait for that many runs, and see that no other follows."""
        until(lambda: self.runs() >= runs, lambda: f"{runs} runs, not {self.runs()}; {self._provider.said()}")
        until(self._provider.is_idle, "the run to end")
        assert self.runs() == runs


@pytest.fixture
def substitute(provider: Provider) -> Iterator[Substitute]:
    """A substitute for mbsync, which has run never yet."""
    machine, home = provider.machine, provider.home
    drop_in = f"{home}/.config/systemd/user/mbsync.service.d/substitute.conf"
    provider.systemctl("stop", "mbsync.timer")
    until(provider.is_idle, "the runs of other tests to end")
    machine.write(f"{home}/runs", "", provider.person)
    machine.write(f"{home}/code", "0\n", provider.person)
    machine.write(f"{home}/substitute", _SUBSTITUTE.format(home=home), provider.person)
    machine.path(f"{home}/substitute").chmod(0o755)
    machine.write(drop_in, _DROP_IN.format(home=home), provider.person)
    provider.systemctl("daemon-reload")
    yield Substitute(provider)
    machine.path(f"{home}/hold").unlink(missing_ok=True)
    machine.path(drop_in).unlink()
    provider.systemctl("daemon-reload")
    provider.systemctl("start", "mbsync.timer")


def test_moves_during_a_run(provider: Provider, substitute: Substitute) -> None:
    """Moves made while mbsync runs, whoever has started it, lead to one more run, however many they are."""
    substitute.hold()
    provider.systemctl("start", "--no-block", "mbsync.service")  # as the timer does
    until(lambda: substitute.runs() == 1, "the run to begin")
    for _ in range(3):
        substitute.spam()
    substitute.release()
    substitute.settled(2)
    substitute.hold()
    substitute.spam()
    until(lambda: substitute.runs() == 3, "a run for the move")
    substitute.spam()
    substitute.release()
    substitute.settled(4)


def test_a_run_that_fails(provider: Provider, substitute: Substitute) -> None:
    """A run that fails is not tried again by itself, and the next move starts one all the same."""
    substitute.end_with(1)
    substitute.spam()
    substitute.settled(1)
    substitute.spam()
    substitute.settled(2)
    substitute.end_with(0)
    substitute.spam()
    substitute.settled(3)
    assert provider.systemctl("is-active", "mbsync.path").strip() == "active"


def test_many_runs(provider: Provider, substitute: Substitute) -> None:
    """systemd does not give up after many runs in a short time."""
    for number in range(1, 9):
        substitute.spam()
        until(lambda number=number: substitute.runs() >= number, "a run for each move")  # type: ignore[misc]
    assert provider.systemctl("is-active", "mbsync.path").strip() == "active"
