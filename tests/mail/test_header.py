import re
from pathlib import Path

import pytest

import spamnb.mail
from spamnb.mail.limits import DEFAULT_LIMITS, Work
from spamnb.mail.parsing.encoded_words import READ_OF_X, decode_field
from spamnb.mail.parsing.fields import address, addresses, media_type, parameters
from spamnb.mail.parsing.header_block import read_fields
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import read
from tests.table import over_rows


def tokens(header: str) -> set[str]:
    return set(read(header.encode() + b"\n\nbody\n").tokens)


VERDICTS = """X-Spam-Status X-Spam-Flag X-Spam-Level X-Spam-Checker-Version X-Spam-Prev-Subject X-Spam X-Spamd-Bar
    X-Spamd-Result X-Rspamd-Score X-Rspamd-Queue-Id X-Rspamd-Server X-Rspamd-Action X-Bogosity X-Bogofilter
    X-Spambayes-Classification X-DSPAM-Result X-DSPAM-Probability X-CRM114-Status X-Text-Classification
    X-POPFile-Link X-Proofpoint-Spam-Details X-Proofpoint-GUID X-Proofpoint-Virus-Version
    X-MS-Exchange-Organization-SCL X-MS-Exchange-AntiSpam-MessageData X-Forefront-Antispam-Report
    X-Microsoft-Antispam X-Microsoft-Antispam-Mailbox-Delivery X-EOPAttributedMessage
    X-EOPTenantAttributedMessage X-MS-Office365-Filtering-Correlation-Id X-Exchange-Antispam-Report-Test
    SpamDiagnosticOutput SpamDiagnosticMetadata X-SID-Result X-SID-PRA X-Message-Delivery X-Message-Info X-DTFS
    X-AUTH-Result X-IncomingTopHeaderMarker X-SCL X-CMAE-Analysis X-CMAE-Score X-CMAE-Verdict X-CMAE-Envelope
    X_CMAE_Category X-Cloudmark-Score X-CNFS-Analysis X-VR-SPAMSTATE X-VR-SPAMCAUSE X-VR-SPAMSCORE
    X-Vade-Verdict X-VADE-STATUS X-ME-VSCategory X-ME-Cause X-ME-Proxy-Cause X-ProXaD-SC X-Authority-Analysis
    X-CTCH-Spam X-CTCH-RefID X-CT-RefId X-Yandex-Spam X-Mailru-Spam X-Mras X-77F55803 X-7FA49CB5
    X-Rambler-Antivirus X-DrWeb-SpamScore X-Gm-Spam X-Gm-Phishy X-Sophos-ESA X-Sophos-Email-Scan-Details
    X-LASED-SpamProbability X-PMX-Version X-PerlMx-Spam X-PerlMx-Virus-Scanned X-Kaspersky
    X-KLMS-AntiSpam-Status X-KLMS-Rule-ID X-KSE-AntiSpam-Info X-KSE-Antivirus-Info X-KSMG-AntiSpam-Rate
    X-KSMG-Rule-ID X-ESET-AS X-ESET-Antispam X-EsetResult X-EsetId X-AVG-ID X-AVK-Virus-Check X-Bitdefender-Spam
    X-BitDefender-Scanner X-BitDefenderWKS-Spam X-TM-AS-Result X-TM-AS-Product-Ver X-TMASE-Result
    X-TMASE-MatchedRID X-TMN X-IMSS-SCAN-DETAILS X-GFI-SMTP-Submission X-GFIME-MASPAM X-MDAV-Processed
    X-MDaemon-Deliver-To X-MDSPF-Result X-MDPtrLookup-Result X-NAI-Spam-Flag X-NAI-Spam-Score X-SMTPD-Spam
    X-HM-Spam-Status X-QQ-SPAM X-Coremail-Antispam X-AES-Category X-Alimail-AntiSpam X-Barracuda-Spam-Score
    X-Barracuda-Connect X-ASG-Debug-ID X-BESS-Spam-Score X-Amavis-Alert X-Quarantine-ID X-Virus-Scanned
    X-Virus-Status X-Scanned-By X-Acme-MailScanner-SpamCheck X-Acme-MailScanner X-MailScanner-Information
    X-IronPort-AV X-IronPort-Anti-Spam-Filtered IronPort-SDR IronPort-PHdr X-Amp-Result X-SBRS
    X-Brightmail-Tracker X-StarScan-Received X-VirusChecked X-SpamReason X-pstn-levels X-pstn-settings
    X-pstn-disposition X-Mimecast-Spam-Score X-FEAS-SPF X-FE-Policy-ID X-MessageSniffer-Scan-Result
    X-GBUdb-Analysis X-Declude-Sender X-Note X-Weight X-Country-Chain X-SmarterMail-TotalSpamWeight
    X-Kerio-Anti-Spam X-AOL-SCOLL-SCORE X-AOL-Global-Disposition X-YMail-ISG X-YahooFilteredBulk
    X-TOI-EXPURGATEID X-purgate-type X-GMX-Antispam X-GMX-Antivirus X-UI-Filterresults UI-InboundReport
    X-CLX-Score X-CLX-Shades X-ICL-Score X-MANTSH X-Apple-Action X-Apple-MoveToFolder X-Zoho-AV-Stamp
    X-Zoho-Virus-Status X-CanIt-Geo X-Bayes-Prob X-Miltered X-j-chkmail-Score X-DCC-EATSERVER-Metrics X-Pyzor
    X-Razor-Id X-ClamAV X-Assp-Spam-Prob X-Assp-ID X-MC-Relay X-Talos-CUID X-Perception-Point-Verdict
    X-CLOUD-SEC-AV-Info X-Avanan-Scan X-Inky-Outbound-Processed X-Recommended-Action X-Filter-ID
    X-SpamExperts-Class X-Suspicious-Flag X-RBL-Warning X-Blacklist X-DNSBL-Result X-ELNK-AV
    X-WatchGuard-Spam-Score X-Mlf-Threat X-Sender-Reputation X-Greylist X-Policyd-Weight X-Junk-Score
    X-RM-SPAM-FLAG X-Terrace-SpamMark X-hMailServer-Reason-1 X-Antivirus X-Antivirus-Status X-Antivirus-Scanner
    X-NOD32 X-Anti-Virus X-Scan-Signature X-F-Secure X-SpamTitan X-Spam-Report X-Ham-Report X-Trusted
    X-SA-Exim-Scanned X-TFF-CGPSA-Version X-O2-Trust X-WP-AV X-Pm-Spamscore X-OVH-SPAMSTATE X-Nonspam
    X-IP-Spam-Verdict X-Anti-Spam-Verdict X-Content-Check X-Sender-Verify-Result X-Spamprobe X-Ifile-Hint
    Authentication-Results ARC-Authentication-Results Received-SPF X-Received-SPF DKIM-Filter X-DKIM-Result
    X-DMARC-Info X-Sender-ID-Result DomainKey-Status Status X-Status X-Keywords X-UID X-UIDL X-TUID X-IMAPbase
    Lines Content-Length X-Mozilla-Status X-Mozilla-Keys X-Account-Key X-Evolution-Source X-KMail-Identity
    X-Gmail-Labels X-GM-THRID X-Label X-Folder X-FileName X-Origin X-Gmane-NNTP-Posting-Host
    X-Injected-Via-Gmane Xref X-OfflineIMAP Return-Path Delivered-To X-Original-To Envelope-To Delivery-Date
    X-GND-Status X-sfr-mailing X-Terra-Karma X-RAVMilter-Version X-MXL-Hash X-Cloudmilter-Processed X-MailCleaner
    X-Haraka-Karma X-Halon-ID X-hornetdsn X-Fuglu-Suspect X-Panda X-MailMarshal X-Astaro X-K9 X-MDArrival-Date
    X-Envelope-From X-Sieve Replied Forwarded X-MHA-Subject X-TREC-Label X-Corpus-Label""".split()  # noqa: SIM905 - a list
