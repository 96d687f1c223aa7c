"""A message that is piped through the filter: it comes out with the verdict in its header, and nothing else changed.

Mail must not be lost here, whatever is broken: programs that deliver take what comes out for the message. So a fault of
ours is told in a field of the message, and where even that cannot be made the message goes on as it came.
"""

from collections.abc import Callable
from dataclasses import dataclass

from spamnb.base.errors import ConfigError, LedgerBusyError, LedgerError, SpamnbError
from spamnb.config import Config
from spamnb.delivery import spamc
from spamnb.delivery.annotate import annotate
from spamnb.delivery.verdict import NAMES, Delivered, Format, fields, unknown

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (ConfigError, "configuration"),
    (LedgerBusyError, "busy"),
    (LedgerError, "ledger"),
    (MemoryError, "memory"),
)
_MOST_SENT = 32 << 20  # bytes of a message that the service is asked about; it holds twice as much of all clients
Piece = bytes | memoryview


@dataclass(frozen=True, slots=True)
class Filtered:
    """What comes out: the message in pieces, its verdict, and the fault where there is none."""

    message: tuple[Piece, ...]
    verdict: Delivered | None
    fault: str = ""


def filtered(raw: bytes, load: Callable[[], Config], user: str, style: Format = "spamnb") -> Filtered:
    """A message with its verdict, from the running service, or else made here.

    `load` reads the configuration; `user` is told to the service, unless it is that of a user of a mail host, who is
    told then. No error is raised: a fault is part of what comes out.
    """
    names = NAMES[style]
    try:
        verdict, fault, added = _verdict(raw, load, user, names), "", []
    except Exception as error:  # whatever it is: the message has to go on
        verdict, fault, added = None, _text(error), unknown(_reason(error))
    try:
        added = added if verdict is None else fields(verdict, style)
        return Filtered(_pieces(raw, added, names), verdict, fault)
    except Exception as error:
        return Filtered((raw,), None, fault or _text(error))


def _verdict(raw: bytes, load: Callable[[], Config], user: str, names: tuple[str, ...]) -> Delivered:
    config = load()
    if config.spamd.listen and len(raw) <= _MOST_SENT:
        cleaned = _pieces(raw, [], names)
        verdict = spamc.ask(config.spamd.listen, cleaned, len(cleaned[0]), config.user or user)
        if verdict is not None:
            return verdict
    from spamnb.delivery.judge import judge_here  # which needs numpy: 0.15 s more, and the service has answered mostly

    return judge_here(raw, config)


def _pieces(raw: bytes, added: list[tuple[str, str]], names: tuple[str, ...]) -> tuple[Piece, ...]:
    beginning, replaced = annotate(raw, added, names)
    return beginning, memoryview(raw)[replaced:]


def _reason(error: Exception) -> str:
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), "fault")


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, SpamnbError) else f"{type(error).__name__}: {error}"
