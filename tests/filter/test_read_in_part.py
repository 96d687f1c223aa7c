"""A message that was not read to its end: it is never ham."""

from spamnb.base.label import Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring, Senders
from spamnb.filter.judge import UNREAD, Filter, FrozenFilter, Judgement
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.limits import NOTES_OF_TEXT
from spamnb.mail.reading import Content, Reading, read
from tests.table import over_rows

NO_SENDERS = Senders()


def judged(lessons: MemoryLessons, reading: Reading, senders: Senders = NO_SENDERS) -> Judgement:
    """Return the judgement, which is the same alone, with its reasons, and among many."""
    alone = Filter(lessons, Scoring(), senders)
    content = Content(reading.tokens, reading.relations)
    judgement = alone.judge(reading)
    assert alone.explain(reading).judgement == judgement
    assert FrozenFilter(lessons, Scoring(), senders).judge_all([content]) == [judgement]
    return judgement


def past(reading: Reading, note: str) -> Reading:
    """Return a reading of a message that went past a limit too."""
    return reading._replace(tokens={**reading.tokens, note: 1})


@over_rows("note", NOTES_OF_TEXT)
def test_ham_with_text_that_was_not_read_is_unsure(lessons: MemoryLessons, note: str) -> None:
    """Whatever limit text is past, the message is unsure instead of ham, for a reason, with its probability."""
    letter = read(message("ham", 700))
    judgement = judged(lessons, past(letter, note))
    assert judged(lessons, letter).verdict is Verdict.HAM
    assert (judgement.verdict, judgement.unread, judgement.why_unsure) == (Verdict.UNSURE, UNREAD, UNREAD)
    assert judgement.probability <= Scoring().ham_cutoff


@over_rows("note", ["limit:links", "limit:header_fields", "limit:field_chars", "limit:html_depth"])
def test_other_limits_do_not_matter(lessons: MemoryLessons, note: str) -> None:
    """A message with too many links or fields, or a field that is too long, can be ham."""
    judgement = judged(lessons, past(read(message("ham", 700)), note))
    assert (judgement.verdict, judgement.unread) == (Verdict.HAM, "")


def test_spam_stays_spam(lessons: MemoryLessons) -> None:
    """Spam is spam, even if some of its text was not read."""
    judgement = judged(lessons, past(read(message("spam", 700)), "limit:text_chars"))
    assert (judgement.verdict, judgement.unread) == (Verdict.SPAM, "")


def test_the_persons_own_lists_go_before_it(lessons: MemoryLessons) -> None:
    """A message of an allowed sender is ham, even if some of its text was not read."""
    reading = past(read(message("ham", 700)), "limit:parts")
    judgement = judged(lessons, reading, Senders(allow=(reading.relations.sender,)))
    assert (judgement.verdict, judgement.unread) == (Verdict.HAM, "")


PICTURE = b"Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n" + b"iVBORw0KGgoAAAANSUhEUgAAAAUA\n" * 40_000
TEXT = b"Content-Type: text/plain\n\n" + b"some more words\n" * 70_000


@over_rows(("last", "verdict"), [(PICTURE, Verdict.HAM), (TEXT, Verdict.UNSURE)])
def test_a_letter_with_a_large_picture_is_ham(lessons: MemoryLessons, last: bytes, verdict: Verdict) -> None:
    """If a message is longer than is read, this matters if a text is cut, and not if a picture is cut."""
    head, _, body = message("ham", 700).partition(b"\n\n")
    fields = b"\n".join(line for line in head.split(b"\n") if not line.lower().startswith((b"content-", b"mime-")))
    mixed = b"\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\n" + body + b"\n--b\n" + last + b"\n--b--\n"
    reading = read(fields + mixed)
    assert ("limit:message_bytes" in reading.tokens) == (verdict is Verdict.UNSURE)
    assert judged(lessons, reading).verdict is verdict
