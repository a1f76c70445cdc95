"""Which of a browser's motion streams a policy's channels are: stream, axis, and the unit's size in the browser's."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from deeprotect.errors import PolicyError, printable
from deeprotect.policy.known_sensors import recognise, spelt
from deeprotect.signals import Channel

Stream = Literal["accelerationIncludingGravity", "acceleration", "rotationRate"]
STANDARD_GRAVITY = 9.80665
UNITS: Mapping[str, Mapping[str, float]] = {
    "accelerometer": {"m/s²": 1.0, "g": STANDARD_GRAVITY, "mg": STANDARD_GRAVITY / 1000},
    "gyroscope": {"°/s": 1.0, "rad/s": math.degrees(1.0)},
}
"""By sensor: how much of the browser's unit (m/s², degrees per second) one unit is."""
_AXIS = re.compile(r"(?<![A-Za-z])([xyz])(?![A-Za-z])|([xyzXYZ])$")
_WITHOUT_GRAVITY = re.compile(r"linear|user", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """One axis of a stream; `factor` of the browser's units is one of the channel's."""

    stream: Stream
    axis: int
    factor: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def places_of(channels: Iterable[Channel]) -> tuple[Place, ...]:
    """A place for each channel, by its name and unit, none of them twice."""
    places = tuple(_place(channel) for channel in channels)
    if len({(place.stream, place.axis) for place in places}) < len(places):
        raise PolicyError("two channels are the same axis of one motion sensor; name them apart, or leave one out")
    return places


def _place(channel: Channel) -> Place:
    sensor, axis = recognise(channel.name), _axis(channel.name)
    factor = UNITS.get(sensor.kind if sensor else "", {}).get(spelt(channel.unit) or "")
    if sensor is None or axis is None or factor is None:
        raise PolicyError(
            f"channel '{printable(channel.name)}' in {printable(channel.unit)} is no motion that a browser has; it has "
            "acc_x, acc_y, acc_z in m/s² or g, with gravity or linear_acc_x without, and gyro_x, gyro_y, gyro_z in °/s "
            "or rad/s"
        )
    if sensor.kind == "gyroscope":
        return Place("rotationRate", axis, factor)
    linear = _WITHOUT_GRAVITY.search(channel.name)
    return Place("acceleration" if linear else "accelerationIncludingGravity", axis, factor)


def _axis(name: str) -> int | None:
    """Of acc_x, GyroY or "acc z (g)"; None where it names none."""
    found = _AXIS.search(re.sub(r"[\[(].*?[\])]", "", name).strip().replace("_", " "))
    return "xyz".index((found[1] or found[2]).lower()) if found else None
