"""The command line: the only package that prints, reads arguments, or exits. It has one module per command."""

from spamnb.base.lazy_module import at_first_use

# Most commands use none of these: they are a twentieth of `spamnb --help`.
for _module in ("difflib", "gzip", "inspect", "json", "secrets", "shlex", "shutil", "socket", "tempfile"):
    at_first_use(_module)
