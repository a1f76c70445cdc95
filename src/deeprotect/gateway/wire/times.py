"""Times of producers: nanoseconds, other units since 1970, ISO 8601; ambiguous ones are refused."""

from typing import Any, Literal

import numpy as np
import pyarrow as pa

from deeprotect.errors import WireError
from deeprotect.signals.ticks import SECOND, Nanoseconds

TimeUnit = Literal["ns", "us", "ms", "s", "iso", "arrival"]
WritePrecision = Literal["ns", "us", "ms", "s"]
"""Precision of line protocol, if the sender states it."""
LATEST_NS = 2**62  # the year 2116: differences of two stamps stay inside 64 bits
_EARLIEST_NS = 10**18  # 2001: from then on, units cannot be confused
_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": SECOND}
_MOST_DIGITS = 19
_LIVE_NS = 24 * 3600 * SECOND
AHEAD_NS = 24 * 3600 * SECOND
"""A stamp further ahead comes from a wrong clock. Draws are kept for longer than this: when the ledger forgets one and
closes its key up to it, its stamp is past, and no stream waits for its clock to catch up."""
_LOOKS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds"}
_WHERE = "an option of `gateway register device` and of `protect --format`"
_EPOCH = "epoch"  # counted since 1970 in an unknown unit


def read_times(values: list[Any], unit: TimeUnit | Literal["epoch"] | None, *, came_ns: int) -> Nanoseconds:
    """Convert to nanoseconds since 1970. Without a unit: nanoseconds, ISO 8601, or the only unit that gives about
    now."""
    if unit == "iso" or (unit is None and _is_text(values)):
        return in_range(_iso(values))
    numbers = _numbers(values)
    if unit is None or unit == _EPOCH:
        unit = _unit_of(numbers, came_ns=came_ns if unit is None else None)
    return in_range(_nanoseconds(numbers, unit))


def write_time(time_ns: int, unit: TimeUnit | None) -> int | float | str:
    """The inverse of `read_times` for one time; without a unit, whole nanoseconds."""
    if unit == "iso":
        return str(np.datetime64(time_ns, "ns")) + "Z"
    if unit == "s":
        return time_ns / SECOND
    return time_ns // _NS.get(unit or "ns", 1)


def in_range(times_ns: Nanoseconds) -> Nanoseconds:
    """Return the times if all lie between 1970 and 2116."""
    if len(times_ns) and not (times_ns.min() >= 0 and times_ns.max() < LATEST_NS):
        raise _wrong()
    return times_ns


def check_not_ahead(times_ns: Nanoseconds, *, came_ns: int) -> None:
    """Refuse times that a wrong clock puts days into the future."""
    if len(times_ns) and (ahead := int(times_ns.max()) - came_ns) > AHEAD_NS:
        raise WireError(
            f"the times are {ahead / AHEAD_NS:,.1f} days ahead of the gateway's clock; set the device's clock, or "
            "register it with --time arrival (a replay with --speed may run ahead by one day)"
        )


def _is_text(values: list[Any]) -> bool:
    return any(type(value) is str and not value.isdigit() for value in values)


def _numbers(values: list[Any]) -> list[int] | list[float]:
    """All whole, as JSON integers or as text of digits, which never pass through a float; or all with decimals."""
    kinds = set(map(type, values))
    if kinds <= {int}:
        return values
    if kinds <= {float, int}:
        return [float(value) if abs(value) < LATEST_NS else np.inf for value in values]
    return [_whole(value) for value in values]


def _whole(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, str) and len(value) <= _MOST_DIGITS and value.isascii() and value.isdigit():
        return int(value)
    raise _wrong()


def _unit_of(numbers: list[int] | list[float], *, came_ns: int | None) -> TimeUnit:
    """The unit, by size. A device that counts from its start could look like another unit, but not near now."""
    low, high = min(numbers, default=_EARLIEST_NS), max(numbers, default=_EARLIEST_NS)
    fitting = next((unit for unit, ns in _NS.items() if low * ns >= _EARLIEST_NS and high * ns < LATEST_NS), None)
    if fitting is None:
        raise _wrong()
    ns = _NS[fitting]
    if fitting == "ns" or came_ns is None or (abs(low * ns - came_ns) < _LIVE_NS > abs(high * ns - came_ns)):
        return fitting  # type: ignore[return-value]
    raise WireError(
        f"the times look like {_LOOKS[fitting]} but are not within a day of now; if they are, set --time "
        f"{fitting}, or --time arrival if the device has no clock ({_WHERE})"
    )


def _nanoseconds(numbers: list[int] | list[float], unit: str) -> Nanoseconds:
    ns = _NS[unit]
    if any(type(value) is float for value in numbers):
        if unit == "ns" or not np.isfinite(numbers).all():
            raise _wrong()
        # Seconds as a float are precise only to microseconds.
        return np.asarray(np.rint(np.array(numbers) * (ns // 1000)).astype(np.int64) * 1000)
    if numbers and not 0 <= min(numbers) <= max(numbers) < LATEST_NS // ns:
        raise _wrong()
    return np.array(numbers, dtype=np.int64) * ns


def _iso(values: list[Any]) -> Nanoseconds:
    """Parse ISO 8601 with a zone, or else as UTC; one message has times of one kind."""
    if not all(type(value) is str and len(value) <= 40 for value in values):
        raise _wrong()
    for kind in (pa.timestamp("ns", tz="UTC"), pa.timestamp("ns")):
        try:
            return np.asarray(pa.array(values, type=pa.string()).cast(kind).cast(pa.int64()))
        except pa.ArrowException:
            continue
    raise _wrong()


def _wrong() -> WireError:
    return WireError(
        "a time must be whole nanoseconds of UTC since 1970, or ISO 8601; for another unit set --time ms, us or s, and "
        f"--time arrival if the device has no clock ({_WHERE})"
    )
