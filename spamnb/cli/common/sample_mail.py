"""Made-up messages for the demo: letters between friends, and spam."""

import functools
import random
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime

_FRIENDS = ("anna", "bernard", "carla", "dmitri", "eve", "farid")
_DAYS = ("Monday", "Tuesday", "Thursday", "Friday", "Sunday")
_HAM = {
    "Lunch on {day}": "Shall we meet at noon on {day}? The place by the river has a table for {n}. {friend} comes too.",
    "Notes from the {topic} meeting": "Here are my notes. {friend} will send the draft of the {topic} plan by {day}.",
    "Re: {topic} draft": "Thanks, I have read the draft. Page {n} needs a better figure; the rest is fine."
    " See you {day}.",
    "Photos from the hike": "The photos of our hike are in the shared folder. {friend} took the best ones, as ever.",
    "Library books": "The {topic} book that you reserved can be picked up until {day}. Please bring your card.",
    "Choir practice moves to {day}": "The hall is taken, so we sing on {day}. Bring the score of the {topic} piece.",
}
_SPAM = {
    "CHEAP {pill} 80% OFF!!!": "Buy {pill} online without prescription."
    " Best price ${n}.99! Click http://{host}/order now!",
    "You have WON ${n},000,000": "Dear winner, your email won the lottery."
    " Send your bank details to claim ${n},000,000.",
    "Make money from home": "Earn ${n}00 a day, no experience. Guaranteed income! Visit http://{host}/cash today!!!",
    "Replica watches for {pill} lovers": "Luxury replica watches, lowest price ${n}.95."
    " Limited offer, order at http://{host}/w",
    "Your account is suspended": "Verify your password at http://{host}/login within {n} hours"
    " or lose access for ever.",
    "{pill} {pill} {pill}": "Amazing results guaranteed. Free trial of {pill}! Unsubscribe at http://{host}/remove",
}


@functools.cache  # half a millisecond each, and many tests ask for the same ones
def message(kind: str, number: int) -> bytes:
    """Return the `number`th made-up message of a kind, "ham" or "spam". The number alone decides it."""
    choose = random.Random(f"{kind}{number}")  # noqa: S311 - a made-up letter is no secret
    subject, body = choose.choice(list((_HAM if kind == "ham" else _SPAM).items()))
    words = {
        "day": choose.choice(_DAYS),
        "topic": choose.choice(("garden", "history", "budget", "harbour", "school")),
        "friend": choose.choice(_FRIENDS).title(),
        "pill": choose.choice(("Viagra", "Cialis", "Xanax", "Slimex")),
        "host": f"{choose.choice(('best', 'super', 'mega'))}-deals{choose.randrange(90)}.example",
        "n": choose.randrange(2, 99),
    }
    mail = EmailMessage()
    sender = f"{choose.choice(_FRIENDS)}@friends.example" if kind == "ham" else f"promo{number}@{words['host']}"
    mail["From"] = sender
    mail["To"] = "you@home.example"
    mail["Subject"] = subject.format(**words)
    mail["Date"] = format_datetime(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number))
    mail["Message-ID"] = f"<{kind}.{number}@{sender.partition('@')[2]}>"
    mail.set_content(f"Hello,\n\n{body.format(**words)}\n\n{choose.choice(('Best wishes', 'Bye', 'Regards'))}\n")
    return mail.as_bytes()
