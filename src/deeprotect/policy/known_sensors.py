"""Known sensors: hardware ranges by unit, and the column names that stand for them; nothing is read from data."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
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
    """A quantity a sensor reports; `scales` is by unit, the usual unit first; `names` are parts of column names."""

    kind: str  # the repository's name for the sensor
    short: str
    names: str
    scales: dict[str, UnitRange]
    letters: str = ""  # single letters that stand for it before an axis: ax, wy

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.names.split())

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
        "acc accel acceleration accelerometer useracceleration",
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
        "gyr gyro gyroscope omega rotationrate",
        {"rad/s": UnitRange(-round(_TURN, 4), round(_TURN, 4), 0.001), "°/s": UnitRange(-2000.0, 2000.0, 0.1)},
        letters="wg",
    ),
    Sensor(
        "magnetic_field",
        "mag",
        "mag magn magnet magnetic magnetometer compass",
        # Earth's field is at most about 65 µT; the rest is room for magnets and motors nearby.
        {"µT": UnitRange(-1300.0, 1300.0, 0.1), "gauss": UnitRange(-13.0, 13.0, 0.001)},
        letters="m",
    ),
    Sensor(
        "orientation",
        "rotation",
        "rot rotation quat quaternion",
        {"1": UnitRange(-1.0, 1.0, 0.0001)},  # components of a unit quaternion
        letters="q",
    ),
    Sensor(
        "orientation",
        "orientation",
        "orientation azimuth yaw pitch roll heading",
        # Some conventions count from -180, some to 360; this holds all of them.
        {"°": UnitRange(-180.0, 360.0, 0.01), "rad": UnitRange(-round(math.pi, 4), round(math.tau, 4), 0.0001)},
    ),
    Sensor(
        "microphone",
        "audio",
        "mic microphone audio pcm sound mel",
        {"1": UnitRange(-1.0, 1.0, 2.0**-15), "dB": UnitRange(-120.0, 0.0, 0.01)},
    ),
    Sensor("gps", "latitude", "lat latitude", {"°": UnitRange(-90.0, 90.0, 1e-6)}),
    Sensor("gps", "longitude", "lon lng longitude", {"°": UnitRange(-180.0, 180.0, 1e-6)}),
    Sensor("gps", "altitude", "altitude", {"m": UnitRange(-500.0, 9000.0, 0.1)}),
    Sensor("touch_screen", "touch", "touch touchscreen", {"px": UnitRange(0.0, 4096.0, 1.0)}),
    Sensor("touch_screen", "pressure", "touchpressure", {"1": UnitRange(0.0, 1.0, 0.001)}),
    # Air at places where people live and fly; parts are commonly specified for 300 to 1,100 hPa.
    Sensor(
        "barometer",
        "air pressure",
        "pressure barometer barometric baro airpressure",
        {
            "hPa": UnitRange(300.0, 1100.0, 0.01),
            "kPa": UnitRange(30.0, 110.0, 0.001),
            "Pa": UnitRange(30_000.0, 110_000.0, 1.0),
            "mmHg": UnitRange(225.0, 825.0, 0.01),
        },
    ),
    Sensor("barometer", "relative altitude", "relativealtitude", {"m": UnitRange(-500.0, 500.0, 0.01)}),
    Sensor(
        "thermometer",
        "temperature",
        "temp temperature thermometer",
        {"°C": UnitRange(-40.0, 85.0, 0.01), "°F": UnitRange(-40.0, 185.0, 0.01), "K": UnitRange(233.15, 358.15, 0.01)},
    ),
    Sensor("hygrometer", "humidity", "humidity hygrometer rh", {"%": UnitRange(0.0, 100.0, 0.01)}),
    Sensor("carbon_dioxide", "CO₂", "co2 carbondioxide", {"ppm": UnitRange(0.0, 5000.0, 1.0)}),
    Sensor("particulate_matter", "dust", "pm2 pm10 pm25 dust", {"µg/m³": UnitRange(0.0, 1000.0, 0.1)}),
    # Direct sunlight is about 120,000 lx.
    Sensor("light", "illuminance", "light lux illuminance ambientlight", {"lx": UnitRange(0.0, 120_000.0, 0.1)}),
    Sensor("proximity", "proximity", "proximity", {"cm": UnitRange(0.0, 10.0, 0.1)}),
    Sensor("microphone", "sound level", "soundlevel loudness spl", {"dBA": UnitRange(0.0, 140.0, 0.1)}),
    Sensor("heart_rate", "heart rate", "heartrate bpm pulse", {"bpm": UnitRange(20.0, 250.0, 1.0)}),
    Sensor("respiration", "respiration", "respiration breathing", {"bpm": UnitRange(0.0, 80.0, 0.1)}),
    Sensor("oximeter", "oxygen saturation", "spo2 oximeter", {"%": UnitRange(50.0, 100.0, 0.1)}),
    Sensor(
        "blood_pressure", "blood pressure", "bloodpressure systolic diastolic", {"mmHg": UnitRange(20.0, 300.0, 1.0)}
    ),
    Sensor("skin_conductance", "skin conductance", "eda gsr", {"µS": UnitRange(0.0, 100.0, 0.001)}),
    Sensor("electrocardiogram", "ECG", "ecg ekg", {"mV": UnitRange(-10.0, 10.0, 0.001)}),
    # A household's connection: three phases of 63 A at 230 V are 43 kW.
    Sensor(
        "electricity_meter",
        "power",
        "power watts",
        {"W": UnitRange(-45_000.0, 45_000.0, 1.0), "kW": UnitRange(-45.0, 45.0, 0.001)},
    ),
    Sensor("electricity_meter", "voltage", "voltage", {"V": UnitRange(0.0, 500.0, 0.1)}),
    Sensor("electricity_meter", "current", "current", {"A": UnitRange(-100.0, 100.0, 0.01)}),
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
    "hpa": "hPa", "mbar": "hPa", "kpa": "kPa", "pa": "Pa", "mmhg": "mmHg",
    "°c": "°C", "c": "°C", "degc": "°C", "celsius": "°C", "°f": "°F", "degf": "°F", "fahrenheit": "°F",
    "k": "K", "kelvin": "K",
    "%": "%", "%rh": "%", "percent": "%",
    "ppm": "ppm", "µg/m³": "µg/m³", "ug/m3": "µg/m³", "µg/m3": "µg/m³",
    "lx": "lx", "lux": "lx", "cm": "cm", "dba": "dBA",
    "bpm": "bpm", "1/min": "bpm", "/min": "bpm",
    "µs": "µS", "us": "µS", "microsiemens": "µS", "mv": "mV",
    "w": "W", "kw": "kW", "v": "V", "a": "A",
}  # fmt: skip


def recognise(column: str) -> Sensor | None:
    """The sensor that a column's name speaks of: acc_x, Accel-Y, ax, wrist.gyro.z, "Acceleration x (m/s^2)"."""
    pieces = [piece.lower() for piece in _PIECES.findall(_UNIT_IN_NAME.sub("", column.replace("₂", "2")))]
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
        known, axis = ", ".join(sensor.scales), _LAST_AXIS.search(_UNIT_IN_NAME.sub("", column))
        name = f"{sensor.short}_{axis[1].lower()}" if axis else sensor.short
        read = f"read it as {sensor.usual_unit} with --map {name}='{printable(column)}' and correct unit and range then"
        hand = "write [stream.channels] with a range by hand"
        raise PolicyError(
            f"column '{printable(column)}': no {sensor.kind} range is known in unit '{printable(unit)}'; "
            f"convert it to {known}, or {read if unit_in(column) else hand}"
        )
    return known_unit, sensor.scales[known_unit]


def mapping_to_type(columns: Iterable[str]) -> str:
    """For names in no language that is known: what to type, with the columns themselves where three axes stand out."""
    axes: dict[str, dict[str, str]] = {}
    for column in columns:
        bare = _UNIT_IN_NAME.sub("", column)
        if found := _LAST_AXIS.search(bare):
            axes.setdefault(bare[: found.start()], {})[found[1].lower()] = column
    most = max(axes.values(), key=len, default={})
    chosen = most if len(most) > 1 else {"x": "COLUMN"}
    typed = " ".join(f"--map acc_{axis}='{printable(name)}'" for axis, name in chosen.items())
    return f"say what they are, with gyro_ or mag_ where it is not acceleration: {typed}"


_LAST_AXIS = re.compile(r"([xyz])\W*$", re.I)
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
