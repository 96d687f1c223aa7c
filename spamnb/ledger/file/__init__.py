"""The file of the ledger: locks, copies, recovery."""
