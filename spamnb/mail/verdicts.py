"""Header fields that are never read: the verdict of any filter, and what mail software adds after delivery.

The first would make this filter learn another one's opinion, the second what the user's own programs did.
"""

import re
from functools import lru_cache

# Verdicts by what is in the name, whatever product writes it: X-Acme-MailScanner-SpamCheck, X-VR-SPAMSTATE …
_VERDICT = re.compile(
    r"spam|virus|antivir|malware|phish|junk|scan|score|bayes|bogo|verdict|reputation|quarantine|suspicious|infected"
    r"|threat|greylist|graylist|(?:black|white|block|allow|safe)-?list|dnsbl|filteredbulk|trusted"
    r"|^x-(?!bugzilla-|jenkins-).*(?:filter(?!ed-by)|check(?!sum)|analysis|result|classif|disposition|rbl|spf|dmarc|sender-?id)"
    r"|^x-.*dkim(?!-signature)|^(?:x-)?(?:.*-)?(?:as|av|scl|sbrs)(?:-|$)|^(?:arc-)?authentication-results|^received-spf"
    r"|^(?:dkim|dmarc|spf)-filter|^ui-(?:in|out)boundreport|^ironport-|^domainkey-status|^x-[0-9a-f]{8}$"  # Mail.ru
)
# Verdicts by product, where the name says nothing; and what mail software, archives and corpora add after delivery.
_NEVER = re.compile(
    r"x[-_](?:asg-|crm114|barracuda|bess|amavis|proofpoint|forefront|microsoft-anti|ms-exchange|exchange|eop|ms-office365"
    r"|gmx-anti|ham-report|popfile|sa-|klms|kse-|ksmg|kaspersky|kav|drweb|cloudmark|purgate|expurgate|ironport|amp-|policyd"
    r"|pmx|perlmx|puremessage|sophos|lased|cmae|cnfs|vr-|vade|me-vs|me-(?:proxy-)?cause|proxad|lpn|authority|ct-?ch|ctasd"
    r"|cyren|ct-refid|mras|rambler|yandex-fwd|gm-(?!message-state)|eset|nod32|avast|avg|avira|bitdefender|norton"
    r"|symantec|brightmail|starscan|pstn|tm-|tmase|tmn|trend|imss|interscan|gfi|md(?!n|5|id$)|nai-|wss-|watchguard|mlf"
    r"|sonicwall|smtpd-|hmail|hm-|aes-|f-?secure|fe-|feas|forti|mimecast|messagesniffer|snf|gbudb|warning"
    r"|(?:lookup|rbl|sender|helo)-warning|declude|note(?:-|$)|weight|country-chain|smartermail|kerio|aol-(?:scoll|vss|reroute|global)|ymail-?isg|toi-"
    r"|clx-|icl-|mantsh|apple-(?:action|movetofolder)|zoho-av|canit|miltered|j-chkmail|dcc-|pyzor|razor|clam|assp|tff"
    r"|mc-relay|talos|perception|avanan|inky|area1|agari|recommended-action|elnk|contentstamp|sb(?:class|note|pass"
    r"|rule)|gnd-|sfr-|terra-karma|libja|rav|mxl|cloudmilter|mailcleaner|netstation|haraka-|halon-|hornet|retarus"
    r"|fuglu|sanesecurity|f-?prot|panda|vipre|surfcontrol|mailmarshal|webshield|katharion|modusmail|gwava|k9(?:-|$)"
    r"|mailwasher|astaro|acl-warn|tiscali-rating|o2-trust|sid-|message-(?:delivery|info)|dtfs|auth-?result|incoming"
    r"|mozilla|evolution|account-key|gmail-|kmail|mutt|sylpheed|claws|gnus|label|folder|filename|origin$|from$|to$|cc$"
    r"|bcc$|gmane|injected-via|mha-|trec|corpus|ifile|keywords$|uid|tuid$|imap|original-to$|delivered-to$|envelope|offlineimap"
    r"|(?:message-)?status$|sieve|mail-format-warning$|resolved-to$|spamnb|policy)"
    r"|(?:status|lines|content-length|delivered-to|envelope-to|(?:old-)?return-path|replied|forwarded|xref|delivery-date"
    r"|x-apparently-to|x-?(?:status|level|checker-version)|x-attached)$"
)


@lru_cache(maxsize=1024)
def is_never_read(name: str) -> bool:
    """Whether the field of that name, in lower case, is none of the filter's business."""
    return _NEVER.match(name) is not None or _VERDICT.search(name) is not None
