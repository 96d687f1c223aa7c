"""Find your Maildir and write the configuration.

It gives each folder a role by its name. A folder into which rules seem to sort mailing
lists is neutral. It never moves mail that is there now, and asks whether to learn from it.
It learns a message in a spam folder as spam, even if a copy is in a ham folder. A message
in a ham folder that looks like spam teaches nothing, or counts as weakly spam. What you
have read in a folder of lists counts as weakly ham, unless it looks like spam. If there is
a configuration, it adds a new MAILDIR to it. With --learn it learns by the roles in the
configuration, and does not change that. If the filter is in use, --learn leaves out mail
that the filter has judged and you have not decided on.

With --fresh the filter starts again with the same configuration. It forgets its lessons,
its history, and your choices. It keeps the old ledger beside the new one.

With --imap it sets up an account at a provider. mbsync fetches the mail into a Maildir
(MAILDIR or ~/Mail). Units of systemd keep both in step. It asks for the password, or
takes it from --pass-command or from ~/.mbsync-password. Then it learns from the folders.

With --host it sets up a mail host, for all users. MAILDIR is a path with fields; without
it, Dovecot names the path. --learn learns from one user after the other. You may
interrupt it and call it again.

example:
  spamnb init ~/Maildir --learn
  spamnb init --imap you@gmail.com@imap.gmail.com
  spamnb init --host '/var/vmail/{domain}/{local}/Maildir'
"""

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from spamnb.acts import may_move
from spamnb.base.errors import ConfigError, UsageError
from spamnb.base.label import How, Label, Role
from spamnb.base.wording import escaped, plural
from spamnb.checkup.installation import installation
from spamnb.cli import replay
from spamnb.cli.common import first_questions, init_fresh, init_host, init_imap
from spamnb.cli.common.config_and_ledger import (
    command,
    config_path,
    configuration,
    ledger_to_read,
    new_ledger_path,
    open_ledger,
    path_for_init,
)
from spamnb.cli.common.moving import whether_it_moves
from spamnb.cli.common.output import inform, is_confirmed, is_dialogue, progress, say, table, warn
from spamnb.cli.train import learn
from spamnb.config import Config, load, parse
from spamnb.config.default_paths import SYSTEM_CONFIG
from spamnb.config.writing import add_mailboxes, render, render_items, write
from spamnb.ledger.file.locks import is_running, only_service
from spamnb.ledger.history.choices import in_force
from spamnb.maildir.find_maildir import absolute, find_maildirs
from spamnb.provider.isync import account
from spamnb.provider.providers import site_at
from spamnb.review import first_lessons
from spamnb.review.first_questions import in_both, in_both_kinds
from spamnb.service.awake_account import record_existing
from spamnb.setup.learn_folders import known_files
from spamnb.setup.own_server import own_server
from spamnb.setup.proposal import TAUGHT, Proposal, as_configured, check_apart, check_rights, propose, with_roles

_NEUTRAL = (
    "Such a folder is neutral: nothing there counts as filed by you. If you file mail there by hand, give it the role"
    " ham."
)
_WORTH_A_REPLAY = 100  # messages of each kind
_WAYS = "learn by its roles with --learn, or replace it with --force"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    usual = "default: $MAILDIR, ~/Maildir, ~/.maildir, ~/Mail, ~/mail, ~/.mail"
    parser.add_argument("maildirs", nargs="*", metavar="MAILDIR", help=usual)
    learning = parser.add_mutually_exclusive_group()
    learning.add_argument("--learn", action="store_true", help="learn from the folders, without asking")
    learning.add_argument("--no-learn", action="store_true", help="do not learn, and do not ask")
    fresh = "forget all lessons and the history; keep the old ledger beside the new one"
    parser.add_argument("--fresh", action="store_true", help=fresh)
    parser.add_argument("--yes", action="store_true", help="with --fresh: do not ask; needed without a terminal")
    parser.add_argument("--imap", metavar="USER@HOST", help="fetch the mail of this account, and filter it")
    command_ = "with --imap: the command that prints the password, such as 'pass show mail'"
    parser.add_argument("--pass-command", metavar="CMD", help=command_)
    parser.add_argument("--host", action="store_true", help="set up a mail host, in /etc/spamnb/config.yaml")
    parser.add_argument("--force", action="store_true", help="replace a configuration; keep the old one beside it")


