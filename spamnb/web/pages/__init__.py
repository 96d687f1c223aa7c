"""The pages: a module for each, with its routes. Most are imported when they are first asked for, not at the start."""

from spamnb.web.pages import login, overview, static
from spamnb.web.routes import Route


def routes_of_a_host() -> list[Route]:
    """The routes of the one page for an administrator."""
    from spamnb.web.pages import mailboxes_of_a_host  # noqa: PLC0415 - for the others it is not needed

    return [route for module in (static, login, mailboxes_of_a_host) for route in module.ROUTES]


def first_routes() -> list[Route]:
    """The routes of the first page, and of what comes before it."""
    return [route for module in (static, login, overview) for route in module.ROUTES]


def other_routes() -> list[Route]:
    """The routes of all other pages."""
    from spamnb.web.pages import (  # noqa: PLC0415 - a tenth of the time in which the server starts
        audit,
        choices,
        health,
        history,
        message,
        moving,
        review,
        senders,
        try_message,
        tune,
        undo,
        words,
    )

    modules = (history, message, undo, moving, review, tune, audit, words, senders, choices, try_message, health)
    return [route for module in modules for route in module.ROUTES]
