"""The text of a configuration. It has only the keys that cannot be guessed; the others keep their defaults."""

import contextlib
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import yaml

from spamnb.base import durable
from spamnb.base.errors import ConfigError
from spamnb.base.wording import escaped
from spamnb.config.folder_names import written
from spamnb.config.keys import OF_PERSON, PLAIN
from spamnb.config.loading import parse
from spamnb.config.own_file import KEYS
from spamnb.config.settings import APART, Config, Mailbox
from spamnb.config.template import parse_template
from spamnb.config.yaml_text import compose_marked

_HEAD = """\
# The configuration of spamnb. A key that is not written here has its default.
# `spamnb config --example` explains every key, its default, and when to change it.
"""

_ROLES = """
# The role of a folder decides what the filter does with a message in it:
#   inbox       it judges new mail here
#   spam        it moves spam to the first of these; it learns mail that you move here as spam
#   ham         it learns mail that you move here as ham
#   neutral     it does not judge this mail, and does not learn from it; but `init` learns what you have read of lists
#   sent        the same, but it sees here whom you write to
#   train_spam  it learns mail here as spam, then moves it to the spam folder
#   train_ham   it learns mail here as ham, then moves it to the inbox
"""

_SERVER = """
# The site of the mail server whose Authentication-Results count. A newsletter that it vouches for does not go to Junk.
"""
_PROPOSED = """\
# Remove the "#" if the servers of this site remove such fields from mail that comes in.
"""

_MOVED_FILE = """
# The filter makes this file after it has moved mail. It calls mbsync, which carries the moves to the provider at once.
"""

_COPIES_OF_HOST = """
# Daily copies of each user's ledger. Seven copies for 5,000 users with 1,000 learned messages each take 53 GB.
service:
  copies: 2
"""


class _Dumper(yaml.SafeDumper):
    """Quotes text that is not printable: an unquoted line break would be read back as a space."""


def _quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _quoted)


def render(
    mailboxes: Sequence[Mailbox],
    ledger: Path | None = None,
    authserv_id: str | None = None,
    *,
    is_trusted: bool = False,
    moved_file: Path | None = None,
) -> str:
    """Return the text of a configuration with these mailboxes. `parse` reads it back as the same values.

    It writes bytes of a folder's name that are not UTF-8 (surrogates in the string) as escapes. authserv_id: a server
    to propose; in a comment, unless `is_trusted`. moved_file: `service.moved_file`.
    """
    head = _HEAD if ledger is None else _HEAD + "\n" + _dumped({"ledger": str(ledger)})
    text = head + _ROLES + _dumped({"mailboxes": list(map(_written, mailboxes))})
    if authserv_id is not None:
        text += _SERVER + ("" if is_trusted else _PROPOSED + "#") + _dumped({"authserv_id": authserv_id})
    if moved_file is not None:
        text += _MOVED_FILE + _dumped({"service": {"moved_file": str(moved_file)}})
    return text


def render_host(mailbox: Mailbox, ledgers: Path, authserv_id: str | None = None) -> str:
    """Return the text of a mail host's configuration.

    mailbox: its path has fields. ledgers: the directory for the ledgers of all users. authserv_id: a server to propose
    in a comment: only the administrator knows whether it removes fields with its name from mail that comes in.
    """
    ledger = parse_template(str(mailbox.path)).ledger_in(str(ledgers))
    return render([mailbox], Path(ledger), authserv_id) + _COPIES_OF_HOST


def render_items(mailboxes: Sequence[Mailbox]) -> str:
    """Return the lines of these mailboxes, as written below `mailboxes:`."""
    return _dumped(list(map(_written, mailboxes)))


def render_all(config: Config) -> str:
    """Return the text of a configuration with every value in force. `parse` reads it back as the same values."""
    values = _values(config)
    for name in OF_PERSON if config.is_template else ("users",):
        del values[name]
    return _dumped(values)


def render_own(config: Config) -> str:
    """Return the values in force for the mail of a mail host's user, and none of the host's own, such as passwords."""
    values = _values(config)
    return _dumped({"mailboxes": values["mailboxes"], **{name: values[name] for name in KEYS}})


def _values(config: Config) -> dict[str, object]:
    sections = {
        each.name: {key.name: getattr(getattr(config, each.name), key.name) for key in fields(each.type)}
        for each in fields(config)
        if is_dataclass(each.type)
    }
    plain = {name: getattr(config, name) for name in PLAIN}
    mailboxes = list(map(_written, config.mailboxes))
    book = None if config.address_book is None else str(config.address_book)
    return {"mailboxes": mailboxes, "ledger": str(config.ledger), "address_book": book, **plain, **sections}


