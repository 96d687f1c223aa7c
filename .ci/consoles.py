"""Write the output in the documents' console blocks again: `.venv/bin/python .ci/consoles.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.consoles import consoles, rewritten
from tests.documents import DOCUMENTS, ROOT

for document in filter(consoles, DOCUMENTS):
    (ROOT / document).write_text(rewritten(document), encoding="utf-8")