ORDINARY = """List-Id List-Unsubscribe List-Unsubscribe-Post List-Help List-Post List-Archive Precedence X-Mailer
    User-Agent X-Priority X-MSMail-Priority Importance X-MimeOLE Organization Thread-Topic Thread-Index
    DKIM-Signature DomainKey-Signature ARC-Seal ARC-Message-Signature X-Google-DKIM-Signature
    X-Google-Smtp-Source X-Gm-Message-State X-MS-Has-Attach X-MS-TNEF-Correlator X-OriginatorOrg
    X-Originating-IP X-BeenThere X-Mailman-Version X-Loop X-Mailing-List Errors-To Autocrypt
    Auto-Submitted Content-Language Feedback-ID X-SES-Outgoing X-SG-EID X-Mailgun-Sid X-MC-User X-Mandrill-User
    X-CSA-Complaints X-Report-Abuse X-Report-Abuse-To X-AntiAbuse X-Campaign X-Campaign-ID X-Entity-ID
    X-Entity-Ref-ID X-Face X-Habeas-SWE-1 X-PHP-Originating-Script X-Authenticated-Sender X-Source X-Sender
    X-Complaints-To X-Newsreader X-Provags-ID X-Accept-Language X-Sent-Via X-Yahoo-Newman-Id X-YMail-OSG
    X-Rocket-MIMEInfo X-QQ-mid X-QQ-Originating-IP X-CM-SenderInfo X-CM-TRANSID X-Received Comments Keywords
    Disposition-Notification-To Resent-From Resent-To Approved X-Content-Filtered-By
    X-Authentication-Warning X-Auto-Response-Suppress X-GitHub-Reason X-GitHub-Sender X-JIRA-FingerPrint
    X-Bugzilla-Reason X-Bugzilla-Status X-Gitlab-Project X-Launchpad-Bug X-Debian-PR-Message X-Facebook-Notify
    X-LinkedIn-Id X-Amazon-Mail-Relay-Type X-Abuse-Reports-To X-Unsubscribe-Web X-Roving-ID X-Mailin-Campaign
    X-MailerLite X-Operating-System X-Enigmail-Version OpenPGP X-Confirm-Reading-To X-Lotus-FromDomain
    X-Message-Flag X-Originalarrivaltime X-Sasl-Enc X-MD5 X-Bugzilla-Classification X-Jenkins-Result X-Notes-Item
    X-MC-Unique X-ME-Sender X-Forwarded-Encrypted X-Trace X-Mailru-Msgtype""".split()  # noqa: SIM905 - a list


