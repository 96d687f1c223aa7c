"""The pages: what the filter did, why, and what a person says of it, in a browser.

A request goes: `page_server` (sockets) → `connections` (how long one may take) → `application` (one request) →
`access` (who may ask) → `routes` (which page) → a function of a module in `pages`, which reads the ledger and gives a
`Response` → `rendering` (a template). What takes longer than a page is worked out beside it (`kept`, `kept_values`).

To add a page NAME:

1. `pages/NAME.py`: functions that take a `Visit` and return a `Response`, and at its end `ROUTES`, which names them::

       def words(visit: Visit) -> Response:
           words = ...  # read visit.ledger, with what visit.request.query asks for
           return visit.page("words.html", title="Words", words=words)

       ROUTES = (Route("GET", "/words", words), Route("POST", "/words/{id}/forget", forget))

   `{id}` is a whole number, which the function gets as `visit.number("id")`. For a GET the ledger is open to be read;
   for a POST it can be written, the request is known to be the person's own, and the answer is
   `visit.done(actions, back="words")`, which goes back to a page and says there what was done, with a button to undo
   it; other numbers that the page is to tell are named too (`moved=2`), and read by `visit.outcome("moved")`. Where
   there is no ledger yet, `visit.ledger` leads to the page that says what to do first.
2. `templates/NAME.html`: `{% extends "base.html" %}` with the blocks `heading` and `content`. Text from mail stands in
   `<bdi>{{ text|printable }}</bdi>`; links are made by `url("words", q=...)`, which is relative to the page. No
   `style=`, no `on…=`, no `|safe`: a test looks for them. `macros.html` has times, verdicts, and the buttons.
3. Its module in `other_routes` in `pages/__init__.py`; a page of the navigation also in `NAVIGATION` in `rendering.py`.
4. What the page does to mail or lessons is a function below `web`, which the command line calls too.

Every page is then tried by `tests/web` without being named there: each route without a cookie, from another site, and
with hostile mail; in a browser, light and dark, on a desk and a phone, with and without scripts.
"""
