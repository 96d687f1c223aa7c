"""Make a verdict, and its reasons, from a message's tokens and the counts of what was learned.

>>> from spamnb.config import Scoring, Senders
>>> from spamnb.filter.judge import Filter
>>> from spamnb.ledger.lessons.memory import MemoryLessons  # or `lessons` of a `spamnb.ledger.ledger.Ledger`
>>> from spamnb.mail.reading import read
>>> Filter(MemoryLessons(), Scoring(), Senders()).judge(read(b"Subject: Pills\\n\\nCheap pills.")).verdict
<Verdict.UNSURE: 'unsure'>
"""
