"""Which key holds which kind of value, and what must be true of several together."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_args

import yaml

from spamnb.config.folders import is_pattern, name_of, plain_spelling
from spamnb.config.reading import (
    Check,
    Fault,
    Kind,
    Wrong,
    absolute_path,
    choice,
    fault,
    flag,
    folder,
    list_of,
    mapping_of,
    number,
    optional,
    record,
    shown,
    whole,
)
from spamnb.config.roles import Role
from spamnb.config.values import (
    Breaker,
    Config,
    Layout,
    Learning,
    Log,
    Mailbox,
    Model,
    Retention,
    Scoring,
    Service,
    Watch,
)

T = TypeVar("T")

_LEARNED_FROM = (Role.SPAM, Role.TRAIN_SPAM, Role.TRAIN_HAM)


def config_kind(environ: Mapping[str, str]) -> Kind[dict[str, Any]]:
    """The fields of a Config; `ledger` is None where the file does not say."""
    mailboxes = list_of(_mailbox(environ), "a list with one '- path: ~/Maildir' for each Maildir")
    return record(
        {
            "mailboxes": _apart(mailboxes, absolute_path(environ)),
            "ledger": absolute_path(environ),
            "scoring": _SCORING,
            "learning": _LEARNING,
            "breaker": _BREAKER,
            "log": _LOG,
            "service": _SERVICE,
            "retention": _RETENTION,
        },
        {**_defaults(Config), "ledger": None},
    )


def _made(cls: type[T], kinds: Mapping[str, Kind[Any]], check: Check = lambda _: ()) -> Kind[T]:
    """A dataclass from a mapping with its fields as keys."""
    values = record(kinds, _defaults(cls), check)
    return lambda node, key: cls(**values(node, key))


def _defaults(cls: Any) -> dict[str, Any]:
    made = {each.name: each.default_factory() for each in fields(cls) if each.default_factory is not MISSING}
    return made | {each.name: each.default for each in fields(cls) if each.default is not MISSING}


def _mailbox(environ: Mapping[str, str]) -> Kind[Mailbox]:
    roles = mapping_of(folder, choice(list(Role)), "folders with their roles, one 'INBOX: inbox' a line")
    values = record(
        {
            "path": absolute_path(environ),
            "layout": choice(get_args(Layout)),
            "roles": roles,
            "other_folders": choice([Role.HAM, Role.NEUTRAL]),
            "unsure_folder": optional(folder),
        },
        _defaults(Mailbox),
        _check_roles,
    )

    def read(node: yaml.Node, key: str) -> Mailbox:
        return _with_patterns(values(node, key))

    return read


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
    layout, unsure = values.get("layout", "auto"), values.get("unsure_folder")
    if wrong := list(_check_names(values["roles"], layout, unsure)):
        yield from wrong
        return
    known = {"path": Path("/"), "layout": layout, "roles": values["roles"], "unsure_folder": unsure}
    mailbox = _with_patterns(known)
    for needed, example in ((Role.INBOX, "INBOX: inbox"), (Role.SPAM, "Junk: spam")):
        if needed not in mailbox.roles.values():
            by_pattern = needed in mailbox.patterns.values()
            why = f"only a pattern has the role {needed}" if by_pattern else f"no folder has the role {needed}"
            yield "roles", f"{why}; add one, for example '{example}'"
    for name, role in mailbox.roles.items():
        if name.upper() == "INBOX" and role in _LEARNED_FROM:
            yield "roles", f"{shown(name)} is where new mail arrives and cannot be {role}; write '{name}: inbox'"
    unsure_role = _unsure_role(mailbox)
    if unsure is not None and unsure_role in (Role.INBOX, *_LEARNED_FROM):
        yield "unsure_folder", f"{shown(unsure)} has the role {unsure_role}; name a folder of its own for unsure mail"


def _unsure_role(mailbox: Mailbox) -> Role | None:
    """The role that is written for the folder of unsure mail; INBOX has its own in any case."""
    name = mailbox.unsure_folder or ""
    if name.upper() == "INBOX":
        return Role.INBOX
    return mailbox.roles.get(name) or mailbox.by_pattern(name)


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
    if not {"ham_cutoff", "spam_cutoff"} <= scoring.keys():
        return
    ham, spam = scoring["ham_cutoff"], scoring["spam_cutoff"]
    if ham >= spam:
        yield "ham_cutoff", f"{ham} is not below spam_cutoff, which is {spam}; lower it, or raise spam_cutoff"


def _apart(mailboxes: Kind[T], path: Kind[Path]) -> Kind[T]:
    """A list of mailboxes, none of them at or inside another.

    The paths are read on their own, so that a clash is told even where a mailbox has other faults. They are
    compared as written: links are not followed here.
    """

    def read(node: yaml.Node, key: str) -> T:
        faults = list(_clashes(node, key, path))
        try:
            values = mailboxes(node, key)
        except Wrong as wrong:
            raise Wrong(*wrong.faults, *faults) from None
        if faults:
            raise Wrong(*faults)
        return values

    return read


def _clashes(node: yaml.Node, key: str, path: Kind[Path]) -> Iterator[Fault]:
    earlier: list[Path] = []
    for here, place, value in _paths(node, key, path):
        for other in earlier:
            if here == other:
                yield fault(value, place, f"{shown(str(here))} is written twice; name each Maildir once")
            elif here.is_relative_to(other) or other.is_relative_to(here):
                inner, outer = (here, other) if here.is_relative_to(other) else (other, here)
                what = f"{shown(str(inner))} lies inside the mailbox {shown(str(outer))}"
                yield fault(value, place, f"{what}; keep the outer one, and give the inner a role in it")
        earlier.append(here)


def _paths(node: yaml.Node, key: str, path: Kind[Path]) -> Iterator[tuple[Path, str, yaml.Node]]:
    """The path of each mailbox that has a usable one, with its dotted key and its node."""
    for index, item in enumerate(node.value if isinstance(node, yaml.SequenceNode) else ()):
        for name, value in item.value if isinstance(item, yaml.MappingNode) else ():
            if name.value == "path":
                place = f"{key}[{index}].path"
                with contextlib.suppress(Wrong):  # told where the mailbox is read
                    yield Path(os.path.normpath(path(value, place))), place, value
                break


_SCORING = _made(
    Scoring,
    {
        "model": choice(get_args(Model)),
        "alpha": number(0, 1000, above=True),
        "spam_cutoff": number(0, 1),
        "ham_cutoff": number(0, 1),
    },
    _check_cutoffs,
)
_LEARNING = _made(
    Learning,
    {
        "kept": flag,
        "kept_days": number(0, 3650),
        "dwell_seconds": number(0, 3600),
        "minimum_messages": whole(1, 1_000_000),
        "keywords": flag,
        "trust_delivery": flag,
    },
)
_BREAKER = _made(Breaker, {"window": whole(1, 10_000), "share": number(0, 1, above=True)})
_LOG = _made(Log, {"subjects": flag})
_SERVICE = _made(
    Service,
    {
        "reconcile_seconds": number(1, 86_400),
        "watch": choice(get_args(Watch)),
        "poll_seconds": number(0.1, 3600),
        "copies": whole(0, 365),
    },
)
_RETENTION = _made(Retention, {"gone_days": number(0, 36_500), "verdict_days": number(0, 36_500)})
