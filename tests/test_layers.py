"""The layers: which package may import which, and which may print, exit, or start threads and processes."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import spamnb

ROOT = Path(spamnb.__file__).parent

# Each package may import from the layers before its own; packages of one layer do not know each other.
LAYERS = (
    {"base", "identity"},
    {"mail", "bayes", "maildir", "config", "contacts"},
    {"ledger"},
    {"filter", "host"},
    {"rules"},
    {"acts"},
    {"review", "bulk", "delivery", "monitoring", "checkup"},
    {"setup"},
    {"service", "evaluation"},
    {"host.service", "notmuch", "provider"},
    {"spamd", "exchange"},
    {"web"},
    {"cli"},
)
PARTS = ("spamd", "exchange")  # of the service, which one can do without
# Who reads, judges, decides, moves and remembers one person's mail; and what that person can do without.
HEART = {
    *("base", "identity", "mail", "bayes", "maildir", "config", "contacts", "ledger", "filter", "rules", "acts"),
    *("review", "service"),
}
EDGES = {"host", "host.service", "exchange", "spamd", "notmuch", "provider", "web", "evaluation", "bulk", "setup"}
EDGES_IN_OTHER_ROOMS = {"spamnb.monitoring.host"}
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}


def name_of(path: Path) -> str:
    """The dotted name of a module."""
    parts = ("spamnb", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


_TOP = {"spamnb", "tests", "systemd", "docs", "benchmarks", "debian", "pyproject.toml", "config.example.yaml"}
_TOP |= {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "VERSION"}
_BUILT = {"build", "dist", "spamnb.egg-info", "PKG-INFO", "setup.cfg"}  # not committed; the last two are in an sdist


def test_the_top_level_holds_what_people_look_for() -> None:
    """The top level has the package, its tests and documents, and nothing else: what builds it is in .ci and docs."""
    names = {path.name for path in Path(__file__).parents[1].iterdir() if not path.name.startswith(".")}
    assert names - _BUILT <= _TOP


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def tree(module: str) -> ast.Module:
    """The module's syntax tree."""
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> frozenset[str]:
    """Return all imports of a module, also inside functions: `from a import b` gives `a.b` if that is a module."""
    found = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports by a relative name"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else str(node.module) for name in inner}
    return frozenset(found)


def package_of(module: str) -> str:
    """The package or module right below `spamnb` that a module belongs to; "" for `spamnb` itself.

    The service of a mail host is a package of its own: the rest of `host` is far below it.
    """
    if f"{module}.".startswith("spamnb.host.service."):
        return "host.service"
    return [*module.split("."), ""][1]


def test_one_command_starts_the_pages() -> None:
    """Only the command `web` knows the pages."""
    knows = {module for module in MODULES if package_of(module) == "cli" and "web" in map(package_of, imports(module))}
    assert knows == {"spamnb.cli.web"}


def outside(*packages: str) -> list[str]:
    """Return the modules that belong to none of these packages."""
    return [module for module in MODULES if package_of(module) not in packages]


def test_every_package_has_a_layer() -> None:
    """Each package of spamnb has a layer, here and in CONTRIBUTING.md."""
    assert {package_of(module) for module in outside("", "__main__")} == LAYER.keys()


def test_imports_go_down() -> None:
    """A module imports from its own package and from lower layers, and nothing else of spamnb."""
    offenders = [
        f"{module} imports {other}"
        for module in outside("", "__main__")
        for other in imports(module)
        if other.split(".")[0] == "spamnb" and package_of(other) not in ("", package_of(module))
        if LAYER[package_of(other)] >= LAYER[package_of(module)]
    ]
    assert not offenders


def test_the_heart_knows_no_edge() -> None:
    """Who reads only the heart meets no name of an edge."""
    known = {
        f"{module} imports {other}"
        for module in MODULES
        if package_of(module) in HEART
        for other in imports(module)
        if package_of(other) in EDGES or other in EDGES_IN_OTHER_ROOMS
    }
    assert not known


MAILBOX = "spamnb.service.mailbox"


def test_the_room_of_one_mailbox() -> None:
    """The mail of one mailbox knows nothing of the service but the context, the log, and itself."""
    of_room = [module for module in MODULES if f"{module}.".startswith(f"{MAILBOX}.")]
    known = {other for module in of_room for other in imports(module) if other.startswith("spamnb.service")}
    assert {other for other in known if not f"{other}.".startswith(f"{MAILBOX}.")} <= {
        "spamnb.service.context",
        "spamnb.service.log",
    }


DECISIONS = {  # what writes a decision about mail, or carries it out
    *("messages.ensure", "messages.judged", "messages.rescued", "locations.put", "locations.set_origin"),
    *("journal.judged", "training.learn", "training.learn_together", "mover.intend", "mover.carry_out"),
}


