"""The kind of value of each key, and the rules for several keys together."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from spamnb.base.label import Role
from spamnb.config import readers
from spamnb.config.default_paths import LEDGERS_OF_HOST
from spamnb.config.folder_names import is_pattern, name_of, plain_spelling
from spamnb.config.named_senders import Senders
from spamnb.config.nodes import MappingNode, Node
from spamnb.config.readers import Check, Invalid, Reader, choice, fault, list_of, record, shown
from spamnb.config.settings import APART, Config, Exchange, Layout, Mailbox, Scoring
from spamnb.config.template import PathTemplate, has_fields, parse_template

PLAIN = ("authserv_id", "notmuch_tag", "breaker", "retention_days")
"""The keys that are in no section, without `mailboxes` and the paths."""

OF_PERSON = ("address_book", "notmuch_tag")
"""The keys that a mail host's configuration may not have, nor the settings of one of its users."""
_NOT_OF_HOST = "is for one person, and not for the users of a mail host; leave it out"
_HINTS = get_type_hints(Config, include_extras=True)

WRITTEN = [role for role in Role if role not in APART]
"""The roles that may be written under `roles`."""

_FOR = {Role.UNSURE: "unsure mail", Role.NEWCOMERS: "mail of newcomers", Role.NEWSLETTERS: "newsletters"}
_NOT_FOR_NEW_MAIL = (Role.SENT, Role.SPAM, Role.TRAIN_SPAM, Role.TRAIN_HAM)


def config_reader(environ: Mapping[str, str]) -> Reader[dict[str, Any]]:
    """Return the reader of a Config's fields. `ledger` and `users` are None if the file leaves them out."""
    mailboxes = list_of(_mailbox(environ), "a list with one '- path: ~/Maildir' for each Maildir")
    of_config = {name: reader_in(name) for name, hint in _HINTS.items() if is_dataclass(hint) or name in PLAIN}
    known = {"mailboxes": mailboxes, **_paths(environ), **of_config}
    return record(known, {**_defaults(Config), "ledger": None, "users": None}, _check_all)


def written_in(root: Node) -> frozenset[str]:
    """Return the keys of sections that a valid configuration names itself, such as `scoring.spam_cutoff`."""
    sections = {each.name for each in fields(Config) if is_dataclass(each.type)}
    entries = root.value if isinstance(root, MappingNode) else ()
    pairs = [(name.value, section) for name, section in entries if name.value in sections]
    return frozenset(
        f"{name}.{key.value}" for name, section in pairs if isinstance(section, MappingNode) for key, _ in section.value
    )


def wanted() -> dict[str, str]:
    """Return the allowed values of each key in words, by the dotted key."""
    environ = {"HOME": "/"}
    found = {**_paths(environ), **{name: reader_in(name) for name in PLAIN}}
    found |= {f"mailboxes.{name}": reader for name, reader in {**_place(environ), **MAILBOX_KEYS}.items()}
    for each in fields(Config):
        if is_dataclass(each.type):
            found |= {f"{each.name}.{name}": reader for name, reader in _keys_of(each.type).items()}
    return {key: readers.allowed_values(reader) for key, reader in found.items()}


def _paths(environ: Mapping[str, str]) -> dict[str, Reader[Any]]:
    """Return the readers of the paths that are in no section."""
    path = readers.absolute_path(environ, is_file=True)
    return {"ledger": path, "address_book": readers.optional(path)}


def reader_in(name: str, given: Any = None) -> Reader[Any]:
    """Return the reader of a section of a Config, or of one of the `PLAIN` keys. given: see `section`."""
    hint = _HINTS[name]
    return section(hint, given) if is_dataclass(hint) else _reader_of(hint)


def section(cls: Any, given: Any = None) -> Reader[Any]:
    """Return the reader of a dataclass from a mapping with its fields as keys, each read by its type.

    given: a value whose fields replace the defaults of keys that the mapping leaves out.
    """
    defaults = _defaults(cls) if given is None else {each.name: getattr(given, each.name) for each in fields(cls)}
    values = record(_keys_of(cls), defaults, _CHECKS.get(cls, lambda _: ()))
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
            readers.folder, choice(WRITTEN), "folders with their roles, one 'INBOX: inbox' per line"
        ),
        "other_folders": choice([Role.HAM, Role.NEUTRAL]),
        **dict.fromkeys(APART.values(), readers.optional(readers.folder)),
    }
)
"""The keys about a mailbox's folders. One user of a host may have other values."""


def _place(environ: Mapping[str, str]) -> dict[str, Reader[Any]]:
    """Return the keys about the place of a mailbox: one rule for all users of a host."""
    return {"path": _path(environ), "layout": choice(get_args(Layout))}


def _path(environ: Mapping[str, str]) -> Reader[Path]:
    """Return the reader of a path that is not equal to, inside or around an earlier mailbox. It follows no links."""
    path = readers.absolute_path(environ)
    earlier: set[Path] = set()
    below: defaultdict[Path, list[Path]] = defaultdict(list)  # by each directory above them; there may be thousands

    def read(node: Node, key: str) -> Path:
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

    return readers.DescribedReader(read, readers.allowed_values(path))


def with_patterns(values: Mapping[str, Any]) -> Mailbox:
    """Return the mailbox, with patterns apart from names, and each name in our spelling."""
    layout, apart = values["layout"], {key: values[key] for key in APART.values() if values[key] is not None}
    roles = {plain_spelling(name, layout): role for name, role in values["roles"].items()}
    spelled = {
        "roles": MappingProxyType({name_of(name): role for name, role in roles.items() if not is_pattern(name)}),
        "patterns": MappingProxyType({name: role for name, role in roles.items() if is_pattern(name)}),
        **{key: plain_spelling(name, layout) for key, name in apart.items()},
    }
    return Mailbox(**{**values, **spelled})


