"""Durations as people write them: a number and a unit."""

import re
from fractions import Fraction

_UNITS = {"ms": Fraction(1, 1000), "s": Fraction(1), "min": Fraction(60), "h": Fraction(3600), "d": Fraction(86400)}
_DURATION = re.compile(rf"([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?) ?({'|'.join(_UNITS)})")


def seconds(text: str) -> Fraction:
    """Of "30 s", "1.5 min" or "1 h", exactly."""
    found = _DURATION.fullmatch(text.strip())
    if not found or not float(found[1]):
        raise ValueError('must be a number and a unit, such as "30 s", "5 min" or "1 h"')
    return Fraction(found[1]) * _UNITS[found[2]]


def duration(length: Fraction) -> str:
    """The same the other way, in the largest unit that leaves no fraction, or in seconds."""
    for unit, size in reversed(_UNITS.items()):
        if (length / size).denominator == 1:
            return f"{length / size} {unit}"
    return f"{float(length):g} s"
