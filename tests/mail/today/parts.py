"""The parts of present-day letters: pages with a preheader, calendars, and files."""

import gzip
import io
import zipfile

from tests.mail.today.mime import File

_ZIP_DATE = (2026, 6, 1, 0, 0, 0)


def page(preheader: str, body: str) -> str:
    """A page as senders of newsletters lay it out: what a telephone shows beside the subject is hidden at its top."""
    hidden = (
        f'<div style="display:none;font-size:1px;max-height:0;overflow:hidden">{preheader}</div>' if preheader else ""
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>body {{ margin: 0; font-family: Helvetica, Arial, sans-serif }} .button {{ background: #1f6f54 }}</style></head>
<body>{hidden}
<table role="presentation" width="100%"><tr><td align="center">
<table role="presentation" width="600"><tr><td style="padding:24px">
{body}
</td></tr></table>
</td></tr></table>
</body></html>
"""


def button(url: str, words: str) -> str:
    """A link that looks like a button; `[[URL]]` is left for the sending system."""
    return f'<p><a class="button" href="[[{url}]]" style="color:#ffffff;padding:12px">{words}</a></p>'


def calendar(method: str, summary: str, description: str, location: str, organizer: str, uid: str) -> bytes:
    """An appointment (RFC 5545, RFC 5546), its lines folded."""
    name, address = organizer.rstrip(">").split(" <")
    status = "CANCELLED" if method == "CANCEL" else "CONFIRMED"
    lines = f"""BEGIN:VCALENDAR
PRODID:-//Example Ltd//Example Calendar 70.9054//EN
VERSION:2.0
CALSCALE:GREGORIAN
METHOD:{method}
BEGIN:VTIMEZONE
TZID:Europe/Oslo
BEGIN:STANDARD
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
DTSTART;TZID=Europe/Oslo:20260617T140000
DTEND;TZID=Europe/Oslo:20260617T150000
DTSTAMP:20260601T080121Z
ORGANIZER;CN={name}:mailto:{address}
UID:{uid}
ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE;CN=Anna Lind:mailto:anna.lind@home.example
CREATED:20260529T120000Z
DESCRIPTION:{description}
LAST-MODIFIED:20260601T080121Z
LOCATION:{location}
SEQUENCE:0
STATUS:{status}
SUMMARY:{summary}
TRANSP:OPAQUE
BEGIN:VALARM
ACTION:DISPLAY
DESCRIPTION:REMINDER
TRIGGER:-PT10M
END:VALARM
END:VEVENT
END:VCALENDAR"""
    return "".join(f"{_folded(line)}\r\n" for line in lines.splitlines()).encode()


def _folded(line: str) -> str:
    """A line in pieces of 74 characters, the later ones behind a space."""
    return "\r\n ".join(line[start : start + 74] for start in range(0, len(line), 74))


def inline_calendar(method: str, event: bytes) -> File:
    """The alternative of a text that calendars read."""
    return File("text/calendar", "", event, "", f"charset=utf-8; method={method}; ")


def zipped(name: str, inner: str, content: bytes) -> File:
    """An archive with one file."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(zipfile.ZipInfo(inner, _ZIP_DATE), content)
    return File("application/zip", name, archive.getvalue())


def gzipped(name: str, content: bytes) -> File:
    """A file as gzip packs it."""
    return File("application/gzip", name, gzip.compress(content, mtime=0))


def pdf(name: str) -> File:
    """A file of the size of one page."""
    return File("application/pdf", name, b"%PDF-1.7\n" + bytes(range(256)) * 20 + b"\n%%EOF\n")


def picture(name: str, media_type: str, size: int) -> File:
    """A picture that is shown in the text by its name."""
    return File(media_type, name, bytes(range(256)) * (size // 256), "inline")
