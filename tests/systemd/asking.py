"""Asks the pages inside a booted system, as one of its users, on a port or a Unix socket."""

import json
from typing import NamedTuple

from tests.systemd.machine import Machine
from tests.systemd.unit import Unit

_ASK = """
import http.client, json, socket, sys
where, path, headers, form = json.loads(sys.argv[1])
if where.startswith("/"):
    client = http.client.HTTPConnection("unix")
    client.sock = socket.socket(socket.AF_UNIX)
    client.sock.connect(where)
else:
    client = http.client.HTTPConnection(where)
if form is not None:
    headers |= {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
client.request("GET" if form is None else "POST", path, form, headers)
answer = client.getresponse()
print(json.dumps([answer.status, dict(answer.getheaders()), answer.read().decode()]))
"""
_CODE = """
import sys, time
from spamnb.web.login_keys import KeyFile, make, path
key = KeyFile(sys.argv[1]).key()
print(path(key), make(key, "code", time.time()))
"""


def ask(
    machine: Machine, where: str, path: str, user: str | None, form: str | None = None, **headers: str
) -> tuple[int, dict[str, str], str]:
    """Return the answer of the pages to a user (None: root)."""
    machine.write("/srv/ask-web.py", _ASK)
    asked = json.dumps([where, path, headers, form])
    done = machine.run("python3", "/srv/ask-web.py", asked, user=user, check=False)
    if done.returncode:
        return 0, {}, done.stderr
    status, answered, text = json.loads(done.stdout)
    return status, answered, text


class Login(NamedTuple):
    """The path of all pages, without a "/" at its end, and the cookie."""

    base: str
    cookie: str


def log_in(unit: Unit, where: str, python: str) -> Login:
    """Log the owner of a unit in, by a code that only they can make. python: that has the program."""
    machine = unit.machine
    machine.write("/srv/code.py", _CODE)
    path, code = machine.run(python, "/srv/code.py", f"{unit.state}/web.key", user=unit.user).stdout.split()
    status, headers, _ = ask(machine, where, f"/{path}/login?code={code}", unit.user)
    assert status == 303
    return Login(f"/{path}", headers["Set-Cookie"].partition(";")[0])
