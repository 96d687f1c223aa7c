"""What the user may decide, read from YAML into frozen values.

`settings` has the values with their defaults and limits, `folder_names` what a folder may be for and how its name is
written, `named_senders` whose mail a person names; `readers` turns YAML nodes into values, `keys` maps each key to a
kind of value, `loading` reads a file, `default_paths` says where files lie by default, and `writing` makes the text of
a new file, or adds a mailbox to one. Of a mail host the paths have fields: `template`; `users` is what holds of its
users, and `own_file` reads what one of them has otherwise.
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
from spamnb.config.writing import render

__all__ = ["MAX_BYTES", "default_config_path", "default_ledger_path", "load", "load_any", "parse", "render"]
__all__ += ["Config", "Exchange", "Learning", "Log", "Mailbox", "Model", "Scoring", "Senders", "Service", "Spamd"]
__all__ += ["Users", "Watch"]
