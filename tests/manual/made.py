"""Man pages and completion, as they are committed."""

from functools import cache

from tests.documents import ROOT

SCRIPTS = ROOT / ".ci/manual"
MADE = SCRIPTS / "made"


@cache
def files() -> dict[str, str]:
    """The text of each file by its path below a prefix such as /usr."""
    paths = sorted(path for path in MADE.rglob("*") if path.is_file())
    return {str(path.relative_to(MADE)): path.read_text(encoding="utf-8") for path in paths}


@cache
def pages() -> dict[str, str]:
    """The text of each man page by its name, such as `spamnb.1`."""
    return {name.rpartition("/")[2]: text for name, text in files().items() if "/man/" in name}
