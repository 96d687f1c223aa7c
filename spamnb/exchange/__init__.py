"""Lessons that several hosts share, by a log of them in a database; each host keeps its counts in its own ledger."""
