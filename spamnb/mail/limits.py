"""How much of a stranger's message is read.

Each limit is far above what honest mail needs and low enough that the worst message is read in well under a
second. Past a limit the rest is left out, a token `limit:NAME` says so, and reading goes on.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The named limits of the reader; tests make them small."""

    message_bytes: int = 1 << 20  # read from the file; spamc's usual limit is half of it
    header_bytes: int = 64 << 10  # of one header block; Postfix's header_size_limit is 100 KB
    header_fields: int = 500
    field_chars: int = 4 << 10  # of one field's value
    parts: int = 100
    nesting: int = 10
    text_chars: int = 200_000  # over all text parts
    html_chars: int = 400_000  # of markup over all HTML parts
    html_tags: int = 40_000  # marks of "<" in it; an element costs 5 µs each; csdmc2010 has at most 1,130
    html_depth: int = 200  # libxml2 itself gives up at 256
    links: int = 200
    work: int = 400_000  # units of a microsecond where it is slowest; csdmc2010 takes at most 121,000, in 0.05 s
    tokens: int = 4_000  # distinct
    token_chars: int = 24  # of a word; longer ones become a shape


DEFAULT_LIMITS = Limits()
