"""A mail host: its users, the configuration and the known state of each, and which service works for whom."""