def example(*, of_host: bool = False) -> str:
    """Return the text of config.example.yaml, which shows every key.

    of_host: without the "#" before a mail host's keys and before those to leave, such as `scoring.alpha`. So it is YAML
    with every key, but not a configuration.
    """
    text = Path(__file__).with_name("example.yaml").read_text(encoding="utf-8")
    return re.sub(r"^#(?=users:|  \w+:|\w+\.\w+:)", "", text, flags=re.MULTILINE) if of_host else text


def write(path: Path, text: str, *, for_all: bool = False) -> Path | None:
    """Write a configuration, whole or not at all. Returns the path at which the old one is kept, if there was one.

    A link stays, and the file that it leads to is replaced. for_all: all users may read a new one, since it is the
    system's; otherwise only its owner may. Raises ConfigError.
    """
    path = Path(os.path.realpath(path))
    try:
        is_new = not path.parent.exists()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if for_all and is_new:
            path.parent.chmod(0o755)  # whatever the umask
        with durable.draft(str(path)) as draft:
            Path(draft).write_bytes(text.encode())
            if for_all:
                os.chmod(draft, 0o644)
            former = _kept(path, draft) if os.path.lexists(path) else None
    except OSError as fault:
        step = "choose another place with --config FILE"
        raise ConfigError(f"cannot write {escaped(str(path))}: {fault.strerror}; {step}") from fault
    return former


def _kept(path: Path, draft: str) -> Path:
    """Give the draft the mode and owner of the old file, and keep that under a second name: it may hold much work."""
    status = path.stat()
    with contextlib.suppress(PermissionError):  # only root may change the owner
        os.chown(draft, status.st_uid, status.st_gid)
    os.chmod(draft, stat.S_IMODE(status.st_mode) | stat.S_IRUSR)  # the old file may not be readable
    return put_aside(path)


def put_aside(path: Path) -> Path:
    """Give a file a second name beside it, before it is replaced. Raises OSError."""
    former, number = path.with_name(f"{path.name}.old"), 1
    while os.path.lexists(former):
        number += 1
        former = path.with_name(f"{path.name}.old{number}")
    try:  # a link, so that there is a configuration at every moment: the service may just read it
        os.link(path, former)
    except OSError:  # a file system without hard links
        path.rename(former)
    return former


def _written(mailbox: Mailbox) -> dict[str, object]:
    named = {written(folder): str(role) for folder, role in mailbox.roles.items()}
    values: dict[str, object] = {
        "path": str(mailbox.path),
        "layout": str(mailbox.layout),
        "roles": named | {pattern: str(role) for pattern, role in mailbox.patterns.items()},
        "other_folders": str(mailbox.other_folders),
    }
    return values | {APART[role]: folder for role, folder in mailbox.apart.items()}


def _dumped(values: object) -> str:
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100_000)


# --- add to a text without any other change ------------------------------------------------------------------------


def add_mailboxes(content: str, mailboxes: Sequence[Mailbox], source: str, environ: Mapping[str, str]) -> str | None:
    """Return the text with more mailboxes after those that it has; None if its form has no place for them.

    All other text stays the same to the letter, comments too. The result is read again, and must have the old values
    with the new mailboxes. `source` and `environ` are those of `parse`. Raises ConfigError if the text is faulty.
    """
    before = parse(content, source, environ)
    wanted = replace(before, mailboxes=(*before.mailboxes, *mailboxes))
    end = _end_of_mailboxes(content)
    if end is None:
        return None
    at, indent = end
    line_end = "\r\n" if "\r\n" in content else "\n"
    lines = [" " * indent + line for line in render_items(mailboxes).splitlines()]
    gap = "" if content[:at].endswith("\n") else line_end
    changed = content[:at] + gap + line_end.join([*lines, ""]) + content[at:]
    try:
        after = parse(changed, source, environ)
    except ConfigError:
        return None
    return changed if render_all(after) == render_all(wanted) else None


def _end_of_mailboxes(content: str) -> tuple[int, int] | None:
    """Return the start of the line after the last mailbox, and its dash's indent; None if it is not a block list."""
    root = compose_marked(content)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        return None
    items = next((value for key, value in root.value if key.value == "mailboxes"), None)
    if not isinstance(items, yaml.SequenceNode) or items.flow_style:
        return None
    indent = items.start_mark.column
    end = content.find("\n", _last_index(items))
    if end < 0:
        return len(content), indent
    end += 1
    # The indentation shows that a key in a comment belongs to the mailbox above it.
    tail = re.compile(rf"(?:[ \t]*\r?\n)*[ ]{{{indent + 1},}}#[^\n]*(?:\n|\Z)")
    while (found := tail.match(content, end)) is not None:
        end = found.end()
    return end, indent


def _last_index(node: yaml.Node) -> int:
    """Return the end of a node's last value. YAML ends a block list or mapping only at the next node."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        return max(map(_last_index, last if isinstance(last, tuple) else (last,)))
    return int(node.end_mark.index)
