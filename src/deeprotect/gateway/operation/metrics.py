"""Counts for Prometheus: how much, how fast, how often refused; nothing about whom."""

from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.parser import text_string_to_metric_families

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


def joined(texts: Iterable[str]) -> bytes:
    """Metrics of several processes as those of one: sums; of moments and of readiness the smallest."""
    return generate_latest(_Joined(texts))


class _Joined:
    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        values: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[float]] = {}
        for family in (each for text in self._texts for each in text_string_to_metric_families(text)):
            families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            for sample in family.samples:
                values.setdefault((family.name, sample.name, tuple(sample.labels.items())), []).append(sample.value)
        for (family_name, name, labels), several in values.items():
            join = min if name == "deeprotect_ready" or name.endswith("_created") else sum
            families[family_name].add_sample(name, dict(labels), join(several))
        yield from families.values()
