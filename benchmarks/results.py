"""Measure for whom the servers of providers vouch, by the Authentication-Results that they wrote.

DIRECTORY is `test-data/message/dkimchecks-2022-09-28` of github.com/chatmail/core (or deltachat/deltachat-core-rust):
messages that 22 receivers got from 18 senders and from attackers, with hardly more than these fields. It has a
directory for each receiver, and in that a file for each sender. A message is right if its sender is vouched for exactly
if its signature is valid, by the rule of that suite (`src/authres.rs`): all are, except those of two senders and those
that are forged.

site: the one whose servers wrote the topmost field of at least half of the messages. A field without a
name is that of outlook.com. forged: forged messages that are vouched for. of these, by domain: those whose envelope is
not of the domain of From, by the server's own words. In the others only the part before the @ is false.

MAIL, if given, is a directory of messages as they lie in a mailbox. The last row says in how many of those with the
field it is found at its place.

    python benchmarks/results.py DIRECTORY [MAIL] [--json]
"""

import re
import sys
from collections import Counter
from pathlib import Path

import common

from spamnb.mail.authentication import NAMELESS, authentication, server_of
from spamnb.mail.parsing.message import parse
from spamnb.mail.path import site_of
from spamnb.mail.relations import relations

_FIELD = "authentication-results"
_UNSIGNED = ("delta.blinzeln.de", "gmx.de")  # the suite's senders without a valid signature
_ENVELOPE = re.compile(r"smtp\.mailfrom=\S*?([^\s@;]+)(?:[\s;]|\Z)")


def main() -> None:
    """Read, and print the table."""
    parser = common.arguments(__doc__)
    parser.add_argument("directory", metavar="DIRECTORY", type=Path, help="a directory for each receiver")
    parser.add_argument("mail", metavar="MAIL", type=Path, nargs="?", help="messages as they lie in a mailbox")
    options = parser.parse_args()
    rows = [_row(path) for path in sorted(options.directory.iterdir()) if path.is_dir()]
    total = {key: sum(int(str(row[key])) for row in rows) for key in [*rows[0]][2:]}
    common.report([*rows, {"receiver": "all", "site": "", **total}], options.json)
    if options.mail is not None:
        print(_places(options.mail), file=sys.stderr)


def _row(directory: Path) -> dict[str, object]:
    mail = []
    for path in sorted(directory.iterdir()):
        message = parse(path.read_bytes())
        mail.append((relations(message).sender, [value for name, value in message.fields if name == _FIELD]))
    sites = Counter(_site(results[0]) for _, results in mail if results)
    [(site, number)] = sites.most_common(1) or [("", 0)]
    own = site if number >= len(mail) / 2 else ""
    right = forged = by_domain = 0
    for sender, results in mail:
        found = authentication(results, own, sender) if own else None
        is_vouched = found is not None and found.is_aligned
        domain, is_forged = sender.rpartition("@")[2], sender.startswith("forged")
        right += is_vouched is not (domain in _UNSIGNED or is_forged)
        forged += is_forged and is_vouched
        envelopes = [site_of(each) for value in results for each in _ENVELOPE.findall(value)]
        by_domain += is_forged and is_vouched and site_of(domain) not in envelopes
    return {
        "receiver": directory.name,
        "site": own,
        "messages": len(mail),
        "right": right,
        "forged": forged,
        "of these, by domain": by_domain,
    }


def _site(value: str) -> str:
    server = server_of(value)
    return NAMELESS if server == "" else site_of(server or "")


def _places(directory: Path) -> str:
    """Return how many messages have the field, and in how many it is found."""
    there = found = 0
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        message = parse(path.read_bytes())
        if any(name == _FIELD for name, _ in message.fields):
            there += 1
            found += bool(relations(message).results)
    return f"{directory}: found in {found} of {there} messages with the field"


if __name__ == "__main__":
    main()
