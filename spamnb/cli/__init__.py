"""The command line: the only package that prints, reads arguments, or exits. One module a command."""
