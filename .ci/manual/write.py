"""Write the man pages and the completion, which are committed: `python .ci/manual/write.py`. It needs spamnb and shtab.

The option --to writes them below another directory.
"""

import argparse
from pathlib import Path

from completion import scripts
from pages import pages

MADE = Path(__file__).parent / "made"

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=MADE, metavar="DIR")
    place = parser.parse_args().to
    for name, text in {**pages(), **scripts()}.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
