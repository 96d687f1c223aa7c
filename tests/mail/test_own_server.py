"""The person's own mail server, by what it writes into mail from outside."""

from collections.abc import Sequence

from spamnb.mail.own_server import agreed_by, servers_of
from tests.table import over_rows

OURS = "Authentication-Results: mx.example.org; dkim=none\n"
BORDER = "Received: from x (out.b.example [9.9.9.7]) by mx.example.org (Postfix) with ESMTP id 2; Mon, 1 Jun 2026\n"
OF_SITE = OURS.replace("mx.example.org", "Example.ORG")
OTHER = OURS.replace("mx.example.org", "evil.example")
SENT = "From: you@example.org\n"


def mail(*heads: tuple[str, int]) -> list[bytes]:
    """So many messages with each of these headers."""
    return [f"{head}Subject: {number}\n\nhello\n".encode() for head, times in heads for number in range(times)]


@over_rows(
    ("messages", "proposed"),
    [
        (mail((OURS + BORDER, 10)), "example.org"),
        (mail((OURS + OTHER + BORDER, 10)), "example.org"),
        (mail((BORDER + OURS, 10)), "example.org"),
        (mail((OF_SITE + BORDER, 10)), "example.org"),
        (mail((OURS + BORDER, 5), (OURS.replace("mx.", "mx2.") + BORDER, 5)), "example.org"),
        (mail((OURS.replace("mx.example.org", "mx") + BORDER.replace("mx.example.org", "mx"), 10)), "mx"),
        (mail((OURS + BORDER, 18), (BORDER, 2), (SENT, 50)), "example.org"),
        (mail((OURS + BORDER, 17), (BORDER, 3)), None),
        (mail((OURS + BORDER, 9)), None),
        (mail((OTHER + BORDER, 20)), None),
        (mail((OURS.replace("mx.example.org; ", "") + BORDER, 20)), None),
        (mail((OURS + SENT, 20)), None),
        (mail((BORDER + BORDER + OURS, 20)), None),
        (mail((OURS.replace("dkim", "(dkim") + BORDER, 20)), None),
        ([], None),
    ],
)
def test_proposal(messages: Sequence[bytes], proposed: str | None) -> None:
    """The site is proposed whose servers wrote the topmost field of nearly all delivered mail, and took it."""
    assert servers_of(messages).agreed == proposed


EVIL = BORDER.replace("mx.example.org", "evil.example")
WITH = mail((OURS + BORDER, 10))
FORGED = mail((OTHER + EVIL, 50))
WITHOUT = mail((BORDER, 10))
NEW = mail((BORDER, 9))


@over_rows(
    ("users", "proposed"),
    [
        ([WITH] * 3, "example.org"),
        ([WITH] * 3 + [NEW] * 50, "example.org"),
        ([WITH] * 9 + [FORGED], "example.org"),
        ([WITH] * 8 + [FORGED] * 2, None),
        ([WITH] * 2 + [FORGED], None),
        ([WITH] * 2, None),
        ([FORGED], None),
        ([FORGED, *[NEW] * 50], None),
        ([WITHOUT] * 9, None),
        ([WITH] * 3 + [WITHOUT], None),
        ([], None),
    ],
)
def test_proposal_of_a_host(users: Sequence[Sequence[bytes]], proposed: str | None) -> None:
    """A site is proposed if nearly all users with enough mail agree on it, each with one vote, and at least three."""
    assert agreed_by(map(servers_of, users)) == proposed
