"""Several hosts that share a log: whatever they learn and whatever breaks, they agree in the end."""

import contextlib
import copy
import tempfile
from collections.abc import Callable
from itertools import count
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from spamnb.acts.training import forget, learn_together, relabel
from spamnb.base.errors import ExchangeAwayError
from spamnb.base.label import How, Label
from spamnb.exchange.memory import MemoryLog
from spamnb.exchange.port import News, news_of
from spamnb.exchange.rounds import exchange
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Relabel
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations
from tests.exchange.interrupted import Interrupted
from tests.exchange.learned import ALL, a_round, by_the_ledger, by_the_log
from tests.profiles import daily

HOSTS = st.sampled_from(["mx1", "mx2", "mx3"])
NUMBERS = st.integers(1, 6)
LABELS = st.sampled_from([*Label, None])
LEARNED_BY = st.sampled_from([How.MOVE, How.KEPT, How.HAND])


class Hosts(RuleBasedStateMachine):
    """Three hosts with one ledger each of one user; their clocks differ, and one host reads mail differently."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.log = MemoryLog()
        self.former = copy.deepcopy(self.log)
        self.logs = count()
        self.files = count()
        self.clock = 100.0
        self.ledgers: dict[str, Ledger] = {}
        for host in ("mx1", "mx2", "mx3"):
            self.ledgers[host] = self._new()

    @initialize(skew=st.lists(st.sampled_from([-3.0, 0.0, 3.0]), min_size=3, max_size=3))
    def clocks(self, skew: list[float]) -> None:
        self.skew = dict(zip(self.ledgers, skew, strict=True))

    def teardown(self) -> None:
        for ledger in self.ledgers.values():
            ledger.close()
        self.directory.cleanup()

    def _new(self) -> Ledger:
        return Ledger(f"{self.directory.name}/{next(self.files)}/ledger")

    def _now(self, host: str) -> float:
        self.clock += 1
        return self.clock + self.skew[host]

    def _reading(self, host: str, number: int) -> Reading:
        tokens = {f"t{number}": number, f"t{number % 3}": 1, "all": 1}
        if host == "mx3":
            tokens = {f"t{number}": 2, "otherwise": number}
        sender = Relations(f"{number % 2}@b.example", path="9.9.9" if host != "mx2" else "")
        return Reading(bytes([number]), f"message {number}", tokens, sender)

    @rule(
        host=HOSTS, numbers=st.lists(NUMBERS, min_size=1, max_size=3), label=LABELS, weak=st.booleans(), how=LEARNED_BY
    )
    def learn(self, host: str, numbers: list[int], label: Label | None, weak: bool, how: How) -> None:
        ledger, now = self.ledgers[host], self._now(host)
        if label is None:
            forget(ledger, [bytes([number]) for number in numbers], "a test", now, how=how)
        else:
            readings = [self._reading(host, number) for number in numbers]
            learn_together(ledger, readings, label, "a test", now, how=how, weak=weak)

    @rule(host=HOSTS, number=NUMBERS, label=LABELS, weak=st.booleans())
    def undo(self, host: str, number: int, label: Label | None, weak: bool) -> None:
        ledger = self.ledgers[host]
        lesson = ledger.lessons.find(bytes([number]))
        if lesson is not None:
            change = Relabel(lesson.digest, lesson.label, lesson.weak, label, weak, "undo", How.HAND, takes_back=None)
            relabel(ledger, [change], self._now(host))

    @rule(host=HOSTS)
    def a_round(self, host: str) -> None:
        before = by_the_ledger(self.ledgers[host])
        done = a_round(self.ledgers[host], self.log, host=host)
        assert done.is_over
        assert done.changed or by_the_ledger(self.ledgers[host]) == before

    @rule(host=HOSTS, at=st.integers(0, 4), is_after=st.booleans(), number=NUMBERS, label=LABELS)
    def a_round_that_is_cut(self, host: str, at: int, is_after: bool, number: int, label: Label | None) -> None:
        """The connection breaks before or after a call; then something is learned before the next round."""

        def cut() -> None:
            raise ExchangeAwayError("cut")

        with contextlib.suppress(ExchangeAwayError):
            self._interrupted(host, at, cut, is_after=is_after)
        self.learn(host, [number], label, False, How.MOVE)

    @rule(host=HOSTS, at=st.integers(0, 5), number=NUMBERS, label=LABELS, weak=st.booleans())
    def learned_in_the_middle(self, host: str, at: int, number: int, label: Label | None, weak: bool) -> None:
        """The host learns a message while a round waits for an answer."""
        self._interrupted(host, at, lambda: self.learn(host, [number], label, weak, How.MOVE))

    @rule(host=HOSTS, at=st.integers(0, 5), other=HOSTS)
    def two_rounds_at_once(self, host: str, at: int, other: str) -> None:
        """While a round waits for an answer, a command makes a round of the same ledger, or of another host's."""
        self._interrupted(host, at, lambda: self.a_round(other))

    @rule(host=HOSTS, at=st.integers(0, 4))
    def put_back_in_the_middle(self, host: str, at: int) -> None:
        """While a round waits for an answer, the log is put back, and a command begins with the older rows."""

        def put_back() -> None:
            self.the_log_is_put_back()
            self.a_round(host)

        self._interrupted(host, at, put_back)

    def _interrupted(self, host: str, at: int, meanwhile: Callable[[], None], *, is_after: bool = True) -> None:
        log: Any = Interrupted(self.log, at, meanwhile, is_after=is_after)
        exchange(self.ledgers[host], log, "anna", host, self._news())

    @rule(host=HOSTS, steps=st.integers(0, 3))
    def a_round_that_ends_early(self, host: str, steps: int) -> None:
        left = iter(range(steps))
        exchange(self.ledgers[host], self.log, "anna", host, self._news(), lambda: next(left, None) is not None)

    @rule(host=HOSTS, other=HOSTS)
    def two_rounds_of_one_ledger(self, host: str, other: str) -> None:
        """While the service makes a round, a command makes one too, with older news of the log."""
        news = self._news()
        a_round(self.ledgers[other], self.log, host=other)
        a_round(self.ledgers[host], self.log, host=host)
        exchange(self.ledgers[host], self.log, "anna", host, news)

    @rule(host=HOSTS)
    def a_ledger_is_lost(self, host: str) -> None:
        self.ledgers[host].close()
        self.ledgers[host] = self._new()

    @rule()
    def the_log_is_copied(self) -> None:
        self.former = copy.deepcopy(self.log)

    @rule()
    def the_log_is_put_back(self) -> None:
        self.log = copy.deepcopy(self.former)
        self.log._identity = f"put back {next(self.logs)}"

    def _news(self) -> News:
        return news_of(self.log, ["anna"])["anna"]

    @invariant()
    def all_ledgers_are_sound(self) -> None:
        for ledger in self.ledgers.values():
            assert ledger.lessons.verify() == []

    @rule()
    def all_agree(self) -> None:
        """After two rounds of each host, all ledgers hold what a plain loop over the log gives."""
        for _ in range(2):
            for host, ledger in self.ledgers.items():
                assert a_round(ledger, self.log, host=host).is_over
        wanted = by_the_log(self.log.receive("anna", 0, ALL))
        for ledger in self.ledgers.values():
            assert by_the_ledger(ledger) == wanted
            assert ledger.state.received == self._news().account.last
        for host, ledger in self.ledgers.items():
            done = a_round(ledger, self.log, host=host)
            assert (done.sent, done.received, done.changed, done.is_over) == (0, 0, 0, True)


class TestHosts(Hosts.TestCase):
    """Whatever hosts learn, and whatever is cut off, lost or put back, all ledgers are the same in the end."""

    settings = settings(max_examples=daily(10), stateful_step_count=30)
