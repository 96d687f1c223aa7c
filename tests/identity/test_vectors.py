"""The frozen digests, on this Python and on each other one of this machine."""

import codecs
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import spamnb
from spamnb.identity import charsets
from spamnb.identity import digests as module
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.parsing import charsets as of_the_reader
from spamnb.mail.reading import read
from tests.identity.vectors import VECTORS, changed, labelled, of, raw_of
from tests.table import over_rows

ROOT = Path(spamnb.__file__).parent.parent
MESSAGES = VECTORS["messages"]

# Which of the messages are one, in forms that servers and programs give it.
FORMS = {
    "plain": [
        "plain, CR LF",
        "plain, blank lines at the end",
        "plain, below an mbox line",
        "plain, on another way",
        "plain, folded",
        "plain, fields in another order and case",
        "plain, declared",
        "plain, in base64",
        "plain, quoted",
        "a line of blanks in the header",
    ],
    "empty": ["a newline"],
    "no body": ["a header alone", "a header without its last line end"],
    "utf-8, 8bit": ["utf-8, in base64", "utf-8, quoted"],
    "a Subject in UTF-8": ["a Subject in UTF-8, quoted", "a Subject in UTF-8, in base64"],
    "a Subject in ISO-8859-1, quoted": ["a Subject in ISO-8859-1, in base64"],
    "a line that is no field": ["a line that is no field, synchronised"],
    "two parts": ["two parts, in another form", "two parts, without an end"],
    "parameters": ["parameters in another order"],
    "two returns before a newline": ["two returns before a newline, copied"],
    "a part's header of 100 fields": ["a part's header of 8 KB"],
}


def pythons() -> dict[str, str]:
    """The programs of other Pythons that spamnb runs on, by their names."""
    homes = [Path.home() / ".pyenv/versions", Path.home() / ".local/share/uv/python"]
    folders = [*map(Path, os.get_exec_path()), *(folder for home in homes for folder in sorted(home.glob("*/bin")))]
    names = [f"python3.{minor}" for minor in range(11, 30) if minor != sys.version_info.minor]
    return {name: path for name in names for path in [working(name, folders)] if path}


def working(name: str, folders: list[Path]) -> str:
    """Return the first program of that name that is a Python of that version, not a substitute."""
    say = "import sys; print('python%d.%d' % sys.version_info[:2])"
    for path in (str(folder / name) for folder in folders):
        if os.access(path, os.X_OK):
            made = subprocess.run([path, "-c", say], capture_output=True, text=True, check=False)
            if made.stdout.strip() == name:
                return path
    return ""


def test_no_digest_has_changed():
    """Every message, hostile message and charset label has the digests that it had in the first version."""
    assert list(changed()) == []


