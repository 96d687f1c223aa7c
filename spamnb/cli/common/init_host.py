"""`spamnb init --host`: propose, check and write the configuration of a mail host, and the drop-ins of its service.

Root writes the system's files, and learns as the owner of the mail.
"""

import argparse
import os
from pathlib import Path

from spamnb.base.errors import ConfigError, MaildirError, SpamnbError, UnitError, UsageError
from spamnb.base.label import Label, counts_as
from spamnb.base.wording import escaped, plural
from spamnb.checkup.installation import installation
from spamnb.cli.common import exit_codes
from spamnb.cli.common.as_owner import Owner, ask_as, become, owner_of_ledger
from spamnb.cli.common.config_and_ledger import command, config_path
from spamnb.cli.common.doveconf import printed_by_dovecot
from spamnb.cli.common.named_messages import report_left_out
from spamnb.cli.common.output import inform, progress, table, warn
from spamnb.cli.common.owners import reach
from spamnb.config import Config, load_any, parse
from spamnb.config.default_paths import LEDGERS_OF_HOST, SYSTEM_CONFIG
from spamnb.config.writing import render_host, write
from spamnb.host.host import Host
from spamnb.host.shares import running
from spamnb.ledger.file.locks import is_running
from spamnb.review.first_lessons import Sifted
from spamnb.review.first_questions import outside_of_junk
from spamnb.service.awake_account import record_existing
from spamnb.setup import doveconf, host_unit
from spamnb.setup.dovecot import from_dovecot
from spamnb.setup.host_proposal import HostProposal, MailLocation, owner_of_mail, propose_host, template_of
from spamnb.setup.learn_folders import learn_users
from spamnb.setup.own_server import server_of_host


def run(options: argparse.Namespace) -> int:
    """Set up a mail host. If it has a configuration, learn from the mail of all users by that."""
    if len(options.maildirs) > 1:
        raise UsageError("init --host takes one path, with fields that stand for the user")
    if options.for_user:
        raise UsageError("init --host sets up all users: leave --user out, or --host")
    path = config_path(options)
    if os.path.lexists(path) and not options.force:
        return _learn_by_configuration(path, options)
    proposal = propose_host(_location(options))
    ledgers = LEDGERS_OF_HOST if path == SYSTEM_CONFIG else path.absolute().with_name("ledgers")
    host = Host(parse(render_host(proposal.mailbox, ledgers), str(path), os.environ), path)
    _check_stopped(host)
    if options.learn:
        _check_may_learn(proposal.uid)
    _show(proposal, options)
    server = _server(host, proposal)
    _write(path, render_host(proposal.mailbox, ledgers, server), proposal, options)
    if server is not None:
        what = f"If the servers of {escaped(server)} remove Authentication-Results of this site from mail that comes in"
        inform(options, f"{what}, let them vouch for newsletters: remove the # before `authserv_id` there.")
    if not os.geteuid():
        _make_directory(host, proposal.uid)
    code = _learn(host, proposal.uid, options) if options.learn else 0
    _say_next(path, host, options)
    return code


def _location(options: argparse.Namespace) -> MailLocation:
    """Return the place of the mail: the typed path, or else the path that Dovecot gives."""
    if options.maildirs:
        return MailLocation(template_of(options.maildirs[0]).text)
    return MailLocation.of_dovecot(from_dovecot(doveconf.parse(printed_by_dovecot())))


def _server(host: Host, proposal: HostProposal) -> str | None:
    """Return the mail server to propose. Root reads no mail: a child does, with the rights of the owner of the mail."""

    def question() -> str:
        return server_of_host(host, proposal.found.users) or ""

    return (question() if os.geteuid() else ask_as(Owner.of(proposal.uid), question)) or None


def _learn_by_configuration(path: Path, options: argparse.Namespace) -> int:
    """Learn by the present configuration, and do not change it. An interrupted call can go on this way."""
    shown = escaped(str(path))
    config = load_any(path, os.environ)
    if not config.is_template:
        step = "name another file with --config FILE, or replace it with --force"
        raise ConfigError(f"{shown} is the configuration of one person: {step}")
    host = Host(config, path)
    if options.maildirs and template_of(options.maildirs[0]).components != host.mail.components:
        raise ConfigError(f"{shown} names {escaped(host.mail.text)} instead: edit it, or replace it with --force")
    if not options.learn:
        step = "edit it, learn by its roles with --learn, or replace it with --force"
        raise ConfigError(f"{shown} exists already: {step}")
    owner = None if os.geteuid() else owner_of_ledger(path.absolute(), host.directory, None)
    uid = owner_of_mail(host.mail) if owner is None else owner.uid
    _check_may_learn(uid)
    if not os.geteuid():
        _make_directory(host, uid)
    return _learn(host, uid, options)


def _check_stopped(host: Host) -> None:
    """Raise SpamnbError if a service is working with those ledgers."""
    if shares := running(host.directory):
        units = " ".join(f"spamnb-host@{share}" for share in shares)
        raise SpamnbError(f"{units} is running, and does not expect a changed configuration: stop it first")


# --- what is shown ----------------------------------------------------------------------------------------------


def _show(proposal: HostProposal, options: argparse.Namespace) -> None:
    """Show the number of users, and the role of each folder."""
    mailbox, number = proposal.mailbox, len(proposal.found.users)
    inform(options, f"The mail is in {escaped(str(mailbox.path))} ({mailbox.layout}), and belongs to {proposal.user}.")
    inform(options, f"Found {plural(number, 'user')}.\n")
    rows: list[tuple[object, ...]] = [("folder", "role", "mailboxes")]
    rows += [(name, mailbox.role_of(name), proposal.there.get(name, 0)) for name in proposal.folders()]
    inform(options, table(rows))
    if proposal.looked_at < number:
        inform(options, f"The folders are those of the first {proposal.looked_at} mailboxes.")
    inform(options, f"\nSpam goes to {escaped(mailbox.spam_folder)}.\n")
    for doubt in proposal.doubts():
        warn(doubt)


