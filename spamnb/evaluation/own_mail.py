"""A person's own mail as a corpus: the learned messages that are still on the disk, as on the page Tune.

The folder of any other message proves nothing: the filter has moved it there, or nobody has looked at it.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from spamnb.acts.current_files import CurrentFiles
from spamnb.base.errors import MailError
from spamnb.base.label import Label
from spamnb.config import Config
from spamnb.evaluation.corpus import Labelled
from spamnb.filter.leave_one_out import learned_now
from spamnb.ledger.ledger import Ledger


def newest(messages: Sequence[Labelled], most: int) -> list[Labelled]:
    """Return about that number of the newest messages, in their order; ham and spam in the same shares as in all.

    The newest of all might be of one class: a person empties Junk, and keeps old letters.
    """
    chosen: set[str] = set()
    for label in Label:
        names = [message.name for message in messages if message.label is label]
        chosen.update(names[-max(1, round(most * len(names) / max(1, len(messages)))) :])
    return [message for message in messages if message.name in chosen]


def own_mail(ledger: Ledger | None, config: Config) -> list[Labelled]:
    """Return the learned messages with their labels, in the order in which they arrived.

    Raises MailError unless there is both ham and spam. ledger: None if there is none yet.
    """
    labels = {} if ledger is None else {lesson.digest: lesson.label for lesson in learned_now(ledger.lessons)}
    arrived: list[tuple[float, Labelled]] = []
    if ledger is not None:
        files = CurrentFiles(ledger, config, labels.keys())
        for digest, label in labels.items():
            file = files.best(digest, label)
            if file is not None and label is not None:
                with suppress(OSError):  # it was moved since then, or is in an mbox
                    arrived.append((os.stat(file.path).st_mtime, Labelled(file.path, file.path, label)))
    if {labelled.label for _, labelled in arrived} != set(Label):
        raise MailError(
            "no learned ham and spam is on this disk: learn your mail with `spamnb init --learn` or `spamnb train`,"
            " or give a CORPUS"
        )
    return [labelled for _, labelled in sorted(arrived, key=lambda item: (item[0], item[1].path))]