def calls(module: str) -> Iterator[str]:
    """Return the calls of a module, by the last two names: `self._ledger.messages.ensure(…)` is `messages.ensure`."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            match node.func.value:
                case ast.Attribute(attr=of) | ast.Name(id=of):
                    yield f"{of}.{node.func.attr}"


def test_one_place_writes_decisions() -> None:
    """In the service only the performer writes decisions about mail."""
    service = {module for module in MODULES if package_of(module) in {"service", "host.service"}}
    writing = {module: found for module in service if (found := DECISIONS & set(calls(module)))}
    assert writing == {f"{MAILBOX}.performer": DECISIONS}


def test_only_the_rules_decide() -> None:
    """What follows from the facts about a message is said in `rules`: nobody else makes up a reaction or a goal."""
    answers = {"Reaction", "Destination"}
    made = {
        module
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in answers
    }
    assert {package_of(module) for module in made} == {"rules"}


def test_layers_are_documented() -> None:
    """CONTRIBUTING.md has a row for each package, with the number of its layer."""
    text = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ((?:`[\w.]+`(?:, )?)+) \|", text, re.MULTILINE)
    assert {name: int(number) - 1 for number, names in rows for name in re.findall(r"[\w.]+", names)} == LAYER


def test_package_imports_nothing() -> None:
    """`import spamnb` is fast: the package itself imports no module."""
    assert not imports("spamnb")


def test_no_circles() -> None:
    """No module imports itself by way of others, not even inside a function."""
    arrows = {module: {other for other in imports(module) if other in MODULES} - {module} for module in MODULES}
    for module in MODULES:  # a package's own text runs before each of its modules
        for other in set(arrows[module]):
            parts = other.split(".")
            arrows[module] |= {".".join(parts[:n]) for n in range(1, len(parts))} - {module}
        arrows[module] -= {package for package in arrows[module] if module.startswith(f"{package}.")}
    open_, done = [], set()

    def visit(module: str) -> None:
        if module in done:
            return
        assert module not in open_, f"a circle: {' → '.join([*open_[open_.index(module) :], module])}"
        open_.append(module)
        for other in sorted(arrows[module]):
            visit(other)
        open_.pop()
        done.add(module)

    for module in MODULES:
        visit(module)


@cache
def names(module: str) -> frozenset[str]:
    """The names that a module uses: plain ones, and dotted ones of two parts."""
    nodes = list(ast.walk(tree(module)))
    plain = {node.id for node in nodes if isinstance(node, ast.Name)}
    dotted = {
        f"{node.value.id}.{node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    return frozenset(plain | dotted)


def test_nothing_goes_round_the_port() -> None:
    """Only the port gives access to lessons: no module outside the ledger knows the store on disk."""
    store = "spamnb.ledger.lessons.sqlite"
    assert not [module for module in outside("ledger") if any(other.startswith(store) for other in imports(module))]


def test_two_places_make_the_store() -> None:
    """Only the ledger makes the store of lessons; a reader of evidence makes the part that has it."""
    store = {"spamnb.ledger.lessons.sqlite.store", "spamnb.ledger.lessons.sqlite.lookup"}
    others = {module for module in MODULES if not module.startswith("spamnb.ledger.lessons.sqlite")}
    assert {module for module in others if store & imports(module)} == {
        "spamnb.ledger.ledger",
        "spamnb.ledger.evidence_to_read",
    }


TERMINAL = {
    "print",
    "input",
    "exit",
    "quit",
    "sys.exit",
    "os._exit",
    "sys.argv",
    "sys.stdin",
    "sys.stdout",
    "sys.stderr",
}


def used(module: str, names_sought: set[str]) -> set[str]:
    """Return which of these top-level packages a module imports."""
    return {name.split(".")[0] for name in imports(module)} & names_sought


def test_only_the_command_line_prints() -> None:
    """Only `cli` prints, reads arguments or standard input, or exits."""
    offenders = {
        module: found
        for module in outside("cli", "__main__")
        if (found := TERMINAL & names(module) | used(module, {"argparse"}))
    }
    assert not offenders


def test_only_the_service_and_the_pages_have_threads() -> None:
    """Only `service`, its parts and `web` use threads, or what starts them; `cli` may use processes.

    What they import at its first use needs a lock.
    """
    threads = {"threading", "_thread", "queue", "watchdog", "asyncio"}
    offenders = {
        module: found
        for module in outside("service", *PARTS, "web")
        if module != "spamnb.base.lazy_module"
        and (found := used(module, threads) | {name for name in names(module) if "ThreadPool" in name})
    }
    assert not offenders


# What would leave the pages with its memory; and two programs that pip cannot install. Each process ends.
_APART = ("spamnb.web.background", "spamnb.notmuch.program", "spamnb.provider.mbsync")


def test_only_bulk_and_the_command_line_have_processes() -> None:
    """Only `bulk`, `cli`, one module of `web`, and those that call notmuch and mbsync start processes.

    `service` and its parts take nothing from `concurrent.futures` but threads.
    """
    processes = {"subprocess", "multiprocessing"}
    offenders = {
        module: found
        for module in outside("cli", "bulk", "service", *PARTS)
        if module not in _APART and (found := used(module, processes | {"concurrent"}))
    } | {
        module: found
        for module in MODULES
        if package_of(module) in {"service", *PARTS}
        and (found := used(module, processes) | {name for name in names(module) if "ProcessPool" in name})
    }
    assert not offenders


def test_rules_read_nothing() -> None:
    """The rules are pure: they know values of the ledger and of mail, and no store, no filter and no file names."""
    rules = [module for module in MODULES if package_of(module) == "rules"]
    closed = ("ledger", "filter", "mail", "maildir", "acts")
    assert {name for module in rules for name in imports(module) if package_of(name) in closed} <= {
        "spamnb.ledger.history.locations",
        "spamnb.ledger.history.senders",
        "spamnb.ledger.history.state",
        "spamnb.ledger.lessons.acquaintance",
        "spamnb.ledger.lessons.port",
        "spamnb.mail.relations",
    }
    assert not {"Lessons", "Ledger", "Locations", "State"} & {name for module in rules for name in names(module)}
