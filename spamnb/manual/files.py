"""All that is written when the project is built: man pages and completion, where systems look for them."""

from pathlib import Path

from spamnb.manual import bash, fish, zsh
from spamnb.manual.pages import pages


def files() -> dict[str, str]:
    """The text of each file by its path below a prefix such as /usr."""
    manual = {f"share/man/man{name.rpartition('.')[2]}/{name}": text for name, text in pages().items()}
    return {
        **manual,
        "share/bash-completion/completions/spamnb": bash.script(),
        "share/zsh/site-functions/_spamnb": zsh.script(),
        "share/fish/vendor_completions.d/spamnb.fish": fish.script(),
    }


def write(prefix: Path) -> None:
    """Write them below a directory."""
    for name, text in files().items():
        path = prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
