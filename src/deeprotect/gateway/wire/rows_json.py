"""Rows as JSON: a list for the time and one for each channel, or one object for each row; values in policy units."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from deeprotect.errors import WireError, printable
from deeprotect.gateway.wire import strict_json
from deeprotect.gateway.wire.channel_columns import readings_of, rows_of
from deeprotect.gateway.wire.message import Message, ReleasedWindow
from deeprotect.signals.schema import Floats, Schema

TIME, ROWS = "time", "rows"


def read(body: bytes, schema: Schema, sensors: Mapping[str, Any]) -> Message:
    """`{"session": "s", "time": [ns, …], "acc_x": […], …}`, or `{"session": "s", "rows": [{"time": ns, …}, …]}`."""
    return from_json(strict_json.parse(body), schema, sensors)


def from_json(message: Any, schema: Schema, sensors: Mapping[str, Any]) -> Message:
    """A parsed message; columns that the policy does not name are not looked at."""
    message = {ROWS: message} if isinstance(message, list) else message
    if not isinstance(message, dict) or not (ROWS in message or TIME in message):
        raise WireError('a message must be an object with "time" and the channels as lists, or with "rows"')
    columns = _from_rows(message[ROWS], schema) if ROWS in message else message
    times = strict_json.stamps(_list(columns.get(TIME), TIME))
    lists = {name: _list(columns[name], name) for name in schema.names if name in columns}
    for name, values in lists.items():
        if len(values) != len(times):
            raise WireError(f"'{printable(name)}' and 'time' must have the same length; send one value for each time")
    found = _columns(lists)
    session = message.get("session")
    name = "" if isinstance(session, list) else strict_json.session_name(session)
    return Message(name, readings_of(times, found, schema, sensors=sensors))


def write(window: ReleasedWindow) -> bytes:
    """One line of JSON that `read` understands."""
    times, values = rows_of(window)
    head = {
        "stream": window.stream,
        "session": window.session,
        "message": window.number,
        "placeholder": window.placeholder,
        TIME: times,
    }
    columns = strict_json.finite(np.ascontiguousarray(values.T) + 0.0, "released values")
    return strict_json.text(head | dict(zip(window.channels, columns, strict=True)))


def _from_rows(rows: Any, schema: Schema) -> dict[str, Any]:
    """Columns; a channel that some rows lack has no value there."""
    if not all(isinstance(row, dict) for row in _list(rows, ROWS)):
        raise WireError('"rows" must be a list of objects, one for each time')
    present = [name for name in schema.names if any(name in row for row in rows)]
    return {name: [row.get(name) for row in rows] for name in (TIME, *present)}


def _columns(lists: dict[str, list[Any]]) -> dict[str, Floats]:
    """All at once where nothing is missing, which is most of the time; all of one length."""
    every = list(chain.from_iterable(lists.values()))
    try:
        values = strict_json.numbers(every, "values of channels").reshape(len(lists), len(every) // (len(lists) or 1))
    except WireError:  # one has gaps, or is to be named
        return {name: _column(values, name) for name, values in lists.items()}
    return dict(zip(lists, values, strict=True))


def _column(found: list[Any], name: str) -> Floats:
    """null is a reading that is not there."""
    what = f"'{printable(name)}'"
    if None not in found:
        return strict_json.numbers(found, what)
    there = np.array([value is not None for value in found], dtype=bool)
    column = np.full(len(found), np.nan)
    column[there] = strict_json.numbers([value for value in found if value is not None], what)
    return column


def _list(values: Any, name: str) -> list[Any]:
    if not isinstance(values, list):
        raise WireError(f"'{printable(name)}' must be a list with one value for each time")
    return values
