"""Dovecot is asked for its configuration."""

import subprocess

from spamnb.base.errors import ConfigError
from spamnb.base.wording import escaped
from spamnb.setup.dovecot_paths import BY_HAND

_SECONDS = 60.0  # it asks no network; a disk that hangs is another thing


def printed_by_dovecot() -> str:
    """What `doveconf -n` prints. Raises ConfigError where there is no such program, or it fails."""
    step = BY_HAND
    try:
        done = subprocess.run(["doveconf", "-n"], capture_output=True, timeout=_SECONDS, check=False)  # noqa: S607 - wherever it is installed
    except FileNotFoundError:
        raise ConfigError(f"there is no doveconf, so Dovecot cannot be asked where mail lies: {step}") from None
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise ConfigError(f"doveconf -n did not run ({escaped(str(fault))}): {step}") from fault
    if done.returncode:
        said = escaped(_last_line(done.stderr.decode(errors="replace")))
        raise ConfigError(f"doveconf -n ended with {done.returncode} ({said}): correct that, or {step}")
    return done.stdout.decode(errors="replace")


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]
