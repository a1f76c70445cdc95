"""Sensors that column names mention, with units and hardware ranges; and usual names of time, recording and person.

The words are in sensors.toml and names.toml.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import pairwise
from typing import Annotated, NamedTuple, Self

from pydantic import Field, model_validator

from deeprotect.errors import Argument, Placeholder, PolicyError, printable
from deeprotect.policy.sections import Name, Section


class UnitRange(NamedTuple):
    """A public range in one unit, and the step in which such sensors commonly report."""

    low: float
    high: float
    resolution: float


class Sensor(Section):
    """A quantity that a sensor measures; `scales` is by unit, the usual unit first; `names` are parts of column
    names."""

    kind: Name  # the repository's name for the sensor
    short: Name
    names: str
    scales: Annotated[dict[Name, UnitRange], Field(min_length=1)]
    letters: str = ""  # single letters that denote it before an axis: ax, wy

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.names.split())

    @property
    def usual_unit(self) -> str:
        return next(iter(self.scales))


class _Tables(Section):
    spellings: dict[Name, list[str]]
    sizes: dict[Name, dict[Name, Annotated[float, Field(gt=0)]]]
    sensors: list[Sensor]

    @model_validator(mode="after")
    def _units_are_spelt(self) -> Self:
        used = {unit for units in self.sizes.values() for unit in units}
        used |= {unit for sensor in self.sensors for unit in sensor.scales}
        if strange := used - {*self.spellings}:
            raise ValueError(f"sensors.toml: '{min(strange)}' is in no [spellings]; add it")
        return self


_TABLES = _Tables.model_validate(
    tomllib.loads(resources.files("deeprotect.policy").joinpath("sensors.toml").read_text(encoding="utf-8"))
)
KNOWN = tuple(_TABLES.sensors)
_SPELLINGS = {text.lower(): unit for unit, others in _TABLES.spellings.items() for text in (unit, *others)}
SIZES = {unit: (quantity, size) for quantity, units in _TABLES.sizes.items() for unit, size in units.items()}
"""The quantity of each unit, and its size in that quantity's first unit; units of one quantity convert."""
STANDARD_GRAVITY = SIZES["g"][1]

_UNIT_IN_NAME = re.compile(r"[\[(]([^\])]*)[\])]")
_AFFIXED = re.compile(r"^[xyzw](?=..)|(?<=..)[xyzw]?\d*$")  # accx, xacc, gyro3
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_AXES = (
    re.compile(r"(?<![a-z])([xyz])(?![a-z])", re.IGNORECASE),  # by itself: acc_x, "x (g)"
    re.compile(r"([xyz])(?=\W*$)", re.IGNORECASE),  # at the end: accx
    re.compile(r"(?<=[a-z])([XYZ])(?![a-z])"),  # begins a camel-case word: accXRaw
    re.compile(r"^([xyz])", re.IGNORECASE),  # before the rest: xacc
)


def recognise(column: str) -> Sensor | None:
    """The sensor that a column's name denotes: acc_x, Accel-Y, ax, wrist.gyro.z, "Acceleration x (m/s^2)"."""
    pieces = [piece.lower() for piece in _PIECES.findall(bare(column.replace("₂", "2")))]
    for word in _words(pieces):
        for sensor in KNOWN:
            if word in sensor.words or _AFFIXED.sub("", word) in sensor.words:
                return sensor
    return _by_letter("".join(pieces))


def unit_in(column: str) -> str | None:
    """The unit written in a column's name, in brackets."""
    found = _UNIT_IN_NAME.search(column)
    return found.group(1).strip() or None if found else None


def bare(column: str) -> str:
    """A column's name without the part in brackets."""
    return _UNIT_IN_NAME.sub("", column)


def axis_of(column: str) -> str | None:
    """x, y or z if a column's name states it: acc_x, GyroY, xacc, "acc z (g)"."""
    found = _axis_in(bare(column))
    return found[1].lower() if found else None


def _axis_in(name: str) -> re.Match[str] | None:
    return next((found for pattern in _AXES if (found := pattern.search(name))), None)


def triads(columns: Sequence[str]) -> list[tuple[int, int, int]]:
    """Positions of columns that are x, y and z of one sensor: names that differ only in that letter, each used once."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for number, column in enumerate(columns):
        for place, letter in enumerate(column.lower()):
            if letter in "xyz":
                found.setdefault((column[:place], column[place + 1 :]), {})[letter] = number
    taken: set[int] = set()
    whole = []
    for axes in (each for each in found.values() if len(each) == 3):
        if not taken & {*axes.values()}:
            taken |= {*axes.values()}
            whole.append((axes["x"], axes["y"], axes["z"]))
    return whole


def spelt(unit: str) -> str | None:
    """The unit in this project's spelling, or None if it is unknown."""
    return _SPELLINGS.get(unit.strip().lower().replace("μ", "µ").replace(" ", ""))


def factor_of(unit: str, other: str) -> float | None:
    """How many of the `other` unit, in this project's spelling, make one `unit`; None if they do not convert."""
    known = spelt(unit)
    if known == other:
        return 1.0
    (quantity, size), (wanted, other_size) = SIZES.get(known or "", ("", 0.0)), SIZES.get(other, ("-", 1.0))
    return size / other_size if quantity == wanted else None


