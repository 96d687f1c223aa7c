"""Read learned messages again: today's tokens replace the tokens of another version of the tokenizer.

Everything else of a lesson stays: its label, and when, why and in which order it was learned. Its tokens about what was
known of the sender stay too: they are from the day when the message was learned.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from spamnb.base.label import Label
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.acquaintance import Acquaintance, tokens_of
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.sqlite.counts import Dictionary, Rows, Sum, next_changes
from spamnb.ledger.lessons.sqlite.kind_codes import encode
from spamnb.ledger.lessons.sqlite.lookup import look_up_ids
from spamnb.ledger.lessons.sqlite.token_blob import pack_all, unpacked
from spamnb.ledger.queries import look_up_bound
from spamnb.mail.tokens.tokenizer import VERSION

_KNOWN = tokens_of(Acquaintance)
_READ_OTHERWISE = "SELECT digest, id, label, tokens FROM lesson WHERE label IS NOT NULL AND tokenizer <> {} AND digest"
_DIGESTS = "SELECT digest FROM lesson WHERE label IS NOT NULL AND tokenizer <> ? AND digest > ? ORDER BY digest LIMIT ?"


def learned_with_other_tokenizer(db: Connection, after: bytes, most: int) -> list[bytes]:
    """Return the first `most` identities above `after` of learned messages with tokens of another version."""
    return [digest for (digest,) in db.all(_DIGESTS, (VERSION, after, most))]


def read_again(db: Connection, batches: Sequence[Batch], dictionary: Dictionary) -> int:
    """Give messages with other tokens the tokens of the batches. Returns how many messages these are."""
    row_of: dict[bytes, int] = {}
    for row, digest in enumerate(chain.from_iterable(batch.digests for batch in batches)):
        row_of.setdefault(digest, row)
    digests = [digest for digest, *_ in look_up_bound(db, _READ_OTHERWISE.format(VERSION), list(row_of))]
    if not digests:
        return 0
    rows = Rows.joined([batch.tokens for batch in batches])  # before the ledger is held: until then others may write
    with db.transaction():
        lessons = look_up_bound(db, _READ_OTHERWISE.format(VERSION), digests)
        lessons.sort(key=lambda lesson: row_of[lesson[0]])
        sum_ = Sum(db)
        known = {id_: _KNOWN[place] for place, id_ in look_up_ids(db, list(map(encode, _KNOWN)))}
        kept = []
        for _, number, label, blob in lessons:
            ids, occurrences = unpacked(number, blob)
            sum_.add(ids, occurrences, Label(label), -1)
            kept.append([token for id_, token in known.items() if id_ in ids])
        rows = rows.take([row_of[digest] for digest, *_ in lessons]).with_more(kept)
        of_vocabulary, sum_.new = dictionary.ids(rows.vocabulary, rows.hashes, rows.first_met())
        ids = of_vocabulary[rows.columns]
        ends = np.cumsum(rows.lengths)[:-1]
        tokens = zip(np.split(ids, ends), np.split(rows.occurrences, ends), strict=True)
        for (_, _, label, _), (of_message, occurrences) in zip(lessons, tokens, strict=True):
            sum_.add(of_message, occurrences, Label(label), 1)
        sum_.write()
        blobs = pack_all(ids, rows.occurrences, rows.lengths)
        db.executemany(
            "UPDATE lesson SET tokenizer = ?, tokens = ? WHERE id = ?",
            [(VERSION, blob, number) for (_, number, *_), blob in zip(lessons, blobs, strict=True)],
        )
        next_changes(db)  # results that were computed from the old tokens, and kept by `last_change`, are outdated
    return len(lessons)
