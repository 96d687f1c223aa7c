"""Check notmuch's tag for spam: without the program, its database or the mailbox in it, the tag teaches nothing."""

import os
from collections.abc import Iterator

from spamnb.base.errors import NotmuchError
from spamnb.base.wording import escaped, plural
from spamnb.checkup.finding import Finding, ok, warning
from spamnb.config import Config
from spamnb.maildir import notmuch

_WHAT = "notmuch_tag"
_OTHERWISE = "or leave `notmuch_tag` out of the configuration"


def of_notmuch(config: Config) -> Iterator[Finding]:
    """Report how many messages have the tag, and each mailbox that notmuch does not index."""
    if config.notmuch_tag is None:
        return
    try:
        number = int(notmuch.ask("count", "--exclude=false", "--", notmuch.tagged(config.notmuch_tag)))
        root = os.fsdecode(notmuch.ask("config", "get", "database.mail_root").removesuffix(b"\n"))
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
