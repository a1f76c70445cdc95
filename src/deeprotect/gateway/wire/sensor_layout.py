"""How to read a device's messages: its settings, and the app's sensors for the channels of a policy, with units and
signs; other sensors are ignored."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, ValidationError, field_validator

from deeprotect.errors import InputError, printable
from deeprotect.gateway.wire.times import TimeUnit
from deeprotect.policy.known_sensors import SIZES, STANDARD_GRAVITY, axis_of, factor_of, recognise
from deeprotect.policy.mistakes import meant_or, one_line
from deeprotect.policy.sections import Name, Section
from deeprotect.signals.readings import Readings
from deeprotect.signals.schema import Channel, Floats, Schema
from deeprotect.signals.ticks import Nanoseconds


def _written(pattern: str, wanted: str) -> AfterValidator:
    """Text that matches a pattern, with a description for error messages."""

    def check(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise ValueError(wanted)
        return text

    return AfterValidator(check)


WirePlace = Annotated[
    str, _written(r"[A-Za-z0-9_-]{1,60}\.[A-Za-z0-9_-]{1,60}", "must be a sensor and its value, like light.lux")
]
FieldPlace = Annotated[
    str,
    _written(
        r"\.|[^.\x00-\x1f]{1,60}(\.[^.\x00-\x1f]{1,60}){0,7}",
        "must be up to eight keys joined by dots, like payload.ax",
    ),
]
Topic = Annotated[
    str,
    _written(
        r"[^+#$\x00-\x1f][^+#\x00-\x1f]{0,199}",
        "must be one topic, without the wildcards + and #; it may not begin with $",
    ),
]
OWN_TOPICS = "deeprotect/"  # the gateway's own topics, including those of releases


class SensorSettings(Section):
    """`standardised`: the app's "Standardise Units & Frames" is on. `channels` names sensor and value, `light.lux`, of
    channels with unrecognised names. `fields` gives the place of a channel, the time or the session in other producers'
    messages: `payload.ax`."""

    platform: Literal["android", "ios"] = "android"
    standardised: bool = False
    acceleration: Literal["total", "linear", "uncalibrated"] | None = None  # None: by the channels' names
    channels: dict[Name, WirePlace] = Field(default_factory=dict)
    time: TimeUnit | None = None  # None: nanoseconds, ISO 8601, or an unambiguous unit
    fields: dict[Name, FieldPlace] = Field(default_factory=dict)
    topic: Topic | None = None  # on a broker, besides the stream's own

    @field_validator("topic")
    @classmethod
    def _is_of_others(cls, topic: str | None) -> str | None:
        if (topic or "").startswith(OWN_TOPICS):
            raise ValueError(f"is the gateway's own, as all topics that begin with {OWN_TOPICS}; leave it out")
        return topic

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Parse registered settings; an error is one line."""
        try:
            return cls.model_validate(dict(settings))
        except ValidationError as error:
            raise InputError(f"sensors: {one_line(error, cls)}") from None

    def check_channels(self, known: Collection[str]) -> None:
        """Refuse a place for an unknown channel, such as a typing error, which would never be read."""
        placed = {"--field": set(self.fields) - {"time", "session"}, "--channel": set(self.channels)}
        for option, names in placed.items():
            for name in sorted(names.difference(known)):
                fix = meant_or(name, sorted(known), "there are")
                raise InputError(f"{option} {printable(name)}: there is no such channel; {printable(fix, 300)}")

    @property
    def apple_frame(self) -> bool:
        """Whether acceleration has the opposite sign, and uncalibrated acceleration is in g."""
        return self.platform == "ios" and not self.standardised


def settings_of(sensors: Mapping[str, Any]) -> SensorSettings:
    """Settings, cached for all messages of a device."""
    return _settings(_text(sensors))


def _text(sensors: Mapping[str, Any]) -> str:
    return json.dumps(dict(sensors), sort_keys=True)


@lru_cache(maxsize=4096)
def _settings(text: str) -> SensorSettings:
    return SensorSettings.of(json.loads(text))


Kind = Literal["plain", "total"]
Style = Literal["apple", "android"]
"""The app's key order in a reading: name, time, values; or name, values, accuracy, time."""


