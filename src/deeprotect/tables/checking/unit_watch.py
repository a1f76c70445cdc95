"""Implausible units: a resting accelerometer feels gravity, the Earth's field is known, people do not spin that
fast."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deeprotect.policy.known_sensors import Sensor, bare, recognise, triads
from deeprotect.signals.schema import Floats
from deeprotect.tables.checking.report import Problem, problem
from deeprotect.tables.reader import Seen

# Usual magnitudes over three axes, by unit: the median for gravity and the Earth's field.
_GRAVITY = {"g": (0.8, 1.25), "m/s²": (7.8, 12.3), "mg": (800.0, 1250.0)}
USUAL = {
    "acc": _GRAVITY,
    "gravity": _GRAVITY,
    "mag": {"µT": (15.0, 100.0), "gauss": (0.15, 1.0)},
}
WITHOUT_GRAVITY = ("user", "linear")  # in names of accelerations without gravity
SHAKEN = 2.0  # times the usual length of an acceleration, for the median of a run
RAW_COUNTS = 50.0  # times the usual; raw converter counts
FASTEST = {"rad/s": 45.0, "°/s": 2500.0}  # rates that 1 % of the samples may exceed
SLOWEST = 12.0  # °/s; always slower, although the device moves, means rad/s
MOVING = 0.3  # of gravity between the 5 % and the 95 % quantile
_BINS_PER_OCTAVE, _OCTAVES = 16, 24


@dataclass
class Magnitudes:
    """A histogram of vector lengths in steps of 4 %, of constant size for any table."""

    sensor: Sensor
    columns: tuple[str, ...]
    unit: str
    _counts: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(2 * _OCTAVES * _BINS_PER_OCTAVE + 1, dtype=np.int64)
    )

    def add(self, vectors: Floats) -> None:
        length = np.linalg.norm(vectors[np.isfinite(vectors).all(axis=1)], axis=1)
        with np.errstate(divide="ignore"):
            place = np.rint((np.log2(length) + _OCTAVES) * _BINS_PER_OCTAVE)
        self._counts += np.bincount(np.clip(place, 0, len(self._counts) - 1).astype(int), minlength=len(self._counts))

    def quantile(self, share: float) -> float:
        place = int(np.searchsorted(np.cumsum(self._counts), share * self._counts.sum()))
        return float(2 ** (place / _BINS_PER_OCTAVE - _OCTAVES))

    def __len__(self) -> int:
        return int(self._counts.sum())


@dataclass
class UnitWatch:
    """Compares groups of three axes with their stated units."""

    groups: list[Magnitudes]

    @classmethod
    def of(cls, channels: tuple[str, ...], units: Mapping[str, str]) -> "UnitWatch":
        """`units` come from the policy, the column, its name, or the default."""
        sensors = {name: found for name in channels if name in units and (found := recognise(name))}
        names = list(sensors)
        whole = [tuple(names[place] for place in triad) for triad in triads([bare(name) for name in names])]
        told = [some for some in whole if not any(word in some[0].lower() for word in WITHOUT_GRAVITY)]
        return cls([Magnitudes(sensors[some[0]], some, units[some[0]]) for some in told])

    def see(self, seen: Seen, channels: tuple[str, ...]) -> None:
        for group in self.groups:
            group.add(seen.samples[:, [channels.index(name) for name in group.columns]])

    def problems(self) -> list[Problem]:
        return [_problem(group, unit) for group in self.groups if len(group) and (unit := self._looks_like(group))]

    def _looks_like(self, group: Magnitudes) -> str | None:
        """The unit that fits better than the stated one; None if the stated one is plausible."""
        if group.sensor.short == "gyro":
            return self._turns(group)
        usual = USUAL.get(group.sensor.short, {})
        median = group.quantile(0.5)
        if group.unit not in usual or usual[group.unit][0] <= median <= usual[group.unit][1]:
            return None
        # Motion adds to gravity, so a long vector may be longer than usual in a smaller unit.
        more = SHAKEN if group.sensor.short == "acc" and median > usual[group.unit][1] else 1.0
        fitting = [unit for unit, (low, high) in usual.items() if low <= median <= more * high]
        if not fitting and median > RAW_COUNTS * usual[group.unit][1]:
            return "raw counts"
        return fitting[0] if fitting else None

    def _turns(self, group: Magnitudes) -> str | None:
        fastest = FASTEST.get(group.unit)
        if fastest is not None and group.quantile(0.99) > fastest:
            return "°/s" if group.unit == "rad/s" else "raw counts"
        return "rad/s" if group.unit == "°/s" and group.quantile(0.99) < SLOWEST and self._moves() else None

    def _moves(self) -> bool:
        spans = [
            (group.quantile(0.95) - group.quantile(0.05)) / USUAL["acc"][group.unit][0]
            for group in self.groups
            if group.sensor.short == "acc" and group.unit in USUAL["acc"] and len(group)
        ]
        return any(span > MOVING for span in spans)


def _problem(group: Magnitudes, unit: str) -> Problem:
    key = "counts" if unit == "raw counts" else "unit"
    words = {"looks": unit, "stated": group.unit, "sensor": group.sensor.short}
    return problem(key, group.columns, count=len(group.columns), **words)