@pytest.mark.thorough
def test_other_pythons_make_the_same_digests():
    """Every other Python of this machine makes the same digests, without any other package."""
    others = pythons()
    if not others:
        pytest.skip("no other Python from 3.11 on is installed here")
    for name, path in others.items():
        made = subprocess.run(
            [path, "-B", "-E", "-S", "-m", "tests.identity.vectors"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (made.returncode, made.stderr) == (0, ""), name


def test_the_vectors_are_enough():
    """The vectors have all labels of the table, and two have one digest only if they are forms of one message."""
    assert len(MESSAGES) >= 100
    labels = {label for labels in VECTORS["labels"].values() for label in labels.split()}
    assert labels >= {label.decode() for label in charsets._names()}
    assert {charsets.charset_of(label.encode()) for label in labels} >= set(charsets._names().values())
    groups: dict[str, list[str]] = {}
    for name, vector in MESSAGES.items():
        groups.setdefault(vector["digests"][0], []).append(name)
    same = sorted(sorted(names) for names in groups.values() if len(names) > 1)
    assert same == sorted(sorted([name, *others]) for name, others in FORMS.items())


@over_rows("name", [name for name, vector in MESSAGES.items() if "fill" not in vector])
def test_line_ends_and_an_mbox_line_change_no_digest(name):
    """With CR LF, in one piece or below a `From ` line, each message keeps its digests."""
    raw = raw_of(MESSAGES[name])
    lines = raw.replace(b"\r\n", b"\n")
    if b"\r" not in lines:
        assert of(lines.replace(b"\n", b"\r\n")) == of(raw)
    assert of(b"From a@b Mon Jan  1 00:00:00 2024\n" + raw) == of(raw)


@over_rows("label", [label.decode() for label in charsets._names()])
def test_capitals_alone_make_no_other_charset(label):
    """A label in capitals is the same charset. Some programs do not know its other forms: these are other charsets."""
    digest = of(labelled(label))[0]
    assert of(labelled(label.upper()))[0] == digest
    name = charsets._names()[label.encode()].decode()
    for form in (f"x-{label}", f"{label}*en", f"'{label}'", label.replace("-", ":"), name):
        assert form.encode() in charsets._names() or of(labelled(form))[0] != digest


def by_iconv(label: str, data: bytes) -> bytes:
    """Return what the iconv of glibc makes of the bytes in UTF-8, without those that it cannot read."""
    made = subprocess.run(["iconv", "-c", "-f", label, "-t", "UTF-8"], input=data, capture_output=True, check=False)
    assert b"conversion" not in made.stderr, made.stderr  # "conversion from `…' is not supported"
    return made.stdout


@pytest.mark.thorough
@over_rows("line", charsets._lines(charsets._AROUND_ASCII) + charsets._lines(charsets._OTHERS))
def test_iconv_and_python_know_all_labels_of_a_charset(line):
    """The iconv of glibc and Python know each label, and read the same text under all labels of a charset."""
    if shutil.which("iconv") is None or b"GLIBC" not in subprocess.check_output(["iconv", "--version"]):
        pytest.skip("needs the iconv of glibc (Debian: libc-bin)")
    name, *labels = line
    plain = bytes(byte for byte in range(0x20, 0x7F) if byte not in b"\\~")
    pairs = b"".join(bytes([first, second, 0x0A]) for first in range(0x80, 0x100) for second in range(0x40, 0x100, 3))
    texts = {by_iconv(label.decode(), plain + pairs) for label in labels}
    assert len(texts) == len({codecs.lookup(label.decode()).name for label in labels}) == 1
    assert texts.pop().startswith(plain) or not charsets.is_around_ascii(name)


def test_the_readers_tables_change_no_digest(monkeypatch):
    """A change of the reader's charsets, supersets or limits changes no digest."""
    raw = b"Content-Type: text/plain; charset=x-nobody\n\n\xe9\xe8 words\n"
    before = read(raw).tokens
    monkeypatch.setitem(of_the_reader._LABELS, "nobody", "koi8-r")
    monkeypatch.setitem(of_the_reader._LABELS, "koi8", "cp866")
    monkeypatch.setitem(of_the_reader._SUPERSETS, "koi8-r", "cp1251")
    monkeypatch.setitem(of_the_reader._SUPERSETS, "utf-8", "utf-7")
    of_the_reader.codec_name.cache_clear()
    try:
        assert read(raw).tokens != before
        for name in ("message_bytes", "header_bytes", "field_chars", "parts", "nesting"):
            before_it = getattr(DEFAULT_LIMITS, name)
            monkeypatch.setattr(type(DEFAULT_LIMITS), name, property(lambda _: 3))
            assert getattr(DEFAULT_LIMITS, name) == 3 != before_it
        assert list(changed()) == []
    finally:
        monkeypatch.undo()
        of_the_reader.codec_name.cache_clear()


def test_the_room_knows_nothing_else_of_spamnb():
    """All its modules together import no other module of spamnb, nor any of Python's for mail."""
    names = [f"spamnb.identity.{path.stem}" for path in sorted((ROOT / "spamnb/identity").glob("[!_]*.py"))]
    say = f"import sys, {', '.join(names)}; print(*sorted(n for n in sys.modules if n.startswith(('spamnb', 'email'))))"
    made = subprocess.run([sys.executable, "-c", say], cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout.split() == ["spamnb", "spamnb.identity", *names]


def test_version_and_kind_are_hashed_first(monkeypatch):
    """A second version has other digests for every message, and the kinds of digests begin in different ways."""
    raw = raw_of(MESSAGES["plain"])
    assert len({module._begun(kind).digest() for kind in (b"identity", b"header", b"delivery")}) == 3
    first = of(raw)
    monkeypatch.setattr(module, "VERSION", 2)
    assert all(one != other for one, other in zip(first, of(raw), strict=True))
