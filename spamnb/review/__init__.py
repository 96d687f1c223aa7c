"""What to ask a person: mail that is filed wrongly, and what teaches most."""
