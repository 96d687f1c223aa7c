"""Show what it would have done with your old mail.

It reads the mail in your folders in the order in which it came, as if the filter had begun
with the first message, and with nothing. It does this twice: for a person who sorts each
mistake the next day, and for one who never looks into Junk. It names each wanted letter
that it would have moved, and the first spam that it would have missed, with the reasons.

`--with newsletters_folder=News` shows a life with such a folder; it need not exist. Your lists of
allowed and blocked senders do not count, since they are decisions of later.

A message in a spam folder is spam, and one in a ham folder is ham, as at `init`. Your own
decisions come first. A message in a ham folder may look like spam: it counts as spam here, or
is left out, and is named. Deleted mail is not there to be seen.

It reads only: nothing is moved, learned or written. You may call it before `init`.

example:
  spamnb replay ~/Maildir
  spamnb replay --with spam_cutoff=0.99
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from spamnb.base.errors import MaildirError, UsageError
from spamnb.base.label import Label
from spamnb.base.libraries import need
from spamnb.base.wording import escaped
from spamnb.cli.common import output_files, replay_report
from spamnb.cli.common.argument_types import at_least
from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.config_and_ledger import configuration, open_to_read
from spamnb.cli.common.output import as_json, progress, say
from spamnb.config import Config
from spamnb.config.chosen import STRICTNESS
from spamnb.config.keys import MAILBOX_KEYS, reader_in
from spamnb.config.loading import as_config_error, compose
from spamnb.config.nodes import MappingNode
from spamnb.config.settings import APART
from spamnb.maildir.find_maildir import absolute, find_maildirs
from spamnb.setup.proposal import Proposal, as_configured, propose

if TYPE_CHECKING:
    from spamnb.evaluation.past_mail import Found, PastMail
    from spamnb.evaluation.replay import Life, Rules
    from spamnb.evaluation.replayed import Doubted

INTERRUPTED = "nothing was changed"
_MOST = 20_000  # messages
_SECTIONS = ("scoring", "learning")
_ALONE = ("breaker", "authserv_id")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option = parser.add_argument
    usual = "default: the configured mailboxes, or the Maildir that init would find"
    option("maildirs", nargs="*", metavar="MAILDIR", help=usual)
    tried = "try another setting, such as spam_cutoff=0.99 or newsletters_folder=News"
    option("--with", dest="tried", action="append", default=[], metavar="KEY=VALUE", help=tried)
    option("--limit", type=at_least(1), default=_MOST, metavar="N", help=f"only the newest N (default: {_MOST})")
    written = "write a line per message: when it came, what it is, what became of it"
    option("--csv", type=output_files.output_file, metavar="FILE", help=written)
    option("--plots", metavar="DIR", help="write pictures to this directory (needs matplotlib)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Show what the filter would have done with old mail."""
    if options.csv:
        output_files.check(options.csv)
    if options.plots is not None:
        need("matplotlib", "pictures")
    config, rules, decided = _settings(options)
    from spamnb.evaluation.past_mail import PastMail, found_in
    from spamnb.evaluation.replay import QUICK, QUICK_FROM, replayed

    there = found_in(_proposals(config, options))
    found = there[: options.limit]
    _refuse_one_kind(found)
    mail = PastMail(decided)
    early = found[:QUICK] if len(found) >= QUICK_FROM and not (options.json or options.quiet) else []
    if {one.label for one in early} == set(Label):
        _add(mail, early, options)
        say(f"First answer, by the newest {len(early):,} of {len(found):,} messages:\n")
        print(replay_report.figures(replayed(mail, *_lives(mail, rules, options))))
        print("\nAll of it, which takes longer:\n", flush=True)
    _add(mail, found[len(mail) + mail.unread + mail.again :], options)
    lived, doubted = _lives(mail, rules, options)
    if options.csv:
        replay_report.write_csv(options.csv, lived)
    if options.plots is not None:
        from spamnb.evaluation.plots import plot_months

        plot_months(options.plots, lived)
    whole = replayed(mail, lived, doubted, len(there) - len(found))
    print(as_json(replay_report.as_object(whole)) if options.json else replay_report.whole(whole))
    return 0


