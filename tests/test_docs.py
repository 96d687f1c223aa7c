"""The documents are true: a test runs each block, and each command, option, file and test that they name exists."""

import ast
import itertools
import re
import shlex
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import yaml

from spamnb.cli.common.arguments import ALIASES, COMMANDS, add_shared, parser_of
from spamnb.config import Model, parse
from tests.consoles import consoles, cut, make_mail, printed, steady
from tests.documents import BY_HAND, DOCUMENTS, ROOT, Block, block, blocks, read
from tests.patience import PATIENCE, until
from tests.systemd.tree import sources
from tests.table import over_rows

_MINUTES = 10 * PATIENCE
_OF_OTHERS = {  # what the kernel says
    *("No space left on device", "Read-only file system", "Permission denied", "Too many open files"),
}


def blocks_in(language: str) -> Iterator[Block]:
    """The blocks of all documents that are in a language."""
    return (one for document in DOCUMENTS for one in blocks(document) if one.language == language)


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if consoles(document)])
def test_console_blocks_are_real(document: str) -> None:
    """Each command in a console block prints the text below it; if not, `.ci/consoles.py` writes the blocks again."""
    for (command, shown), output in zip(consoles(document), printed(document), strict=True):
        assert steady(cut(output, shown)) == steady(shown), command


def test_configurations_are_valid() -> None:
    """Each block of YAML is a configuration, or can be added to one that `init` writes."""
    own = {"mailboxes": [{"path": "/home/you/Maildir", "roles": {"INBOX": "inbox", "Junk": "spam"}}]}
    found = list(blocks_in("yaml"))
    assert len(found) >= 3
    for one in found:
        parse(yaml.safe_dump(own | yaml.safe_load(one.text)), one.document, {"HOME": "/home/you"})


def test_every_other_block_has_a_test() -> None:
    """Each other block names its test, or says that it is run by hand."""
    for one in itertools.chain.from_iterable(map(blocks, DOCUMENTS)):
        if one.language in {"console", "yaml"} or one.mark == BY_HAND:
            continue
        assert one.name, f"{one.document} does not say which test runs:\n{one.text}"
        runner = (ROOT / one.runner).read_text(encoding="utf-8")
        if one.runner.endswith(".py"):
            assert one.document in runner, (one.document, one.runner)
            assert f'"{one.name}"' in runner, (one.name, one.runner)


