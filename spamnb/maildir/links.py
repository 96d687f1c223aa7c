"""A file's names: a second one (a hard link) says that another program has the message in hand.

An IMAP server moves a message by a second name, then removes the name that it knows. Were that one gone by then, the
message would lie in two folders.
"""

import os

IN_HAND_SECONDS = 2.0


def in_hand_until(path: str) -> float:
    """Until when the file has to be left to another program, in seconds since the epoch; 0 where it may be moved.

    A second name that stays is none of our business.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return 0.0
    return status.st_ctime + IN_HAND_SECONDS if status.st_nlink > 1 else 0.0


def number_of_names(path: str) -> int:
    """How many names the file has; 0 where it is gone."""
    try:
        return os.lstat(path).st_nlink
    except OSError:
        return 0
