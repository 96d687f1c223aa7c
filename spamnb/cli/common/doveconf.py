"""Ask Dovecot for its configuration."""

import subprocess

from spamnb.base.errors import ConfigError
from spamnb.base.wording import escaped
from spamnb.setup.dovecot_paths import BY_HAND

_SECONDS = 60.0  # it needs no network, but a disk may hang


def printed_by_dovecot() -> str:
    """Return the output of `doveconf -n`. Raises ConfigError if the program is missing or fails."""
    step = BY_HAND
    try:
        done = subprocess.run(["doveconf", "-n"], capture_output=True, timeout=_SECONDS, check=False)  # noqa: S607 - wherever it is installed
    except FileNotFoundError:
        raise ConfigError(f"doveconf is missing, so Dovecot cannot name the place of the mail: {step}") from None
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise ConfigError(f"doveconf -n did not run ({escaped(str(fault))}): {step}") from fault
    if done.returncode:
        said = escaped(_last_line(done.stderr.decode(errors="replace")))
        raise ConfigError(f"doveconf -n ended with {done.returncode} ({said}): correct that, or {step}")
    return done.stdout.decode(errors="replace")


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]
