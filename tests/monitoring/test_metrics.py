"""Metrics: what a monitor reads, and the rules by which it calls a person."""

import importlib
import json
import math
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from spamnb.acts.training import learn_message
from spamnb.base.label import LEARNED_BY, How, Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Mailbox, Service
from spamnb.host.register import AccountRow, FilterState, Sums
from spamnb.host.service.host_users import metrics_of_share
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.file.parts import of_day
from spamnb.ledger.history.tallies import Tally
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder
from spamnb.monitoring.exposition import Histogram, Metric, exposition
from spamnb.monitoring.host import host_metrics
from spamnb.monitoring.metrics import metrics, of_instance, write
from spamnb.service.measurements import Measurements
from tests.documents import ROOT, read
from tests.lessons import learn, sample_lessons
from tests.patience import PATIENCE, until
from tests.ports import held_port

RULES = ROOT / "docs" / "spamnb.rules.yaml"
DASHBOARD = ROOT / "docs" / "spamnb.dashboard.json"
STRANGE = 'a\\b"c\nd'
NOW = 1_700_000_000.0  # of the ledger's copies, whose names are days


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger that has learned a little, and judged one message."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as opened:
        learn(opened, sample_lessons(3))
        known = opened.messages.ensure(b"1", "")
        opened.messages.judged(known.id, "ham", 0.01, 1_000_000.25)
        opened.locations.folder(opened.locations.mailbox("/mail")[0], "INBOX")
        opened.journal.judged(known.id, (1, "a"), "ham", 0.01, "stays, ham", 1_000_000.25, how=How.MAILDIR)
        yield opened


@pytest.fixture
def config(ledger: Ledger) -> Config:
    """A configuration over that ledger."""
    mailbox = Mailbox(path=Path("/mail"), roles={"INBOX": Role.INBOX, "Junk": Role.SPAM})
    return Config(mailboxes=(mailbox,), ledger=Path(ledger.path))


@pytest.fixture
def rows() -> list[AccountRow]:
    """The rows of three users: the filter of one has stopped, and that of another is broken."""
    return [
        AccountRow("anna@a.example", "/m/anna", FilterState.MOVING, ham=20, spam=30, judged_at=1e6, bytes=100),
        AccountRow("bob@a.example", "/m/bob", FilterState.STOPPED, ham=1, judged_at=5.0, bytes=10, letter_at=1.0),
        AccountRow("eve@a.example", "/m/eve", FilterState.BROKEN, fault="no inbox"),
    ]


def of_host(config: Config, rows: list[AccountRow], measured: Measurements, instance: str = "") -> str:
    """Return the metrics of a host's service with two accounts awake and twelve directories watched."""
    of_service = [*measured.of_host(2), *measured.metrics(12)]
    return host_metrics(config, Sums.of(rows), NOW, is_running=True, of_service=of_service, instance=instance)


def values(text: str) -> dict[str, float]:
    """The samples of a text, by name with labels."""
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")}


def test_what_is_told(ledger: Ledger, config: Config) -> None:
    """The ledger's numbers are there, with zero for what never was, and the times of what was."""
    found = values(metrics(config, ledger, NOW, Measurements().metrics(12)))
    assert found['spamnb_known_messages{label="ham"}'] == 3
    assert found['spamnb_learned_messages_total{label="spam",by="hand"}'] == 3
    assert found['spamnb_judged_messages_total{verdict="ham",via="maildir"}'] == 1
    assert found['spamnb_judged_messages_total{verdict="spam",via="maildir"}'] == 0
    assert found["spamnb_last_judgement_timestamp_seconds"] == 1_000_000.25
    assert found["spamnb_watched_directories"] == 12
    assert found["spamnb_breaker_open"] == found["spamnb_paused"] == found["spamnb_service_running"] == 0
    assert found["spamnb_last_copy_timestamp_seconds"] == 0
    assert found["spamnb_armed"] == 0


