"""A token server (RFC 6749, 7662), as a provider has one: permits, gives tokens, renews them, and vouches for them."""

import json
import secrets
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class TokenServer(ThreadingHTTPServer):
    """A token server for one user.

    grants: the kinds of grants for which it gave a token, in their order. lifetime: seconds of the next tokens. codes,
    tokens, renewing: what it has given and takes again.
    """

    def __init__(self, user: str) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.user = user
        self.grants: list[str] = []
        self.lifetime = 3600
        self.codes: set[str] = set()
        self.tokens: set[str] = set()
        self.renewing: set[str] = set()

    @property
    def address(self) -> str:
        """The beginning of its URLs."""
        return f"http://127.0.0.1:{self.server_port}"

    def given(self, grant: str) -> dict[str, object]:
        """Give a token."""
        token, renewing = secrets.token_hex(16), secrets.token_hex(16)
        self.grants.append(grant)
        self.tokens.add(token)
        self.renewing.add(renewing)
        return {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": self.lifetime,
            "refresh_token": renewing,
        }


class _Request(BaseHTTPRequestHandler):
    server: TokenServer

    def do_GET(self) -> None:
        """Permit, by a redirection as to a browser; or say whose a token is."""
        url = urllib.parse.urlsplit(self.path)
        asked = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/authorize":
            code = secrets.token_hex(8)
            self.server.codes.add(code)
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri']}?{urllib.parse.urlencode({'code': code})}")
            self.end_headers()
        elif asked.get("token") in self.server.tokens:
            self._answer(200, {"active": True, "username": self.server.user})
        else:
            self._answer(401, {"active": False})

    def do_POST(self) -> None:
        """Give a token for a code, or for the word that renews one."""
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = dict(urllib.parse.parse_qsl(text))
        grant, server = asked["grant_type"], self.server
        if (grant == "authorization_code" and asked["code"] in server.codes) or (
            grant == "refresh_token" and asked["refresh_token"] in server.renewing
        ):
            self._answer(200, server.given(grant))
        else:
            self._answer(400, {"error": "invalid_grant"})

    def _answer(self, status: int, values: dict[str, object]) -> None:
        content = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_request(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def token_server(user: str) -> Iterator[TokenServer]:
    """A token server that runs."""
    with TokenServer(user) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
