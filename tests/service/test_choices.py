"""A choice beside the configuration holds at once: in the running service, by spamd, and in a pipe."""

import dataclasses
import shutil
from pathlib import Path

from spamnb.acts.choices import choose, forget
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Learning, load
from spamnb.delivery.judge import judge_here
from spamnb.ledger.history.choices import ChoiceKind
from spamnb.ledger.ledger import Ledger
from tests.patience import until
from tests.service.conftest import Site
from tests.service.desk import Desk
from tests.service.test_filter_with_the_service import through
from tests.spamd.conftest import request
from tests.spamd.test_beside_the_watching import ask, socket_of

CONFIG = Config((), Path("/ledger"), learning=Learning(minimum_messages=1))


def of_shop(kind: str, number: int) -> bytes:
    """A message of a sender at a shop, worded as ham or spam."""
    lines = message(kind, number).split(b"\n")
    return b"\n".join([b"From: friend@shop.example", *(line for line in lines if not line.startswith(b"From:"))])


def test_in_the_service(desk: Desk) -> None:
    """Another process blocks and allows a sender, and sets a cutoff: the next message is judged by that."""
    letters = [of_shop(kind, 970 + number) for number, kind in enumerate(("ham", "spam", "spam", "ham"))]
    with Ledger(desk.ledger.path) as other:

        def judged_after(kind: ChoiceKind, value: str, letter: bytes) -> tuple[list[str], str]:
            choose(other, CONFIG, kind, [value], "page", desk.now())
            desk.deliver(letter)
            known = desk.known(letter)
            assert known is not None
            return desk.where(letter), desk.ledger.journal.of_message(known.id)[-1].why

        where, why = judged_after("block", "*@shop.example", letters[0])
        assert (where, "by your choice: *@shop.example" in why) == (["Junk"], True)
        where, why = judged_after("allow", "*@shop.example", letters[1])
        assert (where, "by your choice: *@shop.example" in why) == (["INBOX"], True)
        forget(other, CONFIG, "*@shop.example", desk.now)
        desk.deliver(letters[2])
        assert desk.where(letters[2]) == ["Junk"]
        judged_after("ham_cutoff", "0", letters[3])
        known = desk.known(letters[3])
        assert known is not None and known.verdict == "unsure"


def test_what_the_configuration_names_stands_above_in_the_service(desk: Desk) -> None:
    """The configuration has priority over any choice about a sender or a cutoff."""
    letter, context = of_shop("spam", 970), desk.account.context
    for kind, value in (("block", "*@shop.example"), ("spam_cutoff", "0.97")):
        choose(desk.ledger, CONFIG, kind, [value], "page", desk.now())  # type: ignore[arg-type]
    written = dataclasses.replace(context.config.senders, allow=("shop.example",))
    names = frozenset({"scoring.spam_cutoff"})
    context.config = dataclasses.replace(context.config, senders=written, written=names)
    assert context.in_force.scoring.spam_cutoff == 0.95
    desk.deliver(letter)
    assert desk.where(letter) == ["INBOX"]


def test_in_a_process_by_all_doors(site: Site) -> None:
    """A choice at the prompt holds for the next message that a running service, spamd or a pipe meets, and its undo."""
    site.configure(f"spamd: {{listen: [{socket_of(site)}]}}")
    site.teach()
    site.start()
    told = request("CHECK", of_shop("ham", 970))
    assert b"Spam: False" in ask(site, told)
    assert site.spamnb("choose", "block", "shop.example") == 0
    assert b"Spam: True" in ask(site, told)
    assert b"SPAMNB_START" in ask(site, request("REPORT", of_shop("ham", 970)))
    assert through(site, of_shop("ham", 971)).startswith(b"X-Spamnb: spam, ")
    site.deliver(of_shop("ham", 972))
    until(lambda: len(site.contents("Junk")) == 1, "the message of a blocked sender to be moved")
    with Ledger(str(site.ledger), only_read=True) as ledger:
        (choice,) = ledger.choices.standing()
    assert site.spamnb("undo", str(choice.action)) == 0
    assert b"Spam: False" in ask(site, told)
    assert through(site, of_shop("ham", 973)).startswith(b"X-Spamnb: ham, ")


def test_at_delivery_without_a_service(site: Site, taught: Path) -> None:
    """Without a service, a message in a pipe is judged with the choices too."""
    shutil.copy(taught, site.ledger)
    config, letter = load(site.config, {}), of_shop("ham", 970)
    assert judge_here(letter, config).verdict == "ham"
    with Ledger(str(site.ledger)) as ledger:
        choose(ledger, config, "block", ["friend@shop.example"], "prompt", 1.0)
    assert judge_here(letter, config).verdict == "spam"
