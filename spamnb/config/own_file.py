"""What one user of a mail host has otherwise than the others, in a file of the administrator's.

It has the form of a configuration, and less of its keys. What stands there replaces what stands in the host's
configuration, key by key, and what must be true of several values is asked of what comes out.
"""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import yaml

from spamnb.config.folder_names import written
from spamnb.config.keys import FORMER, MAILBOX_KEYS, check_roles, reader_in, with_patterns, written_in
from spamnb.config.loading import all_told, compose_any, read_text
from spamnb.config.readers import Invalid, Reader, fault, list_of, record
from spamnb.config.settings import Config, Mailbox

KEYS = ("scoring", "learning", "senders", "breaker", "log", "retention_days")

_OF_ALL = "holds for all users and stands in the host's configuration alone; leave it out here"
_REFUSED = {**dict.fromkeys(("ledger", "service", "spamd", "users"), _OF_ALL), **FORMER}
_REFUSED_IN_MAILBOX = dict.fromkeys(("path", "layout"), _OF_ALL)


def with_own(config: Config, path: Path) -> Config:
    """The configuration of a user with what the file there says; without a file as it is.

    Raises ConfigError with all faults of the file, one a line.
    """
    try:
        content = read_text(path, is_file=True)
    except FileNotFoundError:
        return config
    with all_told(str(path)):
        root = compose_any(content)
        if root is None:
            return config
        return replace(config, **_reader(config)(root, ""), written=config.written | written_in(root))


def _reader(config: Config) -> Reader[dict[str, Any]]:
    known: dict[str, Reader[Any]] = {"mailboxes": _mailboxes(config.mailboxes[0])}
    known |= {name: reader_in(name, getattr(config, name)) for name in KEYS}
    return record(known, {name: getattr(config, name) for name in known}, refused=_REFUSED)


def _mailboxes(mailbox: Mailbox) -> Reader[tuple[Mailbox, ...]]:
    """The one mailbox of a user, in a list as everywhere."""
    given = {each.name: getattr(mailbox, each.name) for each in fields(mailbox) if each.name != "patterns"}
    given["roles"] = {written(name): role for name, role in mailbox.roles.items()} | dict(mailbox.patterns)
    values = record(MAILBOX_KEYS, given, check_roles, _REFUSED_IN_MAILBOX)
    wanted = "a list with one entry, such as '- roles: {INBOX: inbox, Spam: spam}'"
    several = list_of(lambda node, key: with_patterns(values(node, key)), wanted)

    def read(node: yaml.Node, key: str) -> tuple[Mailbox, ...]:
        found = several(node, key)
        if len(found) > 1:
            raise Invalid(
                fault(node, key, f"has {len(found)} entries; a user of a host has one mailbox: write {wanted}")
            )
        return found

    return read
