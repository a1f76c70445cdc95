"""Converting units: `acc=m/s2:g` divides every accelerometer column by standard gravity."""

import math
import re
from dataclasses import dataclass

from deeprotect.errors import InputError, printable
from deeprotect.policy.known_sensors import recognise, spelt

# Each in units of a quantity; two units can be converted when the quantity is the same.
_SIZES = {
    "m/s²": ("acceleration", 1.0),
    "g": ("acceleration", 9.80665),
    "mg": ("acceleration", 9.80665e-3),
    "rad/s": ("rate of turn", 1.0),
    "°/s": ("rate of turn", math.pi / 180),
    "µT": ("magnetic field", 1.0),
    "gauss": ("magnetic field", 100.0),
    "rad": ("angle", 1.0),
    "°": ("angle", math.pi / 180),
}
_IN_NAME = re.compile(r"[\[(][^\])]+[\])]")


@dataclass(frozen=True)
class UnitChange:
    """Multiply the columns of `what` (a sensor or a column) by `factor`; they are then in `unit`."""

    what: str
    old: str
    unit: str
    factor: float

    @classmethod
    def parse(cls, text: str) -> "UnitChange":
        what, _, units = text.rpartition("=")
        old, colon, new = units.partition(":")
        if not (what.strip() and colon):
            raise InputError(f"--unit {printable(text)}: write WHAT=FROM:TO, for example acc=m/s2:g")
        old_unit, new_unit = _known(old, text), _known(new, text)
        quantity, size = _SIZES[old_unit]
        new_quantity, new_size = _SIZES[new_unit]
        if quantity != new_quantity:
            raise InputError(
                f"--unit {printable(text)}: {old_unit} is {quantity}, {new_unit} is {new_quantity}; they do not convert"
            )
        return cls(what.strip(), old_unit, new_unit, size / new_size)

    def columns(self, channels: tuple[str, ...]) -> tuple[str, ...]:
        """The column of that very name, or all of that sensor."""
        if self.what in channels:
            return (self.what,)
        sensors = {name: recognise(name) for name in channels}
        word = self.what.lower()
        found = tuple(
            name for name, sensor in sensors.items() if sensor and word in (sensor.short, sensor.kind, *sensor.words)
        )
        if not found:
            has = printable(", ".join(channels), 300) or "none"
            raise InputError(f"--unit {printable(self.what)}: no such sensor or column; the channels are: {has}")
        return found

    def renamed(self, column: str) -> str:
        """A name that states the old unit in brackets states the new one."""
        return _IN_NAME.sub(f"({self.unit})", column)


def _known(unit: str, text: str) -> str:
    known = spelt(unit)
    if known not in _SIZES:
        raise InputError(f"--unit {printable(text)}: '{printable(unit)}' is not known; use {', '.join(_SIZES)}")
    return known
