"""Hosts and URLs to tokens."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import unquote

_HOST_CHARS = 100
IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_ID_CHARS = 8  # a word of a path that is so long and has digits is an identifier, and is met once
_PATH_WORD = re.compile(r"[^\W_]{2,24}")


@lru_cache(maxsize=2048)  # a mailbox meets the same hosts again and again: half of the time that they took
def hosts(prefix: str, host: str) -> tuple[str, ...]:
    """A host and its parent domains, at most five of them.

    >>> hosts("url", "www.shop.example.com")
    ('url:www.shop.example.com', 'url:shop.example.com', 'url:example.com', 'url:com')
    """
    parents = [host.strip(".").lower()[-_HOST_CHARS:]]
    while len(parents) < 5 and (parent := parents[-1].partition(".")[2]):
        parents.append(parent)
    return tuple(f"{prefix}:{parent}" for parent in parents)


def urls(written: Iterable[str]) -> Iterator[str]:
    """What URLs say: host and parent domains, the words of the path, and what honest links do not have.

    >>> list(urls(["http://user@example.com/buy"]))
    ['url-user', 'url:example.com', 'url:com', 'url-path:buy']
    """
    for url in dict.fromkeys(written):
        scheme, found, rest = url.partition("://")
        if not found:
            scheme, rest = ("http", url) if url.lower().startswith("www.") else (url.partition(":")[0], "")
        if scheme.lower() not in {"http", "https"}:
            yield f"url-scheme:{scheme.lower()[:10]}"
            if scheme.lower() == "mailto":
                yield from hosts("mail", url.partition("@")[2].partition("?")[0][:100])
            continue
        authority, _, path = rest.partition("/")
        user, _, host = authority.rpartition("@")
        if user:
            yield "url-user"
        if "%" in host:
            yield "url-host-escaped"
        host, _, port = unquote(host[:255]).partition(":")
        if port not in {"", "80", "443"}:
            yield "url-port"
        if IPV4.fullmatch(host):
            yield "url-ip"
        yield from hosts("url", host)
        steps = _PATH_WORD.findall(path[:200].lower())[:8]
        yield from (f"url-path:{word}" for word in steps if len(word) < _ID_CHARS or word.isalpha())