def run(options: argparse.Namespace) -> int:
    """Set up mailboxes, or a mail host."""
    if options.fresh and (options.host or options.for_user):
        raise UsageError("init --fresh is for one person's filter; on a mail host: spamnb users forget NAME")
    if options.pass_command is not None and options.imap is None:
        raise UsageError("--pass-command is for --imap USER@HOST")
    if options.yes and not options.fresh:
        raise UsageError("--yes answers the question of --fresh: leave it out, or give --fresh")
    if options.imap is not None and not init_imap.run(options):
        return 0
    if options.host:
        return init_host.run(options)
    path = path_for_init(options)
    if options.fresh and not init_fresh.run(path, options):
        return 0
    if options.for_user and not (options.learn and not options.maildirs and not options.force):
        raise UsageError("the users of a mail host share its configuration: give --learn alone, to learn the folders")
    if options.for_user or (os.path.lexists(path) and not options.force):
        return _with_configuration(path, options)
    if options.config is None and path == SYSTEM_CONFIG:
        raise ConfigError(
            "HOME is not set, so the configuration has no place: set HOME, or name a file with --config FILE"
        )
    proposals = [_propose(root, options) for root in find_maildirs(options.maildirs)]
    check_apart(proposals, ())
    ledger = new_ledger_path(options)
    of_provider = "" if options.imap is None else site_at(account(options.imap).host)
    mailboxes, server = [one.mailbox for one in proposals], of_provider or own_server(proposals)
    with only_service(str(parse(render(mailboxes, ledger), str(path), os.environ).ledger)):
        pass  # a running service records a new mailbox by itself, and does not expect a changed configuration
    _show_all(proposals, options)
    is_trusted = server is not None and first_questions.is_trusted(server, options)
    moved_file = getattr(options, "moved_file", None)  # of --imap
    former = write(path, render(mailboxes, ledger, server, is_trusted=is_trusted, moved_file=moved_file))
    inform(options, f"\nWrote {escaped(str(path))}. Change a role there if a folder means something else to you.")
    if former is not None:
        inform(options, f"The old one is kept as {escaped(str(former))}.")
    inform(options, "For a letter each month about what went to Junk, write there: service: {statement: monthly}")
    return _finish(proposals, options)


def _propose(root: Path, options: argparse.Namespace) -> Proposal:
    return with_roles(propose(root), getattr(options, "roles", {}))  # the roles that the server of --imap gives


def _with_configuration(path: Path, options: argparse.Namespace) -> int:
    """Add new mailboxes to a configuration, or learn by its roles."""
    asked = [absolute(one) for one in options.maildirs]
    if not asked and not (options.learn or options.fresh):
        raise ConfigError(f"{escaped(str(path))} exists already: edit it, add a mailbox with init PATH, {_WAYS}")
    config = configuration(options)
    known = {mailbox.path: mailbox for mailbox in config.mailboxes}
    missing = [one for one in asked if one not in known and not one.is_dir()]
    if missing and options.learn:
        raise ConfigError(
            f"{escaped(str(path))} has no mailbox at {escaped(str(missing[0]))}: add it there, or name"
            " another configuration with --config FILE"
        )
    roots = [root for one in asked for root in ([one] if one in known else find_maildirs([str(one)]))]
    proposals = [_propose(root, options) for root in dict.fromkeys(roots) if root not in known]
    if proposals:
        return _add(path, config, proposals, options)
    if not (options.learn or options.fresh):
        raise ConfigError(f"{escaped(str(path))} has this mailbox already: edit it, {_WAYS}")
    chosen = {mailbox.path: mailbox for mailbox in in_force(*ledger_to_read(options)).mailboxes}
    proposals = [as_configured(chosen[root]) for root in roots or chosen]
    for one in proposals:
        inform(options, f"{escaped(str(one.mailbox.path))}, by the roles in {escaped(str(path))}:\n")
        _show(one, options)
        inform(options, "")
    if options.fresh:
        return _finish(proposals, options)
    code, spam = _learn(proposals, options)
    init_host.record(config)
    first_questions.offer_to_move(spam, options)
    inform(options, f"\n{whether_it_moves(options)}")
    return code


