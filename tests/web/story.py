"""A mailbox with a story of some weeks, made of invented mail."""

import random

from spamnb.acts import choices, training
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from tests.service.desk import DAY
from tests.web.desk import WebDesk


def live_some_weeks(desk: WebDesk, days: int = 45) -> None:
    """Mail comes each day, most is judged rightly; a person answers for some of it, files some, and deletes nothing."""
    desk.ahead = -days * DAY
    for label, most in ((Label.HAM, 240), (Label.SPAM, 120)):  # kept of the years before
        kept = Batch.of([read(newsletter(label.word, each)) for each in range(most)])
        training.learn_batches(desk.ledger, [kept], label, "a test", desk.now(), how=How.HAND)
    for number in range(days):
        desk.ahead = max(desk.ahead, (number - days + 1) * DAY + (number * 7 % 9 - 11) * 3600.0)
        if number in (days - 20, days - 1):  # what the filter takes for spam, and is none
            desk.deliver(offer := of_the_club(number))
            desk.take(offer, "Junk", "INBOX")
        if number == days - 9:
            desk.deliver(missed := message("ham", 700 + number))
            desk.take(missed, "INBOX", "Junk")
        if number == days - 12:  # two letters that are dragged to the wrong folder
            for wrong in (message("ham", 800), message("ham", 801)):
                desk.deliver(wrong, "Archive")
                desk.take(wrong, "Archive", "Junk")
        if number == days - 5:
            choices.choose(desk.ledger, desk.config, "block", ["best-deals39.example"], "prompt", desk.now())
        if number == days - 1:
            choices.choose(desk.ledger, desk.config, "allow", ["offers@garden-club.example"], "page", desk.now())
        for each in range(2 + number * 5 % 7):
            kind = "spam" if (number + each) % 3 == 0 else "ham"
            desk.deliver(message(kind, 200 + number * 10 + each), flags="S" if each == 1 and kind == "ham" else None)
            desk.ahead += 1500.0
        if number % 4 == 0:
            desk.deliver(of_a_shop(number // 4))
        if number % 3 == 0:
            desk.deliver(newsletter(("ham", "spam")[number % 2], 500 + number))
        if number % 11 == 4 and (number + 1) % 3:
            desk.take(message("ham", 200 + number * 10 + 1), "INBOX", "Archive")
    lately = message("ham", 860), of_a_shop(13), message("spam", 861), newsletter("ham", 684), message("ham", 862)
    for newest in lately:
        desk.ahead += 1500.0
        desk.deliver(newest)
    desk.ahead = min(desk.ahead, -60.0)


_SHOPS = (
    (
        "billing@lantern-books.example",
        "Your invoice {}",
        "Enclosed is the invoice for your purchase. Payment is due soon.",
    ),
    (
        "tickets@northline.example",
        "Seats for the night train, booking {}",
        "Coach 12, berths reserved. Boarding opens early.",
    ),
    (
        "news@cheese-club.example",
        "The cellar letter, number {}",
        "This month: three alpine wheels, and how to store them.",
    ),
    (
        "alerts@parcel.example",
        "Parcel {} waits at the kiosk",
        "Collect within seven days. Opening hours are on the door.",
    ),
)


def of_the_club(number: int) -> bytes:
    """A message that one wants, and that is worded like spam."""
    head = f"From: offers@garden-club.example\nSubject: Members' offer {number}\nMessage-ID: <{number}@club.example>\n"
    texts = [message("spam", 700 + number + each).partition(b"\n\n")[2].decode() for each in range(2)]
    texts += [sentence.format(day="Monday", topic="garden") for sentence in _OF_CLUBS[:3]]
    return "\n".join([head, *texts, ""]).encode()


def of_a_shop(number: int) -> bytes:
    """A message that is like nothing that was learned."""
    sender, subject, text = _SHOPS[number % len(_SHOPS)]
    identity = f"Message-ID: <{number}@{sender.partition('@')[2]}>"
    return f"From: {sender}\nSubject: {subject.format(8800 + 37 * number)}\n{identity}\n\n{text} ({number})\n".encode()


_OF_CLUBS = (
    "The next meeting is on {day}, as ever in the old school.",
    "Thanks to all who helped at the {topic} fair.",
    "Members may borrow the {topic} tools in the shed.",
    "{friend} has written down what was decided about the {topic}.",
    "Please tell {friend} whether you come on {day}.",
    "The minutes of {day} are in the folder.",
    "We still look for somebody who brings the chairs.",
    "The walk to the harbour begins at nine.",
    "Seeds can be swapped after the talk.",
    "The choir sings in the {topic} hall.",
)
_OF_SELLERS = (
    "Order today and save {n} percent.",
    "This offer ends on {day}.",
    "Claim your free gift now.",
    "No risk: money back, guaranteed.",
    "Only {n} left at this price.",
    "Click here for the lowest price.",
    "You have been chosen as a winner.",
    "Buy one, get one free.",
    "Limited offer for new customers.",
    "Earn {n}00 a day from home.",
)
_SUBJECTS = ("News of {month}", "New in {month}", "{month} at the {name}", "Letter {n} from the {name}")
_NAMES = ("lantern", "meadow", "quarry", "violin", "pottery", "almanac", "orchard", "teahouse", "sailing", "museum")


def newsletter(kind: str, number: int) -> bytes:
    """The `number`th newsletter of a kind: clubs, whose letters are ham, sell a little; sellers write as clubs do."""
    choose = random.Random(f"{kind} newsletter {number}")
    of_a_club = choose.betavariate(7, 1.3) if kind == "ham" else choose.betavariate(0.8, 8)
    words = {
        "day": choose.choice(("Monday", "Tuesday", "Thursday", "Friday", "Sunday")),
        "topic": choose.choice(("garden", "history", "budget", "harbour", "school")),
        "friend": choose.choice(("Anna", "Bernard", "Carla", "Dmitri", "Eve", "Farid")),
        "month": choose.choice(("March", "April", "May", "June", "September", "October")),
        "name": choose.choice(_NAMES),
        "n": choose.randrange(2, 99),
    }
    sentences = [choose.choice(_OF_CLUBS if choose.random() < of_a_club else _OF_SELLERS) for _ in range(12)]
    subject, text = choose.choice(_SUBJECTS).format(**words), " ".join(sentences).format(**words)
    host = f"{words['name']}-{choose.randrange(90)}.example"
    head = (
        f"From: news@{host}\nSubject: {subject}\nDate: Mon, 2 Nov 2026 09:00:00 +0000\nMessage-ID: <{number}@{host}>\n"
    )
    return f"{head}\n{text}\n".encode()
