"""The pages: a module for each, with its routes."""

from spamnb.web.pages import history, login, message, moving, overview, review, static, undo
from spamnb.web.routes import Route

MODULES = (static, login, overview, history, message, undo, moving, review)


def all_routes() -> list[Route]:
    """The routes of all pages."""
    return [route for module in MODULES for route in module.ROUTES]
