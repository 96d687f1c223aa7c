"""The pages: a person sees in a browser what the filter did and why, and corrects it.

The way of a request: `page_server` (sockets) → `connections` (how long one may take) → `application` (one request) →
`access` (who may ask) → `routes` (which page) → a function of a module in `pages`, which reads the ledger and returns a
`Response` → `rendering` (a template). Work that takes longer than a page runs beside it (`kept`, `kept_values`).

To add a page NAME:

1. `pages/NAME.py`: functions that take a `Visit` and return a `Response`. At its end `ROUTES` names them::

       def words(visit: Visit) -> Response:
           words = ...  # read visit.ledger, with the values of visit.request.query
           return visit.page("words.html", title="Words", words=words)

       ROUTES = (Route("GET", "/words", words), Route("POST", "/words/{id}/forget", forget))

   `{id}` is a whole number, which the function gets as `visit.number("id")`. For a GET the ledger is open to read. For
   a POST it can be written, and `access` has checked that the request is the person's own. The answer to a POST is
   `visit.done(actions, back="words")`. It goes back to a page, which says what was done and has a button to undo it.
   Other numbers for that page are named too (`moved=2`), and the page reads them by `visit.outcome("moved")`. Before
   the first ledger, `visit.ledger` leads to the page with the first steps.
2. `templates/NAME.html`: `{% extends "base.html" %}` with the blocks `heading` and `content`. Text from mail is in
   `<bdi>{{ text|printable }}</bdi>`. `url("words", q=...)` makes links, which are relative to the page. No
   `style=`, no `on…=`, no `|safe`: a test looks for them. `macros.html` has times, verdicts, and the buttons.
3. Its module in `other_routes` in `pages/__init__.py`; a page of the navigation also in `NAVIGATION` in `rendering.py`.
4. A change of mail or lessons is a function below `web`, which the command line calls too.

`tests/web` then tries every page without naming it: each route without a cookie, from another site, and with hostile
mail; in a browser, light and dark, on a desk and a phone, with and without scripts.
"""
