"""Streams on Spark: each device's rows follow the gateway's clock, and the release engine draws its episodes.

Devices are grouped by a hash of their name, and a group's draws in one batch are one transaction of the ledger: with a
transaction per device, two thousand devices waited for the disk. A group's state is one value in Spark's state store:
`applyInPandasWithState` keeps one, in any store, and passes a group to Python once a batch. `transformWithState` has
maps, lists and timers that are not needed here, and requires RocksDB.
"""

import io
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deeprotect.bundle import Bundle
from deeprotect.engines.job import Job
from deeprotect.engines.ledger_place import refuse_file
from deeprotect.engines.spark import arrow_schema, column, is_local
from deeprotect.errors import LedgerError, StreamError, TableError, printable
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.by_time import LONGEST_SECONDS, ByTime, phase_of
from deeprotect.release.episodes import Episodes, Leaving
from deeprotect.release.ledger import Account, Price
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.release.live import release_due
from deeprotect.signals.readings import Readings
from deeprotect.tables.fields import saturated
from deeprotect.version import __version__

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

SILENCE_SECONDS = 60.0
MOST_READINGS = 64
"""Bytes for each sample that a device may have waiting; a device that sends more is restarted, which bounds the
state."""
MOST_ACCOUNTS = 1 << 16
"""Accounts cached by a worker; others are looked up again."""
GROUPS = 128
"""Number of groups: enough for the cores of a cluster, few enough that a group has many draws at once."""
_GROUP, _DEVICE, _TIME, _NANOSECONDS = "__deeprotect_group", "__deeprotect_device", "__deeprotect_time_us", 1000
Stored = dict[str, tuple[int, bytes]]
"""A group's state between two batches: the time of each device's last row, in milliseconds, and its state."""


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
    """Return a streaming frame of released rows: the device column (`map={"recording": "device"}`), time and channels.

    `name` is the stream's name in the ledger and must not change: after a restart, even without its checkpoint, windows
    that were already drawn are returned. A session ends when the device is silent for `silence_seconds`, and may begin
    again; with None it waits, which a query that ends by itself needs (trigger availableNow).
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
    """Shared information for all workers."""

    job: Job
    address: str
    name: str
    app: str
    silence_seconds: float | None

    def ledgers(self, devices: Iterable[str]) -> dict[str, StoredLedger]:
        """A ledger account for each device, which counts as a person. Draws are keyed by the permanent name."""
        known, devices = _known(self.address, self.app, Price.of_bundle(self.job.bundle)), list(devices)
        new = [device for device in devices if device not in known]
        if new:
            if len(known) > MOST_ACCOUNTS:
                known.clear()
                new = devices
            accounts = [(Account(device, None, self.app), Price.of_bundle(self.job.bundle)) for device in new]
            for device, ledger in zip(new, StoredLedger.several(_database(self.address), accounts), strict=True):
                if isinstance(ledger, LedgerError):
                    raise ledger
                known[device] = ledger
        return {device: known[device].of_session(self.name) for device in devices}


@dataclass(eq=False)
class DeviceState:
    """One device in a batch: its readings on the clock, and its episodes."""

    clock: ByTime
    episodes: Episodes

    @classmethod
    def new(cls, plan: StreamJob, device: str, ledger: StoredLedger) -> "DeviceState":
        bundle = plan.job.bundle
        return cls(ByTime(bundle.schema, phase=phase_of(device)), Episodes.by_time(bundle, ledger))

    def take(self, times_ns: Any, values: Any, channels: tuple[str, ...]) -> bool:
        """Add rows of one batch, in any order, like messages of the gateway; return whether any of them was new."""
        order, late = np.argsort(times_ns, kind="stable"), self.clock.late
        times_ns, values = times_ns[order], values[order]
        for low, high in _messages(times_ns):
            readings = Readings("rows", channels, times_ns[low:high], values[low:high])
            self.episodes.take_by_time(self.clock.push([readings]))
        return self.clock.late - late < len(times_ns)

    def finish(self) -> None:
        """End the session; a window whose end was never sent is drawn from earlier windows."""
        self.episodes.take_by_time(self.clock.finish(), over=True)

    def to_bytes(self, plan: StreamJob) -> bytes:
        """Serialise without the bundle and the ledger, which every worker has."""
        out = io.BytesIO()
        _Pickler(out, plan.job.bundle).dump((__version__, plan.job.bundle.digest, self.clock, self.episodes))
        return out.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, plan: StreamJob, ledger: StoredLedger) -> "DeviceState":
        version, digest, clock, episodes = _Unpickler(io.BytesIO(content), plan.job.bundle, ledger).load()
        if (version, digest) != (__version__, plan.job.bundle.digest):
            raise StreamError("this checkpoint was started with another bundle or version of deeprotect; use a new one")
        return cls(clock, episodes)


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, bundle: Bundle) -> None:
        super().__init__(file, protocol=5)
        self._bundle = bundle

    def persistent_id(self, each: Any) -> str | None:
        if isinstance(each, StoredLedger):
            return "ledger"
        return "bundle" if each is self._bundle else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, bundle: Bundle, ledger: StoredLedger) -> None:
        super().__init__(file)
        self._bundle, self._ledger = bundle, ledger

    def persistent_load(self, name: str) -> Any:
        return self._bundle if name == "bundle" else self._ledger


def _messages(times_ns: Any) -> Iterator[tuple[int, int]]:
    """Stretches as long as one message of the gateway may cover."""
    low = 0
    while low < len(times_ns):
        high = int(np.searchsorted(times_ns, times_ns[low] + (LONGEST_SECONDS - 1) * 10**9, side="right"))
        yield low, high
        low = high


def _released(dataframe: "DataFrame", job: Job, plan: "Broadcast[StreamJob]") -> "DataFrame":
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.streaming.state import GroupStateTimeout
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    columns, device = job.columns, column(job.columns.recording_name)
    group = f.pmod(f.xxhash64(device), f.lit(GROUPS)).alias(_GROUP)
    wanted = [group, device.cast("string").alias(_DEVICE), f.unix_micros(column(columns.time_name)).alias(_TIME)]
    rows = dataframe.select(*wanted, *map(column, columns.channels))
    output = from_arrow_schema(pa.schema([job.output.field(job.recording), *map(job.output.field, columns.channels)]))
    own = [StructField(_DEVICE, StringType()), StructField(_TIME, LongType())]
    ends = plan.value.silence_seconds is not None
    timeout = GroupStateTimeout.ProcessingTimeTimeout if ends else GroupStateTimeout.NoTimeout
    released = rows.groupBy(_GROUP).applyInPandasWithState(
        _on_worker(plan), StructType([*output.fields[1:], *own]), "state binary", "append", timeout
    )
    names = column(_DEVICE).cast(output.fields[0].dataType).alias(job.recording)
    replaced = {job.time: f.timestamp_micros(column(_TIME)).alias(job.time), job.recording: names}
    return released.select(*(replaced.get(name, column(name)) for name in columns.kept))


def _on_worker(shared: "Broadcast[StreamJob]") -> Callable[..., Iterator[Any]]:
    def work(key: tuple[Any], frames: Iterator[Any], state: Any) -> Iterator[Any]:
        del key
        plan, now = shared.value, state.getCurrentProcessingTimeMs()
        stored: Stored = pickle.loads(state.get[0]) if state.exists else {}  # noqa: S301 (docs/scale.md#streams)
        rows = {} if state.hasTimedOut else dict(_by_device(list(frames), plan))
        left = step(stored, rows, plan, now=now)
        if stored:
            state.update((pickle.dumps(stored, protocol=5),))
            if plan.silence_seconds is not None:
                first = min(seen for seen, _ in stored.values()) + int(1000 * plan.silence_seconds)
                state.setTimeoutDuration(max(1, first - now))
        elif state.exists:
            state.remove()
        released = [_released_rows(device, some, plan.job) for device, some in left.items() if some]
        if released:
            yield pa.concat_tables(released).to_pandas()

    return work


def step(stored: Stored, rows: Mapping[str, tuple[Any, Any]], plan: StreamJob, *, now: int) -> dict[str, list[Leaving]]:
    """Process one batch of a group: update `stored`, and return the released windows of each device.

    Draws of all devices are charged, made and recorded in one transaction before any release; a refused draw drops only
    its own episode.
    """
    silence = None if plan.silence_seconds is None else 1000 * plan.silence_seconds
    silent = {each for each, (seen, _) in stored.items() if silence is not None and now - seen >= silence}
    ended, old = silent - set(rows), set[str]()
    ledgers = plan.ledgers([*rows, *ended])
    live = {
        device: DeviceState.from_bytes(stored[device][1], plan, ledger)
        if device in stored
        else DeviceState.new(plan, device, ledger)
        for device, ledger in ledgers.items()
    }
    for device, (times_ns, values) in rows.items():
        if not live[device].take(times_ns, values, plan.job.bundle.schema.names):
            old.add(device)
    ended |= old & silent  # late rows alone do not keep a session alive
    for device in ended:
        live[device].finish()
    left = _drawn({device: state.episodes for device, state in live.items()})
    for device, state in live.items():
        content = state.to_bytes(plan)
        if device in ended or len(content) > _most_bytes(plan):
            stored.pop(device, None)
        else:
            stored[device] = (stored[device][0] if device in old and device in stored else now), content
    return left


def _drawn(live: Mapping[str, Episodes]) -> dict[str, list[Leaving]]:
    entropy = SystemEntropy()
    release_due(live.values(), entropy=entropy)
    return {name: episodes.leave_by_time(entropy) for name, episodes in live.items()}


def _by_device(frames: list[Any], plan: StreamJob) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Times in nanoseconds and values of each device's rows; rows without a time or a device are dropped."""
    import pandas as pd

    rows = pd.concat(frames).dropna(subset=[_TIME, _DEVICE])
    values = rows[list(plan.job.columns.channels)].to_numpy(np.float64, na_value=np.nan)
    times = rows[_TIME].to_numpy(np.int64) * _NANOSECONDS
    for device, places in rows.groupby(rows[_DEVICE].to_numpy(object), sort=False).indices.items():
        yield str(device), (times[places], values[places])


