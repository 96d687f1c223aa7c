"""A made-up mailbox of a good month, for the pictures: letters, orders, statements, newsletters and parcels, and spam.

All of it is written by us. Nobody of these names exists, and no host of `.example` does.
"""

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

from spamnb.acts import choices, training
from spamnb.acts.answers import Answer, Answers
from spamnb.base.label import How, Label
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from spamnb.review.misfiled import misfiled
from tests.service.desk import DAY, Desk
from tests.web.desk import Browser, WebDesk

_DAYS = 35
_BEFORE = {Label.HAM: 220, Label.SPAM: 130}  # kept of the months before
_HAM_PER_DAY, _SPAM_PER_DAY = (6, 7, 8, 5, 7), (5, 4, 6, 5)
_TODAY = "hhshsuhshshs"  # ham, spam, and a message that is like no other; in the order of their coming
_HOUR = 3600.0
_DISGUISED = 0.05  # of the spam: so a part of it is missed


class MonthDesk(WebDesk):
    """A watched mailbox, whose filter has learned nothing yet, and its pages."""

    def __init__(self, directory: Path) -> None:
        Desk.__init__(self, directory, "Maildir")
        self.browser = Browser(self.application())


def live_a_good_month(desk: WebDesk) -> None:
    """Mail comes each day. A person reads and answers it, moves missed spam to Junk, and confirms this on Audit."""
    desk.ahead = -(_DAYS + 5) * DAY
    for label, most in _BEFORE.items():
        kept = Batch.of([read(_mail(label, number)) for number in range(most)])
        training.learn_batches(desk.ledger, [kept], label, "a test", desk.now(), how=How.HAND)
    number = 1000
    for day in range(_DAYS - 1):
        desk.ahead = max(desk.ahead, (day - _DAYS + 1) * DAY - 6 * _HOUR)
        ham, spam = _HAM_PER_DAY[day % 5], _SPAM_PER_DAY[day % 4]
        kinds = random.Random(day).sample("h" * ham + "s" * spam, ham + spam)
        for kind in [*kinds, *("u" * (day % 2 if day < _DAYS - 9 else 2))]:
            number += 1
            _receive(desk, kind, number, is_sorted=day < _DAYS - 12 or number % 3 == 0)
            desk.ahead += 0.9 * _HOUR
        if day == _DAYS - 9:
            choices.choose(desk.ledger, desk.config, "allow", ["letter@cellar-letter.example"], "page", desk.now())
        if day == _DAYS - 4:
            choices.choose(desk.ledger, desk.config, "block", ["*@bright-offers.example"], "prompt", desk.now())
    answers = Answers(desk.ledger, desk.config, desk.now)
    for finding in misfiled(desk.ledger, desk.config):
        if finding.is_clear:
            answers.give(finding.question, Answer.RIGHT)
    desk.ahead = max(desk.ahead, -len(_TODAY) * 0.4 * _HOUR)
    for kind in _TODAY:
        number += 1
        _receive(desk, kind, number, is_sorted=False)
        desk.ahead += 0.3 * _HOUR
    desk.ahead = min(desk.ahead, -60.0)


def _receive(desk: WebDesk, kind: str, number: int, *, is_sorted: bool) -> None:
    """A message comes, and the person acts on it. is_sorted: the person moves spam that was missed to Junk."""
    label = Label.SPAM if kind == "s" else Label.HAM
    content = _rare(number, desk.now()) if kind == "u" else _mail(label, number, desk.now())
    desk.deliver(content, flags=None if kind != "h" else "RS" if is_sorted and number % 6 == 0 else "S")
    if is_sorted and kind == "s" and "INBOX" in desk.where(content):
        desk.take(content, "INBOX", "Junk")
    if is_sorted and kind == "u" and number % 2:
        desk.take(content, "INBOX", "Archive")


def _mail(label: Label, number: int, at: float | None = None) -> bytes:
    """Return the `number`th message of a kind, written at that time. Some spam is like a letter from a friend."""
    choose = random.Random(f"{label.word} {number}")
    kind = choose.choice(_HAM if label is Label.HAM else _SPAM)
    if label is Label.SPAM and choose.random() < _DISGUISED:
        few = [*choose.sample(_HAM[0][2], 4), choose.choice(_SLY)]
        kind = ("{friend} <friend{n}@post{n}.example>",), _HAM[0][1], few, len(few)
    return _written(choose, kind, number, at)


