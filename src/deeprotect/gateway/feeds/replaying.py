"""Replaying a table as if it were live: messages at the pace of its time stamps, or faster, to a gateway or a
broker."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from uuid import uuid4

import httpx
import numpy as np
import pyarrow as pa

from deeprotect.errors import Argument, DeeprotectError, InputError, TableError, printable
from deeprotect.gateway.feeds.broker import Broker
from deeprotect.gateway.registration.addresses import check_address
from deeprotect.gateway.wire.formats import Form, content_type_of, readings_of, write
from deeprotect.gateway.wire.message import ReleasedWindow
from deeprotect.gateway.wire.times import AHEAD_NS
from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import NOT_SENSORS, suggested_map
from deeprotect.signals import Channel
from deeprotect.signals.clock import nearest_unit, rate_of_step, usual_step
from deeprotect.signals.recordings import starts
from deeprotect.signals.schema import Floats, Schema, check_finite
from deeprotect.signals.ticks import SECOND
from deeprotect.tables.columns import Columns
from deeprotect.tables.fields import stated_unit
from deeprotect.tables.roles import ColumnMap, roles_of
from deeprotect.tables.sources import Source, open_source
from deeprotect.tables.timestamps import EPOCHS, Timeline


@dataclass(frozen=True)
class Stretch:
    """Consecutive rows of one recording, the `number`th to be played; samples is (row, channel).

    `begun_ns` is the start of the recording, if the table's time is UTC.
    """

    number: int
    seconds: Floats
    samples: Floats
    begun_ns: int | None


@dataclass
class Recorded:
    """A source that is read once; `only` selects a recording."""

    source: Source
    columns: Columns
    schema: Schema
    rate_hz: float | None = None
    only: str | None = None
    _row: int = 0
    _number: int = -1
    _last: object = field(default_factory=object)
    _begun: float = 0.0

    def stretches(self) -> Iterator[Stretch]:
        """Stretches in the order of the table; a row that cannot be sent raises a TableError."""
        timeline = self.columns.timeline()
        for batch in self.source.only(self.columns.kept).batches:
            if batch.num_rows:
                yield from self._of_batch(batch, timeline)
                self._row += batch.num_rows
        if self.only is not None and self._number < 0:
            raise TableError(f"{self.source.where}: no recording '{printable(self.only)}'; correct --recording")

    def _of_batch(self, batch: pa.RecordBatch, timeline: Timeline | None) -> Iterator[Stretch]:
        seconds, names = self._seconds(batch, timeline), self.columns.recording(batch)
        samples = self.columns.samples(batch)
        check_finite(samples, self.schema, first_row=self._row, where=self.source.where)
        firsts = [0] if names is None else [int(start) for start in starts(names)]
        for start, end in zip(firsts, [*firsts[1:], batch.num_rows], strict=True):
            name = None if names is None else names[start]
            if self.only is None or str(name) == self.only:
                if self._number < 0 or name != self._last:
                    self._number, self._last, self._begun = self._number + 1, name, float(seconds[start])
                begun = _begun_ns(timeline, self._begun)
                yield Stretch(self._number, seconds[start:end] - self._begun, samples[start:end], begun)

    def _seconds(self, batch: pa.RecordBatch, timeline: Timeline | None) -> Floats:
        """Time of each row, from any origin."""
        if timeline is None:
            return (self._row + np.arange(batch.num_rows)) / (self.rate_hz or 1.0)
        offsets = timeline.read(batch.column(timeline.name))
        if not np.isfinite(offsets).all():
            raise TableError(f"{self.source.where}: '{printable(timeline.name)}' is missing in some rows; drop them")
        if timeline.per_second is None:
            timeline.per_second = self._unit(offsets)
        return np.asarray(offsets / timeline.per_second)

    def _unit(self, offsets: Floats) -> float:
        step = usual_step(offsets)
        if step is not None and self.rate_hz is not None:
            return nearest_unit(step, self.rate_hz)
        found = None if step is None else rate_of_step(step)
        if found is None:
            raise TableError(f"{self.source.where}: its time shows no rate that sensors have; give --rate-hz")
        return found[1]


@contextmanager
def recorded(
    table: str,
    policy: Policy | None,
    *,
    mapped: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    rate_hz: float | None = None,
    only: str | None = None,
) -> Iterator[Recorded]:
    """Open a table of any kind for replay; `mapped` names its columns.

    With a policy, its channels are played; otherwise columns named like sensors.
    """
    mapping = ColumnMap.of(policy, mapped) if policy else ColumnMap.without_policy(mapped)
    schema = policy.schema() if policy else None
    numbers = [mapping.get(name, name) for name in schema.names] if schema else None
    with open_source(table, numbers=numbers, columns=columns, mapping=mapping) as source:
        wanted = schema or _guessed(source, ColumnMap.from_mapping(mapping))
        found = Columns.of(source.schema, wanted, mapping=mapping, where=source.where)
        rate = rate_hz or (schema.rate_hz if schema else None)
        if found.time_name is None and rate is None:
            raise TableError(f"{source.where}: it has no time; give --rate-hz, or a policy with --policy")
        if only is not None and found.recording_name is None:
            raise TableError(f"{source.where}: it has no column 'recording' to choose from; leave --recording out")
        yield Recorded(source, found, wanted, rate, only)


def _begun_ns(timeline: Timeline | None, second: float) -> int | None:
    """The start of a recording that begins `second` seconds after the first stamp; None if that is not a date."""
    if timeline is None or timeline.per_second is None:
        return None
    first = timeline.stamps(np.zeros(1))
    if pa.types.is_timestamp(first.type):
        return int(first.cast(pa.timestamp("ns", tz=first.type.tz)).cast(pa.int64())[0].as_py()) + _nanoseconds(second)
    if pa.types.is_temporal(first.type):
        return None
    value, unit = first[0].as_py(), int(timeline.per_second)
    origin = value * (SECOND // unit) if isinstance(value, int) else _nanoseconds(value / unit)
    return origin + _nanoseconds(second) if EPOCHS[0] <= origin / SECOND < EPOCHS[1] else None


def _nanoseconds(seconds: float) -> int:
    return round(seconds * SECOND)


def _guessed(source: Source, mapping: ColumnMap) -> Schema:
    """Columns named like a sensor; one without numbers is refused, because its content is unknown."""
    roles = roles_of(source.schema.names, mapping, where=source.where)
    fields = [source.schema.field(name) for name in roles.channels]
    if not fields:
        mapped = Argument("map", suggested_map(source.schema.names))
        found = f"{source.where}: no column is named like a sensor; "
        raise TableError(found, NOT_SENSORS, mapped, ", or give a policy with ", Argument("policy"))
    channels = tuple(Channel(field.name, stated_unit(field) or "1", -1.0, 1.0) for field in fields)
    return Schema(channels, 1.0, 1)


Send = Callable[[bytes], Awaitable[int]]
"""Delivers a message; returns the number of accepted readings, or raises an error that ends the replay."""
MOST_ROWS = 1000  # rows of one message
NAME = "replay"


@dataclass
class Played:
    """Counts of sent and accepted readings."""

    recordings: int = 0
    messages: int = 0
    rows: int = 0
    accepted: int = 0
    seconds: float = 0.0


@dataclass
class Player:
    """One run over a table; each run has new session names, so that nothing is sent twice under one name."""

    schema: Schema
    form: Form
    send: Send
    speed: float = 1.0  # speed-up
    every: float = 0.2  # seconds per message
    keep_time: bool = False  # keep the table's own times
    told: Callable[[], object] = lambda: None  # called after each message
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _run: str = field(default_factory=lambda: uuid4().hex)
    _recording: int = 0
    _begun: float = 0.0  # start of the current recording, on the monotonic clock
    _base_ns: int = 0
    _last_ns: int = 0

    async def play(self, stretches: Iterable[Stretch], played: Played) -> None:
        """Play, updating `played` so that its progress can be reported."""
        started, recording = time.monotonic(), -1
        before = played.seconds
        for stretch in parts(stretches, self.speed * self.every):
            if stretch.number != recording:
                recording = stretch.number
                played.recordings += 1
                self._begin(stretch)
            due = self._begun + float(stretch.seconds[-1]) / self.speed
            await self.sleep(max(0.0, due - time.monotonic()))
            played.accepted += await self.send(self._message(stretch, played.messages))
            played.messages += 1
            played.rows += len(stretch.seconds)
            played.seconds = before + time.monotonic() - started
            self.told()

    def _begin(self, first: Stretch) -> None:
        """Start a recording now, after whatever was played before, unless that ran far ahead of the clock."""
        self._begun = time.monotonic()
        self._recording += 1
        if not self.keep_time:
            now, after = time.time_ns(), self._last_ns + SECOND
            self._base_ns = after if now < after < now + AHEAD_NS // 2 else now
        elif first.begun_ns is None:
            raise TableError("--keep-time needs a table whose time is UTC, as dates or seconds since 1970")
        else:
            self._base_ns = first.begun_ns

    def _message(self, stretch: Stretch, number: int) -> bytes:
        times = self._base_ns + np.rint(stretch.seconds * SECOND).astype(np.int64)
        self._last_ns = max(self._last_ns, int(times[-1]))
        names, values = self.schema.names, stretch.samples
        columns = {name: values[:, place] for place, name in enumerate(names)}
        readings = readings_of(times, columns, self.schema, sensors={}) if self.form == "sensor-logger" else ()
        session = f"{self._run}-{self._recording}"
        return write(ReleasedWindow(NAME, session, number, names, times, values, readings), self.form)


def parts(stretches: Iterable[Stretch], seconds: float) -> Iterator[Stretch]:
    """The same rows, cut at multiples of `seconds` in a recording, whatever their batches."""
    waiting: list[Stretch] = []
    for stretch in stretches:
        slots = _slots(stretch.seconds, seconds)
        cuts = [0, *(np.flatnonzero(np.diff(slots)) + 1).tolist(), len(slots)]
        for start, end in pairwise(cuts):
            part = Stretch(stretch.number, stretch.seconds[start:end], stretch.samples[start:end], stretch.begun_ns)
            full = sum(len(each.seconds) for each in waiting) >= MOST_ROWS
            if waiting and (full or not _same_slot(waiting[0], part, seconds)):
                yield from _joined(waiting)
                waiting = []
            waiting.append(part)
    if waiting:
        yield from _joined(waiting)


def _slots(of: Floats, seconds: float) -> Floats:
    return np.asarray(np.floor(of / seconds))


def _same_slot(first: Stretch, other: Stretch, seconds: float) -> bool:
    same = _slots(first.seconds[:1], seconds) == _slots(other.seconds[:1], seconds)
    return first.number == other.number and bool(same)


def _joined(stretches: list[Stretch]) -> Iterator[Stretch]:
    first = stretches[0]
    seconds = np.concatenate([each.seconds for each in stretches])
    samples = np.concatenate([each.samples for each in stretches])
    for start in range(0, len(seconds), MOST_ROWS):
        end = start + MOST_ROWS
        yield Stretch(first.number, seconds[start:end], samples[start:end], first.begun_ns)


TIMEOUT_SECONDS = 30.0
TRIES = 6
FIRST_WAIT_SECONDS = 0.2  # doubled after each failure
_BUSY = frozenset({429, 503})
_LONGEST = 500


class RefusedError(DeeprotectError):
    """A message was refused; the line is the receiver's own."""


