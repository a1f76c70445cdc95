"""Rows as Arrow IPC: a column for the time and one for each channel; values in policy units."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.errors import WireError, printable
from deeprotect.gateway.wire import arrow_frames, strict_json
from deeprotect.gateway.wire.channel_columns import readings_of, rows_of
from deeprotect.gateway.wire.message import Message, ReleasedWindow
from deeprotect.signals.schema import Floats, Schema
from deeprotect.signals.ticks import Nanoseconds

TIME = "time"
STAMP = pa.timestamp("ns", tz="UTC")


def read(body: bytes, schema: Schema, sensors: Mapping[str, Any]) -> Message:
    """A stream whose schema may name the session in its metadata; other columns are not looked at."""
    columns, batches = arrow_frames.batches(body)
    if columns.get_all_field_indices(TIME) == []:
        raise WireError("an Arrow message must have a column 'time', as timestamps or whole nanoseconds since 1970")
    wanted = [name for name in schema.names if name in columns.names]
    if any(len(columns.get_all_field_indices(name)) > 1 for name in (TIME, *wanted)):
        raise WireError("an Arrow message must have each column once")
    found = list(batches)
    times = [_times(batch.column(TIME)) for batch in found]
    values = {name: [_values(batch.column(name), name) for batch in found] for name in wanted}
    joined = {name: np.concatenate([np.empty(0), *parts]) for name, parts in values.items()}
    stamps = np.concatenate([np.empty(0, dtype=np.int64), *times])
    return Message(_session(columns), readings_of(stamps, joined, schema, sensors=sensors))


def write(window: ReleasedWindow) -> bytes:
    """A whole stream with one batch, for one message."""
    return ArrowStream().write(window) + END


class ArrowStream:
    """One stream over all windows that an app gets; names and number of each are in its batch's own metadata."""

    def __init__(self) -> None:
        self._sink = io.BytesIO()
        self._writer: pa.RecordBatchStreamWriter | None = None

    def write(self, window: ReleasedWindow) -> bytes:
        """The next bytes; the first begin with the schema, which names the session that the stream began in."""
        batch = _batch(window)
        if self._writer is None:
            self._writer = pa.ipc.new_stream(self._sink, batch.schema)
        self._writer.write_batch(batch, custom_metadata=_names(window))
        written = self._sink.getvalue()
        self._sink.seek(0)
        self._sink.truncate()
        return written


END = b"\xff\xff\xff\xff\0\0\0\0"
"""What ends a stream."""


def _batch(window: ReleasedWindow) -> pa.RecordBatch:
    times, values = rows_of(window)
    arrays = [pa.array(times, type=pa.int64()).cast(STAMP), *(pa.array(column) for column in (values.T + 0.0))]
    fields = [pa.field(TIME, STAMP), *(pa.field(name, pa.float64()) for name in window.channels)]
    return pa.record_batch(arrays, schema=pa.schema(fields, metadata=_names(window)))


def _names(window: ReleasedWindow) -> dict[str, str]:
    return {
        "stream": window.stream,
        "session": window.session,
        "message": str(window.number),
        "placeholder": str(window.placeholder).lower(),
    }


def _session(columns: pa.Schema) -> str:
    name = (columns.metadata or {}).get(b"session", b"")
    try:
        return strict_json.session_name(name.decode("utf-8"))
    except UnicodeDecodeError:
        raise WireError("a session's name must be UTF-8") from None


def _times(column: pa.Array) -> Nanoseconds:
    kind = column.type
    flat = pa.types.is_integer(kind) or pa.types.is_timestamp(kind)
    if not flat or arrow_frames.checked(column).null_count:
        raise WireError("'time' must be timestamps or whole nanoseconds of UTC since 1970, with none missing")
    try:
        whole = column.cast(pa.timestamp("ns", tz=kind.tz)) if pa.types.is_timestamp(kind) else column
        return strict_json.in_range(np.asarray(whole.cast(pa.int64())))
    except pa.ArrowInvalid:  # beyond 2⁶³
        raise WireError("'time' must be timestamps or nanoseconds of this century") from None


def _values(column: pa.Array, name: str) -> Floats:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise WireError(f"'{printable(name)}' must be numbers; cast it to float64")
    whole = arrow_frames.checked(column)
    plain = whole if pa.types.is_float64(kind) else pc.cast(whole, pa.float64(), safe=False)
    values = np.asarray(plain.to_numpy(zero_copy_only=False), dtype=np.float64)
    if np.isinf(values).any():
        raise WireError(f"'{printable(name)}' must be numbers that a sensor can read; one is infinite")
    return values
