"""Which key holds which kind of value, and what must be true of several together."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

import yaml

from spamnb.base.label import Role
from spamnb.config import readers
from spamnb.config.default_paths import LEDGERS_OF_HOST
from spamnb.config.folder_names import is_pattern, name_of, plain_spelling
from spamnb.config.named_senders import Senders
from spamnb.config.readers import Check, Invalid, Reader, choice, fault, list_of, record, shown
from spamnb.config.settings import Config, Exchange, Layout, Mailbox, Scoring, Spamd
from spamnb.config.template import PathTemplate, has_fields, parse_template

PLAIN = ("breaker", "retention_days")
"""The keys with a value of their own, beside `mailboxes` and `ledger`, that are in no section."""

_HINTS = get_type_hints(Config, include_extras=True)

FORMER = {"retention": "is one key now, for all that is gone; write 'retention_days: 365'"}
"""Keys from before the first release, and what to write for them now."""

_FORMER_OF: dict[Any, Mapping[str, str]] = {Spamd: {"learn": "is called teach now; write sockets, tcp or nobody"}}
_NOT_FOR_NEW_MAIL = (Role.SENT, Role.SPAM, Role.TRAIN_SPAM, Role.TRAIN_HAM)


def config_reader(environ: Mapping[str, str]) -> Reader[dict[str, Any]]:
    """The fields of a Config; `ledger` and `users` are None where they are not written."""
    mailboxes = list_of(_mailbox(environ), "a list with one '- path: ~/Maildir' for each Maildir")
    of_config = {name: reader_in(name) for name, hint in _HINTS.items() if is_dataclass(hint) or name in PLAIN}
    known = {"mailboxes": mailboxes, "ledger": readers.absolute_path(environ, is_file=True), **of_config}
    return record(known, {**_defaults(Config), "ledger": None, "users": None}, _check_all, FORMER)


def written_in(root: yaml.Node) -> frozenset[str]:
    """The keys of sections that a configuration names itself, as `scoring.spam_cutoff`; of one that could be read."""
    sections = {each.name for each in fields(Config) if is_dataclass(each.type)}
    pairs = [(name.value, section) for name, section in root.value if name.value in sections]
    return frozenset(
        f"{name}.{key.value}"
        for name, section in pairs
        if isinstance(section, yaml.MappingNode)
        for key, _ in section.value
    )


def wanted() -> dict[str, str]:
    """What may be written for each key with a value of its own, in words, by the dotted key."""
    environ = {"HOME": "/"}
    found = {"ledger": readers.absolute_path(environ, is_file=True), **{name: reader_in(name) for name in PLAIN}}
    found |= {f"mailboxes.{name}": reader for name, reader in {**_place(environ), **MAILBOX_KEYS}.items()}
    for each in fields(Config):
        if is_dataclass(each.type):
            found |= {f"{each.name}.{name}": reader for name, reader in _keys_of(each.type).items()}
    return {key: readers.wanted_by(reader) for key, reader in found.items()}


def reader_in(name: str, given: Any = None) -> Reader[Any]:
    """The reader of a section of a Config, or of one of the `PLAIN` keys; given as `section` has it."""
    hint = _HINTS[name]
    return section(hint, given) if is_dataclass(hint) else _reader_of(hint)


def section(cls: Any, given: Any = None) -> Reader[Any]:
    """A dataclass from a mapping with its fields as keys, each read as its type says.

    given: a value of it, whose fields are taken where the mapping has them not; else the defaults are.
    """
    defaults = _defaults(cls) if given is None else {each.name: getattr(given, each.name) for each in fields(cls)}
    values = record(_keys_of(cls), defaults, _CHECKS.get(cls, lambda _: ()), _FORMER_OF.get(cls, {}))
    return lambda node, key: cls(**values(node, key))


def _keys_of(cls: Any) -> dict[str, Reader[Any]]:
    return {name: _reader_of(hint) for name, hint in get_type_hints(cls, include_extras=True).items()}


def _reader_of(hint: Any) -> Reader[Any]:
    if get_origin(hint) is Annotated:
        return cast(Reader[Any], hint.__metadata__[0])
    return readers.flag if hint is bool else choice(get_args(hint))


def _defaults(cls: Any) -> dict[str, Any]:
    made = {each.name: each.default_factory() for each in fields(cls) if each.default_factory is not MISSING}
    return made | {each.name: each.default for each in fields(cls) if each.default is not MISSING}


def _mailbox(environ: Mapping[str, str]) -> Reader[Mailbox]:
    values = record({**_place(environ), **MAILBOX_KEYS}, _defaults(Mailbox), check_roles)
    return lambda node, key: with_patterns(values(node, key))


MAILBOX_KEYS: Mapping[str, Reader[Any]] = MappingProxyType(
    {
        "roles": readers.mapping_of(
            readers.folder, choice(list(Role)), "folders with their roles, one 'INBOX: inbox' a line"
        ),
        "other_folders": choice([Role.HAM, Role.NEUTRAL]),
        "unsure_folder": readers.optional(readers.folder),
    }
)
"""What is said of a mailbox's folders, which one user of a host may say otherwise."""


