"""The configuration: the user's decisions, read from YAML into frozen values.

`settings` has the values with their defaults and limits. `folder_names` knows the usual names of folders and their
spelling, and `named_senders` the patterns of senders. `loading` reads a file: `yaml_text` makes `nodes` of it, which
`kept_nodes` keeps. `readers` turns nodes into values, and `keys` maps each key to a kind of value. `default_paths` has
the default places of files. `writing` makes the text of a new file, or adds a mailbox to one. The paths of a mail host
have fields (`template`); `users` has the settings for its users, and `own_file` reads the settings of one user.
"""

from spamnb.config.default_paths import default_config_path, default_ledger_path
from spamnb.config.loading import MAX_BYTES, load, load_any, parse
from spamnb.config.named_senders import Senders
from spamnb.config.settings import (
    Config,
    Exchange,
    Learning,
    Log,
    Mailbox,
    Model,
    Scoring,
    Service,
    Spamd,
    Watch,
)
from spamnb.config.users import Users

__all__ = ["MAX_BYTES", "default_config_path", "default_ledger_path", "load", "load_any", "parse"]
__all__ += ["Config", "Exchange", "Learning", "Log", "Mailbox", "Model", "Scoring", "Senders", "Service", "Spamd"]
__all__ += ["Users", "Watch"]
