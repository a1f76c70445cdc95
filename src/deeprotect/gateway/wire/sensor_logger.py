"""Messages of the phone app Sensor Logger, pushed over HTTP or MQTT: reads only the policy's channels, and writes like
the app."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from deeprotect.errors import WireError
from deeprotect.gateway.wire import strict_json
from deeprotect.gateway.wire.message import Message, ReleasedWindow
from deeprotect.gateway.wire.sensor_layout import (
    ChannelGroup,
    Style,
    WireSensor,
    layout,
    parts_of_total,
    total_of,
)
from deeprotect.gateway.wire.times import read_times
from deeprotect.signals.readings import Readings
from deeprotect.signals.schema import Floats, Schema
from deeprotect.signals.ticks import Nanoseconds

TEST = "test"  # what the app's test button sends
ACCURACY = 3  # on Android's scale from 0 to 3; the phone's own accuracy is not released


def from_json(message: Any, schema: Schema, sensors: Mapping[str, Any]) -> Message:
    """Read a parsed message; anything that the policy does not name is ignored."""
    payload = message.get("payload") if isinstance(message, dict) else None
    if not isinstance(payload, list) or not all(isinstance(entry, dict) for entry in payload):
        raise WireError("a Sensor Logger message must have a payload, a list of objects")
    session = strict_json.session_name(message.get("sessionId"))
    if payload and payload[0].get("name") == TEST:
        return Message(session, (), is_test=True)
    by_name = _by_name(payload)
    found = (readings for group in layout(schema, sensors) for readings in _readings(group, by_name))
    return Message(session, tuple(readings for readings in found if len(readings)))


def write(window: ReleasedWindow) -> bytes:
    """Write a message like the app's; every name is the stream's own."""
    entries = [entry for readings in window.readings for entry in _entries(readings)]
    entries.sort(key=lambda entry: entry["time"])
    message = {
        "messageId": window.number,
        "sessionId": window.session,
        "deviceId": window.stream,
        "payload": entries,
    }
    return strict_json.text(message)


def _by_name(payload: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    by_name: dict[str, list[dict[str, Any]]] = {}
    for entry in payload:
        name = entry.get("name")
        if isinstance(name, str):
            by_name.setdefault(name, []).append(entry)
    return by_name


def _readings(group: ChannelGroup, by_name: dict[str, list[dict[str, Any]]]) -> Iterator[Readings]:
    """Readings of a group, from the first of its names in the message; written under all names that came."""
    came = tuple(name for name in group.factors if name in by_name)
    series = {name: _series(by_name[name], group, name) for name in came}
    times, values = total_of(series) if group.kind == "total" else next(iter(series.values()), (None, None))
    if times is not None and values is not None:
        style: Style = "android" if "accuracy" in by_name[came[0]][0] else "apple"
        yield from group.readings(times, values, came, style=style)


def _series(entries: list[dict[str, Any]], group: ChannelGroup, name: str) -> tuple[Nanoseconds, Floats]:
    """Times, and values in the policy's units; NaN for missing values, no row if all are missing."""
    rows, times = [], []
    for entry in entries:
        values = entry.get("values")
        if not isinstance(values, dict):
            raise WireError("a reading must have values, an object of numbers")
        row = [values.get(key) for key in group.keys]
        if any(value is not None for value in row):
            rows.append(row)
            times.append(entry.get("time"))
    flat = [value for row in rows for value in row]
    found = np.full(len(flat), np.nan)
    there = np.array([value is not None for value in flat], dtype=bool)
    found[there] = strict_json.numbers([value for value in flat if value is not None], "values of a sensor")
    with np.errstate(over="ignore"):
        scaled = found.reshape(len(rows), len(group.keys)) / group.factors[name]
    strict_json.finite(scaled.ravel()[there], "values of a sensor")
    return read_times(times, "ns", came_ns=0), scaled


def _entries(readings: Readings) -> Iterator[dict[str, Any]]:
    sensor: WireSensor = readings.sensor
    order = sorted(range(len(sensor.keys)), key=lambda place: sensor.keys[place], reverse=True)  # z, y, x
    keys = [sensor.keys[place] for place in order]
    for name, values in _released(sensor, readings.values):
        for time, row in zip(readings.times_ns.tolist(), values[:, order].tolist(), strict=True):
            yield _entry(sensor.style, name, time, values=dict(zip(keys, row, strict=True)))


def _entry(style: Style, name: str, time: int, *, values: dict[str, float]) -> dict[str, Any]:
    """An entry in the app's key order on that platform, which some receivers rely on; the accuracy is constant."""
    if style == "apple":
        return {"name": name, "time": time, "values": values}
    return {"name": name, "values": values, "accuracy": ACCURACY, "time": time}


def _released(sensor: WireSensor, values: Floats) -> Iterator[tuple[str, Floats]]:
    """Values under each name, in its unit; adding 0.0 avoids -0.0."""
    parts = parts_of_total(values) if sensor.kind == "total" else {}
    for name, factor in sensor.factors:
        yield name, strict_json.finite(parts.get(name, values) * np.array(factor) + 0.0, "released values")
