"""isync for an account at a provider: its configuration, the server's folders, and its faults in words.

The program of isync is mbsync. It speaks IMAP; nothing here does.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.label import Role
from spamnb.base.patterns import lazy_pattern
from spamnb.base.wording import escaped
from spamnb.maildir.folders import decode
from spamnb.provider.providers import provider_at

CHANNEL = "mail"
PORT = 993  # of IMAP over TLS
_OLDEST = (1, 4)  # before it, the two sides of a channel had different names
_TLS_TYPE = (1, 5)  # from this version on, TLSType is the name of SSLType
_ACCOUNT = re.compile(r"([^\s\"\\]{1,254})@([A-Za-z0-9.-]{1,253})(?::(\d{1,5}))?")
_VERSION = re.compile(r"^isync (\d+)\.(\d+)", re.MULTILINE)
_LISTED = re.compile(r'\* LIST \(([^)]*)\) (?:NIL|"(\\?.)") (?:"((?:[^"\\]|\\.)*)"|(\S+))\s*', re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")
_NAMESPACE = re.compile(r'\* NAMESPACE \(\("((?:[^"\\]|\\.)*)"', re.IGNORECASE)
# Of mbsync's counters: the messages that have come, and that come in all.
_FETCHED = lazy_pattern(r" N: \+(\d{1,12})/(\d{1,12}) ")
_MOST_SAID = 10_000  # characters of mbsync's errors that are read: the last ones give the reason of its end
# Special uses (RFC 6154): folders that repeat the messages of other folders, and the roles of the others.
_REPEATED = {"\\all", "\\flagged", "\\important"}
_ROLES = {"\\junk": Role.SPAM, "\\trash": Role.NEUTRAL, "\\drafts": Role.NEUTRAL, "\\sent": Role.SENT}
_GMAIL = tuple(f"[{name}]/{box}" for name in ("Gmail", "Google Mail") for box in ("All Mail", "Starred", "Important"))
_RC = """\
# Written by `spamnb init --imap`. mbsync keeps this account and the Maildir in step, in both directions.
IMAPAccount hosted
Host {host}
{port}User "{user}"
PassCmd "{pass_command}"
{security}

IMAPStore far
Account hosted

MaildirStore near
Path "{place}/"
Inbox "{place}/INBOX"
SubFolders Verbatim

# A move is a new message in one folder and a deleted one in another, so both are carried, in both directions.
Channel {channel}
Far :far:
Near :near:
Patterns INBOX *{left_out}
Create Both
Expunge Both
Sync All
SyncState *
"""


@dataclass(frozen=True, slots=True)
class ImapAccount:
    """An account at a provider: its user, and the host and port of the IMAP server."""

    user: str
    host: str
    port: int = PORT

    @property
    def is_here(self) -> bool:
        """Whether the server is a program on this machine, such as a proxy. Then mbsync talks to it without TLS."""
        return self.host == "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ServerFolders:
    """The server's folders. roles: of folders whose use it names. repeated: folders that repeat others' messages."""

    roles: Mapping[str, Role]
    repeated: Sequence[str]


def account(text: str) -> ImapAccount:
    """Return the account of USER@HOST or USER@HOST:PORT. The user may have an @ itself. Raises UsageError.

    >>> account("you@gmail.com@imap.gmail.com")
    ImapAccount(user='you@gmail.com', host='imap.gmail.com', port=993)
    """
    found = _ACCOUNT.fullmatch(text)
    if found is None or not found[1].isprintable() or not 0 < int(found[3] or PORT) < 1 << 16:
        example = "write USER@HOST, such as you@gmail.com@imap.gmail.com"
        raise UsageError(f"{escaped(text)!r} does not name a user and a host: {example}")
    return ImapAccount(found[1], found[2], int(found[3] or PORT))


def version_in(printed: str) -> tuple[int, int]:
    """Return the version in the output of `mbsync --version`. Raises SpamnbError if it is too old."""
    found = _VERSION.search(printed)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if version < _OLDEST:
        has = ".".join(map(str, version)) if found else "of an unknown version"
        raise SpamnbError(f"this isync is {has}, but 1.4 or later is needed: install a later version")
    return version


def rc(account: ImapAccount, pass_command: str, place: Path, repeated: Iterable[str], version: tuple[int, int]) -> str:
    """Return the text of mbsync's configuration, with one channel. place: the directory for the mail."""
    tls_type = "TLSType" if version >= _TLS_TYPE else "SSLType"
    return _RC.format(
        host=account.host,
        port="" if account.port == PORT else f"Port {account.port}\n",
        user=account.user,
        pass_command=_quoted(pass_command),
        security=f"{tls_type} None\nAuthMechs LOGIN" if account.is_here else f"{tls_type} IMAPS",
        place=_quoted(str(place)),
        channel=CHANNEL,
        left_out="".join(f' "!{_quoted(name)}"' for name in repeated),
    )


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def folders_in(printed: str) -> ServerFolders:
    r"""Return the server's folders from the output of `mbsync -Dn --list`.

    >>> folders_in('* NAMESPACE (("INBOX." ".")) NIL NIL\n* LIST (\\HasNoChildren \\Junk) "." INBOX.Bulk.New\n').roles
    {'Bulk/New': <Role.SPAM: 'spam'>}
    """
    namespace = _NAMESPACE.search(printed)
    prefix = "" if namespace is None else _plain(namespace[1])
    roles: dict[str, Role] = {}
    repeated: list[str] = []
    listed = list(filter(None, map(_LISTED.fullmatch, printed.splitlines())))
    for found in listed:
        attributes, separator, in_quotes, bare = found.groups()
        uses, raw = {use.lower() for use in attributes.split()}, bare if in_quotes is None else _plain(in_quotes)
        name = raw.removeprefix(prefix).replace(_plain(separator or "/"), "/")
        if not name.isprintable() or name.upper() == "INBOX":
            continue
        if uses & _REPEATED or name in _GMAIL:
            repeated.append(name)
        roles |= {decode(name): role for use, role in _ROLES.items() if use in uses}
    return ServerFolders(roles, repeated if listed else _GMAIL)