@over_rows("field", ORDINARY)
def test_ordinary_fields_are_told(field):
    """Fields of senders, lists and mail programs remain tokens, even if named like those of filters."""
    assert f"field:{field.lower()}" in tokens(f"{field}: 1")


@over_rows("field", VERDICTS)
def test_verdicts_and_later_additions_are_never_tokens(field):
    """Tokens have no trace of other filters' verdicts, or of additions after delivery."""
    bare = read(b"Subject: x\n\nbody\n")
    for value in ("Yes, score=99", "=?utf-8?q?Spam?=", ""):
        for raw in (f"{field}: {value}\nSubject: x\n\nbody\n", f"Subject: x\n{field.lower()}: {value}\n\nbody\n"):
            assert read(raw.encode()).tokens == bare.tokens


def test_each_field_has_its_own_words():
    """The same word is another token in the subject, in a sender's name and in the body."""
    found = tokens("Subject: offer\nFrom: Offer <offer@offer.example>\nReply-To: offer@else.example")
    assert {"subject:offer", "from-name:offer", "from:offer@offer.example", "from:offer.example"} <= found
    assert {"reply-to:else.example", "reply-to-elsewhere:", "from:example"} <= found
    assert "offer" not in found


def test_the_topmost_received_is_told_from_those_that_can_be_forged():
    """The hosts of the first Received field are other tokens than the claims below it."""
    found = tokens("Received: from a.example ([192.0.2.1])\nReceived: from b.example ([198.51.100.7])")
    assert {"received:a.example", "received-ip:192.0.2.1", "received-ip:192.0"} <= found
    assert {"received-claimed:b.example", "received-claimed-ip:198.51.100", "received-number:2"} <= found
    assert "received:b.example" not in found


