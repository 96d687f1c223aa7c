"""Find folders into which rules sort the mail of mailing lists, by that mail.

To file a message by hand is a decision, to let a rule sort it is none. No file tells who has put it into its folder.
But rules sort by List-Id (RFC 2919), so nearly all mail of such a folder comes over a few lists. The mail of an archive
may do so too, and there a person files by hand. So a folder that is called an archive does not count.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from spamnb.base.errors import MaildirError
from spamnb.bulk.sources import Source
from spamnb.mail.parsing.header_block import empty_line
from spamnb.mail.parsing.message import parse
from spamnb.mail.relations import relations
from spamnb.maildir.messages import read_chunks

_LOOKED_AT = 30  # messages of a folder
_FEWEST = 5  # messages of a folder that tell anything
_SHARE = 0.8  # of these, over a mailing list
_LISTS = 3  # that one rule sorts into one folder
_OF_LISTS = frozenset({"list", "lists", "listen", "mailing lists", "mailing-lists", "mailinglists", "newsletters"})
_ARCHIVES = frozenset(
    {"archive", "archives", "archived", "archiv", "archivo", "archivio", "arquivo", "archief", "arkiv", "archiwum"}
)


def list_folders(messages: Mapping[str, Sequence[Source]], ham: Collection[str]) -> list[str]:
    """Return the folders, or patterns for several, into which rules seem to sort mailing lists.

    messages: of all folders. ham: the folders among them that an ordinary role was proposed for. A pattern such as
    `Lists/*` stands for all folders in a folder, if at least two of them are such folders, and no other has much mail.
    """
    told = {folder: _is_sorted(folder, messages[folder]) for folder in ham if len(messages[folder]) >= _FEWEST}
    found = [folder for folder, is_sorted in told.items() if is_sorted]
    patterns: dict[str, str] = {}
    for above in sorted({above for folder in found for above in _above(folder)}):
        inside = [folder for folder in told if folder.startswith(f"{above}/")]
        if len(inside) > 1 and all(map(told.get, inside)):
            for folder in inside:
                patterns.setdefault(folder, f"{above}/*")
    return list(dict.fromkeys(patterns.get(folder, folder) for folder in found))


def _above(folder: str) -> Iterator[str]:
    """Yield the folders around a folder; the inbox is none: it is judged."""
    parts = folder.split("/")
    for length in range(1, len(parts)):
        if (above := "/".join(parts[:length])).upper() != "INBOX":
            yield above


def _is_sorted(folder: str, messages: Sequence[Source]) -> bool:
    """Tell whether nearly all mail of a folder comes over a few mailing lists."""
    parts = {part.strip().lower() for part in folder.split("/")}
    if parts & _ARCHIVES:
        return False
    number = min(len(messages), _LOOKED_AT)
    looked_at = [messages[place * len(messages) // number] for place in range(number)]  # from the oldest to the newest
    lists = [found for source in looked_at if (found := _list_of(source)) is not None]
    most = _LOOKED_AT if parts & _OF_LISTS else _LISTS
    common = Counter(filter(None, lists)).most_common(most)
    return len(lists) >= _FEWEST and sum(number for _, number in common) >= _SHARE * len(lists)


def _list_of(source: Source) -> str | None:
    """Return the mailing list of a message; "" for none, None if it cannot be read."""
    with suppress(MaildirError, FileNotFoundError):
        raw = next(read_chunks(source.file, source.within), b"")
        end = empty_line(raw)
        return relations(parse(raw if end is None else raw[: end[1]])).list_id
    return None
