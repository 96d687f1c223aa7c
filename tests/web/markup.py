"""Mail whose every text is markup, and the same mail without."""

from email.message import EmailMessage

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.maildir.messages import deliver
from tests.web.desk import WebDesk

MARKUP = (
    "<script>alert(1)</script>",
    '"><img src=http://evil.example/x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    '"><a style="position:fixed;inset:0" href="http://evil.example/">',
    "</title></bdi></script><iframe src=http://evil.example/>",
    "{{ 7*7 }}{% raw %}",
    "]]><!--",
    "javascript:alert(1)",
    "\u202egnp.exe \u2066",
    "a\x1b[2Jb\x07",
    "A" * 3000,
    "&lt;b&gt; &#60;",
    "' onmouseover='alert(1)' x='",
)
HARMLESS = "a word"
FOLDER, HARMLESS_FOLDER = '"><img src=x onerror=alert(1)>', "Some"


def letter(text: str, number: int) -> bytes:
    """A message that has this text wherever a message has any."""
    made = EmailMessage()
    made.set_content(f"{text}\n\nVisit http://shop.example/{number} {text}\n")
    name = text if text.isprintable() else "name"
    made.add_attachment(b"x" * 10, maintype="application", subtype="pdf", filename=name)
    head = {
        "Subject": text,
        "From": f'"{_quoted(text)}" <"{_quoted(text[:40])}"@shop.example>',
        "To": f'"{_quoted(text)}" <you@home.example>',
        "Date": "Thu, 01 Jan 2026 10:00:00 +0000",
        "Message-ID": f"<{number}.{_local(text)}@shop.example>",
        "List-Id": f"{_quoted(text)} <{_local(text)}.lists.example>",
        "X-Mailer": text,
    }
    lines = [f"{key}: {value}".replace("\r", " ").replace("\n", " ") for key, value in head.items()]
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n" + made.as_bytes()


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')[:200]


def _local(text: str) -> str:
    return "".join(c for c in text if c.isprintable() and c not in " @()<>,;:\\[]")[:40] or "x"


def fill(desk: WebDesk, texts: tuple[str, ...], folder: str) -> list[int]:
    """Deliver such mail, let a person answer for some and file some; the numbers of the messages."""
    desk.folder(folder)
    letters = [letter(text, number) for number, text in enumerate(texts)]
    for one in letters:
        deliver(desk.folder("INBOX"), one, next(desk.bases))
    desk.work()
    if desk.where(letters[0]) == ["INBOX"]:
        desk.take(letters[0], "INBOX", folder)
    desk.browser.post(f"/m/{desk.number_of(letters[-1])}/teach", label="spam")
    if len(letters) > 2:
        training.learn_message(
            desk.ledger, letters[1], Label.HAM, "as if it had been kept", desk.now(), weak=True, how=How.KEPT
        )
    desk.deliver(message("spam", 100))
    return [desk.number_of(one) for one in letters]