def show_newest(proposals: Sequence[Proposal], config: Config, options: argparse.Namespace) -> None:
    """Show the figures of the newest messages, to a person who sets the filter up."""
    from spamnb.evaluation.past_mail import PastMail, found_in
    from spamnb.evaluation.replay import QUICK, Rules, replayed

    mail = PastMail()
    _add(mail, found_in(proposals)[:QUICK], options)
    print(replay_report.figures(replayed(mail, *_lives(mail, Rules.of(config), options))))


def _settings(options: argparse.Namespace) -> tuple[Config, Rules, Mapping[bytes, Label]]:
    """Return the settings in force, the rules with those to try, and what the person has said of messages."""
    from spamnb.evaluation.replay import Rules

    config, decided = configuration(options), {}
    if config.mailboxes:
        from spamnb.evaluation.past_mail import decisions

        config, ledger = open_to_read(options)
        if ledger is not None:
            with ledger:  # it is closed before the program forks
                decided = decisions(ledger.lessons)
    rules = Rules.of(config)
    for one in options.tried:
        rules = _with(rules, one)
    return config, rules, decided


def _with(rules: Rules, tried: str) -> Rules:
    """Return the rules with another value. Raises UsageError or ConfigError if they cannot have it."""
    key, equals, value = tried.partition("=")
    sections = {field.name: section for section in _SECTIONS for field in fields(getattr(rules, section))}
    apart = {of: role for role, of in APART.items()}
    if not equals or key not in {*sections, *_ALONE, *apart}:
        keys = ", ".join((*sections, *_ALONE, *apart))
        raise UsageError(f"--with takes KEY=VALUE, and not {escaped(tried)}; KEY is one of {keys}")
    written = STRICTNESS.get(value, value) if key == "spam_cutoff" else value
    with as_config_error(f"--with {escaped(tried)}"):
        found = compose(f"{key}: {written}")
        if section := sections.get(key, ""):
            return rules._replace(**{section: reader_in(section, getattr(rules, section))(found, section)})
        read = MAILBOX_KEYS[key] if key in apart else reader_in(key)
        [(_, node)] = found.value if isinstance(found, MappingNode) else []
        got = read(node, key)
    if key == "breaker":
        return rules._replace(breaker=got)
    if key == "authserv_id":
        return rules._replace(trusted=rules.trusted._replace(authserv_id=got))
    without = rules.apart - {apart[key]}
    return rules._replace(apart=without if got is None else without | {apart[key]})


def _proposals(config: Config, options: argparse.Namespace) -> list[Proposal]:
    """Return the mailboxes with the roles of their folders, by the configuration or by the proposal of `init`."""
    known = {mailbox.path: mailbox for mailbox in config.mailboxes}
    if known and not options.maildirs:
        return list(map(as_configured, known.values()))
    roots = [absolute(one) for one in options.maildirs]
    if not known.keys() >= set(roots) or not roots:
        roots = find_maildirs(options.maildirs)
    return [as_configured(known[root]) if root in known else propose(root) for root in roots]


def _refuse_one_kind(found: Sequence[Found]) -> None:
    from spamnb.evaluation.past_mail import missing_label

    if (label := missing_label(found)) is not None:
        raise MaildirError(
            f"there is no mail in a {label.word} folder, so there is nothing to show: name a MAILDIR, or give one of"
            f" its folders the role {label.word} in the configuration"
        )


def _add(mail: PastMail, found: Sequence[Found], options: argparse.Namespace) -> None:
    mail.add(found, lambda done: progress(done, "reading", options.quiet, len(found)))


def _lives(mail: PastMail, rules: Rules, options: argparse.Namespace) -> tuple[list[Life], list[Doubted]]:
    """Sift the mail, and live through it with each habit."""
    from spamnb.evaluation.replay import LIVES, lives

    samples, doubted = mail.sifted(rules.scoring, lambda judged: progress(judged, "looking for spam", options.quiet))
    with lives(samples, mail.came, rules) as done:
        return list(progress(done, "living", options.quiet, len(LIVES))), doubted
