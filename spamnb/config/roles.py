"""What a folder may be for."""

from enum import StrEnum


class Role(StrEnum):
    """What a folder is for, and so what it means when a message lies in it."""

    INBOX = "inbox"
    SPAM = "spam"
    HAM = "ham"
    NEUTRAL = "neutral"
    TRAIN_SPAM = "train_spam"
    TRAIN_HAM = "train_ham"
