"""The powers of a process inside the sandbox of a unit: tries each thing, and prints the answers as JSON.

It runs inside the booted system, in the place of the service, with nothing but the standard library.
"""

import ctypes
import json
import mmap
import os
import resource
import socket
import stat
import sys
from collections.abc import Callable

HOME = os.path.expanduser("~")
_CLONE_NEWUSER = 0x10000000
_PTRACE_TRACEME = 0
_MS_BIND = 0x1000
_PERSONALITY_READ_IMPLIES_EXEC = 0x0400000
_libc = ctypes.CDLL(None, use_errno=True)


def _write(path: str) -> None:
    with open(path, "w") as file:
        file.write("x")
    os.unlink(path)


def _leave(path: str) -> None:
    with open(path, "w") as file:
        file.write("x")


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _set_user_id() -> None:
    path = f"{HOME}/Maildir/tmp/probe"
    try:
        _leave(path)
        os.chmod(path, stat.S_ISUID | 0o700)
    finally:
        os.unlink(path)


def _refuse_unless(seen: object) -> None:
    if not seen:
        raise OSError("nothing is seen")


def _other_processes() -> list[str]:
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and os.stat(f"/proc/{pid}").st_uid != os.getuid()]


def _status() -> str:
    with open("/proc/self/status") as file:
        return file.read()


def _control_group() -> str:
    """The directory of this process's control group, in a unified or a hybrid hierarchy."""
    with open("/proc/self/cgroup") as file:
        path = next(line.strip().split("::", 1)[1] for line in file if line.startswith("0::"))
    unified = "/sys/fs/cgroup/unified"
    return (unified if os.path.isdir(unified) else "/sys/fs/cgroup") + path


THINGS: dict[str, Callable[[], object]] = {
    "write to the Maildir": lambda: _write(f"{HOME}/Maildir/tmp/probe"),
    "write to the state": lambda: _write(f"{sys.argv[1]}/probe"),
    "open a socket of AF_UNIX": lambda: socket.socket(socket.AF_UNIX).close(),
    "write to the home": lambda: _write(f"{HOME}/probe"),
    "write to the configuration": lambda: _write(f"{sys.argv[2]}/probe"),
    "write to /etc": lambda: _write("/etc/open/probe"),
    "write to /var/lib": lambda: _write("/var/lib/open/probe"),
    "write to /srv": lambda: _write("/srv/open/probe"),
    "read another's home": lambda: os.listdir("/home/open"),
    "read the keys": lambda: os.listdir(f"{HOME}/.ssh"),
    "leave a file in /tmp": lambda: _leave("/tmp/left-by-probe"),
    "leave a file in /var/tmp": lambda: _leave("/var/tmp/left-by-probe"),
    "see the processes of others": lambda: _refuse_unless(_other_processes()),
    "be in the machine's network": lambda: _refuse_unless(os.readlink("/proc/self/ns/net") == sys.argv[3]),
    "open a socket of AF_INET": lambda: socket.socket(socket.AF_INET).close(),
    "open a socket of AF_INET6": lambda: socket.socket(socket.AF_INET6).close(),
    "open a socket of AF_NETLINK": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
    "make memory writable and executable": lambda: mmap.mmap(
        -1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    ).close(),
    "make a name space": lambda: _call("unshare", _CLONE_NEWUSER),
    "be traced": lambda: _call("ptrace", _PTRACE_TRACEME, 0, 0, 0),
    "set another personality": lambda: _call("personality", _PERSONALITY_READ_IMPLIES_EXEC),
    "set the user-id bit": _set_user_id,
    "change its priority": lambda: os.nice(1),
    "gain privileges": lambda: _refuse_unless("NoNewPrivs:\t0" in _status()),
    "use capabilities later": lambda: _refuse_unless("CapBnd:\t0000000000000000" not in _status()),
    "dump its memory": lambda: _refuse_unless(resource.getrlimit(resource.RLIMIT_CORE)[1]),
    "make files that others can read": lambda: _refuse_unless((os.umask(0o077) & 0o077) != 0o077),
    "see the machine's memory": lambda: open("/proc/meminfo").close(),
    "change control groups": lambda: _refuse_unless(os.access(_control_group(), os.W_OK)),
    "see devices": lambda: _refuse_unless(os.path.exists("/dev/net/tun")),
}

if __name__ == "__main__":
    answers = {}
    for name, thing in THINGS.items():
        if os.fork() == 0:  # what a thing does to its process is its own affair
            try:
                thing()
                os._exit(0)
            except OSError as fault:
                sys.stderr.write(f"{name}: {fault}\n")
                os._exit(1)
        answers[name] = os.wait()[1] == 0
    sys.stdout.write(json.dumps(answers) + "\n")
