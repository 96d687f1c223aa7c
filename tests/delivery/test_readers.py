"""The fields as other programs read them, by the patterns that these programs come with."""

import re

import pytest

from spamnb.base.label import Verdict
from spamnb.delivery.verdict import Delivered, fields
from tests.documents import block, read

DOCUMENT = "docs/mail-server.md"
TOLD = {
    Verdict.SPAM: Delivered(Verdict.SPAM, 0.9987, 8.7),
    Verdict.UNSURE: Delivered(Verdict.UNSURE, 0.5, 2.1),
    Verdict.HAM: Delivered(Verdict.HAM, 0.00001, -9.9),
}


def lines(found: Delivered, **how: str) -> str:
    """Return the fields as in a message."""
    return "".join(f"{name}: {value}\n" for name, value in fields(found, **how))  # type: ignore[arg-type]


def test_the_document() -> None:
    """The document shows the fields as they are written."""
    assert block("docs/mail-server.md", "fields") == lines(TOLD[Verdict.SPAM])
    assert f"`{lines(TOLD[Verdict.SPAM], style='bogofilter').strip()}`" in read("docs/mail-server.md")


# Thunderbird's isp/SpamAssassin.sfd and isp/Bogofilter.sfd: what a field begins with; junk, or not junk.
THUNDERBIRD = {
    "spamnb": ((("X-Spam-Status", "Yes"), ("X-Spam-Flag", "YES")), (("X-Spam-Status", "No"),)),
    "bogofilter": (
        (("X-Bogosity", "Spam"), ("X-Bogosity", "Y")),
        (("X-Bogosity", "Ham"), ("X-Bogosity", "N")),
    ),
}


@pytest.mark.parametrize("style", THUNDERBIRD)
@pytest.mark.parametrize("verdict", Verdict)
def test_thunderbird(style: str, verdict: Verdict) -> None:
    """Thunderbird marks exactly spam as junk, and exactly ham as not junk."""
    junk, no_junk = THUNDERBIRD[style]
    written = fields(TOLD[verdict], style)  # type: ignore[arg-type]

    def is_any(wanted: tuple[tuple[str, str], ...]) -> bool:
        return any(name == field and value.startswith(word) for field, word in wanted for name, value in written)

    assert is_any(junk) == (verdict is Verdict.SPAM)
    assert is_any(no_junk) == (verdict in ((Verdict.HAM, Verdict.UNSURE) if style == "spamnb" else (Verdict.HAM,)))


@pytest.mark.parametrize("verdict", Verdict)
def test_kmail(verdict: Verdict) -> None:
    """KMail's kmail.antispamrc finds the flag, and the numbers, each of which a character must follow."""
    text = lines(TOLD[verdict])
    assert bool(re.search(r"^X-Spam-Flag: (?:yes|YES)", text, re.MULTILINE)) == (verdict is Verdict.SPAM)
    (status,) = re.findall(r"^X-Spam-Status: (.*)", text, re.MULTILINE)
    score = re.search(r"(?:hits|score)=([\d.-]+)[^\d.]", status)
    required = re.search(r"required=([\d.-]+)[^\d.]", status)
    assert score and required
    assert (float(score[1]), float(required[1])) == (TOLD[verdict].points, 5.0)


def test_milter() -> None:
    """spamass-milter and Haraka find the score and the tests in X-Spam-Status."""
    text = lines(TOLD[Verdict.SPAM])
    assert re.search(r"X-Spam-Status: Yes, score=(-?\d+\.\d) ", text)
    assert re.search(r"tests=([A-Za-z0-9_,]+)", text)


@pytest.mark.parametrize("verdict", Verdict)
def test_recipes_of_bogofilter(verdict: Verdict) -> None:
    """The patterns of the recipes in bogofilter(1) match."""
    text = lines(TOLD[verdict], style="bogofilter")
    pattern = rf"^X-Bogosity: {verdict.capitalize()}, tests=bogofilter"
    assert re.match(pattern, text)
    assert re.search(r"spamicity=[01]\.\d{6}, version=", text)
