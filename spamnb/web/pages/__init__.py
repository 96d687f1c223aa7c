"""The pages: a module for each, with its routes. Most are imported at the first request for them, not at the start."""

from spamnb.web.pages import login, overview, static
from spamnb.web.routes import Route


def routes_of_a_host() -> list[Route]:
    """Return the routes of the administrator's one page."""
    from spamnb.web.pages import mailboxes_of_a_host  # noqa: PLC0415 - other servers do not need it

    return [route for module in (static, login, mailboxes_of_a_host) for route in module.ROUTES]


def first_routes() -> list[Route]:
    """Return the routes of the first page, the login and the static files."""
    return [route for module in (static, login, overview) for route in module.ROUTES]


def other_routes() -> list[Route]:
    """Return the routes of all other pages."""
    from spamnb.web.pages import (  # noqa: PLC0415 - they take a tenth of the server's start
        audit,
        choices,
        first_questions,
        health,
        history,
        message,
        moving,
        replay,
        review,
        senders,
        statement,
        try_message,
        tune,
        undo,
        wanted,
        words,
    )

    modules = (history, message, undo, moving, review, tune, audit, words, senders, choices, try_message, health)
    return [route for module in (*modules, first_questions, wanted, statement, replay) for route in module.ROUTES]
