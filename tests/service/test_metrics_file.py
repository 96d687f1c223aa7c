"""The file of metrics that the service writes."""

import logging
import os
import re
import time
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Service
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.exposition import exposition
from spamnb.service.context import Context
from spamnb.service.jobs import metrics_of_ledger
from spamnb.service.measurements import Measurements
from tests.patience import until
from tests.service.conftest import Site

RUNNING = 'spamnb_service_running{service="anna@b.example"}'
RANGES = ("0.005", "0.25", "0.5", "2.5", "+Inf")


def value(text: str, sample: str) -> float:
    """The value of a sample."""
    found = re.search(rf"^{re.escape(sample)} (\S+)$", text, re.MULTILINE)
    assert found, sample
    return float(found[1])


def values_of(measurements: Measurements, sample: str) -> float:
    """The value of a sample of what a service measures."""
    return value(exposition(measurements.metrics(0)), sample)


def test_the_service_writes_it(site: Site) -> None:
    """The file has the counts of the service, and its counters go on after a restart."""
    path = site.directory / "spamnb.prom"
    site.teach()
    site.configure(f"service:\n  metrics: {path}\n")
    site.work()
    spam = 'spamnb_judged_messages_total{verdict="spam",via="maildir"}'
    assert value(path.read_text(), spam) == 0
    for number in (501, 502):
        site.deliver(message("spam", number))
        site.work()
        text = path.read_text()
        assert value(text, spam) == value(text, 'spamnb_moved_messages_total{to="spam"}') == number - 500
        assert value(text, "spamnb_service_running") == 1
        assert value(text, "spamnb_watched_directories") > 0
        assert value(text, "spamnb_judge_seconds_count") == 1, "of this run of the service"
        assert 0 < value(text, "spamnb_judge_seconds_sum") < 60
        assert value(text, 'spamnb_faults_total{kind="mail"}') == 0
    assert value(text, 'spamnb_learned_messages_total{label="spam",by="hand"}') == 25


def test_each_half_minute(tmp_path: Path) -> None:
    """The file is written again after half a minute, or if the clock is set back, and not sooner."""
    path = tmp_path / "m" / "spamnb.prom"
    path.parent.mkdir()
    config = Config(mailboxes=(), ledger=tmp_path / "ledger", service=Service(metrics=path))
    with Ledger(str(config.ledger)) as ledger:
        metrics = metrics_of_ledger(Context(config, ledger, time.time), lambda: 1)
        for now, is_written in ((1000.0, True), (1029.0, False), (1031.0, True), (500.0, True)):
            assert not metrics.step_if_due(now)
            assert path.exists() == is_written
            path.unlink(missing_ok=True)
        no_file = Config(mailboxes=(), ledger=config.ledger)
        metrics_of_ledger(Context(no_file, ledger, time.time), lambda: 1).step_if_due(1000.0)
        assert os.listdir(path.parent) == []


def test_a_directory_that_is_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """If the file cannot be written, that is logged once; it is written when it is possible again."""
    path = tmp_path / "away" / "spamnb.prom"
    config = Config(mailboxes=(), ledger=tmp_path / "ledger", service=Service(metrics=path))
    with Ledger(str(config.ledger)) as ledger, caplog.at_level(logging.WARNING):
        measurements = Measurements()
        metrics = metrics_of_ledger(Context(config, ledger, time.time, measurements=measurements), lambda: 1)
        for now in (1000.0, 2000.0):
            metrics.step_if_due(now)
        assert len(caplog.records) == 1
        assert "create its directory" in caplog.text
        assert values_of(measurements, 'spamnb_faults_total{kind="disk"}') == 1
        path.parent.mkdir()
        metrics.step_if_due(3000.0)
        assert path.exists()


def test_of_an_instance(tmp_path: Path) -> None:
    """One of several services writes into a file of its own, whatever they all have in the configuration."""
    config = Config(mailboxes=(), ledger=tmp_path / "ledger", service=Service(metrics=tmp_path / "m" / "spamnb.prom"))
    (tmp_path / "m").mkdir()
    with Ledger(str(config.ledger)) as ledger:
        for instance in ("anna", "bob"):
            metrics_of_ledger(Context(config, ledger, time.time), lambda: 1, instance).step_if_due(1000.0)
    assert sorted(os.listdir(tmp_path / "m")) == ["spamnb@anna.prom", "spamnb@bob.prom"]
    assert value((tmp_path / "m" / "spamnb@bob.prom").read_text(), 'spamnb_armed{service="bob"}') == 0


def test_the_service_knows_its_instance(site: Site) -> None:
    """The service takes its instance from its environment, as the unit says it, and `status` does too."""
    path = site.directory / "spamnb.prom"
    site.configure(f"service:\n  metrics: {path}\n")
    site.start(environ={"SPAMNB_INSTANCE": "anna@b.example"})
    own = path.with_name("spamnb@anna@b.example.prom")
    until(own.exists, "the file of the instance")
    assert site.end() == 0
    assert not path.exists()
    assert value(own.read_text(), RUNNING) == 1


def test_how_long_judging_takes() -> None:
    """Each judgement counts in each range up to its length, and its time is added to the sum."""
    clock = iter((0.0, 0.005, 1.0, 1.3, 2.0, 9.0))
    measurements = Measurements(lambda: next(clock))
    for _ in range(3):
        with measurements.judging():
            pass
    found = {bound: values_of(measurements, f'spamnb_judge_seconds_bucket{{le="{bound}"}}') for bound in RANGES}
    assert found == {"0.005": 1, "0.25": 1, "0.5": 2, "2.5": 2, "+Inf": 3}
    assert values_of(measurements, "spamnb_judge_seconds_sum") == pytest.approx(7.305)
    assert values_of(measurements, "spamnb_judge_seconds_count") == 3
