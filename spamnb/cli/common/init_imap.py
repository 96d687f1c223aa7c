"""`spamnb init --imap USER@HOST`: mbsync keeps an account at a provider in step with a Maildir.

It asks at most three questions: the password, whether it may replace an old ~/.mbsyncrc, and the question of `init`.
After an interruption, the same call goes on: it uses the password, the configuration and the mail that it finds.
"""

import argparse
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from spamnb.base import durable
from spamnb.base.errors import ConfigError, SpamnbError, UsageError
from spamnb.base.wording import escaped, plural
from spamnb.checkup.installation import has_systemd, is_in_container
from spamnb.cli.common.config_and_ledger import config_path, configuration, new_ledger_path, path_for_init
from spamnb.cli.common.output import asked_secretly, inform, is_confirmed, is_dialogue, is_terminal, progress_bar, warn
from spamnb.config import default_ledger_path
from spamnb.config.writing import put_aside
from spamnb.maildir.find_maildir import absolute
from spamnb.provider import isync, mbsync, sync_units
from spamnb.provider.isync import ImapAccount, ServerFolders
from spamnb.provider.providers import Wanted, provider_at
from spamnb.setup import units

_RC, _PASSWORD, _MAIL = "~/.mbsyncrc", "~/.mbsync-password", "~/Mail"
_NOTIFY = "imapnotify/spamnb.conf"  # below ~/.config
_INSTALL = "install isync, which has it (Debian: apt install isync; Fedora: dnf install isync)"
_AGAIN = "then call the same command again"
_PROXY = "USER@127.0.0.1:1993"
INTERRUPTED = "the mail that was fetched is kept; call the same command again to go on"


def run(options: argparse.Namespace) -> bool:
    """Fetch the mail of the account, and let a timer do it from now on. Returns whether `init` goes on."""
    account = isync.account(options.imap)
    provider = provider_at(account.host)
    if provider is not None and provider.wants is Wanted.OAUTH2:
        proxy = "a proxy on this machine can log in for mbsync, as docs/hosted-imap.md says"
        raise SpamnbError(f"{provider.told} But {proxy}; then call spamnb init --imap {_PROXY}")
    _refuse_what_has_no_meaning(options)
    if _has_configuration(options):
        configuration(options)  # so that a fault in it shows now, and not after an hour of fetching
    options.interrupted = INTERRUPTED
    program = shutil.which("mbsync")
    if program is None:
        raise SpamnbError(f"mbsync, which fetches the mail, is not installed: {_INSTALL}, {_AGAIN}")
    version = isync.version_in(mbsync.run(program, ["--version"]).stdout)
    place = _place(options)
    pass_command, is_new = _pass_command(account, options)
    try:
        found = _server_folders(program, account, pass_command, place, version)
    except SpamnbError:
        if is_new:  # the password may be wrong: the next call asks again
            _home_file(_PASSWORD).unlink(missing_ok=True)
        raise
    rc, text = _home_file(_RC), isync.rc(account, pass_command, place, found.repeated, version)
    if not _write_rc(rc, text, options):
        return False
    _fetch(program, rc, account, pass_command, place, options)
    options.moved_file = _wanted(options)
    _keep_in_step(program, rc, account, pass_command, options)
    options.maildirs, options.learn, options.roles = [str(place)], not options.no_learn, found.roles
    return True


def _refuse_what_has_no_meaning(options: argparse.Namespace) -> None:
    if options.host or options.for_user:
        raise UsageError("init --imap is for one person: leave --host and --user out")
    if options.fresh:
        raise UsageError("init cannot do --imap and --fresh in one call: give one after the other")
    if len(options.maildirs) > 1:
        raise UsageError("init --imap takes one MAILDIR, the directory for the mail of the account")


def _has_configuration(options: argparse.Namespace) -> bool:
    """Return whether there is a configuration that stays."""
    return os.path.lexists(path_for_init(options)) and not options.force


def _home_file(path: str) -> Path:
    """Return a file in the home directory. Raises ConfigError without a home."""
    if not os.environ.get("HOME"):
        raise ConfigError("HOME is not set, so the files of the account have no place: set it")
    return Path(os.path.expanduser(path))


