"""Share lessons between several hosts by a log in a database; each host keeps its counts in its own ledger."""
