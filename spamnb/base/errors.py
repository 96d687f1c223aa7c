"""The errors, in words for the user who has to fix them.

Each error says what is wrong, where, and what to do next. The command line prints it on one line and exits with
`exit_code`. The codes are bogofilter's and those of sysexits.h: delivery recipes and service managers test them.
"""

import errno

_LIMITS = {
    errno.EMFILE: "raise the limit of open files (LimitNOFILE= in the unit of the service; ulimit -n in a shell)",
    errno.ENFILE: "raise the sysctl fs.file-max, or end programs that have many files open",
}


def next_step(fault: OSError, usual: str) -> str:
    """Return what to do if the system refuses to open something: the step for a reached limit, else `usual`."""
    return _LIMITS.get(fault.errno or 0, usual)


class SpamnbError(Exception):
    """A fault that the user can fix. Its text is shown unchanged."""

    exit_code = 3


class UsageError(SpamnbError):
    """The command was called wrongly (EX_USAGE)."""

    exit_code = 64


class ConfigError(SpamnbError):
    """The configuration is missing or faulty (EX_CONFIG). Trying again without a change does not help."""

    exit_code = 78


class UnitError(SpamnbError):
    """A systemd unit cannot be written or removed."""


class MailError(SpamnbError):
    """A path that should hold mail holds none, or cannot be read."""


class MaildirError(SpamnbError):
    """A Maildir or one of its folders is missing, unsafe or unreadable."""


class NotmuchError(SpamnbError):
    """The program notmuch is missing, or cannot read its database now. Its tags teach nothing until then."""


class NotYetError(MaildirError):
    """Another program works on a message, or its folder is about to be created. Nothing is lost; look again soon."""


class LedgerError(SpamnbError):
    """The ledger cannot be used: damaged, unwritable, or from a newer version."""


class LedgerUnavailableError(LedgerError):
    """The ledger is sound, but cannot be used now, on a full disk for example. A later attempt may succeed."""


class LedgerSpaceError(LedgerUnavailableError):
    """There is too little space on the disk for a copy of the ledger."""


class LedgerBusyError(LedgerUnavailableError):
    """Another process holds the ledger for longer than we wait (EX_TEMPFAIL): try again."""

    exit_code = 75


class LedgerDamagedError(LedgerError):
    """SQLite cannot read the ledger's file. The service replaces it by a copy at its next start."""


class LedgerNewerError(LedgerError):
    """A later version has written the ledger: this version does not know its tables."""


class LedgerLostError(LedgerError):
    """The ledger is damaged and has no copy (EX_CONFIG). A restart does not help: the user has to choose."""

    exit_code = 78


class ExchangeError(SpamnbError):
    """The log of shared lessons cannot be used: it has another version, or a damaged row."""


class ExchangeAwayError(ExchangeError):
    """The log of shared lessons cannot be reached now (EX_TEMPFAIL). The ledger keeps what has to be sent."""

    exit_code = 75


class RegisterError(SpamnbError):
    """The register of a mail host cannot be read or written."""
