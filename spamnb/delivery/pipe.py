"""Pipe a message through the filter: it comes out with the verdict in its header, and otherwise unchanged.

Mail must never be lost here: delivery programs take the output for the message. So our own fault is reported in a field
of the message. If even that field cannot be made, the message goes on unchanged.
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
_MOST_SENT = 32 << 20  # bytes of a message for which we ask the service; it holds twice as much for all clients
Piece = bytes | memoryview


@dataclass(frozen=True, slots=True)
class Filtered:
    """The output: the message in pieces, its verdict, or the fault in place of it."""

    message: tuple[Piece, ...]
    verdict: Delivered | None
    fault: str = ""


def filtered(raw: bytes, load: Callable[[], Config], user: str, style: Format = "spamnb") -> Filtered:
    """Return a message with its verdict, from the running service, or else made here.

    `load` reads the configuration. The service gets the name `user`, or, on a mail host, that of the configuration's
    user. No error is raised: a fault is part of the output.
    """
    names = NAMES[style]
    try:
        verdict, fault, added = _verdict(raw, load, user, names), "", []
    except Exception as error:  # any fault at all: the message has to go on
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
    from spamnb.delivery.judge import judge_here  # numpy takes 0.15 s more, and mostly the service has answered

    return judge_here(raw, config)


def _pieces(raw: bytes, added: list[tuple[str, str]], names: tuple[str, ...]) -> tuple[Piece, ...]:
    beginning, replaced = annotate(raw, added, names)
    return beginning, memoryview(raw)[replaced:]


def _reason(error: Exception) -> str:
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), "fault")


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, SpamnbError) else f"{type(error).__name__}: {error}"
