"""Turn hosts and URLs into tokens."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import unquote

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.path import site_of

_HOST_CHARS = 100
IPV4 = lazy_pattern(r"\d{1,3}(?:\.\d{1,3}){3}")
_ODD_IPV4 = lazy_pattern(r"(?:(?:0x[0-9a-f]{0,12}|\d{1,12})\.){0,3}(?:0x[0-9a-f]{1,12}|\d{1,12})")  # 0x7f.1, 2130706433
_ID_CHARS = 8  # in a path, a number this long is an identifier, like letters with digits: it occurs once
_MOST_NUMBERS = 3  # in a label of a host: a label with more is an identifier
_DIGITS = lazy_pattern(r"[0-9]+")
_PATH_WORD = lazy_pattern(r"[^\W_]{2,24}")
_SCHEME = lazy_pattern(r"([a-z][a-z0-9+.-]{1,20}):", re.IGNORECASE)
_IGNORED = str.maketrans("", "", "\t\r\n")
_SLASHES = "/\\"
_TWO_SLASHES = ("//", "/\\", "\\/", "\\\\")
_WEB = frozenset({"http", "https"})
_AUTHORITY_END = lazy_pattern(r"[/?#\\]")
_HOST_END = lazy_pattern(r"[^\w.-]")  # a text's marks after a host: commas, quotation marks
# The target that a redirector carries, plain or in Proofpoint's form.
_TARGET = lazy_pattern(r"https?(?::[/\\]{1,2}|-3a__)(?:www\.)?([a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,5})")


@lru_cache(maxsize=2048)  # the same hosts occur again and again in a mailbox
def hosts(prefix: str, host: str) -> tuple[str, ...]:
    """Return a host and its parent domains, at most five of them.

    >>> hosts("url", "www.shop.example.com")
    ('url:www.shop.example.com', 'url:shop.example.com', 'url:example.com', 'url:com')
    """
    parents = [_unnumbered(host.strip(".").lower()[-_HOST_CHARS:])]
    while len(parents) < 5 and (parent := parents[-1].partition(".")[2]):
        parents.append(parent)
    return tuple(f"{prefix}:{parent}" for parent in parents)


def _unnumbered(host: str) -> str:
    """Return a host below its registered domain without the number of the machine or customer in its first label.

    >>> _unnumbered("mail217.suw10.mcsv.example"), _unnumbered("20261102.shop.example"), _unnumbered("shop24.co.uk")
    ('maild.suw10.mcsv.example', 'shop.example', 'shop24.co.uk')
    """
    label, _, parent = host.partition(".")
    if label.isalpha() or site_of(host) in ("", host):
        return host
    if label.isdecimal():
        return host if len(label) < _ID_CHARS else parent
    if max([len(_DIGITS.findall(piece)) for piece in label.split("-")]) > _MOST_NUMBERS:
        return parent
    return f"{_DIGITS.sub('d', label)}.{parent}"


def urls(written: Iterable[str]) -> Iterator[str]:
    """Yield the tokens of URLs: host and parent domains, the words of the path, and oddities that honest links lack.

    URLs are read as browsers read them (WHATWG URL Standard): line ends in them do not count, a backslash is a slash,
    and the number of slashes before the host does not matter.

    >>> list(urls(["http://user@example.com/buy"]))
    ['url-user:', 'url:example.com', 'url:com', 'url-path:buy']
    """
    for url in dict.fromkeys(written):
        scheme, rest = _parts(url)
        if scheme in _WEB:
            yield from _web(rest)
        else:
            yield f"url-scheme:{scheme[:10]}"
            if scheme == "mailto":
                yield from hosts("mail", _HOST_END.split(unquote(rest[:500]).partition("@")[2], maxsplit=1)[0][:100])


def _parts(url: str) -> tuple[str, str]:
    """Return the scheme in lower case, `none` for a link within the site, and the rest of the URL."""
    if not url.isprintable():
        url = url.translate(_IGNORED).strip()
    if url.startswith(_TWO_SLASHES):
        return "http", url.lstrip(_SLASHES)
    if url[:4].lower() == "www.":
        return "http", url
    found = _SCHEME.match(url)
    if found is None:
        return "none", url
    scheme, rest = found[1].lower(), url[found.end() :]
    return scheme, rest.lstrip(_SLASHES) if scheme in _WEB else rest


def _web(rest: str) -> list[str]:
    end = _AUTHORITY_END.search(rest)
    authority, path = (rest[: end.start()], rest[end.end() :]) if end else (rest, "")
    tokens: list[str] = []
    user, _, host = authority.rpartition("@")
    if user:
        tokens.append("url-user:")
    if "%" in host:
        tokens.append("url-host-escaped:")
    host = unquote(host[:255]).lower()
    if host.startswith("["):
        tokens += ("url-ip:", f"url:{host.partition(']')[0][1:41]}")
    else:
        host, _, port = host.partition(":")
        if port.isdecimal() and port not in {"80", "443"}:
            tokens.append("url-port:")
        tokens += _host(_HOST_END.split(host, maxsplit=1)[0].strip("."))
    path = unquote(path[:600]).lower()
    if "http" in path:
        for target in dict.fromkeys(_TARGET.findall(path)):
            tokens += ("url-redirects:", *hosts("url", target))
    steps = _PATH_WORD.findall(path[:200])[:8]
    tokens += [f"url-path:{step}" for step in steps if step.isalpha() or (step.isdecimal() and len(step) < _ID_CHARS)]
    return tokens


@lru_cache(maxsize=2048)  # for the reason of `hosts`
def _host(host: str) -> tuple[str, ...]:
    if IPV4.fullmatch(host):
        a, b, c, _ = host.split(".")
        return ("url-ip:", f"url:{host}", f"url-ip:{a}.{b}.{c}", f"url-ip:{a}.{b}")
    if _ODD_IPV4.fullmatch(host):
        return ("url-ip:", "url-ip-odd:")
    odd = ("url-idn:",) if "xn--" in host or not host.isascii() else ()
    return odd + hosts("url", host)
