"""The service: watch, judge, move, learn; the only package that starts threads."""