def _rare(number: int, at: float) -> bytes:
    """Return a wanted message that is like no other."""
    return _written(random.Random(number), _RARE[number % len(_RARE)], number, at)


def _written(
    choose: random.Random, kind: tuple[Sequence[str], Sequence[str], Sequence[str], int], number: int, at: float | None
) -> bytes:
    senders, subjects, sentences, most = kind
    words = {name: choose.choice(some) for name, some in _WORDS.items()}
    words |= {"n": str(choose.randrange(2, 60)), "order": str(choose.randrange(20_000, 90_000))}
    words["price"] = f"{choose.randrange(4, 140)}.{choose.randrange(10, 99)}"
    text = " ".join(choose.sample(sentences, min(most, len(sentences))))
    return _message(choose, choose.choice(senders), choose.choice(subjects), text, words, number, at)


def _message(
    choose: random.Random, sender: str, subject: str, text: str, words: Mapping[str, str], number: int, at: float | None
) -> bytes:
    mail = EmailMessage()
    mail["From"] = sender.format(**words)
    mail["To"] = "Anna Berg <anna@home.example>"
    mail["Subject"] = subject.format(**words)
    before = datetime(2026, 10, 1 + number % 28, number % 24, number % 60, tzinfo=UTC)
    mail["Date"] = format_datetime(before if at is None else datetime.fromtimestamp(int(at), UTC))
    mail["Message-ID"] = f"<{number}.{choose.randrange(10**9)}@{mail['From'].rpartition('@')[2].rstrip('>')}>"
    mail.set_content(f"{text.format(**words)}\n")
    return mail.as_bytes()


_WORDS: Mapping[str, Sequence[str]] = {
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "month": ("March", "April", "May", "June", "September", "October"),
    "friend": ("Jonas", "Mira", "Tomas", "Lena", "Paul", "Ines", "Farid"),
    "place": ("the lake", "the old mill", "the harbour", "the station", "our garden", "the library"),
    "dish": ("soup", "bread", "plum cake", "pasta", "salad", "pancakes"),
    "book": ("The Quiet Coast", "A Map of Winter", "Seven Bridges", "The Clockmaker", "Salt and Stone"),
    "host": (
        *("bright-offers.example", "easy-gains.example", "prime-health.example", "luxury-wrist.example"),
        *("fast-loans.example", "secure-check.example", "top-ranking.example", "win-center.example"),
    ),
    "trade": ("coins", "gold", "shares", "tokens"),
    "pill": ("Slimex", "Vitarol", "Maxidon", "Calmexa"),
}
_FRIENDS = ("{friend} <jonas@lindgren.example>", "Mira <mira@riverside.example>", "Lena Holm <lena.holm@post.example>",
            "Paul <paul@workshop.example>", "Ines <ines@riverside.example>")  # fmt: skip