def _plain(quoted: str) -> str:
    return _ESCAPED.sub(r"\1", quoted)


def fetched_in(shown: str) -> tuple[int, int] | None:
    """Return how many messages have come of how many, by the last whole counters that mbsync has shown; or None.

    >>> fetched_in("\\rC: 0/1  B: 2/6  F: +0/0 *0/0 #0/0  N: +13/25 *0/0 #0/0")
    (13, 25)
    """
    found = _FETCHED.findall(shown)
    return (int(found[-1][0]), int(found[-1][1])) if found else None


def fault_in(said: str, account: ImapAccount, pass_command: str, place: Path) -> str:
    """Return the meaning of mbsync's errors, and what to do."""
    host, said = account.host, said[-_MOST_SAID:]
    for pattern, meaning in _FAULTS:
        if found := re.search(pattern, said):
            why = escaped((found[1] if found.groups() else found[0]).strip())
            words = {"host": host, "port": account.port, "why": why, "command": escaped(pass_command)}
            return meaning.format(instead=_instead(account), **words)
    if _is_full(place):
        return f"the disk that holds {escaped(str(place))} is full: free some space, then call the same command again"
    lines = [escaped(line) for line in said.strip().splitlines()[-3:]] or ["it gave no reason"]
    return f"mbsync failed: {'; '.join(lines)}"


def _instead(account: ImapAccount) -> str:
    """Return what the server may want instead of a password that it does not accept."""
    if account.is_here:
        return f"look at what the program at port {account.port} says"
    provider = provider_at(account.host)
    return "many providers want an app password" if provider is None else provider.told


_FAULTS = (
    (
        r"(?i)(?:AUTHENTICATE|LOGIN)[^\n]*returned an error: (?:NO|BAD) ?([^\n]*)",
        "{host} does not accept the user and the password ({why}): {instead}",
    ),
    (r"PassCmd ([^\n]*)", "the command for the password failed ({why}): try it by hand: {command}"),
    (
        r"Cannot resolve server[^\n]*: ([^\n]*(?:Temporary|try again)[^\n]*)",
        "{host} cannot be looked up ({why}): is this machine connected to the network?",
    ),
    (
        r"Cannot resolve server[^\n]*: ([^\n]*)",
        "there is no host {host} ({why}): write USER@HOST with the name of your provider's IMAP server, such as"
        " you@gmail.com@imap.gmail.com",
    ),
    (
        r"(?i)(?:SSL error[^\n]*: |Error, )([^\n]*(?:certificate|verif|hostname)[^\n]*)",
        "the certificate of {host} is not trusted ({why}): check the name of the host. If the certificate is your own,"
        " let this system trust its file, as root. Debian: cp FILE /usr/local/share/ca-certificates/own.crt &&"
        " update-ca-certificates. Fedora: trust anchor FILE",
    ),
    (r"(?i)SSL error[^\n]*: ([^\n]*)", "{host} does not speak TLS at port {port} ({why}): write USER@HOST:PORT"),
    (
        r"Cannot connect to[^\n]*: ([^\n]*unreachable[^\n]*|No route[^\n]*)",
        "{host} cannot be reached ({why}): is this machine connected to the network?",
    ),
    (
        r"Cannot connect to[^\n]*: ([^\n]*)",
        "{host} does not answer at port {port} ({why}): check the name of the host, or write USER@HOST:PORT",
    ),
    (
        r"(No space left on device|Disk quota exceeded)",
        "the disk is full ({why}): free some space, then call the same command again",
    ),
)


def _is_full(place: Path) -> bool:
    there = next((above for above in (place, *place.parents) if above.exists()), Path("/"))
    disk = os.statvfs(there)
    return disk.f_bavail * disk.f_frsize < 1 << 16 or (disk.f_files > 0 and disk.f_favail == 0)
