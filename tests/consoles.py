"""The console blocks of the documents: commands with their output, from real runs over made-up mail.

`python .ci/consoles.py` writes them, and tests/test_docs.py compares them. A line `…` in a block stands for lines that
the document leaves out. In each document `spamnb init` is the first command; if no block shows it, it runs unseen.
"""

import contextlib
import io
import os
import random
import re
import shlex
import shutil
import string
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import deliver
from spamnb.maildir.names import unique_base
from tests.documents import blocks, read

SHOWN = "/home/you"  # what a home is called in the documents
_LEFT_OUT = "…\n"
_OUTPUT = re.compile(r"^\$ ([^\n]*)\n(.*?)(?=^\$ |^```$|\Z)", re.DOTALL | re.MULTILINE)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def consoles(document: str) -> list[tuple[str, str]]:
    """Return each command of a document's console blocks, with the output that the document shows."""
    return _OUTPUT.findall("".join(one.text for one in blocks(document) if one.language == "console"))


@contextlib.contextmanager
def home() -> Iterator[Path]:
    """Make a home with a Maildir of made-up mail and two messages to look at, and work in it."""
    place = _as_long_as(SHOWN)
    machine = place / "machine"  # with systemd, and without units of spamnb
    environ = {"PATH": os.environ["PATH"], "HOME": str(place), "COLUMNS": "80"}
    try:
        (machine / "run/systemd/system").mkdir(parents=True)
        make_mail(place)
        with (
            mock.patch.dict(os.environ, environ, clear=True),
            mock.patch("spamnb.checkup.installation._ROOT", machine),
            contextlib.chdir(place),
        ):
            yield place
    finally:
        shutil.rmtree(place)


def _as_long_as(shown: str) -> Path:
    """Make a directory whose path is as long as the one that is shown, so that columns have the same width."""
    while True:
        place = Path("/tmp", "".join(random.choices(string.ascii_lowercase, k=len(shown) - len("/tmp/"))))
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
            return place


def make_mail(place: Path) -> None:
    """Deliver the mail of the documents' home."""
    number = 0
    for folder, kind, messages in (
        ("INBOX", "ham", 30),
        ("Archive", "ham", 60),
        ("Junk", "spam", 45),
        ("Sent", "ham", 0),
        ("Trash", "ham", 4),
    ):
        made = create_folder(str(place / "Maildir"), "maildir++", folder)
        for _ in range(messages):
            deliver(made, message(kind, number), unique_base(1_700_000_000 + number, 0, 1, 1, "home"))
            number += 1
    (place / "message.eml").write_bytes(message("spam", 777))
    (place / "letter.eml").write_bytes(message("ham", 778))


def printed(document: str) -> list[str]:
    """Run the commands of a document's console blocks in a home, and return what each prints."""
    commands = [command for command, _ in consoles(document)]
    with home() as place:
        if not commands[0].startswith("spamnb init"):
            _printed_by("spamnb init --learn")
        return [_printed_by(command).replace(str(place), SHOWN) for command in commands]


def _printed_by(command: str) -> str:
    """Return what a command prints to standard output."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = main(shlex.split(command)[1:])
    assert code in {0, 1, 2}, command
    return said.getvalue()


def cut(output: str, shown: str) -> str:
    """Return output without the lines that a document leaves out: as many remain before and after `…` as it shows."""
    before, left_out, after = shown.partition(_LEFT_OUT)
    if not left_out:
        return output
    lines = output.splitlines(keepends=True)
    first, last = before.count("\n"), after.count("\n")
    return "".join([*lines[:first], _LEFT_OUT, *lines[len(lines) - last :]])


def steady(output: str) -> str:
    """Return output without what the machine decides: times, the size of files, and limits of the kernel."""
    output = re.sub(r"\d{4}-\d\d-\d\d(.)\d\d(.)\d\d(.)\d\d", r"TIME\1\2\3", output)
    output = re.sub(r"\d+(\.\d+)? [KMG]B", "SIZE", output)
    output = re.sub(r"\d+ inotify", "LIMIT inotify", output)
    return "\n".join(line.rstrip() for line in output.strip().splitlines())


def rewritten(document: str) -> str:
    """Return a document's text with the output of today in its console blocks, if more than times has changed."""
    outputs = iter(printed(document))

    def block(found: re.Match[str]) -> str:
        return f"```console\n{_OUTPUT.sub(output, found[1])}```"

    def output(found: re.Match[str]) -> str:
        new = cut(next(outputs), found[2])
        return f"$ {found[1]}\n{found[2] if steady(new) == steady(found[2]) else new}"

    return _CONSOLE.sub(block, read(document))
