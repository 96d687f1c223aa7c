"""The service: watch, judge, move, learn; the only room with threads."""
