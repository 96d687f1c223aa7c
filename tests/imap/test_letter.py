"""The letter with the statement, as a mail program sees it by a real server."""

import email
import email.policy
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path

from spamnb.ledger.ledger import Ledger
from spamnb.maildir.messages import scan
from spamnb.review.period import Month
from tests.imap.conftest import Host, new_mail
from tests.imap.dovecot import BOTH
from tests.patience import until


def a_month_ago(host: Host) -> Month:
    """All moves were in the last month, and no letter tells of that month yet. Returns the month."""
    month = Month.of(time.time()).before
    with Ledger(str(host.ledger)) as ledger:
        ledger._connection.execute("UPDATE action SET at = ? WHERE kind = 'moved'", (month.since + 86_400,))
        ledger.state.told_until = month.since
    host.own(*host.directory.glob("ledger*"))
    return month


@BOTH
def test_one_letter(make_host: Callable[..., Host]) -> None:
    """A mail program finds one new letter with its Subject and Date, and may move it; it teaches nothing."""
    host = make_host()
    host.configure("service: {statement: monthly}")
    host.start()
    client = host.client()
    spam = new_mail("spam")
    client.put("INBOX", spam)
    host.wait_for(spam, "moved INBOX Junk")
    host.end()
    month = a_month_ago(host)
    host.start()
    until(lambda: len(client.uids("INBOX")) == 1, "the letter")
    (uid,) = client.uids("INBOX")
    (head, content), *_ = client.must(client.uid("FETCH", uid, "(FLAGS INTERNALDATE BODY.PEEK[])"))
    assert b"\\Seen" not in head
    letter = email.message_from_bytes(content, policy=email.policy.default)
    assert letter["Subject"] == f"spamnb: 1 message moved to Junk in {month.words}"
    assert abs(parsedate_to_datetime(letter["Date"]).timestamp() - time.time()) < 300
    assert letter.get_content_type() == "text/plain"
    assert "Look at this message." in letter.get_content()

    written = Path(scan(host.folders["INBOX"])[0].path(host.folders["INBOX"])).read_bytes()
    for source, destination in (("INBOX", "Junk"), ("Junk", "Archive"), ("Archive", "INBOX")):
        client.move(written, source, destination)
        host.settle(client)
        assert host.where(written) == [destination]
    assert host.story(written) == []
    assert (host.verdict(written), host.label(written)) == (None, None)
    assert len(client.uids("INBOX")) == 1
