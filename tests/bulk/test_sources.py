"""Finding messages in files."""

import io
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from spamnb.bulk.sources import find_sources, split
from tests.profiles import daily

FROM = b"From a@example.org Sat Jan  3 01:05:34 1996\n"
LINES = st.sampled_from([FROM, b"From here on\n", b"Subject: x\n", b"\n", b"\r\n", b"text", b" \n"])


@settings(max_examples=daily(50))
@given(st.lists(LINES, min_size=1, max_size=8).map(b"".join), st.sampled_from([b"", FROM]))
def test_a_file_holds_the_messages_of_its_lines(rest: bytes, first: bytes) -> None:
    """A file is one message or several, whether it is split here or read by the process that works on it."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "mail"
        path.write_bytes(first + rest)
        found = [source.content or Path(source.file).read_bytes() for source in find_sources([str(path)])]
    assert found == list(split(io.BytesIO(first + rest)))


def test_one_message_with_the_line_of_an_mbox_is_left_to_the_workers(tmp_path: Path) -> None:
    """A single saved message is handed on as a path; an mbox as its messages."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(FROM + b"Subject: x\n\ntext\n")
    two.write_bytes(2 * (FROM + b"Subject: x\n\ntext\n\n"))
    found = list(find_sources([str(one), str(two)]))
    assert [(source.where, source.content is None) for source in found] == [
        (str(one), True),
        (f"{two}:1", False),
        (f"{two}:2", False),
    ]
