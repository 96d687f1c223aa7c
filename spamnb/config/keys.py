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
from spamnb.config.folder_names import is_pattern, name_of, plain_spelling
from spamnb.config.named_senders import Senders
from spamnb.config.readers import Check, Invalid, Reader, choice, fault, list_of, record, shown
from spamnb.config.settings import Config, Layout, Mailbox, Scoring

_NOT_FOR_NEW_MAIL = (Role.SENT, Role.SPAM, Role.TRAIN_SPAM, Role.TRAIN_HAM)


def config_reader(environ: Mapping[str, str]) -> Reader[dict[str, Any]]:
    """The fields of a Config; `ledger` is None where it is not written."""
    path = readers.absolute_path(environ)
    mailboxes = list_of(_mailbox(path), "a list with one '- path: ~/Maildir' for each Maildir")
    sections = {each.name: _dataclass_of(each.type) for each in fields(Config) if is_dataclass(each.type)}
    return record({"mailboxes": mailboxes, "ledger": path, **sections}, {**_defaults(Config), "ledger": None})


def wanted() -> dict[str, str]:
    """What may be written for each key with a value of its own, in words, by the dotted key."""
    path = readers.absolute_path({"HOME": "/"})
    found = {"ledger": path, **{f"mailboxes.{name}": reader for name, reader in _mailbox_keys(path).items()}}
    for each in fields(Config):
        if is_dataclass(each.type):
            found |= {f"{each.name}.{name}": reader for name, reader in _keys_of(each.type).items()}
    return {key: readers.wanted_by(reader) for key, reader in found.items()}


def _dataclass_of(cls: Any) -> Reader[Any]:
    """A dataclass from a mapping with its fields as keys, each read as its type says."""
    values = record(_keys_of(cls), _defaults(cls), _CHECKS.get(cls, lambda _: ()))
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


def _mailbox(path: Reader[Path]) -> Reader[Mailbox]:
    values = record(_mailbox_keys(path), _defaults(Mailbox), _check_roles)
    return lambda node, key: _with_patterns(values(node, key))


def _mailbox_keys(path: Reader[Path]) -> dict[str, Reader[Any]]:
    return {
        "path": _not_nested(path),
        "layout": choice(get_args(Layout)),
        "roles": readers.mapping_of(
            readers.folder, choice(list(Role)), "folders with their roles, one 'INBOX: inbox' a line"
        ),
        "other_folders": choice([Role.HAM, Role.NEUTRAL]),
        "unsure_folder": readers.optional(readers.folder),
    }


def _not_nested(path: Reader[Path]) -> Reader[Path]:
    """A path that is neither that of another mailbox, read before, nor inside or around it; links are not followed."""
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


def _with_patterns(values: Mapping[str, Any]) -> Mailbox:
    """The mailbox, with patterns and names apart, and each name in the spelling used here."""
    layout, unsure = values["layout"], values["unsure_folder"]
    roles = {plain_spelling(name, layout): role for name, role in values["roles"].items()}
    spelled = {
        "roles": MappingProxyType({name_of(name): role for name, role in roles.items() if not is_pattern(name)}),
        "patterns": MappingProxyType({name: role for name, role in roles.items() if is_pattern(name)}),
        "unsure_folder": None if unsure is None else plain_spelling(unsure, layout),
    }
    return Mailbox(**{**values, **spelled})


def _check_roles(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "roles" not in values:
        return
    known = {"path": Path("/"), "layout": "auto", "unsure_folder": None, **values}
    if faults := list(_check_names(known["roles"], known["layout"], known["unsure_folder"])):
        yield from faults
        return
    mailbox = _with_patterns(known)
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


def _check_cutoffs(scoring: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    ham, spam = scoring.get("ham_cutoff"), scoring.get("spam_cutoff")
    if ham is not None and spam is not None and ham >= spam:
        yield "ham_cutoff", f"{ham} is not below spam_cutoff, which is {spam}; lower it, or raise spam_cutoff"


def _check_senders(senders: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for pattern in sorted(set(senders.get("ham", ())) & set(senders.get("spam", ()))):
        yield "spam", f"{shown(pattern)} is also in senders.ham; keep one of them"


_CHECKS: dict[Any, Check] = {Scoring: _check_cutoffs, Senders: _check_senders}
