"""The pages: a module for each, with its routes."""

from spamnb.web.pages import (
    audit,
    health,
    history,
    login,
    mailboxes_of_a_host,
    message,
    moving,
    overview,
    review,
    senders,
    static,
    tune,
    undo,
    words,
)
from spamnb.web.routes import Route

MODULES = (static, login, overview, history, message, undo, moving, review, tune, audit, words, senders, health)


def routes_of_a_host() -> list[Route]:
    """The routes of the one page for an administrator."""
    return [route for module in (static, login, mailboxes_of_a_host) for route in module.ROUTES]


def all_routes() -> list[Route]:
    """The routes of all pages."""
    return [route for module in MODULES for route in module.ROUTES]
