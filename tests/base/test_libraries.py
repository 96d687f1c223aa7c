"""Libraries that only some work needs: what a person types to have one."""

from pathlib import Path

from spamnb.base.libraries import how_to_install


def test_what_is_told_by_how_the_program_is_installed(tmp_path: Path) -> None:
    """Debian's program needs Debian's package, one by pipx an injection, any other pip."""
    usr, pipx, plain = tmp_path / "usr", tmp_path / "venvs" / "spamnb", tmp_path / "an environment"
    (usr / "lib/python3/dist-packages").mkdir(parents=True)
    pipx.mkdir(parents=True)
    (pipx / "pipx_metadata.json").touch()

    def told(prefix: Path) -> str:
        return how_to_install("distributed", str(prefix), str(usr), str(prefix / "bin/python"))

    assert told(usr) == "apt install python3-distributed"
    assert told(pipx) == "pipx inject spamnb distributed"
    assert told(plain) == f"'{plain}/bin/python' -m pip install distributed"


def test_another_system() -> None:
    """A program in the system's own Python needs pip, if the system is not Debian."""
    assert how_to_install("matplotlib", "/nowhere", "/nowhere", "/nowhere/bin/python3") == (
        "/nowhere/bin/python3 -m pip install matplotlib"
    )
