"""Which message a file holds, whatever the file's name: frozen.

The ledger keeps digests, and knows a message again by nothing else. A digest of version 1 never changes: all in this
room that it is made of stays as it is (charset labels, patterns, limits, the order of fields), so each of these stands
here once more, and is not the reader's. The room knows nothing else of spamnb. Of Python it takes what no version
changes: bytes, and no tables of Unicode or of charsets. `tests/identity/vectors.json` holds digests that nothing makes
again; where one of them fails, the code is wrong.

A second version would be computed beside the first, under its own `VERSION`: a message that is known by its first
digest keeps that one, and what a person said of it.

`digests` is the way in; `headers`, `subject` and `body` say what of a message counts, `charsets` which labels are one.
"""