def _place(options: argparse.Namespace) -> Path:
    """Return the directory for the mail: new, empty, or from an earlier call. Raises SpamnbError."""
    place = absolute(options.maildirs[0]) if options.maildirs else _home_file(_MAIL)
    try:
        is_ours = not os.listdir(place) or (place / "INBOX" / ".mbsyncstate").exists() or _is_named_in_rc(place)
    except FileNotFoundError:
        return place
    except OSError as fault:
        raise SpamnbError(f"{escaped(str(place))} cannot be used ({fault.strerror}): name another directory") from fault
    if not is_ours:
        step = f"name another directory for this account, such as spamnb init --imap USER@HOST {_MAIL}/hosted"
        raise SpamnbError(f"{escaped(str(place))} already holds something else: {step}")
    return place


def _is_named_in_rc(place: Path) -> bool:
    try:
        return f'Path "{place}/"' in _home_file(_RC).read_text(errors="replace")
    except OSError:
        return False


# --- the password ---------------------------------------------------------------------------------------------------


def _pass_command(account: ImapAccount, options: argparse.Namespace) -> tuple[str, bool]:
    """Return the command that prints the password, and whether this call has written the file with it."""
    file = _home_file(_PASSWORD)
    if options.pass_command is not None:
        if not options.pass_command.strip() or not options.pass_command.isprintable():
            raise UsageError("--pass-command takes the command that prints the password, such as 'pass show mail'")
        return options.pass_command, False
    command = f"cat {shlex.quote(str(file))}"
    try:
        status = file.stat()
    except FileNotFoundError:
        _write_password(file, account, options)
        return command, True
    shown = escaped(str(file))
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise SpamnbError(f"others can read the password in {shown}, or it is not yours: chmod 600 {shown}")
    return command, False


def _write_password(file: Path, account: ImapAccount, options: argparse.Namespace) -> None:
    """Ask for the password, and write it to a file that nobody else can read. Raises SpamnbError."""
    if options.quiet or not is_terminal(sys.stdin):
        by_hand = f"(umask 077 && cat >{_PASSWORD})"
        raise UsageError(
            f"there is no password, and nobody to ask: type it into a file by {by_hand}, or give --pass-command"
        )
    who, provider = f"{escaped(account.user)} at {account.host}", provider_at(account.host)
    if provider is not None:
        inform(options, provider.told)
    unknown = "" if provider is not None or account.is_here else ", or an app password if your provider wants one"
    what = Wanted.PASSWORD if provider is None else provider.wants
    password = asked_secretly(f"{what.value} of {who}{unknown} (not shown): ")
    if not password:
        raise SpamnbError("no password was given; nothing was changed")
    with durable.draft(str(file)) as draft:  # of mode 0600
        Path(draft).write_text(password + "\n", encoding="utf-8")
    inform(options, f"The password is in {escaped(str(file))}, which only you can read.")


# --- mbsync ---------------------------------------------------------------------------------------------------------


def _server_folders(
    program: str, account: ImapAccount, pass_command: str, place: Path, version: tuple[int, int]
) -> ServerFolders:
    """Log in, and ask the server for its folders. This fetches nothing. Raises SpamnbError."""
    with tempfile.TemporaryDirectory(prefix="spamnb-") as name:
        directory = Path(name)
        (directory / "near").mkdir()
        rc = directory / "rc"
        rc.touch(0o600)
        rc.write_text(isync.rc(account, pass_command, directory / "near", (), version), encoding="utf-8")
        done = mbsync.run(program, ["-Dn", "--list", "--config", str(rc), isync.CHANNEL])
    if done.returncode:
        raise SpamnbError(isync.fault_in(done.stderr, account, pass_command, place))
    return isync.folders_in(done.stdout)


def _write_rc(rc: Path, text: str, options: argparse.Namespace) -> bool:
    """Write mbsync's configuration. Replace a different one only if the person agrees. Returns whether it is there."""
    shown = escaped(str(rc))
    try:
        there = rc.read_text(encoding="utf-8", errors="replace") if os.path.lexists(rc) else None
        if there == text:
            return True
        if there is not None and not options.force:
            if not is_dialogue() or options.quiet:
                step = "replace it with --force, which keeps it beside the new one, or move it away"
                raise ConfigError(f"{shown} exists already, for something else: {step}")
            if not is_confirmed(f"{shown} exists already, for something else. Replace it, and keep the old one?"):
                print(f"Nothing was changed. These lines would be in {shown}:\n\n{text}")
                return False
        former = None if there is None else put_aside(Path(os.path.realpath(rc)))
        with durable.draft(str(rc)) as draft:
            Path(draft).write_text(text, encoding="utf-8")
    except OSError as fault:
        raise ConfigError(f"cannot write {shown}: {fault.strerror}; check who owns it, {_AGAIN}") from fault
    kept = "" if former is None else f"; the old one is kept as {escaped(str(former))}"
    inform(options, f"Wrote {shown}{kept}.")
    return True


