"""A host of the trial, as a process: it learns at random while its service's thread exchanges.

    python -m tests.exchange.host DIRECTORY DATABASE NAME SEED

It ends in order by SIGTERM, and may be killed at any moment. Each act is a byte in the file `acts` of its directory.
"""

import logging
import random
import signal
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from spamnb.acts.training import forget, learn, relabel
from spamnb.base.errors import LedgerUnavailableError
from spamnb.base.label import How, Label
from spamnb.config import Exchange
from spamnb.exchange import postgresql
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Relabel
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations
from spamnb.service import exchanging
from spamnb.service.exchanging import Exchanging
from spamnb.service.measurements import Measurements
from spamnb.service.tenants import Sharing

USERS = ("anna", "bert", "carl", "dora")
MESSAGES = 250
_WORDS = 400
_BETWEEN_ACTS = 0.02  # seconds


def reading(number: int, *, is_otherwise: bool) -> Reading:
    """Return a made-up message as one host reads it; a host of a different version reads it differently."""
    chosen = random.Random(number + (1000 if is_otherwise else 0))
    tokens = {f"w{chosen.randrange(_WORDS)}": chosen.randint(1, 5) for _ in range(40)}
    relations = Relations(f"{number % 20}@b.example", path="9.9.9" if number % 3 else "")
    return Reading(number.to_bytes(16), f"message {number}", tokens, relations)


def act(ledger: Ledger, chance: random.Random, at: float, *, is_otherwise: bool) -> None:
    """Learn a message as ham or spam, firmly or weakly; forget one; or take a lesson back."""
    message = reading(chance.randrange(MESSAGES), is_otherwise=is_otherwise and chance.random() < 0.2)
    label, weak = chance.choice(list(Label)), chance.random() < 0.3
    what = chance.random()
    if what < 0.7:
        learn(ledger, message, label, "learned", at, how=chance.choice([How.MOVE, How.KEPT, How.HAND]), weak=weak)
    elif what < 0.85:
        forget(ledger, [message.digest], "forgotten", at, how=How.HAND)
    elif (lesson := ledger.lessons.find(message.digest)) is not None:
        change = Relabel(message.digest, lesson.label, lesson.weak, label, weak, "taken back", How.HAND)
        relabel(ledger, [change], at)


def main(directory: Path, database: str, name: str, seed: int) -> None:
    """Be a host until SIGTERM."""
    logging.basicConfig(filename=directory / "log", level=logging.INFO)
    postgresql._SILENT_SECONDS, postgresql._CONNECT_SECONDS = 1.0, 2
    exchanging._FIRST_PATIENCE, exchanging._LONGEST_PATIENCE = 0.1, 1.0
    chance = random.Random(seed)
    skew = chance.uniform(-2.0, 2.0)
    accounts = [Sharing(user, str(directory / user / "ledger"), user) for user in USERS]
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True

    signal.signal(signal.SIGTERM, end)
    settings = Exchange(database=database, host=name, seconds=0.1)
    with ExitStack() as stack, open(directory / "acts", "ab", buffering=0) as acts:
        ledgers = [stack.enter_context(Ledger(account.ledger)) for account in accounts]
        stack.enter_context(Exchanging(settings, lambda: accounts, Measurements(), lambda account: None))
        while not ended:
            with suppress(LedgerUnavailableError):
                act(chance.choice(ledgers), chance, time.time() + skew, is_otherwise=name == "mx3")
                acts.write(b".")
            time.sleep(chance.uniform(0.0, 2 * _BETWEEN_ACTS))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
