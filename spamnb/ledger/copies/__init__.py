"""Copies of a ledger: made daily, and put in its place where it is damaged."""