def check_roles(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the faults of a mailbox's roles, and of its folders for mail that is put apart."""
    if "roles" not in values:
        return
    known = {"path": Path("/"), "layout": "auto", **dict.fromkeys(APART.values()), **values}
    if faults := list(_check_names(known)):
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
    taken: dict[str, str] = {}
    for role, folder in mailbox.apart.items():
        written = mailbox.roles.get(folder) or mailbox.by_pattern(folder)
        meant = Role.INBOX if folder.upper() == "INBOX" else written  # INBOX is always an inbox
        key, name, step = APART[role], shown(known[APART[role]]), f"name a separate folder for {_FOR[role]}"
        if meant in (Role.INBOX, *_NOT_FOR_NEW_MAIL):
            yield key, f"{name} has the role {meant}; {step}"
        elif folder in taken:
            yield key, f"{name} is the {taken[folder]} too; {step}"
        taken[folder] = key


def _check_names(known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a fault for names that no folder of the layout can have, and for two names of one folder."""
    spelled: dict[str, str] = {}
    layout, apart = known["layout"], [(key, known[key]) for key in APART.values() if known[key]]
    for key, name in [*(("roles", name) for name in known["roles"]), *apart]:
        plain = plain_spelling(name, layout)
        if "" in plain.split("/"):
            yield key, f"{shown(name)} has an empty part between dots; write '/' between the levels"
        elif layout == "fs" and plain != name:
            yield key, f"{shown(name)} begins with a dot, which layout fs does not allow; write '{plain}'"
        elif key == "roles" and plain in spelled:
            yield key, f"{shown(spelled[plain])} and {shown(name)} are one folder; keep one of them"
        spelled[plain] = name


def _check_all(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _check_host(values)
    yield from _check_exchange(values)
    if values.get("address_book") is not None and values.get("authserv_id", "") is None:
        yield "address_book", "has no effect without authserv_id; name your mail server there, or leave both out"


def _check_host(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a fault unless all paths of a mail host have fields, and no paths of one person have any."""
    mailboxes, ledger = values.get("mailboxes", ()), values.get("ledger")
    template = next((mailbox.path for mailbox in mailboxes if has_fields(mailbox.path)), None)
    if template is not None:
        for key in OF_PERSON:
            if values.get(key) is not None:
                yield key, _NOT_OF_HOST
        if (service := values.get("service")) is not None and service.statement != "off":
            yield "service", "`statement` is for one user: leave it out, and write it in that user's settings"
        if len(mailboxes) > 1:
            yield "mailboxes", "has several entries, one of them with fields; a mail host needs one entry for all users"
        if "ledger" in values:
            yield from _check_ledger(ledger, parse_template(str(template)))
    elif mailboxes:
        if values.get("users") is not None:
            why = "is for a mail host, but no path of `mailboxes` has fields"
            yield "users", f"{why}; leave it out, or write a path such as /var/vmail/{{domain}}/{{local}}/Maildir"
        if ledger is not None and has_fields(ledger):
            yield "ledger", "has fields, but no path of `mailboxes` has any; write the path of one file"


def _check_ledger(written: Path | None, mail: PathTemplate) -> Iterator[tuple[str, str]]:
    """Yield a fault unless each user has a directory for the ledger, outside all mail: it also holds the locks."""
    example = mail.ledger_in(str(LEDGERS_OF_HOST))
    if written is None:
        yield "ledger", f"is missing; users cannot share one, so write {example}"
        return
    template = parse_template(str(written), is_file=True)
    if not template.takes_all_of(mail):
        yield "ledger", f"does not have the fields of the mailbox's `path`; write one such as {example}"
    elif not template.directory.takes_all_of(mail):
        yield "ledger", f"has fields only in the file's name, but each user needs a directory; write {example}"
    here, there = template.fixed, mail.fixed
    if here.is_relative_to(there) or there.is_relative_to(here):
        yield "ledger", f"{shown(str(here))} is not apart from the mail in {shown(str(there))}; write {example}"


def check_cutoffs(scoring: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fault of two cutoffs together: the key, and what to do."""
    ham, spam = scoring.get("ham_cutoff"), scoring.get("spam_cutoff")
    if ham is not None and spam is not None and ham >= spam:
        yield (
            "ham_cutoff",
            f"ham_cutoff ({ham}) must be below spam_cutoff ({spam}); lower it, or raise spam_cutoff",
        )


def _check_senders(senders: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for pattern in sorted(set(senders.get("allow", ())) & set(senders.get("block", ()))):
        yield "block", f"{shown(pattern)} is also in senders.allow; keep one of them"


def _check_exchange(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a fault unless each user has one name that all hosts know, if lessons are shared."""
    exchange: Exchange | None = values.get("exchange")
    mailboxes = values.get("mailboxes", ())
    if exchange is None or exchange.database is None or not mailboxes:
        return
    is_host = any(has_fields(mailbox.path) for mailbox in mailboxes)
    if exchange.user is None and not is_host:
        yield "exchange", "has no user; write your name on all hosts, such as user: anna@example.org"
    if exchange.user is not None and is_host:
        yield "exchange", "has a user, but on a mail host the users' own names are used; leave it out"


_CHECKS: dict[Any, Check] = {Scoring: check_cutoffs, Senders: _check_senders}
