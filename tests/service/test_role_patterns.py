"""Folders whose role is written as a pattern."""

from spamnb.base.label import Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.maildir.folders import create_folder
from tests.service.conftest import Site


def test_patterns_hold_for_what_is_moved(site: Site) -> None:
    """Mail that is moved into a folder is learned by the role of the pattern that matches it."""
    site.configure(patterns={"Lists/*": Role.NEUTRAL, "Spam?": Role.SPAM})
    for name in ("Lists/python", "Lists", "Spam1"):
        site.folders[name] = create_folder(str(site.root), site.layout, name)  # type: ignore[arg-type]
    filed, junked, kept = (message("ham", number) for number in (1, 2, 3))
    site.deliver(junked, "Archive")
    for content in (filed, kept):
        site.deliver(content)
    site.work()
    site.move(filed, "INBOX", "Lists/python")
    site.move(kept, "INBOX", "Lists")
    site.move(junked, "Archive", "Spam1")
    site.work()
    assert [site.label(content) for content in (filed, kept, junked)] == [None, 0, Label.SPAM]
