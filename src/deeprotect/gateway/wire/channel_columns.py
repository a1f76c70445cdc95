"""Columns of channels with one time: what producers send who are no phone app, and what apps get who are none."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from deeprotect.gateway.wire.message import Readings, ReleasedWindow
from deeprotect.gateway.wire.sensor_layout import OTHER, layout
from deeprotect.gateway.wire.wire_sensor import WireSensor
from deeprotect.signals.schema import Floats, Schema
from deeprotect.signals.ticks import Nanoseconds


def readings_of(
    times_ns: Nanoseconds, columns: Mapping[str, Floats], schema: Schema, *, sensors: Mapping[str, Any]
) -> tuple[Readings, ...]:
    """By the sensors that the phone app would have; a row is left out of a group where one of its channels is NaN."""
    groups = [
        (group.channels, group.sensor(group.usual))
        for group in layout(schema, sensors)
        if set(group.channels) <= columns.keys()
    ]
    grouped = {channel for channels, _ in groups for channel in channels}
    rest = tuple(name for name in schema.names if name in columns and name not in grouped)
    if rest:
        groups.append((rest, str(WireSensor(((OTHER, 1.0),), rest))))
    found = (_group(times_ns, columns, channels, sensor=sensor) for channels, sensor in groups)
    return tuple(readings for readings in found if len(readings))


def rows_of(window: ReleasedWindow) -> tuple[Nanoseconds, Floats]:
    """Times and values (row, channel): at the producer's own stamps where it reads all channels at once, at the clock's
    ticks otherwise."""
    together = _together(window)
    return together if together is not None else (window.times_ns, window.values)


def _together(window: ReleasedWindow) -> tuple[Nanoseconds, Floats] | None:
    places = {channel: (each, place) for each in window.readings for place, channel in enumerate(each.channels)}
    read = sum(len(each.channels) for each in window.readings)
    if read != len(window.channels) or set(places) != set(window.channels):
        return None
    times = window.readings[0].times_ns
    if not all(np.array_equal(each.times_ns, times) for each in window.readings):
        return None
    return times, np.stack([places[name][0].values[:, places[name][1]] for name in window.channels], axis=1)


def _group(times_ns: Nanoseconds, columns: Mapping[str, Floats], channels: tuple[str, ...], *, sensor: str) -> Readings:
    values = np.stack([columns[name] for name in channels], axis=1)
    whole = np.isfinite(values).all(axis=1)
    return Readings(sensor, channels, times_ns[whole], values[whole])
