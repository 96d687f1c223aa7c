"""`spamnb init --host` with the output of the real `doveconf -n` for virtual users, of Dovecot 2.3 and 2.4."""

import os
import pwd
import shlex
from pathlib import Path

import pytest
import yaml

from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from tests.cli.conftest import maildir
from tests.imap.dovecot import BOTH, NEW, OLD, Dovecot

_IN_BOTH = """
mail_uid = {owner}
mail_gid = {group}
namespace inbox {{
  inbox = yes
  separator = /
  mailbox "Junk E-mail" {{
    special_use = \\Junk
  }}
  mailbox Entwürfe {{
    special_use = \\Drafts
  }}
  mailbox Archive/Old {{
    special_use = \\Archive
  }}
}}
"""
_CONFIGURATIONS = {
    OLD: """
mail_location = maildir:{mail}/%Ld/%1Ln/%Ln/Maildir
userdb {{
  driver = static
  args = home={mail}/%Ld/%Ln
}}
""",
    NEW: """
dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
mail_driver = maildir
mail_home = {mail}/%{{user | domain | lower}}/%{{user | username | lower | substr(0, 1)}}/%{{user | username | lower}}
mail_path = ~/Maildir
userdb static {{
}}
""",
}


@BOTH
def test_init_host(
    dovecot: Dovecot, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fields, a hashed directory, the owner and the roles of folders are read, and every user is found by them."""
    if dovecot.program("doveconf") is None:
        pytest.skip("needs Dovecot (Debian: dovecot-imapd)")
    owner = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    mail = tmp_path / "vmail"
    for domain, name in (("a.example", "anna"), ("b.example", "anna"), ("b.example", "ben")):
        root = maildir(mail / domain / name[0] / name / "Maildir", Junk_E_mail=[], INBOX=[message("ham", 1)])
        (root / ".Junk.E.mail").rename(root / ".Junk E-mail")
        os.chown(root, owner.pw_uid, owner.pw_gid)
    text = _CONFIGURATIONS[dovecot.version] + _IN_BOTH
    (tmp_path / "dovecot.conf").write_text(text.format(mail=mail, owner=owner.pw_uid, group=owner.pw_gid))
    caller = pwd.getpwuid(os.getuid())
    command = dovecot.command(tmp_path, caller, "doveconf", "-c", str(tmp_path / "dovecot.conf"))
    program = tmp_path / "programs" / "doveconf"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    code = main(["--config", str(tmp_path / "config.yaml"), "init", "--host"])
    said = capsys.readouterr()
    assert (code, said.err) == (0, ""), said.err
    assert "Found 3 users." in said.out
    written = yaml.safe_load((tmp_path / "config.yaml").read_text())
    (mailbox,) = written["mailboxes"]
    assert (mailbox["path"], mailbox["layout"]) == (f"{mail}/{{domain}}/*/{{local}}/Maildir", "maildir++")
    roles = {"INBOX": "inbox", "Junk E-mail": "spam", "Entwürfe": "neutral", "Archive/Old": "ham"}
    assert mailbox["roles"] == roles
