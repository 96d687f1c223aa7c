"""Header fields that are never read: the verdicts of filters, and the additions of mail software after delivery.

From verdicts this filter would learn another filter's opinion; from additions, the acts of the user's own programs.
"""

from functools import lru_cache

from spamnb.base.patterns import lazy_pattern

# In the name of a verdict field of any product: X-Acme-MailScanner-SpamCheck, X-VR-SPAMSTATE …
_WORDS = tuple(
    """allow-list allowlist antivir bayes black-list blacklist block-list blocklist bogo dnsbl filteredbulk graylist
    greylist infected junk malware phish quarantine reputation safe-list safelist scan score spam suspicious
    threat trusted verdict virus white-list whitelist""".split()  # noqa: SIM905 - names read more easily without quotes
)
_PARTS = frozenset({"as", "av", "sbrs", "scl"})  # between hyphens
_VERDICT = lazy_pattern(
    r"x-(?!bugzilla-|jenkins-).*"
    r"(?:filter(?!ed-by)|check(?!sum)|analysis|result|classif|disposition|rbl|spf|dmarc|sender-?id)"
    r"|x-.*dkim(?!-signature)|(?:arc-)?authentication-results|received-spf|(?:dkim|dmarc|spf)-filter"
    r"|ui-(?:in|out)boundreport|ironport-|domainkey-status|x-[0-9a-f]{8}$"  # Mail.ru
)
# A field that begins like this after "x-" is a product's verdict, or an addition of mail software, archives or corpora.
_BEGINNINGS = tuple(
    """account-key acl-warn aes- agari amavis amp- aol-global aol-reroute aol-scoll aol-vss apple-action
    apple-movetofolder area1 asg- assp astaro auth-result authority authresult avanan avast avg avira barracuda
    bess bitdefender brightmail canit clam claws cloudmark cloudmilter clx- cmae cnfs contentstamp corpus
    country-chain crm114 ct-ch ct-refid ctasd ctch cyren dcc- declude drweb dtfs elnk envelope eop eset evolution
    exchange expurgate f-prot f-secure fe- feas filename folder forefront forti fprot fsecure fuglu gbudb gfi gm-
    gmail- gmane gmx-anti gnd- gnus gwava halon- ham-report haraka- helo-warning hm- hmail hornet icl- ifile imap
    imss incoming injected-via inky interscan ironport j-chkmail k9- kaspersky katharion kav kerio klms kmail kse-
    ksmg label lased libja lookup-warning lpn mailcleaner mailmarshal mailwasher mantsh mc-relay md me-cause
    me-proxy-cause me-vs message-delivery message-info messagesniffer mha- microsoft-anti miltered mimecast mlf
    modusmail mozilla mras ms-exchange ms-office365 mutt mxl nai- netstation nod32 norton note- o2-trust
    offlineimap panda perception perlmx pmx policy popfile proofpoint proxad pstn puremessage purgate pyzor
    rambler rav razor rbl-warning recommended-action retarus sa- sanesecurity sbclass sbnote sbpass sbrule
    sender-warning sfr- sid- sieve smartermail smtpd- snf sonicwall sophos spamnb starscan surfcontrol sylpheed
    symantec talos terra-karma tff tiscali-rating tm- tmase tmn toi- trec trend uid vade vipre vr- warning
    watchguard webshield weight wss- yandex-fwd ymail-isg ymailisg zoho-av""".split()  # noqa: SIM905
)
_KEPT = ("gm-message-state", "md5", "mdid", "mdn")
_NAMES = frozenset(
    """content-length delivered-to delivery-date envelope-to forwarded lines old-return-path replied return-path
    status x-apparently-to x-attached x-bcc x-cc x-checker-version x-delivered-to x-from x-k9 x-keywords x-level
    x-mail-format-warning x-message-status x-note x-origin x-original-to x-resolved-to x-status x-to x-tuid
    xchecker-version xlevel xref xstatus""".split()  # noqa: SIM905
)


@lru_cache(maxsize=1024)
def is_never_read(name: str) -> bool:
    """Tell whether the field of that name, in lower case, never becomes a token."""
    plain = f"x-{name[2:]}" if name.startswith("x_") else name
    return (
        plain in _NAMES
        or (plain.startswith("x-") and plain.startswith(_BEGINNINGS, 2) and not plain.startswith(_KEPT, 2))
        or any(word in name for word in _WORDS)
        or _VERDICT.match(name) is not None
        or not _PARTS.isdisjoint(name.split("-"))
    )
