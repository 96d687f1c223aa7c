"""The text of a new configuration: only what cannot be guessed is written, the rest keeps its default."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import yaml

from spamnb.config.folders import written
from spamnb.config.values import Config, Mailbox

_HEAD = """\
# The configuration of spamnb. A key that is not written here has its default;
# config.example.yaml shows every key with its default, and why one would change it.
"""

_ROLES = """
# A folder's role says what it means when a message lies in it:
#   inbox       new mail arrives here and is judged
#   spam        spam is moved to the first of these; what you move here is learned as spam
#   ham         what you move here is learned as ham
#   neutral     never judged, never learned from
#   train_spam  mail put here is learned as spam, then moved to the spam folder
#   train_ham   mail put here is learned as ham, then moved to the inbox
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
    return head + _ROLES + _dumped({"mailboxes": [_written(mailbox) for mailbox in mailboxes]})


def render_items(mailboxes: Sequence[Mailbox]) -> str:
    """The lines of these mailboxes, as they stand below `mailboxes:`."""
    return _dumped([_written(mailbox) for mailbox in mailboxes])


def render_all(config: Config) -> str:
    """The text of a configuration with every value that is in force; `parse` reads it back as the same."""
    values: dict[str, Any] = {each.name: getattr(config, each.name) for each in fields(config)}
    values |= {name: asdict(value) for name, value in values.items() if not isinstance(value, (tuple, Path))}
    return _dumped(values | {"mailboxes": list(map(_written, config.mailboxes)), "ledger": str(config.ledger)})


def example() -> str:
    """The text of config.example.yaml, which shows every key."""
    return Path(__file__).with_name("example.yaml").read_text(encoding="utf-8")


def _written(mailbox: Mailbox) -> dict[str, object]:
    values: dict[str, object] = {
        "path": str(mailbox.path),
        "layout": str(mailbox.layout),
        "roles": {
            **{written(folder): str(role) for folder, role in mailbox.roles.items()},
            **{pattern: str(role) for pattern, role in mailbox.patterns.items()},
        },
        "other_folders": str(mailbox.other_folders),
    }
    return values if mailbox.unsure_folder is None else values | {"unsure_folder": mailbox.unsure_folder}


def _dumped(values: object) -> str:
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100_000)
