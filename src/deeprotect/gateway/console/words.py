"""Times, numbers and states as people read them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

LIVE = timedelta(seconds=10)
"""A stream that was heard from no longer ago is live."""
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_LONG = 366 * 86400


def lasting(time: timedelta) -> str:
    """Two units at most, rounded down: 4 h 20 min, 35 s."""
    seconds = int(time.total_seconds())
    if seconds > _LONG:
        return "more than a year"
    place = next((place for place, (size, _) in enumerate(_UNITS) if seconds >= size), len(_UNITS) - 1)
    parts: list[str] = []
    for size, unit in _UNITS[place : place + 2]:
        count, seconds = divmod(seconds, size)
        if count or not parts:
            parts.append(f"{count} {unit}")
    return " ".join(parts)


def ago(then: datetime | None, now: datetime) -> str:
    """When something was last heard from."""
    if then is None:
        return "not heard from"
    seconds = (now - then).total_seconds()
    return "heard now" if seconds < 2 else f"heard {lasting(timedelta(seconds=seconds))} ago"


def is_live(last_reading: datetime | None, now: datetime) -> bool:
    return last_reading is not None and now - last_reading < LIVE


def listed(names: Sequence[str], *, most: int = 4) -> str:
    """A few names, and how many there are beside them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def number(value: float) -> str:
    """ε for people: 4.5, 1,250, never 1e+03."""
    return f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"
