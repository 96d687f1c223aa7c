"""How the filter is doing: the status, and the metrics."""
