"""Six messages that are not from whom they say, and the letters by which the person knows better."""

from spamnb.acts import training
from spamnb.base.label import How, Label
from tests.web.desk import WebDesk

OURS = "mx.home.example"


def _mail(
    name: str, sender: str, subject: str, text: str, *fields: str, is_html: bool = False, over: str = ""
) -> bytes:
    """A message over its sender's own server, or over that of another site.

    fields: more lines; the person's server writes its own at the top.
    """
    site = sender.rpartition("@")[2].strip("<>")
    server = f"mail.{over or site}"
    head = (
        *[line for line in fields if line.startswith("Authentication")],
        f"Received: from {server} ({server} [9.9.9.7]) by {OURS} with ESMTPS; Mon, 1 Jun 2026 10:00:00 +0000",
        *[line for line in fields if not line.startswith("Authentication")],
        f"From: {sender}",
        "To: you@home.example",
        f"Subject: {subject}",
        "Date: Mon, 1 Jun 2026 10:00:00 +0000",
        f"Message-ID: <{name}@{site}>",
        "MIME-Version: 1.0",
        f"Content-Type: text/{'html' if is_html else 'plain'}; charset=utf-8",
    )
    return "\n".join([*head, "", text, ""]).encode()


KNOWN = (
    _mail("k1", "Anna Keller <anna@friends.example>", "Sunday", "Shall we walk to the harbour on Sunday?"),
    _mail("k2", "Harbour Bank <letters@harbourbank.example>", "Your statement", "The statement of May is ready."),
)
DOUBTFUL = {
    "denied": _mail(
        "d1",
        "Harbour Bank <letters@harbourbank.example>",
        "Your account is locked",
        "Confirm your number today, or your account stays locked.",
        f"Authentication-Results: {OURS}; dkim=none; dmarc=fail header.from=harbourbank.example",
        over="bulk-sender.example",
    ),
    "answers": _mail(
        "d2",
        "Paul Meyer <chair@rowing-club.example>",
        "A favour",
        "Are you free? I need a transfer done before noon. I cannot phone.",
        "Reply-To: paul.meyer.1987@gmail.com",
    ),
    "name": _mail(
        "d3",
        '"letters@harbourbank.example" <x9@parcel-news.example>',
        "Your new card",
        "Your card waits. Choose a number for it.",
    ),
    "namesake": _mail(
        "d4",
        "Anna Keller <a.keller.home@quickmail.example>",
        "Stuck at the station",
        "My bag is gone. Can you send me something until Monday?",
    ),
    "resembles": _mail(
        "d5",
        "Harbour Bank <letters@harbourbnak.example>",
        "Your statement",
        "The statement of June is ready. Log in to read it.",
    ),
    "link": _mail(
        "d6",
        "Safety desk <desk@account-care.example>",
        "Someone has logged in",
        "<p>Was it you? If not, go to"
        ' <a href="https://harbourbank.login-check.example/in">www.harbourbank.example</a> now.</p>',
        is_html=True,
    ),
}


def meet(desk: WebDesk) -> dict[str, int]:
    """Let the person know some people, deliver the six messages, and return their numbers in the ledger."""
    desk.authserv_id = OURS
    for letter in KNOWN:
        training.learn_message(desk.ledger, letter, Label.HAM, "a test", desk.now() - 9e6, how=How.HAND)
    for one in DOUBTFUL.values():
        desk.deliver(one)
    return {name: desk.number_of(one) for name, one in DOUBTFUL.items()}
