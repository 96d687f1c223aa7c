"""A session in IDLE hears of ham, and not of spam that the filter moves at once."""

import os
import time
from collections.abc import Callable

import pytest

from spamnb.identity.digests import identity
from tests.imap.conftest import Host, new_mail
from tests.imap.dovecot import BOTH, Dovecot
from tests.imap.phone import Phone, by_rename, numbered
from tests.imap.test_sieve import LMTP, Way, by_lmtp, filtering
from tests.patience import PATIENCE, until

__all__ = ["filtering"]  # the fixture
pytestmark = BOTH

_SPAM = 3  # messages that the filter has to move in time
_TRIES = 20  # a busy machine is often not in time
# Dovecot looks half a second after the first change. By then the spam has left, and `cur/` was touched after that.
_IN_TIME = 0.4


@pytest.mark.parametrize("way", [by_rename, by_lmtp])
def test_spam_is_not_told(make_host: Callable[..., Host], dovecot: Dovecot, way: Way) -> None:
    """A session in IDLE is told once of each ham message, and never of spam that was moved in time."""
    if dovecot.program("lmtp") is None:
        pytest.skip("needs Dovecot's LMTP server (Debian: dovecot-lmtpd)")
    host = make_host(more=LMTP)
    host.start()
    phone = Phone(host.client(), last=2 * _TRIES)
    phone.start()
    moved_in_time = 0
    with way(host) as deliver:
        for number in range(0, 2 * _TRIES, 2):
            phone.wait()
            told = phone.told
            is_in_time = deliver_spam(host, lambda spam, number=number: deliver(numbered(spam, number)))  # type: ignore[misc]
            moved_in_time += is_in_time
            is_last = moved_in_time == _SPAM
            ham = 2 * _TRIES if is_last else number + 1
            deliver(numbered(new_mail("ham"), ham))
            until(lambda ham=ham: ham in phone.heard, "the session to hear of ham")  # type: ignore[misc]
            if is_in_time:
                assert (phone.told - told, number in phone.heard) == (1, False)
            if is_last:
                break
    assert moved_in_time == _SPAM, "this machine is too busy: the filter was not in time"


def test_spam_that_sieve_files_is_not_told(filtering: Host) -> None:
    """If Sieve files by the verdict, a session in IDLE is told of no spam, however much comes at once."""
    phone = Phone(filtering.client(), last=_TRIES)
    phone.start()
    phone.wait()
    with by_lmtp(filtering) as deliver:
        for number in range(_TRIES):
            deliver(numbered(new_mail("spam"), number))
        deliver(numbered(new_mail("ham"), _TRIES))
    phone.join(PATIENCE)
    assert (phone.told, list(phone.heard)) == (1, [_TRIES])


def deliver_spam(host: Host, deliver: Callable[[bytes], None]) -> bool:
    """Deliver spam, and wait until the filter has made Dovecot look again, a second later.

    Whether it was moved, and `cur/` touched after that, in so short a time that Dovecot had not looked.
    """
    spam, begun = new_mail("spam"), time.time()
    deliver(spam)
    until(lambda: any(identity(found) == identity(spam) for found in host.contents("Junk")), "spam to be in Junk")
    moved = time.time()
    until(lambda: touched(host) > moved, "cur/ to be touched again")
    is_in_time = time.time() - begun < _IN_TIME
    until(lambda: touched(host) > moved + 0.8, "cur/ to be touched after a second")
    return is_in_time


def touched(host: Host) -> float:
    """When `cur/` of the inbox was changed."""
    return os.stat(host.folders["INBOX"].subdir("cur")).st_mtime