def test_what_taught_it(config: Config, ledger: Ledger) -> None:
    """Lessons are counted by their cause, whatever the sentences say; imports teach no message."""
    ways = [how for how in LEARNED_BY if how is not How.IMPORT]
    name = 'spamnb_learned_messages_total{{label="spam",by="{}"}}'.format
    before = values(metrics(config, ledger, NOW))
    for number, how in enumerate(ways):
        learn_message(ledger, message("spam", 100 + number), Label.SPAM, "the same words", NOW, how=how)
    found = values(metrics(config, ledger, NOW))
    assert {way: found[name(way)] - before[name(way)] for way in ways} == dict.fromkeys(ways, 1)
    assert name("import") not in found


def test_changes(ledger: Ledger, config: Config) -> None:
    """A stop, a pause and a copy are shown; without copies there is no metric of them."""
    ledger.state.stopped_at = 5.0
    ledger.state.paused_until = math.inf
    roll(ledger.path, NOW, 3)
    found = values(metrics(config, ledger, NOW))
    assert found["spamnb_breaker_open"] == found["spamnb_paused"] == 1
    assert found["spamnb_last_copy_timestamp_seconds"] == Path(of_day(ledger.path, NOW)).stat().st_mtime
    without = replace(config, service=replace(config.service, copies=0))
    assert "last_copy" not in metrics(without, ledger, NOW)


def test_mailboxes_that_are_not_there(ledger: Ledger, config: Config, tmp_path: Path) -> None:
    """Mailboxes without an inbox are counted without names; an empty mount point has no inbox."""
    roles = {"INBOX": Role.INBOX, "Junk": Role.SPAM}
    create_folder(str(tmp_path / "one"), "maildir++", "INBOX")
    create_folder(str(tmp_path / "two"), "fs", "Inbox")
    (tmp_path / "empty").mkdir()
    for names, number in (((), 0), (("one", "two"), 0), (("one", "empty", "none"), 2)):
        mailboxes = tuple(Mailbox(path=tmp_path / name, roles=roles) for name in names)
        text = metrics(replace(config, mailboxes=mailboxes), ledger, NOW)
        assert values(text)["spamnb_missing_mailboxes"] == number
        assert str(tmp_path) not in text


def test_without_a_ledger(config: Config, tmp_path: Path) -> None:
    """Before there is a ledger, all counters are zero."""
    found = values(metrics(replace(config, ledger=tmp_path / "none"), None, NOW))
    assert {value for name, value in found.items() if "_total" in name} == {0.0}


def test_of_a_host(config: Config, rows: list[AccountRow]) -> None:
    """A host has sums over its users, with no user in a label, and its service's own measurements."""
    measured = Measurements()
    measured.done(Counter({Tally("judged", "spam", "maildir"): 2, Tally("corrected", "spam", "ham"): 1}))
    measured.done(Counter({Tally("judged", "spam", "maildir"): 1}))
    for seconds in (0.004, 0.2, 100.0):
        measured.turn(seconds)
    text = of_host(config, rows, measured)
    found = values(text)
    assert {state: found[f'spamnb_users{{state="{state}"}}'] for state in FilterState} == {
        **dict.fromkeys(FilterState, 0), FilterState.MOVING: 1, FilterState.STOPPED: 1, FilterState.BROKEN: 1,
    }  # fmt: skip
    assert found['spamnb_known_messages{label="ham"}'] == 21
    assert [found[f'spamnb_letters{{read="{word}"}}'] for word in ("yes", "no")] == [0, 1]
    assert found["spamnb_ledger_bytes"] == 110
    assert found["spamnb_last_judgement_timestamp_seconds"] == 1e6
    assert found['spamnb_judged_messages_total{verdict="spam",via="maildir"}'] == 3
    assert found['spamnb_corrected_messages_total{verdict="spam",label="ham"}'] == 1
    assert found['spamnb_moved_messages_total{to="spam"}'] == 0
    assert found["spamnb_accounts_awake"] == 2
    assert found['spamnb_turn_seconds_bucket{le="0.25"}'] == 2
    assert found["spamnb_turn_seconds_count"] == 3
    assert "a.example" not in text


