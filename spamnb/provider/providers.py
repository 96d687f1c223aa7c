"""What a provider asks of a mail program, by the name of its IMAP server. Looked up on 2026-11-28."""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple


class Wanted(Enum):
    """What a server wants from a mail program that logs in."""

    PASSWORD = "Password"  # noqa: S105 - the word in the question for one
    APP_PASSWORD = "App password"  # noqa: S105
    OAUTH2 = "OAuth2"


class Provider(NamedTuple):
    """A provider. step: what a person has to do first. page: the provider's own page about this.

    site: of the servers that write Authentication-Results; "" if mail must tell, or if it differs from user to user.
    """

    name: str
    wants: Wanted
    step: str
    page: str
    site: str = ""

    @property
    def told(self) -> str:
        """Return the name, the step and the page, in one line."""
        return f"{self.name}: {self.step} ({self.page})."


_APP = "it wants an app password, which you make in the settings of the account"
_APP_IF_TWO = "it wants the password of the account; if you log in with a second factor, it wants an app password"
_GOOGLE = f"{_APP}, once the account has 2-Step Verification"
_MICROSOFT = (
    "https://learn.microsoft.com/exchange/clients-and-mobile-in-exchange-online/"
    "deprecation-of-basic-authentication-exchange-online"
)
_ALLOW = f"first allow IMAP in the settings of the account. Then {_APP_IF_TWO}"

_ROWS: Final[Mapping[tuple[str, ...], Provider]] = {
    # The page was read.
    ("imap.mail.yahoo.com",): Provider(
        "Yahoo", Wanted.APP_PASSWORD, _APP, "https://help.yahoo.com/kb/SLN15241.html", "yahoo.com"
    ),
    ("imap.fastmail.com",): Provider(
        "Fastmail",
        Wanted.APP_PASSWORD,
        _APP,
        "https://www.fastmail.com/help/technical/servernamesandports.html",
        "messagingengine.com",
    ),
    ("imap.gmx.net", "imap.gmx.com"): Provider(
        "GMX",
        Wanted.PASSWORD,
        _ALLOW,
        "https://hilfe.gmx.net/sicherheit/2fa/anwendungsspezifisches-passwort.html",
        "gmx.net",
    ),
    ("posteo.de",): Provider(
        "Posteo",
        Wanted.PASSWORD,
        "it wants the password of the account, unless the additional protection of the account is on",
        "https://posteo.de/en/help/activating-additional-email-account-protection",
        "posteo.de",
    ),
    ("imap.mailbox.org",): Provider(
        "mailbox.org", Wanted.PASSWORD, _APP_IF_TWO, "https://kb.mailbox.org/en/private/e-mail/e-mail-configuration"
    ),
    tuple(f"{name}.zoho.{end}" for name in ("imap", "imappro") for end in ("com", "eu", "in")): Provider(
        "Zoho",
        Wanted.PASSWORD,
        _ALLOW,
        "https://help.zoho.com/portal/kb/articles/manage-application-specific-passwords",
    ),
    # The page could not be had: others report this, with the address of the page.
    ("imap.gmail.com", "imap.googlemail.com"): Provider(
        "Gmail", Wanted.APP_PASSWORD, _GOOGLE, "https://support.google.com/accounts/answer/185833", "google.com"
    ),
    ("outlook.office365.com", "outlook.office.com", "imap-mail.outlook.com"): Provider(
        "Microsoft 365 or Outlook.com", Wanted.OAUTH2, "it accepts no password, only OAuth2", _MICROSOFT
    ),
    ("imap.mail.me.com",): Provider(
        "iCloud", Wanted.APP_PASSWORD, _APP, "https://support.apple.com/102654", "icloud.com"
    ),
    ("imap.aol.com",): Provider(
        "AOL", Wanted.APP_PASSWORD, _APP, "https://login.aol.com/account/security", "yahoo.com"
    ),
    ("imap.web.de",): Provider(
        "WEB.DE", Wanted.PASSWORD, _ALLOW, "https://hilfe.web.de/pop-imap/einschalten.html", "web.de"
    ),
}
PROVIDERS: Final = tuple(_ROWS.values())
_BY_HOST: Final = {host: provider for hosts, provider in _ROWS.items() for host in hosts}


def provider_at(host: str) -> Provider | None:
    """Return the provider that has an IMAP server of that name, or None.

    >>> provider_at("IMAP.gmx.net").name
    'GMX'
    """
    return _BY_HOST.get(host.lower())


def site_at(host: str) -> str:
    """Return the site of the servers that write Authentication-Results for that IMAP server; "" if mail must tell."""
    provider = provider_at(host)
    return "" if provider is None else provider.site
