"""The check-up with its next steps, and the configuration."""

from collections import Counter
from collections.abc import Callable, Sequence

from spamnb.acts.choices import in_short, standing
from spamnb.base.errors import ConfigError
from spamnb.base.wording import plural
from spamnb.checkup.finding import FAULT, OK, WARNING, Finding
from spamnb.config.writing import render_all, render_own
from spamnb.ledger.file.locks import is_running
from spamnb.web.http import Response
from spamnb.web.kept_values import not_checked
from spamnb.web.parts.choice_words import cutoff_in_words
from spamnb.web.routes import Route
from spamnb.web.visit import Visit


def health(visit: Visit) -> Response:
    """Return the findings of this minute; until they are there, the last findings, with their time."""
    kept = visit.site.kept
    snapshot = kept.checkup(visit.site.now, visit.after_answer)
    checked = snapshot.value
    findings = () if checked is None else checked.findings
    is_over = _is_over(visit)
    if snapshot.is_current and any(map(is_over, findings)):
        kept.check_again()  # the other findings may have changed too
        snapshot = kept.checkup(visit.site.now, visit.after_answer)
    findings = tuple(finding for finding in findings if not is_over(finding))
    return visit.page(
        "health.html",
        title=_title(findings) if snapshot.is_current else not_checked(snapshot),
        is_current=snapshot.is_current,
        has_failed=snapshot.has_failed,
        checked=checked,
        findings=sorted(findings, key=lambda finding: (FAULT, WARNING, OK).index(finding.state)),
        config=_config(visit),
        chosen=_chosen(visit),
    )


def _is_over(visit: Visit) -> Callable[[Finding], bool]:
    """Return a test whether a finding about the service is out of date: the banner shows its present state."""
    try:
        is_down = bool(visit.config.mailboxes) and not is_running(str(visit.config.claim))
    except ConfigError:
        return lambda finding: False
    return lambda finding: is_down and (finding.what, finding.state) == ("service", OK)


def _title(findings: Sequence[Finding]) -> str:
    """Return the numbers of faults and warnings, in words."""
    numbers = Counter(finding.state for finding in findings)
    counted = [plural(numbers[state], state) for state in (FAULT, WARNING) if numbers[state]]
    return ", ".join(counted) or "All is well"


def _config(visit: Visit) -> str:
    """Return the configuration in force, as text; "" if it cannot be read, which is a finding.

    A user of a mail host sees only the part about the own mail.
    """
    try:
        return render_own(visit.config) if visit.site.user else render_all(visit.config)
    except ConfigError:
        return ""


def _chosen(visit: Visit) -> str:
    """Return the person's choices, in short."""
    if visit.opened is None:
        return ""
    try:
        return in_short(standing(visit.opened, visit.site.config()), cutoff_in_words)
    except ConfigError:
        return ""


def check(visit: Visit) -> Response:
    """Expire the findings; the page then starts a new check."""
    visit.site.kept.check_again()
    return visit.redirect("health")


ROUTES = (Route("GET", "/health", health), Route("POST", "/health/check", check))