def test_the_oldest_copy_of_a_host(config: Config, rows: list[AccountRow]) -> None:
    """A host says until when all its ledgers are copied, so that the alert is raised when one of them is not."""
    name, measured = "spamnb_last_copy_timestamp_seconds", Measurements()
    assert values(of_host(config, rows, measured))[name] == NOW
    waiting = [replace(row, uncopied_since=NOW - days * 86_400) for row, days in zip(rows, (1, 3, 0), strict=True)]
    assert values(of_host(config, waiting, measured))[name] == NOW - 3 * 86_400
    without = replace(config, service=replace(config.service, copies=0))
    assert name not in values(of_host(without, waiting, measured))


def test_counters_of_a_host_never_fall(config: Config, rows: list[AccountRow]) -> None:
    """When a user is forgotten, no counter gets smaller: Prometheus would take that for a restart."""
    measured = Measurements()
    measured.done(Counter({Tally("learned", "spam", "move"): 5}))
    before = values(of_host(config, rows, measured))
    after = values(of_host(config, rows[1:], measured))
    assert after["spamnb_ledger_bytes"] < before["spamnb_ledger_bytes"]
    assert all(after[name] == number for name, number in before.items() if "_total" in name)


def test_the_file_of_each_share(config: Config, rows: list[AccountRow], tmp_path: Path) -> None:
    """Each service of a host writes its own file, with the users of its share and its measurements."""
    (tmp_path / "m").mkdir()
    host = replace(config, service=Service(metrics=tmp_path / "m" / "spamnb.prom"))
    for instance, name in (("1-of-2", "anna@a.example"), ("2-of-2", "bob@a.example")):
        measured = Measurements()

        def counted(measured: Measurements = measured) -> list[Metric | Histogram]:
            measured.done(Counter({Tally("judged", "ham", "maildir"): 1000}))
            return [*measured.of_host(1), *measured.metrics(1)]

        of_share = [row for row in rows if row.name == name]
        metrics_of_share(host, of_share.copy, counted, instance, measured).step_if_due(1000.0)
    files = sorted((tmp_path / "m").iterdir())
    assert [file.name for file in files] == ["spamnb@1-of-2.prom", "spamnb@2-of-2.prom"]
    first, second = (values(file.read_text()) for file in files)
    assert first['spamnb_users{service="1-of-2",state="moving"}'] == 1
    assert first['spamnb_users{service="1-of-2",state="stopped"}'] == 0
    assert second['spamnb_users{service="2-of-2",state="stopped"}'] == 1
    assert first['spamnb_judged_messages_total{service="1-of-2",verdict="ham",via="maildir"}'] == 1000
    assert first.keys().isdisjoint(second)


@pytest.mark.parametrize("whose", ["one person", "a host"])
def test_the_form(ledger: Ledger, config: Config, rows: list[AccountRow], whose: str) -> None:
    """Each metric has its help and its type once, before its samples; counters end in _total; no line has a time."""
    measured = Measurements()
    text = metrics(config, ledger, NOW, measured.metrics(1))
    if whose == "a host":
        text = of_host(config, rows, measured)
    assert text.endswith("\n")
    names = re.findall(r"^# HELP (\w+) ", text, re.MULTILINE)
    assert names == re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE)
    assert max(Counter(names).values()) == 1
    here = ""
    for line in text.splitlines():
        if line.startswith("#"):
            here = line.split()[2]
        else:
            assert re.fullmatch(rf'{here}(?:_bucket|_sum|_count)?(?:\{{(?:\w+="[^"]*",?)+\}})? [\d.e+-]+', line)
    for name in names:
        assert (f"# TYPE {name} counter" in text) == name.endswith("_total")
    assert max(Counter(line.rsplit(" ", 1)[0] for line in text.splitlines()).values()) == 1