def _place(environ: Mapping[str, str]) -> dict[str, Reader[Any]]:
    """Where a mailbox lies, which no user of a host may say otherwise."""
    return {"path": _path(environ), "layout": choice(get_args(Layout))}


def _path(environ: Mapping[str, str]) -> Reader[Path]:
    """A path that is neither that of another mailbox, read before, nor inside or around it; links are not followed."""
    path = readers.absolute_path(environ)
    earlier: set[Path] = set()
    below: defaultdict[Path, list[Path]] = defaultdict(list)  # by each directory around them; there may be thousands

    def read(node: yaml.Node, key: str) -> Path:
        value = path(node, key)
        here = Path(os.path.normpath(value))
        clashes = [f"{shown(str(here))} is written twice; name each Maildir once"] if here in earlier else []
        pairs = [(inner, here) for inner in below[here]] + [(here, outer) for outer in here.parents if outer in earlier]
        for inner, outer in pairs:
            what = f"{shown(str(inner))} is inside the mailbox {shown(str(outer))}"
            clashes.append(f"{what}; keep the outer one, and give the inner a role in it")
        for outer in here.parents:
            below[outer].append(here)
        earlier.add(here)
        if clashes:
            raise Invalid(*(fault(node, key, what) for what in clashes))
        return value

    return readers.Described(read, readers.wanted_by(path))


def with_patterns(values: Mapping[str, Any]) -> Mailbox:
    """The mailbox, with patterns and names apart, and each name in the spelling used here."""
    layout, unsure = values["layout"], values["unsure_folder"]
    roles = {plain_spelling(name, layout): role for name, role in values["roles"].items()}
    spelled = {
        "roles": MappingProxyType({name_of(name): role for name, role in roles.items() if not is_pattern(name)}),
        "patterns": MappingProxyType({name: role for name, role in roles.items() if is_pattern(name)}),
        "unsure_folder": None if unsure is None else plain_spelling(unsure, layout),
    }
    return Mailbox(**{**values, **spelled})


