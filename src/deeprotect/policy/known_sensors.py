"""Known sensors: hardware ranges by unit, and the column names that stand for them; nothing is read from data."""

import math
import re
from dataclasses import dataclass
from itertools import pairwise

from deeprotect.errors import PolicyError, printable


@dataclass(frozen=True, slots=True)
class UnitRange:
    """A public range in one unit, and the step in which such sensors commonly report."""

    low: float
    high: float
    resolution: float | None = None


@dataclass(frozen=True)
class Sensor:
    """A quantity a sensor reports; `scales` is by unit, the usual unit first; `words` are parts of column names."""

    kind: str  # the repository's name for the sensor
    short: str
    words: frozenset[str]
    scales: dict[str, UnitRange]
    letters: str = ""  # single letters that stand for it before an axis: ax, wy

    @property
    def usual_unit(self) -> str:
        return next(iter(self.scales))


_STANDARD_GRAVITY = 9.80665
_TURN = math.radians(2000)

# Ranges are common full-scale settings of phone and wrist parts, wide enough for everyday motion. A wider range is
# always safe for privacy and costs accuracy; a narrower one clips. The policy file may say otherwise.
KNOWN = (
    Sensor(
        "accelerometer",
        "acc",
        frozenset({"acc", "accel", "acceleration", "accelerometer", "useracceleration"}),
        {
            "g": UnitRange(-4.0, 4.0, 0.001),
            "m/s²": UnitRange(-4 * _STANDARD_GRAVITY, 4 * _STANDARD_GRAVITY, 0.01),
            "mg": UnitRange(-4000.0, 4000.0, 1.0),
        },
        letters="a",
    ),
    Sensor(
        "gyroscope",
        "gyro",
        frozenset({"gyr", "gyro", "gyroscope", "omega", "rotationrate"}),
        {"rad/s": UnitRange(-round(_TURN, 4), round(_TURN, 4), 0.001), "°/s": UnitRange(-2000.0, 2000.0, 0.1)},
        letters="wg",
    ),
    Sensor(
        "magnetic_field",
        "mag",
        frozenset({"mag", "magn", "magnet", "magnetic", "magnetometer", "compass"}),
        # Earth's field is at most about 65 µT; the rest is room for magnets and motors nearby.
        {"µT": UnitRange(-1300.0, 1300.0, 0.1), "gauss": UnitRange(-13.0, 13.0, 0.001)},
        letters="m",
    ),
    Sensor(
        "orientation",
        "rotation",
        frozenset({"rot", "rotation", "quat", "quaternion"}),
        {"1": UnitRange(-1.0, 1.0, 0.0001)},  # components of a unit quaternion
        letters="q",
    ),
    Sensor(
        "orientation",
        "orientation",
        frozenset({"orientation", "azimuth", "yaw", "pitch", "roll", "heading"}),
        # Some conventions count from -180, some to 360; this holds all of them.
        {"°": UnitRange(-180.0, 360.0, 0.01), "rad": UnitRange(-round(math.pi, 4), round(math.tau, 4), 0.0001)},
    ),
    Sensor(
        "microphone",
        "audio",
        frozenset({"mic", "microphone", "audio", "pcm", "sound", "mel"}),
        {"1": UnitRange(-1.0, 1.0, 2.0**-15), "dB": UnitRange(-120.0, 0.0, 0.01)},
    ),
    Sensor("gps", "latitude", frozenset({"lat", "latitude"}), {"°": UnitRange(-90.0, 90.0, 1e-6)}),
    Sensor("gps", "longitude", frozenset({"lon", "lng", "longitude"}), {"°": UnitRange(-180.0, 180.0, 1e-6)}),
    Sensor("gps", "altitude", frozenset({"altitude"}), {"m": UnitRange(-500.0, 9000.0, 0.1)}),
    Sensor("touch_screen", "touch", frozenset({"touch", "touchscreen"}), {"px": UnitRange(0.0, 4096.0, 1.0)}),
    Sensor("touch_screen", "pressure", frozenset({"touchpressure"}), {"1": UnitRange(0.0, 1.0, 0.001)}),
)

_UNIT_SPELLINGS = {
    "g": "g", "gs": "g", "gee": "g",
    "mg": "mg",
    "m/s²": "m/s²", "m/s2": "m/s²", "m/s^2": "m/s²", "m/s/s": "m/s²", "ms-2": "m/s²", "m.s-2": "m/s²",
    "rad/s": "rad/s", "rads": "rad/s", "rad.s-1": "rad/s", "rps": "rad/s",
    "°/s": "°/s", "deg/s": "°/s", "dps": "°/s", "degrees/s": "°/s",
    "µt": "µT", "ut": "µT", "microtesla": "µT",
    "gauss": "gauss",
    "°": "°", "deg": "°", "degree": "°", "degrees": "°",
    "rad": "rad", "radian": "rad", "radians": "rad",
    "1": "1", "": "1",
    "db": "dB", "dbfs": "dB",
    "m": "m", "px": "px", "pixel": "px", "pixels": "px",
}  # fmt: skip


def recognise(column: str) -> Sensor | None:
    """The sensor that a column's name speaks of: acc_x, Accel-Y, ax, wrist.gyro.z, "Acceleration x (m/s^2)"."""
    pieces = [piece.lower() for piece in _PIECES.findall(_UNIT_IN_NAME.sub("", column))]
    for word in _words(pieces):
        for sensor in KNOWN:
            if word in sensor.words or _AXIS.sub("", word) in sensor.words:
                return sensor
    return _by_letter("".join(pieces))


def unit_in(column: str) -> str | None:
    """The unit written in a column's name, in brackets."""
    found = _UNIT_IN_NAME.search(column)
    return found.group(1).strip() if found else None


def spelt(unit: str) -> str | None:
    """The unit as this project spells it, or None where it is not known."""
    return _UNIT_SPELLINGS.get(unit.strip().lower().replace("μ", "µ").replace(" ", ""))


def scale_of(sensor: Sensor, unit: str, *, column: str) -> tuple[str, UnitRange]:
    """The unit as this project spells it, and the sensor's hardware range in it."""
    known_unit = spelt(unit)
    if known_unit not in sensor.scales:
        known = ", ".join(sensor.scales)
        raise PolicyError(
            f"column '{printable(column)}': no {sensor.kind} range is known in unit '{printable(unit)}'; "
            f"convert it to {known}, or write [stream.channels] with a range by hand"
        )
    return known_unit, sensor.scales[known_unit]


_UNIT_IN_NAME = re.compile(r"[\[(]([^\])]+)[\])]")
_AXIS = re.compile(r"^[xyzw](?=..)|(?<=..)[xyzw]?\d*$")  # accx, xacc, gyro3
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _words(pieces: list[str]) -> list[str]:
    """The pieces of a name after neighbours joined, so that `rotationRate.x` is a rate before it is a rotation."""
    return [first + second for first, second in pairwise(pieces)] + pieces


def _by_letter(word: str) -> Sensor | None:
    """A name that is nothing but a letter and an axis: ax, w_y."""
    if not re.fullmatch(r"[a-z][xyzw]", word):
        return None
    return next((sensor for sensor in KNOWN if word[0] in sensor.letters), None)