def _fetch(
    program: str, rc: Path, account: ImapAccount, pass_command: str, place: Path, options: argparse.Namespace
) -> None:
    """Fetch all mail that is not here yet. Raises SpamnbError."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        raise SpamnbError(f"cannot make {escaped(str(place))}: {fault.strerror}") from fault
    inform(
        options, f"Fetching the mail of {escaped(account.user)} into {escaped(str(place))}. The first time takes long."
    )
    sys.stdout.flush()
    with progress_bar("fetching mail", options.quiet) as show:
        code, said, counted = mbsync.fetch(program, ["--config", str(rc), isync.CHANNEL], show)
    if code:
        why = isync.fault_in(said, account, pass_command, place)
        raise SpamnbError(f"{why} (the mail that was fetched is kept)")
    if counted is not None:
        inform(options, f"Fetched {plural(counted[0], 'message')}.")


# --- from now on ----------------------------------------------------------------------------------------------------


def _wanted(options: argparse.Namespace) -> Path:
    """Return the file that calls mbsync: the one of the configuration, or one beside the ledger."""
    if not _has_configuration(options):
        return (new_ledger_path(options) or default_ledger_path()).with_name(sync_units.WANTED)
    config = configuration(options)
    if (named := config.service.moved_file) is not None:
        return named
    wanted = config.ledger.with_name(sync_units.WANTED)
    line = f'service: {{moved_file: "{escaped(str(wanted))}"}}'
    inform(options, f"To carry moves back at once, add this to {escaped(str(config_path(options)))}: {line}")
    return wanted


def _keep_in_step(program: str, rc: Path, account: ImapAccount, pass_command: str, options: argparse.Namespace) -> None:
    """Let systemd call mbsync from now on. If systemd cannot, print what to do."""
    if is_in_container(os.environ):
        step = "start a container for mbsync, as docs/install.md says under “An account at a provider, in a container”"
        inform(options, f"Nothing fetches new mail yet: {step}.")
        return
    listener = shutil.which("goimapnotify")
    directory = units.place("user", os.environ).directory
    texts = sync_units.of_mbsync(account, program, rc, options.moved_file, has_listener=listener is not None)
    enabled = [sync_units.TIMER, sync_units.MOVES]
    if listener is not None:
        conf = directory.parents[1] / _NOTIFY
        texts |= sync_units.of_listener(listener, conf)
        enabled.append(sync_units.LISTENER)
        _write_own(conf, sync_units.listener_conf(account, pass_command, options.moved_file), 0o600)
    if written := [name for name, text in texts.items() if _write_own(directory / name, text, 0o644)]:
        inform(options, f"Wrote {', '.join(written)} to {escaped(str(directory))}.")
    calls = [["systemctl", "--user", "daemon-reload"], ["systemctl", "--user", "enable", "--now", *enabled]]
    if all(map(_succeeds, calls)):
        inform(options, "From now on systemd fetches new mail, and carries moves back to the provider.")
    elif not has_systemd():
        step = "let the loop run that docs/hosted-imap.md has under “Without systemd”"
        inform(options, f"systemd does not run here, so nothing fetches new mail yet: {step}.")
    else:
        by_hand = " && ".join(map(shlex.join, calls))
        inform(options, f"systemd did not answer, so nothing fetches new mail yet. To change that: {by_hand}")


def _write_own(path: Path, text: str, mode: int) -> bool:
    """Write a file, unless it exists. Returns whether it was written."""
    shown = escaped(str(path))
    try:
        if os.path.lexists(path):
            if path.read_text(encoding="utf-8", errors="replace") != text:
                warn(f"{shown} existed already, and was not changed: to have the new one, remove it, {_AGAIN}")
            return False
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with durable.draft(str(path)) as draft:
            Path(draft).write_text(text, encoding="utf-8")
            os.chmod(draft, mode)
    except OSError as fault:
        raise SpamnbError(f"cannot write {shown}: {fault.strerror}; check who owns it, {_AGAIN}") from fault
    return True


def _succeeds(command: list[str]) -> bool:
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=60)  # noqa: S603 - systemctl
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
