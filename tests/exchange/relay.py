"""A network that may fail, between a host and the database: bytes pass, or are cut off, or are lost in silence."""

import contextlib
import selectors
import socket
import threading
from pathlib import Path

_NAME = ".s.PGSQL.5432"


class Relay:
    """Passes connections on from a socket in a directory of its own to that of a server, as a context."""

    def __init__(self, directory: Path, server: Path) -> None:
        self.directory = directory
        self._server = str(server / _NAME)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(directory / _NAME))
        self._listener.listen(64)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._others: dict[socket.socket, socket.socket] = {}
        self._is_silent = False
        self._wanted = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.cut()
        self._listener.close()
        self._selector.close()

    def cut(self) -> None:
        """Close all connections."""
        with self._wanted:
            for end in list(self._others):
                self._drop(end)

    def silent(self, is_silent: bool) -> None:
        """From now on pass nothing on and close nothing; or pass bytes on again."""
        with self._wanted:
            self._is_silent = is_silent

    def _run(self) -> None:
        while not self._ended.is_set():
            for key, _ in self._selector.select(0.05):
                with self._wanted:
                    if self._is_silent:
                        self._ended.wait(0.02)
                    elif key.fileobj is self._listener:
                        self._accept()
                    elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._others:
                        self._pass_on(key.fileobj)

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(self._server)
        except OSError:
            near.close()
            far.close()
            return
        for one, other in ((near, far), (far, near)):
            self._others[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _pass_on(self, end: socket.socket) -> None:
        try:
            content = end.recv(1 << 16)
            self._others[end].settimeout(5)
            if content:
                self._others[end].sendall(content)
                return
        except OSError:
            pass
        self._drop(end)

    def _drop(self, end: socket.socket) -> None:
        for one in (end, self._others.get(end)):
            if one is not None and self._others.pop(one, None) is not None:
                with contextlib.suppress(KeyError):
                    self._selector.unregister(one)
                one.close()
