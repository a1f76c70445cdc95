"""Which of the app's sensors stand for which channels of a policy, with units and signs; the rest is denied."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from deeprotect.errors import InputError, printable
from deeprotect.gateway.wire.sensor_settings import SensorSettings
from deeprotect.gateway.wire.wire_sensor import Kind, Style, WireSensor
from deeprotect.policy.known_sensors import recognise
from deeprotect.policy.known_sensors import spelt as unit_spelt
from deeprotect.signals.channel import Channel
from deeprotect.signals.schema import Schema

STANDARD_GRAVITY = 9.80665
_SI = {
    "accelerometer": {"m/s²": 1.0, "g": STANDARD_GRAVITY, "mg": STANDARD_GRAVITY / 1000},
    "gyroscope": {"rad/s": 1.0, "°/s": math.radians(1)},
    "magnetic_field": {"µT": 1.0, "gauss": 100.0},
}
TOTAL, LINEAR, GRAVITY, UNCALIBRATED = "totalacceleration", "accelerometer", "gravity", "accelerometeruncalibrated"
NAMES = {
    "accelerometer": (TOTAL, LINEAR, GRAVITY, UNCALIBRATED),
    "gyroscope": ("gyroscope", "gyroscopeuncalibrated"),
    "magnetic_field": ("magnetometer", "magnetometeruncalibrated"),
}
"""Of the app, by the quantity; the first that a message has is read."""
_QUANTITY = {name: quantity for quantity, names in NAMES.items() for name in names}
OTHER = "custom"  # channels that the app has no sensor for, from a producer of another kind
_WITHOUT_GRAVITY = re.compile(r"user|linear", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class ChannelGroup:
    """Channels that one sensor reads together; `factors` is by the names that it may have, the preferred first."""

    channels: tuple[str, ...]
    keys: tuple[str, ...]
    factors: dict[str, float]
    kind: Kind = "plain"
    usual: tuple[str, ...] = ()  # names for readings that came in another wire format

    def sensor(self, names: tuple[str, ...], style: Style = "apple") -> str:
        return str(WireSensor(tuple((name, self.factors[name]) for name in names), self.keys, self.kind, style))


def layout(schema: Schema, sensors: Mapping[str, Any]) -> tuple[ChannelGroup, ...]:
    """Every channel is in at most one group; those in none cannot come from the app."""
    return _layout(schema, json.dumps(dict(sensors), sort_keys=True))


@lru_cache(maxsize=1024)
def _layout(schema: Schema, sensors: str) -> tuple[ChannelGroup, ...]:
    settings = SensorSettings.of(json.loads(sensors))
    members: dict[tuple[str, ...], list[tuple[Channel, str]]] = {}
    for names, key, channel in _places(schema, settings):
        members.setdefault(names, []).append((channel, key))
    return tuple(_group(names, found, settings) for names, found in members.items())


def _places(schema: Schema, settings: SensorSettings) -> Iterator[tuple[tuple[str, ...], str, Channel]]:
    """Names and key for each channel that has them; two channels of one place would be the same readings."""
    named = {
        channel: (tuple(place.split(".")[:1]), place.split(".")[1]) for channel, place in settings.channels.items()
    }
    found = {each.name: named.get(each.name) or _recognised(each, settings) for each in schema.channels}
    times = Counter(place for place in found.values() if place)
    for channel in schema.channels:
        place = found[channel.name]
        if place and times[place] == 1:
            yield *place, channel


def _recognised(channel: Channel, settings: SensorSettings) -> tuple[tuple[str, ...], str] | None:
    sensor, axis = recognise(channel.name), _axis(channel.name)
    if sensor is None or axis is None or unit_spelt(channel.unit) not in _SI.get(sensor.kind, {}):
        return None
    if sensor.kind != "accelerometer":
        return NAMES[sensor.kind], axis
    meant = settings.acceleration or ("linear" if _WITHOUT_GRAVITY.search(channel.name) else "total")
    return {"total": NAMES[sensor.kind], "linear": (LINEAR,), "uncalibrated": (UNCALIBRATED,)}[meant], axis


def _axis(name: str) -> str | None:
    letters = re.sub(r"[\[(][^\])]*[\])]", "", name).strip().lower()
    return next((letter for letter in (letters[-1:], letters[:1]) if letter and letter in "xyz"), None)


def _group(names: tuple[str, ...], found: list[tuple[Channel, str]], settings: SensorSettings) -> ChannelGroup:
    first = found[0][0]  # one sensor has one unit; a channel of another unit is none of its values
    kept = [(channel, key) for channel, key in found if unit_spelt(channel.unit) == unit_spelt(first.unit)]
    total = names == NAMES["accelerometer"]
    usual = names[:1] if not total else (LINEAR, GRAVITY) if settings.platform == "ios" else (LINEAR, GRAVITY, TOTAL)
    return ChannelGroup(
        tuple(channel.name for channel, _ in kept),
        tuple(key for _, key in kept),
        {name: _factor(name, first.unit, settings) for name in names},
        "total" if total else "plain",
        usual,
    )


def _factor(name: str, unit: str, settings: SensorSettings) -> float:
    """From the policy's unit to that of the app's sensor; other sensors are taken as they are."""
    quantity = _QUANTITY.get(name)
    if quantity is None:
        return 1.0
    own = _SI[quantity].get(unit_spelt(unit) or "")
    if own is None:
        raise InputError(
            f"sensors: {name} cannot be told in unit '{printable(unit)}'; give its channels in the policy one of "
            f"{', '.join(_SI[quantity])}"
        )
    if quantity != "accelerometer" or not settings.apple_frame:
        return own
    return -own / STANDARD_GRAVITY if name == UNCALIBRATED else -own
