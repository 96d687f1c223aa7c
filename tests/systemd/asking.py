"""Asks the pages inside a booted system, as one of its users, on a port or a Unix socket."""

import json

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
from spamnb.web.keys import KeyFile, make
print(make(KeyFile(sys.argv[1]).key(), "code", time.time()))
"""


def ask(
    machine: Machine, where: str, path: str, user: str | None, form: str | None = None, **headers: str
) -> tuple[int, dict[str, str], str]:
    """What the pages answer a user (None: root)."""
    machine.write("/srv/ask-web.py", _ASK)
    asked = json.dumps([where, path, headers, form])
    done = machine.run("python3", "/srv/ask-web.py", asked, user=user, check=False)
    if done.returncode:
        return 0, {}, done.stderr
    status, answered, text = json.loads(done.stdout)
    return status, answered, text


def log_in(unit: Unit, where: str, python: str) -> str:
    """Log the owner of a unit in, by a code that only they can make; the cookie. python: that has the program."""
    machine = unit.machine
    machine.write("/srv/code.py", _CODE)
    code = machine.run(python, "/srv/code.py", f"{unit.state}/web.key", user=unit.user).stdout.strip()
    status, headers, _ = ask(machine, where, f"/login?code={code}", unit.user)
    assert status == 303
    return headers["Set-Cookie"].partition(";")[0]
