"""Counts for Prometheus, and whether draws can be paid for, which the gateway checks by paying."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from deeprotect.errors import DeeprotectError
from deeprotect.gateway.operation.log import Trouble, failure

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 600.0)


@dataclass
class AppTotals:
    """Windows of one label: an app by its name on all streams, or all apps without a label of their own."""

    released: int = 0
    lost: int = 0
    withheld: dict[str, int] = field(default_factory=dict)  # by the reason


class _ByApp(Collector):
    """Computed on request, so that labels follow the current registrations."""

    def __init__(self, totals: Callable[[], Mapping[str, AppTotals]]) -> None:
        self._totals = totals

    def collect(self) -> Iterable[Metric]:
        released = CounterMetricFamily("deeprotect_app_released_windows", "Windows released, by app", labels=["app"])
        lost = CounterMetricFamily("deeprotect_app_lost_windows", "Of these, windows not received", labels=["app"])
        kinds = ["app", "why"]
        withheld = CounterMetricFamily("deeprotect_app_withheld_windows", "Windows that did not leave", labels=kinds)
        for app, found in self._totals().items():
            released.add_metric([app], found.released)
            lost.add_metric([app], found.lost)
            for why, windows in found.withheld.items():
                withheld.add_metric([app, why], windows)
        return [released, lost, withheld]


class Metrics:
    """Metrics of one process; labels are bounded and never the name of a person or a stream."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        of: Any = {"registry": self._registry, "namespace": "deeprotect"}
        self.messages = Counter("messages", "Messages by what became of them", ["answer"], **of)
        self.readings = Counter("readings", "Readings of sensors taken in", **of)
        self.late = Counter("late_readings", "Readings that came after their window was closed, or twice", **of)
        self.windows = Counter("released_windows", "Windows released to apps", **of)
        self.lost = Counter("lost_windows", "Released windows that a slow or absent app did not get", ["why"], **of)
        self.withheld = Counter("withheld_windows", "Windows that came and did not leave", ["why"], **of)
        self.sessions = Gauge("sessions", "Sessions that are going on", **of)
        self.ready = Gauge("ready", "1 while all is well", **of)
        self.clock = Gauge(
            "clock_ahead_seconds", "Of the machine's clock, by time that has passed since the start", **of
        )
        self.batch = Histogram(
            "batch_seconds", "Encoding, charging, drawing and decoding a batch", buckets=_SECONDS, **of
        )
        self.latency = Histogram(
            "latency_seconds", "From a message at the socket to the release of what it made due", buckets=_SECONDS, **of
        )
        self.age = Histogram("age_seconds", "Of released windows, by their last stamp", buckets=_SECONDS, **of)
        self.delay = Gauge("delay_seconds", "That a message which comes now would wait", **of)
        self.waiting = Gauge("waiting_orders", "Windows of an app that wait for their batch, counted by message", **of)
        self.broker = Gauge("broker_connected", "1 while the broker is connected, or none is asked for", **of)
        self.broker.set(1.0)
        self._longest = 0.0

    def note_latency(self, seconds: float) -> None:
        """Record the latency of a message that led to a release."""
        self.latency.observe(seconds)
        self._longest = max(self._longest, seconds)

    def take_longest(self) -> float:
        """The longest latency since the last call; 0 without a release."""
        longest, self._longest = self._longest, 0.0
        return longest

    def released(self) -> int:
        """Released windows since the start."""
        return sum(int(each.value) for each in _totals(self.windows))

    def refused(self) -> int:
        """Messages since the start with a response other than 200."""
        return sum(int(each.value) for each in _totals(self.messages) if each.labels["answer"] != "200")

    def add_apps(self, totals: Callable[[], Mapping[str, AppTotals]]) -> None:
        """Add counts by app."""
        self._registry.register(_ByApp(totals))

    def text(self) -> bytes:
        return generate_latest(self._registry)


def _totals(counter: Counter) -> list[Sample]:
    return [sample for metric in counter.collect() for sample in metric.samples if sample.name.endswith("_total")]


PROBE_SECONDS = 3.0  # between two payments
PATIENCE_SECONDS = 3.0  # after which an unfinished payment counts as failed
DRAWS_SECONDS = 10.0  # that an unpaid draw counts, unless a later one was paid


class Health:
    """Pays on a test account unless draws were paid for recently, whose outcome takes precedence.

    Also collects the problems that other parts report.
    """

    def __init__(self, pay: Callable[[], None], *, now: Callable[[], float] = time.monotonic) -> None:
        self._pay, self._now = pay, now
        self._trouble: str | None = "no draw was paid for yet"
        self._asked: float | None = None  # start of the pending payment
        self._paid = self._unpaid = -DRAWS_SECONDS
        self._log = Trouble("not ready", "ready")
        self._told: dict[str, str] = {}

    @property
    def trouble(self) -> str | None:
        """The reason why the gateway is not ready; None if it is."""
        return self.unpaid or next(iter(self.others), None)

    @property
    def others(self) -> tuple[str, ...]:
        """Problems other than the ledger."""
        return tuple(self._told.copy().values())

    def tell(self, part: str, reason: str | None) -> None:
        """Report a part's problem; None if there is none."""
        if self._told.get(part) == reason:
            return
        if reason is None:
            del self._told[part]
        else:
            self._told[part] = reason
        self._log.tell(self.trouble)

    @property
    def unpaid(self) -> str | None:
        """Why draws cannot be paid for; None if they can."""
        now = self._now()
        if self._asked is not None and now - self._asked > PATIENCE_SECONDS:
            return f"the ledger has not answered for {now - self._asked:.0f} s"
        if self._trouble is None and self._paid < self._unpaid > now - DRAWS_SECONDS:
            return "the last draw could not be paid for"
        return self._trouble

    def note(self, *, paid: bool, unpaid: bool) -> None:
        """Record the outcome of draws of real streams."""
        if paid:
            self._paid, self._trouble = self._now(), None
        elif unpaid:
            self._unpaid = self._now()

    async def watch(self) -> None:
        """Watch until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(PROBE_SECONDS)

    async def look(self) -> None:
        """Pay now unless real draws were paid; log changes."""
        if self._now() - self._paid >= PROBE_SECONDS:
            await self._try()
        self._log.tell(self.trouble)

    async def _try(self) -> None:
        self._asked = self._now()
        try:
            await asyncio.to_thread(self._pay)
            self._trouble = None
        except DeeprotectError as error:
            self._trouble = str(error)
        except Exception as error:
            failure("the ledger cannot be tried", error)
            self._trouble = "the ledger failed; the operator's log says where"
        finally:
            self._asked = None


def in_words(
    unpaid: str | None, *, live: int, streams: int, withheld: Mapping[str, int], others: Sequence[str] = ()
) -> str:
    """The state of a gateway in one line; `withheld` counts apps that get nothing now, by reason."""
    more = "".join(f" {_sentence(each)}" for each in others)
    if unpaid is not None:
        return f"Nothing leaves: no draw can be paid for. {_sentence(unpaid)}{more}"
    heard = f"{live:,} of {streams:,} streams are heard from" if streams else "nothing is registered yet"
    apps = sum(withheld.values())
    if not apps:
        return f"{'Not all' if more else 'All'} is well: draws are paid for, and {heard}.{more}"
    reasons = ", ".join(f"{why} ({count:,})" for why, count in sorted(withheld.items()))
    return (
        f"Draws are paid for, and {heard}; {apps:,} {'app gets' if apps == 1 else 'apps get'} nothing: {reasons}.{more}"
    )


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}."
