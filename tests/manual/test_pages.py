"""The man pages: everything that the commands and the table of keys have, and nothing that groff warns of."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from spamnb.cli.common.arguments import COMMANDS, parser_of, program
from spamnb.config.keys import wanted
from spamnb.config.writing import example
from tests.documents import ROOT
from tests.manual.made import files, pages
from tests.patience import PATIENCE
from tests.table import over_rows


def plain(page: str) -> str:
    """The words of a page, without the macros and escapes that this package writes."""
    text = re.sub(r"\\f[BIR]", "", page)
    for written, sign in (("\\-", "-"), ("\\(aq", "'"), ("\\(dq", '"'), ("\\(ti", "~"), ("\\(ga", "`"), ("\\e", "\\")):
        text = text.replace(written, sign)
    return " ".join(text.split())


@over_rows("name", COMMANDS)
def test_every_command_is_in_the_page(name: str) -> None:
    """spamnb(1) has each command with its help and each of its options with what that does."""
    text = plain(pages()["spamnb.1"])
    parser = parser_of(name)
    assert f".SS {name} " in text
    for paragraph in (parser.description or "").split("\n\n"):
        assert " ".join(paragraph.replace("`", "").split()) in text
    for action in parser._actions:
        assert all(flag in text for flag in action.option_strings)
        assert (action.help or "")[1:].replace("`", "").replace("  ", " ") in text


def test_own_options_are_in_the_page() -> None:
    """The options before a command are on the page too."""
    text = plain(pages()["spamnb.1"])
    assert all(flag in text for action in program()._actions for flag in action.option_strings)


def test_every_key_is_in_the_page() -> None:
    """spamnb.yaml(5) has each key that can be read, with what may be written and its default, and all that the example
    says of keys.
    """
    text = plain(pages()["spamnb.yaml.5"])
    for key, meaning in wanted().items():
        (entry,) = re.findall(rf"\.TP {re.escape(key)} (.*?)(?= \.(?:[TS][PSH]|PP) )", text)
        (default,) = re.findall(rf"^ *(?:- )?{key.rpartition('.')[2]}:(.*)$", section_of(key), re.MULTILINE)
        assert entry.endswith(f"Write {meaning}." + (f" Default: {default.strip()}." if default else ""))
    for comment in re.findall(r"(?:^ *#.*\n)+", example(of_host=True).partition("\n\n")[2], re.MULTILINE):
        assert " ".join(comment.replace("#", "").replace("`", "").split()) in text


def section_of(key: str) -> str:
    """The part of the example that is below the section of a key; all of it for a key without one, or with a dot."""
    section = key.rpartition(".")[0]
    if not section or f"\n{key}:" in example(of_host=True):
        return example(of_host=True).replace(f"\n{section}.", "\n")
    return re.split(r"^(?=\w)", example(of_host=True).partition(f"\n{section}:\n")[2], flags=re.MULTILINE)[0]


def test_the_page_of_the_pages_has_every_option() -> None:
    """spamnb-web(8) has each option of `spamnb web`, and names its units and its key."""
    text = plain(pages()["spamnb-web.8"])
    flags = {flag for action in parser_of("web")._actions for flag in action.option_strings} - {"-h", "--help"}
    assert {flag for flag in flags if flag not in text} == set()
    for named in ("spamnb-web.socket", "spamnb-web@", "web.key"):
        assert named in text


@over_rows("unit", sorted(path.name for path in (ROOT / "systemd").iterdir()))
def test_each_unit_names_a_page(unit: str) -> None:
    """The documentation of each unit is a page that there is."""
    named = re.findall(r"^Documentation=man:(\S+)\((\d)\)$", (ROOT / "systemd" / unit).read_text(), re.MULTILINE)
    assert named
    assert all(f"{name}.{section}" in pages() for name, section in named)


def test_each_page_names_others_that_there_are() -> None:
    """Each page of this project that a page names exists."""
    for page in pages().values():
        for name, section in re.findall(r"(spamnb[\w.-]*)\((\d)\)", plain(page)):
            assert f"{name}.{section}" in pages()


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed (Debian: apt install man-db)")
@pytest.mark.parametrize("name", [name for name in files() if "/man/" in name])
def test_groff_says_nothing(tmp_path: Path, name: str) -> None:
    """groff sets each page without a warning, and its name is found for the index."""
    page = tmp_path / Path(name).name
    page.write_text(files()[name], encoding="utf-8")
    environ = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80", "HOME": str(tmp_path)}
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "spamnb" in page.read_text().split(".SH NAME\n")[1].split("\n")[0]
