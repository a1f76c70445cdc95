"""Counts for Prometheus: how much, how fast, how often refused; nothing about whom."""

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """Of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        of: Any = {"registry": self._registry, "namespace": "deeprotect"}
        self.messages = Counter("messages", "Messages by what became of them", ["answer"], **of)
        self.readings = Counter("readings", "Readings of sensors taken in", **of)
        self.late = Counter("late_readings", "Readings that came after their window was closed, or twice", **of)
        self.windows = Counter("released_windows", "Windows released to apps", **of)
        self.lost = Counter("lost_windows", "Released windows that a slow or absent app did not get", ["why"], **of)
        self.sessions = Gauge("sessions", "Sessions that are going on", **of)
        self.ready = Gauge("ready", "1 while ledger and registry can be reached", **of)
        self.batch = Histogram(
            "batch_seconds", "Encoding, charging, drawing and decoding a batch", buckets=_SECONDS, **of
        )
        self.latency = Histogram(
            "latency_seconds", "From a message to the release of windows that it made due", buckets=_SECONDS, **of
        )

    def text(self) -> bytes:
        return generate_latest(self._registry)
