"""A visit: the values that a page's function gets for one request, and the responses that it can return.

For a GET the ledger is open to read, for a POST it can be written:

    def words(visit: Visit) -> Response:
        begin = visit.request.query.text("q")  # of the address; `visit.number("id")`: of the path
        return visit.page("words.html", title="Words", words=visit.ledger.words.beginning_with(begin, 20))

    def say(visit: Visit) -> Response:
        answered = visit.answers().call(digest, Label.HAM, ON_A_PAGE)
        return visit.done(answered.actions, back="words")
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from spamnb.acts.answers import Answers
from spamnb.base.errors import LedgerError, SpamnbError
from spamnb.base.label import Label
from spamnb.checkup.installation import Installation, installation
from spamnb.config import Config, Learning, Scoring
from spamnb.host.host import Host
from spamnb.ledger.history.messages import MessageRow
from spamnb.ledger.ledger import Ledger
from spamnb.web import action_ids
from spamnb.web.access import Access
from spamnb.web.http import Request, Response
from spamnb.web.kept_values import KeptValues
from spamnb.web.outcome import FIELD, Seal
from spamnb.web.parts.banner import banner
from spamnb.web.parts.lines import flash
from spamnb.web.rendering import Pages, relative


class NothingYetError(LedgerError):
    """There is no ledger yet: the filter has not learned or judged anything."""


@dataclass(frozen=True, slots=True)
class Site:
    """The common part of all requests of one person.

    config: reads the configuration, again if its file has changed. now: seconds since the epoch. kept: values that take
    longer than a page. owner: the name on the pages. user: of a mail host, or "". seal: for the outcome of an act in
    the next page's address. environ: of this process. host: the mail host whose sums an administrator sees, instead of
    one person's pages.
    """

    config: Callable[[], Config]
    config_path: str
    access: Access
    pages: Pages
    now: Callable[[], float]
    kept: KeptValues
    is_read_only: bool = False
    owner: str = ""
    user: str = ""
    seal: Seal = field(default_factory=Seal)
    environ: Mapping[str, str] = field(default_factory=dict)
    host: Callable[[], Host] | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """A request with all that its answer needs. numbers: those of the path, by their names in the route's pattern.

    after_answer: work that begins when the answer is on its way.
    """

    site: Site
    request: Request
    numbers: Mapping[str, int] = field(default_factory=dict)
    opened: Ledger | None = None
    after_answer: list[Callable[[], object]] = field(default_factory=list)

    @property
    def ledger(self) -> Ledger:
        """The ledger: to read at a GET, to write at a POST. Raises NothingYetError before the first one."""
        if self.opened is None:
            raise NothingYetError("The filter has not learned or judged anything yet.")
        return self.opened

    @property
    def config(self) -> Config:
        """The configuration, with the person's choices. Raises ConfigError."""
        written = self.site.config()
        return written if self.opened is None else self.opened.choices.over(written)

    @property
    def config_file(self) -> str:
        """The file to change the configuration in: for a mail host's user their own file, if they may have one."""
        written = self.site.config()
        own = written.users.own_file(written.user) if written.user else None
        return self.site.config_path if own is None else str(own)

    @property
    def installation(self) -> Installation:
        """How to run spamnb here, for commands that a page suggests, even if the configuration cannot be read."""
        config = None
        with contextlib.suppress(SpamnbError):
            config = self.site.config()
        return installation(self.site.config_path, self.site.environ, config)

    @property
    def host(self) -> Host:
        """The mail host of this overview. Raises LookupError for a page of one person."""
        if self.site.host is None:
            raise LookupError("this is a page of one person")
        return self.site.host()

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self.site.now()

    @property
    def is_known(self) -> bool:
        """Whether the browser is logged in, so that the page may show the menu and the owner's name."""
        try:
            return self.site.access.is_logged_in(self.request)
        except SpamnbError:  # the login's key cannot be read
            return False

    def missing(self, ledger: Ledger, scoring: Scoring, learning: Learning) -> str:
        """Return what the filter must still learn before it moves mail, in words; "" for nothing. No page waits."""
        return self.site.kept.missing(ledger, scoring, learning, self.after_answer)

    def doubted_ham(self) -> list[MessageRow]:
        """Return the learned ham that the filter would take for spam, if only that keeps mail from being moved."""
        found = map(self.ledger.messages.find, self.site.kept.doubted_ham(self.ledger, self.config.learning))
        return [known for known in found if known is not None and known.label is Label.HAM]

    def answers(self) -> Answers:
        """Return the object that carries out a person's answers. It notifies IMAP servers after the response."""
        answers = Answers(self.ledger, self.config, self.site.now)
        self.after_answer.append(answers.end)
        return answers

    def number(self, name: str) -> int:
        """Return a number of the path."""
        return self.numbers[name]

    def number_of(self, digest: bytes) -> int | None:
        """Return the number of a message in the history, or None."""
        message = self.ledger.messages.find(digest)
        return None if message is None else message.id

    def url(self, page: str = "", **query: object) -> str:
        """Return the address of a page, relative to this one."""
        return relative(self.request.path, page, query)

    @property
    def here(self) -> str:
        """The address of this page, for a form that leads back to it."""
        pairs = [(name, value) for name, value in self.request.query.pairs() if name not in ("did", FIELD, "code")]
        path = self.request.path.removeprefix("/")
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def page(self, template: str, *, title: str, status: int = 200, **values: object) -> Response:
        """Return a page from a template. title: its heading, and with the program's name the title of the window."""
        return self._rendered("page", template, status, {"title": title, **values})

    def part(self, template: str, **values: object) -> Response:
        """Return a part of a page, which a script puts into its place."""
        return self._rendered("part", template, 200, values)

    def _rendered(self, kind: str, template: str, status: int, values: Mapping[str, object]) -> Response:
        common = {"kind": kind, "visit": self, "url": self.url, "flash": None, "banner": None, "badges": {}}
        if kind == "page" and self.opened is not None:
            common["badges"] = self.site.kept.badges(self.opened, self.config.learning)
            if self.request.path != "/review":
                self.site.kept.count_waiting(self.opened, self.config, self.now, self.after_answer)
            common["flash"] = flash(self.opened, self.did())
            common["banner"] = banner(self.opened, self.config, self.now)
        body = self.site.pages.render(template, {**common, **values})
        return Response(body.encode("utf-8"), status, after_answer=tuple(self.after_answer))

    def redirect(self, page: str, **query: object) -> Response:
        """Send the browser to another page (303)."""
        headers = (("Location", self.url(page, **query)),)
        return Response(b"", 303, headers=headers, after_answer=tuple(self.after_answer))

    def done(self, actions: Iterable[int], back: str = "", *, order: str = "", **outcome: int) -> Response:
        """Send the browser back to a page, which says what these actions did and has a button to undo them.

        back: the page, unless the form names its own page in its field `back`. order: of its lines, for its query.
        outcome: further numbers for that page, which reads them by `outcome`.
        """
        page, query = self._back(back)
        if order:
            query["order"] = order
        query["did"], more = action_ids.written(actions)
        query[FIELD] = self.site.seal.written({"more": more, **outcome})
        return self.redirect(page, **query)

    def outcome(self, name: str) -> int:
        """Return a number that the last act has put into this page's address, or 0."""
        return self.site.seal.read(self.request.query.text(FIELD)).get(name, 0)

    def _back(self, page: str) -> tuple[str, dict[str, object]]:
        """Return the page and the query that a form came from, if the pages themselves link to it."""
        sent = self.request.form.text("back", 2000)
        return self.site.pages.known_address(sent) if sent else (page, {})

    def did(self) -> list[int]:
        """Return the ids of the actions that this page describes, the oldest first."""
        text = self.request.query.text("did", action_ids.LONGEST)
        return action_ids.read(text) if text else []