def test_read_by_prometheus(ledger: Ledger, config: Config) -> None:
    """Prometheus's own parser reads the text, and returns strange labels unchanged."""
    parser = importlib.import_module("prometheus_client.parser")  # it has no types
    measured = Measurements()
    measured.request("CHECK", 0)
    text = metrics(config, ledger, NOW, measured.metrics(3)) + exposition(
        [Metric("odd", "gauge", STRANGE, {(("of", STRANGE),): 1.5})]
    )
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found["odd", STRANGE] == 1.5
    assert found["spamnb_known_messages", "ham"] == 3
    assert len(found) == len(values(text))


def test_the_document(rows: list[AccountRow]) -> None:
    """docs/monitoring.md names each metric, and no other."""
    config, measured = Config(mailboxes=(), ledger=Path("/none/ledger")), Measurements()
    measured.exchanged_at = 1.0
    text = metrics(config, None, NOW, measured.metrics(1)) + of_host(config, rows, Measurements())
    written = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    written |= {"spamnb_last_judgement_timestamp_seconds", "spamnb_unsent_lessons"}
    named = set(re.findall(r"`(spamnb_\w+)`", read("docs/monitoring.md")))
    assert named == written


def test_the_file(tmp_path: Path) -> None:
    """The file is replaced as a whole, everybody may read it, and no other file is left for the collector to find."""
    path = tmp_path / "spamnb.prom"
    for text in ("a 1\n" * 1000, "b 2\n"):
        write(str(path), text)
        assert path.read_text() == text
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_two_services_of_a_host(ledger: Ledger, config: Config, tmp_path: Path) -> None:
    """Each instance has a file and series of its own; the only service of a host has no label."""
    measured = Measurements()
    texts = {one: metrics(config, ledger, NOW, measured.metrics(1), one) for one in ("", "anna", "bob@b.example")}
    series = [set(values(text)) for text in texts.values()]
    assert len(set().union(*series)) == sum(map(len, series)) > 0
    assert all('service="bob@b.example"' in one for one in series[2])
    assert not any("service=" in one for one in series[0])
    assert 'spamnb_judge_seconds_bucket{service="anna",le="+Inf"} 0\n' in texts["anna"]
    assert len({of_instance(tmp_path / "spamnb.prom", one) for one in texts}) == 3
    assert [one.replace('service="anna",', "").replace('{service="anna"}', "") for one in sorted(series[1])] == sorted(
        series[0]
    )


@pytest.mark.real_system
def test_read_by_node_exporter(ledger: Ledger, config: Config, tmp_path: Path) -> None:
    """node_exporter shows both services of a host; if their series had equal names it would drop one."""
    program = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    if program is None:
        pytest.skip("needs node_exporter (Debian: prometheus-node-exporter)")
    for instances, taken in ((("anna", "bob"), 2), (("", ""), 1)):
        directory = tmp_path / "-".join(instances)
        directory.mkdir()
        for number, one in enumerate(instances):
            later = [Metric("spamnb_number", "gauge", "Of the service.", {(): float(number)})]
            write(str(directory / f"spamnb{number}.prom"), metrics(config, ledger, NOW, later, one))
        with exporter(program, directory) as read:
            found = read()
        assert len(re.findall("^spamnb_armed", found, re.MULTILINE)) == taken
        assert len(re.findall("^spamnb_number", found, re.MULTILINE)) == taken


@contextmanager
def exporter(program: str, directory: Path) -> Iterator[Callable[[], str]]:
    """node_exporter over a directory; gives what it tells."""
    with held_port() as port:
        only = ["--collector.disable-defaults", "--collector.textfile", "--web.disable-exporter-metrics"]
        where = [f"--collector.textfile.directory={directory}", f"--web.listen-address=127.0.0.1:{port}"]
        process = subprocess.Popen([program, *only, *where], stderr=subprocess.DEVNULL)

        def listens() -> bool:
            assert process.poll() is None, "node_exporter has ended"
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        def read() -> str:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
                    return str(answer.read().decode())
            except urllib.error.HTTPError as refused:
                return refused.read().decode()

        try:
            until(listens, "node_exporter to listen")
            yield read
        finally:
            process.terminate()
            process.wait(PATIENCE)


