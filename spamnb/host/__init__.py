"""A mail host: whose mailboxes there are, what holds for each and is known of it, and which service works for whom."""
