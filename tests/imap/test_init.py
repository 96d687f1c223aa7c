"""`spamnb init` on a mailbox that Dovecot has made."""

from collections.abc import Callable

import pytest
import yaml

from spamnb.cli.main import main
from tests.imap.conftest import ABROAD, LAYOUTS, Host, new_mail


@pytest.mark.parametrize("layout", LAYOUTS)
def test_init(make_host: Callable[..., Host], layout: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It finds the layout, a role for each folder, and names in any script, and learns each message there once."""
    host = make_host(layout, knows=False)
    client = host.client()
    for name in ("Entwürfe", "Sent", "Junk/Alt & neu", "Archive/2025"):
        client.must(client.create(client.wire(name)))
    for number in range(25):
        client.put(("INBOX", ABROAD, "Archive/2025")[number % 3], new_mail("ham"), "\\Seen")
        client.put("Junk", new_mail("spam"))
    host.config.unlink()
    assert main(["--config", str(host.config), "init", "--learn", str(host.root)]) == 0
    said = capsys.readouterr().out
    assert f"({layout})" in said
    written = yaml.safe_load(host.config.read_text())
    (mailbox,) = written["mailboxes"]
    assert mailbox["roles"] | {"Junk/Alt & neu": "spam"} == mailbox["roles"]
    expected = {
        "INBOX": "inbox",
        "Junk": "spam",
        "Archive": "ham",
        "Trash": "neutral",
        "Sent": "sent",
        "Entwürfe": "neutral",
        ABROAD: "ham",
    }
    assert mailbox["roles"] | expected == mailbox["roles"]
    (status,) = host.ask("status")
    assert status["learned"] == {"ham": 25, "spam": 25}
    assert status["moves"] == "spam"
    before = len(client.uids("INBOX"))
    host.start()
    spam = new_mail("spam")
    client.put("INBOX", spam)
    host.wait_for(spam, "moved INBOX Junk")
    assert len(client.uids("INBOX")) == before, "what lay there before is never moved"
