"""Honest mail of today, by sending system."""

from tests.mail.today.mime import Draft, File
from tests.mail.today.parts import button, calendar, gzipped, inline_calendar, page, pdf, zipped
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

_REPORT = b"""<?xml version="1.0"?><feedback><report_metadata><org_name>webpost.example</org_name></report_metadata>
<record><row><source_ip>192.0.2.7</source_ip><count>4</count></row></record></feedback>
"""
_REHEARSAL = calendar(
    "REQUEST",
    "Summer rehearsal of the choir",
    "Please bring the blue folder and a pencil. We begin with the second movement and have tea at three.",
    "Parish hall\\, Harbour Street 4",
    "Rita Holm <rita.holm@webpost.example>",
    "5t3k9q2m7c1v8b4n6x0z@calendar.webpost.example",
)
_REVIEW = calendar(
    "CANCEL",
    "Cancelled: quarterly budget review",
    "The auditors need another week. I will send a new date as soon as I have one.",
    "Room Skagen",
    "Ola Berg <ola.berg@northmill.example>",
    "040000008200E00074C5B7101A82E00800000000A0B1C2D3E4F5",
)

HONEST: tuple[tuple[System, Draft], ...] = (
    (
        numbered_sender,
        Draft(
            "newsletter-of-a-shop",
            "Fjord Garden <news@fjordgarden.example>",
            "What to sow in June",
            """Hello Anna,

June is the month for beans, beetroot and the second sowing of carrots. Our gardeners have written down
what grows well by the sea, and which seeds can wait until August.

Read the calendar: [[https://fjordgarden.example/june]]

You get this letter because you subscribed in our shop. Unsubscribe: [[https://fjordgarden.example/bye]]
Fjord Garden, Harbour Street 12, Bergen
""",
            page(
                "Beans, beetroot and carrots: our calendar for the kitchen garden",
                """<h1>What to sow in June</h1>
<p>Hello Anna,</p>
<p>June is the month for beans, beetroot and the second sowing of carrots. Our gardeners have written down
what grows well by the sea, and which seeds can wait until August.</p>"""
                + button("https://fjordgarden.example/june", "Read the calendar")
                + """<p style="font-size:11px">You get this letter because you subscribed in our shop.
<a href="[[https://fjordgarden.example/bye]]">Unsubscribe</a><br>Fjord Garden, Harbour Street 12, Bergen</p>""",
            ),
        ),
    ),
    (
        numbered_sender,
        Draft(
            "receipt-with-pdf",
            "Fjord Garden <orders@fjordgarden.example>",
            "Your order 20418 at Fjord Garden",
            """Hello Anna,

thank you for your order. We pack it today.

2 x bean seeds, climbing     58.00
1 x garden fleece, 10 m     129.00
Delivery                     49.00
Sum                         236.00

The receipt is attached. Your order: [[https://fjordgarden.example/orders/20418]]
Questions? Answer this letter, and Kari will help you.
""",
            page(
                "We pack your bean seeds and the garden fleece today",
                """<h1>Thank you for your order</h1><p>Hello Anna, we pack it today.</p>
<table><tr><td>2 x bean seeds, climbing</td><td>58.00</td></tr><tr><td>1 x garden fleece, 10 m</td><td>129.00</td></tr>
<tr><td>Delivery</td><td>49.00</td></tr><tr><td>Sum</td><td>236.00</td></tr></table>
<p>The receipt is attached.</p>"""
                + button("https://fjordgarden.example/orders/20418", "Your order")
                + "<p>Questions? Answer this letter, and Kari will help you.</p>",
            ),
            attached=(pdf("receipt-20418.pdf"),),
        ),
    ),
    (
        cloud_sender,
        Draft(
            "confirmation-of-a-sign-up",
            "Night Train Map <hello@nighttrains.example>",
            "Please confirm your address",
            """Welcome to Night Train Map!

Somebody, most likely you, made an account with this address. Please confirm it within a day:

[[https://nighttrains.example/confirm?token=9f7c2a51e8d04b36]]

If it was not you, do nothing: the account is deleted by itself.
""",
            page(
                "One step, and your account is ready",
                """<h2>Welcome to Night Train Map!</h2>
<p>Somebody, most likely you, made an account with this address. Please confirm it within a day.</p>"""
                + button("https://nighttrains.example/confirm?token=9f7c2a51e8d04b36", "Confirm my address")
                + "<p>If it was not you, do nothing: the account is deleted by itself.</p>",
            ),
        ),
    ),
    (
        cloud_sender,
        Draft(
            "notice-of-a-shipment",
            "Bokhuset <shipping@bokhuset.example>",
            "Your books are on their way",
            """Hello Anna,

we handed your parcel with two books to the post this morning. It should reach the shop at the corner of Mill Lane on
Thursday; you get a message with the shelf number then.

Follow it: [[https://bokhuset.example/parcels/370722153418]]

With best wishes from the bookshop
Marit and Jonas
""",
            page(
                "Two books, at Mill Lane on Thursday",
                """<p>Hello Anna,</p><p>we handed your parcel with two books to the post this morning. It should reach
the shop at the corner of Mill Lane on Thursday; you get a message with the shelf number then.</p>"""
                + button("https://bokhuset.example/parcels/370722153418", "Follow the parcel")
                + "<p>With best wishes from the bookshop<br>Marit and Jonas</p>",
            ),
        ),
    ),
    (
        list_sender,
        Draft(
            "newsletter-of-a-choir",
            "Harbour Choir <rita@harbourchoir.example>",
            "Concert in the old cannery, and who bakes the cake",
            """Dear singers,

the concert in the old cannery is sold out, thanks to all who put up posters. We meet at five, in black, with folders.
For the party afterwards we still need two cakes and somebody who can drive the piano stool home.

The plan for the day: [[https://harbourchoir.example/concert]]

See you on Wednesday
Rita
""",
            page(
                "We meet at five, in black, with folders",
                """<p>Dear singers,</p><p>the concert in the old cannery is sold out, thanks to all who put up
posters. We meet at five, in black, with folders. For the party afterwards we still need two cakes and somebody who can
drive the piano stool home.</p>"""
                + button("https://harbourchoir.example/concert", "The plan for the day")
                + "<p>See you on Wednesday<br>Rita</p>",
            ),
        ),
    ),
    (
        list_sender,
        Draft(
            "newsletter-of-a-museum",
            "Maritime Museum <post@seamuseum.example>",
            "Open late in June: knots, charts and a lighthouse keeper",
            """Every Thursday in June the museum is open until nine.

On the 11th Ingrid Moe shows how charts were drawn before there were satellites; on the 18th you learn eight knots;
on the 25th the last keeper of the lighthouse tells of forty winters. Members and children have free entry.

The programme: [[https://seamuseum.example/june]]
""",
            page(
                "Thursdays until nine, free for members",
                """<h1>Open late in June</h1><p>Every Thursday in June the museum is open until nine.</p>
<ul><li>On the 11th Ingrid Moe shows how charts were drawn before there were satellites;</li>
<li>on the 18th you learn eight knots;</li>
<li>on the 25th the last keeper of the lighthouse tells of forty winters.</li></ul>
<p>Members and children have free entry.</p>"""
                + button("https://seamuseum.example/june", "The programme"),
            ),
        ),
    ),
    (
        web_mailbox,
        Draft(
            "letter-with-a-photo",
            "Jonas Vik <jonas.vik@webpost.example>",
            "The boat is painted",
            """Hi Anna,

it took three weekends, but she is blue again. Do you and Per want to come along on Sunday if the weather holds?
We could have lunch on the island, I bring the stove and coffee.

Jonas
""",
            '<div dir="ltr">Hi Anna,<div><br></div><div>it took three weekends, but she is blue again. Do you and Per'
            " want to come along on Sunday if the weather holds? We could have lunch on the island, I bring the stove"
            " and coffee.</div><div><br></div><div>Jonas</div></div>\n",
            attached=(File("image/jpeg", "IMG_20260530_164512.jpg", b"\xff\xd8\xff" + bytes(range(256)) * 20),),
        ),
    ),
    (
        web_mailbox,
        Draft(
            "invitation-to-a-rehearsal",
            "Rita Holm <rita.holm@webpost.example>",
            "Invitation: Summer rehearsal of the choir @ Wed 17 Jun 2026 14:00 (anna.lind@home.example)",
            """Summer rehearsal of the choir
Wednesday 17 Jun 2026, 14:00 to 15:00, Parish hall, Harbour Street 4

Please bring the blue folder and a pencil.
Reply for anna.lind@home.example: [[https://calendar.webpost.example/event?action=RESPOND&eid=NXQzazlxMm03YzF2OGI0]]
""",
            """<div><h2>Summer rehearsal of the choir</h2>
<p>Wednesday 17 Jun 2026, 14:00 to 15:00, Parish hall, Harbour Street 4</p><p>Please bring the blue folder and a
pencil.</p><a href="[[https://calendar.webpost.example/event?action=RESPOND&eid=NXQzazlxMm03YzF2OGI0]]">Yes</a></div>
""",
            invitation=inline_calendar("REQUEST", _REHEARSAL),
            attached=(File("application/ics", "invite.ics", _REHEARSAL),),
        ),
    ),
    (
        office_server,
        Draft(
            "minutes-from-a-colleague",
            "Ola Berg <ola.berg@northmill.example>",
            "Minutes of Tuesday, and the figures for May",
            """Hi Anna,

attached are the minutes of Tuesday. Could you check the paragraph on the new kiln before I send them round?
The figures for May are in the usual folder; the energy costs are lower than we thought.

Kind regards
Ola Berg
Northmill Ceramics
""",
            """<html><head><style>p.MsoNormal {margin:0cm; font-size:11.0pt}</style></head><body lang="EN-GB">
<p class="MsoNormal">Hi Anna,<o:p></o:p></p><p class="MsoNormal">attached are the minutes of Tuesday. Could you check
the paragraph on the new kiln before I send them round? The figures for May are in the usual folder; the energy
costs are
lower than we thought.<o:p></o:p></p><p class="MsoNormal">Kind regards<br>Ola Berg<br>Northmill Ceramics</p></body>
</html>
""",
            attached=(
                File(
                    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                    "Minutes 2026-06-02.docx",
                    b"PK\x03\x04" + bytes(range(256)) * 20,
                ),
            ),
        ),
    ),
    (
        office_server,
        Draft(
            "cancelled-meeting",
            "Ola Berg <ola.berg@northmill.example>",
            "Cancelled: quarterly budget review",
            """The auditors need another week. I will send a new date as soon as I have one.
""",
            """<html><body><p class="MsoNormal">The auditors need another week. I will send a new date as soon as I
have one.</p></body></html>
""",
            invitation=inline_calendar("CANCEL", _REVIEW),
        ),
    ),
    (
        office_server,
        Draft(
            "letter-of-a-school",
            "Lower Mill School <office@lowermill.example>",
            "Summer excursion of class 4b",
            """Dear parents,

on Friday the class walks to the lighthouse. The children need a rain jacket, good shoes and something to eat. We leave
at half past eight and are back by two. Please tell us by Wednesday if your child cannot come along.

Kind regards
Solveig Dahl, class teacher
""",
            attached=(pdf("excursion-4b.pdf"),),
        ),
    ),
    (
        code_forge,
        Draft(
            "comment-on-an-issue",
            "rita-h <notifications@codeforge.example>",
            "Re: [lind/harbour] Tides are an hour late in summer (Issue #412)",
            """I can reproduce this with the tables of 2026. The parser drops the zone where the line ends in a comment;
see `parse_line` in tables.py. A test that fails is on my branch, I will open a pull request tonight.

--
Reply to this email directly or view it on CodeForge:
[[https://codeforge.example/lind/harbour/issues/412#issuecomment-2891734455]]
You are receiving this because you are subscribed to this thread.

Message ID: <lind/harbour/issues/412/2891734455@codeforge.example>
""",
            """<p dir="auto">I can reproduce this with the tables of 2026. The parser drops the zone where the line ends
in a comment; see <code>parse_line</code> in tables.py. A test that fails is on my branch, I will open a pull request
tonight.</p><p style="font-size:small;color:#666">Reply to this email directly or <a
href="[[https://codeforge.example/lind/harbour/issues/412#issuecomment-2891734455]]">view it on CodeForge</a>.</p>
""",
            reply_to="lind/harbour <reply+AAB7K2QX5MZLR4TTNUWVNHHA4C3KPEVBNHHLJZ@reply.codeforge.example>",
        ),
    ),
    (
        report_sender,
        Draft(
            "dmarc-report-zip",
            "noreply-dmarc-support@webpost.example",
            "Report domain: home.example Submitter: webpost.example Report-ID: 13748192837465019283",
            "",
            attached=(
                zipped(
                    "webpost.example!home.example!1780272000!1780358399.zip",
                    "webpost.example!home.example!1780272000!1780358399.xml",
                    _REPORT,
                ),
            ),
        ),
    ),
    (
        report_sender,
        Draft(
            "dmarc-report-gz",
            "DMARC Aggregate Report <dmarcreport@outpost.example>",
            "Report Domain: home.example Submitter: protection.outpost.example Report-ID: 4e0f7a2b9c8d4e6f",
            "This is a DMARC aggregate report of mail that names your domain. Please do not reply to this message.\n",
            attached=(gzipped("protection.outpost.example!home.example!1780272000!1780358400.xml.gz", _REPORT),),
        ),
    ),
    (
        own_server,
        Draft(
            "letter-from-an-own-server",
            "Per Nes <per@nes.example>",
            "Re: bees",
            """Hello Anna,

they swarmed again, and hang in the neighbour's pear tree. I borrow a ladder this evening; could you lend me your white
suit and the smoker? You get a jar of honey for it.

Per
""",
        ),
    ),
    (
        own_server,
        Draft(
            "cron-of-an-own-machine",
            "Cron Daemon <root@nas.lind.example>",
            "Cron <root@nas> /usr/local/bin/backup --weekly",
            """backup: 3 volumes, 412 files changed, 1.8 GB written
backup: volume photos verified, no differences
backup: oldest kept copy is of 2026-03-02
backup: done in 18 min
""",
        ),
    ),
    (
        rented_server,
        Draft(
            "reminder-of-a-library",
            "Town Library <wordpress@townlibrary.example>",
            "Two books are due on Friday",
            """Dear reader,

these books are due on Friday: "The Salt Road" and "Bees of the North". You may keep them for two more weeks if nobody
waits for them; answer this letter or call the desk.

The desk is open from ten to six, on Saturdays until two.
Your town library
""",
        ),
    ),
    (
        over_ipv6,
        Draft(
            "letter-over-ipv6",
            "Ingrid Moe <ingrid@moe.example>",
            "Charts for Thursday",
            """Dear Anna,

I found the chart of 1841 that you asked about, in the second drawer after all. Shall I scan it, or do you come to the
museum on Thursday? The kettle is on from four.

Greetings
Ingrid
""",
        ),
    ),
    (
        own_server,
        Draft(
            "links-behind-the-own-tracker",
            "Mountain Huts <booking@mountainhuts.example>",
            "Your booking at Storvatn hut, 3 to 5 July",
            """Hello Anna,

two beds are kept for you at Storvatn hut from 3 to 5 July. The key hangs behind the woodshed. Bring a sleeping bag;
there is gas, wood and dry food in the hut.

How to get there: [[https://go.mountainhuts.example/r?to=https%3A%2F%2Fwww.mountainhuts.example%2Fstorvatn]]
Cancel until June: [[https://go.mountainhuts.example/r?to=https%3A%2F%2Fwww.mountainhuts.example%2Fcancel]]
""",
        ),
    ),
    (
        cloud_sender,
        Draft(
            "new-password",
            "Bokhuset <account@bokhuset.example>",
            "Your new password",
            """Hello Anna,

you asked for a new password on our page. The link works for half an hour:

[[https://bokhuset.example/password/4c1d9e2f7a8b]]

If you did not ask, your old password stays, and nothing has happened.
Bokhuset
""",
            page(
                "The link works for half an hour",
                "<p>Hello Anna,</p><p>you asked for a new password on our page.</p>"
                + button("https://bokhuset.example/password/4c1d9e2f7a8b", "Choose a new password")
                + "<p>If you did not ask, your old password stays, and nothing has happened.</p><p>Bokhuset</p>",
            ),
        ),
    ),
)
