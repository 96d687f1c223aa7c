"""Exit codes, which mail recipes and service managers test. The codes of errors are in `spamnb.base.errors`."""

from spamnb.base.errors import LedgerBusyError, SpamnbError, UsageError

STOPPED = 1  # status: the filter has stopped moving mail by itself
NO_MAILBOX = 1  # status: a mailbox is not there
FAULTS = 1  # doctor
OF_VERDICT = {"spam": 0, "ham": 1, "unsure": 2}  # score, for one message: bogofilter's codes
ERROR = SpamnbError.exit_code
USAGE = UsageError.exit_code
TRY_AGAIN = LedgerBusyError.exit_code  # EX_TEMPFAIL: a mail server keeps the message
