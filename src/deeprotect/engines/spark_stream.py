"""Streams on Spark: each device's rows on the clock as the gateway takes them, its episodes drawn by the one engine.

A device's state is one value in Spark's state store: `applyInPandasWithState` keeps one, in any store, and hands a
group to Python once a batch. `transformWithState` has maps, lists and timers that nothing here would use, and needs
RocksDB.
"""

import io
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deeprotect.bundle import Bundle
from deeprotect.bundle.network import one_thread
from deeprotect.engines.job import Job
from deeprotect.engines.part_ledger import refuse_file
from deeprotect.engines.spark import arrow_schema, column, is_local
from deeprotect.errors import StreamError, TableError, printable
from deeprotect.gateway.streams.session import phase_of
from deeprotect.gateway.streams.track import LONGEST_SECONDS, ClockWindow, Track
from deeprotect.gateway.wire.message import Message, Readings
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import release
from deeprotect.release.episodes import Episodes, Leaving, live_observing
from deeprotect.release.ledger import Account, Price
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.tables.fields import saturated
from deeprotect.version import __version__

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

SILENCE_SECONDS = 60.0
MOST_READINGS = 64
"""For each sample that a device may have waiting: one that sends more begins anew, so that no state grows for ever."""
_TIME, _NANOSECONDS = "__deeprotect_time_us", 1000


def protect_stream(
    dataframe: "DataFrame",
    bundle: Bundle | str | Path,
    *,
    ledger: str,
    name: str,
    app: str = "",
    map: Mapping[str, str] | None = None,
    silence_seconds: float | None = SILENCE_SECONDS,
) -> "DataFrame":
    """A streaming frame of released rows: the column of devices (`map={"recording": "device"}`), time and channels.

    `name` is the stream's in the ledger and must last: after a restart, even without its checkpoint, windows that were
    drawn before are those that leave. A device that is silent for `silence_seconds` has ended, and may begin again;
    with None it waits, as it must for a query that ends by itself (trigger availableNow).
    """
    session = dataframe.sparkSession
    if not is_local(session.sparkContext.master):
        refuse_file(ledger, f"the cluster at {printable(session.sparkContext.master)}")
    job = Job.of(bundle, arrow_schema(dataframe), map=map, keep_names=True)
    _check_time(job)
    Database.existing_or_new(ledger)
    plan = session.sparkContext.broadcast(StreamJob(job, ledger, name, app, silence_seconds))
    return _released(dataframe, job, plan)


@dataclass(frozen=True)
class StreamJob:
    """What every worker must know."""

    job: Job
    address: str
    name: str
    app: str
    silence_seconds: float | None

    def ledger(self, device: str) -> StoredLedger:
        """The device is its own person. Draws go by the name that lasts, so that they are known again."""
        account = Account(device, None, self.app)
        return _ledger(self.address, account, Price.of_bundle(self.job.bundle)).of_session(self.name)


@dataclass(eq=False)
class DeviceState:
    """One device between two batches: its readings on the clock, and its episodes."""

    track: Track
    episodes: Episodes

    @classmethod
    def new(cls, plan: StreamJob, device: str) -> "DeviceState":
        bundle = plan.job.bundle
        fill = bundle.policy.stream.when_missing == "placeholder"
        episodes = Episodes(bundle, plan.ledger(device), live_observing(bundle), fill_gaps=fill)
        return cls(Track(bundle.schema, phase=phase_of(device)), episodes)

    def take(self, times_ns: Any, values: Any, channels: tuple[str, ...]) -> list[Leaving]:
        """Rows of one batch in order of time, as messages of the gateway; windows that may leave now."""
        order = np.argsort(times_ns, kind="stable")
        times_ns, values = times_ns[order], values[order]
        for low, high in _messages(times_ns):
            readings = Readings("rows", channels, times_ns[low:high], values[low:high])
            self._through(self.track.take(Message("", (readings,))))
        return self._leaving()

    def finish(self) -> list[Leaving]:
        """Nothing more comes; of a window whose end was never sent, the draw is made from what came before."""
        self._through(self.track.finish(), over=True)
        self.episodes.end()
        return self._leaving()

    def _through(self, windows: list[ClockWindow], *, over: bool = False) -> None:
        for window in windows:
            if over and window.samples is None:
                self.episodes.end()
            self.episodes.take(window, window.samples, part=window.part, number=window.number)

    def _leaving(self) -> list[Leaving]:
        """Charged, drawn and recorded before anything leaves; a refusal gives its episode up."""
        entropy = SystemEntropy()
        due = self.episodes.due()
        for (episode, _), answer in zip(due, release([each for _, each in due], entropy=entropy), strict=True):
            Episodes.settle(episode, answer)
        left = [each for each in self.episodes.leaving(entropy) if each.ticket.own]
        self.episodes.expire()
        return left

    def to_bytes(self, plan: StreamJob) -> bytes:
        """Without the bundle and the ledger, which every worker has."""
        out = io.BytesIO()
        _Pickler(out, plan.job.bundle).dump((__version__, plan.job.bundle.digest, self.track, self.episodes))
        return out.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, plan: StreamJob, device: str) -> "DeviceState":
        version, digest, track, episodes = _Unpickler(io.BytesIO(content), plan, device).load()
        if (version, digest) != (__version__, plan.job.bundle.digest):
            raise StreamError("another bundle or version of deeprotect began this checkpoint; begin a new one")
        return cls(track, episodes)


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, bundle: Bundle) -> None:
        super().__init__(file, protocol=5)
        self._bundle = bundle

    def persistent_id(self, each: Any) -> str | None:
        if isinstance(each, StoredLedger):
            return "ledger"
        return "bundle" if each is self._bundle else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, plan: StreamJob, device: str) -> None:
        super().__init__(file)
        self._plan, self._device = plan, device

    def persistent_load(self, name: str) -> Any:
        return self._plan.job.bundle if name == "bundle" else self._plan.ledger(self._device)