def _add(path: Path, config: Config, proposals: Sequence[Proposal], options: argparse.Namespace) -> int:
    """Write more mailboxes into a configuration, and change nothing else in it."""
    check_apart(proposals, config.mailboxes)
    mailboxes = [one.mailbox for one in proposals]
    text = add_mailboxes(path.read_bytes().decode(), mailboxes, str(path), os.environ)
    if text is None:
        print(render_items(mailboxes), end="")
        raise ConfigError(
            f"the mailboxes in {escaped(str(path))} cannot be edited safely: add the lines above to `mailboxes`"
            " yourself; nothing was changed"
        )
    _show_all(proposals, options)
    former = write(path, text)
    inform(options, f"\nAdded to {escaped(str(path))}; the old one is kept as {escaped(str(former))}.")
    return _finish(proposals, options, is_running=is_running(str(config.claim)))


def _finish(proposals: Sequence[Proposal], options: argparse.Namespace, *, is_running: bool = False) -> int:
    """Learn, if the person wants that, and name the next step."""
    is_mail_there = any(map(any, (one.messages.values() for one in proposals)))
    _offer_replay(proposals, options)
    is_wanted = _is_learning_wanted(is_mail_there, options)
    code, spam = _learn(proposals, options) if is_wanted else (0, [])
    here = installation(config_path(options), os.environ)
    if is_running:
        inform(options, f"\n{whether_it_moves(options)}")
        step = here.told(here.reload) if here.reload else "send it SIGHUP"
        inform(options, f"\nNext: let the service read it again: {step}")
    else:
        record_existing(load(config_path(options), os.environ))
        first_questions.offer_to_move(spam, options)
        inform(options, f"\n{whether_it_moves(options)}")
        inform(options, f"\nNext: {here.told(here.enable) if here.enable else here.next}")
    if is_mail_there and not is_wanted and not _may_ask(options):
        _say_not_learned(options)
    return code


def _offer_replay(proposals: Sequence[Proposal], options: argparse.Namespace) -> None:
    """Offer to show what the filter would have done with the mail, if enough of both kinds is there."""
    if options.learn or options.no_learn or options.quiet or not is_dialogue():
        return
    number: Counter[Label] = Counter()
    for one in proposals:
        for taught in TAUGHT:
            number[taught.label] += len(one.teaching(taught))
    if number[Label.HAM] < _WORTH_A_REPLAY or number[Label.SPAM] < _WORTH_A_REPLAY:
        return
    question = "\nSee what it would have done with the newest of this mail? It takes half a minute, and only reads."
    if is_confirmed(question, default=True):
        replay.show_newest(proposals, configuration(options), options)
        say(f"All of it, with each mistake by name: {command(options)} replay")


def _say_not_learned(options: argparse.Namespace) -> None:
    """Say, after all else, that nobody could be asked and what this means."""
    what = "Nothing was learned from the mail in the folders"
    inform(options, f"\n{what}. To learn from it: {command(options)} init --learn")


def _may_ask(options: argparse.Namespace) -> bool:
    """Return whether a person can be asked whether to learn, or has said so."""
    return options.no_learn or is_dialogue()


def _show_all(proposals: Sequence[Proposal], options: argparse.Namespace) -> None:
    """Show the proposals. Raises MaildirError if the rights on the disk forbid one."""
    for warning in filter(None, map(check_rights, proposals)):
        warn(warning)
    for number, one in enumerate(proposals):
        gap, root = "\n" if number else "", escaped(str(one.mailbox.path))
        inform(options, f"{gap}Found {root} ({one.mailbox.layout}), {plural(len(one.folders), 'folder')}:\n")
        _show(one, options)
        if one.mailbox.spam_folder not in one.messages:
            inform(options, "It will be created. If your mail program does not show it, subscribe to it there.")


