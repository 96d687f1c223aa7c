"""The text that answers REPORT: the verdict, and a table of the points that make it.

The table has the form of SpamAssassin's: clients look for rules in it. Its points sum to the reported points. npm's
`spamc` and `spamc-stream` need two things beside the columns: a word with a colon before each description, and no comma
after a capital letter or a digit anywhere.
"""

import math
import re
import textwrap
from collections.abc import Iterator

from spamnb import __version__
from spamnb.base.wording import adding_up, escaped
from spamnb.bayes.calibration import exact_points
from spamnb.config import Config
from spamnb.delivery.judge import JudgedAtDelivery
from spamnb.filter.explain import named
from spamnb.filter.first_clues import first_clues
from spamnb.filter.judge import Clue

_CLUES = 5
_ROUNDING = 0.2  # points; a greater difference does not come from rounding
_WIDEST = 76  # characters per line: Exim puts the report into the header
_RULE = " pts rule name              description\n---- ---------------------- "
_TAKEN_FOR_NAMES = re.compile(r"(?<=[A-Z0-9_]),")

_Row = tuple[float, str, str, str]
"""Points, the name of the rule, its description, and a second line of the description."""


def report(judged: JudgedAtDelivery, config: Config) -> bytes:
    """Return the report in ASCII, in lines of at most 76 characters, fewer than 4 KB."""
    told, held = judged.delivered, judged.hindrance.words
    rows = list(_rows(judged, config))
    points = adding_up([row[0] for row in rows], told.points, 1)
    lines = [
        f"spamnb {__version__}: {told.verdict}, {told.points:.1f} points of 5.0 required",
        f"Probability of spam: {told.probability:.4f}",
        *(textwrap.wrap(f"No verdict is given yet: {held}", _WIDEST) if held else []),
        *["", *(_RULE + "-" * _WIDEST).splitlines()],
    ]
    for each, (_, name, description, more) in zip(points, rows, strict=True):
        lines += [f"{each:4.1f} {name:22} {description}", *([" " * 28 + more] if more else [])]
    text = "".join(f"{line[:_WIDEST]}\n" for line in lines)
    return _TAKEN_FOR_NAMES.sub(";", text).encode("ascii", "replace")


def _rows(judged: JudgedAtDelivery, config: Config) -> Iterator[_Row]:
    """Yield the parts of the points: clues first, then what changes their sum."""
    shown = first_clues(judged.clues, _CLUES)
    rest = [clue for clue in judged.clues if clue not in shown]
    start = exact_points(0.0, judged.scoring.spam_cutoff)
    exact = start + sum(clue.share for clue in judged.clues) if math.isfinite(start) else 0.0
    if math.isfinite(start):
        yield start, "SPAMNB_START", "Start: points of a message without clues", ""
        for number, clue in enumerate(shown, 1):
            side = "Spam" if clue.log_odds > 0 else "Ham"
            learned = f"in {clue.ham} ham and {clue.spam} spam messages"
            yield clue.share, f"SPAMNB_CLUE_{number}", f"{side}: {_plain(clue)}", learned
        if rest:
            yield sum(clue.share for clue in rest), "SPAMNB_REST", f"Rest: {len(rest)} other clues", ""
    points, most = judged.delivered.points, config.spamd.most_points
    limited = max(-most, min(most, exact))
    if judged.hindrance:
        yield points - exact, "SPAMNB_HELD", "Held: no verdict is given yet", ""
        return
    if limited != exact:
        yield limited - exact, "SPAMNB_LIMIT", f"Limit: no more than {most:.1f} points are given", ""
    if judged.judgement.listed and abs(points - limited) > _ROUNDING:
        yield points - limited, "SPAMNB_LISTED", "List: the sender is in senders", "of the configuration"
    if judged.judgement.vouched:
        yield points - limited, "SPAMNB_VOUCHED", "Signed: your server vouches for its sender", ""


def _plain(clue: Clue) -> str:
    one = named(clue)
    met = f' "{escaped(one.text)}"' if one.text else ""
    return f"{one.kind}{met}".encode("ascii", "backslashreplace").decode("ascii")
