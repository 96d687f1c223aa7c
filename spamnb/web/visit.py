"""One request at work: what a page's function gets, and the answers that it gives."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from spamnb.base.errors import LedgerError
from spamnb.config import Config, Learning, Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.web.access import Access
from spamnb.web.checked import KeptCheckup
from spamnb.web.http import HttpError, Request, Response
from spamnb.web.missing import KeptMissing
from spamnb.web.outcome import FIELD, Seal
from spamnb.web.own_mail import KeptOwnMail
from spamnb.web.parts.badges import Badges
from spamnb.web.parts.banner import banner
from spamnb.web.parts.lines import flash
from spamnb.web.rendering import Pages, relative

_MOST_NAMED = 400  # actions in the address of an answer


class NothingYetError(LedgerError):
    """There is no ledger yet: nothing was learned or judged."""


@dataclass(frozen=True, slots=True)
class Site:
    """What all requests have in common.

    config: reads the configuration, again where its file has changed. now: seconds since the epoch. owner: whose pages
    these are. environ: the environment, which says where files lie by default. own_mail, checkup, badges, missing: what
    takes longer than a page, and is kept between requests; missing is what has still to be learned before mail is
    moved. others: the configurations of which an administrator sees sums, in the place of the pages of one person.
    seal: of what an act tells the page after it.
    """

    config: Callable[[], Config]
    config_path: str
    access: Access
    pages: Pages
    now: Callable[[], float]
    is_read_only: bool = False
    owner: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    own_mail: KeptOwnMail = field(default_factory=KeptOwnMail)
    checkup: KeptCheckup = field(default_factory=KeptCheckup)
    badges: Badges = field(default_factory=Badges)
    missing: KeptMissing = field(default_factory=KeptMissing)
    others: tuple[str, ...] = ()
    seal: Seal = field(default_factory=Seal)


@dataclass(frozen=True, slots=True)
class Visit:
    """A request with what is needed to answer it. numbers: those of the path, by their names in the route's pattern.

    after: what is done once the answer is on its way.
    """

    site: Site
    request: Request
    numbers: Mapping[str, int] = field(default_factory=dict)
    opened: Ledger | None = None
    after: list[Callable[[], object]] = field(default_factory=list)

    @property
    def ledger(self) -> Ledger:
        """The ledger: to read at a GET, to write at a POST. Raises NothingYetError where there is none."""
        if self.opened is None:
            raise NothingYetError("Nothing has been learned or judged yet.")
        return self.opened

    @property
    def config(self) -> Config:
        """The configuration. Raises ConfigError."""
        return self.site.config()

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self.site.now()

    def missing(self, ledger: Ledger, scoring: Scoring, learning: Learning) -> str:
        """What has still to be learned before mail is moved, in words; "" for nothing. Nobody waits for it."""
        kept = self.site.missing
        found, is_current = kept.look(ledger, scoring, learning)
        if not is_current:
            self.after.append(lambda: kept.judge(ledger.path, scoring, learning))
        return found

    def number(self, name: str) -> int:
        """A number of the path."""
        return self.numbers[name]

    def url(self, page: str = "", **query: object) -> str:
        """The address of a page, relative to this one."""
        return relative(self.request.path, page, query)

    @property
    def here(self) -> str:
        """This page's own address, for a form that is to lead back to it."""
        held = [(name, value) for name, value in self.request.query.pairs() if name not in ("did", FIELD, "code")]
        path = self.request.path.removeprefix("/")
        return f"{path}?{urlencode(held)}" if held else path

    def page(self, template: str, *, title: str, status: int = 200, **values: object) -> Response:
        """A page made of a template. title: its heading, and with the program's name the title of the window."""
        return self._rendered("page", template, status, {"title": title, **values})

    def part(self, template: str, **values: object) -> Response:
        """A piece of a page, which a script puts into its place."""
        return self._rendered("part", template, 200, values)

    def _rendered(self, kind: str, template: str, status: int, values: Mapping[str, object]) -> Response:
        told = {"kind": kind, "visit": self, "url": self.url, "flash": None, "banner": None, "badges": {}}
        if kind == "page" and self.opened is not None:
            told["badges"] = self.site.badges.numbers
            if self.request.path != "/review" and self.site.badges.is_due(self.now):
                self.after.append(lambda: self.site.badges.count(self.config, self.now))
            told["flash"] = flash(self.opened, self.did())
            told["banner"] = banner(self.opened, self.config, self.now)
        body = self.site.pages.render(template, {**told, **values})
        return Response(body.encode("utf-8"), status, after=tuple(self.after))

    def redirect(self, page: str, **query: object) -> Response:
        """The person's browser asks for another page (303)."""
        headers = (("Location", self.url(page, **query)),)
        return Response(b"", 303, headers=headers, after=tuple(self.after))

    def done(self, actions: Iterable[int], back: str = "", *, order: str = "", **outcome: int) -> Response:
        """Back to a page, which says what these actions did, and how they are undone.

        back: the page, unless the form says by its field `back` which page it was sent from. order: of its lines, for
        its query. outcome: what else it is to tell, for `outcome` there.
        """
        page, held = self._back(back)
        query = {"order": order} if order else {}
        named = ".".join(map(str, list(actions)[:_MOST_NAMED]))
        told = {"did": named, FIELD: self.site.seal.written(outcome)}
        return self.redirect(page, **{**held, **query, **told})

    def outcome(self, name: str) -> int:
        """A number that the act before this page has told it; 0 where it has told none."""
        return self.site.seal.read(self.request.query.text(FIELD)).get(name, 0)

    def _back(self, page: str) -> tuple[str, dict[str, object]]:
        """The page and the query that a form has come from: only such as the pages themselves link to."""
        sent = self.request.form.text("back", 2000)
        return self.site.pages.known_address(sent) if sent else (page, {})

    def did(self) -> list[int]:
        """The actions that this page is to tell of, by their ids, the oldest first."""
        text = self.request.query.text("did", 16 * _MOST_NAMED)
        if not text:
            return []
        if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in text.split(".")):
            raise HttpError(400, "A number was expected in the address.", "Go back to the page that you came from.")
        return sorted({int(part) for part in text.split(".")})[:_MOST_NAMED]
