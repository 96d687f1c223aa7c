"""The notes of a ledger that are not finite numbers, by their names; all others are."""

ENDLESS = "moving paused until"  # by a person; seconds since the epoch, "inf" until it is resumed
MISSED_SPAM = "missed spam"  # what this person does about it, as last seen: a word
SENT_FOLDERS = "sent folders of "  # and a mailbox's id: the ids of the folders that were read, a list
