"""Operators' view: the log, counts for Prometheus, and whether draws can be paid for."""