def _say_next(path: Path, host: Host, options: argparse.Namespace) -> None:
    if not options.learn:
        inform(options, f"\nTo learn from the mail in the folders: {command(options)} init --host --learn")
    here = installation(path, os.environ, host.template)
    inform(options, f"\nNext: {here.enable or here.install or here.start}")


# --- what is written --------------------------------------------------------------------------------------------


def _write(path: Path, text: str, proposal: HostProposal, options: argparse.Namespace) -> None:
    """Write the configuration. If it is the system's own, write the service's drop-ins too. Raises SpamnbError."""
    if path == SYSTEM_CONFIG and os.geteuid():
        step = "run it as root, or name another file with --config FILE"
        raise ConfigError(f"only root can write {escaped(str(path))}: {step}")
    _tell(path, write(path, text, for_all=not os.geteuid()), options)
    if path == SYSTEM_CONFIG:
        drop_ins = host_unit.drop_ins(proposal.user, proposal.group, [proposal.template.fixed])
        for unit, lines in drop_ins.items():
            _tell(unit, host_unit.write(unit, lines), options)
    inform(options, "Change a role there if a folder means something else to your users.")


def _tell(path: Path, former: Path | None, options: argparse.Namespace) -> None:
    kept = "" if former is None else f"; the old one is kept as {escaped(str(former))}"
    inform(options, f"Wrote {escaped(str(path))}{kept}.")


def _make_directory(host: Host, uid: int) -> None:
    """Make the directory of the ledgers for the service's user, if only root can change the directories above it."""
    directory, owner = host.directory, Owner.of(uid)
    there = reach(directory)
    if there.is_whole and there.status.st_uid == uid:
        return
    if there.is_whole and (there.status.st_uid or os.listdir(directory)):
        shown, whose = escaped(str(directory)), Owner.of(there.status.st_uid).name
        step = f"write another path as `ledger`, or change the owner: chown -R {owner.name}: {shown}"
        raise UnitError(f"{shown} belongs to {whose}, and the mail to {owner.name}: {step}")
    if there.uids == {0}:
        host_unit.make_directory(directory, uid, owner.gid)


# --- learning ---------------------------------------------------------------------------------------------------


def _check_may_learn(uid: int) -> None:
    """Raise MaildirError unless root or the owner of the mail calls this."""
    if os.geteuid() not in (0, uid):
        owner, me = Owner.of(uid).name, Owner.of(os.geteuid()).name
        raise MaildirError(f"the mail belongs to {owner}, and you are {me}: run it as root, or as {owner}")


def _learn(host: Host, uid: int, options: argparse.Namespace) -> int:
    """Learn the folders of all users, as the owner of the mail. Returns the exit code."""
    if options.is_program and not os.geteuid():
        become(Owner.of(uid), options)
    users = host.users(uid).users
    ham = spam = known = failed = left_out = undecided = doubted = weakly = 0
    for name, learned, fault in learn_users(host, progress(users, "learning", options.quiet, len(users)), record):
        if learned is None:
            failed += 1
            warn(f"{name}: {fault}")
            continue
        report_left_out(learned.left_out)
        ham, spam, known = ham + learned.ham, spam + learned.spam, known + learned.known
        left_out, undecided = left_out + len(learned.left_out), undecided + learned.undecided
        doubted, weakly = doubted + learned.sifted.doubted, weakly + learned.sifted.weakly_spam
        if options.verbose:
            warn(f"{name}: {learned.ham} ham and {learned.spam} spam learned, {learned.known} known already")
    already = f", {known} known already" if known else ""
    what = f"{plural(ham, 'message')} as ham and {spam} as spam"
    inform(options, f"learned {what}, of {plural(len(users), 'user')}{already}")
    say_sifted(Sifted(doubted, weakly), options)
    say_undecided(undecided, options)
    if failed:
        warn(f"the mail of {plural(failed, 'user')} could not be learned: the lines above say why")
    return exit_codes.ERROR if failed or left_out else 0


def say_sifted(sifted: Sifted, options: argparse.Namespace, step: str = "") -> None:
    """Print how many messages of ham folders look like spam, what they teach, and the next step."""
    if sifted.doubted:
        nothing = sifted.doubted - sifted.weakly_spam
        weakly_spam = f"as {counts_as(Label.SPAM, True)}"
        parts = (sifted.weakly_spam, "counts", "count", weakly_spam), (nothing, "teaches", "teach", "nothing")
        told = [f"{number} {one if number == 1 else many} {what}" for number, one, many, what in parts if number]
        what = f"{outside_of_junk(sifted.doubted)}: {', '.join(told)}"
        inform(options, what + (f". {step}" if step else ""))


def say_undecided(number: int, options: argparse.Namespace) -> None:
    """Print how many messages were left out, because the filter chose their folder and no person did."""
    if number:
        inform(options, f"left out {plural(number, 'message')} that the filter judges and nobody has decided on")


def record(config: Config) -> None:
    """Record the mail in new mailboxes. A running service does that itself."""
    if is_running(str(config.claim)):
        return
    try:
        record_existing(config)
    except SpamnbError:
        if not is_running(str(config.claim)):  # otherwise a service has just started
            raise
