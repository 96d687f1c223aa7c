"""Find out who holds the domain of an address, and so answers for all mail that this domain signs.

It is the site (`site_of`), which one holder divides into as many names as he likes. Two kinds of domains are shared by
strangers, who do not answer for one another. A mailbox provider gives each address to somebody else. Below some names
each name belongs to somebody else: they are public suffixes, or the names that a host gives to its customers.

The list has the few that matter, since a decision about one stranger there would count for all. If it lacks one, a move
to Junk counts for too many, and their mail is judged as if no server vouched for it. Providers: the largest ones of
SpamAssassin's `rules/20_freemail_domains.cf`. Names: of the public suffix list of 2026-10-22, those of countries that
`site_of` does not know, and those of registries and hosts that phishing mails came from, together with Microsoft's. The
public suffix list lacks zendesk.com, which gives a name to each customer (support.zendesk.com, article 4408887388058).
"""

from spamnb.mail.path import site_of

_PROVIDERS = frozenset(
    """126.com 163.com bluewin.ch comcast.net foxmail.com free.fr freenet.de gmail.com googlemail.com icloud.com
    laposte.net libero.it mac.com mail.com mail.de mail.ru me.com msn.com orange.fr pm.me posteo.de posteo.net
    proton.me protonmail.com qq.com rediffmail.com rocketmail.com seznam.cz t-online.de tuta.com tutanota.com
    uol.com.br wanadoo.fr web.de wp.pl ymail.com zohomail.com zohomail.eu""".split()  # noqa: SIM905 - else 38 lines
)
_IN_MANY_COUNTRIES = frozenset({"aol", "fastmail", "gmx", "hotmail", "live", "outlook", "yahoo", "yandex"})
_SHARED = frozenset(
    """asso.fr blog.br br.com cn.com co.com de.com eu.com firebaseapp.com gb.net github.io gouv.fr govt.nz jpn.com
    myshopify.com onmicrosoft.com police.uk ru.com sa.com school.nz uk.com uk.net us.com web.app za.com
    zendesk.com""".split()  # noqa: SIM905 - as above
)

_IN_TWO_WAYS = frozenset("\u00df\u03c2\u200c\u200d")


def holder_of(address: str) -> str:
    """Return who answers for mail of an address: a site, a name below a shared one, or the address itself; or "".

    >>> holder_of("offers@mail.shop.example"), holder_of("ann@gmail.com"), holder_of("ann@mail.firm.onmicrosoft.com")
    ('shop.example', 'ann@gmail.com', 'firm.onmicrosoft.com')
    """
    domain = in_the_dns(address.rpartition("@")[2])
    site = site_of(domain)
    if site in _PROVIDERS or site.partition(".")[0] in _IN_MANY_COUNTRIES:
        return f"{address.rpartition('@')[0].lower()}@{domain}"
    return "" if "[" in domain else registrant_of(domain)  # the address of a machine (RFC 5321, 4.1.3)


def registrant_of(domain: str) -> str:
    """Return the name that one holder has registered, of a domain in the letters of the DNS: a site, or a shared name.

    >>> registrant_of("mx1.mail.de"), registrant_of("mx.firm.de.com"), registrant_of("de.com")
    ('mail.de', 'firm.de.com', 'de.com')
    """
    shared = next((name for name in _SHARED if domain.endswith(f".{name}")), "")
    return f"{domain.removesuffix(f'.{shared}').rpartition('.')[2]}.{shared}" if shared else site_of(domain)


def is_shared(domain: str) -> bool:
    """Tell whether strangers have the names below a domain, in the letters of the DNS."""
    return domain in _SHARED


def in_the_dns(domain: str) -> str:
    """Return a domain in lower case and in the letters of the DNS; "" if it cannot exist, or if it may be two.

    Two standards write some letters differently (UTS 46, section 7): to one of them `straße` is `strasse`.
    """
    domain = domain.lower().strip(".")
    if not _IN_TWO_WAYS.isdisjoint(domain):
        return ""
    try:
        return domain if domain.isascii() else domain.encode("idna").decode("ascii")
    except UnicodeError:
        return ""
