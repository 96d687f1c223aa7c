"""Make a mailbox of today from public mail, as a corpus: mailing lists as ham, and phishing as spam.

LIST is the git repository of a list's archive by public-inbox: each commit has a message as the file `m`. PHISHING is a
directory with a message per file, such as `email` of phishing_pot. From each list a random sample is taken, and from
PHISHING one of half as many messages as there are ham, all of the years from `--since` to `--until` by their Date.
CORPUS is written anew: the messages, and `index`, in the order of Date.

Each kind of mail came to one server, whose fields would tell them apart. So the fields that the receiving server wrote
are removed, down to the Received field with the name of the outside server. This one is written again, as if both came
to one server. The recipient's address is replaced too. Messages without such a field are left out.

All ham is mail of lists, and some of it is spam that was posted there. All of it was public from the beginning: there
are no private letters, and no newsletters of shops.

    python benchmarks/mailbox_of_today.py CORPUS PHISHING LIST [LIST …] [--of-each 600] [--seed 0]
"""

import email.utils
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import common

_BORDER = (b"by mail.lfdr.de", b".mail.protection.outlook.com")  # the receiving servers of both sources
_OWN = re.compile(
    rb"(?i)(return-path|delivered-to|x-original-to|authentication-results|received-spf|arc-|x-ms-|x-microsoft-|x-eop|"
    rb"x-forefront|x-incoming|x-message-|x-sid-|x-sender-ip|x-exchange|x-clientproxiedby|x-getmail)[^:\n]*:"
)
_RECIPIENT = re.compile(rb"(?i)phishing@pot|lists(\+[\w.-]+)?@lfdr\.de")
_FIELD = re.compile(rb"[^\n]*\n(?:[ \t][^\n]*\n)*")
_HOST = re.compile(rb"(?is)received:\s*(from\s.*?)\sby\s")


def as_received(raw: bytes) -> bytes | None:
    """Return a message as if another server had received it; None if it does not say from which server it came."""
    header, separator, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    fields = _FIELD.findall(header + b"\n")
    received = [place for place, field in enumerate(fields) if field[:9].lower() == b"received:"]
    ours = [place for place in received if any(name in fields[place].lower() for name in _BORDER)]
    outside = [place for place in ours if (found := _HOST.match(fields[place])) and b"(" in found[1]]
    if not outside:
        return None
    border = outside[-1] if b"lfdr.de" in fields[outside[0]] else outside[0]
    host = _HOST.match(fields[border])
    assert host is not None
    rest = b"".join(field for field in fields[border + 1 :] if not _OWN.match(field))
    made = b"Received: " + host[1].strip() + b"\n\tby mx.home.example with ESMTP\n" + rest + separator[1:] + body
    return _RECIPIENT.sub(b"me@home.example", made)


def year_of(raw: bytes) -> tuple[int, float] | None:
    """Return the year of the Date field, and its seconds since the epoch; None without a readable one."""
    field = re.search(rb"(?im)^date:[ \t]*([^\n]*)", raw[:65536])
    try:
        date = email.utils.parsedate_to_datetime(field[1].decode("latin-1").strip()) if field else None
        seconds = None if date is None else (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return None if seconds is None else (datetime.fromtimestamp(seconds, UTC).year, seconds)


def of_list(repository: str) -> Iterator[bytes]:
    """Yield the messages of an archive by public-inbox, without deleted ones."""
    git = ["git", "-C", repository]
    commits = subprocess.run([*git, "rev-list", "HEAD"], capture_output=True, check=True, text=True).stdout.split()
    wanted = "".join(f"{commit}:m\n" for commit in commits).encode()
    batch = subprocess.run([*git, "cat-file", "--batch"], input=wanted, capture_output=True, check=True).stdout
    place = 0
    while place < len(batch):
        end = batch.index(b"\n", place)
        words = batch[place:end].split()
        if words[-1] == b"missing":
            place = end + 1
            continue
        size = int(words[-1])
        yield batch[end + 1 : end + 1 + size]
        place = end + size + 2


def sample(messages: Iterator[bytes], number: int, years: range, chance: random.Random) -> list[tuple[float, bytes]]:
    """Return at most that number of messages of these years, drawn at random, each with its date."""
    dated = [(date[1], raw) for raw in messages if (date := year_of(raw)) is not None and date[0] in years]
    chance.shuffle(dated)
    found: list[tuple[float, bytes]] = []
    for date, raw in dated:
        if len(found) == number:
            break
        if (made := as_received(raw)) is not None:
            found.append((date, made))
    return found


def write(directory: Path, mail: Sequence[tuple[float, str, bytes]]) -> None:
    """Write the corpus, the oldest message first."""
    directory.mkdir()
    lines = []
    for number, (_, label, raw) in enumerate(sorted(mail)):
        (directory / f"{number}.eml").write_bytes(raw)
        lines.append(f"{label} {number}.eml\n")
    (directory / "index").write_text("".join(lines))


def main() -> None:
    """Draw the messages, and write them."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", type=Path, help="the directory to write, which must not be there")
    parser.add_argument("phishing", metavar="PHISHING", type=Path)
    parser.add_argument("lists", metavar="LIST", nargs="+")
    parser.add_argument("--of-each", type=int, default=600, metavar="N", help="messages of each list, at most")
    parser.add_argument("--since", type=int, default=2023, metavar="YEAR")
    parser.add_argument("--until", type=int, default=2025, metavar="YEAR")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance, years = random.Random(options.seed), range(options.since, options.until + 1)
    ham = [one for name in options.lists for one in sample(of_list(name), options.of_each, years, chance)]
    files = sorted(path for path in options.phishing.rglob("*") if path.is_file())
    chance.shuffle(files)
    spam = sample((path.read_bytes() for path in files[: 2 * len(ham)]), len(ham) // 2, years, chance)
    mail = [*((date, "ham", raw) for date, raw in ham), *((date, "spam", raw) for date, raw in spam)]
    write(options.corpus, mail)
    common.report([{"label": "ham", "messages": len(ham)}, {"label": "spam", "messages": len(spam)}], options.json)


if __name__ == "__main__":
    main()
