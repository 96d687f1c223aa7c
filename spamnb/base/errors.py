"""What can go wrong, in words for the user who has to fix it.

Each error says what is wrong, where, and what to do next; the command line prints it on one line and exits with
`exit_code`. The codes are bogofilter's and those of sysexits.h, which delivery recipes and service managers test.
"""

import errno

_LIMITS = {
    errno.EMFILE: "raise the limit of open files (LimitNOFILE= in the unit of the service; ulimit -n in a shell)",
    errno.ENFILE: "raise the sysctl fs.file-max, or end programs that have many files open",
}


def next_step(fault: OSError, usual: str) -> str:
    """What to do where the system refuses to open something: about a limit that any call may reach; else `usual`."""
    return _LIMITS.get(fault.errno or 0, usual)


class SpamnbError(Exception):
    """A fault that the user can fix; its text is shown as it is."""

    exit_code = 3


class UsageError(SpamnbError):
    """The command was called wrongly (EX_USAGE)."""

    exit_code = 64


class ConfigError(SpamnbError):
    """The configuration is missing or faulty (EX_CONFIG): trying again without a change is of no use."""

    exit_code = 78


class UnitError(SpamnbError):
    """A systemd unit cannot be written or removed."""


class MailError(SpamnbError):
    """A path that should hold mail does not, or cannot be read."""


class MaildirError(SpamnbError):
    """A Maildir or one of its folders is not what it should be."""


class NotYetError(MaildirError):
    """Another program is at work on a message, or its folder is about to be made: nothing is lost; look again soon."""


class LedgerError(SpamnbError):
    """The ledger cannot be used: damaged, unwritable, or from a newer version."""


class LedgerUnavailableError(LedgerError):
    """The ledger is sound, but cannot be used for now, as on a full disk; a later attempt may succeed."""


class LedgerSpaceError(LedgerUnavailableError):
    """There is too little space on the disk for a copy of the ledger."""


class LedgerBusyError(LedgerUnavailableError):
    """Another process holds the ledger for longer than we wait (EX_TEMPFAIL): try again."""

    exit_code = 75


class LedgerDamagedError(LedgerError):
    """SQLite cannot make sense of the ledger's file; the service puts a copy in its place at its next start."""


class LedgerNewerError(LedgerError):
    """A later program has written the ledger: this one does not know its tables."""


class LedgerLostError(LedgerError):
    """The ledger is damaged and there is no copy (EX_CONFIG): a restart fixes nothing, the user has to choose."""

    exit_code = 78


class ExchangeError(SpamnbError):
    """The log of lessons that hosts share cannot be used: it is of another version, or a row in it is damaged."""


class ExchangeAwayError(ExchangeError):
    """The log of lessons cannot be reached now (EX_TEMPFAIL): the ledger keeps what is to be told."""

    exit_code = 75


class RegisterError(SpamnbError):
    """The register of a mail host cannot be used: unwritable, another program's file, or from a newer version."""


class RegisterBusyError(RegisterError):
    """Another process holds the register for longer than we wait (EX_TEMPFAIL): try again."""

    exit_code = 75


class RegisterDamagedError(RegisterError):
    """SQLite cannot make sense of the register's file; a service moves it away, and makes it again."""


class RegisterMissingError(RegisterError):
    """There is no register yet: no service of the host has begun."""
