"""Rows as Arrow IPC: a column for the time and one for each channel; values in policy units.

Frames from strangers are opened one by one, and refused before they could fill the memory."""

import io
import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.errors import WireError, printable
from deeprotect.gateway.wire import strict_json
from deeprotect.gateway.wire.channel_columns import TIME, names_of, readings_of, rows_of
from deeprotect.gateway.wire.message import Message, ReleasedWindow
from deeprotect.gateway.wire.times import in_range
from deeprotect.signals.schema import Floats, Schema
from deeprotect.signals.ticks import Nanoseconds
from deeprotect.tables.flat_buffer import field

STAMP = pa.timestamp("ns", tz="UTC")


def read(body: bytes, schema: Schema, sensors: Mapping[str, Any]) -> Message:
    """A stream whose schema may name the session in its metadata; other columns are not looked at."""
    columns, batches = _opened(body)
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
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in names_of(window).items()}


def _session(columns: pa.Schema) -> str:
    name = (columns.metadata or {}).get(b"session", b"")
    try:
        return strict_json.session_name(name.decode("utf-8"))
    except UnicodeDecodeError:
        raise WireError("a session's name must be UTF-8") from None


def _times(column: pa.Array) -> Nanoseconds:
    kind = column.type
    flat = pa.types.is_integer(kind) or pa.types.is_timestamp(kind)
    if not flat or _checked(column).null_count:
        raise WireError("'time' must be timestamps or whole nanoseconds of UTC since 1970, with none missing")
    try:
        whole = column.cast(pa.timestamp("ns", tz=kind.tz)) if pa.types.is_timestamp(kind) else column
        return in_range(np.asarray(whole.cast(pa.int64())))
    except pa.ArrowInvalid:  # beyond 2⁶³
        raise WireError("'time' must be timestamps or nanoseconds of this century") from None


def _values(column: pa.Array, name: str) -> Floats:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise WireError(f"'{printable(name)}' must be numbers; cast it to float64")
    whole = _checked(column)
    plain = whole if pa.types.is_float64(kind) else pc.cast(whole, pa.float64(), safe=False)
    values = np.asarray(plain.to_numpy(zero_copy_only=False), dtype=np.float64)
    if np.isinf(values).any():
        raise WireError(f"'{printable(name)}' must be numbers that a sensor can read; one is infinite")
    return values


_FILE_MAGIC = b"ARROW1\0\0"  # a file is such a stream between a magic word and a footer
_HEADER, _COMPRESSION = 2, 3  # fields of the tables Message and RecordBatch in Arrow's format/*.fbs
_LEAST_ROW = 8  # bytes: every row has a time


def _opened(body: bytes) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema, and batches of no more rows than the body has room for; `_checked` is for their columns."""
    stream = memoryview(body)[len(_FILE_MAGIC) :] if body.startswith(_FILE_MAGIC) else body
    try:
        reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(stream))
        message = reader.read_next_message()
        if message.type != "schema":  # Arrow would take it for one, and the process would end
            raise _not_arrow()
        schema = pa.ipc.read_schema(message)
        len(schema.names)  # which need not be UTF-8
    except (StopIteration, pa.ArrowException, OSError, ValueError, NotImplementedError):
        raise _not_arrow() from None
    return schema, _batches(reader, schema, len(body))


def _batches(reader: pa.ipc.MessageReader, schema: pa.Schema, size: int) -> Iterator[pa.RecordBatch]:
    while True:
        try:
            batch = pa.ipc.read_record_batch(_plain(reader.read_next_message()), schema)
        except StopIteration:
            return
        except (pa.ArrowException, OSError, ValueError, NotImplementedError, struct.error):
            raise _not_arrow() from None
        if batch.num_rows * _LEAST_ROW > size:
            raise _not_arrow()
        yield batch


def _checked(column: pa.Array) -> pa.Array:
    """A flat column that lies whole inside the body: a damaged one could show other memory.

    Columns that nobody asked for are never touched: a few bytes can be a nested array of 2⁶² values.
    """
    try:
        column.validate(full=True)
    except pa.ArrowException:
        raise _not_arrow() from None
    return column


def _plain(message: pa.Message) -> pa.Message:
    if message.type != "record batch":
        raise WireError("an Arrow message must be record batches without dictionaries; send plain columns")
    # A few bytes could be a compressed gigabyte; Arrow would believe the size that they state.
    if field(message.metadata.to_pybytes(), _HEADER, _COMPRESSION) is not None:
        raise WireError("an Arrow message must not be compressed; write it without compression")
    return message


def _not_arrow() -> WireError:
    return WireError("the message is not an Arrow IPC stream; write it with pyarrow.ipc.new_stream, and send it whole")
