"""The text of a configuration: only what cannot be guessed is written, the rest keeps its default."""

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
from spamnb.config.keys import PLAIN
from spamnb.config.loading import compose, parse
from spamnb.config.settings import Config, Mailbox
from spamnb.config.template import parse_template

_HEAD = """\
# The configuration of spamnb. A key that is not written here has its default;
# config.example.yaml shows every key with its default, and why one would change it.
"""

_ROLES = """
# A folder's role says what it means when a message is in it:
#   inbox       new mail arrives here and is judged
#   spam        spam is moved to the first of these; what you move here is learned as spam
#   ham         what you move here is learned as ham
#   neutral     never judged, never learned from
#   sent        as neutral, and whom you write to is known from it
#   train_spam  mail put here is learned as spam, then moved to the spam folder
#   train_ham   mail put here is learned as ham, then moved to the inbox
"""

_COPIES_OF_HOST = """
# Daily copies of each user's ledger: seven of 5,000 users with 1,000 learned messages each take 53 GB.
service:
  copies: 2
"""


class _Dumper(yaml.SafeDumper):
    """Quotes what is not plainly printable: a line break kept as it is would be read back as a space."""


def _quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _quoted)


def render(mailboxes: Sequence[Mailbox], ledger: Path | None = None) -> str:
    """The text of a configuration with these mailboxes; `parse` reads it back as the same values.

    Bytes of a folder's name that are not UTF-8 (surrogates in the string) are written as escapes.
    """
    head = _HEAD if ledger is None else _HEAD + "\n" + _dumped({"ledger": str(ledger)})
    return head + _ROLES + _dumped({"mailboxes": list(map(_written, mailboxes))})


def render_host(mailbox: Mailbox, ledgers: Path) -> str:
    """The same for a mail host. mailbox: its path has fields; ledgers: the directory below which each user has one."""
    ledger = parse_template(str(mailbox.path)).ledger_in(str(ledgers))
    return render([mailbox], Path(ledger)) + _COPIES_OF_HOST


def render_items(mailboxes: Sequence[Mailbox]) -> str:
    """The lines of these mailboxes, as they stand below `mailboxes:`."""
    return _dumped(list(map(_written, mailboxes)))


def render_all(config: Config) -> str:
    """The text of a configuration with every value that is in force; `parse` reads it back as the same."""
    sections = {
        each.name: {key.name: getattr(getattr(config, each.name), key.name) for key in fields(each.type)}
        for each in fields(config)
        if is_dataclass(each.type) and (each.name != "users" or config.is_template)
    }
    plain = {name: getattr(config, name) for name in PLAIN}
    mailboxes = list(map(_written, config.mailboxes))
    return _dumped({"mailboxes": mailboxes, "ledger": str(config.ledger), **plain, **sections})


def example(*, of_host: bool = False) -> str:
    """The text of config.example.yaml, which shows every key.

    of_host: with the keys of a mail host not commented out, so that it is YAML with every key, but no configuration.
    """
    text = Path(__file__).with_name("example.yaml").read_text(encoding="utf-8")
    return re.sub(r"^#(?=users:|  \w+:)", "", text, flags=re.MULTILINE) if of_host else text


def write(path: Path, text: str, *, for_all: bool = False) -> Path | None:
    """Write a configuration, whole or not at all. Returns where the former one is kept, if there was one.

    A link stays, and the file behind it is replaced. for_all: a new one may be read by all users, as one of the machine
    is; else by its owner alone. Raises ConfigError.
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
    """Give the draft the mode and the owner of a file, and the file a second name: it may have been edited for long."""
    status = path.stat()
    with contextlib.suppress(PermissionError):  # only root may give it away
        os.chown(draft, status.st_uid, status.st_gid)
    os.chmod(draft, stat.S_IMODE(status.st_mode) | stat.S_IRUSR)  # the former one may not even be readable
    return put_aside(path)


def put_aside(path: Path) -> Path:
    """Give a file that is about to be replaced a second name beside it. Raises OSError."""
    former, number = path.with_name(f"{path.name}.old"), 1
    while os.path.lexists(former):
        number += 1
        former = path.with_name(f"{path.name}.old{number}")
    try:  # there is a configuration at every moment: the service may read it just now
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
    return values if mailbox.unsure_folder is None else values | {"unsure_folder": mailbox.unsure_folder}


def _dumped(values: object) -> str:
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100_000)


# --- adding to a text that stays as it is otherwise ----------------------------------------------------------------


def add_mailboxes(content: str, mailboxes: Sequence[Mailbox], source: str, environ: Mapping[str, str]) -> str | None:
    """The text with more mailboxes behind those that it has; None where its form has no place for them.

    Everything that was written stays to the letter, comments too. What comes out is read again, and has to be what was
    written, with the new mailboxes behind. `source` and `environ` are those of `parse`. Raises ConfigError where the
    text is faulty.
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
    """Where the line after the last mailbox begins, and how far its dash is indented; None where it is no such list."""
    root = compose(content)
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
    # A key that is commented out belongs to the mailbox above it, which its indentation shows.
    tail = re.compile(rf"(?:[ \t]*\r?\n)*[ ]{{{indent + 1},}}#[^\n]*(?:\n|\Z)")
    while (found := tail.match(content, end)) is not None:
        end = found.end()
    return end, indent


def _last_index(node: yaml.Node) -> int:
    """Where the last value of a node ends; a list or mapping in a block ends only where the next thing begins."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        return max(map(_last_index, last if isinstance(last, tuple) else (last,)))
    return int(node.end_mark.index)
