"""Limits for the clients of the spamd protocol: how much they may send, and how long it may take."""

from dataclasses import dataclass

from spamnb.spamd import protocol


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits for clients; times are seconds, sizes bytes.

    message: of one message. held: of all messages and answers together; the first `protocol.SMALL` bytes of each
    message are always read. wait: how long a message waits for room, in all. tick: how exactly these times are kept. A
    connection that keeps others waiting is given up when one of these has passed. grace: since it came, got room, or
    got its answer. silence: since it sent something, if it has room. untaken: since it took something of its answer.

    workers: Python computes in one thread at a time, so more workers do not answer faster; after 7,000 requests the
    service took 78 MB with two and 91 MB with four (benchmarks/spamd.py).
    """

    connections: int = 600  # fewer if the process may open too few files
    message: int = protocol.MOST_MESSAGE
    held: int = 2 * protocol.MOST_MESSAGE
    workers: int = 2
    first_line: float = 30.0  # this and the next are spamd's own
    request: float = 300.0
    wait: float = 60.0
    answer: float = 300.0
    drain: float = 1.0
    grace: float = 5.0
    silence: float = 1.0
    untaken: float = 30.0
    stop: float = 5.0
    tick: float = 0.25
