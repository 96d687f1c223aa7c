"""The settings for a mail host's users: their own files, users that are left out, and the number of open ledgers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from spamnb.config.named_senders import is_of_list, matches_sender, sender_pattern
from spamnb.config.readers import optional, patterns_of, read_as, whole
from spamnb.config.template import filled, is_user_name, parse_template


def _own(written: str) -> str:
    example = "write one such as /etc/spamnb/users/{user}.yaml"
    if not written.startswith("/") or "\0" in written:
        raise ValueError(f"{written[:60]!r} is not a full path; {example}")
    if not parse_template(written, is_file=True).fields:
        raise ValueError(f"is the same file for all users; {example}")
    return written


def _user_pattern(written: str) -> str:
    """Return a name or a pattern, in lower case. Raises ValueError with the fault and what to write."""
    is_bare = is_user_name(written) and not {"@", "*", "?"} & {*written}
    if is_of_list(pattern := written.lower() if is_bare else sender_pattern(written)):
        raise ValueError(f"{written[:60]!r} names a mailing list; write a user, such as postmaster@example.org")
    return pattern


_own_file = read_as(_own, "the full path of a file with {user} in it, such as /etc/spamnb/users/{user}.yaml")
_patterns = patterns_of(_user_pattern, "a list of users, such as [postmaster@example.org, '*@lists.example']")


@dataclass(frozen=True, slots=True)
class Users:
    """The settings for a mail host's users.

    own: the path of each user's own settings, with fields, or None. without: users whose mail is not filtered, by name
    or by patterns as in `Senders`. awake: how many ledgers are open at once.
    """

    own: Annotated[str | None, optional(_own_file)] = None
    without: Annotated[tuple[str, ...], _patterns] = ()
    awake: Annotated[int, whole(1, 10_000)] = 64

    def own_file(self, name: str) -> Path | None:
        """Return the path of a user's own settings, which may not exist; None if nobody has own settings."""
        return None if self.own is None else Path(filled(self.own, name))

    def leaves_out(self, name: str) -> bool:
        """Return whether a user is left out. Upper and lower case do not differ.

        >>> users = Users(without=("*@lists.example", "root"))
        >>> [users.leaves_out(name) for name in ("all@lists.example", "root", "root@example.org")]
        [True, True, False]
        """
        lower = name.lower()
        return any(
            pattern == lower or ("@" in lower and matches_sender(pattern, lower, "")) for pattern in self.without
        )
