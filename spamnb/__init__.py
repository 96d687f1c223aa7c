"""spamnb: a naive Bayes spam filter for Maildir."""

__version__ = "0.1.0"