def test_other_fields_are_told_by_name():
    """A mailer's words, Message-ID's host, the zone of the date, and the presence of any other field are tokens."""
    found = tokens("X-Mailer: Some Mailer 1.0\nMessage-ID: <1@host.example>\nDate: Mon, 1 Jan 2024 0:0 +0900\nX-Odd: z")
    assert {"x-mailer:mailer", "message-id:host.example", "date-zone:+0900", "field:x-odd"} <= found
    assert not any(token.rpartition(":")[2] == "z" for token in found)


@pytest.mark.parametrize(
    "written", ["<a.b@host.example>", "<a.b@host.example> (added by x@y.example)", "a.b@host.example"]
)
def test_the_host_of_a_message_id(written):
    """A comment behind a Message-ID does not belong to it."""
    assert {t for t in tokens(f"Message-ID: {written}") if "message-id" in t} == {
        *("message-id:host.example", "message-id:example", "message-id-shape:a.a")
    }


def test_a_message_id_without_a_host_is_told():
    """A text without a host occurs only once, and is not a token."""
    assert {t for t in tokens("Message-ID: <A1.B2.C3>") if "message-id" in t} == {
        *("message-id:none", "message-id-shape:Ad.Ad.Ad")
    }


def test_missing_fields_are_told():
    """A message without sender, recipient or subject says so."""
    assert {"from:none", "to:none", "subject:"} <= tokens("X: y")


def test_a_shouting_subject_is_told():
    """A subject all in upper case, and runs of punctuation in it, are tokens."""
    assert {"subject-shouts:", "subject:!!!", "subject:winner"} <= tokens("Subject: YOU ARE A WINNER!!!!!")


@over_rows(
    ("written", "read_as"),
    [
        ("=?utf-8?q?caf=C3=A9?=", "café"),
        ("=?UTF-8?B?Y2Fmw6k=?= au =?iso-8859-1?q?lait_=E9?=", "café au lait é"),
        ("=?utf-8?q?a?=\n =?utf-8?q?b?=", "ab"),
        ("=?x-unknown?q?plain?=", "plain"),
        ("=?utf-8?b?broken*?=", None),
        ("=?utf-8?q?open", "=?utf-8?q?open"),
        ("folded\r\n\tvalue", "folded value"),
        ("raw \udcc3\udca9 bytes", "raw é bytes"),
        ("raw \udce9 bytes", "raw é bytes"),
        ("=?zlib?b?AAAA?=", None),
    ],
)
def test_encoded_words(written, read_as):
    """Encoded words (RFC 2047), folds and raw 8-bit bytes are decoded; broken ones are read as far as they can be."""
    found = decode_field(written)
    assert found if read_as is None else found == read_as


NAMES_OF_X = {
    name
    for path in Path(spamnb.mail.__file__).parent.rglob("*.py")
    for name in re.findall(r"\bx-[a-z-]*[a-z]\b", path.read_text("utf-8"))
}


@over_rows("name", sorted(NAMES_OF_X))
def test_a_field_whose_value_stays_encoded_is_read_by_its_name_alone(name):
    """Whoever reads the value of a field that begins with X- gets it decoded: in both forms it is read alike."""
    encoded, written = (read(f"{name}: {value}\n\nbody\n".encode()) for value in ("=?utf-8?q?=C3=A9t?=", "ét"))
    assert (encoded.tokens, encoded.relations) == (written.tokens, written.relations)
    assert (f"{name}:ét" in encoded.tokens) == (name in READ_OF_X)


