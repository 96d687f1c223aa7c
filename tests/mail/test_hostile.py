import pytest

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import read
from tests.mail.hostile import MESSAGES, MOST


@pytest.mark.parametrize("name", MESSAGES)
def test_the_worst_messages_yield_tokens(name):
    """The worst message of each kind is read, and what was left out or was odd is said by a token."""
    make, said = MESSAGES[name]
    tokens = read(make()[:MOST]).tokens
    assert said <= tokens.keys()
    assert 0 < len(tokens) <= DEFAULT_LIMITS.tokens
    assert max(map(len, tokens)) <= 100
    assert "".join(tokens).isprintable()
