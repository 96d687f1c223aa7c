"""What a person may decide, read from YAML into frozen values.

`values` names the decisions and their defaults, `roles` what a folder may be for, `usual` what its name says of that,
and `folders` how it is written; `reading` turns YAML nodes into values, `schema` says which key holds which kind of
value, `loading` reads a file, `places` knows where the files lie, `writing` makes the text of a new file, and `adding`
adds a mailbox to one.
"""

from spamnb.config.loading import MAX_BYTES, load, parse
from spamnb.config.places import default_config_path, default_ledger_path
from spamnb.config.roles import Role
from spamnb.config.values import Breaker, Config, Learning, Log, Mailbox, Model, Retention, Scoring, Service, Watch
from spamnb.config.writing import render

__all__ = [
    "load",
    "parse",
    "render",
    "default_config_path",
    "default_ledger_path",
    "Config",
    "Mailbox",
    "Role",
    "Scoring",
    "Learning",
    "Breaker",
    "Service",
    "Retention",
    "Log",
    "Model",
    "Watch",
    "MAX_BYTES",
]