_HAM: Sequence[tuple[Sequence[str], Sequence[str], Sequence[str], int]] = (
    (
        _FRIENDS,
        ("{day}?", "Re: {day}", "Photos from {place}", "The recipe for the {dish}", "Train times", "Happy birthday!"),
        (
            *("Shall we meet at {place} on {day}?", "I can bring the {dish}, if you bring the bread."),
            *("{friend} comes too, and the children.", "The photos are in the folder that we share."),
            *("Call me when you are on the train.", "Thanks again for the lovely evening."),
            *("Mother sends her love, and asks when you visit.", "I have read {book} twice by now; take it with you."),
            *("The bicycle is repaired, so I can fetch you.", "It rained all day, but we had fun."),
        ),
        4,
    ),
    (
        ("Lantern Books <orders@lantern-books.example>", "Kettle & Co <shop@kettle-co.example>"),
        ("Your order {order} has been sent", "Receipt for order {order}", "We have received your order {order}"),
        (
            *("Thank you for your order {order}.", "You have ordered: {book}, {price} euros."),
            *("We hand it over to the carrier today.", "You can return it within thirty days."),
            *("The invoice is enclosed.", "Questions? Just answer this message."),
        ),
        4,
    ),
    (
        ("Harbour Bank <service@harbour-bank.example>",),
        ("Your statement for {month} is ready", "A payment of {price} euros", "New device for your account"),
        (
            *("Your statement is in your mailbox at the bank.", "We paid {price} euros to Northline Trains."),
            *("Your balance is shown after you log in as usual.", "We never ask for your password by mail."),
            *("If you did not do this, call the number on your card.", "Your branch in the harbour street"),
        ),
        4,
    ),
    (
        ("The Cellar Letter <letter@cellar-letter.example>", "City Museum <news@city-museum.example>"),
        ("{month} in the cellar", "The cellar letter, number {n}", "New at the museum: {book}", "Concerts in {month}"),
        (
            *("Three cheeses from the hills are ripe now.", "The tasting on {day} has four seats left."),
            *("The new rooms open in {month}.", "Members come in free, with one guest."),
            *("A reader asks how long a soft cheese keeps.", "The curator tells how the map was found."),
            *("You get this letter because you are a member.", "To leave, answer with the word stop."),
        ),
        5,
    ),
    (
        ("Parcel Service <notice@parcel-service.example>",),
        ("Your parcel comes on {day}", "Parcel {order} was delivered", "Your parcel waits at the kiosk"),
        (
            *("The driver comes between nine and twelve.", "We have left it with your neighbour."),
            *("Sender: Lantern Books.", "You can pick it up at the kiosk for seven days."),
            *("Please bring your passport.", "Number of the parcel: {order}."),
        ),
        4,
    ),
    (
        ("Choir office <office@harbour-choir.example>", "{friend} <committee@allotments.example>"),
        ("Rehearsal moves to {day}", "Minutes of the meeting", "Who brings the {dish} on {day}?", "Keys for the hall"),
        (
            *("The hall is taken, so we sing on {day}.", "The minutes are enclosed; please send corrections."),
            *("{friend} has the keys.", "We still need two people for the stand."),
            *("The contribution for the year is due in {month}.", "The hedge is cut on {day}, with your help."),
        ),
        4,
    ),
)
_SPAM: Sequence[tuple[Sequence[str], Sequence[str], Sequence[str], int]] = (
    (
        ("Dr. Slim <offer{n}@{host}>", "{pill} Store <sale{n}@{host}>"),
        ("Lose {n} kilos without a diet", "{pill}: the price falls today", "Doctors hate this: {pill}"),
        (
            *("Order {pill} today without a prescription.", "Lose weight while you sleep, guaranteed."),
            *("Only {n} packs left at this price.", "Click here: http://{host}/order"),
            *("Thousands of happy customers already ordered.", "Free trial, cancel at any time."),
        ),
        5,
    ),
    (
        ("Award Office <claims{n}@{host}>",),
        ("You have been chosen: {order},000 euros", "Final notice about your prize", "Claim number {order}"),
        (
            *("Congratulations, your address was drawn.", "To claim your prize, send your name and bank account."),
            *("The transfer of {order},000 euros is ready.", "Answer within {n} hours, or the prize expires."),
            *("Keep this confidential until it is paid.", "A small fee of {price} euros applies."),
        ),
        5,
    ),
    (
        ("Trading Desk <profit{n}@{host}>", "{friend} Invest <invest{n}@{host}>"),
        ("Earn {n}00 euros a week with {trade}", "My {trade} paid off my house", "Last places for investors"),
        (
            *("This system trades {trade} for you day and night.", "Start with 250 euros, and double it in a week."),
            *("No risk, guaranteed profit.", "Register now: http://{host}/start"),
            *("Only {n} places are left for new investors.", "Banks do not want you to know this."),
        ),
        5,
    ),
    (
        ("Security Team <alert{n}@{host}>", "Account Service <verify{n}@{host}>"),
        ("Your account is suspended", "Unusual sign-in: verify now", "Your mailbox is almost full"),
        (
            *("We have limited your account.", "Verify your password within {n} hours: http://{host}/login"),
            *("Otherwise your account is deleted for ever.", "This is an automatic security message."),
            *("Click the link and confirm your card.", "Your access expires today."),
        ),
        5,
    ),
    (
        ("Luxury Outlet <vip{n}@{host}>",),
        ("Watches from {price} euros", "Up to {n} percent off luxury brands", "Your exclusive voucher"),
        (
            *("Replica watches at the lowest price.", "Buy one, get one free, today only."),
            *("Exclusive offer for you: http://{host}/vip", "Free delivery all over the world."),
            *("No customer can tell the difference.", "Limited stock, order now."),
        ),
        5,
    ),
    (
        ("Loan Desk <cash{n}@{host}>", "Ranking Expert <seo{n}@{host}>"),
        (
            "Your loan of {order} euros is approved",
            "Your website on page one of every search",
            "Cash without questions",
        ),
        (
            *("Get cash today, no questions asked.", "We bring your website to page one, guaranteed."),
            *("Answer with your phone number for a free offer.", "Low rates, bad credit accepted."),
            *("Apply now: http://{host}/apply", "More visitors, more sales, from {price} euros."),
        ),
        5,
    ),
)
_SLY = (
    "I have found a way to earn a little beside the job.",
    "Look at this offer, and tell me what you think.",
    "You only need to answer with your number.",
    "It costs {price} euros, and pays for itself in a week.",
    "Send me a picture of your card, and I explain the rest.",
    "Only today I can get you in at this price.",
    "My cousin trades, and he takes a few friends along.",
    "I sit at the airport without my purse: can you lend me {n} euros?",
    "Buy three vouchers for me, and write me their codes.",
    "The notary says that you are the heir; more by mail.",
    "Are you at your desk? I need a small favour.",
    "Our site lists you already; confirm it with one word.",
)
_RARE: Sequence[tuple[Sequence[str], Sequence[str], Sequence[str], int]] = (
    (
        ("Dr. Weiss <practice@dentist-weiss.example>",),
        ("Check-up in {month}",),
        ("Your last visit is a year ago.", "Call us, or choose a day at the desk.", "We are in the harbour street."),
        3,
    ),
    (
        ("Night Trains <tickets@northline.example>",),
        ("Seats for the night train on {day}",),
        ("Coach 12, berths 41 and 43.", "The train leaves {place} at ten.", "Please bring your passport."),
        3,
    ),
    (
        ("Town Hall <office@townhall.example>",),
        ("The form for the new street sign",),
        ("You can pick it up until {day}.", "The office is open in the morning.", "Please bring your passport."),
        3,
    ),
    (
        ("Water Works <meter@water-works.example>",),
        ("We read the meters on {day}",),
        ("We come between nine and twelve.", "Please leave the keys with your neighbour.", "The dog stays inside."),
        3,
    ),
    (
        ("School <class4b@hill-school.example>",),
        ("The trip of class 4b",),
        ("The children meet at {place} on {day}.", "They need boots, and something to eat.", "The bus is paid."),
        3,
    ),
    (
        ("Garage Olsen <olsen@garage-olsen.example>",),
        ("Your winter tyres",),
        ("The tyres have come.", "We change them on {day}, if it suits you.", "The price is {price} euros."),
        3,
    ),
    (
        ("Film Society <programme@film-society.example>",),
        ("Only tonight: two free seats",),
        ("We show {book} tonight, for members only.", "Two seats are free; answer today.", "The bar opens at seven."),
        3,
    ),
    (
        ("Olive Tree Market <market@olive-tree.example>",),
        ("New oil from the hills", "Olives, and three for two"),
        ("Oil at the lowest price of the year.", "Order until {day}, free delivery.", "We are at {place} as ever."),
        3,
    ),
    (
        ("Bike Barn <hello@bike-barn.example>",),
        ("Lamps for the winter", "Last year's bicycles go"),
        ("Bicycles of last year, at {n} percent off.", "Only {n} are left.", "Bring your old lamp on {day}."),
        3,
    ),
    (
        ("Language School <lessons@language-school.example>",),
        ("A lesson on {day}, to try", "Italian in {month}"),
        ("The first lesson is free: cancel at any time.", "We meet at {place} on {day}.", "Bring a pencil."),
        3,
    ),
    (
        ("Hill Insurance <offer@hill-insurance.example>",),
        ("The offer that you asked for",),
        ("The offer holds for thirty days.", "It costs {price} euros a month.", "Sign the enclosed form."),
        3,
    ),
)
