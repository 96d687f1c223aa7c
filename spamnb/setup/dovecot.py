"""Read from Dovecot's configuration what a mail host needs: the path of the mail, its owner, the roles of folders.

It reads Dovecot 2.3 (`mail_location`, `args` of a userdb) and 2.4 (`mail_driver`, `mail_path`, `fields` of a userdb).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from spamnb.base.errors import ConfigError
from spamnb.base.label import Role
from spamnb.base.wording import escaped
from spamnb.setup.doveconf import Block
from spamnb.setup.dovecot_paths import BY_HAND, has_home, translated, with_home

_SPECIAL_USES = {
    "\\Junk": Role.SPAM,
    "\\Sent": Role.SENT,
    "\\Drafts": Role.NEUTRAL,
    "\\Trash": Role.NEUTRAL,
    "\\Archive": Role.HAM,
}
_OTHER_DRIVERS = (
    "the filter needs Maildirs; instead let Dovecot's Sieve ask with spamc, and imapsieve train: docs/mail-server.md"
)
_LAYOUTS: Mapping[str, Literal["maildir++", "fs"]] = {"": "maildir++", "maildir++": "maildir++", "fs": "fs"}


@dataclass(frozen=True, slots=True)
class FromDovecot:
    """The values from Dovecot's configuration. user, group: a name or a number, or "" if they are not set.

    path: the text of a template. roles: of folders with a special use. notes: untranslated settings, and what to do.
    """

    path: str
    layout: Literal["maildir++", "fs"]
    roles: dict[str, Role]
    user: str
    group: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Location:
    """The location of the mail: driver, path, and the further settings by their names in 2.3."""

    driver: str
    path: str
    beside: dict[str, str]


def from_dovecot(root: Block) -> FromDovecot:
    """Read the output of `doveconf -n`. Raises ConfigError, with another way, if this mail cannot be filtered."""
    namespace = _inbox_namespace(root)
    fields = _userdb_fields(root)
    location = _location(root, namespace, fields)
    _check_driver(location.driver)
    if not location.path:
        raise ConfigError(f"Dovecot's configuration has no path of the mail, so Dovecot searches for it: {BY_HAND}")
    layout = _layout(location)
    return FromDovecot(
        path=translated(_without_home(location.path, root, fields)),
        layout=layout,
        roles=_roles(namespace, layout),
        user=root.get("mail_uid") or fields.get("uid", ""),
        group=root.get("mail_gid") or fields.get("gid", ""),
        notes=tuple(_notes(root, namespace, location)),
    )


def _inbox_namespace(root: Block) -> Block:
    """Return the namespace that holds the inbox, or an empty one if none is configured."""
    private = [one for one in root.of_kind("namespace") if one.get("type") in {"", "private"}]
    named = [one for one in private if one.get("inbox") == "yes"] or [one for one in private if one.name == "inbox"]
    return (named or [Block("namespace", "inbox")])[0]


# --- the location of the mail -----------------------------------------------------------------------------------


def _location(root: Block, namespace: Block, fields: Mapping[str, str]) -> _Location:
    """Return the location of the mail: of the namespace, or else of a userdb for all users, or else of all mail."""
    if old := namespace.get("location") or fields.get("mail", "") or root.get("mail_location"):
        return _old_location(old)

    def value(key: str) -> str:
        return namespace.get(key) or fields.get(key, "") or root.get(key)

    names = {
        "LAYOUT": "mailbox_list_layout",
        "INBOX": "mail_inbox_path",
        "CONTROL": "mail_control_path",
        "DIRNAME": "mailbox_directory_name",
    }
    beside = {name: value(key) for name, key in names.items()}
    return _Location(value("mail_driver"), value("mail_path"), {key: text for key, text in beside.items() if text})


def _old_location(written: str) -> _Location:
    """Return the location of `maildir:PATH:KEY=VALUE:KEY` in 2.3. A colon in a path is doubled."""
    driver, _, rest = written.partition(":")
    if "/" in driver or not rest:
        raise ConfigError(f"mail_location = {escaped(written)} names no format, so Dovecot guesses it: {BY_HAND}")
    path, *more = (part.replace("\0", ":") for part in rest.replace("::", "\0").split(":"))
    beside = dict(part.partition("=")[::2] for part in more)
    return _Location(driver, path, beside)


def _check_driver(driver: str) -> None:
    if driver in {"", "auto"}:
        raise ConfigError(f"Dovecot's configuration names no format of the mail, so Dovecot guesses it: {BY_HAND}")
    if driver != "maildir":
        raise ConfigError(f"Dovecot keeps mail as {escaped(driver)}, but {_OTHER_DRIVERS}")


def _layout(location: _Location) -> Literal["maildir++", "fs"]:
    written = location.beside.get("LAYOUT", "").lower()
    if written not in _LAYOUTS:
        raise ConfigError(
            f"in the layout {escaped(written)} directories do not have the names of their folders, so roles cannot be"
            f" found: {_OTHER_DRIVERS}"
        )
    if "DIRNAME" in location.beside:
        name = escaped(location.beside["DIRNAME"])
        raise ConfigError(f"each folder's mail is in a directory {name} of its own, which the filter does not read: let"
                          " Dovecot's Sieve ask with spamc, and imapsieve train: docs/mail-server.md")  # fmt: skip
    return _LAYOUTS[written]


def _without_home(path: str, root: Block, fields: Mapping[str, str]) -> str:
    """Return the path with the user's home directory in it."""
    if not has_home(path):
        return path
    home = root.get("mail_home") or fields.get("home", "")
    if home:
        return with_home(path, home)
    drivers = _drivers(root)
    if drivers & {"passwd", "pam"}:
        raise ConfigError(
            "the mail is in the home directories of system users, who need a service each: docs/mail-host.md, Users"
            " with a home directory"
        )
    told = escaped(", ".join(sorted(drivers)) or "a userdb")
    raise ConfigError(f"the mail is in {escaped(path)}, and only {told} knows the home directory: {BY_HAND}")


