"""Many files at once: what a person files by the hundred is learned, and new mail does not wait for it."""

from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.maildir.messages import scan
from tests.patience import until
from tests.service.conftest import Site

FILED = 250


@pytest.mark.thorough
def test_new_mail_does_not_wait_for_a_folder_that_was_filed(site: Site) -> None:
    """If hundreds of messages are filed at once, each is learned as ham, and new spam is moved at once."""
    site.configure(dwell=2.0)
    site.teach()
    site.start()
    ham = [site.deliver(message("ham", 2000 + number)) for number in range(FILED)]
    until(lambda: site.log().count("stays in INBOX") == FILED, "all ham judged", 60)
    archive = Path(site.folders["Archive"].subdir("cur"))
    for entry in scan(site.folders["INBOX"]):
        Path(entry.path(site.folders["INBOX"])).rename(archive / f"{entry.name}:2,S")
    until(lambda: "a person filed it" in site.log(), "the first one learned")
    spam = site.deliver(message("spam", 2000))
    until(lambda: site.log().count("a person filed it") == FILED, "all of them learned", 60)
    until(lambda: spam in site.contents("Junk"), "spam moved")
    assert site.log().index("moved from INBOX to Junk") < site.log().rindex("a person filed it")
    assert sorted(site.contents("Archive")) == sorted(ham)
    assert site.end() == 0
    assert site.faults() == []
