"""Tell whether a person could take one site for another. Pure: names in, an answer out.

It compares what a person reads of a site: the name that somebody has registered. Names that are spelled alike, such as
amazon.de and amazon.com, do not count: large companies have such names.
"""

import unicodedata
from collections.abc import Iterable

_SHORTEST = 7  # letters of names that may differ in one: many honest short names do
_MOST = 63  # letters of a name in the DNS
# Letters of other scripts that look like Latin ones, and digits and pairs that pass for letters (Unicode's report 39).
_LIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u043a\u043c\u0442\u043d\u0432\u04cf"
    "\u03bf\u03b1\u03c1\u03bd\u03c4\u03c5\u03b9\u03ba\u0131\u0142\u00f8\u00f0\u0261\u026a01i5",
    "aeopcxyljshdqwkmthbloapvtulkllooglolls",
)
_PAIRS = (("rn", "m"), ("vv", "w"), ("-", ""))


def lookalike(site: str, known: Iterable[str]) -> str:
    """Return the first known site that one could take this site for; "" without one.

    >>> known = ["friends.example", "paypal.example", "harbourbank.example"]
    >>> [lookalike(f"{name}.test", known) for name in ("paypa1", "xn--pypal-4ve", "harbourbnak", "paypal")]
    ['paypal.example', 'paypal.example', 'harbourbank.example', '']
    """
    name, shape = _name(site), _shape(_name(site))
    if not name:
        return ""
    for other in known:
        its_name = _name(other)
        if name != its_name and (shape == _shape(its_name) or _is_one_slip(name, its_name)):
            return other
    return ""


def _name(site: str) -> str:
    """Return the first label of a site as a person reads it."""
    label = site.partition(".")[0][:_MOST]
    if not label.startswith("xn--"):
        return label
    try:
        return label.encode("ascii").decode("idna")
    except UnicodeError:
        return label


def _shape(name: str) -> str:
    """Return a name without what the eye passes over."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name.lower()) if not unicodedata.combining(c))
    plain = plain.translate(_LIKE)
    for pair, letter in _PAIRS:
        plain = plain.replace(pair, letter)
    return plain


def _is_one_slip(one: str, other: str) -> bool:
    """Tell whether two long names differ in one letter: changed, added, left out, or exchanged with the next."""
    if min(len(one), len(other)) < _SHORTEST or abs(len(one) - len(other)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if start == 0:  # that a person sees
        return False
    a, b = one[start:], other[start:]
    if a[:1].isdigit() or b[:1].isdigit():  # machines are numbered
        return False
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