@over_rows(
    ("raw", "fields", "stray"),
    [
        (b"A: b\nC: d", (("a", "b"), ("c", "d")), ""),
        (b"A:b\r\n c\r\nD: e\r\n", (("a", "b\n c"), ("d", "e")), ""),
        (b" lost\nA: b\n", (("a", "b"),), ""),
        (b"From me\nA: b\n", (("a", "b"),), ""),
        (b": lost\nA: b\n", (("a", "b"),), ""),
        (b"A: b\nno field\nC: d\n", (("a", "b"),), "no field\nC: d\n"),
        (b"A : b\n", (), "A : b\n"),
        (b"A: \xe9\rB: c\n", (("a", "\udce9"), ("b", "c")), ""),
        (b"", (), ""),
    ],
)
def test_fields_are_cut_as_the_standard_parser_cuts_them(raw, fields, stray):
    """Folded, misplaced and broken lines of a header block."""
    block = read_fields(raw, DEFAULT_LIMITS, Work(1000))
    assert (block.strict().fields, block.stray) == (fields, stray)


@over_rows(
    ("value", "found"),
    [
        ("text/plain", {}),
        ("text/plain;", {}),
        ('text/plain; charset="us-ascii" ; format=flowed', {"charset": "us-ascii", "format": "flowed"}),
        ('a/b; name="a;b"', {"name": "a;b"}),
        ('a/b; name="a\\"b"', {"name": 'a"b'}),
        ("a/b; name*0=long; name*1=.exe", {"name": "long.exe"}),
        ("a/b; name*=utf-8'en'caf%C3%A9", {"name": "café"}),
        ("a/b; name*=zlib'en'caf%C3%A9", {"name": "café"}),
        ("a/b; charset=x; charset=y", {"charset": "x"}),
        ("a/b; charset = x", {"charset": "x"}),
    ],
)
def test_parameters(value, found):
    """Parameters plain, quoted, continued and encoded (RFC 2045, RFC 2231)."""
    assert dict(parameters(value)) == found


def test_a_media_type_that_is_none_is_plain_text():
    """A Content-Type without a slash, or with two, is read as text/plain (RFC 2045, 5.2)."""
    assert [media_type(value) for value in ("", "text", "a/b/c", " IMAGE/gif ;x")] == ["text/plain"] * 3 + ["image/gif"]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("a@b.example", [("", "a@b.example")]),
        ("A B <a@b.example>", [("A B", "a@b.example")]),
        ('"B, A" <a@b.example>', [("B, A", "a@b.example")]),
        ("a@b.example (A B)", [("A B", "a@b.example")]),
        ('J. Doe <j@d.example>, "K" <k@d.example>', [("J. Doe", "j@d.example"), ("K", "k@d.example")]),
        ("friends: a@b.example, c@d.example;", [("", "a@b.example"), ("", "c@d.example")]),
    ],
)
def test_addresses(value, found):
    """Addresses plain, quoted, with comments and in groups (RFC 5322, 3.4)."""
    assert addresses([value]) == found


@over_rows("value", ["", "(" * 4000, "a:" * 2000, "<", '"', "<@a,@b:", ",", "@"])
def test_no_address_is_too_odd(value):
    """Any content of an address field is read without an error."""
    assert isinstance(address(value), tuple)


def test_an_mbox_separator_is_no_field():
    """A `From ` line that a delivery agent left, and blank lines, are before the header block."""
    assert parse(b"From me Thu Jan  1\n\n\nSubject: x\n\nbody").first("subject") == "x"


def test_a_broken_header_block_ends_where_it_breaks():
    """Text without a blank line before it is body."""
    found = read(b"Subject: x\nthis is text\nmore text\n\nstill text\n").tokens
    assert {"header-broken:", "this", "more", "still"} <= found.keys()
