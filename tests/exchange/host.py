"""A host of the trial, as a process: it learns at random while its service's thread exchanges.

    python -m tests.exchange.host DIRECTORY DATABASE SEED

It ends in order by SIGTERM, and may be killed at any moment. Each act is a byte in the file `acts` of its directory,
whose name is the host's.
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
from spamnb.exchange import exchanging, postgresql
from spamnb.exchange.exchanging import Exchanging
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Relabel
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations
from spamnb.service.account import SharingUser
from spamnb.service.measurements import Measurements

USERS = ("anna", "bert", "carl", "dora")
_MESSAGES = 250
_WORDS = 400
_BETWEEN_ACTS = 0.02  # seconds


def act(ledger: Ledger, chance: random.Random, at: float, *, is_otherwise: bool) -> None:
    """Learn a message as ham or spam, firmly or weakly; forget one; or take a lesson back.

    is_otherwise: the host has a different version, which reads some messages differently.
    """
    number = chance.randrange(_MESSAGES)
    made_up = random.Random(number + (1000 if is_otherwise and chance.random() < 0.2 else 0))
    tokens = {f"w{made_up.randrange(_WORDS)}": made_up.randint(1, 5) for _ in range(40)}
    relations = Relations(f"{number % 20}@b.example", path="9.9.9" if number % 3 else "")
    message = Reading(number.to_bytes(16), f"message {number}", tokens, relations)
    label, weak = chance.choice(list(Label)), chance.random() < 0.3
    what = chance.random()
    if what < 0.7:
        learn(ledger, message, label, "learned", at, how=chance.choice([How.MOVE, How.KEPT, How.HAND]), weak=weak)
    elif what < 0.85:
        forget(ledger, [message.digest], "forgotten", at, how=How.HAND)
    elif (lesson := ledger.lessons.find(message.digest)) is not None:
        change = Relabel(message.digest, lesson.label, lesson.weak, label, weak, "taken back", How.HAND)
        relabel(ledger, [change], at)


def main(directory: Path, database: str, seed: int) -> None:
    """Be a host until SIGTERM."""
    logging.basicConfig(filename=directory / "log", level=logging.INFO)
    postgresql._SILENT_SECONDS, postgresql._CONNECT_SECONDS = 1.0, 2
    exchanging._FIRST_PATIENCE, exchanging._LONGEST_PATIENCE = 0.1, 1.0
    chance = random.Random(seed)
    skew = chance.uniform(-2.0, 2.0)
    accounts = [SharingUser(user, str(directory / user / "ledger"), user) for user in USERS]
    ends: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ends.append(number))
    settings = Exchange(database=f"{database} application_name={directory.name}", host=directory.name, seconds=0.1)
    with ExitStack() as stack, open(directory / "acts", "ab", buffering=0) as acts:
        ledgers = [stack.enter_context(Ledger(account.ledger)) for account in accounts]
        stack.enter_context(Exchanging(settings, lambda: accounts, Measurements(), lambda account: None))
        while not ends:
            with suppress(LedgerUnavailableError):
                act(chance.choice(ledgers), chance, time.time() + skew, is_otherwise=directory.name == "mx3")
                acts.write(b".")
            time.sleep(chance.uniform(0.0, 2 * _BETWEEN_ACTS))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