def scale_of(sensor: Sensor, unit: str, *, column: str) -> tuple[str, UnitRange]:
    """The unit in this project's spelling, and the sensor's hardware range in it."""
    known_unit = spelt(unit)
    if known_unit not in sensor.scales:
        known, axis = ", ".join(sensor.scales), axis_of(column)
        name = f"{sensor.short}_{axis}" if axis else sensor.short
        mapped = Argument("map", {name: printable(column)})
        read = (f"read it as {sensor.usual_unit} with ", mapped, " and correct unit and range then")
        raise PolicyError(
            f"column '{printable(column)}': no {sensor.kind} range is known in unit '{printable(unit)}'; "
            f"convert it to {known}, or ",
            *(read if unit_in(column) else ("write [stream.channels] with a range by hand",)),
        )
    return known_unit, sensor.scales[known_unit]


NOT_SENSORS = "say what they are, with gyro_ or mag_ where it is not acceleration: "


def suggested_map(columns: Iterable[str]) -> dict[str, str]:
    """A `map` to start from for unknown column names, with the actual columns if three axes are recognisable."""
    axes: dict[str, dict[str, str]] = {}
    for column in columns:
        name = bare(column)
        if found := _axis_in(name):
            axes.setdefault(name[: found.start()], {})[found[1].lower()] = column
    most = max(axes.values(), key=len, default={})
    chosen = most if len(most) > 1 else {"x": Placeholder("COLUMN")}
    return {f"acc_{axis}": printable(name) for axis, name in chosen.items()}


def _words(pieces: list[str]) -> list[str]:
    """The pieces of a name after merging neighbours, so that `rotationRate.x` is a rate before it is a rotation."""
    return [first + second for first, second in pairwise(pieces)] + pieces


def _by_letter(word: str) -> Sensor | None:
    """Recognise a name made of a letter and an axis: ax, w_y."""
    if not re.fullmatch(r"[a-z][xyzw]", word):
        return None
    return next((sensor for sensor in KNOWN if word[0] in sensor.letters), None)


TIME, RECORDING, PERSON = "time", "recording", "person"


class _Names(Section):
    sure_time: str
    likely_time: str
    recording: str
    person: str
    telling: str

    def words(self, kind: str) -> frozenset[str]:
        return frozenset(getattr(self, kind).split())


_NAMES = _Names.model_validate(
    tomllib.loads(resources.files("deeprotect.policy").joinpath("names.toml").read_text(encoding="utf-8"))
)
_SURE_TIME, _LIKELY_TIME, _RECORDING, _PERSON, _TELLING = map(_NAMES.words, _Names.model_fields)
_SEPARATORS = re.compile(r"[\W_]+")
_UNIT_AT_END = re.compile(
    r"(?:^|[\s_.\-(\[]|(?<=[a-z])(?=[A-Z]))"  # at the start, after a separator, or at a camel-case word
    r"((?i:s|secs?|seconds|ms|millis|milliseconds|[uµμ]s|microseconds|ns|nanos|nanoseconds))[\])]?\s*$"
)
_PER_SECOND = {"s": 1, "m": 10**3, "u": 10**6, "µ": 10**6, "μ": 10**6, "n": 10**9}


@dataclass(frozen=True)
class FoundColumns:
    """Columns that may be the time, the recording or the person, by their names alone."""

    time: tuple[str, ...]
    recording: tuple[str, ...]
    person: tuple[str, ...]

    @classmethod
    def among(cls, names: Iterable[str], *, but: Collection[str] = ()) -> Self:
        """Search names; `but` lists columns that are known to be something else. A column with the plain name wins."""
        free = [name for name in names if name not in but]
        sure = _named(free, _SURE_TIME)
        time = sure or _named([name for name in free if name], _LIKELY_TIME)
        recording, person = _named(free, _RECORDING), _named(free, _PERSON)
        return cls(_plain(TIME, time), _plain(RECORDING, recording), tuple(person))


def is_telling(name: str) -> bool:
    """Whether a column's name suggests that it identifies people directly."""
    return _word(name) in _TELLING


def is_person(name: str) -> bool:
    """Whether a column's name suggests that it says which person was recorded."""
    return _word(name) in _PERSON | _TELLING


def ticks_per_second(name: str) -> int | None:
    """The unit in a time column's name, in ticks per second: `Time (ms)`, `t_us`, `timestampNs`."""
    found = _UNIT_AT_END.search(name)
    if found is None:
        return None
    unit = found[1].lower()
    return _PER_SECOND["u" if unit.startswith("micro") else unit[0]]


def _named(names: Iterable[str], words: Collection[str]) -> list[str]:
    return [name for name in names if _word(name) in words or _word(_UNIT_AT_END.sub("", name)) in words]


def _word(name: str) -> str:
    return _SEPARATORS.sub("", bare(name)).lower()


def _plain(word: str, names: list[str]) -> tuple[str, ...]:
    return (word,) if word in names else tuple(names)