# Alerts


def rules() -> list[dict[str, object]]:
    """The rules for alerts."""
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return list(group["rules"])


def test_rules_name_what_is_there(ledger: Ledger, config: Config, rows: list[AccountRow]) -> None:
    """Each rule is about metrics and labels that are written, and says what to do."""
    measured = Measurements()
    measured.exchanged_at = 1.0
    text = metrics(config, ledger, NOW, measured.metrics(1)) + of_host(config, rows, measured)
    for rule in rules():
        expression = str(rule["expr"])
        named = re.findall(r"(spamnb_\w+)(?:\{([^}]*)\})?", expression)
        assert named, expression
        for name, labels in named:
            assert re.search(rf"^{name}[{{ ]", text, re.MULTILINE), name
            assert all(label in text for label in labels.split(",") if label)
        assert {"summary", "description"} == set(rule["annotations"])  # type: ignore[call-overload]


def test_the_document_names_each_alert() -> None:
    """docs/monitoring.md has a line for each alert, in the order of the rules."""
    named = re.findall(r"^\| `(Spamnb\w+)` \|", read("docs/monitoring.md"), re.MULTILINE)
    assert named == [rule["alert"] for rule in rules()]


def panels() -> list[dict[str, Any]]:
    """The panels of the dashboard."""
    return list(json.loads(DASHBOARD.read_text())["panels"])


def expressions() -> list[str]:
    """What the dashboard asks Prometheus."""
    return [target["expr"] for panel in panels() for target in panel.get("targets", [])]


def test_the_dashboard_shows_what_is_there(ledger: Ledger, config: Config, rows: list[AccountRow]) -> None:
    """Each metric and each label that the dashboard names is written, and nothing written is forgotten."""
    measured = Measurements()
    measured.exchanged_at = 1.0
    measured.request("CHECK", 0)
    text = metrics(config, ledger, NOW, measured.metrics(1)) + of_host(config, rows, measured)
    shown = set()
    for expression in expressions():
        named = re.findall(r"(spamnb_\w+)\{([^}]*)\}", expression)
        assert named, expression
        for name, labels in named:
            lines = re.findall(rf"^{name}(?:\{{.*|) \S+$", text, re.MULTILINE)
            assert lines, name
            shown.add(re.sub("_bucket$", "", name))
            of_metric = [label for label in labels.split(",") if not label.startswith("instance=")]
            assert all(any(label in line for line in lines) for label in of_metric), expression
            for by in re.findall(r"by \(([^)]*)\)", expression):
                wanted = set(by.split(", ")) - {"service"}  # a label of services of which there are several
                assert all(f'{label}="' in "".join(lines) for label in wanted), expression
    known = {"spamnb_armed", "spamnb_paused", "spamnb_withheld_messages", "spamnb_needed_messages", "spamnb_mailboxes"}
    known |= {"spamnb_known_tokens", "spamnb_last_copy_timestamp_seconds", "spamnb_last_exchange_timestamp_seconds"}
    known |= {"spamnb_letters"}
    assert set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)) - shown == known, "for `spamnb status`, and for alerts"


def test_the_dashboard_is_whole() -> None:
    """Each panel of the dashboard has a number, a title and a place of its own; no machine is named in it."""
    assert len({panel["id"] for panel in panels()}) == len(panels())
    assert all(panel["title"] for panel in panels())
    taken = Counter(
        (panel["gridPos"]["x"] + right, panel["gridPos"]["y"] + down)
        for panel in panels()
        for right in range(panel["gridPos"]["w"])
        for down in range(panel["gridPos"]["h"])
    )
    assert max(taken.values()) == 1
    assert max(right for right, _ in taken) < 24
    sources = {panel["datasource"]["uid"] for panel in panels() if panel["type"] != "row"}
    assert sources == {"${datasource}"}


