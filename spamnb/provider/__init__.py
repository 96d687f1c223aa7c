"""An account at a provider: mbsync keeps it in step with a Maildir, so that the filter sees only files.

`isync` writes mbsync's configuration, and reads what mbsync says; `mbsync` calls it. `sync_units` has what calls mbsync
from then on, and `providers` what each provider asks of a person. `spamnb init --imap` puts this together, and asks the
questions (`cli/common/init_imap.py`). The service knows none of it: it only touches a file when it has moved mail.
"""
