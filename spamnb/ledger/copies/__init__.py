"""Copies of a ledger: made daily, and put in its place if it is damaged."""
