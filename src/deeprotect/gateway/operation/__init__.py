"""What operators see: the log, counts for Prometheus, and whether a draw can be paid for."""