def _messages(times_ns: Any) -> Iterator[tuple[int, int]]:
    """Stretches that a message of the gateway may cover."""
    low = 0
    while low < len(times_ns):
        high = int(np.searchsorted(times_ns, times_ns[low] + (LONGEST_SECONDS - 1) * 10**9, side="right"))
        yield low, high
        low = high


def _released(dataframe: "DataFrame", job: Job, plan: "Broadcast[StreamJob]") -> "DataFrame":
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.streaming.state import GroupStateTimeout
    from pyspark.sql.types import LongType, StructField, StructType

    columns = job.columns
    wanted = [column(columns.recording_name), f.unix_micros(column(columns.time_name)).alias(_TIME)]
    rows = dataframe.select(*wanted, *map(column, columns.channels))
    output = from_arrow_schema(pa.schema([job.output.field(job.recording), *map(job.output.field, columns.channels)]))
    schema = StructType([*output.fields, StructField(_TIME, LongType())])
    ends = plan.value.silence_seconds is not None
    timeout = GroupStateTimeout.ProcessingTimeTimeout if ends else GroupStateTimeout.NoTimeout
    released = rows.groupBy(column(job.recording)).applyInPandasWithState(
        _on_worker(plan), schema, "state binary", "append", timeout
    )
    stamps = f.timestamp_micros(column(_TIME)).alias(job.time)
    return released.select(*(stamps if name == job.time else column(name) for name in columns.kept))


def _on_worker(shared: "Broadcast[StreamJob]") -> Callable[..., Iterator[Any]]:
    def work(key: tuple[Any], frames: Iterator[Any], state: Any) -> Iterator[Any]:
        plan, device = shared.value, str(key[0])
        known = DeviceState.from_bytes(state.get[0], plan, device) if state.exists else DeviceState.new(plan, device)
        with one_thread():
            if state.hasTimedOut:
                left = known.finish()
                state.remove()
            else:
                left = _taken(known, list(frames), plan)
                _keep(known, state, plan)
        if left:
            yield _frame(key[0], left, plan.job)

    return work


def _taken(known: DeviceState, frames: list[Any], plan: StreamJob) -> list[Leaving]:
    columns, names = plan.job.columns, plan.job.bundle.schema.names
    times = np.concatenate([frame[_TIME].to_numpy(np.float64, na_value=np.nan) for frame in frames])
    values = np.concatenate([frame[list(columns.channels)].to_numpy(np.float64, na_value=np.nan) for frame in frames])
    there = np.isfinite(times)  # a row without a time belongs to no window
    return known.take(times[there].astype(np.int64) * _NANOSECONDS, values[there], tuple(names))


def _keep(known: DeviceState, state: Any, plan: StreamJob) -> None:
    schema, hold = plan.job.bundle.schema, plan.job.bundle.hold.windows
    content = known.to_bytes(plan)
    if len(content) > 8 * MOST_READINGS * schema.window * (len(schema.channels) + 1) * (hold + 8) + (1 << 16):
        state.remove()
        return
    state.update((content,))
    if plan.silence_seconds is not None:
        state.setTimeoutDuration(int(1000 * plan.silence_seconds))


def _frame(device: Any, left: list[Leaving], job: Job) -> Any:
    """Rows with the devices' own stamps and released values, in the types that came in."""
    readings = [each for one in left for each in one.ticket.with_values(one.window, job.bundle.schema.names)]
    times = np.concatenate([each.times_ns for each in readings])
    values = np.concatenate([each.values for each in readings])
    fields = [job.output.field(name) for name in job.columns.channels]
    channels = {field.name: saturated(values[:, place], field.type) for place, field in enumerate(fields)}
    names = pa.array([device] * len(times), job.output.field(job.recording).type)
    return pa.table({job.recording: names, **channels, _TIME: times // _NANOSECONDS}).to_pandas()


@lru_cache(maxsize=1 << 16)
def _ledger(address: str, account: Account, price: Price) -> StoredLedger:
    """A worker enters each account once."""
    return StoredLedger(_database(address), account, price)


@lru_cache(maxsize=4)
def _database(address: str) -> Database:
    """One that is there; connections are kept, for every draw of every device is a transaction."""
    Database.existing(address)
    return Database.existing_or_new(address, keep_connections=True)


def _check_time(job: Job) -> None:
    kind = job.source.field(job.time).type
    if not (pa.types.is_timestamp(kind) and kind.tz):
        raise TableError(f"the stream: column '{printable(job.time)}' is {kind}; cast it to Spark's timestamp")
