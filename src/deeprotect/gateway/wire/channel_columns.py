"""Columns of channels with one time: what producers send who are no phone app, and what apps get who are none."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from deeprotect.gateway.wire.message import Readings, ReleasedWindow
from deeprotect.gateway.wire.sensor_layout import OTHER, ChannelGroup, layout
from deeprotect.gateway.wire.wire_sensor import WireSensor
from deeprotect.signals.schema import Floats, Schema
from deeprotect.signals.ticks import Nanoseconds


def readings_of(
    times_ns: Nanoseconds, columns: Mapping[str, Floats], schema: Schema, *, sensors: Mapping[str, Any]
) -> tuple[Readings, ...]:
    """By the sensors that the phone app would have; a row is left out of a group where one of its channels is NaN."""
    groups = _groups(layout(schema, sensors), tuple(name for name in schema.names if name in columns))
    found = (_group(times_ns, columns, channels, sensor=sensor) for channels, sensor in groups)
    return tuple(readings for readings in found if len(readings))


@lru_cache(maxsize=1024)
def _groups(known: tuple[ChannelGroup, ...], names: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Channels and sensor of each group that is there, and one more for channels that no sensor of the app has."""
    whole = [(group.channels, group.sensor(group.usual)) for group in known if set(group.channels) <= set(names)]
    grouped = {channel for channels, _ in whole for channel in channels}
    rest = tuple(name for name in names if name not in grouped)
    return (*whole, (rest, str(WireSensor(((OTHER, 1.0),), rest)))) if rest else tuple(whole)


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
    if not all(each.times_ns is times or np.array_equal(each.times_ns, times) for each in window.readings):
        return None
    values = np.empty((len(times), len(window.channels)))
    for column, name in enumerate(window.channels):
        readings, place = places[name]
        values[:, column] = readings.values[:, place]
    return times, values


def _group(times_ns: Nanoseconds, columns: Mapping[str, Floats], channels: tuple[str, ...], *, sensor: str) -> Readings:
    """Groups without gaps share the array of times, which tells that they were read together."""
    values = np.empty((len(times_ns), len(channels)))
    for place, name in enumerate(channels):
        values[:, place] = columns[name]
    return Readings(sensor, channels, times_ns, values).numbers()
