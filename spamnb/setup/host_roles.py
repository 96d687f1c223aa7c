"""The roles of folders on a mail host, by their special use or by their name."""

from collections import Counter
from collections.abc import Iterable, Mapping

from spamnb.base.label import Role
from spamnb.config.folder_names import usual_role
from spamnb.maildir.folders import INBOX

_OFTEN = 0.1  # of the users; a rarer spam or trash folder is neutral by its name (`Mailbox.role_of`)


def host_roles(special: Mapping[str, Role], there: Mapping[str, int], users: int) -> dict[str, Role]:
    """Return a role for each folder with a special use in Dovecot, and for known names that many users have.

    special: roles by special use, also of folders that nobody has yet. there: the number of mailboxes with each folder.
    users: the number of mailboxes looked at. Spam is moved to the first spam folder, which is the most common one.

    >>> host_roles({}, {"INBOX": 9, "Spam": 8, "Sent": 9, "Work": 3, "Lists/Junk": 1}, 9)
    {'INBOX': <Role.INBOX: 'inbox'>, 'Spam': <Role.SPAM: 'spam'>, 'Sent': <Role.SENT: 'sent'>}
    """
    usual = {folder: usual_role(folder) for folder in there if "/" not in folder}
    often = set(of_many(there, users))
    others = {folder: role for folder, role in usual.items() if folder in often and role not in (Role.HAM, Role.INBOX)}
    roles = {**others, **special}
    roles.pop(INBOX, None)
    spam = [folder for folder, role in roles.items() if role is Role.SPAM]
    spam = spam or [next((name for name in ("Junk", "Spam") if name not in roles), "Filtered as spam")]
    spam.sort(key=lambda folder: (-there.get(folder, 0), folder not in special))
    rest = {folder: role for folder, role in sorted(roles.items()) if role is not Role.SPAM}
    return {INBOX: Role.INBOX} | dict.fromkeys(spam, Role.SPAM) | rest


def of_many(there: Mapping[str, int], users: int) -> list[str]:
    """Return the folders that many users have, by name. Folders of single users do not count."""
    return sorted(folder for folder, number in there.items() if number >= users * _OFTEN)


def count_folders(mailboxes: Iterable[Iterable[str]]) -> Counter[str]:
    """Return the number of mailboxes that have each folder."""
    counted: Counter[str] = Counter()
    for folders in mailboxes:
        counted.update(set(folders))
    return counted
