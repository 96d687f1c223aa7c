"""Asking Dovecot for its configuration."""

import shutil
from pathlib import Path

import pytest

from spamnb.base.errors import ConfigError
from spamnb.cli.common.doveconf import printed_by_dovecot
from spamnb.setup.doveconf import parse


@pytest.mark.skipif(shutil.which("doveconf") is None, reason="there is no Dovecot here")
def test_dovecot_itself_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of the installed Dovecot is read: names with spaces, and values with signs."""
    config, program = tmp_path / "dovecot.conf", tmp_path / "doveconf"
    config.write_text(
        'login_greeting = "Ready  # always"\nmail_location = maildir:/var/vmail/%d/%n\n'
        'namespace inbox {\n  inbox = yes\n  mailbox "Junk E-mail" {\n    special_use = \\Junk\n  }\n}\n'
    )
    program.write_text(f'#!/bin/sh\nexec {shutil.which("doveconf")} -c {config} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    root = parse(printed_by_dovecot())
    assert root.get("login_greeting") == "Ready  # always"
    [namespace] = root.of_kind("namespace")
    assert [(one.name, one.get("special_use")) for one in namespace.of_kind("mailbox")] == [("Junk E-mail", "\\Junk")]


@pytest.mark.parametrize(
    ("script", "said"),
    [(None, "doveconf is missing"), ("echo 'line 7: no' >&2; exit 89", "89 \\(line 7: no\\)"), ("exit 1", "nothing")],
)
def test_where_dovecot_does_not_answer_a_template_is_asked_for(
    script: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If doveconf is missing or fails, the error names the command with a template."""
    if script is not None:
        (tmp_path / "doveconf").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "doveconf").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=said) as raised:
        printed_by_dovecot()
    assert "spamnb init --host '/" in str(raised.value)
