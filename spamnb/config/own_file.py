"""The settings of one user of a mail host, in a file of the administrator.

The file has the form of a configuration with fewer keys. Each of its keys replaces the one of the host's configuration;
below `roles`, each folder. The rules for several values are checked on the result.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

from spamnb.base.label import Role
from spamnb.config.folder_names import plain_spelling, written
from spamnb.config.keys import MAILBOX_KEYS, OF_PERSON, check_roles, reader_in, with_patterns, written_in
from spamnb.config.loading import as_config_error, compose_any, read_text
from spamnb.config.nodes import Node
from spamnb.config.readers import Invalid, Reader, choice, fault, list_of, record
from spamnb.config.settings import Config, Layout, Mailbox, Service, Statements

KEYS = ("scoring", "learning", "senders", "breaker", "log", "retention_days")

_OF_ALL = "holds for all users, and belongs only in the host's configuration; leave it out here"
_FOR_PERSON = dict.fromkeys(OF_PERSON, "is for one person, and not for the users of a mail host; leave it out here")
_REFUSED = {**dict.fromkeys(("authserv_id", "ledger", "spamd", "users"), _OF_ALL), **_FOR_PERSON}
_REFUSED_IN_MAILBOX = dict.fromkeys(("path", "layout"), _OF_ALL)


def with_own(config: Config, path: Path) -> Config:
    """Return the configuration of a user with the settings of a file; without a file, return it unchanged.

    Raises ConfigError with all faults of the file, one per line.
    """
    try:
        content = read_text(path, is_file=True)
    except FileNotFoundError:
        return config
    with as_config_error(str(path)):
        root = compose_any(content)
        if root is None:
            return config
        return replace(config, **_reader(config)(root, ""), written=config.written | written_in(root))


def _reader(config: Config) -> Reader[dict[str, Any]]:
    known: dict[str, Reader[Any]] = {"mailboxes": _mailboxes(config.mailboxes[0])}
    known |= {name: reader_in(name, getattr(config, name)) for name in KEYS}
    known["service"] = _service(config.service)
    return record(known, {name: getattr(config, name) for name in known}, refused=_REFUSED)


def _service(service: Service) -> Reader[Service]:
    """Return the reader of the one key about the service that is a user's own: whether letters come."""
    of_all = {each.name: _OF_ALL for each in fields(service) if each.name != "statement"}
    values = record({"statement": choice(get_args(Statements))}, {"statement": service.statement}, refused=of_all)
    return lambda node, key: replace(service, **values(node, key))


def _mailboxes(mailbox: Mailbox) -> Reader[tuple[Mailbox, ...]]:
    """Return the reader of a user's one mailbox, which is in a list as in any configuration."""
    given = {each.name: getattr(mailbox, each.name) for each in fields(mailbox) if each.name != "patterns"}
    of_all = {written(name): role for name, role in mailbox.roles.items()} | dict(mailbox.patterns)
    given["roles"] = of_all
    own_roles = MAILBOX_KEYS["roles"]
    known = {**MAILBOX_KEYS, "roles": lambda node, key: _with_roles(own_roles(node, key), of_all, mailbox.layout)}
    values = record(known, given, check_roles, _REFUSED_IN_MAILBOX)
    wanted = "a list with one entry, such as '- roles: {Newsletters: neutral}'"
    several = list_of(lambda node, key: with_patterns(values(node, key)), wanted)

    def read(node: Node, key: str) -> tuple[Mailbox, ...]:
        found = several(node, key)
        if len(found) > 1:
            raise Invalid(
                fault(node, key, f"has {len(found)} entries; a user of a host has one mailbox: write {wanted}")
            )
        return found

    return read


def _with_roles(own: Mapping[str, Role], of_all: Mapping[str, Role], layout: Layout) -> dict[str, Role]:
    """Return a user's own roles, and for other folders the roles that all users have.

    If the user has an own inbox or spam folder, those of all users do not count: mail is moved to one spam folder.
    """
    named = {plain_spelling(name, layout) for name in own}
    single = {Role.INBOX, Role.SPAM} & {*own.values()}
    rest = {
        name: role for name, role in of_all.items() if plain_spelling(name, layout) not in named and role not in single
    }
    return {**own, **rest}
