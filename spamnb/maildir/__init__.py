"""Folders of mail: names, folders, reading and moving.

`names` parses and formats file names. `folders` finds the folders below a root. `messages` lists, finds, reads and
delivers messages. `rename` moves a message so that no crash can lose it. `departures` shows IMAP servers that it has
left. Paths and names are `str` with surrogateescape, since a file name may be
any bytes.
"""
