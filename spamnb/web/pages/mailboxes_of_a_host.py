"""The administrator's page: a table of a mail host's users. It shows sums from the register, and opens no ledger."""

from spamnb.base.wording import plural
from spamnb.checkup.installation import installation
from spamnb.host.own_settings import worst_users
from spamnb.host.shares import not_running
from spamnb.monitoring.host import HostStatus, host_status
from spamnb.web.http import Response
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_MOST = 200  # users, unless the request asks for all: 200 of 5,000 take 70 ms, half of it for the register; all 200 ms


def table(visit: Visit) -> Response:
    """Return a line for each user, or for those whose filters need a look first."""
    host = visit.host
    found = host_status(host)
    missing = [*map(str, not_running(found.running))]
    wants_all = bool(visit.request.query.text("all"))
    return visit.page(
        "mailboxes_of_a_host.html",
        title=_title(found),
        found=found,
        missing=missing,
        known=installation(visit.site.config_path, visit.site.environ, host.template, missing),
        rows=worst_users(host, found.rows, None if wants_all else _MOST),
    )


def _title(found: HostStatus) -> str:
    """Return the most urgent fact."""
    if not found.running:
        return "The service is not running"
    if missing := not_running(found.running):
        return f"{plural(len(missing), 'service')} not running"
    if found.in_need:
        return f"{plural(found.in_need, 'filter')} to look at"
    if found.sums.faulty:
        return f"{plural(found.sums.faulty, 'user')} with a fault"
    return "All is well"


ROUTES = (Route("GET", "/", table),)