@asynccontextmanager
async def to_address(address: str, form: Form, *, wait: float = FIRST_WAIT_SECONDS) -> AsyncIterator[Send]:
    """Post each message; resend one that comes too often or too early."""
    check_address(address)
    headers = {"Content-Type": content_type_of(form)}
    async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, follow_redirects=False, headers=headers) as client:

        async def send(body: bytes) -> int:
            for attempt in range(TRIES):
                response = await _posted(client, address, body)
                if response is not None and response.status_code not in _BUSY:
                    return _accepted(response)
                if attempt < TRIES - 1:
                    await asyncio.sleep(wait * 2**attempt)
            if response is None:
                raise DeeprotectError(f"nothing answers at {_where(address)}; is the gateway running there?")
            return _accepted(response)

        yield send


async def _posted(client: httpx.AsyncClient, address: str, body: bytes) -> httpx.Response | None:
    try:
        return await client.post(address, content=body)
    except httpx.TransportError:
        return None


def _accepted(response: httpx.Response) -> int:
    """The number of accepted readings; raises a refusal."""
    if response.status_code == httpx.codes.OK:
        try:
            return int(response.json()["accepted"])
        except (ValueError, TypeError, KeyError):
            raise RefusedError(
                "what answers is not a gateway; give the address that it printed for the device"
            ) from None
    text = printable(" ".join(response.text.split()), _LONGEST)
    if response.status_code == httpx.codes.NOT_FOUND:
        raise InputError(f"the gateway says: {text or 'not found'} (--to)")
    raise RefusedError(f"the gateway says, with status {response.status_code}: {text}")


def _where(address: str) -> str:
    """The address without the token in its path."""
    return printable(httpx.URL(address).netloc.decode("ascii", "replace").rpartition("@")[2])


@asynccontextmanager
async def to_topic(broker: Broker, topic: str) -> AsyncIterator[Send]:
    """Publish each message, confirmed by the broker; the gateway's answer is unknown."""
    from aiomqtt import Client, MqttError

    if not topic or any(sign in topic for sign in "+#\0"):
        raise InputError("--topic is one topic, without + and #; for a gateway, deeprotect/raw/STREAM")
    try:
        async with Client(
            broker.host, broker.port, username=broker.user, password=broker.password, tls_context=broker.tls
        ) as client:

            async def send(body: bytes) -> int:
                await client.publish(topic, body, qos=1)
                return 0

            yield send
    except MqttError as error:
        raise DeeprotectError(
            f"the broker at {broker} does not accept messages: {printable(str(error), 200)}"
        ) from None
