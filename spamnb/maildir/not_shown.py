"""Find Maildirs inside a Maildir that its layout does not show, so that neither a mail server nor the filter sees them.

A mail program makes them by a name of the other layout: `=Junk` of mutt is `Junk` below a Maildir++, whose folder of
that name is `.Junk`.
"""

import os
from collections.abc import Iterator

from spamnb.maildir.folders import MAX_DEPTH, SUBDIRS, Layout, is_maildir


def not_shown(root: str, layout: Layout, *, depth: int = MAX_DEPTH) -> Iterator[str]:
    """Yield the paths of Maildirs below `root` that this layout does not show, sorted in each directory.

    depth: the number of levels below the root to look at; for one level only the root is listed. A directory that
    cannot be listed counts as empty, and what is inside such a Maildir is not looked at.
    """
    for entry in _directories(root):
        is_shown = entry.startswith(".") is (layout == "maildir++")
        yield from _not_shown(os.path.join(root, entry), layout, depth - 1, is_shown=is_shown)


def _not_shown(path: str, layout: Layout, depth: int, *, is_shown: bool) -> Iterator[str]:
    if not is_shown and is_maildir(path):
        yield path
    elif depth > 0:
        for entry in _directories(path):
            is_nested = is_shown and layout == "fs" and not entry.startswith(".")
            yield from _not_shown(os.path.join(path, entry), layout, depth - 1, is_shown=is_nested)


def place_in(layout: Layout, root: str, path: str) -> str:
    """Return the path that the layout shows for a Maildir in the root that it does not show.

    >>> place_in("maildir++", "/m", "/m/Junk"), place_in("maildir++", "/m", "/m/Lists/Python")
    ('/m/.Junk', '/m/.Lists.Python')
    >>> place_in("fs", "/m", "/m/.Lists.Python")
    '/m/Lists/Python'
    """
    parts = [part for name in os.path.relpath(path, root).split("/") for part in name.split(".") if part]
    return os.path.join(root, f".{'.'.join(parts)}" if layout == "maildir++" else "/".join(parts))


def _directories(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            found = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    # QUIRK: Dovecot deletes a folder through `..DOVECOT-TRASHED`.
    return [name for name in found if name not in SUBDIRS and not name.startswith("..")]