# --- the fields of a userdb for all users -----------------------------------------------------------------------


def _userdb_fields(root: Block) -> dict[str, str]:
    """Return the fields that the userdbs give to all users. If two give one field, the first counts."""
    fields: dict[str, str] = {}
    for userdb in root.of_kind("userdb"):
        for name, value in _fields_of(userdb):
            fields.setdefault(name, value)
    return fields


def _fields_of(userdb: Block) -> Iterator[tuple[str, str]]:
    driver = userdb.get("driver") or userdb.name
    written = [userdb.get("override_fields"), userdb.get("default_fields")]
    if driver == "static":
        written.insert(1, userdb.get("args"))
    for one in " ".join(written).split():
        name, _, value = one.partition("=")
        yield name, value
    for block in userdb.of_kind("fields"):
        for name, value in block.values.items():
            yield name.removesuffix(":default").removesuffix(":protected"), value


def _drivers(root: Block) -> set[str]:
    return {one.get("driver") or one.name for one in root.of_kind("userdb")}


# --- folders ----------------------------------------------------------------------------------------------------


def _roles(namespace: Block, layout: str) -> dict[str, Role]:
    """Return the role of each folder that has a special use."""
    roles = {}
    for mailbox in namespace.of_kind("mailbox"):
        uses = mailbox.get("special_use").split()
        role = next((_SPECIAL_USES[use] for use in uses if use in _SPECIAL_USES), None)
        if role is not None:
            roles[_folder(mailbox.name, namespace, layout)] = role
    return roles


def _folder(name: str, namespace: Block, layout: str) -> str:
    """Return the folder's name in our spelling, with "/" between its levels. A Maildir++ has dots between levels."""
    separator = namespace.get("separator") or ("." if layout == "maildir++" else "/")
    return name.replace(separator, "/").replace("." if layout == "maildir++" else "/", "/")


# --- settings that are not translated ---------------------------------------------------------------------------


def _notes(root: Block, namespace: Block, location: _Location) -> Iterator[str]:
    if "CONTROL" in location.beside:
        where = escaped(location.beside["CONTROL"])
        yield f"lists of keywords are in {where} and not beside the mail, so Junk marks of mail programs teach nothing"
    inbox = location.beside.get("INBOX", "")
    if inbox and inbox.rstrip("/") != location.path.rstrip("/"):
        yield f"the inbox is in {escaped(inbox)}: it must be in the Maildir itself, or the filter does not see its mail"
    for other in root.of_kind("namespace"):
        where = other.get("location") or other.get("mail_path")
        if other is not namespace and where:
            kind, name = other.get("type") or "private", other.name or other.get("prefix")
            yield f"the namespace {escaped(name)} ({escaped(kind)}) is in {escaped(where)}: its mail is not filtered"
    asked = _drivers(root) & {"sql", "ldap", "dict", "lua", "passwd-file"}
    if asked:
        named = escaped(", ".join(sorted(asked)))
        yield f"the userdb {named} may give a user a different place; doctor shows which users were found"
    if root.get("mail_chroot") or "/./" in location.path:
        yield "Dovecot changes its root directory (chroot): the filter's paths begin at the true root"
