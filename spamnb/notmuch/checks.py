"""Check notmuch's tag for spam: without the program, its database or the mailbox in it, the tag teaches nothing."""

import os
from collections.abc import Iterator

from spamnb.base.errors import NotmuchError
from spamnb.base.wording import escaped, plural
from spamnb.checkup.finding import Finding, ok, warning
from spamnb.checkup.part_checks import PartChecks
from spamnb.config import Config
from spamnb.notmuch import program

_WHAT = "notmuch_tag"
_OTHERWISE = "or leave `notmuch_tag` out of the configuration"


def of_notmuch(config: Config, *_: object) -> Iterator[Finding]:
    """Report how many messages have the tag, and each mailbox that notmuch does not index."""
    if config.notmuch_tag is None:
        return
    try:
        number = int(program.ask("count", "--exclude=false", "--", program.tagged(config.notmuch_tag)))
        root = os.fsdecode(program.ask("config", "get", "database.mail_root").removesuffix(b"\n"))
    except (NotmuchError, ValueError) as fault:
        step = f"install notmuch and call `notmuch new` as the user of the service, {_OTHERWISE}"
        yield warning(_WHAT, f"the tag teaches nothing: {fault}", step)
        return
    yield ok(_WHAT, f"{plural(number, 'message')} in notmuch have the tag {escaped(config.notmuch_tag)}")
    for mailbox in config.mailboxes:
        path = os.path.realpath(mailbox.path)
        if os.path.commonpath([path, os.path.realpath(root)]) != os.path.realpath(root):
            means = f"notmuch indexes {escaped(root)}, and {escaped(str(mailbox.path))} is not in it"
            yield warning(
                _WHAT, means, f"set `database.mail_root` of notmuch to a directory that holds both, {_OTHERWISE}"
            )


CHECKS = PartChecks(of_notmuch, lambda *_: iter(()))  # a mail host has no such tag
