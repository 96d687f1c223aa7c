"""The drop-ins of a host's units."""

import shutil
import subprocess
from pathlib import Path

import pytest

from spamnb.base.errors import UnitError
from spamnb.setup.host_unit import drop_in, drop_ins, write
from tests.patience import PATIENCE


def test_homes_are_put_back_and_state_is_left_to_the_unit() -> None:
    """Mail below /home is bound into the sandbox, mail elsewhere is opened; the unit's own state needs no line."""
    text = drop_in("vmail", "", [Path("/home/vmail"), Path("/srv/100% mail"), Path("/var/lib/spamnb-host")])
    assert "BindPaths=/home/vmail\n" in text
    assert 'ReadWritePaths="/srv/100%% mail"\n' in text
    assert "/var/lib/spamnb-host" not in text
    assert "Group=" not in text


def test_all_units_of_a_host_are_the_owners() -> None:
    """The service and the pages run as the same user and see the same mail; both sockets belong to that user."""
    texts = {path.parent.name: text for path, text in drop_ins("mail-of-all", "", [Path("/srv/mail")]).items()}
    services, sockets = (
        {f"{unit}.d" for unit in units}
        for units in (
            ("spamnb-host@.service", "spamnb-web-host.service"),
            ("spamnb-host.socket", "spamnb-web-host.socket"),
        )
    )
    assert texts.keys() == services | sockets
    for name in services:
        assert "User=mail-of-all\nReadWritePaths=/srv/mail\n" in texts[name]
    for name in sockets:
        assert texts[name].endswith("[Socket]\nSocketUser=mail-of-all\n")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_reads_it(tmp_path: Path) -> None:
    """A unit with this drop-in has no line that systemd does not know."""
    (tmp_path / "x.service.d").mkdir()
    (tmp_path / "x.service").write_text("[Service]\nExecStart=/bin/true\n")
    write(tmp_path / "x.service.d/10-mail.conf", drop_in("root", "root", [Path("/srv/a b"), Path("/home/v")]))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "x.service")], capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_former_drop_in_is_kept(tmp_path: Path) -> None:
    """Another text under that name is kept beside it, the same text is left alone; all users may read it."""
    path = tmp_path / "spamnb-host@.service.d" / "10-mail.conf"
    assert write(path, "[Service]\nUser=a\n") is None
    assert write(path, "[Service]\nUser=a\n") is None
    assert write(path, "[Service]\nUser=b\n") == path.with_name("10-mail.conf.old")
    assert path.read_text() == "[Service]\nUser=b\n"
    assert path.with_name("10-mail.conf.old").read_text() == "[Service]\nUser=a\n"
    assert path.stat().st_mode & 0o777 == 0o644


def test_where_it_cannot_be_written_the_step_is_named(tmp_path: Path) -> None:
    """A file in the place of its directory is a fault that says what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UnitError, match="run it as root"):
        write(tmp_path / "file" / "10-mail.conf", "x")
