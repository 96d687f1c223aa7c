"""Judging a message on its way to the mailbox: what a pipe or a socket answers."""
