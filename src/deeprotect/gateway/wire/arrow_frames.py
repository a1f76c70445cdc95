"""Frames of an Arrow IPC stream from strangers: opened one by one, and refused before they could fill the memory."""

import struct
from collections.abc import Iterator

import pyarrow as pa

from deeprotect.errors import WireError
from deeprotect.tables.flat_buffer import field

_FILE_MAGIC = b"ARROW1\0\0"  # a file is such a stream between a magic word and a footer
_HEADER, _COMPRESSION = 2, 3  # fields of the tables Message and RecordBatch in Arrow's format/*.fbs
_LEAST_ROW = 8  # bytes: every row has a time


def batches(body: bytes) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema, and batches of no more rows than the body has room for; `checked` is for their columns."""
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
            message = reader.read_next_message()
            _check(message)
            batch = pa.ipc.read_record_batch(message, schema)
        except StopIteration:
            return
        except (pa.ArrowException, OSError, ValueError, NotImplementedError, struct.error):
            raise _not_arrow() from None
        if batch.num_rows * _LEAST_ROW > size:
            raise _not_arrow()
        yield batch


def checked(column: pa.Array) -> pa.Array:
    """A flat column that lies whole inside the body: a damaged one could show other memory.

    Columns that nobody asked for are never touched: a few bytes can be a nested array of 2⁶² values.
    """
    try:
        column.validate(full=True)
    except pa.ArrowException:
        raise _not_arrow() from None
    return column


def _check(message: pa.Message) -> None:
    if message.type != "record batch":
        raise WireError("an Arrow message must be record batches without dictionaries; send plain columns")
    # A few bytes could be a compressed gigabyte; Arrow would believe the size that they state.
    if field(message.metadata.to_pybytes(), _HEADER, _COMPRESSION) is not None:
        raise WireError("an Arrow message must not be compressed; write it without compression")


def _not_arrow() -> WireError:
    return WireError("the message is not an Arrow IPC stream; write it with pyarrow.ipc.new_stream, and send it whole")
