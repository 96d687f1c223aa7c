"""How it is going: the status, and the metrics."""