@dataclass(frozen=True)
class WireSensor:
    """The app's sensors for some channels; readings carry it, so that a release can be written without anything else.

    Names under which these readings are sent, each with the factors from policy units to its own, by channel.

    `total`: channels are acceleration with gravity, whose parts are `accelerometer` and `gravity`.
    """

    factors: tuple[tuple[str, tuple[float, ...]], ...]
    keys: tuple[str, ...]  # keys in the app's `values`, one for each channel
    kind: Kind = "plain"
    style: Style = "apple"


_OWN_UNIT = {
    "accelerometer": "m/s²",
    "gyroscope": "rad/s",
    "magnetic_field": "µT",
    "air pressure": "hPa",
    "relative altitude": "m",
    "illuminance": "lx",
    "heart rate": "bpm",
}
"""The app's sensor by quantity."""
TOTAL, LINEAR, GRAVITY, UNCALIBRATED = "totalacceleration", "accelerometer", "gravity", "accelerometeruncalibrated"
NAMES = {
    "accelerometer": (TOTAL, LINEAR, GRAVITY, UNCALIBRATED),
    "gyroscope": ("gyroscope", "gyroscopeuncalibrated"),
    "magnetic_field": ("magnetometer", "magnetometeruncalibrated"),
}
"""The app's sensors by quantity; the first one in a message is read."""
_SINGLE = {
    "air pressure": ("barometer", "pressure"),
    "relative altitude": ("barometer", "relativeAltitude"),
    "illuminance": ("light", "lux"),
    "heart rate": ("heartrate", "bpm"),
}
"""The app's sensors without axes, each with the key of its value."""
_QUANTITY = {name: quantity for quantity, names in NAMES.items() for name in names}
_QUANTITY |= {".".join(place): quantity for quantity, place in _SINGLE.items()}
OTHER = "custom"  # channels without a sensor in the app, from other producers
Series = tuple[Nanoseconds, Floats]
APART_NS = 100_000_000
"""Largest distance in time when adding gravity, which changes little in a tenth of a second."""
_WITHOUT_GRAVITY = re.compile(r"user|linear", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class ChannelGroup:
    """Channels that one sensor measures together; `factors` is by possible names, the preferred one first."""

    channels: tuple[str, ...]
    keys: tuple[str, ...]
    factors: dict[str, tuple[float, ...]]  # from the policy's unit to the app's, for each channel
    kind: Kind = "plain"
    usual: tuple[str, ...] = ()  # names for readings that came in another wire format

    def readings(
        self, times_ns: Nanoseconds, values: Floats, names: tuple[str, ...], *, style: Style = "apple"
    ) -> Iterator[Readings]:
        """(reading, channel) in the policy's units. Channels that never arrive together are read one by one."""
        whole = Readings(self._sensor(names, slice(None), style), self.channels, times_ns, values).numbers()
        if len(whole) or not len(times_ns):
            yield whole
            return
        for place, channel in enumerate(self.channels):
            own = slice(place, place + 1)
            yield Readings(self._sensor(names, own, style), (channel,), times_ns, values[:, own]).numbers()

    def _sensor(self, names: tuple[str, ...], own: slice, style: Style) -> WireSensor:
        factors = tuple((name, self.factors[name][own]) for name in names)
        return WireSensor(factors, self.keys[own], self.kind, style)


def layout(schema: Schema, sensors: Mapping[str, Any]) -> tuple[ChannelGroup, ...]:
    """Groups of channels; a channel in none of them cannot come from the app."""
    return _layout(schema, _text(sensors))


@lru_cache(maxsize=1024)
def _layout(schema: Schema, text: str) -> tuple[ChannelGroup, ...]:
    settings = _settings(text)
    members: dict[tuple[str, ...], list[tuple[Channel, str]]] = {}
    for names, key, channel in _places(schema, settings):
        members.setdefault(names, []).append((channel, key))
    return tuple(_group(names, found, settings) for names, found in members.items())


def _places(schema: Schema, settings: SensorSettings) -> Iterator[tuple[tuple[str, ...], str, Channel]]:
    """Names and key for each channel that has them; two channels with one place would have equal readings."""
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
    sensor, axis = recognise(channel.name), axis_of(channel.name)
    if sensor is None:
        return None
    if sensor.short in _SINGLE:
        name, key = _SINGLE[sensor.short]
        return None if factor_of(channel.unit, _OWN_UNIT[sensor.short]) is None else ((name,), key)
    if axis is None or factor_of(channel.unit, _OWN_UNIT.get(sensor.kind, "")) is None:
        return None
    if sensor.kind != "accelerometer":
        return NAMES[sensor.kind], axis
    meant = settings.acceleration or ("linear" if _WITHOUT_GRAVITY.search(channel.name) else "total")
    return {"total": NAMES[sensor.kind], "linear": (LINEAR,), "uncalibrated": (UNCALIBRATED,)}[meant], axis


def _group(names: tuple[str, ...], found: list[tuple[Channel, str]], settings: SensorSettings) -> ChannelGroup:
    """A group for one sensor; its channels may have different units, such as a barometer's pressure and altitude."""
    total = names == NAMES["accelerometer"]
    usual = names[:1] if not total else (LINEAR, GRAVITY) if settings.platform == "ios" else (LINEAR, GRAVITY, TOTAL)
    return ChannelGroup(
        tuple(channel.name for channel, _ in found),
        tuple(key for _, key in found),
        {name: tuple(_factor(name, key, channel.unit, settings=settings) for channel, key in found) for name in names},
        "total" if total else "plain",
        usual,
    )


def _factor(name: str, key: str, unit: str, *, settings: SensorSettings) -> float:
    """Factor from the policy's unit to the app's; 1 for other sensors."""
    quantity = _QUANTITY.get(name) or _QUANTITY.get(f"{name}.{key}")
    if quantity is None:
        return 1.0
    own = factor_of(unit, _OWN_UNIT[quantity])
    if own is None:
        known = ", ".join(each for each in SIZES if factor_of(each, _OWN_UNIT[quantity])) or _OWN_UNIT[quantity]
        raise InputError(
            f"sensors: {name} cannot be converted to '{printable(unit)}'; give its channels in the policy one of "
            f"{known}"
        )
    if quantity != "accelerometer" or not settings.apple_frame:
        return own
    return -own / STANDARD_GRAVITY if name == UNCALIBRATED else -own


def total_of(series: Mapping[str, Series]) -> Series | tuple[None, None]:
    """The sensor that includes gravity, or the sum of its two parts, joined by time stamp."""
    if TOTAL in series:
        return series[TOTAL]
    if LINEAR in series and GRAVITY in series:
        return _sum(series[LINEAR], series[GRAVITY])
    return series.get(UNCALIBRATED, (None, None))


def parts_of_total(released: Floats) -> dict[str, Floats]:
    """Split released acceleration (reading, axis) into motion and gravity, which add up to it.

    Gravity is its mean: both parts are functions of the release alone, so their difference reveals nothing raw.
    """
    gravity = np.broadcast_to(released.mean(axis=0, keepdims=True), released.shape) if len(released) else released
    return {LINEAR: released - gravity, GRAVITY: gravity}


def _sum(linear: Series, gravity: Series) -> Series:
    """Add pairs of nearest readings: each reading is in at most one sum, and so in one window."""
    (times, values), (stamps, pulls) = _in_order(linear), _in_order(gravity)
    if not len(stamps) or not len(times):
        return times[:0], values[:0]
    nearest = _nearest(stamps, times)
    paired = _nearest(times, stamps)[nearest] == np.arange(len(times))
    paired &= np.abs(stamps[nearest] - times) <= APART_NS
    return times[paired], values[paired] + pulls[nearest[paired]]


def _in_order(series: Series) -> Series:
    order = np.argsort(series[0], kind="stable")
    return series[0][order], series[1][order]


def _nearest(stamps: Nanoseconds, times: Nanoseconds) -> Nanoseconds:
    """The index of the nearest stamp for each time; the later one on a tie."""
    middles = stamps[:-1] + (np.diff(stamps) + 1) // 2
    return np.searchsorted(middles, times, side="right")