@over_rows("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    """Each command is named in docs/commands.md."""
    assert re.search(rf"`(?:spamnb )?{name}\b|^\$ spamnb {name}\b", read("docs/commands.md"), re.MULTILINE)


def calls(document: str) -> Iterator[list[str]]:
    """The calls of spamnb in a document's text and blocks, as lists of words without the program's own options."""
    pieces = [one.text for one in blocks(document) if one.language in {"sh", "console"}]
    pieces += re.findall(r"`([^`\n]+)`", read(document))
    for line in "\n".join(pieces).splitlines():
        for call in re.findall(r"(?:^|\$ |-- |&& |^\S+/bin/)spamnb ([^|&]*)", line):
            words = shlex.split(call, comments=True)
            while words and words[0].startswith("-"):
                words = words[2:] if words[0] in ("--config", "--user") else words[1:]
            if words:
                yield words


@over_rows("document", DOCUMENTS)
def test_calls_in_the_text_exist(document: str) -> None:
    """Each command and option that a document names is one of spamnb's."""
    for words in calls(document):
        assert words[0] in {*COMMANDS, *ALIASES}, words
        parser = parser_of(ALIASES.get(words[0], words[0]))
        add_shared(parser, is_shown=True)
        options = {option for action in parser._actions for option in action.option_strings}
        assert not [word for word in words[1:] if re.match("--?[a-z]", word) and word not in options], words


@over_rows("document", DOCUMENTS)
def test_benchmarks_in_the_text_exist(document: str) -> None:
    """Each benchmark that a document names exists and has the given options."""
    shared = (ROOT / "benchmarks/common.py").read_text()
    for script, options in re.findall(r"python (benchmarks/\w+\.py)([^`\n]*)", read(document)):
        text = (ROOT / script).read_text() + shared
        assert all(f'"{option}"' in text for option in re.findall(r"--[a-z0-9-]+", options)), (script, options)


def test_set_up_commands_are_those_of_the_checks() -> None:
    """The README's two commands install the package, and run the demonstration and the tests as .ci/run does."""
    first, second = (one.text.strip() for one in blocks("README.md") if one.language == "sh")
    assert first.endswith("spamnb demo")
    assert f"\n{second.rpartition('.venv/bin/')[2]}\n" in (ROOT / ".ci/run").read_text()


def test_readme_says_where_the_project_is() -> None:
    """The README names the addresses of the sources and of the place for faults, which pyproject.toml keeps."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        urls = tomllib.load(file)["project"]["urls"]
    assert f"git clone {urls['Source']}" in read("README.md")
    assert urls["Issues"] in read("README.md")


_SPOKEN = ("*.md", "docs/*", "spamnb/**/*.py", "systemd/*", "debian/*", ".ci/*", "config.example.yaml")
_BY_NAME = re.compile(r"spamnb\[\w|\bpipx? (?:install|upgrade|download)\b[^\n`]*[ '\"]spamnb(?![-\w./])")


def test_nothing_asks_an_index_for_this_project() -> None:
    """No document, help, message or script installs the project by its name, which no index has: whoever takes the name
    there would own the machine.
    """
    files = {path for pattern in _SPOKEN for path in ROOT.glob(pattern) if path.is_file()}
    assert len(files) > 250
    assert [(str(path), found) for path in files for found in _BY_NAME.findall(path.read_text())] == []


@pytest.mark.real_system
def test_demo_on_a_fresh_machine(tmp_path: Path) -> None:
    """The README's first block installs the package from its directory and shows the loop; the pages are there too."""
    sources(tmp_path / "spamnb")
    # no variable of these tests: not their environment, nor where they find the package
    environ = {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-euc", block("README.md", "demo")],
        cwd=tmp_path / "spamnb",
        env=environ | {"PIP_NO_COMPILE": "0"},  # a falsy value says so: half of the time goes to modules of no use here
        capture_output=True,
        text=True,
        timeout=_MINUTES,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Junk" in done.stdout
    make_mail(tmp_path)
    spamnb, listen = str(tmp_path / "spamnb/.venv/bin/spamnb"), str(tmp_path / "web.sock")
    subprocess.run([spamnb, "init", "--no-learn"], env=environ, capture_output=True, timeout=_MINUTES, check=True)
    with subprocess.Popen([spamnb, "web", "--listen", listen], env=environ, stdout=subprocess.DEVNULL) as pages:
        try:
            until(lambda: pages.poll() is not None or Path(listen).is_socket(), "the pages to be served")
            with socket.socket(socket.AF_UNIX) as browser:
                browser.settimeout(PATIENCE)
                browser.connect(listen)
                browser.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert browser.recv(100).startswith(b"HTTP/1.1 200 ")
        finally:
            pages.terminate()


def test_the_drawing_of_the_service() -> None:
    """Each class in CONTRIBUTING.md's drawing of the service is defined in it, or in that of a mail host."""
    named = set(re.findall(r"\b[A-Z][a-z]+[A-Za-z]*\b", block("CONTRIBUTING.md", "service")))
    files = [path for of in ("service", "host/service") for path in (ROOT / "spamnb" / of).rglob("*.py")]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    defined = {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
    assert len(named) >= 12
    assert named <= defined


def test_functions_in_the_text_exist() -> None:
    """Each function that CONTRIBUTING.md names after its file is defined in that file."""
    found = re.findall(r"`(spamnb/[\w/]+\.py)`\s+`(?:(\w+)\.)?(\w+)`", read("CONTRIBUTING.md"))
    assert len(found) >= 10
    for path, owner, name in found:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == owner]
        (inside,) = classes if owner else [tree]
        assert name in {node.name for node in inside.body if isinstance(node, ast.FunctionDef)}, (path, owner, name)


def test_tests_in_the_text_exist() -> None:
    """Each test that a document names as its evidence exists."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    known = set(re.findall(r"def (test_\w+)", sources)) | {path.stem for path in (ROOT / "tests").rglob("*.py")}
    named = {name for document in DOCUMENTS for name in re.findall(r"\b(test_\w+)", read(document))}
    assert len(named) >= 40
    assert named <= known


def test_messages_in_the_text_exist() -> None:
    """Log lines and errors that docs/evidence/faults.md quotes, with … for variable parts, are printed."""
    printed = []
    for path in (ROOT / "spamnb").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                printed.append("…".join(str(part.value) for part in node.values if isinstance(part, ast.Constant)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                printed.append(node.value)
    everything = "\n".join(printed)
    rows = [row.split(" | ") for row in read("docs/evidence/faults.md").splitlines() if row.count(" | ") == 3]
    quotes = [quote for row in rows for quote in re.findall(r"`([^`]{12,})`", row[2])]
    assert len(quotes) >= 20
    for piece in re.split(r"…|: |; |\. |'\w+'", "…".join(quotes)):
        assert piece.strip(" :;,.()") in everything or piece in _OF_OTHERS, piece


@over_rows("document", DOCUMENTS)
def test_files_that_the_documents_name_exist(document: str) -> None:
    """Every file and heading that a document links to, and every file that it runs, exists."""
    text, here = read(document), (ROOT / document).parent
    for link, heading in re.findall(r"\]\(([\w./@-]*)(?:#([\w-]+))?\)", text):
        target = here / link if link else ROOT / document
        assert target.exists(), link
        if heading:
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in set(map(slug, titles)), heading
    for name in re.findall(r"(?<![\w./-])(?:benchmarks|docs|spamnb|systemd|tests)/[\w@./-]+\.\w+", text):
        assert (ROOT / name).exists(), name


def section(document: str, heading: str) -> str:
    """A document's text below a heading, named as in a link, up to the next one of its level; all of it without one."""
    text = read(document)
    for level, title, rest in re.findall(r"^(#+) ([^\n]*)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
        if level == "##" and slug(title) == heading:
            return str(rest)
    return text


def slug(title: str) -> str:
    """The name of a heading in a link."""
    return re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")


def numbers(text: str) -> set[str]:
    """The numbers in a text, as they are written."""
    return set(re.findall(r"\d+(?:[.,]\d+)*", text))


_REPEATED = (  # a figure of docs/how-good.md that another document needs too
    ("docs/mail-host.md", r"([\d.]+ KB) of ledger for each learned message"),
    ("docs/mail-host.md", r"(\d+ MB) with 500,000 tokens"),
)


def test_figures_are_those_of_the_evidence() -> None:
    """Each number of docs/how-good.md is in the page that its row, or else its section, links to."""
    for part in read("docs/how-good.md").split("\n## ")[1:]:
        heading, _, text = part.partition("\n")
        linked = dict.fromkeys(re.findall(r"\]\(([\w/.-]+\.md)(?:#([\w-]+))?\)", text))
        behind = {link: numbers(section(f"docs/{link[0]}", link[1])) for link in linked}
        for row in re.findall(r"^\|.*$|^[^|\n].*$", text, re.MULTILINE):
            own = [link for link in linked if f"]({link[0]}#{link[1]})" in row and row.startswith("|")]
            known = set().union(*(behind[link] for link in own or linked))
            said = numbers(re.sub(r"\]\([^)]*\)|`[^`]*`", "", row)) - {"100"}  # "of 100", in words
            assert said <= known, (heading, row, said - known)


def test_a_figure_that_stands_twice_is_the_same() -> None:
    """The README's numbers are those of docs/how-good.md in whole percent, and other documents repeat its figures."""
    page = read("docs/how-good.md")
    (measured,) = re.findall(r"^- \*\*It is accurate\.\*\*.*?(?=^- )", read("README.md"), re.MULTILINE | re.DOTALL)
    whole = {str(int(float(percent))) for percent in re.findall(r"([\d.]+) %", page)}
    assert numbers(measured) - numbers(page) <= whole
    for document, pattern in _REPEATED:
        found = re.findall(pattern, " ".join(read(document).split()))
        assert found, (document, pattern)
        assert [figure for figure in found if figure not in page] == []


def test_event_models_are_documented() -> None:
    """Each event model that may be configured is named in the example of the configuration, and explained."""
    for model in get_args(Model):
        assert re.search(rf"# The event model: [^;]*\b{model}\b[^-]", (ROOT / "config.example.yaml").read_text())
        assert f"`{model}`" in (ROOT / "docs/evidence/score.md").read_text()


def test_readme_is_short() -> None:
    """The README is the way to the other documents, at most 100 lines; one page of 60 is that to the evidence."""
    text, page = read("README.md"), read("docs/how-good.md")
    assert len(text.splitlines()) <= 100
    assert len(page.splitlines()) <= 60
    others = [name for name in DOCUMENTS if name != "README.md"]
    assert [name for name in others if "/evidence/" not in name and f"]({name})" not in text] == []
    assert [name for name in others if "/evidence/" in name and f"]({name.removeprefix('docs/')})" not in page] == []
