"""Whether all is well, what to do where it is not, and the configuration."""

from collections import Counter
from pathlib import Path

from spamnb.base.errors import ConfigError
from spamnb.base.wording import plural
from spamnb.checkup.finding import FAULT, OK, WARNING
from spamnb.config.writing import render_all
from spamnb.web.http import Response
from spamnb.web.routes import Route
from spamnb.web.visit import Visit


def health(visit: Visit) -> Response:
    """What was found within the last minute; else what was found before that, as such, until it was looked again."""
    checkup = visit.site.checkup
    current, checked = checkup.current(visit.now), checkup.last
    if current is None:
        path, environ = Path(visit.site.config_path), visit.site.environ
        visit.after.append(lambda: checkup.check(path, environ, visit.site.now))
    findings = () if checked is None else checked.findings
    numbers = Counter(one.state for one in findings)
    return visit.page(
        "health.html",
        title=_title(numbers) if current is not None else checkup.instead,
        is_current=current is not None,
        has_failed=checkup.has_failed,
        checked=checked,
        findings=sorted(findings, key=lambda one: (FAULT, WARNING, OK).index(one.state)),
        config=_config(visit),
    )


def _title(numbers: Counter[str]) -> str:
    """How many faults and warnings there are."""
    found = [plural(numbers[state], state) for state in (FAULT, WARNING) if numbers[state]]
    return ", ".join(found) or "All is well"


def _config(visit: Visit) -> str:
    """The configuration in force, as text; "" where it cannot be read, which is a finding."""
    try:
        return render_all(visit.config)
    except ConfigError:
        return ""


def check(visit: Visit) -> Response:
    """Look again, which the page begins."""
    visit.site.checkup.expire(visit.now)
    return visit.redirect("health")


ROUTES = (Route("GET", "/health", health), Route("POST", "/health/check", check))
