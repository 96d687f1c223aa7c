"""The exchange of lessons as a part of the service."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from spamnb.config import Exchange
from spamnb.service.account import SharingUser
from spamnb.service.part import Part
from spamnb.service.served import Served


class ExchangeOfLessons(Part):
    """Keeps the accounts of the service up with the log, if the configuration names a database."""

    _settings = Exchange()

    def use(self, served: Served) -> None:
        """Go on with another configuration."""
        self._settings = served.config.exchange

    def beside(
        self, accounts: Callable[[], Sequence[SharingUser]], forgotten: Callable[[SharingUser], object]
    ) -> AbstractContextManager[object]:
        """Exchange lessons until the block ends."""
        if self._settings.database is None:
            return nullcontext()
        from spamnb.exchange.exchanging import Exchanging

        return Exchanging(self._settings, accounts, self._tools.measurements, forgotten)
