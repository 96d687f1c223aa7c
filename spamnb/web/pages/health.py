"""Whether all is well, what to do where it is not, and the configuration."""

from collections import Counter
from pathlib import Path

from spamnb.checkup.finding import FAULT, OK, WARNING
from spamnb.config.writing import render_all
from spamnb.errors import ConfigError
from spamnb.web.http import Response
from spamnb.web.routes import Route
from spamnb.web.visit import Visit
from spamnb.wording import plural


def health(visit: Visit) -> Response:
    """What was found last; the first visit begins to look."""
    checked = visit.site.checkup.last
    if checked is None:
        _begin(visit)
    findings = () if checked is None else checked.findings
    numbers = Counter(one.state for one in findings)
    return visit.page(
        "health.html",
        title=_title(numbers) if checked is not None else "Health",
        checked=checked,
        is_running=checked is None or visit.site.checkup.is_running,
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


def _begin(visit: Visit) -> None:
    site = visit.site
    visit.after.append(lambda: site.checkup.check(Path(site.config_path), site.environ, site.now()))


def check(visit: Visit) -> Response:
    """Look again."""
    _begin(visit)
    return visit.redirect("health")


ROUTES = (Route("GET", "/health", health), Route("POST", "/health/check", check))
