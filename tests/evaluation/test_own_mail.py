"""One's own mail as a corpus: what was learned, and is still on the disk."""

import os
from pathlib import Path

import pytest

from spamnb.acts.training import learn
from spamnb.base.errors import MailError
from spamnb.base.label import How, Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Mailbox
from spamnb.evaluation.corpus import Labelled
from spamnb.evaluation.own_mail import own_mail
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.service.awake_account import record_existing
from tests.cli.conftest import maildir

_ROLES = {"INBOX": Role.INBOX, "Junk": Role.SPAM}


def _config(tmp_path: Path, **folders: list[bytes]) -> Config:
    root = maildir(tmp_path / "anna", **folders)
    return Config(mailboxes=(Mailbox(path=root, roles=_ROLES),), ledger=tmp_path / "ledger.sqlite")


def _file(config: Config, content: bytes) -> Path:
    (file,) = (file for file in config.mailboxes[0].path.rglob("17*") if file.read_bytes() == content)
    return file


def test_only_learned_mail_as_what_it_was_learned(tmp_path: Path) -> None:
    """Learned mail counts as what it was learned as; what the filter moved or kept, and nobody decided, does not."""
    ham, spam = ([message(kind, n) for n in range(4)] for kind in ("ham", "spam"))
    config = _config(tmp_path, INBOX=ham, Junk=spam)
    record_existing(config)
    learned = {spam[0]: Label.SPAM, ham[0]: Label.HAM, ham[1]: Label.SPAM, spam[1]: Label.HAM}
    with Ledger(str(config.ledger)) as ledger:
        for number, (content, label) in enumerate(learned.items()):
            learn(ledger, read(content), label, "decided", 2.0, how=How.MOVE)
            os.utime(_file(config, content), (0, number))
        for content, verdict in ((ham[2], "ham"), (spam[2], "spam")):
            known = ledger.messages.find(read(content).digest)
            assert known is not None
            ledger.messages.judged(known.id, verdict, 0.5, 1.0)
        paths = [str(_file(config, content)) for content in learned]
        expected = [Labelled(path, path, label) for path, label in zip(paths, learned.values(), strict=True)]
        assert own_mail(ledger, config) == expected, "in the order in which it arrived"


def test_mail_that_is_gone_is_left_out(tmp_path: Path) -> None:
    """Learned mail that was deleted is left out, and learned ham and spam must be there."""
    ham, spam = message("ham", 1), message("spam", 1)
    config = _config(tmp_path, INBOX=[ham], Junk=[spam])
    record_existing(config)
    with Ledger(str(config.ledger)) as ledger:
        for content, label in ((ham, Label.HAM), (spam, Label.SPAM)):
            learn(ledger, read(content), label, "decided", 2.0, how=How.MOVE)
        assert len(own_mail(ledger, config)) == 2
        _file(config, spam).unlink()
        with pytest.raises(MailError, match="spamnb init --learn"):
            own_mail(ledger, config)
