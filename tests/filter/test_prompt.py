"""The imports of a command at the prompt: the start has a budget, and imports use it up."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import spamnb
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from tests.lessons import learn, sample_lessons

ROOT = Path(spamnb.__file__).parent
HTML = b"Subject: x\nMIME-Version: 1.0\nContent-Type: text/html\n\n<p>Buy <b>now</b></p>\n"
SCORED = """
import sys
from spamnb.cli.main import main
code = main(sys.argv[1:])
print(code, *sorted(module for module in sys.modules))
"""


def imported(*arguments: str) -> set[str]:
    """The modules that a command has imported at its end."""
    done = subprocess.run([sys.executable, "-c", SCORED, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_one_message_is_judged_without_arrays(tmp_path: Path) -> None:
    """`score FILE` imports neither numpy nor scipy, nor what watches folders, draws, or talks to processes."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        learn(ledger, sample_lessons(2))
    message, config = tmp_path / "message", tmp_path / "config.yaml"
    message.write_bytes(HTML)
    (tmp_path / "Maildir").mkdir()
    config.write_text(
        f"mailboxes: [{{path: {tmp_path / 'Maildir'}, roles: {{INBOX: inbox, Junk: spam}}}}]\n"
        f"ledger: {tmp_path / 'ledger.sqlite'}\n"
    )
    found = imported("--config", str(config), "score", str(message))
    assert "spamnb.mail.tokens.html" in found
    assert not found & {"numpy", "scipy", "watchdog", "rich", "matplotlib", "multiprocessing", "concurrent"}


def test_plain_text_is_judged_without_a_parser_of_html() -> None:
    """A message without HTML needs no BeautifulSoup."""
    script = f"import sys\nfrom spamnb.mail.reading import read\nread({HTML.replace(b'html', b'plain')!r})"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}\nprint('bs4' in sys.modules)"], capture_output=True, check=True
    )
    assert done.stdout.strip() == b"False"
    assert read(HTML).tokens


def test_the_help_imports_little() -> None:
    """`spamnb --help` imports no module of Python's whose import takes a thirtieth of it, except those of argparse."""
    script = "import sys, spamnb.cli.main; from spamnb.cli.common.arguments import program; program().print_help()"
    names = "print(*(name for name, module in sys.modules.items() if module.__spec__))"  # not those put off
    command = [sys.executable, "-S", "-c", f"{script}; {names}"]  # -S: without what a development install adds
    environ = {"PYTHONPATH": str(ROOT.parent)}
    found = set(subprocess.check_output(command, env=environ, text=True).splitlines()[-1].split())
    assert "spamnb.cli.common.arguments" in found
    assert not found & {"typing", "datetime", "shutil", "dataclasses", "pathlib", "logging", "spamnb.base.label"}


@pytest.mark.parametrize("package", ["mail", "maildir", "config", "bulk"])
def test_patterns_are_compiled_at_their_first_use(package: str) -> None:
    """No module that judges a message compiles a regular expression when it is imported."""
    paths = list((ROOT / package).rglob("*.py"))
    assert paths
    for path in paths:
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                assert "re.compile(" not in ast.unparse(statement), f"{path}: use lazy_pattern"


def test_one_person_needs_no_host(tmp_path: Path) -> None:
    """A command for one person, and --help, import nothing of a mail host."""
    config = tmp_path / "config.yaml"
    config.write_text(f"mailboxes: [{{path: {tmp_path}, roles: {{INBOX: inbox, Junk: spam}}}}]\nledger: {tmp_path}/l\n")
    (tmp_path / "message").write_bytes(HTML)
    for arguments in (("--config", str(config), "score", str(tmp_path / "message")), ("help",)):
        found = imported(*arguments)
        assert not {name for name in found if name.startswith("spamnb.host")}
