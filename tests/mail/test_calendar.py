"""Invitations: the part that their reader sees, and the organiser."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spamnb.bayes.score_plain import GRAMS
from spamnb.mail.excerpt import excerpt
from spamnb.mail.parsing.calendar import read_calendar
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import read
from tests.table import over_rows

INVITATION = b"""BEGIN:VCALENDAR
PRODID:-//Example//Planner 1.0//EN
VERSION:2.0
METHOD:REQUEST
BEGIN:VTIMEZONE
TZID:Europe/Berlin
END:VTIMEZONE
BEGIN:VEVENT
UID:20261102T100000-7@planner.example
DTSTART;TZID=Europe/Berlin:20261104T120000
ORGANIZER;CN="Anna: kitchen":mailto:Anna@planner.example
ATTENDEE;ROLE=REQ-PARTICIPANT;RSVP=TRUE:mailto:bert@home.example
SUMMARY;LANGUAGE=en:Lunch at no
 on
DESCRIPTION:Soup\\, bread\\nhttp://menu.example/today
LOCATION:Garden
BEGIN:VALARM
ACTION:DISPLAY
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
END:VCALENDAR
"""
PIECES = st.sampled_from([*'\n\r \t:;"\\,n<>', "SUMMARY", "ORGANIZER", "METHOD", "BEGIN", "VALARM"])
# What of it is a token, but for pairs of words and where a word stands.
TOKENS = {"lunch", "at", "noon", "soup", "bread", "garden", "url:menu.example", "url:example", "url-path:today"}
TOKENS |= {"ics-method:request", "organizer:anna@planner.example", "organizer:planner.example", "organizer:example"}


def of_the_calendar(raw: bytes) -> set[str]:
    """Return the tokens of a message without those of its header, structure, places in a text, and grams."""
    empty = read(b"Content-Type: text/plain\n\n").tokens
    left_out = ("attached", "mime", "opening", "closing", "charset", "multipart", GRAMS)
    return {token for token in read(raw).tokens if token not in empty and not token.startswith(left_out)}


@over_rows(
    "head",
    [
        b"Content-Type: text/calendar; method=REQUEST; charset=utf-8",
        b"Content-Type: application/ics",
        b"Content-Type: text/calendar; name=a.ics\nContent-Disposition: attachment",
        b"Content-Type: application/ics; name=a.ics\nContent-Disposition: attachment",
        b"Content-Type: application/octet-stream; name=a.ics\nContent-Disposition: attachment",
        b'Content-Type: application/octet-stream; name="=?utf-8?q?a=2Eics?="',
    ],
)
@over_rows("line_end", [b"\n", b"\r\n"])
def test_an_invitation_is_read_as_its_reader_sees_it(head, line_end):
    """Its texts are words, its organiser and purpose are tokens, and nothing else of it is."""
    raw = head + b"\n\n" + INVITATION
    assert of_the_calendar(raw.replace(b"\n", line_end)) == TOKENS


def test_a_text_with_the_name_of_a_calendar_is_a_text():
    """A text that programs show unchanged is read unchanged."""
    raw = b"Content-Type: text/plain; name=a.ics\n%s\nSUMMARY:Lunch\n"
    for disposition in (b"", b"Content-Disposition: attachment\n"):
        assert {"summary", "shout:summary", "lunch"} <= read(raw % disposition).tokens.keys()


def test_an_attached_invitation_is_an_attachment_too():
    """An attached invitation has tokens for name and size; a shown one has none."""
    attached = b"Content-Type: text/calendar; name=a.ics\nContent-Disposition: attachment\n\n" + INVITATION
    assert {"attached-extension:ics", "attached:text/calendar"} <= read(attached).tokens.keys()
    assert parse(b"Content-Type: text/calendar\n\n" + INVITATION).attachments == ()


@over_rows(
    ("written", "text"),
    [
        ("SUMMARY:a\r\n b", "ab"),
        ("SUMMARY:a\n\tb\n  c", "ab c"),
        ("SUMMARY:a\r b", "ab"),
        ("summary:a", "a"),
        ("SUMMARY:a\\nb\\Nc\\;d\\,e\\\\n", "a\nb\nc;d,e\\n"),
        ("SUMMARY:", ""),
        ("SUMMARY:a\nSUMMARY:a\nLOCATION:b", "a\nb"),
        ('SUMMARY;ALTREP="http://a.example/":b', "b"),
        ('SUMMARY;X="a;b:c";Y=d:e:f', "e:f"),
        ('SUMMARY;X="a:b', "b"),
        ("SUMMARYX:a\nX-SUMMARY:b\nCOMMENT:c\n SUMMARY:d", ""),
        ("BEGIN:VALARM\nDESCRIPTION:a\nBEGIN:VEVENT\nSUMMARY:b", "b"),
        ("BEGIN:VALARM\nDESCRIPTION:a\nEND:VALARM\nSUMMARY:b", "b"),
        ("", ""),
    ],
)
def test_texts_of_a_calendar(written, text):
    """Folded lines are joined, escapes undone, each text is taken once, and those of an alarm are not."""
    assert read_calendar(written).text == text


@pytest.mark.parametrize(
    ("written", "organizers", "method"),
    [
        ("ORGANIZER:mailto:a@b.example\nMETHOD:CANCEL", ("a@b.example",), "cancel"),
        ("ORGANIZER:MAILTO:a@b.example\nORGANIZER;CN=A:mailto:a@b.example", ("a@b.example",), ""),
        ("ORGANIZER:http://a.example/\nMETHOD:\nMETHOD:x y", ("http://a.example/",), "x"),
        ("METHOD:REQUEST\nMETHOD:REPLY", (), "request"),
        ("METHOD:1", (), ""),
    ],
)
def test_who_invites(written, organizers, method):
    """Each organizer is named once, and the first method is the calendar's."""
    calendar = read_calendar(written)
    assert (calendar.organizers, calendar.method) == (organizers, method)


