"""Messages of producers other than phones: columns, rows, single readings, and formats of well-known programs.

Each is converted to records of names and values, then read by one function that knows the place of each channel.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from deeprotect.errors import WireError, printable
from deeprotect.gateway.wire import line_protocol, strict_json
from deeprotect.gateway.wire.sensor_layout import SensorSettings
from deeprotect.gateway.wire.times import TimeUnit, WritePrecision, read_times
from deeprotect.signals.schema import Floats, Schema
from deeprotect.signals.ticks import SECOND, Nanoseconds

TIME, ROWS, SESSION = "time", "rows", "session"
_TIMES = (TIME, "timestamp", "ts")
ABSENT = ("unavailable", "unknown")  # Home Assistant's states of a sensor without a reading
_EPOCH_BEGINS = 2**28  # RFC 8428: smaller times of SenML count from now
Record = dict[str, Any]
Unit = TimeUnit | Literal["epoch"] | None


@dataclass(frozen=True)
class Sent:
    """A message's readings: its channels, each with a value or NaN for each time."""

    session: str
    times_ns: Nanoseconds
    columns: dict[str, Floats]


def read_text(text: str, schema: Schema, settings: SensorSettings, *, came_ns: int) -> Sent:
    """Parse line protocol, or JSON in any known form."""
    if is_line_protocol(text):
        return from_lines(text, schema, settings, came_ns=came_ns)
    return from_json(strict_json.parse(text), schema, settings, came_ns=came_ns)


def from_json(message: Any, schema: Schema, settings: SensorSettings, *, came_ns: int) -> Sent:
    """Read a parsed message; fields that are not channels are ignored."""
    session = found(message, settings.fields.get(SESSION, SESSION))
    unit, records = (None, message) if settings.fields else _recognised(message, came_ns)
    return _read(records, unit, schema, settings=settings, came_ns=came_ns, session=session)


def from_lines(
    text: str, schema: Schema, settings: SensorSettings, *, came_ns: int, precision: WritePrecision | None = None
) -> Sent:
    """Read line protocol; `precision` is the unit of times, if the sender states it."""
    records = list(_joined(line_protocol.read_lines(text)))
    if precision is not None and settings.time != "arrival":
        settings = settings.model_copy(update={"time": None})
    unit: Unit = (precision or "epoch") if any(TIME in record for record in records) else "arrival"
    return _read(records, unit, schema, settings=settings, came_ns=came_ns)


def is_line_protocol(text: str) -> bool:
    """Whether a text cannot be JSON: it begins with a name or a comment."""
    start = text.lstrip()[:1]
    return bool(start) and (start.isalpha() or start in "_#/\\") and text.strip() not in ("true", "false", "null")


def found(value: Any, place: str) -> Any:
    """The value at a path such as `payload.ax`; on lists, the list of its elements' values. None if missing."""
    return _found(value, () if place == "." else tuple(place.split(".")))


def _read(
    records: Any, unit: Unit, schema: Schema, *, settings: SensorSettings, came_ns: int, session: Any = None
) -> Sent:
    lists = {name: each for name in schema.names if (each := _list(_at(records, name, settings), name)) is not None}
    times = _times(records, settings, unit=settings.time or unit, lists=lists, schema=schema, came_ns=came_ns)
    if not lists and (len(times) or settings.time == "arrival"):
        raise WireError(_expected(schema))
    for name, values in lists.items():
        if len(values) != len(times):
            raise WireError(f"'{printable(name)}' and 'time' must have the same length; send one value for each time")
    named = "" if isinstance(session, list) else strict_json.session_name(session)
    return Sent(named, times, _columns(lists))


def _at(records: Any, name: str, settings: SensorSettings) -> Any:
    """The value at a name; with a mapping, numbers may be text, as many small devices write them."""
    if name not in settings.fields:
        return found(records, name) if "." not in name else _found(records, (name,))
    value = found(records, settings.fields[name])
    return list(map(_number_in, value)) if isinstance(value, list) else _number_in(value)


def _number_in(text: Any) -> Any:
    """Parse a number; NaN in text means a missing reading, because JSON has none."""
    return math.nan if isinstance(text, str) and text in ABSENT else strict_json.number_in(text)


def _times(
    records: Any, settings: SensorSettings, *, unit: Unit, lists: dict[str, list[Any]], schema: Schema, came_ns: int
) -> Nanoseconds:
    if unit == "arrival":
        count = max(map(len, lists.values()), default=0)
        step = round(SECOND / schema.rate_hz)  # readings that arrive together were taken one after the other
        return came_ns - step * np.arange(count - 1, -1, -1, dtype=np.int64)
    names = (settings.fields[TIME],) if TIME in settings.fields else _TIMES
    stamps = next((each for name in names if (each := _list(found(records, name), TIME)) is not None), None)
    if stamps is None:
        raise WireError(
            "the message has no time; send 'time' with the channels, say where it is with --field time=PLACE, or set "
            "--time arrival if the device has no clock"
        )
    return read_times(stamps, unit, came_ns=came_ns)


def _found(value: Any, path: tuple[str, ...]) -> Any:
    for place, key in enumerate(path):
        if isinstance(value, list) and not key.isdigit():
            return [_found(each, path[place:]) for each in value]
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        elif isinstance(value, dict):
            whole = ".".join(path[place:])
            if whole in value:  # a name with dots in it
                return value[whole]
            value = value.get(key)
        else:
            return None
    return value


def _list(value: Any, name: str) -> list[Any] | None:
    """One value for each time; None if missing."""
    if isinstance(value, dict):
        raise WireError(f"'{printable(name)}' must be a number, or a list with one for each time")
    values = value if isinstance(value, list) else [value]
    return None if values and all(each is None for each in values) else values


