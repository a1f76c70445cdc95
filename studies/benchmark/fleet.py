"""A fleet on paper: what devices need of gateways, ledger, disk, memory and money, from measured constants.

The constants come from this machine; the model is checked against points that it was not fitted to.
"""

import os
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import text

from deeprotect.bundle import Bundle
from deeprotect.gateway.registration.device_registry import Device
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Released, Request, release
from deeprotect.release.ledger import Account, Price
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.ledger import utc_now
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.signals.windowing import Run
from studies.benchmark import postgres
from studies.benchmark.gateway_load import Trial, measure
from studies.benchmark.made_up import Shape, protector

Say = Callable[[str], None]
DAY = 86_400
BATCH = 500  # draws in one transaction: what a gateway of 3,000 streams gathers in its longest wait, and more
LISTENED = 3  # windows that a draw looks at
USED = 0.6  # of a core or a server, at most, so that bursts fit
CORE_A_MONTH, GB_A_MONTH = 25.0, 0.12  # US dollars: a core with 4 GB of a cloud machine, and its disk with a copy


@dataclass(frozen=True)
class Constants:
    """Measured on one machine; all for one message, draw, stream or device."""

    message_cpu: float  # seconds of a gateway and the proxy for a message of one second, 50 Hz × 6
    draw_clock: float  # seconds of the ledger's server and one writer, in a batch
    draw_bytes: float  # of the database, with indices
    stream_kb: float  # of memory while it is live
    device_kb: float  # of memory for a registered one, in every gateway

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Fleet:
    """Devices that are all live; seconds between messages and between draws, and days for which draws are kept."""

    devices: int = 1_000_000
    message_seconds: float = 1.0
    episode_seconds: float = 30.0
    kept_days: int = 30

    def needs(self, found: Constants) -> dict[str, float]:
        """By name and unit; the gateways' processor is for messages that are read, cut and released as they come."""
        draws = self.devices / self.episode_seconds
        cores = self.devices / self.message_seconds * found.message_cpu
        gateways = int(np.ceil(cores / USED))
        disk_gb = draws * DAY * self.kept_days * found.draw_bytes / 1e9
        ledger = draws * found.draw_clock
        memory = (self.devices * found.stream_kb + gateways * self.devices * found.device_kb) / 1e6
        servers = int(np.ceil(ledger / USED))
        return {
            "messages a second": self.devices / self.message_seconds,
            "draws a second": draws,
            "gateways (a core each)": gateways,
            "ledger, writers' seconds in a second": ledger,
            "ledger servers (or shards of people)": servers,
            "new draws a day": draws * DAY,
            f"disk for {self.kept_days} days, GB": disk_gb,
            "memory of live streams, GB": self.devices * found.stream_kb / 1e6,
            "memory of the registry, GB in each gateway": self.devices * found.device_kb / 1e6,
            "memory in all, GB": memory,
            "US dollars a month": (gateways + 4 * servers) * CORE_A_MONTH + disk_gb * GB_A_MONTH,
        }

    def on_devices(self, found: Constants) -> dict[str, float]:
        """Needs with the protector on the device: nothing raw arrives, charges and draws are the device's own."""
        released = self.devices / self.episode_seconds  # one message for an episode, held windows being one value
        return {
            "messages a second": released,
            "draws a second, on devices": released,
            "draws a day on one device": DAY / self.episode_seconds,
            f"its ledger for {self.kept_days} days, MB": DAY
            / self.episode_seconds
            * self.kept_days
            * found.draw_bytes
            / 1e6,
            "gateways": 0.0,
            "ledger servers": 0.0,
        }


def constants(*, streams: int = 300, say: Say) -> Constants:
    """Two minutes: a gateway under load, a ledger of 10,000 streams, and a registry in memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bundle"
        protector(Shape(), every="30 s", listen=LISTENED).save(path)
        held = measure(Trial(path, seconds=10.0, ledger="postgres"), streams)
    say(f"{streams} streams: {held.share:.1%} of the windows, {held.processor:.2f} cores")
    compressed = compressed_clock(10_000, rounds=2)
    say(f"10,000 streams in a compressed clock: {compressed.draws / compressed.seconds:,.0f} draws a second")
    return Constants(
        held.processor / streams,
        compressed.seconds / compressed.draws,
        compressed.bytes_a_draw,
        held.per_stream_kb,
        device_kb(),
    )


@dataclass(frozen=True)
class Compressed:
    """So many streams, an episode each a round, as fast as they go, through the engine into PostgreSQL."""

    streams: int
    draws: int
    seconds: float
    bytes_a_draw: float


def compressed_clock(streams: int, *, rounds: int = 1) -> Compressed:
    """The real engine and ledger; the clock is that of the episodes alone. Opening accounts is not counted."""
    bundle, entropy = protector(Shape(), every="30 s", listen=LISTENED), SystemEntropy()
    with ExitStack() as stack:
        cluster = stack.enter_context(postgres.running(settings="-c max_wal_size=4GB"))
        database = Database.existing_or_new(cluster.address, keep_connections=True)
        stack.callback(database.disconnect)
        ledgers = _accounts(database, bundle, streams)
        before, began = _size(database), time.monotonic()
        for number in range(rounds):
            for start in range(0, streams, BATCH):
                _draw(bundle, ledgers[start : start + BATCH], number, entropy)
        seconds, draws = time.monotonic() - began, rounds * streams
        return Compressed(streams, draws, seconds, (_size(database) - before) / draws)


def _accounts(database: Database, bundle: Bundle, streams: int) -> list[StoredLedger]:
    price, found = Price.of_bundle(bundle), list[StoredLedger]()
    for start in range(0, streams, 1000):
        asked = [(Account(f"device-{place}", f"person-{place}", "app"), price) for place in range(start, start + 1000)]
        found += [
            each for each in StoredLedger.several(database, asked[: streams - start]) if isinstance(each, StoredLedger)
        ]
    return [each.of_session("fleet") for each in found]


def _draw(bundle: Bundle, ledgers: list[StoredLedger], number: int, entropy: SystemEntropy) -> None:
    windows = bundle.schema.unscale(Shape().windows(LISTENED))
    one = np.array([LISTENED]), np.array([bundle.hold.windows])
    asked = [Request(bundle, ledger, (Run("", number, 1),), windows, *one) for ledger in ledgers]
    answers = release(asked, entropy=entropy)
    if not all(isinstance(each, Released) for each in answers):
        raise RuntimeError("a draw of the fleet was refused")


def _size(database: Database) -> int:
    with database.reading() as connection:
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())


def device_kb(devices: int = 100_000) -> float:
    """Memory of a registered device and its app as a gateway keeps them."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    now = utc_now()
    kept = {os.urandom(32): Device(f"device-{place}", f"person-{place}", now, {}) for place in range(2 * devices)}
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / devices if kept else 0.0
