"""Wire formats: input is recognised by its content, output is chosen by name.

Columns of channels with one time are the form for producers and apps other than phone apps.
"""

import json
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from deeprotect.gateway.wire import records, sensor_logger, strict_json
from deeprotect.gateway.wire.line_protocol import NAME, write_line
from deeprotect.gateway.wire.message import Message, ReleasedWindow
from deeprotect.gateway.wire.sensor_layout import OTHER, ChannelGroup, layout, settings_of
from deeprotect.gateway.wire.times import WritePrecision
from deeprotect.signals.readings import Readings
from deeprotect.signals.schema import Floats, Schema
from deeprotect.signals.ticks import Nanoseconds

TIME = records.TIME
Form = Literal["rows", "flat", "sensor-logger", "arrow", "line-protocol", "home-assistant"]
USUAL: Form = "sensor-logger"
"""Default form for apps that get windows delivered."""
FORMS: tuple[Form, ...] = get_args(Form)
JSON_TYPE, ARROW_TYPE = "application/json", "application/vnd.apache.arrow.stream"
LINES_TYPE, TEXT_TYPE = "application/x-ndjson", "text/plain; charset=utf-8"


def read(
    body: bytes,
    schema: Schema,
    sensors: Mapping[str, Any],
    *,
    came_ns: int | None = None,
    precision: WritePrecision | None = None,
) -> Message:
    """Read a message, recognised by its content; `came_ns` is its time of arrival, for devices without a clock.

    With a `precision` it must be line protocol, with times in that unit.
    """
    came = time.time_ns() if came_ns is None else came_ns
    text, settings = strict_json.decoded(body), settings_of(sensors)
    if precision is not None:
        sent = records.from_lines(text, schema, settings, came_ns=came, precision=precision)
        return Message(sent.session, readings_of(sent.times_ns, sent.columns, schema, sensors=sensors))
    if text.strip() in records.ABSENT:  # a topic with a bare state
        return Message("", ())
    if records.is_line_protocol(text):
        sent = records.from_lines(text, schema, settings, came_ns=came)
    else:
        message = strict_json.parse(text)
        if isinstance(message, dict) and "payload" in message and not settings.fields:
            return sensor_logger.from_json(message, schema, sensors)
        sent = records.from_json(message, schema, settings, came_ns=came)
    return Message(sent.session, readings_of(sent.times_ns, sent.columns, schema, sensors=sensors))


def readings_of(
    times_ns: Nanoseconds, columns: Mapping[str, Floats], schema: Schema, *, sensors: Mapping[str, Any]
) -> tuple[Readings, ...]:
    """Readings by the phone app's sensors; a NaN value means no reading of its sensor."""
    groups = _groups(layout(schema, sensors), tuple(name for name in schema.names if name in columns))
    found: list[Readings] = []
    for group in groups:
        values = np.stack([columns[name] for name in group.channels], axis=1)
        found += group.readings(times_ns, values, group.usual)
    return tuple(readings for readings in found if len(readings))


@lru_cache(maxsize=1024)
def _groups(known: tuple[ChannelGroup, ...], names: tuple[str, ...]) -> tuple[ChannelGroup, ...]:
    """The sensors that occur, and the channels without a sensor in the app."""
    whole = [group for group in known if set(group.channels) <= set(names)]
    grouped = {channel for group in whole for channel in group.channels}
    rest = tuple(name for name in names if name not in grouped)
    other = ChannelGroup(rest, rest, {OTHER: (1.0,) * len(rest)}, usual=(OTHER,))
    return (*whole, other) if rest else tuple(whole)


def rows_of(window: ReleasedWindow) -> tuple[Nanoseconds, Floats]:
    """Times and values (row, channel): at the producer's own stamps if it reads all channels at once, else at the
    clock's ticks."""
    names = [name for each in window.readings for name in each.channels]
    if sorted(names) != sorted(window.channels):
        return window.times_ns, window.values
    times = window.readings[0].times_ns
    if not all(each.times_ns is times or np.array_equal(each.times_ns, times) for each in window.readings):
        return window.times_ns, window.values
    together = np.concatenate([each.values for each in window.readings], axis=1)
    return times, together[:, [names.index(name) for name in window.channels]]


def names_of(window: ReleasedWindow) -> dict[str, Any]:
    return {
        "stream": window.stream,
        "session": window.session,
        "message": window.number,
        "placeholder": window.placeholder,
    }


def columns(window: ReleasedWindow) -> bytes:
    """A list for the time and one for each channel, which `records` can read."""
    times, values = rows_of(window)
    listed = strict_json.finite(np.ascontiguousarray(values.T) + 0.0, "released values")
    return strict_json.text(names_of(window) | {TIME: times} | dict(zip(window.channels, listed, strict=True)))


def flat(window: ReleasedWindow) -> bytes:
    """A line for each reading: `{"time": …, "acc_x": …}`."""
    return b"\n".join(strict_json.text({TIME: time, **values}) for time, values in _readings(window))


def lines(window: ReleasedWindow) -> bytes:
    """Line protocol, one line for each reading."""
    return "\n".join(write_line(NAME, values, time) for time, values in _readings(window)).encode()


def arrow(window: ReleasedWindow) -> bytes:
    """An Arrow IPC stream with one batch; the schema's metadata has the names in `columns`."""
    times, values = rows_of(window)
    stamp = pa.timestamp("ns", tz="UTC")
    arrays = [pa.array(times, type=pa.int64()).cast(stamp), *map(pa.array, values.T + 0.0)]
    named = {name: value if isinstance(value, str) else json.dumps(value) for name, value in names_of(window).items()}
    batch = pa.record_batch(arrays, [TIME, *window.channels]).replace_schema_metadata(named)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def latest(window: ReleasedWindow) -> bytes:
    """The window's last reading, for displays of a single value."""
    time, values = _readings(window)[-1]
    return strict_json.text(names_of(window) | {TIME: time, **values})


def _readings(window: ReleasedWindow) -> list[tuple[int, dict[str, float]]]:
    times, values = rows_of(window)
    rows = strict_json.finite(values + 0.0, "released values").tolist()
    named = (dict(zip(window.channels, row, strict=True)) for row in rows)
    return list(zip(times.tolist(), named, strict=True))


_WRITERS: dict[Form, tuple[Callable[[ReleasedWindow], bytes], str]] = {
    "rows": (columns, JSON_TYPE),
    "flat": (flat, LINES_TYPE),
    "sensor-logger": (sensor_logger.write, JSON_TYPE),
    "arrow": (arrow, ARROW_TYPE),
    "line-protocol": (lines, TEXT_TYPE),
    "home-assistant": (latest, JSON_TYPE),
}
_BY_LINES = ("flat", "line-protocol")


def write(window: ReleasedWindow, form: Form) -> bytes:
    """One window, complete."""
    return _WRITERS[form][0](window)


def write_messages(window: ReleasedWindow, form: Form) -> list[bytes]:
    """Messages for a broker: forms with a line per reading become one message per reading."""
    body = write(window, form)
    return body.split(b"\n") if form in _BY_LINES else [body]


def content_type_of(form: Form) -> str:
    return _WRITERS[form][1]