def _columns(lists: dict[str, list[Any]]) -> dict[str, Floats]:
    """Convert all columns at once if nothing is missing, as usual; all must have one length."""
    every = [value for values in lists.values() for value in values]
    try:
        values = strict_json.numbers(every, "values of channels").reshape(len(lists), len(every) // (len(lists) or 1))
    except WireError:  # some column has gaps, or is wrong
        return {name: _column(values, name) for name, values in lists.items()}
    return dict(zip(lists, values, strict=True))


def _column(values: list[Any], name: str) -> Floats:
    """Convert a column; null and NaN are missing readings."""
    there = np.array([not _is_missing(value) for value in values], dtype=bool)
    column = np.full(len(values), np.nan)
    column[there] = strict_json.numbers([each for each in values if not _is_missing(each)], f"'{printable(name)}'")
    return column


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _expected(schema: Schema) -> str:
    channels = printable(", ".join(f"{each.name} ({each.unit})" for each in schema.channels), 500)
    return f"the message has none of the expected channels: {channels}; say where each is with --field NAME=PLACE"


def _recognised(message: Any, came_ns: int) -> tuple[Unit, Any]:
    """The records of a known form, and the unit of its times."""
    for is_it, read in _FORMS:
        if is_it(message):
            return read(message, came_ns)
    if isinstance(message, dict) and ROWS in message:
        return None, _of_rows(message)
    if isinstance(message, dict) or (isinstance(message, list) and all(isinstance(row, dict) for row in message)):
        return None, message
    raise WireError(
        'a message must be an object with "time" and the channels, each a value or a list, or an object with "rows"'
    )


def _of_rows(message: Record) -> list[Record]:
    rows = message[ROWS]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise WireError('"rows" must be a list of objects, one for each time')
    return rows


def _telegraf(message: Any, _: int) -> tuple[Unit, list[Record]]:
    """Telegraf's `json` serializer: {"metrics": [{"name", "tags", "fields", "timestamp"}]}, or one of them."""
    metrics = message.get("metrics", [message])
    if not all(_is_metric(each) for each in metrics):
        raise WireError('each of "metrics" must have "fields" and a "timestamp"')
    records = ({**each["fields"], str(each.get("name")): each["fields"], TIME: each["timestamp"]} for each in metrics)
    return "epoch", list(_joined(records))


def _home_assistant(message: Any, _: int) -> tuple[Unit, list[Record]]:
    """Home Assistant's states, alone or in a list, and events of their change; a state is text, and often missing."""
    states = map(_state, message if isinstance(message, list) else [message])
    return "iso", list(_joined(_of_state(each) for each in states if each))


def _of_state(state: Record) -> Record:
    name, value = state["entity_id"], _number_in(state.get("state"))
    number = value if isinstance(value, int | float) else None  # "on"
    return {name: number, name.partition(".")[2]: number, TIME: state.get("last_updated") or state.get("last_changed")}


def _senml(message: Any, came_ns: int) -> tuple[Unit, list[Record]]:
    """SenML, RFC 8428: base name, time and value hold until the next."""
    return "ns", list(_joined(_resolved(message, came_ns)))


def _resolved(pack: list[Record], came_ns: int) -> Iterator[Record]:
    name, time, value = "", 0.0, 0.0
    for each in pack:
        name = each.get("bn", name)
        time, value = _number(each.get("bt", time)), _number(each.get("bv", value))
        if "v" not in each:
            continue
        seconds, full = time + _number(each.get("t", 0)), f"{name}{each.get('n', '')}"
        now = came_ns / SECOND if seconds < _EPOCH_BEGINS else 0.0
        stamp = round((seconds + now) * 10**6) * 1000
        yield {full: value + _number(each["v"]), TIME: stamp}


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) < 1e300 or not math.isfinite(value):
        raise WireError("a SenML record must have numbers as time and value")
    return float(value)


def _joined(records: Any) -> Iterator[Record]:
    """Merge records with one time, because many programs send each value separately."""
    by_time: dict[Any, Record] = {}
    for number, each in enumerate(records):
        time = each.get(TIME)
        key = (number,) if time is None or isinstance(time, dict | list) else time
        by_time.setdefault(key, {}).update(each)
    return iter(by_time.values())


def _is_metric(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("fields"), dict) and "timestamp" in message


def _is_telegraf(message: Any) -> bool:
    return _is_metric(message) or (isinstance(message, dict) and isinstance(message.get("metrics"), list))


def _state(message: Any) -> Record | None:
    """A Home Assistant state, or an event's new one; empty if the entity was removed."""
    if not isinstance(message, dict):
        return None
    event = message.get("event", message)
    data = event.get("data", event) if isinstance(event, dict) else event
    state = data.get("new_state", data) if isinstance(data, dict) else data
    if state is None and isinstance(data, dict) and isinstance(data.get("entity_id"), str):
        return {}
    return state if isinstance(state, dict) and isinstance(state.get("entity_id"), str) and "state" in state else None


def _is_home_assistant(message: Any) -> bool:
    some = message if isinstance(message, list) else [message]
    return bool(some) and all(_state(each) is not None for each in some)


def _is_senml(message: Any) -> bool:
    return (
        isinstance(message, list)
        and bool(message)
        and all(isinstance(each, dict) for each in message)
        and any("bn" in each or "n" in each for each in message)
        and any("v" in each for each in message)
    )


_FORMS: tuple[tuple[Callable[[Any], bool], Callable[[Any, int], tuple[Unit, list[Record]]]], ...] = (
    (_is_telegraf, _telegraf),
    (_is_home_assistant, _home_assistant),
    (_is_senml, _senml),
)
