"""Determine which message a file holds, whatever the file's name. This room is frozen.

The ledger keeps digests, and recognises a message by nothing else. A digest of version 1 never changes. So everything
in this room that goes into it stays unchanged: charset labels, patterns, limits, the order of fields. This room has its
own copies of these, apart from the reader's, and imports nothing else of spamnb. From Python it takes only what no
version changes: bytes, but no tables of Unicode or of charsets. `tests/identity/vectors.json` holds digests that
nothing writes again. If one of them fails, the code is wrong.

A second version would be computed beside the first, under its own `VERSION`. A message that is known by its first
digest would keep that digest, and its label.

`digests` is the way in. `headers`, `subject` and `body` say what counts, and `charsets` which labels are the same.
"""