def test_markup_in_a_description_is_read_as_markup():
    """A description that some programs write in HTML has its words and its links, not the names of elements."""
    raw = b'Content-Type: text/calendar\n\nDESCRIPTION:<p>Pay<br />no\n w</p><a href="http://a.example/">here</a>\n'
    found = of_the_calendar(raw)
    assert {"pay", "now", "here", "url:a.example"} <= found
    assert found.isdisjoint({"p", "br", "href"})


def test_a_calendar_is_an_alternative():
    """Words that a calendar repeats of the text beside it count once."""
    part = b"--b\nContent-Type: %s\n\n%s\n"
    raw = b"Content-Type: multipart/alternative; boundary=b\n\n" + part % (b"text/plain", b"lunch at noon")
    raw += part % (b"text/calendar", b"SUMMARY:lunch at noon") + b"--b--\n"
    assert read(raw).tokens["lunch"] == 1


def test_a_calendar_does_not_use_up_what_the_text_needs():
    """A text behind a calendar of any size is read."""
    calendar = b"--b\nContent-Type: text/calendar\n\nSUMMARY:" + b"a " * 200_000
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n" + calendar + b"\n--b\n\nwords\n--b--\n"
    assert {"words", "limit:text_chars"} <= read(raw).tokens.keys()


def test_an_excerpt_shows_an_invitation_that_comes_alone():
    """If a message has no text, the excerpt shows that of its calendar; never instead of a text."""
    raw = b"Content-Type: text/calendar\n\nSUMMARY:Lunch\nLOCATION:Garden\n"
    assert excerpt(raw, 100).text == "Lunch\nGarden"
    page = b"--b\nContent-Type: text/html\n\n<p>words\n--b\n"
    assert excerpt(b"Content-Type: multipart/mixed; boundary=b\n\n" + page + raw, 100).text == "words"


@settings(deadline=None)
@given(st.lists(PIECES | st.text()).map("".join))
def test_any_text_is_read_as_a_calendar(written):
    """Any text yields a calendar, with texts no longer than the input, and a word as its method."""
    calendar = read_calendar(written)
    assert len(calendar.text) <= len(written)
    assert "\n" not in "".join(calendar.organizers)
    assert calendar.method.isascii()


def test_a_page_before_an_invitation_uses_nothing_up():
    """An attached page, however long, leaves the invitation behind it readable."""
    page = b"\n--b\nContent-Type: text/html\nContent-Disposition: attachment; filename=a.html\n\n" + b"x" * 400_000
    event = b"\n--b\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\nDESCRIPTION:<b>pineapples</b>\nEND:VCALENDAR\n"
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nhello\n" + page + event + b"\n--b--\n"
    assert "pineapples" in read(raw).tokens


@pytest.mark.parametrize("place", ["<p hidden style=display:none>", "<p><script>"])
def test_markup_hides_no_other_property(place):
    """Programs show title and place unchanged, so text behind a tag is read."""
    raw = f"Content-Type: text/calendar\n\nBEGIN:VCALENDAR\nLOCATION:{place}\nSUMMARY:buy pineapples\nEND:VCALENDAR\n"
    assert {"buy", "pineapples"} <= read(raw.encode()).tokens.keys()


def test_a_part_that_is_no_calendar_is_a_text():
    """A calendar part with other content is read as text."""
    raw = b"Content-Type: text/calendar\n\nbuy pineapples http://bad.example/\n"
    assert {"buy", "pineapples", "url:bad.example"} <= read(raw).tokens.keys()
