"""The style sheet, the script and the icon. They are the same for everybody, so they need no login."""

from spamnb.web.http import Response
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_YEAR = 365 * 86_400


def _static(visit: Visit) -> Response:
    file = visit.site.pages.static[visit.request.path.rpartition("/")[2]]
    is_marked = visit.request.query.text("v") == file.mark  # otherwise it may come from another version
    kept = f"public, max-age={_YEAR}, immutable" if is_marked else "no-cache"
    return Response(file.content, content_type=file.content_type, headers=(("Cache-Control", kept),))


ROUTES = tuple(
    Route("GET", f"/static/{name}", _static, is_public=True) for name in ("spamnb.css", "spamnb.js", "favicon.svg")
)
