"""A register of a mail host, as its services write it."""

from spamnb.host.host import Host
from spamnb.host.register import AccountRow, line_of, path_of, read, write
from spamnb.host.shares import Share


def put(host: Host, *rows: AccountRow) -> None:
    """Let the register know these users, beside those whom it knows already."""
    host.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = {row.name: row for row in [*read(host.directory), *rows]}
    write(path_of(host.directory, Share()), map(line_of, known.values()))
