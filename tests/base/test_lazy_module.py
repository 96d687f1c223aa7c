"""A module that is imported at its first use."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from spamnb.base.lazy_module import at_first_use
from spamnb.mail.tokens import markup


def test_nothing_is_imported_before_it_is_used(tmp_path, monkeypatch):
    """The module is imported when somebody asks for its content, and is itself from then on."""
    (tmp_path / "of_no_use.py").write_text("value = 1\nimported = __name__\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "of_no_use", None)
    del sys.modules["of_no_use"]
    at_first_use("of_no_use")
    import of_no_use

    assert vars(of_no_use).keys().isdisjoint({"value", "imported"})
    assert (of_no_use.value, of_no_use.imported) == (1, "of_no_use")
    assert vars(sys.modules["of_no_use"])["value"] == 1


def test_two_threads_that_use_it_at_once_get_one_module(tmp_path, monkeypatch):
    """The second waits until the first has imported it."""
    (tmp_path / "of_two_uses.py").write_text(
        "import time\nbegun = time.monotonic()\ntime.sleep(0.01)\nvalue = object()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "of_two_uses", None)
    del sys.modules["of_two_uses"]
    at_first_use("of_two_uses")
    later = sys.modules["of_two_uses"]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: later.value, range(64)))
    assert len(set(map(id, found))) == 1


def test_what_is_not_installed_says_so_when_it_is_used(monkeypatch):
    """A module that is missing fails as at its import, when somebody uses it."""
    monkeypatch.setitem(sys.modules, "not_installed_at_all", None)
    del sys.modules["not_installed_at_all"]
    at_first_use("not_installed_at_all")
    with pytest.raises(ModuleNotFoundError):
        _ = sys.modules["not_installed_at_all"].anything


def test_selectors_work_though_they_are_imported_late():
    """BeautifulSoup can select in a program that reads mail."""
    assert [found.text for found in markup.BeautifulSoup("<p class=a>x</p><p>y", "lxml").select("p.a")] == ["x"]
