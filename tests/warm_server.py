"""A process that has imported the program and forks one that goes on as it at each request: see `tests/warm.py`."""

import gc
import json
import os
import select
import signal
import socket
import sys
from importlib import import_module
from typing import Final

_MODULES: Final = (
    *("spamnb.cli.main", "spamnb.cli.run", "spamnb.cli.web", "spamnb.service.daemon", "spamnb.host.service.roster"),
    *("spamnb.spamd.service", "spamnb.mail.reading", "spamnb.filter.judge", "spamnb.web.page_server"),
)
MOST: Final = 1 << 20  # bytes of a request: an environment is smaller


def serve(requests: socket.socket) -> None:
    """Fork a process for each request, and report it. Report each one that has ended, too, with its status."""
    running: dict[int, int] = {}  # process ids, by a descriptor that is readable once the process has ended
    while True:
        for ready in select.select([requests, *running], [], [])[0]:
            if ready is requests:
                message, streams, _, _ = socket.recv_fds(requests, MOST, 3)
                if not message:
                    return
                if (pid := os.fork()) == 0:
                    requests.close()
                    for descriptor in running:
                        os.close(descriptor)
                    become(json.loads(message), streams)
                    return
                for stream in streams:
                    os.close(stream)
                running[os.pidfd_open(pid)] = pid
                requests.send(json.dumps([pid, None]).encode())
            else:
                pid = running.pop(ready)
                os.close(ready)
                requests.send(json.dumps([pid, os.waitpid(pid, 0)[1]]).encode())


def become(request: dict[str, object], streams: list[int]) -> None:
    """Go on as the process that was asked for, to its end. streams: standard input, output and error."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for as long as the process lives; so are the other two
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = request["arguments"]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    exec(request["code"], {})


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, and they end this
    for module in _MODULES:
        import_module(module)
    gc.freeze()  # so that a collection in a child copies no page of it
    serve(socket.socket(fileno=int(sys.argv[1])))