def check_roles(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with the roles of a mailbox's folders, and with its folder for unsure mail."""
    if "roles" not in values:
        return
    known = {"path": Path("/"), "layout": "auto", "unsure_folder": None, **values}
    if faults := list(_check_names(known["roles"], known["layout"], known["unsure_folder"])):
        yield from faults
        return
    mailbox = with_patterns(known)
    for needed, example in ((Role.INBOX, "INBOX: inbox"), (Role.SPAM, "Junk: spam")):
        if needed not in mailbox.roles.values():
            by_pattern = needed in mailbox.patterns.values()
            why = f"only a pattern has the role {needed}" if by_pattern else f"no folder has the role {needed}"
            yield "roles", f"{why}; add one, for example '{example}'"
    for name, role in mailbox.roles.items():
        if name.upper() == "INBOX" and role in _NOT_FOR_NEW_MAIL:
            yield "roles", f"{shown(name)} is where new mail arrives and cannot be {role}; write '{name}: inbox'"
    if (unsure := mailbox.unsure_folder) is not None:
        written = mailbox.roles.get(unsure) or mailbox.by_pattern(unsure)
        meant = Role.INBOX if unsure.upper() == "INBOX" else written  # which it is in any case
        if meant in (Role.INBOX, *_NOT_FOR_NEW_MAIL):
            name = shown(known["unsure_folder"])
            yield "unsure_folder", f"{name} has the role {meant}; name a folder of its own for unsure mail"


def _check_names(roles: Mapping[str, Role], layout: str, unsure: str | None) -> Iterator[tuple[str, str]]:
    """Names that no folder of the layout can have, and such that mean the same folder."""
    spelled: dict[str, str] = {}
    for key, name in [*(("roles", name) for name in roles), *([("unsure_folder", unsure)] if unsure else [])]:
        plain = plain_spelling(name, layout)
        if "" in plain.split("/"):
            yield key, f"{shown(name)} has an empty part between dots; write '/' between the levels"
        elif layout == "fs" and plain != name:
            yield key, f"{shown(name)} begins with a dot, as no folder does in the layout fs; write '{plain}'"
        elif key == "roles" and plain in spelled:
            yield key, f"{shown(spelled[plain])} and {shown(name)} are one folder; keep one of them"
        spelled[plain] = name


def _check_all(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _check_host(values)
    yield from _check_exchange(values)


def _check_host(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """That there are fields in all the paths of a mail host, and in none of one person's."""
    mailboxes, ledger = values.get("mailboxes", ()), values.get("ledger")
    template = next((mailbox.path for mailbox in mailboxes if has_fields(mailbox.path)), None)
    if template is not None:
        if len(mailboxes) > 1:
            yield "mailboxes", "has several entries, one of them with fields; a mail host has one, for all its users"
        if "ledger" in values:
            yield from _check_ledger(ledger, parse_template(str(template)))
    elif mailboxes:
        if values.get("users") is not None:
            why = "is for a mail host, and no path of `mailboxes` has fields"
            yield "users", f"{why}; leave it out, or write a path such as /var/vmail/{{domain}}/{{local}}/Maildir"
        if ledger is not None and has_fields(ledger):
            yield "ledger", "has fields, and no path of `mailboxes` has any; write the path of one file"


def _check_ledger(written: Path | None, mail: PathTemplate) -> Iterator[tuple[str, str]]:
    """That each user has a directory for the ledger, apart from all mail: locks are on the directory."""
    example = mail.ledger_in(str(LEDGERS_OF_HOST))
    if written is None:
        yield "ledger", f"is missing; users cannot share one, so write {example}"
        return
    template = parse_template(str(written), is_file=True)
    if not template.takes_all_of(mail):
        yield "ledger", f"has not the fields of the mailbox's `path`; write one such as {example}"
    elif not template.directory.takes_all_of(mail):
        yield "ledger", f"has fields in the file's name alone, and each user needs a directory; write {example}"
    here, there = template.fixed, mail.fixed
    if here.is_relative_to(there) or there.is_relative_to(here):
        yield "ledger", f"{shown(str(here))} and {shown(str(there))}, where mail lies, are not apart; write {example}"


def check_cutoffs(scoring: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with two cutoffs together: the key, and what to do."""
    ham, spam = scoring.get("ham_cutoff"), scoring.get("spam_cutoff")
    if ham is not None and spam is not None and ham >= spam:
        yield (
            "ham_cutoff",
            f"ham_cutoff ({ham}) has to be below spam_cutoff ({spam}); lower it, or raise spam_cutoff",
        )


def _check_senders(senders: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for pattern in sorted(set(senders.get("allow", ())) & set(senders.get("block", ()))):
        yield "block", f"{shown(pattern)} is also in senders.allow; keep one of them"


def _check_exchange(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """That each user has one name that all hosts know, where lessons are shared."""
    exchange: Exchange | None = values.get("exchange")
    mailboxes = values.get("mailboxes", ())
    if exchange is None or exchange.database is None or not mailboxes:
        return
    is_host = any(has_fields(mailbox.path) for mailbox in mailboxes)
    if exchange.user is None and not is_host:
        yield "exchange", "has no user; write how all hosts are to call you, such as user: anna@example.org"
    if exchange.user is not None and is_host:
        yield "exchange", "has a user, and on a mail host each user is called as there; leave that out"


_CHECKS: dict[Any, Check] = {Scoring: check_cutoffs, Senders: _check_senders}