@pytest.mark.real_system
def test_promtool_on_the_dashboard(tmp_path: Path) -> None:
    """Prometheus can read each question of the dashboard."""
    asked = [one.replace("$__rate_interval", "5m").replace("$instance", ".*") for one in expressions()]
    assert not any("$" in one for one in asked)
    recorded = [{"record": f"of:{number}", "expr": one} for number, one in enumerate(asked)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": recorded}]}))
    promtool("check", "rules", str(tmp_path / "rules.yaml"))


# What is so, and which alerts are raised: series with their courses, and after how long they have to be.
ALERTS = {
    "SpamnbStoppedMoving": ({"spamnb_breaker_open": "0 1x20"}, "6m"),
    "SpamnbNotRunning": ({"spamnb_service_running": "1 0x20"}, "7m"),
    "SpamnbMailboxMissing": ({"spamnb_missing_mailboxes": "0 1x20"}, "12m"),
    "SpamnbJudgesNothing": ({"spamnb_last_judgement_timestamp_seconds": "0x1600"}, "1455m"),
    "SpamnbTakesHamForSpam": (
        {'spamnb_corrected_messages_total{verdict="spam",label="ham"}': "0x100 5x10"},
        "105m",
    ),
    "SpamnbLedgerNotCopied": ({"spamnb_last_copy_timestamp_seconds": "0x3100"}, "2950m"),
    "SpamnbNotExchanged": ({"spamnb_last_exchange_timestamp_seconds": "0x200"}, "125m"),
    "SpamnbUsersStopped": ({'spamnb_users{state="stopped"}': "0 3x20"}, "6m"),
    "SpamnbUsersBroken": ({'spamnb_users{state="broken"}': "0 3x20"}, "12m"),
    "SpamnbHostTakesHamForSpam": (
        {
            'spamnb_users{state="moving"}': "5000x120",
            'spamnb_corrected_messages_total{verdict="spam",label="ham"}': "0x100 30x20",
            'spamnb_moved_messages_total{to="spam"}': "0x100 1000x20",
        },
        "105m",
    ),
    "SpamnbHintsWait": (
        {f'spamnb_turn_seconds_bucket{{le="{le}"}}': f"0+{n}x60" for le, n in (("1.0", 1), ("10.0", 2), ("+Inf", 2))},
        "45m",
    ),
}


def promtool(*arguments: str, stdin: str = "") -> str:
    """Return promtool's objections."""
    if shutil.which("promtool") is None:
        pytest.skip("needs promtool (Debian: prometheus)")
    done = subprocess.run(["promtool", *arguments], input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.real_system
def test_promtool_on_metrics(ledger: Ledger, config: Config, rows: list[AccountRow]) -> None:
    """promtool finds nothing to say about names and units."""
    measured = Measurements()
    for text in (metrics(config, ledger, NOW, measured.metrics(1)), of_host(config, rows, measured)):
        assert promtool("check", "metrics", stdin=text) == ""


@pytest.mark.real_system
@pytest.mark.parametrize("alert", ALERTS)
def test_promtool_on_rules(tmp_path: Path, alert: str) -> None:
    """Each alert fires in its own case, not earlier, and alone."""
    series, after = ALERTS[alert]
    labels = dict(re.findall(r'(\w+)="(\w+)"', *series)) if len(series) == 1 else {}  # several are summed up
    severity = next(rule["labels"] for rule in rules() if rule["alert"] == alert)
    annotations = next(rule["annotations"] for rule in rules() if rule["alert"] == alert)
    raised = {"exp_labels": labels | severity, "exp_annotations": annotations}  # type: ignore[operator]
    names = [str(rule["alert"]) for rule in rules()]
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": course} for name, course in series.items()],
        "alert_rule_test": [
            *(
                {"eval_time": after, "alertname": name, "exp_alerts": [raised] if name == alert else []}
                for name in names
            ),
            {"eval_time": "1m", "alertname": alert, "exp_alerts": []},
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"rule_files": [str(RULES)], "tests": [test]}))
    promtool("check", "rules", str(RULES))
    promtool("test", "rules", str(tmp_path / "test.yaml"))