def _show(proposal: Proposal, options: argparse.Namespace) -> None:
    """Show the role of each folder that exists or that the configuration names."""
    for fault in proposal.faults:
        warn(fault)
    mailbox, messages = proposal.mailbox, proposal.messages
    roles: dict[str, Role] = {**mailbox.roles, **{name: mailbox.role_of(name) for name in messages}}
    rows: list[tuple[object, ...]] = [("folder", "role", "messages", "learned as")]
    for name, role in roles.items():
        taught = proposal.taught(name)
        number = len(messages[name]) if name in messages else "to be created"
        what = "nothing" if taught is None else taught.label.word
        rows.append((name, role, number, f"weakly {what}, if read" if taught is not None and taught.weak else what))
    inform(options, table(rows))
    if proposal.lists:
        which = ", ".join(map(escaped, proposal.lists))
        inform(
            options, f"\n{which}: nearly all mail there comes over mailing lists, so rules seem to sort it. {_NEUTRAL}"
        )
    inform(options, f"\nSpam goes to {escaped(mailbox.spam_folder)}.")


def _is_learning_wanted(is_mail_there: bool, options: argparse.Namespace) -> bool:
    if options.learn or options.no_learn or options.quiet or not is_mail_there or not _may_ask(options):
        return bool(options.learn)
    if is_confirmed("\nLearn from the mail in the folders now?", default=True):
        return True
    later = f"{command(options)} init --learn"
    say(f"Skipped: the filter begins with nothing, and learns from what you move and keep. To learn later: {later}")
    return False


def _learn(proposals: Sequence[Proposal], options: argparse.Namespace) -> tuple[int, list[bytes]]:
    """Learn the folders, ask about what looks like spam, sift the rest, and then see whether moving may begin.

    Returns the exit code, and the messages that the person has called spam, by their identities.
    """
    is_asking = first_questions.may_ask(options)
    config, ledger = open_ledger(options)
    with ledger:
        first_lessons.begin(ledger)
        if is_asking:
            first_lessons.take_up(ledger)
    code = max(_learn_folders(one, options) for one in proposals)
    folders = {folder.path: folder.name for one in proposals for folder in one.folders}
    spam = first_questions.ask(folders, options) if is_asking else []
    with open_ledger(options)[1] as ledger:
        both = len(in_both(ledger, config.scoring))
        sifted = first_lessons.finish(
            ledger, config.scoring, lambda judged: progress(judged, "looking for spam", options.quiet)
        )
        may_move.begin_if_ready(ledger, config.scoring, config.learning)
    step = "" if is_asking else f"At a terminal `{command(options)} init --learn` asks about them"
    if both:
        inform(options, " ".join(filter(None, (in_both_kinds(both), step))))
    init_host.say_sifted(sifted, options, step)
    _print_misfiled_hint(options)
    return code, spam


def _learn_folders(proposal: Proposal, options: argparse.Namespace) -> int:
    """Learn ham first and then spam, so that a message in both ends as spam: somebody put it into the spam folder."""
    codes = [0]
    with open_ledger(options)[1] as ledger:
        there = known_files(ledger, proposal)
    skipped = there.otherwise | there.undecided | there.sifted
    for taught in TAUGHT:
        if there_now := proposal.teaching(taught):
            found = [source for source in there_now if source.file not in skipped]
            label, why, weak = taught.label, taught.why, taught.weak
            codes.append(learn(found, len(found), label, why, options, how=How.SEEN, weak=weak, may_begin=False))
    init_host.say_undecided(len(there.undecided), options)
    return max(codes)


def _print_misfiled_hint(options: argparse.Namespace) -> None:
    """Name folders whose learned mail looks as if it were filed wrongly."""
    if options.quiet:
        return
    from spamnb.cli.common.questions import doubts_of  # numpy takes 0.1 s to import

    doubts = doubts_of(options)
    if doubts.clear:
        say(f"\n{doubts.sentence}. Look first: {command(options)} audit")
