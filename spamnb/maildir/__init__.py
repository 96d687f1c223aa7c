"""Folders of mail: names, folders, reading and moving.

`names` parses and formats file names, `folders` finds the folders below a root, `messages` lists, finds, reads and
delivers messages, `rename` moves one so that no crash can lose it, and `departures` lets IMAP servers see that it has
left. Paths and names are `str` with surrogateescape, since a file name is any bytes.
"""