def _most_bytes(plan: StreamJob) -> int:
    schema, hold = plan.job.bundle.schema, plan.job.bundle.hold.windows
    return 8 * MOST_READINGS * schema.window * (len(schema.channels) + 1) * (hold + 8) + (1 << 16)


def _released_rows(device: str, left: list[Leaving], job: Job) -> pa.Table:
    """Rows with the device's own stamps and released values, in the input's types."""
    readings = [each for one in left for each in one.ticket.with_values(one.window, job.bundle.schema.names)]
    times = np.concatenate([each.times_ns for each in readings])
    values = np.concatenate([each.values for each in readings])
    fields = [job.output.field(name) for name in job.columns.channels]
    channels = {field.name: saturated(values[:, place], field.type) for place, field in enumerate(fields)}
    names = pa.array([device] * len(times), pa.string())
    return pa.table({**channels, _DEVICE: names, _TIME: times // _NANOSECONDS})


@lru_cache(maxsize=4)
def _known(address: str, app: str, price: Price) -> dict[str, StoredLedger]:
    """A cache of accounts that a worker has entered in the ledger."""
    del address, app, price
    return {}


@lru_cache(maxsize=4)
def _database(address: str) -> Database:
    """An existing database; connections are kept open, because every batch of every group is a transaction."""
    Database.existing(address)
    return Database.existing_or_new(address, keep_connections=True)


def _check_time(job: Job) -> None:
    kind = job.source.field(job.time).type
    if not (pa.types.is_timestamp(kind) and kind.tz):
        raise TableError(f"the stream: column '{printable(job.time)}' is {kind}; cast it to Spark's timestamp")
